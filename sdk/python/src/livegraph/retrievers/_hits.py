"""Searches and converts their results. It does not depend on a framework."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._async.client import AsyncClient
from .._response import Page
from .._sync.client import Client
from ..types import HybridHit, SearchHit

MAX_RESULTS = 100
"""The maximum number of results of a search."""


@dataclass(frozen=True)
class Found:
    """A result of a search.

    Attributes:
        id: The id of the node, which also identifies the passage in later searches.
        text: The text for the model.
        score: 0 to 1.
        metadata: What an answer cites, and ``degraded`` if a part of the search was unavailable.
    """

    id: str
    text: str
    score: float
    metadata: dict[str, Any]


def check(limit: int, options: Mapping[str, Any]) -> None:
    """Checks the arguments of a retriever.

    Raises:
        ValueError: The limit is out of range, or an option is set by the retriever.
    """
    if not 1 <= limit <= MAX_RESULTS:
        raise ValueError(f"the number of results must be 1 to {MAX_RESULTS}, not {limit}")
    reserved = sorted(options.keys() & {"query", "limit", "offset"})
    if reserved:
        raise ValueError(f"the retriever sets {', '.join(reserved)} of a search")


def search(client: Client, query: str, limit: int, follow_edges: bool, options: Mapping[str, Any]) -> list[Found]:
    """Searches for nodes; with follow_edges also along edges."""
    if not query.strip():
        return []
    if follow_edges:
        return texts(client.search.hybrid(query, limit=limit, **options))
    return texts(client.search.nodes(query, limit=limit, **options))


async def asearch(
    client: AsyncClient, query: str, limit: int, follow_edges: bool, options: Mapping[str, Any]
) -> list[Found]:
    """Does the same as ``search``, for asyncio."""
    if not query.strip():
        return []
    if follow_edges:
        return texts(await client.search.hybrid(query, limit=limit, **options))
    return texts(await client.search.nodes(query, limit=limit, **options))


def texts(page: Page[SearchHit] | Page[HybridHit]) -> list[Found]:
    """Returns the results that have a text. The node of a long document has none, but its passages have."""
    return [found(hit, page.meta) for hit in page if hit["node"]["description"] or "document" not in hit]


def found(hit: SearchHit | HybridHit, meta: Mapping[str, Any]) -> Found:
    """Returns a result with the metadata that its node and document have.

    The text of a passage is the passage; that of another node is its name and its description.
    """
    node, document = hit["node"], hit.get("document")
    description = node["description"]
    name = node["name"]
    metadata: dict[str, Any] = {
        "node_id": node["id"],
        "name": name,
        "entity_type": node["entityType"],
        "score": hit["score"],
    }
    if document is not None:
        metadata |= {"document_id": document["id"], "source": document["externalId"], "title": document["title"]}
        if "page" in document:
            metadata["page"] = document["page"]
        text = description or name
    else:
        text = f"{name}\n{description}" if description else name
    if meta.get("degraded"):
        metadata["degraded"] = meta["degraded"]
    return Found(node["id"], text, hit["score"], metadata)
