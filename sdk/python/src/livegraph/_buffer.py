"""The queue of a writer. Nothing here waits, does input or output, or is safe for concurrent use."""

import logging
import math
import numbers
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias, cast

from .errors import APIError, RejectedError, WriteError
from .types import IngestAnswerData, Point

Value: TypeAlias = float | bool | str
"""A finite number, a boolean (stored as 0 or 1) or a string of up to 1 KiB."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
TOO_LARGE = 413

logger = logging.getLogger("livegraph")


@dataclass(frozen=True)
class Limits:
    """The bounds of a writer.

    Args:
        max_points: The number of points that the writer holds, in the queue and in the request that is being sent.
        batch_size: The number of points of a request.
        interval: The seconds after which points are sent, even if they are fewer than batch_size.

    Raises:
        ValueError: A bound is not positive, or batch_size is larger than max_points.
    """

    max_points: int = 50_000
    batch_size: int = 5_000
    interval: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.batch_size <= self.max_points or self.interval <= 0:
            raise ValueError("0 < batch_size <= max_points and 0 < interval are required")


class Buffer:
    """Points in the order in which they were written, and how many of them are settled: stored or reported."""

    def __init__(
        self,
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        self._limits, self._clock, self._now = limits, clock, now
        self._queue: deque[tuple[float, Point]] = deque()
        self._last = 0
        self._sending = 0
        self._flush_until = 0
        self.written = 0
        self.settled = 0

    @property
    def is_full(self) -> bool:
        """Whether no point can be added until some are settled."""
        return len(self._queue) + self._sending >= self._limits.max_points

    def point(
        self, source: str, metric: str, value: Value, tags: Mapping[str, str] | None, moment: datetime | None
    ) -> Point:
        """Returns a point with a timestamp in microseconds.

        Without a time, it is now, and at least a microsecond after the previous such point: points of a series with
        the same timestamp would replace each other.

        Raises:
            ValueError: The value is NaN or infinite, or the time has no time zone.
            TypeError: The value is neither a number nor a string.
        """
        if isinstance(value, numbers.Real) and not isinstance(value, bool | int):
            value = float(value)  # also a number of numpy
        if not isinstance(value, bool | int | float | str):
            raise TypeError(f"a value of type {type(value).__name__} cannot be stored")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"the value {value} is not finite")
        if moment is None:
            self._last = stamp = max(self._now() // 1000, self._last + 1)
        elif moment.tzinfo is None:
            raise ValueError("the time has no time zone; use for example datetime.now(timezone.utc)")
        else:
            stamp = (moment - EPOCH) // MICROSECOND
        point = {"source": source, "metric": metric, "timestamp": stamp, "value": value}
        return cast(Point, point | ({"tags": dict(tags)} if tags else {}))

    def add(self, point: Point) -> None:
        """Adds a point."""
        self._queue.append((self._clock(), point))
        self.written += 1

    def flush(self) -> int:
        """Makes all points due, and returns the number of settled points when they are stored or reported."""
        self._flush_until = self.written
        return self.written

    def due(self) -> float | None:
        """Returns the seconds until the next batch is due: 0 or less if it is, None if there are no points."""
        if not self._queue:
            return None
        if len(self._queue) >= self._limits.batch_size or self.settled < self._flush_until:
            return 0.0
        return self._queue[0][0] + self._limits.interval - self._clock()

    def take(self) -> list[Point]:
        """Removes and returns the oldest points, up to the size of a batch."""
        count = min(len(self._queue), self._limits.batch_size)
        self._sending = count
        return [self._queue.popleft()[1] for _ in range(count)]

    def settle(self) -> None:
        """Counts the points that were taken as settled."""
        self.settled += self._sending
        self._sending = 0


def halves(points: list[Point], error: Exception) -> list[list[Point]]:
    """Returns the requests that replace one that was too large for the server; none if it failed otherwise."""
    if isinstance(error, APIError) and error.status == TOO_LARGE and len(points) > 1:
        middle = len(points) // 2
        return [points[:middle], points[middle:]]
    return []


class Failures:
    """The points that could not be written. They are given to a callback, or raised by the next call.

    A callback that raises an exception does not stop the writer: its exception is raised by the next call. The methods
    are safe for concurrent use.
    """

    def __init__(self, on_error: Callable[[WriteError], None] | None) -> None:
        self._on_error = on_error
        self._pending: list[WriteError] = []
        self._lock = threading.Lock()

    def report(self, points: list[Point], cause: BaseException) -> None:
        """Reports points that were not written."""
        error = WriteError(f"{len(points)} points could not be written: {str(cause) or type(cause).__name__}", points)
        error.__cause__ = cause
        if self._on_error is None:
            self._add(error)
            return
        try:
            self._on_error(error)
        except Exception as failure:
            error.add_note(f"The error callback failed: {failure!r}")
            self._add(error)

    def _add(self, error: WriteError) -> None:
        with self._lock:
            self._pending.append(error)

    def report_answer(self, points: list[Point], answer: IngestAnswerData) -> None:
        """Reports the points of a request that the server rejected."""
        if answer["rejected"]:
            self.report(points, RejectedError(answer["rejected"], answer["errors"]))

    def raise_pending(self) -> None:
        """Raises what was not reported to a callback, as one exception.

        Raises:
            WriteError: Some points were not written.
        """
        with self._lock:
            pending, self._pending = self._pending, []
        if not pending:
            return
        if len(pending) == 1:
            raise pending[0]
        points = [point for error in pending for point in error.points]
        raise WriteError(f"{len(points)} points of {len(pending)} requests could not be written", points) from pending[
            0
        ].__cause__

    def log_pending(self) -> None:
        """Logs what was not reported to a callback and may not be raised, because the program ends."""
        for error in self._pending:
            logger.error("%s", error)
