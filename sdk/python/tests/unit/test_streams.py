"""Event streams."""

from itertools import combinations

import httpx
import pytest
from servers import Server, async_client, client, failure

import livegraph
from livegraph import Event, Retry
from livegraph._sse import Parser

TEXT = (
    b': open\n\nid: 1\nevent: change\ndata: {"a":\ndata: "\xc3\xa9"}\n\n'
    b"id: 2\n\ndata: 5\r\n\r\nid: 3\n\n: heartbeat\n\n"
)
EVENTS = [Event("1", "change", {"a": "é"}), Event("2", "message", 5)]


def stream(text: bytes) -> httpx.Response:
    return httpx.Response(200, content=text, headers={"Content-Type": "text/event-stream"})


@pytest.mark.parametrize("size", [1, 2, 3, 7, len(TEXT)])
def test_events_are_parsed_however_they_are_split(size: int) -> None:
    parser, found = Parser(), []
    for start in range(0, len(TEXT), size):
        found += parser.feed(TEXT[start : start + size])
    assert found == EVENTS
    assert parser.last_id == "3"


def test_events_are_parsed_with_any_two_cuts() -> None:
    for first, second in combinations(range(len(TEXT)), 2):
        parser = Parser()
        assert parser.feed(TEXT[:first]) + parser.feed(TEXT[first:second]) + parser.feed(TEXT[second:]) == EVENTS


def test_an_event_that_is_not_json_or_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(livegraph.ResponseError):
        Parser().feed(b"data: {\n\n")
    monkeypatch.setattr("livegraph._sse.MAX_EVENT_CHARACTERS", 10)
    parser = Parser()
    parser.feed(b"data: 12345\n")
    with pytest.raises(livegraph.ResponseError):
        parser.feed(b"data: 123456")


def test_a_stream_is_resumed_after_the_last_event() -> None:
    server = Server(
        stream(b'id: 7\nevent: change\ndata: 1\n\nid: 8\n\ndata: "cut'), failure(503), httpx.ConnectError("refused"),
        stream(b"id: 9\nevent: change\ndata: 2\n\n"),
    )  # fmt: skip
    with client(server).changes.stream(after=0) as events:
        assert next(events) == Event("7", "change", 1)
        assert events.last_id == "7"
        assert next(events) == Event("9", "change", 2)
    assert [request.headers["Last-Event-ID"] for request in server.requests] == ["0", "8", "8", "8"]


async def test_an_async_stream_is_resumed() -> None:
    server = Server(stream(b"id: a\nevent: points\ndata: []\n\n"), stream(b"id: b\nevent: points\ndata: [1]\n\n"))
    found = []
    async with async_client(server).points.stream(source="s", tag={"k": "v"}) as events:
        async for event in events:
            found.append(event.data)
            if event.data:
                break
    assert found == [[], [1]]
    assert str(server.requests[1].url.params) == "source=s&tag.k=v"
    assert [request.headers.get("Last-Event-ID") for request in server.requests] == [None, "a"]


def test_a_stream_that_is_refused_raises_the_error() -> None:
    server = Server(failure(403, "AUTHORIZATION_ERROR"))
    with pytest.raises(livegraph.AuthorizationError), client(server).changes.stream():
        pass


def test_a_stream_that_stays_broken_raises_the_error() -> None:
    server = Server(*[httpx.ReadError("broken")] * 1000)
    with pytest.raises(livegraph.TransportError):
        next(client(server, Retry(first=0.01, maximum=0.01, total=0.05)).changes.stream())


def test_a_stream_that_is_open_is_closed_with_its_connection() -> None:
    closed = []

    class Body(httpx.SyncByteStream):
        def __iter__(self):  # type: ignore[no-untyped-def]
            while True:
                yield b"id: 1\ndata: 1\n\n"

        def close(self) -> None:
            closed.append(True)

    with client(lambda _: httpx.Response(200, stream=Body())).changes.stream() as events:
        next(events)
        assert not closed
    assert closed
    with pytest.raises(StopIteration):
        next(events)
