"""The retrievers for LangChain and LlamaIndex."""

from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from llama_index.core.schema import MetadataMode
from servers import Server, answer, async_client, client, content, failure

from livegraph import AuthorizationError
from livegraph.retrievers.langchain import LivegraphRetriever as LangChainRetriever
from livegraph.retrievers.llama_index import LivegraphRetriever as LlamaIndexRetriever


def node(id: str, name: str, description: str | None) -> dict[str, Any]:
    return {"id": id, "name": name, "entityType": "content", "description": description, "properties": {}}


PASSAGE = {
    "node": node("n1", "Manual: valves, 2", "Close the valve first."),
    "score": 0.9,
    "snippet": "Close the",
    "document": {"id": "d1", "externalId": "manual.pdf", "title": "Manual", "page": 4},
}
PUMP = {"node": node("n2", "Pump 7", "moves water"), "score": 0.5, "snippet": ""}
LONG = {"node": node("d1", "Manual", None), "score": 0.7, "snippet": "", "document": PASSAGE["document"]}
BARE = {"node": node("n3", "Hall 3", None), "score": 0.25, "snippet": ""}
CITATION = {
    "node_id": "n1", "name": "Manual: valves, 2", "entity_type": "content", "document_id": "d1",
    "source": "manual.pdf", "title": "Manual", "page": 4,
}  # fmt: skip


def hits(*found: dict[str, Any], **meta: Any) -> Any:
    return answer(list(found), total=len(found), limit=10, offset=0, hasMore=False, **meta)


def test_langchain_gets_the_passages_with_what_an_answer_cites() -> None:
    server = Server(hits(PASSAGE, LONG, PUMP, BARE))
    retriever = LangChainRetriever(client=client(server), k=3, options={"group_by": "document"})
    passage, pump, bare = retriever.invoke("how do I close it?")
    assert content(server.requests[0]) == {"query": "how do I close it?", "limit": 3, "groupBy": "document"}
    assert server.requests[0].url.path.endswith("/api/rag/search")
    assert (passage.id, passage.page_content) == ("n1", "Close the valve first.")
    assert passage.metadata == CITATION | {"score": 0.9}
    assert (pump.page_content, bare.page_content) == ("Pump 7\nmoves water", "Hall 3")
    assert pump.metadata == {"node_id": "n2", "name": "Pump 7", "entity_type": "content", "score": 0.5}


def test_langchain_runs_the_retriever_in_a_chain() -> None:
    chain = LangChainRetriever(client=client(Server(hits(PASSAGE)))) | RunnableLambda(len)
    assert chain.invoke("valve") == 1


async def test_langchain_uses_the_client_for_asyncio_if_there_is_one() -> None:
    blocking, concurrent = Server(hits(BARE)), Server(hits(PUMP, degraded=["vector"]))
    retriever = LangChainRetriever(client=client(blocking), async_client=async_client(concurrent), follow_edges=True)
    [found] = await retriever.ainvoke("water")
    assert (found.page_content, found.metadata["degraded"]) == ("Pump 7\nmoves water", ["vector"])
    assert concurrent.requests[0].url.path == "/api/rag/hybrid-search"
    assert not blocking.requests
    [found] = await LangChainRetriever(client=client(blocking)).ainvoke("hall")
    assert found.page_content == "Hall 3"


def test_llama_index_gets_the_passages_with_what_an_answer_cites() -> None:
    server = Server(hits(PASSAGE, PUMP))
    retriever = LlamaIndexRetriever(client(server), top_k=2, follow_edges=True, hops=1)
    passage, pump = retriever.retrieve("how do I close it?")
    assert content(server.requests[0]) == {"query": "how do I close it?", "limit": 2, "hops": 1}
    assert server.requests[0].url.path.endswith("/api/rag/hybrid-search")
    assert (passage.node_id, passage.score, passage.node.metadata) == ("n1", 0.9, CITATION)
    read = passage.node.get_content(MetadataMode.LLM)
    assert "source: manual.pdf" in read
    assert "page: 4" in read
    assert "n1" not in read
    assert passage.node.get_content(MetadataMode.EMBED) == "Close the valve first."
    assert pump.text == "Pump 7\nmoves water"


async def test_llama_index_uses_the_client_for_asyncio_if_there_is_one() -> None:
    blocking, concurrent = Server(hits(BARE)), Server(hits(PUMP))
    [found] = await LlamaIndexRetriever(client(blocking), async_client=async_client(concurrent)).aretrieve("water")
    assert found.node_id == "n2"
    assert not blocking.requests
    [found] = await LlamaIndexRetriever(client(blocking)).aretrieve("hall")
    assert found.node_id == "n3"


@pytest.mark.parametrize(("k", "options"), [(0, {}), (101, {}), (5, {"limit": 5}), (5, {"offset": 5, "query": "x"})])
def test_wrong_arguments_are_refused_when_the_retriever_is_created(k: int, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"1 to 100|sets (limit|offset, query) of"):
        LangChainRetriever(client=client(Server()), k=k, options=options)
    with pytest.raises(ValueError, match=r"1 to 100|sets (limit|offset, query) of"):
        LlamaIndexRetriever(client(Server()), top_k=k, **options)


def test_an_empty_query_has_no_results() -> None:
    assert LangChainRetriever(client=client(Server())).invoke(" \n") == []
    assert LlamaIndexRetriever(client(Server())).retrieve("") == []


def test_errors_of_the_server_reach_the_caller() -> None:
    refused = failure(403, "AUTHORIZATION_ERROR")
    with pytest.raises(AuthorizationError):
        LangChainRetriever(client=client(Server(refused))).invoke("water")
    with pytest.raises(AuthorizationError):
        LlamaIndexRetriever(client(Server(refused))).retrieve("water")
