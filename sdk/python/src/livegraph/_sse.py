"""Parses Server-Sent Events, as the HTML standard defines them. Nothing here does input or output."""

import codecs
import json
import re
from dataclasses import dataclass
from typing import Any

from .errors import ResponseError

MAX_EVENT_CHARACTERS = 64 << 20
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class Event:
    """An event of a stream.

    Attributes:
        id: The position in the stream, with which it can be resumed.
        event: The kind: ``change`` or ``reset`` for the graph; ``points``, ``deleted``, ``reset`` or ``dropped`` for
            points.
        data: The content with the names of the API.
    """

    id: str
    event: str
    data: Any


class Parser:
    """Splits the bytes of a stream into events. ``last_id`` is the position up to which everything was returned."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._buffer = ""
        self._id, self._event = last_id, ""
        self._data: list[str] = []
        self._characters = 0

    def feed(self, chunk: bytes) -> list[Event]:
        """Returns the events that the chunk completes.

        Raises:
            ResponseError: The data of an event is not JSON, or too long.
        """
        self._buffer += self._decoder.decode(chunk)
        events: list[Event] = []
        start = 0
        for end in _LINE_END.finditer(self._buffer):
            if end[0] == "\r" and end.end() == len(self._buffer):
                break  # the next chunk may begin with the other half of the line end
            event = self._line(self._buffer[start : end.start()])
            start = end.end()
            if event:
                events.append(event)
        self._buffer = self._buffer[start:]
        if len(self._buffer) + self._characters > MAX_EVENT_CHARACTERS:
            raise ResponseError("An event of the stream is too long")
        return events

    def _line(self, line: str) -> Event | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
            self._characters += len(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value
        return None

    def _dispatch(self) -> Event | None:
        # An id without data moves the position: the server sends it with heartbeats.
        self.last_id = self._id
        data, event = "\n".join(self._data), self._event or "message"
        self._data, self._event, self._characters = [], "", 0
        if not data:
            return None
        try:
            return Event(self._id, event, json.loads(data))
        except ValueError as error:
            raise ResponseError("The data of an event is not JSON") from error
