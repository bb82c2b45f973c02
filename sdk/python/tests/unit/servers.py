"""Clients of a server that a function implements."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from livegraph import AsyncClient, Client, Retry

KEY = "lg_live_secretsecretsecret"
WORKSPACE = "0194a5b0-0000-7000-8000-00000000000a"
QUICK = Retry(first=0.001, maximum=0.002, total=5)
Handler = Callable[[httpx.Request], httpx.Response]


def answer(data: Any, status: int = 200, **meta: Any) -> httpx.Response:
    body = {"success": True, "data": data, "requestId": "req_1"}
    return httpx.Response(status, json=body | ({"meta": meta} if meta else {}))


def page(items: list[Any], *, cursor: str | None = None, more: bool = False) -> httpx.Response:
    return answer(items, total=9, limit=100, offset=0, hasMore=more, nextCursor=cursor)


def failure(status: int, code: str = "INTERNAL_ERROR", after: int | None = None, **details: Any) -> httpx.Response:
    error = {"code": code, "message": "it failed", "details": details}
    headers = {} if after is None else {"Retry-After": str(after)}
    return httpx.Response(status, json={"success": False, "error": error, "requestId": "req_2"}, headers=headers)


def receipt(request: httpx.Request, rejected: int = 0) -> httpx.Response:
    """Returns the answer to an ingest of rows."""
    errors = [{"index": 0, "field": "points[0]", "reason": "is bad", "count": rejected}] if rejected else []
    accepted = len(content(request)["points"]) - rejected
    return answer({"accepted": accepted, "rejected": rejected, "errors": errors, "checkpoint": "c"}, 201)


def content(request: httpx.Request) -> Any:
    """Returns the JSON of a request."""
    body = request.read()
    if request.headers.get("Content-Encoding") == "gzip":
        body = httpx.Response(200, headers={"Content-Encoding": "gzip"}, content=body).content
    return json.loads(body)


class Server:
    """A server that returns the given responses, or raises the given exceptions, in order. It stores the requests."""

    def __init__(self, *responses: httpx.Response | Exception) -> None:
        self._responses: Iterator[httpx.Response | Exception] = iter(responses)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        response = next(self._responses)
        if isinstance(response, Exception):
            raise response
        return response


def client(handler: Handler, retry: Retry = QUICK) -> Client:
    http = httpx.Client(transport=httpx.MockTransport(handler))
    return Client("http://server/prefix/", KEY, WORKSPACE, retry=retry, http=http)


def async_client(handler: Handler, retry: Retry = QUICK) -> AsyncClient:
    http = httpx.AsyncClient(transport=httpx.MockTransport(handler))
    return AsyncClient("http://server", KEY, WORKSPACE, retry=retry, http=http)
