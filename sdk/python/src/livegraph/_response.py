"""Parses responses. Nothing here does input or output."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Generic, TypeVar, cast

import httpx

from ._request import Request
from .errors import APIError, ResponseError, error_class
from .types import Problem, PrometheusResult

T = TypeVar("T")

NO_CONTENT = 204


@dataclass(frozen=True)
class Page(Generic[T]):
    """A page of a list. Iterating over it returns its items.

    Attributes:
        items: The items of the page.
        meta: The metadata of the page with the names of the API, such as ``total`` and ``nextCursor``.
    """

    items: list[T]
    meta: dict[str, Any]

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def total(self) -> int:
        """The number of all items that match, on all pages."""
        return int(self.meta["total"])

    @property
    def has_more(self) -> bool:
        """Whether another page follows."""
        return bool(self.meta["hasMore"])

    @property
    def next_cursor(self) -> str | None:
        """The cursor of the next page; None at the end and in lists that are paged by offset."""
        cursor: str | None = self.meta["nextCursor"]
        return cursor


def parse_json(response: httpx.Response) -> Any:
    """Returns the body of a response.

    Raises:
        ResponseError: The body is not JSON.
    """
    try:
        return json.loads(response.content)
    except ValueError as error:
        raise ResponseError(f"The response with status {response.status_code} is not JSON") from error


def check(response: httpx.Response) -> None:
    """Raises the error of a response that is not a success."""
    if response.is_success:
        return
    try:
        body = json.loads(response.content)
    except ValueError:  # a proxy may have answered
        body = None
    body = body if isinstance(body, dict) else {}
    problem = body.get("error")
    if isinstance(problem, str):  # the routes of Prometheus
        problem = {"message": problem, "code": body.get("errorType")}
    problem = problem if isinstance(problem, dict) else {}
    status, code = response.status_code, str(problem.get("code") or "")
    raise error_class(status, code)(
        str(problem.get("message") or response.reason_phrase or "unexpected status"),
        status=status,
        code=code,
        request_id=str(body.get("requestId") or response.headers.get("X-Request-Id", "")),
        details=problem.get("details"),
        retry_after=retry_after(response.headers.get("Retry-After", "")),
    )


def retry_after(header: str) -> float | None:
    """Returns the seconds of a Retry-After header, which contains seconds or a date; None if it has neither."""
    if header.isascii() and header.isdigit():
        return float(header)
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


def parse_data(response: httpx.Response) -> Any:
    """Returns ``data`` of the envelope; None for a response without content."""
    if response.status_code == NO_CONTENT:
        return None
    return _envelope(response)["data"]


def parse_page(response: httpx.Response) -> Page[Any]:
    """Returns a page of a list."""
    body = _envelope(response)
    if not isinstance(body["data"], list) or not isinstance(body.get("meta"), dict):
        raise ResponseError("The response is not a page of a list")
    return Page(body["data"], body["meta"])


def _envelope(response: httpx.Response) -> dict[str, Any]:
    body = parse_json(response)
    if not isinstance(body, dict) or body.get("success") is not True or "data" not in body:
        raise ResponseError("The response has no envelope of Livegraph")
    return body


def next_page(request: Request[T], page: Page[T], offset: int) -> Request[T] | None:
    """Returns the request of the page after the given one, or None at the end.

    A cursor is stable during concurrent writes, so it is preferred to the offset, which is the number of items before
    the next page.
    """
    if page.next_cursor is not None:
        return request.with_query(cursor=page.next_cursor, offset=None)
    if page.has_more and page.items:
        return request.with_query(offset=offset, cursor=None)
    return None


def batch_error(problem: Problem) -> APIError:
    """Returns the exception for the error of one command of a batch that is not atomic."""
    code = str(problem.get("code") or "")
    return error_class(0, code)(str(problem.get("message") or "failed"), code=code, details=problem.get("details"))


def parse_prometheus(response: httpx.Response) -> PrometheusResult:
    """Returns the result of a query in PromQL."""
    body = parse_json(response)
    if not isinstance(body, dict) or body.get("status") != "success":
        raise ResponseError("The response is not a result of Prometheus")
    return cast(PrometheusResult, body)
