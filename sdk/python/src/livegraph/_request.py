"""Builds requests. Nothing here does input or output."""

import gzip
import json
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

import httpx

T = TypeVar("T")

Query: TypeAlias = tuple[tuple[str, str], ...]
Id: TypeAlias = str | uuid.UUID
"""The id of a resource, a UUID."""
Time: TypeAlias = datetime | str
"""A time with a time zone, or its text in RFC 3339; in queries of points also a relative time such as ``-15m``."""
Filter: TypeAlias = Mapping[str, str | Iterable[str]]
"""Values by key. Several values of one key match any of them."""

GZIP_MIN_BYTES = 1 << 10
JSON = {"Content-Type": "application/json"}
COMMAND_HEADERS = {**JSON, "Prefer": "wait=30"}
"""Commands wait for their result as long as the server allows."""


@dataclass(frozen=True)
class Request(Generic[T]):
    """One request of the API. T is the type of the data in the response.

    ``repeatable`` is False if a repetition of the request could change something that the first did not, or hide its
    result. Such a request is only repeated if it was certainly not executed.
    """

    method: str
    path: str
    query: Query = ()
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True

    def with_query(self, **fields: Any) -> "Request[T]":
        """Returns the request with other values of these parameters. None removes a parameter."""
        names = {camel(name) for name in fields}
        kept = tuple(item for item in self.query if item[0] not in names)
        return replace(self, query=kept + query(**fields))


def camel(name: str) -> str:
    """Returns the name that the API has for a Python name: ``node_id`` is ``nodeId``, ``from_`` is ``from``."""
    head, *tail = name.rstrip("_").split("_")
    return head + "".join(part.capitalize() for part in tail)


def text(value: Any) -> str:
    """Returns the text of a value in a URL.

    Raises:
        ValueError: The value is a time without a time zone.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("the time has no time zone; use for example datetime.now(timezone.utc)")
        return value.isoformat()
    return str(value)


def query(**fields: Any) -> Query:
    """Returns URL parameters. None is omitted, a list becomes a repeated parameter."""
    pairs: list[tuple[str, str]] = []
    for name, value in fields.items():
        if value is None:
            continue
        values = value if isinstance(value, list | tuple | set | frozenset) else [value]
        pairs += [(camel(name), text(item)) for item in values]
    return tuple(pairs)


def document_filter(given: Mapping[str, Any]) -> Query:
    """Returns the URL parameters of a list of documents for options as searches have them."""
    timestamp = given.get("timestamp", {})
    return query(
        tag=given.get("tags"), all_tag=given.get("all_tags"),
        timestamp_from=timestamp.get("from"), timestamp_to=timestamp.get("to"),
        sort=given.get("sort"),
    )  # fmt: skip


_FAMILIES = ("tag", "property", "property_min", "property_max", "property_prefix")


def filters(name: str, values: Mapping[str, Any] | None) -> Query:
    """Returns the URL parameters of a filter by key, such as ``tag.room=cellar``."""
    pairs: list[tuple[str, str]] = []
    for key, value in (values or {}).items():
        items = [value] if isinstance(value, str | int | float) else value
        pairs += [(f"{camel(name)}.{key}", text(item)) for item in items]
    return tuple(pairs)


def selection(given: Mapping[str, Any], **paging: Any) -> Query:
    """Returns the URL parameters of a list: the filters that were given, of which some are by key, and the page."""
    pairs = query(**paging, **{name: value for name, value in given.items() if name not in _FAMILIES})
    for name in _FAMILIES:
        pairs += filters(name, given.get(name))
    return pairs


def fields(**values: Any) -> dict[str, Any]:
    """Returns an object of a request's body with the names of the API. None is omitted."""
    return {camel(name): value for name, value in values.items() if value is not None}


def encode(value: Any) -> bytes:
    """Returns a value as JSON.

    Raises:
        ValueError: A number is NaN or infinite, a text contains a lone surrogate, or a time has no time zone.
        TypeError: A value has no form in JSON.
    """
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_other).encode()


def _other(value: Any) -> str:
    if isinstance(value, datetime | uuid.UUID):
        return text(value)
    raise TypeError(f"a value of type {type(value).__name__} has no form in JSON")


def part(value: Id) -> str:
    """Returns an id as a part of a path.

    Raises:
        ValueError: The id is empty or ``.`` or ``..``, which would be another path.
    """
    escaped = quote(str(value), safe="")
    if escaped in ("", ".", ".."):
        raise ValueError(f"{str(value)!r} is not an id")
    return escaped


def idempotency(key: str | None) -> dict[str, str]:
    """Returns the header with an idempotency key, a new one if key is None."""
    return {"Idempotency-Key": key or str(uuid.uuid4())}


def compressed(request: Request[T]) -> Request[T]:
    """Returns the request with a compressed body, if that is worth it."""
    if request.body is None or len(request.body) < GZIP_MIN_BYTES:
        return request
    body = gzip.compress(request.body, compresslevel=1, mtime=0)
    return replace(request, body=body, headers={**request.headers, "Content-Encoding": "gzip"})


def following(request: Request[T], link: str) -> Request[T] | None:
    """Returns the request of the next page that a ``Link`` header names, or None.

    Only the parameters of the link are used, so that the key is sent to no other server.
    """
    found = re.search(r'<([^>]*)>\s*;\s*rel="next"', link)
    if not found:
        return None
    return replace(request, query=tuple(parse_qsl(urlsplit(found[1]).query, keep_blank_values=True)))


class Bearer(httpx.Auth):
    """Adds the API key to requests, and shows it nowhere.

    Raises:
        ValueError: The key contains characters that a header must not contain.
    """

    def __init__(self, api_key: str) -> None:
        # The messages of HTTP libraries about invalid headers contain the value.
        if not re.fullmatch(r"[!-~]+", api_key):
            raise ValueError("the API key is empty or contains characters other than visible ASCII")
        self._header = f"Bearer {api_key}"

    def __repr__(self) -> str:
        return "Bearer(***)"

    def auth_flow(self, request: httpx.Request) -> Any:
        """Adds the header."""
        request.headers["Authorization"] = self._header
        yield request
