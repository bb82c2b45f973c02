"""The tests of this folder need a running service, with an admin key and a workspace that they may change."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from livegraph import AsyncClient, Client

VARIABLES = ("LIVEGRAPH_URL", "LIVEGRAPH_API_KEY", "LIVEGRAPH_WORKSPACE_ID")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    missing = [name for name in VARIABLES if name not in os.environ]
    for item in items:
        if missing and item.path.is_relative_to(here):
            item.add_marker(pytest.mark.skip(reason=f"{missing[0]} is not set: test/sdk starts the service"))


@pytest.fixture
def client() -> Iterator[Client]:
    with Client.from_environment() as client:
        yield client


@pytest.fixture
async def async_client() -> AsyncIterator[AsyncClient]:
    async with AsyncClient.from_environment() as client:
        yield client
