"""Analyses of the graph.

Generated from _async by tools/generate.py. Do not edit.
"""

from collections.abc import Iterator, Sequence
from time import sleep

from .._request import JSON, Id, Request, encode, fields, idempotency, part, query
from .._response import Page
from ..types import Analysis, AnalysisAlgorithm, AnalysisDirection, EntityType
from .transport import Transport

ANALYSES = "/api/analyses"

# How often wait reads an analysis, in seconds.
WAIT_INTERVAL = 1.0


class Analyses:
    """Jobs that compute a value for each node of the graph, such as its PageRank.

    All methods require the scopes ``read:nodes`` and ``read:edges``.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        algorithm: AnalysisAlgorithm,
        *,
        entity_types: Sequence[EntityType] | None = None,
        relation_types: Sequence[str] | None = None,
        weight: str | None = None,
        direction: AnalysisDirection | None = None,
        damping: float | None = None,
        property: str | None = None,
        idempotency_key: str | None = None,
    ) -> Analysis:
        """Queues an analysis and returns it.

        Args:
            algorithm: ``degree``, ``pagerank``, ``components`` or ``communities``.
            entity_types: Only nodes of these types, and the edges between them.
            relation_types: Only edges of these types.
            weight: The property of edges that is their weight.
            direction: Which edges of a node count (``degree``), or are followed (``pagerank``).
            damping: The probability that an edge is followed, 0.85 by default. Only for ``pagerank``.
            property: The property of nodes to which the values are written. It requires the scope ``write:nodes``.
            idempotency_key: Without it, a new one.

        Raises:
            ConflictError: The workspace has 10 analyses that are queued or running.
        """
        body = encode(
            fields(
                algorithm=algorithm,
                entity_types=entity_types,
                relation_types=relation_types,
                weight=weight,
                direction=direction,
                damping=damping,
                property=property,
            )
        )
        headers = JSON | idempotency(idempotency_key)
        return self._transport.data(Request[Analysis]("POST", ANALYSES, body=body, headers=headers))

    def get(self, id: Id) -> Analysis:
        """Returns an analysis, with its ``result`` when it is computed."""
        return self._transport.data(Request[Analysis]("GET", f"{ANALYSES}/{part(id)}"))

    def list(self, *, limit: int = 100, offset: int | None = None) -> Page[Analysis]:
        """Returns a page of at most 100 analyses, newest first, without their results."""
        paging = query(limit=limit, offset=offset)
        return self._transport.page(Request[Analysis]("GET", ANALYSES, query=paging))

    def iterate(self) -> Iterator[Analysis]:
        """Iterates over all analyses, newest first, without their results."""
        return self._transport.pages(Request[Analysis]("GET", ANALYSES, query=query(limit=100)))

    def cancel(self, id: Id) -> Analysis:
        """Cancels an analysis and returns it. Values that were written stay.

        Raises:
            ConflictError: It is done or has failed.
        """
        return self._transport.data(Request[Analysis]("POST", f"{ANALYSES}/{part(id)}/cancel"))

    def wait(self, id: Id) -> Analysis:
        """Waits until an analysis is done, has failed or is cancelled, and returns it."""
        while True:
            analysis = self.get(id)
            if analysis["state"] not in ("queued", "running"):
                return analysis
            sleep(WAIT_INTERVAL)
