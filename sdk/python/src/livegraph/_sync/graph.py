"""Nodes, edges, commands and the history of the graph.

Generated from _async by tools/generate.py. Do not edit.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

from .. import _frames
from .. import commands as build
from .._request import COMMAND_HEADERS, JSON, Id, Request, encode, idempotency, part, query, selection
from .._response import Page
from ..filters import EdgeFilter, Ids, Moment, NeighborFilter, NodeFilter, PathFilter, SubgraphFilter
from ..types import (
    BatchResult,
    CascadeEdges,
    Change,
    Command,
    CommandResult,
    CommandState,
    Edge,
    EntityType,
    Neighbor,
    Node,
    Path,
    Pattern,
    PatternMatches,
    Subgraph,
)
from .streams import EventStream
from .transport import Transport

if TYPE_CHECKING:
    import pyarrow as pa


class Commands:
    """Commands, which change the graph. ``livegraph.commands`` builds them.

    A command is sent with an idempotency key, so that a repeated request does not execute it twice.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def execute(self, command: Command, *, idempotency_key: str | None = None) -> CommandResult:
        """Executes a command and returns its result.

        Raises:
            NotFoundError: The node or the edge does not exist.
            ConflictError: The id exists, the version is another one, or an undo is blocked.
            ValidationError: The command has invalid values.
        """
        headers = COMMAND_HEADERS | idempotency(idempotency_key)
        body = encode(command)
        return self._transport.data(
            Request[CommandResult]("POST", "/api/commands/execute", body=body, headers=headers)
        )

    def batch(
        self, commands: Sequence[Command], *, atomic: bool = True, idempotency_key: str | None = None
    ) -> BatchResult:
        """Executes 1 to 1,000 commands in order and returns the result of each.

        If atomic is True, all commands are applied or none, and the exception is that of the first that fails.
        Otherwise the result of a failed command has the status ``failed`` and its ``error``; ``batch_error`` returns
        it as an exception.
        """
        headers = COMMAND_HEADERS | idempotency(idempotency_key)
        body = encode({"commands": list(commands), "atomic": atomic})
        return self._transport.data(Request[BatchResult]("POST", "/api/commands/batch", body=body, headers=headers))

    def undo(
        self, *, scope: Literal["mine", "workspace"] | None = None, command_id: Id | None = None
    ) -> CommandResult:
        """Cancels the last command of the scope (default: mine), or the command or atomic batch with the id."""
        return self.execute(build.undo(scope=scope, command_id=command_id))

    def redo(
        self, *, scope: Literal["mine", "workspace"] | None = None, command_id: Id | None = None
    ) -> CommandResult:
        """Restores the command that was cancelled last, or the one with the id."""
        return self.execute(build.redo(scope=scope, command_id=command_id))

    def get(self, id: Id) -> CommandState:
        """Returns the state of a command or a batch of the last 24 hours."""
        return self._transport.data(Request[CommandState]("GET", f"/api/commands/{part(id)}"))


class Nodes:
    """The nodes of the graph."""

    def __init__(self, transport: Transport, commands: Commands) -> None:
        self._transport, self._commands = transport, commands

    def create(
        self,
        name: str,
        entity_type: EntityType,
        *,
        id: Id | None = None,
        description: str | None = None,
        properties: Mapping[str, Any] | None = None,
    ) -> Node:
        """Creates a node. Without an id, the server chooses it.

        Raises:
            ConflictError: The id exists or was deleted.
        """
        command = build.create_node(name, entity_type, id=id, description=description, properties=properties)
        return (self._commands.execute(command))["node"]

    def update(self, id: Id, changes: Mapping[str, Any], *, expected_version: int | None = None) -> Node:
        """Changes the fields of ``UpdateNode`` in changes and returns the node.

        ``properties`` is a merge patch: None removes a property.

        Raises:
            ConflictError: The node has another version than the expected one.
        """
        return (self._commands.execute(build.update_node(id, changes, expected_version=expected_version)))["node"]

    def delete(self, id: Id, *, expected_version: int | None = None) -> CommandResult:
        """Deletes a node with its edges. The result contains the ``commandId`` for an undo."""
        return self._commands.execute(build.delete_node(id, expected_version=expected_version))

    def get(self, id: Id, **moment: Unpack[Moment]) -> Node:
        """Returns a node, with ``as_of_sequence`` or ``as_of`` as of that state of the graph."""
        return self._transport.data(Request[Node]("GET", f"/api/queries/nodes/{part(id)}", query=query(**moment)))

    def list(
        self, *, limit: int = 100, offset: int | None = None, cursor: str | None = None, **filters: Unpack[NodeFilter]
    ) -> Page[Node]:
        """Returns a page of at most 100 nodes that match all filters."""
        fields = selection(filters, limit=limit, offset=offset, cursor=cursor)
        return self._transport.page(Request[Node]("GET", "/api/queries/nodes", query=fields))

    def iterate(self, **filters: Unpack[NodeFilter]) -> Iterator[Node]:
        """Iterates over all nodes that match all filters, page by page."""
        fields = selection(filters, limit=100)
        return self._transport.pages(Request[Node]("GET", "/api/queries/nodes", query=fields))

    def list_arrow(self, **filters: Unpack[NodeFilter]) -> "pa.Table":
        """Returns all nodes that match all filters as a table of Apache Arrow, in requests of up to 10,000 nodes.

        The columns have the names of the fields, and ``properties`` has texts of JSON. Requires ``livegraph[pandas]``.
        """
        fields = selection(filters, limit=_frames.MAX_ITEMS)
        request = _frames.arrow_request("/api/queries/nodes", fields)
        return _frames.parse_arrow(self._transport.contents(request))

    def neighbors(
        self,
        id: Id,
        *,
        limit: int = 100,
        offset: int | None = None,
        cursor: str | None = None,
        **filters: Unpack[NeighborFilter],
    ) -> Page[Neighbor]:
        """Returns a page of the nodes that are reachable over at most ``depth`` edges, with these edges.

        ``meta["truncated"]`` of the page is True if there are more edges than the server follows.
        """
        fields = query(limit=limit, offset=offset, cursor=cursor, **filters)
        return self._transport.page(Request[Neighbor]("GET", _neighbors_path(id), query=fields))

    def iterate_neighbors(self, id: Id, **filters: Unpack[NeighborFilter]) -> Iterator[Neighbor]:
        """Iterates over all neighbors, page by page."""
        return self._transport.pages(Request[Neighbor]("GET", _neighbors_path(id), query=query(limit=100, **filters)))

    def paths(self, from_id: Id, to_id: Id, *, limit: int = 1, **filters: Unpack[PathFilter]) -> Page[Path]:
        """Returns the shortest paths between two nodes, or with ``weight`` the cheapest, at most ``limit`` (1 to 20).

        ``meta["truncated"]`` of the page is True if the server stopped the search at a limit. The paths exist, but
        others may be better or missing.

        Raises:
            NotFoundError: One of the nodes does not exist.
        """
        fields = query(**{"from": from_id, "to": to_id}, limit=limit, **filters)
        return self._transport.page(Request[Path]("GET", "/api/queries/paths", query=fields))

    def subgraph(self, ids: Ids, **filters: Unpack[SubgraphFilter]) -> Subgraph:
        """Returns the nodes within ``depth`` edges of up to 20 nodes, with all edges between the returned nodes.

        Raises:
            NotFoundError: One of the nodes does not exist.
        """
        fields = query(node_id=ids, **filters)
        return self._transport.data(Request[Subgraph]("GET", "/api/queries/subgraph", query=fields))

    def match(self, pattern: Pattern) -> PatternMatches:
        """Returns the matches of a pattern: the parts of the graph that have its shape."""
        return self._transport.data(
            Request[PatternMatches]("POST", "/api/queries/patterns", body=encode(pattern), headers=JSON)
        )


def _neighbors_path(node_id: Id) -> str:
    return f"/api/queries/nodes/{part(node_id)}/neighbors"


class Edges:
    """The edges of the graph."""

    def __init__(self, transport: Transport, commands: Commands) -> None:
        self._transport, self._commands = transport, commands

    def create(
        self,
        source_id: Id,
        target_id: Id,
        relation_type: str,
        *,
        id: Id | None = None,
        properties: Mapping[str, Any] | None = None,
    ) -> Edge:
        """Creates an edge from the source to the target. Without an id, the server chooses it.

        Raises:
            NotFoundError: One of the nodes does not exist.
        """
        command = build.create_edge(source_id, target_id, relation_type, id=id, properties=properties)
        return (self._commands.execute(command))["edge"]

    def update(self, id: Id, changes: Mapping[str, Any], *, expected_version: int | None = None) -> Edge:
        """Changes the fields of ``UpdateEdge`` in changes and returns the edge."""
        return (self._commands.execute(build.update_edge(id, changes, expected_version=expected_version)))["edge"]

    def delete(self, id: Id, *, expected_version: int | None = None) -> CommandResult:
        """Deletes an edge. The result contains the ``commandId`` for an undo."""
        return self._commands.execute(build.delete_edge(id, expected_version=expected_version))

    def get(self, id: Id, **moment: Unpack[Moment]) -> Edge:
        """Returns an edge, with ``as_of_sequence`` or ``as_of`` as of that state of the graph."""
        return self._transport.data(Request[Edge]("GET", f"/api/queries/edges/{part(id)}", query=query(**moment)))

    def list(
        self, *, limit: int = 100, offset: int | None = None, cursor: str | None = None, **filters: Unpack[EdgeFilter]
    ) -> Page[Edge]:
        """Returns a page of at most 100 edges that match all filters."""
        fields = selection(filters, limit=limit, offset=offset, cursor=cursor)
        return self._transport.page(Request[Edge]("GET", "/api/queries/edges", query=fields))

    def iterate(self, **filters: Unpack[EdgeFilter]) -> Iterator[Edge]:
        """Iterates over all edges that match all filters, page by page."""
        fields = selection(filters, limit=100)
        return self._transport.pages(Request[Edge]("GET", "/api/queries/edges", query=fields))

    def list_arrow(self, **filters: Unpack[EdgeFilter]) -> "pa.Table":
        """Returns all edges that match all filters as a table of Apache Arrow, in requests of up to 10,000 edges.

        The columns have the names of the fields, and ``properties`` has texts of JSON. Requires ``livegraph[pandas]``.
        """
        fields = selection(filters, limit=_frames.MAX_ITEMS)
        request = _frames.arrow_request("/api/queries/edges", fields)
        return _frames.parse_arrow(self._transport.contents(request))


class Changes:
    """The changes of the graph."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self, *, node_id: Id | None = None, limit: int = 100, offset: int | None = None, cursor: str | None = None
    ) -> Page[Change]:
        """Returns a page of the changes of a node and its edges, or of the whole graph, newest first."""
        fields = query(node_id=node_id, limit=limit, offset=offset, cursor=cursor)
        return self._transport.page(Request[Change]("GET", "/api/queries/history", query=fields))

    def iterate(self, *, node_id: Id | None = None) -> Iterator[Change]:
        """Iterates over all changes of a node and its edges, or of the whole graph, newest first."""
        fields = query(node_id=node_id, limit=100)
        return self._transport.pages(Request[Change]("GET", "/api/queries/history", query=fields))

    def iterate_edges(self, sequence: int) -> Iterator[CascadeEdges]:
        """Iterates over the edges that a change deleted or restored with a node, in chunks of 1,000 ids."""
        fields = query(limit=100)
        return self._transport.pages(
            Request[CascadeEdges]("GET", f"/api/queries/history/{int(sequence)}/edges", query=fields)
        )

    def stream(self, *, after: int | str | None = None) -> EventStream:
        """Returns a stream of the changes from now on, or after the change with this sequence number; 0: all changes.

        ``data`` of an event ``change`` is a ``Change``. An event ``reset`` means that the graph is another one, for
        example because it was restored from a backup: read it again.
        """
        return EventStream(self._transport, Request("GET", "/api/queries/events"), after)
