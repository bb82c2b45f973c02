"""A retriever for LlamaIndex. It requires ``livegraph[llama-index]``."""

import asyncio
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from .._async.client import AsyncClient
from .._sync.client import Client
from . import _hits


class LivegraphRetriever(BaseRetriever):
    """Finds passages of documents and other nodes of a workspace by words and by meaning, best first.

    The metadata of a node has ``node_id``, ``name`` and ``entity_type``; that of a passage also ``source`` (the
    external id), ``title``, ``document_id`` and, if the content has pages, ``page``. ``degraded`` lists what is
    missing while a part of the search is unavailable. An empty query has no results, and results without a text are
    left out: the node of a document that has passages.

    Args:
        client: A client of the workspace.
        async_client: The client of ``aretrieve``. Without it, ``aretrieve`` uses client in a thread.
        top_k: The number of results, 1 to 100.
        follow_edges: Also find nodes that edges connect with the results. The scope ``read:edges`` is required.
        options: Options of the search, as of ``client.search.nodes``, or with follow_edges ``client.search.hybrid``.

    Raises:
        ValueError: top_k is out of range, or an option is set by the retriever.
    """

    def __init__(
        self,
        client: Client,
        *,
        async_client: AsyncClient | None = None,
        top_k: int = 10,
        follow_edges: bool = False,
        **options: Any,
    ) -> None:
        _hits.check(top_k, options)
        self._client, self._async_client = client, async_client
        self._top_k, self._follow_edges, self._options = top_k, follow_edges, options
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        text = query_bundle.query_str
        found = _hits.search(self._client, text, self._top_k, self._follow_edges, self._options)
        return [_node(result) for result in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._async_client is None:
            return await asyncio.to_thread(self._retrieve, query_bundle)
        text = query_bundle.query_str
        found = await _hits.asearch(self._async_client, text, self._top_k, self._follow_edges, self._options)
        return [_node(result) for result in found]


def _node(result: _hits.Found) -> NodeWithScore:
    metadata = {name: value for name, value in result.metadata.items() if name != "score"}
    # The ids are for programs. A model cites the source, which is a part of the text that it reads.
    hidden = [name for name in metadata if name in ("node_id", "document_id", "entity_type", "degraded")]
    node = TextNode(
        id_=result.id,
        text=result.text,
        metadata=metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=list(metadata),
    )
    return NodeWithScore(node=node, score=result.score)
