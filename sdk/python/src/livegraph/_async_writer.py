"""Writes points in batches from a task."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Self

from ._buffer import Buffer, Failures, Limits, Value, halves
from .errors import WriteError, WriterClosedError
from .types import IngestAnswerData, Point


class AsyncWriter:
    """Collects points and writes them in batches from a task. Use it in one event loop.

    Points without a time have that of the call of ``write``. ``write`` waits while the writer holds ``max_points``. A
    batch is sent when it is complete, after ``interval`` seconds, and at ``flush`` and ``aclose``. Points that could
    not be written after the retries of the client, and points that the server rejected, are given to ``on_error``;
    without it the next ``write``, ``flush`` or ``aclose`` raises them. Points that are in the queue when the task is
    cancelled are reported, too.
    """

    def __init__(
        self,
        send: Callable[[list[Point]], Awaitable[IngestAnswerData]],
        limits: Limits,
        on_error: Callable[[WriteError], None] | None,
    ) -> None:
        self._send_batch, self._limits = send, limits
        self._buffer, self._failures = Buffer(limits), Failures(on_error)
        self._changed = asyncio.Condition()
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def write(
        self,
        source: str,
        metric: str,
        value: Value,
        *,
        tags: Mapping[str, str] | None = None,
        time: datetime | None = None,
    ) -> None:
        """Adds a point. The source must exist. The time must have a time zone.

        Raises:
            WriteError: Earlier points could not be written, and there is no callback. The point is not added.
            WriterClosedError: The writer is closed.
            ValueError: The value is not finite, or the time has no time zone.
            TypeError: The value is neither a number nor a string.
        """
        point = self._buffer.point(source, metric, value, tags, time)
        async with self._changed:
            self._check_open()
            if self._task is None:
                self._task = asyncio.create_task(self._run(), name="livegraph-writer")
            while self._buffer.is_full:
                await self._changed.wait()
                self._check_open()
            self._buffer.add(point)
            self._changed.notify_all()

    async def flush(self) -> None:
        """Sends all points that were written before, and waits until they are stored or reported.

        Raises:
            WriteError: Points could not be written, and there is no callback.
        """
        async with self._changed:
            target = self._buffer.flush()
            self._changed.notify_all()
            await self._changed.wait_for(lambda: self._buffer.settled >= target)
        self._failures.raise_pending()

    async def aclose(self) -> None:
        """Sends all points and ends the task. It takes at most as long as the retries of the client, for each batch.

        Raises:
            WriteError: Points could not be written, and there is no callback.
        """
        async with self._changed:
            self._closed = True
            self._buffer.flush()
            self._changed.notify_all()
        if self._task is not None:
            await asyncio.shield(self._task)
        self._failures.raise_pending()

    def _check_open(self) -> None:
        if self._closed:
            raise WriterClosedError("the writer is closed")
        self._failures.raise_pending()

    async def _run(self) -> None:
        points: list[Point] = []
        try:
            while await self._batch_is_due():
                points = self._buffer.take()
                await self._send(points)
                points = []
                await self._settle()
        except asyncio.CancelledError as error:
            await self._abandon(points, error)
            raise

    async def _abandon(self, points: list[Point], error: asyncio.CancelledError) -> None:
        """Reports the points that were being sent and those in the queue, and closes the writer."""
        async with self._changed:
            self._closed = True
            if points:
                self._failures.report(points, error)
            self._buffer.settle()
            while points := self._buffer.take():
                self._failures.report(points, error)
                self._buffer.settle()
            self._failures.log_pending()
            self._changed.notify_all()

    async def _batch_is_due(self) -> bool:
        """Waits until a batch is due. It returns False when the writer is closed and has no points."""
        async with self._changed:
            while (wait := self._buffer.due()) is None or wait > 0:
                if self._closed and wait is None:
                    return False
                try:
                    await asyncio.wait_for(self._changed.wait(), wait)
                except TimeoutError:
                    continue
        return True

    async def _settle(self) -> None:
        async with self._changed:
            self._buffer.settle()
            self._changed.notify_all()

    async def _send(self, points: list[Point]) -> None:
        requests = [points]
        while requests:
            batch = requests.pop()
            try:
                answer = await self._send_batch(batch)
            except Exception as error:
                parts = halves(batch, error)
                requests += reversed(parts)
                if not parts:
                    self._failures.report(batch, error)
            else:
                self._failures.report_answer(batch, answer)
