"""Decides whether and when a request is sent again. Nothing here waits."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from .errors import APIError, ConflictError, LivegraphError, RateLimitedError, TransportError, UnavailableError

INTERNAL = 500
MAX_INTERNAL_ERRORS = 5
"""The attempts of a request that fails with 500: a defect of the server rarely disappears by waiting."""


@dataclass(frozen=True)
class Retry:
    """How often failed requests are sent again.

    Args:
        first: The first wait in seconds, which doubles with each attempt. Each wait is multiplied by a random number
            between 0.5 and 1.5. If the server sends ``Retry-After``, the wait is exactly that time.
        maximum: The longest wait in seconds before the multiplication.
        total: The seconds after which no further attempt begins. 0: there is one attempt.
    """

    first: float = 1.0
    maximum: float = 30.0
    total: float = 60.0


class Attempts:
    """The attempts of one request."""

    def __init__(
        self,
        retry: Retry,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._retry, self._clock, self._jitter = retry, clock, jitter
        self._deadline = clock() + retry.total
        self._wait = retry.first
        self._internal = 0

    def timeout(self, longest: float) -> float:
        """Returns the timeout of the next attempt in seconds: at most longest, and the time that is left."""
        left = self._deadline - self._clock()
        return min(longest, left) if left > 0 else longest

    def next_wait(self, error: LivegraphError, *, repeatable: bool) -> float | None:
        """Returns the seconds until the next attempt, or None if there is none."""
        if not self._is_transient(error, repeatable):
            return None
        after = error.retry_after if isinstance(error, APIError) else None
        if after is None:
            after = self._wait * self._jitter(0.5, 1.5)
            self._wait = min(2 * self._wait, self._retry.maximum)
        return after if self._clock() + after < self._deadline else None

    def _is_transient(self, error: LivegraphError, repeatable: bool) -> bool:
        if isinstance(error, TransportError):
            return repeatable or not error.sent
        if isinstance(error, RateLimitedError):
            return True  # refused before it was executed
        if isinstance(error, ConflictError):
            # With Retry-After, the server still processes the first attempt with the same idempotency key.
            return repeatable and error.retry_after is not None
        if isinstance(error, APIError) and error.status == INTERNAL:
            self._internal += 1
            return repeatable and self._internal < MAX_INTERNAL_ERRORS
        return repeatable and isinstance(error, UnavailableError)
