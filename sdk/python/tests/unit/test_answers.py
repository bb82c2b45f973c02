"""Answers that are streamed."""

import httpx
import pytest
from servers import Server, async_client, client, failure

import livegraph
from livegraph import AnswerPart

TOKENS = b': an answer\n\nevent: token\ndata: {"text":"It "}\n\nevent: token\ndata: {"text":"runs [1]."}\n\n'
ANSWER = (
    b'event: answer\ndata: {"success":true,"data":{"answer":"It runs [1].","sentences":[],"citations":[]},'
    b'"meta":{"degraded":["generation"]},"requestId":"req_1"}\n\n'
)
ERROR = (
    b'event: error\ndata: {"success":false,"error":{"code":"INTERNAL_ERROR","message":"no"},"requestId":"req_1"}\n\n'
)


def stream(text: bytes) -> httpx.Response:
    return httpx.Response(200, content=text, headers={"Content-Type": "text/event-stream"})


def test_an_answer_is_received_in_parts() -> None:
    server = Server(failure(503), stream(TOKENS + ANSWER))
    parts = list(client(server).search.stream_answer("does it run?", mode="generate", hops=1))
    assert parts[:2] == [AnswerPart("It "), AnswerPart("runs [1].")]
    assert parts[2].answer is not None
    assert parts[2].answer["answer"] == "It runs [1]."
    assert parts[2].degraded == ["generation"]
    request = server.requests[1]
    assert request.headers["Accept"] == "text/event-stream"
    assert b'"mode":"generate"' in request.content.replace(b" ", b"")


async def test_an_async_answer_is_received_in_parts() -> None:
    server = Server(stream(TOKENS + ANSWER))
    parts = [part async for part in async_client(server).search.stream_answer("does it run?")]
    assert len(parts) == 3


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (TOKENS, livegraph.TransportError),
        (TOKENS + ERROR, livegraph.ServerError),
        (b"event: answer\ndata: {}\n\n", livegraph.ResponseError),
        (b"event: token\ndata: 7\n\n", livegraph.ResponseError),
        (b"event: other\ndata: {}\n\n", livegraph.ResponseError),
    ],
)
def test_an_answer_that_fails_is_an_error(text: bytes, error: type[Exception]) -> None:
    server = Server(stream(text))
    with pytest.raises(error):
        list(client(server).search.stream_answer("does it run?"))
    assert len(server.requests) == 1
