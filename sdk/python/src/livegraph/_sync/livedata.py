"""Sources and their points.

Generated from _async by tools/generate.py. Do not edit.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

from .. import _frames
from .._request import JSON, Filter, Id, Query, Request, Time, encode, fields, idempotency, part, query, selection
from .._response import Page
from ..errors import ConflictError, NotFoundError
from ..filters import AggregateQuery, Aggregation, RawQuery, SeriesSelector, SourceFilter
from ..types import (
    IngestAnswerData,
    Point,
    PointRows,
    PointsDeletionAnswerData,
    PointSeries,
    Precision,
    Series,
    Source,
    SourceMetric,
)
from .streams import EventStream
from .transport import Transport

if TYPE_CHECKING:
    import pyarrow as pa

SOURCES = "/api/live-data/sources"
QUERY = "/api/live-data/query"
SERIES = "/api/live-data/series"


class Sources:
    """The sources of points."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        name: str,
        *,
        id: Id | None = None,
        description: str | None = None,
        node_id: Id | None = None,
        unit: str | None = None,
        metrics: Sequence[SourceMetric] | None = None,
        tags: Mapping[str, str] | None = None,
        retention_days: int | None = None,
        interval_seconds: float | None = None,
        idempotency_key: str | None = None,
    ) -> Source:
        """Creates a source.

        Args:
            name: Unique in the workspace.
            id: Without it, the server chooses one.
            description: A text.
            node_id: The node of the graph that the source belongs to.
            unit: The unit of metrics without a unit.
            metrics: Descriptions of metrics. Any metric can be written.
            tags: Texts by key.
            retention_days: The number of days for which points are kept. Without it, that of the workspace.
            interval_seconds: How often points are expected.
            idempotency_key: Without it, a new one.

        Raises:
            ConflictError: The name or the id exists.
        """
        body = encode(
            fields(
                name=name,
                id=id,
                description=description,
                node_id=node_id,
                unit=unit,
                metrics=metrics,
                tags=tags,
                retention_days=retention_days,
                interval_seconds=interval_seconds,
            )
        )
        headers = JSON | idempotency(idempotency_key)
        return self._transport.data(Request[Source]("POST", SOURCES, body=body, headers=headers))

    def ensure(self, name: str, **options: Any) -> Source:
        """Returns the source with this name. It creates the source, with the options of ``create``, if there is none.

        An existing source is not changed.
        """
        try:
            return self.create(name, **options)
        except ConflictError:
            return self.find(name)

    def find(self, name: str) -> Source:
        """Returns the source with exactly this name.

        Raises:
            NotFoundError: There is none.
        """
        for source in self.iterate(name=name):
            if source["name"] == name:
                return source
        raise NotFoundError(f"No source is named {name!r}", status=404, code="NOT_FOUND")

    def get(self, id: Id) -> Source:
        """Returns a source."""
        return self._transport.data(Request[Source]("GET", f"{SOURCES}/{part(id)}"))

    def list(
        self,
        *,
        limit: int = 100,
        offset: int | None = None,
        cursor: str | None = None,
        **filters: Unpack[SourceFilter],
    ) -> Page[Source]:
        """Returns a page of at most 100 sources that match all filters."""
        paging = selection(filters, limit=limit, offset=offset, cursor=cursor)
        return self._transport.page(Request[Source]("GET", SOURCES, query=paging))

    def iterate(self, **filters: Unpack[SourceFilter]) -> Iterator[Source]:
        """Iterates over all sources that match all filters, page by page."""
        return self._transport.pages(Request[Source]("GET", SOURCES, query=selection(filters, limit=100)))

    def update(self, id: Id, changes: Mapping[str, Any], *, expected_version: int | None = None) -> Source:
        """Changes the fields of ``SourcePatch`` in changes and returns the source.

        The changes are a merge patch: None removes a value, ``tags`` are merged, ``metrics`` are replaced. With an
        expected version, the request is not repeated if the server may have executed it.

        Raises:
            ConflictError: The name exists, or the source has another version than the expected one.
        """
        body = encode({**changes, **fields(expected_version=expected_version)})
        return self._transport.data(
            Request[Source](
                "PATCH",
                f"{SOURCES}/{part(id)}",
                body=body,
                headers=JSON,
                repeatable="expectedVersion" not in changes and expected_version is None,
            )
        )

    def delete(self, id: Id) -> None:
        """Deletes a source with its points, which takes a second. It requires the scope ``admin``.

        Raises:
            NotFoundError: The source does not exist. After a connection that broke, this may be the result of the
                repeated request.
        """
        self._transport.data(Request[None]("DELETE", f"{SOURCES}/{part(id)}"))


class Points:
    """The points of sources."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def write(
        self,
        points: Sequence[Point],
        *,
        source: str | None = None,
        metric: str | None = None,
        tags: Mapping[str, str] | None = None,
        precision: Precision = "ms",
        strict: bool = False,
    ) -> IngestAnswerData:
        """Writes up to 1,000,000 points.

        A request with points without a timestamp has an idempotency key: they get the time when the server received
        the first attempt.

        Args:
            points: The points, such as ``{"metric": "temperature", "value": 71.5}``. The source must exist.
            source: The name of the source of points without one.
            metric: The metric of points without one.
            tags: The tags of points without tags.
            precision: The unit of timestamps that are integers.
            strict: Reject all points if one is rejected.

        Returns:
            ``accepted`` and ``rejected``, the numbers of points; ``errors``, why points were rejected; and
            ``checkpoint`` for ``wait_visible``. Accepted points are durable.

        Raises:
            ValidationError: All points were rejected.
        """
        content = {"points": list(points), **fields(source=source, metric=metric, tags=tags, precision=precision)}
        timed = all("timestamp" in point for point in points)
        return self._ingest(encode(content), JSON, strict=strict, timed=timed)

    def write_series(
        self,
        series: Sequence[PointSeries],
        *,
        source: str | None = None,
        metric: str | None = None,
        tags: Mapping[str, str] | None = None,
        precision: Precision = "ms",
        strict: bool = False,
    ) -> IngestAnswerData:
        """Writes points as columns, which is faster for many points of each series. See ``write``."""
        content = {"series": list(series), **fields(source=source, metric=metric, tags=tags, precision=precision)}
        timed = all("timestamps" in item for item in series)
        return self._ingest(encode(content), JSON, strict=strict, timed=timed)

    def write_lines(
        self, lines: str | bytes, *, precision: str | None = None, strict: bool = False
    ) -> IngestAnswerData:
        """Writes line protocol. A source that does not exist is created.

        Args:
            lines: Lines such as ``boiler,room=A temperature=71.5 1748768400000000000``.
            precision: The unit of timestamps: ``ns`` (the default), ``us``, ``ms``, ``s``, ``m`` or ``h``.
            strict: Reject all points if one is rejected.
        """
        body = lines.encode() if isinstance(lines, str) else lines
        headers = {"Content-Type": "text/plain"}
        return self._ingest(body, headers, strict=strict, timed=False, precision=precision)

    def _ingest(
        self, body: bytes, headers: Mapping[str, str], *, strict: bool, timed: bool, precision: str | None = None
    ) -> IngestAnswerData:
        # Points with timestamps replace themselves when they are sent again.
        if not timed:
            headers = {**headers, **idempotency(None)}
        parameters = query(strict=strict or None, precision=precision)
        return self._transport.data(
            Request[IngestAnswerData]("POST", "/api/live-data/ingest", query=parameters, body=body, headers=headers)
        )

    def query(
        self, *, limit: int = 100, offset: int | None = None, cursor: str | None = None, **selector: Unpack[RawQuery]
    ) -> Page[PointRows]:
        """Returns a page of at most 100 series with their raw points.

        The points of a single series are paged by ``next_cursor``.
        """
        paging = {"limit": limit, "offset": offset, "cursor": cursor}
        return self._transport.page(Request[PointRows]("GET", QUERY, query=points_query(selector, **paging)))

    def iterate(self, **selector: Unpack[RawQuery]) -> Iterator[PointRows]:
        """Iterates over the series with their raw points, page by page. A series can be returned in several parts."""
        return self._transport.pages(Request[PointRows]("GET", QUERY, query=points_query(selector, limit=100)))

    def aggregate(
        self,
        aggregation: Aggregation | Sequence[Aggregation],
        *,
        limit: int = 100,
        offset: int | None = None,
        **selector: Unpack[AggregateQuery],
    ) -> Page[PointRows]:
        """Returns a page of at most 100 series, or groups, with one column per function and one row per bucket."""
        paging = {"limit": limit, "offset": offset, "aggregation": aggregation}
        return self._transport.page(Request[PointRows]("GET", QUERY, query=points_query(selector, **paging)))

    def latest(
        self,
        *,
        start: Time | None = None,
        limit: int = 100,
        offset: int | None = None,
        **selector: Unpack[SeriesSelector],
    ) -> Page[PointRows]:
        """Returns the newest point of each series, of any age unless start is given."""
        paging = {"latest": True, "start": start, "limit": limit, "offset": offset}
        return self._transport.page(Request[PointRows]("GET", QUERY, query=points_query(selector, **paging)))

    def series(self, **selector: Unpack[SeriesSelector]) -> Iterator[Series]:
        """Iterates over the series with the number of their points and the times of the oldest and the newest."""
        paging = selection(selector, limit=100)
        return self._transport.pages(Request[Series]("GET", SERIES, query=paging))

    def series_arrow(self, **selector: Unpack[SeriesSelector]) -> "pa.Table":
        """Returns the series as a table of Apache Arrow, in requests of up to 10,000 series.

        The columns have the names of the fields, and ``tags`` has texts of JSON. Requires ``livegraph[pandas]``.
        """
        request = _frames.arrow_request(SERIES, selection(selector, limit=_frames.MAX_ITEMS))
        return _frames.parse_arrow(self._transport.contents(request))

    def stream(self, *, after: str | None = None, **selector: Unpack[SeriesSelector]) -> EventStream:
        """Returns a stream of the points that arrive from now on, or after the event with this id.

        ``data`` of an event ``points`` is a list of ``PointRows``. ``deleted`` reports deleted points. ``reset`` and
        ``dropped`` mean that events since ``data["since"]`` may be missing: query these points. After ``dropped`` the
        stream is opened again. A point can be received more than once; the last value of a series and time applies.
        """
        request = Request[Any]("GET", "/api/live-data/stream", query=selection(selector))
        return EventStream(self._transport, request, after)

    def delete(
        self, source_id: Id, *, metric: str | None = None, start: Time | None = None, end: Time | None = None
    ) -> PointsDeletionAnswerData:
        """Deletes the points of a source that were accepted before the request. It requires the scope ``admin``.

        The request is not repeated if the server may have executed it, because points that were accepted in the
        meantime would be deleted.

        Args:
            source_id: The id of the source.
            metric: Only points of this metric.
            start: Inclusive; without it, from the first point.
            end: Exclusive; without it, to the last point.
        """
        path, selector = "/api/live-data/points", query(source_id=source_id, metric=metric, from_=start, to=end)
        return self._transport.data(
            Request[PointsDeletionAnswerData]("DELETE", path, query=selector, repeatable=False)
        )


def points_query(selector: Mapping[str, Any], **more: Any) -> Query:
    """Returns the URL parameters of a query of points."""
    given = {**more, **selector}
    if "aggregation" in given and not isinstance(given["aggregation"], str):
        given["aggregation"] = ",".join(given["aggregation"])
    tag = cast(Filter | None, given.pop("tag", None))
    bounds = {"from_": given.pop("start", None), "to": given.pop("end", None)}
    return selection({"tag": tag}, **given, **bounds)
