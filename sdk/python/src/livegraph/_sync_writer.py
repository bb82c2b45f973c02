"""Writes points in batches from a thread."""

import atexit
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Self

from ._buffer import Buffer, Failures, Limits, Value, halves, logger
from .errors import WriteError, WriterClosedError
from .types import IngestAnswerData, Point


class Writer:
    """Collects points and writes them in batches from a thread. It is safe for concurrent use.

    Points without a time have that of the call of ``write``. ``write`` blocks while the writer holds ``max_points``.
    A batch is sent when it is complete, after ``interval`` seconds, and at ``flush`` and ``close``. Points that could
    not be written after the retries of the client, and points that the server rejected, are given to ``on_error`` in
    the thread of the writer; without it the next ``write``, ``flush`` or ``close`` raises them. Points that are in the
    queue when the interpreter exits are written then.
    """

    def __init__(
        self,
        send: Callable[[list[Point]], IngestAnswerData],
        limits: Limits,
        on_error: Callable[[WriteError], None] | None,
    ) -> None:
        self._send_batch, self._limits = send, limits
        self._buffer, self._failures = Buffer(limits), Failures(on_error)
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="livegraph-writer", daemon=True)
        self._thread.start()
        atexit.register(self._close_at_exit)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def write(
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
        with self._changed:
            point = self._buffer.point(source, metric, value, tags, time)
            self._check_open()
            while self._buffer.is_full:
                self._changed.wait()
                self._check_open()
            self._buffer.add(point)
            self._changed.notify_all()

    def flush(self, timeout: float | None = None) -> None:
        """Sends all points that were written before, and blocks until they are stored or reported.

        Raises:
            WriteError: Points could not be written, and there is no callback.
            TimeoutError: The timeout, in seconds, is over. The points are still being written.
        """
        with self._changed:
            target = self._buffer.flush()
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: self._buffer.settled >= target, timeout):
                raise TimeoutError("the points are not written yet")
            self._failures.raise_pending()

    def close(self) -> None:
        """Sends all points and ends the thread. It takes at most as long as the retries of the client, for each batch.

        Raises:
            WriteError: Points could not be written, and there is no callback.
        """
        with self._changed:
            self._closed = True
            self._buffer.flush()
            self._changed.notify_all()
        self._thread.join()
        atexit.unregister(self._close_at_exit)
        with self._changed:
            self._failures.raise_pending()

    def _close_at_exit(self) -> None:
        try:
            self.close()
        except WriteError as error:
            logger.error("%s", error)

    def _check_open(self) -> None:
        if self._closed:
            raise WriterClosedError("the writer is closed")
        self._failures.raise_pending()

    def _run(self) -> None:
        while True:
            with self._changed:
                while (wait := self._buffer.due()) is None or wait > 0:
                    if self._closed and wait is None:
                        return
                    self._changed.wait(wait)
                points = self._buffer.take()
            self._send(points)
            with self._changed:
                self._buffer.settle()
                self._changed.notify_all()

    def _send(self, points: list[Point]) -> None:
        requests = [points]
        while requests:
            batch = requests.pop()
            try:
                answer = self._send_batch(batch)
            except Exception as error:
                parts = halves(batch, error)
                requests += reversed(parts)
                if not parts:
                    self._failures.report(batch, error)
            else:
                self._failures.report_answer(batch, answer)
