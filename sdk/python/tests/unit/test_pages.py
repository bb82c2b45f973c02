"""Lists that are read page by page, and generated files."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from servers import Server, async_client, client, page

from livegraph import Page
from livegraph._request import Request, following
from livegraph._response import next_page

ROOT = Path(__file__).resolve().parents[2]


def test_pages_follow_the_cursor() -> None:
    server = Server(page([1, 2], cursor="x", more=True), page([3], cursor="y", more=True), page([4]))
    assert list(client(server).nodes.iterate(name="n")) == [1, 2, 3, 4]
    sent = [str(request.url.params) for request in server.requests]
    assert sent == ["limit=100&name=n", "limit=100&name=n&cursor=x", "limit=100&name=n&cursor=y"]


async def test_the_async_client_follows_the_cursor() -> None:
    server = Server(page([1, 2], cursor="x", more=True), page([3]))
    assert [item async for item in async_client(server).edges.iterate()] == [1, 2, 3]


def test_pages_without_a_cursor_follow_the_offset() -> None:
    server = Server(page([1, 2], more=True), page([3], more=True), page([4], more=True), page([], more=True))
    assert list(client(server).documents.iterate()) == [1, 2, 3, 4]
    assert [request.url.params.get("offset") for request in server.requests] == [None, "2", "3", "4"]


def test_a_cursor_replaces_the_offset() -> None:
    request = Request[int]("GET", "/", query=(("offset", "5"), ("name", "n")))
    found = Page([1], {"total": 9, "hasMore": True, "nextCursor": "x"})
    assert next_page(request, found, 6) == Request("GET", "/", query=(("name", "n"), ("cursor", "x")))


def test_pages_are_read_when_they_are_needed() -> None:
    server = Server(page([1, 2], cursor="x", more=True))
    items = client(server).nodes.iterate()
    assert not server.requests
    assert [next(items), next(items)] == [1, 2]
    assert len(server.requests) == 1


def test_a_page_has_the_metadata() -> None:
    found = client(Server(page([1, 2], cursor="x", more=True))).nodes.list()
    assert (list(found), len(found), found.total, found.has_more, found.next_cursor) == ([1, 2], 2, 9, True, "x")


def test_a_link_to_another_server_does_not_get_the_key() -> None:
    request = Request[bytes]("GET", "/path", query=(("a", "b"),))
    found = following(request, '<https://other/else?cursor=x%2By&e=>; rel="next"')
    assert found == Request("GET", "/path", query=(("cursor", "x+y"), ("e", "")))
    assert following(request, "") is None
    assert following(request, '<https://other/>; rel="prev"') is None


@pytest.mark.timeout(300)
def test_the_generated_files_are_current() -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr + "\nrun make sdk-generate"


def test_the_version_is_that_of_the_project() -> None:
    version = (ROOT.parent.parent / "VERSION").read_text(encoding="utf-8").strip()
    assert f'\nversion = "{version}"\n' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["LICENSE"])
def test_the_licence_is_that_of_the_project(name: str) -> None:
    assert (ROOT / name).read_bytes() == (ROOT.parent.parent / name).read_bytes()


def test_a_redirect_is_not_followed() -> None:
    server = Server(httpx.Response(302, headers={"Location": "https://other/"}))
    with pytest.raises(Exception, match="302"):
        client(server).nodes.get("n")
