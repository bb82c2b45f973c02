"""Sends requests and repeats them.

Generated from _async by tools/generate.py. Do not edit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import sleep
from typing import Any, TypeVar, cast

import httpx

from .._request import Bearer, Request, compressed, following
from .._response import Page, check, next_page, parse_data, parse_page
from .._retry import Attempts, Retry
from .._version import USER_AGENT
from ..errors import LivegraphError, TransportError

T = TypeVar("T")


class Transport:
    """The connections to one workspace of a server."""

    def __init__(
        self,
        base: str,
        auth: Bearer,
        workspace_id: str,
        *,
        retry: Retry,
        timeout: float,
        http: httpx.Client,
    ) -> None:
        self._base, self._auth, self._workspace_id = base, auth, workspace_id
        self._retry, self._timeout, self._http = retry, timeout, http

    def attempts(self, total: float | None = None) -> Attempts:
        """Returns the attempts of a request, which end after total seconds instead of those of the client."""
        return Attempts(self._retry if total is None else replace(self._retry, total=total))

    def data(self, request: Request[T], total: float | None = None) -> T:
        """Returns the data of the response."""
        return cast(T, parse_data(self.send(request, total)))

    def page(self, request: Request[T], total: float | None = None) -> Page[T]:
        """Returns a page of a list."""
        return parse_page(self.send(request, total))

    def pages(self, request: Request[T]) -> Iterator[T]:
        """Iterates over the items of all pages."""
        offset = int(dict(request.query).get("offset", "0"))
        current: Request[T] | None = request
        while current is not None:
            page = self.page(current)
            for item in page:
                yield item
            offset += len(page.items)
            current = next_page(request, page, offset)

    def contents(self, request: Request[bytes]) -> list[bytes]:
        """Returns the bodies of all pages of a list without an envelope."""
        bodies: list[bytes] = []
        page: Request[bytes] | None = request
        while page is not None:
            response = self.send(page)
            bodies.append(response.content)
            page = following(request, response.headers.get("Link", ""))
        return bodies

    def send(self, request: Request[Any], total: float | None = None) -> httpx.Response:
        """Returns the response to a request, which is sent again after transient errors.

        Raises:
            APIError: The server answered with an error.
            TransportError: The server cannot be reached.
        """
        request = compressed(request)
        attempts = self.attempts(total)
        while True:
            try:
                with self.open(request, attempts.timeout(self._timeout)) as response:
                    response.read()
                return response
            except LivegraphError as error:
                wait = attempts.next_wait(error, repeatable=request.repeatable)
                if wait is None:
                    raise
            sleep(wait)

    @contextmanager
    def open(self, request: Request[Any], timeout: float | None = None) -> Iterator[httpx.Response]:
        """Makes one attempt and opens the body of its response, which has a status of success."""
        message = f"{request.method} {request.path}"
        headers = {"User-Agent": USER_AGENT, "x-workspace-id": self._workspace_id, **request.headers}
        built = self._http.build_request(
            request.method,
            self._base + request.path,
            params=list(request.query),
            content=request.body,
            headers=headers,
            timeout=self._timeout if timeout is None else timeout,
        )
        try:
            response = self._http.send(built, auth=self._auth, stream=True, follow_redirects=False)
            try:
                if not response.is_success:
                    response.read()
                check(response)
                yield response
            finally:
                response.close()
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise TransportError(f"{message}: the server cannot be reached: {error}", sent=False) from error
        except httpx.RequestError as error:
            raise TransportError(f"{message}: the connection broke: {type(error).__name__} {error}") from error
