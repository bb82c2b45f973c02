"""Parses responses. Nothing here does input or output."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Generic, TypeVar, cast

import httpx

from ._request import Request
from ._sse import Event
from .errors import APIError, ResponseError, error_class
from .types import Answer, Problem, PrometheusResult

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
    raise _error(
        body,
        response.status_code,
        response.reason_phrase or "unexpected status",
        response.headers.get("X-Request-Id", ""),
        retry_after(response.headers.get("Retry-After", "")),
    )


def _error(body: Any, status: int, reason: str, request_id: str, wait: float | None) -> APIError:
    """Returns the error of a body. Status is 0 in an event of a stream."""
    body = body if isinstance(body, dict) else {}
    problem = body.get("error")
    if isinstance(problem, str):  # the routes of Prometheus
        problem = {"message": problem, "code": body.get("errorType")}
    problem = problem if isinstance(problem, dict) else {}
    code = str(problem.get("code") or "")
    return error_class(status, code)(
        str(problem.get("message") or reason),
        status=status,
        code=code,
        request_id=str(body.get("requestId") or request_id),
        details=problem.get("details"),
        retry_after=wait,
    )


@dataclass(frozen=True)
class AnswerPart:
    """A part of an answer that is received while it is written.

    Attributes:
        text: A part of the text by the chat model, before it is checked; "" in the last part.
        answer: The whole answer, only in the last part. It replaces the texts of the others.
        degraded: What is missing in the answer. ``generation``: the chat model did not write it, and it is quoted.
    """

    text: str = ""
    answer: Answer | None = None
    degraded: Sequence[str] = ()


def parse_answer_part(event: Event) -> AnswerPart:
    """Returns the content of an event of an answer.

    Raises:
        APIError: The server could not complete the answer.
        ResponseError: The event is not one of an answer.
    """
    data = event.data
    if event.event == "error":
        raise _error(data, 0, "the answer failed", "", None)
    if event.event == "token" and isinstance(data, dict) and isinstance(data.get("text"), str):
        return AnswerPart(data["text"])
    if event.event != "answer" or not isinstance(data, dict) or not isinstance(data.get("data"), dict):
        raise ResponseError("The event is not one of an answer")
    meta = data.get("meta")
    degraded = meta.get("degraded") if isinstance(meta, dict) else None
    return AnswerPart("", cast(Answer, data["data"]), degraded if isinstance(degraded, list) else ())


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
