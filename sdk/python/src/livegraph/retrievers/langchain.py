"""A retriever for LangChain. It requires ``livegraph[langchain]``."""

from typing import Any, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, model_validator

from .._async.client import AsyncClient
from .._sync.client import Client
from . import _hits


class LivegraphRetriever(BaseRetriever):
    """Finds passages of documents and other nodes of a workspace by words and by meaning, best first.

    The metadata of a document has ``node_id``, ``name``, ``entity_type`` and ``score``; that of a passage also
    ``source`` (the external id), ``title``, ``document_id`` and, if the content has pages, ``page``. ``degraded``
    lists what is missing while a part of the search is unavailable. An empty query has no results, and results
    without a text are left out: the node of a document that has passages.

    Attributes:
        client: A client of the workspace.
        async_client: The client of ``ainvoke`` and similar methods. Without it, they use client in a thread.
        k: The number of results, 1 to 100.
        follow_edges: Also find nodes that edges connect with the results. The scope ``read:edges`` is required.
        options: Options of the search, as of ``client.search.nodes``, or with follow_edges ``client.search.hybrid``.
    """

    client: Client
    async_client: AsyncClient | None = None
    k: int = 10
    follow_edges: bool = False
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        _hits.check(self.k, self.options)
        return self

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        found = _hits.search(self.client, query, self.k, self.follow_edges, self.options)
        return [_document(result) for result in found]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.async_client is None:
            return await super()._aget_relevant_documents(query, run_manager=run_manager)
        found = await _hits.asearch(self.async_client, query, self.k, self.follow_edges, self.options)
        return [_document(result) for result in found]


def _document(result: _hits.Found) -> Document:
    return Document(id=result.id, page_content=result.text, metadata=result.metadata)
