"""Reads event streams.

Generated from _async by tools/generate.py. Do not edit.
"""

from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from time import sleep
from types import TracebackType
from typing import Any, Self

from .._request import Request
from .._sse import Event, Parser
from ..errors import LivegraphError, TransportError
from .transport import Transport


class EventStream:
    """The events of a stream. It is an iterator and a context manager.

    The context manager opens the connection when it is entered, so that no later event is missed, and closes it.
    Without it, the connection is opened at the first event that is requested.

    If the connection breaks, the stream is opened again after the last event. The iteration ends with the exception
    if that fails permanently or for longer than the total time of the client's retries.
    """

    def __init__(self, transport: Transport, request: Request[Any], after: str | int | None) -> None:
        self._transport, self._request = transport, request
        self._last_id = "" if after is None else str(after)
        self._events = self._read()

    @property
    def last_id(self) -> str:
        """The position after the last event; "" before the first. Store it to resume the stream with ``after``."""
        return self._last_id

    def __enter__(self) -> Self:
        self._events.__next__()  # the connection is open
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        while (event := self._events.__next__()) is None:
            pass
        return event

    def close(self) -> None:
        """Closes the connection."""
        self._events.close()

    def _read(self) -> Generator[Event | None, None]:
        attempts = self._transport.attempts()
        while True:
            failure: LivegraphError = TransportError("the server ended the stream")
            try:
                with closing(self._connection()) as received:
                    for event in received:
                        attempts = self._transport.attempts()
                        yield event
            except LivegraphError as error:
                failure = error
            wait = attempts.next_wait(failure, repeatable=True)
            if wait is None:
                raise failure
            sleep(wait)

    def _connection(self) -> Generator[Event | None, None]:
        """Iterates over the events of one connection, and None when it is open and for heartbeats."""
        headers = {"Accept": "text/event-stream"}
        if self._last_id:
            headers["Last-Event-ID"] = self._last_id
        parser = Parser(self._last_id)
        with self._transport.open(replace(self._request, headers=headers)) as response:
            yield None
            for chunk in response.iter_bytes():
                for event in parser.feed(chunk):
                    self._last_id = event.id
                    yield event
                self._last_id = parser.last_id
                yield None
