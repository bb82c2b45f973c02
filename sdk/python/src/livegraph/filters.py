"""The filters and selectors of lists and queries, which are keyword arguments of the methods.

All filters combine with AND. A filter of several values matches any of them.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict

from ._request import Filter, Id, Time
from .types import EntityType, FacetName, PropertyValue, RerankOptions, SavedQueryKind, SearchWeights

Ids: TypeAlias = Id | Sequence[Id]
Texts: TypeAlias = str | Sequence[str]
Aggregation = Literal[
    "avg", "min", "max", "sum", "count", "first", "last", "stddev", "p50", "p90", "p95", "p99", "rate", "delta"
]
"""A function of the points of a bucket."""


class _ResourceFilter(TypedDict, total=False):
    ids: Ids
    property: Filter
    """Values of top-level properties: ``property={"room": "cellar"}``."""
    property_min: Mapping[str, str | float]
    """Inclusive lower bounds of top-level properties. A number, or its text, bounds numbers, another text strings."""
    property_max: Mapping[str, str | float]
    """Inclusive upper bounds of top-level properties."""
    property_prefix: Filter
    """Beginnings of top-level properties that are strings."""
    created_after: Time
    """Exclusive, as the other times."""
    created_before: Time
    updated_after: Time
    updated_before: Time
    sort: str
    """Fields separated by commas, with ``-`` for descending order. The default is ``createdAt``."""


class NodeFilter(_ResourceFilter, total=False):
    """Selects nodes."""

    name: str
    """A part of the name, in any case."""
    entity_type: EntityType | Sequence[EntityType]


class EdgeFilter(_ResourceFilter, total=False):
    """Selects edges."""

    source_id: Ids
    target_id: Ids
    node_id: Ids
    """The node at either end."""
    relation_type: Texts


class Moment(TypedDict, total=False):
    """Selects a state of the graph. The default is the current one. Only one of the fields may be given."""

    as_of_sequence: int
    """The state after the change with this sequence."""
    as_of: Time
    """The state after the last change up to this time."""


class NeighborFilter(Moment, total=False):
    """Selects the neighbors of a node."""

    depth: int
    """The maximum number of edges to a neighbor, 1 (the default) to 3."""
    direction: Literal["out", "in", "both"]
    """The default is ``both``."""
    relation_type: Texts
    """Follow only these edges."""
    entity_type: EntityType | Sequence[EntityType]
    """Return only these nodes. The others are traversed."""


class PathFilter(TypedDict, total=False):
    """Selects paths between two nodes."""

    max_depth: int
    """The maximum number of edges of a path, 1 to 10. The default is 6."""
    direction: Literal["out", "in", "both"]
    """The default is ``both``."""
    relation_type: Texts
    """Follow only these edges."""
    entity_type: EntityType | Sequence[EntityType]
    """Follow paths only through these nodes. The ends may be of any type."""
    weight: str
    """The name of the property of edges that is their cost."""


class SubgraphFilter(Moment, total=False):
    """Selects a subgraph around nodes."""

    depth: int
    """The maximum number of edges to a node, 0 (only the given nodes) to 3. The default is 1."""
    limit: int
    """The maximum number of nodes, up to 500. The default is 100."""
    direction: Literal["out", "in", "both"]
    """The default is ``both``."""
    relation_type: Texts
    """Follow and return only these edges."""
    entity_type: EntityType | Sequence[EntityType]
    """Traverse and return only these nodes. The given nodes may be of any type."""


class SourceFilter(TypedDict, total=False):
    """Selects sources."""

    name: str
    """A part of the name, in any case."""
    node_id: Id
    tag: Filter
    """Values of tags: ``tag={"room": "cellar"}``."""
    sort: str


class SavedQueryFilter(TypedDict, total=False):
    """Selects saved queries."""

    name: str
    """A part of the name, in any case."""
    kind: SavedQueryKind
    sort: str


class SeriesSelector(TypedDict, total=False):
    """Selects series."""

    source: str
    """The exact name of the source."""
    source_id: Ids
    node_id: Id
    """The node that the source is linked to."""
    metric: Texts
    tag: Filter
    """Values of tags: ``tag={"room": "cellar"}``."""


class PointQuery(SeriesSelector, total=False):
    """Selects points and how they are returned."""

    start: Time
    """Inclusive. The default is one hour before end."""
    end: Time
    """Exclusive. The default is now."""
    order: Literal["asc", "desc"]
    """The order of the points of each series. The default is ``asc``."""
    points_limit: int
    """The maximum number of points in a response, up to 1,000,000. The default is 10,000."""
    epoch: Literal["ms", "us", "ns"]
    """Return timestamps as integers in this unit instead of texts."""
    checkpoint: str
    """Wait up to 5 s until the points of this ingest are visible."""


class RawQuery(PointQuery, total=False):
    """Selects raw points."""

    downsample: Literal["lttb"]
    """Reduce the number of points and keep the shape of their chart."""
    max_points: int
    """The number of points of a series with ``downsample``."""


class AggregateOptions(TypedDict, total=False):
    """How points are aggregated."""

    interval: str
    """The length of buckets, ``1s`` to ``30d``, or ``auto``. Without it, there is one row."""
    group_by: str
    """``sourceId``, ``metric``, ``tag.<key>`` (several separated by commas) or ``none``: aggregate series together."""
    timezone: str
    """The IANA time zone that buckets are aligned to."""
    fill: str
    """The value of empty buckets: ``none``, ``null``, ``previous``, ``linear`` or a number."""
    max_points: int
    """The number of buckets with the interval ``auto``."""


class AggregateQuery(PointQuery, AggregateOptions, total=False):
    """Selects points and how they are aggregated."""


class FrameQuery(RawQuery, AggregateOptions, total=False):
    """Selects what a data frame contains."""

    aggregation: Aggregation | Sequence[Aggregation]
    """The functions. Without them, the frame contains raw points."""
    latest: bool
    """Return only the newest point of each series."""


class DocumentOptions(TypedDict, total=False):
    """Selects documents. Nodes without a document do not pass."""

    tags: Sequence[str]
    """At least one of these tags."""
    all_tags: Sequence[str]
    """Each of these tags."""
    timestamp: Mapping[Literal["from", "to"], Time]
    """A timestamp in the range: ``from`` is inclusive, ``to`` exclusive, and one of both may be missing."""


class DocumentListOptions(DocumentOptions, total=False):
    """Selects documents of a list and their order."""

    sort: Literal["created", "newest", "timestamp"]
    """``created``, the default: the oldest first. ``newest``: the last change of the document first. ``timestamp``:
    the newest timestamp first, documents without one last."""


class SearchedDocuments(DocumentOptions, total=False):
    """Selects the documents in which a search finds nodes."""

    documents: Sequence[Id]
    """The ids of at most 100 documents. An id of no document matches nothing."""


class QueryOptions(SearchedDocuments, total=False):
    """Options of every search."""

    entity_types: Sequence[EntityType]
    min_score: float
    """0 to 1."""
    properties: Mapping[str, PropertyValue | Sequence[PropertyValue]]
    """Values of top-level properties, compared with their type."""
    property_min: Mapping[str, float | str]
    """Inclusive lower bounds of top-level properties: numbers, or strings, which are compared by code point."""
    property_max: Mapping[str, float | str]
    """Inclusive upper bounds."""
    property_prefix: Mapping[str, str]
    """Beginnings of top-level properties that are strings."""
    rerank: RerankOptions
    """Order the best results again by the reranking model of the server: ``{}``, or ``{"candidates": 30}``.
    ``meta["rerank"]`` of a page describes it."""


class SearchOptions(QueryOptions, total=False):
    """Options of a search."""

    include_content: bool
    """Include the text of ``matchedChunk``."""
    group_by: Literal["document"]
    """Return only the best passage of each document."""
    facets: Sequence[FacetName]
    """Fields whose values are counted over all ranked results: ``entityType``, ``tags``, ``timestamp``.
    ``meta["facets"]`` of the page has the counts."""
    facet_limit: int
    """The maximum number of values of a facet, 1 to 50. The default is 10."""
    facet_interval: Literal["day", "month", "year"]
    """The calendar interval of ``timestamp``. The default is the shortest with at most ``facet_limit`` values."""


class GraphSearchOptions(TypedDict, total=False):
    """Options of searches that follow edges."""

    hops: int
    """The maximum number of edges from a seed, 0 to 3. The default is 2."""
    relation_types: Sequence[str]
    direction: Literal["out", "in", "both"]
    node_ids: Sequence[Id]
    """Additional seeds."""
    weights: SearchWeights
    """The weights of the lanes ``text``, ``vector`` and ``graph``, 0 to 1."""
    include_live_data: bool
    """Include the latest value of each series of the sources of a result. Requires ``read:livedata``."""


class HybridOptions(SearchOptions, GraphSearchOptions, total=False):
    """Options of a search that follows edges."""

    explain: bool
    """Include an explanation of each score."""
    include_edges: bool
    """Include the edges between the results of the page."""


class AnswerOptions(QueryOptions, GraphSearchOptions, total=False):
    """Options of an answer."""

    mode: Literal["extract", "generate"]
    """``extract`` quotes sentences and is the default. With ``generate`` a chat model of the server writes the answer
    from them."""
