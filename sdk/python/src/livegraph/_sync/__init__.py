"""The client for asyncio, from which the blocking client is generated.

Generated from _async by tools/generate.py. Do not edit.
"""
