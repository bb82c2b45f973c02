"""Builds commands for ``client.commands.execute`` and ``client.commands.batch``."""

from collections.abc import Mapping
from typing import Any, Literal, cast

from ._request import Id, fields
from .types import Command, CommandType, EntityType, KeyedNode


def create_node(
    name: str,
    entity_type: EntityType,
    *,
    id: Id | None = None,
    description: str | None = None,
    properties: Mapping[str, Any] | None = None,
) -> Command:
    """Returns a command that creates a node. Without an id, the server chooses it."""
    return _command(
        "CREATE_NODE", id=id, name=name, entity_type=entity_type, description=description, properties=properties
    )


def update_node(id: Id, changes: Mapping[str, Any], *, expected_version: int | None = None) -> Command:
    """Returns a command that changes the fields of ``UpdateNode`` in changes. ``properties`` is a merge patch."""
    return _command("UPDATE_NODE", expected_version, changes, id=id)


def delete_node(id: Id, *, expected_version: int | None = None) -> Command:
    """Returns a command that deletes a node with its edges."""
    return _command("DELETE_NODE", expected_version, id=id)


def create_edge(
    source_id: Id,
    target_id: Id,
    relation_type: str,
    *,
    id: Id | None = None,
    properties: Mapping[str, Any] | None = None,
) -> Command:
    """Returns a command that creates an edge from the source to the target."""
    return _command(
        "CREATE_EDGE",
        id=id,
        source_id=source_id,
        target_id=target_id,
        relation_type=relation_type,
        properties=properties,
    )


def update_edge(id: Id, changes: Mapping[str, Any], *, expected_version: int | None = None) -> Command:
    """Returns a command that changes the fields of ``UpdateEdge`` in changes. ``properties`` is a merge patch."""
    return _command("UPDATE_EDGE", expected_version, changes, id=id)


def delete_edge(id: Id, *, expected_version: int | None = None) -> Command:
    """Returns a command that deletes an edge."""
    return _command("DELETE_EDGE", expected_version, id=id)


def upsert_node(key: Mapping[str, Any], entity_type: EntityType, changes: Mapping[str, Any] | None = None) -> Command:
    """Returns a command that changes the node with the entity type and the key, or creates it.

    ``key`` is one property with its value. ``changes`` has fields of ``UpsertNode``; ``properties`` is a merge patch.
    ``effect`` of the result is created, updated or unchanged.
    """
    return _command("UPSERT_NODE", None, changes, key=key, entity_type=entity_type)


def upsert_edge(
    source: Id | KeyedNode,
    target: Id | KeyedNode,
    relation_type: str,
    *,
    properties: Mapping[str, Any] | None = None,
) -> Command:
    """Returns a command that changes the edge of the type from the source to the target, or creates it.

    The ends are ids, or keys with entity types. ``properties`` is a merge patch: None removes a property.
    """
    ends: dict[str, Any] = {}
    for name, end in (("source", source), ("target", target)):
        ends[name if isinstance(end, Mapping) else f"{name}_id"] = end
    return _command("UPSERT_EDGE", relation_type=relation_type, properties=properties, **ends)


def undo(*, scope: Literal["mine", "workspace"] | None = None, command_id: Id | None = None) -> Command:
    """Returns a command that cancels the last command of the scope (default: mine), or the command with the id."""
    return _command("UNDO", scope=scope, command_id=command_id)


def redo(*, scope: Literal["mine", "workspace"] | None = None, command_id: Id | None = None) -> Command:
    """Returns a command that restores the command that was cancelled last, or the one with the id."""
    return _command("REDO", scope=scope, command_id=command_id)


def _command(
    kind: CommandType, expected_version: int | None = None, changes: Mapping[str, Any] | None = None, **payload: Any
) -> Command:
    content = {**(changes or {}), **fields(**payload)}
    return cast(Command, fields(type=kind, payload=content or None, expected_version=expected_version))
