"""Queries in PromQL.

Generated from _async by tools/generate.py. Do not edit.
"""

from datetime import datetime
from typing import Any, TypeAlias
from urllib.parse import urlencode

from .._request import Request, query
from .._response import parse_prometheus
from ..types import PrometheusResult
from .transport import Transport

PromTime: TypeAlias = datetime | str | float
"""A time with a time zone, its text in RFC 3339, or seconds since 1970."""


class Prometheus:
    """Queries in PromQL, in the format of Prometheus."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def query(
        self,
        expression: str,
        *,
        time: PromTime | None = None,
        timeout: str | None = None,
        limit: int | None = None,
    ) -> PrometheusResult:
        """Evaluates an expression at one time.

        Args:
            expression: The query in PromQL.
            time: The default is now.
            timeout: A shorter timeout than the server's, such as ``10s``.
            limit: The maximum number of series in the result.

        Returns:
            ``data`` with ``resultType`` and ``result``, and ``warnings`` if there are any.
        """
        return self._evaluate("query", query=expression, time=time, timeout=timeout, limit=limit)

    def query_range(
        self,
        expression: str,
        *,
        start: PromTime,
        end: PromTime,
        step: str | float,
        timeout: str | None = None,
        limit: int | None = None,
    ) -> PrometheusResult:
        """Evaluates an expression at each step from start to end, which is included.

        The step is a number of seconds or a duration such as ``15s``. A range has at most 11,000 steps.
        """
        return self._evaluate(
            "query_range", query=expression, start=start, end=end, step=step, timeout=timeout, limit=limit
        )

    def _evaluate(self, route: str, **parameters: Any) -> PrometheusResult:
        # A form, because expressions can be longer than a URL.
        body = urlencode(query(**parameters)).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        request = Request[PrometheusResult]("POST", f"/prometheus/api/v1/{route}", body=body, headers=headers)
        return parse_prometheus(self._transport.send(request))
