"""Saved queries of search.

Generated from _async by tools/generate.py. Do not edit.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Unpack

from .._request import JSON, Id, Request, encode, fields, idempotency, part, selection
from .._response import Page
from ..filters import SavedQueryFilter, SearchedDocuments
from ..types import Answer, HybridHit, SavedQuery, SavedQueryKind, SearchHit
from .transport import Transport

QUERIES = "/api/rag/queries"


class SavedQueries:
    """Requests of search with names.

    Reading and running them requires the scopes of the search. Changing them requires ``write:nodes``.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        name: str,
        kind: SavedQueryKind,
        request: Mapping[str, Any],
        *,
        id: Id | None = None,
        description: str | None = None,
        idempotency_key: str | None = None,
    ) -> SavedQuery:
        """Saves a query.

        Args:
            name: Unique in the workspace.
            kind: ``search``, ``hybrid-search`` or ``answer``: the route that answers the query.
            request: The body of that route, with the names of the API, such as ``{"query": "pumps", "limit": 5}``.
            id: Without it, the server chooses one.
            description: A text.
            idempotency_key: Without it, a new one.

        Raises:
            ConflictError: The name or the id exists.
            ValidationError: The route would refuse the request, or the workspace has 1,000 saved queries.
        """
        body = encode(fields(name=name, kind=kind, request=request, id=id, description=description))
        headers = JSON | idempotency(idempotency_key)
        return self._transport.data(Request[SavedQuery]("POST", QUERIES, body=body, headers=headers))

    def get(self, id: Id) -> SavedQuery:
        """Returns a saved query."""
        return self._transport.data(Request[SavedQuery]("GET", f"{QUERIES}/{part(id)}"))

    def list(
        self, *, limit: int = 100, offset: int | None = None, **filters: Unpack[SavedQueryFilter]
    ) -> Page[SavedQuery]:
        """Returns a page of at most 100 saved queries that match all filters."""
        paging = selection(filters, limit=limit, offset=offset)
        return self._transport.page(Request[SavedQuery]("GET", QUERIES, query=paging))

    def iterate(self, **filters: Unpack[SavedQueryFilter]) -> Iterator[SavedQuery]:
        """Iterates over all saved queries that match all filters, page by page."""
        return self._transport.pages(Request[SavedQuery]("GET", QUERIES, query=selection(filters, limit=100)))

    def update(self, id: Id, changes: Mapping[str, Any], *, expected_version: int | None = None) -> SavedQuery:
        """Changes the fields of ``SavedQueryPatch`` in changes and returns the query.

        The changes are a merge patch: the members of ``request`` are merged, and None removes one. With an expected
        version, the request is not repeated if the server may have executed it.

        Raises:
            ConflictError: The name exists, or the query has another version than the expected one.
        """
        body = encode({**changes, **fields(expected_version=expected_version)})
        return self._transport.data(
            Request[SavedQuery](
                "PATCH",
                f"{QUERIES}/{part(id)}",
                body=body,
                headers=JSON,
                repeatable="expectedVersion" not in changes and expected_version is None,
            )
        )

    def delete(self, id: Id) -> None:
        """Deletes a saved query.

        Raises:
            NotFoundError: It does not exist. After a connection that broke, this may be the result of the repeated
                request.
        """
        self._transport.data(Request[None]("DELETE", f"{QUERIES}/{part(id)}"))

    def run_nodes(
        self,
        id: Id,
        *,
        query: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        **selected: Unpack[SearchedDocuments],
    ) -> Page[SearchHit]:
        """Runs a query of kind ``search``. The arguments replace what was saved."""
        body = encode(fields(query=query, limit=limit, offset=offset, **selected))
        return self._transport.page(Request[SearchHit]("POST", run_path(id), body=body, headers=JSON))

    def run_hybrid(
        self,
        id: Id,
        *,
        query: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        **selected: Unpack[SearchedDocuments],
    ) -> Page[HybridHit]:
        """Runs a query of kind ``hybrid-search``. The arguments replace what was saved."""
        body = encode(fields(query=query, limit=limit, offset=offset, **selected))
        return self._transport.page(Request[HybridHit]("POST", run_path(id), body=body, headers=JSON))

    def run_answer(
        self, id: Id, *, query: str | None = None, limit: int | None = None, **selected: Unpack[SearchedDocuments]
    ) -> Answer:
        """Runs a query of kind ``answer``. The arguments replace what was saved."""
        body = encode(fields(query=query, limit=limit, **selected))
        return self._transport.data(Request[Answer]("POST", run_path(id), body=body, headers=JSON))


def run_path(id: Id) -> str:
    """Returns the path of the runs of a saved query."""
    return f"{QUERIES}/{part(id)}/run"
