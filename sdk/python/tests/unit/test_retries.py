"""Which requests are sent again, when, and what is raised."""

import pickle
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from servers import Server, answer, async_client, client, failure, page

import livegraph
from livegraph import APIError, Client, Retry, TransportError, commands
from livegraph._response import retry_after
from livegraph._retry import Attempts

Call = Callable[[Client], Any]


def read(api: Client) -> Any:
    return api.nodes.get("n")


def command(api: Client) -> Any:
    return api.commands.execute(commands.undo())


def deletion(api: Client) -> Any:
    return api.points.delete("s")


def patch(api: Client) -> Any:
    return api.sources.update("s", {}, expected_version=1)


REFUSED = httpx.ConnectError("refused")
BROKEN = httpx.ReadError("broken")


@pytest.mark.parametrize("problem", [
    failure(429, "RATE_LIMITED"), failure(500), failure(502), failure(503), failure(504), REFUSED, BROKEN,
    httpx.RemoteProtocolError("no answer"), httpx.ReadTimeout("too slow"), httpx.Response(503, text="proxy"),
])  # fmt: skip
@pytest.mark.parametrize("call", [read, command, lambda api: api.documents.delete("d")])
def test_transient_errors_are_retried(problem: httpx.Response | Exception, call: Call) -> None:
    server = Server(problem, problem, answer({"node": 1}))
    assert call(client(server)) == {"node": 1}
    assert len(server.requests) == 3
    assert len({request.headers.get("Idempotency-Key") for request in server.requests}) == 1


def test_a_deletion_of_a_document_has_a_key() -> None:
    server = Server(BROKEN, answer({}), answer({}))
    api = client(server)
    api.documents.delete("a/b")
    api.documents.delete("a/b", idempotency_key="mine")
    keys = [request.headers["Idempotency-Key"] for request in server.requests]
    assert keys[0] == keys[1] != keys[2] == "mine"


async def test_the_async_client_retries_as_well() -> None:
    server = Server(failure(503), REFUSED, answer({"id": "n"}))
    assert await async_client(server).nodes.get("n") == {"id": "n"}


@pytest.mark.parametrize(("status", "code", "kind"), [
    (400, "VALIDATION_ERROR", livegraph.ValidationError), (401, "AUTHENTICATION_ERROR", livegraph.AuthenticationError),
    (403, "AUTHORIZATION_ERROR", livegraph.AuthorizationError), (404, "NOT_FOUND", livegraph.NotFoundError),
    (409, "CONFLICT", livegraph.ConflictError), (413, "VALIDATION_ERROR", livegraph.ValidationError),
    (422, "VALIDATION_ERROR", livegraph.ValidationError), (302, "", APIError),
])  # fmt: skip
def test_permanent_errors_are_raised_at_once(status: int, code: str, kind: type[APIError]) -> None:
    server = Server(failure(status, code, field="points[3].value", reason="is bad"))
    with pytest.raises(kind) as caught:
        client(server).nodes.get("n")
    error = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert type(error) is kind
    assert (error.status, error.code, error.message, error.request_id) == (status, code, "it failed", "req_2")
    assert error.details["field"] == "points[3].value"
    assert "points[3].value: is bad" in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize("call", [deletion, patch])
def test_what_must_not_be_repeated_is_only_retried_if_it_was_not_executed(call: Call) -> None:
    for problem in (failure(500), failure(503), failure(504), BROKEN, httpx.ReadTimeout("too slow")):
        server = Server(problem)
        with pytest.raises((livegraph.ServerError, TransportError)):
            call(client(server))
        assert len(server.requests) == 1
    repeated: tuple[httpx.Response | Exception, ...] = (
        failure(429, "RATE_LIMITED"),
        REFUSED,
        httpx.ConnectTimeout("too slow"),
    )
    for again in repeated:
        server = Server(again, answer({"id": "x"}))
        assert call(client(server)) == {"id": "x"}


def test_a_conflict_is_retried_only_while_the_first_attempt_runs() -> None:
    server = Server(failure(409, "CONFLICT", after=0), answer({"sequence": 1}))
    assert client(server).commands.undo() == {"sequence": 1}


def test_an_internal_error_is_retried_four_times() -> None:
    server = Server(*[failure(500)] * 9)
    with pytest.raises(livegraph.ServerError):
        client(server).nodes.get("n")
    assert len(server.requests) == 5


def test_a_request_that_fails_for_too_long_raises_the_last_error() -> None:
    server = Server(*[failure(503, after=1)] * 2)
    with pytest.raises(livegraph.UnavailableError, match="req_2"):
        client(server, Retry(total=0.5)).nodes.get("n")
    assert len(server.requests) == 1


def unavailable(after: float | None = None) -> APIError:
    return livegraph.UnavailableError("", status=503, retry_after=after)


def test_waits_double_up_to_a_bound_with_jitter_and_end() -> None:
    now = [0.0]
    jitter: list[tuple[float, float]] = []

    def middle(low: float, high: float) -> float:
        jitter.append((low, high))
        return 1.0

    attempts = Attempts(Retry(first=1, maximum=8, total=30), lambda: now[0], middle)
    waits = []
    while (wait := attempts.next_wait(unavailable(), repeatable=True)) is not None:
        waits.append(wait)
        now[0] += wait
    assert waits == [1, 2, 4, 8, 8]
    assert set(jitter) == {(0.5, 1.5)}
    assert attempts.timeout(45) == 7


def test_the_wait_is_that_of_retry_after() -> None:
    attempts = Attempts(Retry(first=1, total=60), lambda: 0.0)
    assert attempts.next_wait(unavailable(17), repeatable=True) == 17
    assert attempts.next_wait(unavailable(61), repeatable=True) is None


def test_retry_after_is_parsed() -> None:
    assert retry_after("12") == 12
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert (retry_after("Wed, 21 Oct 2099 07:28:00 GMT") or 0) > 1e9
    assert [retry_after(text) for text in ("", "soon", "-1", "²")] == [None] * 4


@pytest.mark.parametrize("response", [
    httpx.Response(200, text="<html>"), httpx.Response(200, json=[]), httpx.Response(200, json={"success": False}),
])  # fmt: skip
def test_a_response_in_another_format_is_an_error(response: httpx.Response) -> None:
    with pytest.raises(livegraph.ResponseError):
        client(Server(response)).nodes.get("n")


def test_the_timeout_of_an_attempt_is_at_most_the_time_that_is_left() -> None:
    server = Server(answer({}))
    client(server, Retry(total=7)).nodes.get("n")
    assert 6 < server.requests[0].extensions["timeout"]["read"] <= 7


def test_waiting_for_a_checkpoint_ends() -> None:
    server = Server(*[failure(504)] * 3, page([]))
    assert client(server).wait_visible("c", timeout=5) == 0
    assert server.requests[0].url.params["checkpoint"] == "c"
    with pytest.raises(livegraph.UnavailableError):
        client(Server(failure(504, after=1))).wait_visible("c", timeout=0.1)


def test_records_that_were_not_stored_are_counted() -> None:
    server = Server(answer([], total=0, limit=1, offset=0, hasMore=False, nextCursor=None, deadLettered=3), page([]))
    assert client(server).wait_visible("c", "d") == 3
