"""The client for asyncio, from which the blocking client is generated."""
