"""Writers."""

import asyncio
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from servers import Server, async_client, client, content, failure, receipt

import livegraph
from livegraph import RejectedError, Retry, WriteError
from livegraph._buffer import Buffer, Limits

NEVER = 3600.0


class Store:
    """A server that stores points, after it may begin."""

    def __init__(self, limit: int = 1 << 30) -> None:
        self.batches: list[list[Any]] = []
        self.may_begin = threading.Event()
        self.may_begin.set()
        self.limit = limit

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.may_begin.wait(30)
        points = content(request)["points"]
        if len(points) > self.limit:
            return failure(413, "VALIDATION_ERROR")
        self.batches.append(points)
        return receipt(request)

    @property
    def values(self) -> list[Any]:
        return [point["value"] for batch in self.batches for point in batch]


def test_points_are_sent_in_batches_and_the_others_at_close() -> None:
    store = Store()
    with client(store).writer(batch_size=3, interval=NEVER) as writer:
        for value in range(8):
            writer.write("s", "m", value, tags={"k": "v"})
    assert [len(batch) for batch in store.batches] == [3, 3, 2]
    assert store.values == list(range(8))
    assert store.batches[0][0].keys() == {"source", "metric", "timestamp", "value", "tags"}


def test_points_are_sent_after_the_interval() -> None:
    store = Store()
    with client(store).writer(interval=0.05) as writer:
        writer.write("s", "m", 1)
        end = time.monotonic() + 10
        while not store.batches and time.monotonic() < end:
            time.sleep(0.01)
        assert store.values == [1]


def test_flush_waits_until_the_points_are_stored() -> None:
    store = Store()
    with client(store).writer(interval=NEVER) as writer:
        writer.flush()
        writer.write("s", "m", 1)
        writer.flush()
        assert store.values == [1]
        store.may_begin.clear()
        writer.write("s", "m", 2)
        with pytest.raises(TimeoutError):
            writer.flush(0.05)
        store.may_begin.set()
        writer.flush()
        assert store.values == [1, 2]


def test_write_blocks_while_the_writer_is_full() -> None:
    store = Store()
    store.may_begin.clear()
    writer = client(store).writer(max_points=4, batch_size=2, interval=NEVER)
    written: list[int] = []

    def fill() -> None:
        for value in range(6):
            writer.write("s", "m", value)
            written.append(value)

    thread = threading.Thread(target=fill)
    thread.start()
    time.sleep(0.2)
    assert written == [0, 1, 2, 3]
    store.may_begin.set()
    thread.join(10)
    writer.close()
    assert store.values == list(range(6))


def test_points_of_several_threads_are_stored_once() -> None:
    store = Store()
    with client(store).writer(max_points=20, batch_size=7, interval=0.01) as writer:

        def fill(first: int) -> None:
            for value in range(first, first + 200):
                writer.write("s", "m", value)

        threads = [threading.Thread(target=fill, args=(first,)) for first in range(0, 1000, 200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert sorted(store.values) == list(range(1000))


def test_errors_are_given_to_the_callback_and_later_points_are_stored() -> None:
    server = Server(failure(403, "AUTHORIZATION_ERROR"))
    errors: list[WriteError] = []

    def handle(request: httpx.Request) -> httpx.Response:
        return receipt(request, rejected=1) if server.requests else server(request)

    with client(handle).writer(interval=NEVER, on_error=errors.append) as writer:
        writer.write("s", "m", 1)
        writer.flush()
        writer.write("s", "m", 2)
        writer.write("s", "m", 3)
    refused, rejected = errors
    assert isinstance(refused.__cause__, livegraph.AuthorizationError)
    assert [point["value"] for point in refused.points] == [1]
    assert isinstance(rejected.__cause__, RejectedError)
    assert (rejected.__cause__.rejected, len(rejected.points)) == (1, 2)


def test_without_a_callback_the_next_call_raises_the_error_once() -> None:
    server = Server(failure(422, "VALIDATION_ERROR"))
    writer = client(lambda r: receipt(r) if server.requests else server(r)).writer(batch_size=1)
    writer.write("s", "m", 1)
    with pytest.raises(WriteError, match="1 points could not be written: 422"):
        for _ in range(1000):
            time.sleep(0.01)
            writer.write("s", "m", 2)
    writer.flush()
    writer.close()
    with pytest.raises(livegraph.WriterClosedError):
        writer.write("s", "m", 3)
    writer.close()


def test_a_callback_that_fails_does_not_stop_the_writer() -> None:
    def handle(error: WriteError) -> None:
        raise KeyError("callback")

    writer = client(Server(failure(403), failure(403))).writer(on_error=handle)
    writer.write("s", "m", 1)
    with pytest.raises(WriteError) as caught:
        writer.flush()
    assert "callback" in caught.value.__notes__[0]
    writer.write("s", "m", 2)
    with pytest.raises(WriteError):
        writer.close()


def test_transient_errors_are_retried_before_they_are_reported() -> None:
    server = Server(failure(503), httpx.ConnectError("refused"), failure(422, "VALIDATION_ERROR"))
    errors: list[WriteError] = []
    with client(server).writer(on_error=errors.append) as writer:
        writer.write("s", "m", 1)
    assert len(server.requests) == 3
    assert len(errors) == 1


def test_a_request_that_is_too_large_is_split() -> None:
    store = Store(limit=3)
    with client(store).writer(interval=NEVER) as writer:
        for value in range(10):
            writer.write("s", "m", value)
    assert store.values == list(range(10))


def test_a_point_has_the_time_of_the_call_and_no_two_have_the_same() -> None:
    times = iter([5_000_000_999, 5_000_000_999, 4_000_000_000, 6_000_000_000])
    buffer = Buffer(Limits(), now=lambda: next(times))
    points = [buffer.point("s", "m", 1, None, None) for _ in range(4)]
    assert [point["timestamp"] for point in points] == [5_000_000, 5_000_001, 5_000_002, 6_000_000]
    moment = datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)
    assert buffer.point("s", "m", 1, None, moment)["timestamp"] == 1767225600123456


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), None, b"x", [1]])
def test_a_value_that_cannot_be_stored_is_refused(value: Any) -> None:
    store = Store()
    with client(store).writer() as writer, pytest.raises((ValueError, TypeError)):
        writer.write("s", "m", value)
    assert not store.batches


def test_the_bounds_are_checked() -> None:
    for bounds in ({"batch_size": 0}, {"max_points": 10}, {"interval": 0}):
        with pytest.raises(ValueError, match="required"):
            client(Store()).writer(**bounds)  # type: ignore[arg-type]


def test_points_in_the_queue_are_written_when_the_interpreter_exits() -> None:
    source = """
import sys; sys.path.insert(0, {path!r})
from servers import client, receipt, content
def store(request):
    print([point["value"] for point in content(request)["points"]])
    return receipt(request)
client(store).writer(interval=3600).write("s", "m", 7)
"""
    path = str(__file__).rsplit("/", 1)[0]
    run = subprocess.run([sys.executable, "-c", source.format(path=path)], capture_output=True, text=True, check=True)
    assert run.stdout == "[7]\n"


async def test_an_async_writer_sends_batches_and_waits_while_it_is_full() -> None:
    batches: list[list[Any]] = []
    begin = asyncio.Event()

    async def handle(request: httpx.Request) -> httpx.Response:
        await begin.wait()
        batches.append([point["value"] for point in content(request)["points"]])
        return receipt(request)

    written: list[int] = []
    async with async_client(handle).writer(max_points=4, batch_size=2, interval=NEVER) as writer:  # type: ignore[arg-type]

        async def fill() -> None:
            for value in range(7):
                await writer.write("s", "m", value)
                written.append(value)

        task = asyncio.create_task(fill())
        await asyncio.sleep(0.1)
        assert written == [0, 1, 2, 3]
        begin.set()
        await task
        await writer.flush()
        assert batches == [[0, 1], [2, 3], [4, 5], [6]]
        await writer.write("s", "m", 7)
    assert batches[-1] == [7]
    with pytest.raises(livegraph.WriterClosedError):
        await writer.write("s", "m", 8)


async def test_an_async_writer_sends_after_the_interval() -> None:
    store = Store()
    async with async_client(store).writer(interval=0.02) as writer:
        await writer.write("s", "m", 1)
        for _ in range(500):
            await asyncio.sleep(0.01)
            if store.batches:
                break
        assert store.values == [1]


async def test_an_async_writer_reports_errors() -> None:
    errors: list[WriteError] = []
    async with async_client(Server(failure(403)), Retry(total=0)).writer(on_error=errors.append) as writer:
        await writer.write("s", "m", 1)
    assert len(errors) == 1
    writer = async_client(Server(failure(403))).writer()
    await writer.write("s", "m", 1)
    with pytest.raises(WriteError):
        await writer.aclose()


async def test_an_async_writer_that_is_cancelled_reports_the_points_in_the_queue() -> None:
    errors: list[WriteError] = []

    async def hang(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(NEVER)
        return receipt(request)

    writer = async_client(hang).writer(batch_size=2, max_points=5, on_error=errors.append)  # type: ignore[arg-type]
    for value in range(5):
        await writer.write("s", "m", value)
    blocked = asyncio.create_task(writer.write("s", "m", 5))
    await asyncio.sleep(0.05)
    assert writer._task is not None
    writer._task.cancel()
    with pytest.raises(livegraph.WriterClosedError):
        await blocked
    await writer.flush()
    assert [point["value"] for error in errors for point in error.points] == list(range(5))


async def test_an_idle_async_writer_that_is_cancelled_reports_the_points_in_the_queue(
    caplog: pytest.LogCaptureFixture,
) -> None:
    writer = async_client(Server()).writer(interval=NEVER)
    for value in range(3):
        await writer.write("s", "m", value)
    await asyncio.sleep(0.01)
    assert writer._task is not None
    writer._task.cancel()
    await asyncio.wait([writer._task])
    assert "3 points could not be written" in caplog.text
    with pytest.raises(WriteError) as caught:
        await writer.flush()
    assert len(caught.value.points) == 3
