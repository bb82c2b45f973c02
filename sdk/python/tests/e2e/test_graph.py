"""The graph, documents, search and PromQL."""

import asyncio
import json
import time
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from livegraph import AsyncClient, Client, ConflictError, NotFoundError, ValidationError, batch_error, commands
from livegraph.retrievers.langchain import LivegraphRetriever as LangChainRetriever
from livegraph.retrievers.llama_index import LivegraphRetriever as LlamaIndexRetriever


def test_the_graph_is_analyzed(client: Client) -> None:
    node = client.nodes.create("analyzed", "concept")
    with pytest.raises(ValidationError):
        client.analyses.create("degree", damping=0.5)
    queued = client.analyses.create("degree", entity_types=["concept"], relation_types=["none"], property="analyzed")
    done = client.analyses.wait(queued["id"])
    assert (done["state"], done["nodes"] >= 1, len(done["result"]["top"]) >= 1) == ("done", True, True)
    assert client.nodes.get(node["id"])["properties"]["analyzed"] == 0
    with pytest.raises(ConflictError):
        client.analyses.cancel(queued["id"])
    assert queued["id"] in [analysis["id"] for analysis in client.analyses.iterate()]
    assert client.analyses.list(limit=1).total >= 1


def test_queries_are_saved_and_run(client: Client) -> None:
    name = f"pumps {uuid.uuid4()}"
    with pytest.raises(ValidationError) as caught:
        client.saved_queries.create(name, "search", {"query": ""})
    assert caught.value.details["field"] == "request.query"
    saved = client.saved_queries.create(name, "search", {"query": "pumps that leak", "limit": 5}, description="leaks")
    with pytest.raises(ConflictError):
        client.saved_queries.create(name, "answer", {"query": "a"})
    assert client.saved_queries.run_nodes(saved["id"], limit=3).meta["limit"] == 3
    changes = {"kind": "hybrid-search", "request": {"hops": 1, "limit": None}}
    changed = client.saved_queries.update(saved["id"], changes, expected_version=1)
    assert (changed["version"], changed["request"]) == (2, {"query": "pumps that leak", "hops": 1})
    with pytest.raises(ConflictError):
        client.saved_queries.update(saved["id"], changes, expected_version=1)
    assert client.saved_queries.run_hybrid(saved["id"], query="fans", offset=1).meta["offset"] == 1
    client.saved_queries.update(saved["id"], {"kind": "answer"})
    assert client.saved_queries.run_answer(saved["id"], query="?")["answer"] is None
    assert client.saved_queries.get(saved["id"])["kind"] == "answer"
    assert client.saved_queries.list(name=name, limit=1).total == 1
    assert saved["id"] in [query["id"] for query in client.saved_queries.iterate(kind="answer", sort="-name")]
    client.saved_queries.delete(saved["id"])
    with pytest.raises(NotFoundError):
        client.saved_queries.get(saved["id"])


def test_upserts_create_once_and_then_change(client: Client) -> None:
    key = {"serial": str(uuid.uuid4())}
    pump = commands.upsert_node(key, "object", {"name": "Pump", "properties": {"kW": 11}})
    feeds = commands.upsert_edge({"key": key, "entityType": "object"}, {"key": key, "entityType": "object"}, "feeds")
    results = client.commands.batch([pump, pump, feeds, feeds])["results"]
    effects = [result["data"]["effect"] for result in results]
    assert effects == ["created", "unchanged", "created", "unchanged"]
    node_id = results[0]["data"]["node"]["id"]
    changed = client.commands.execute(commands.upsert_edge(node_id, node_id, "feeds", properties={"w": 1}))
    assert (changed["effect"], changed["edge"]["properties"]) == ("updated", {"w": 1})
    client.nodes.create("twin", "object", properties=key)
    with pytest.raises(ConflictError) as caught:
        client.commands.execute(pump)
    assert node_id in caught.value.details["ids"]


def test_nodes_and_edges_are_created_changed_and_deleted(client: Client) -> None:
    site = str(uuid.uuid4())
    pump = client.nodes.create("Pump", "object", description="moves water", properties={"site": site, "kW": 11})
    hall = client.nodes.create("Hall", "concept", id=uuid.uuid4(), properties={"site": site})
    edge = client.edges.create(pump["id"], hall["id"], "located in")
    changed = client.nodes.update(pump["id"], {"description": None, "properties": {"kW": None}}, expected_version=1)
    assert (changed["description"], changed["properties"], changed["version"]) == (None, {"site": site}, 2)
    with pytest.raises(ConflictError) as caught:
        client.nodes.update(pump["id"], {"name": "Pump 2"}, expected_version=1)
    assert (caught.value.details["expectedVersion"], caught.value.details["actualVersion"]) == (1, 2)
    assert client.edges.update(edge["id"], {"relationType": "is in"})["version"] == 2
    assert [e["id"] for e in client.edges.iterate(node_id=[hall["id"]], relation_type="is in")] == [edge["id"]]
    assert client.edges.get(edge["id"])["relationType"] == "is in"
    page = client.nodes.neighbors(hall["id"], direction="in", depth=2)
    assert [neighbor["node"]["id"] for neighbor in page] == [pump["id"]]
    assert page.meta["truncated"] is False
    assert len(list(client.nodes.iterate_neighbors(hall["id"]))) == 1
    around = client.nodes.subgraph([hall["id"], pump["id"]], depth=0)
    assert ([found["id"] for found in around["edges"]], around["truncated"]) == ([edge["id"]], False)
    matches = client.nodes.match(
        {
            "nodes": {"hall": {"nodeIds": [hall["id"]]}, "pump": {"name": pump["name"]}},
            "edges": [{"from": "pump", "to": "hall", "direction": "both"}],
        }
    )
    assert [match["nodes"]["pump"] for match in matches["matches"]] == [pump["id"]]
    counts = client.graph_counts(limit=1)
    assert (counts["nodes"]["total"] >= 2, len(counts["edges"]["types"])) == (True, 1)
    now = client.changes.list(limit=1).items[0]["sequence"]
    assert client.nodes.get(pump["id"], as_of_sequence=now)["asOfSequence"] == now
    assert client.nodes.subgraph(pump["id"], as_of_sequence=now)["asOfSequence"] == now
    assert client.edges.get(edge["id"], as_of="9999-01-01T00:00:00Z")["relationType"] == "is in"
    assert len(client.nodes.neighbors(hall["id"], as_of_sequence=now)) == 1
    paths = client.nodes.paths(
        hall["id"], pump["id"], limit=5, max_depth=2, relation_type=["is in"], entity_type="actor"
    )
    assert [[node["id"] for node in path["nodes"]] for path in paths] == [[hall["id"], pump["id"]]]
    assert [edge["id"] for edge in paths.items[0]["edges"]] == [edge["id"]]
    assert "cost" not in paths.items[0]
    assert paths.meta["truncated"] is False
    assert len(client.nodes.paths(hall["id"], pump["id"], direction="out")) == 0
    assert client.nodes.paths(hall["id"], hall["id"], weight="km").items[0]["cost"] == 0
    deleted = client.nodes.delete(pump["id"], expected_version=2)
    assert deleted["affected"]["edges"] == [edge["id"]]
    with pytest.raises(NotFoundError):
        client.nodes.get(pump["id"])
    assert sequences(client, deleted["sequence"]) == [edge["id"]]
    client.commands.undo(command_id=deleted["commandId"])
    client.commands.redo()
    client.commands.undo()
    assert client.commands.get(deleted["commandId"])["status"] == "applied"
    assert client.edges.delete(edge["id"])["type"] == "DELETE_EDGE"
    types = [change["type"] for change in client.changes.iterate(node_id=pump["id"])]
    assert types[-1] == "CREATE_NODE"
    assert client.changes.list(node_id=pump["id"], limit=1).total == len(types)


def sequences(client: Client, sequence: int | None) -> list[str]:
    assert sequence is not None
    return [edge for chunk in client.changes.iterate_edges(sequence) for edge in chunk["edges"]]


def test_lists_are_read_page_by_page(client: Client) -> None:
    site = str(uuid.uuid4())
    batch = [commands.create_node(f"node {i}", "process", properties={"site": site}) for i in range(230)]
    assert len(client.commands.batch(batch)["results"]) == 230
    found = list(client.nodes.iterate(property={"site": site}, sort="-name"))
    assert len({node["id"] for node in found}) == 230
    page = client.nodes.list(property={"site": site}, limit=100, offset=200)
    assert (len(page), page.total, page.has_more) == (30, 230, False)
    table = client.nodes.list_arrow(property={"site": site}, sort="-name")
    assert table.column("id").to_pylist() == [node["id"] for node in found]
    assert [json.loads(text) for text in table.column("properties").to_pylist()] == [{"site": site}] * 230
    ends = {node["id"] for node in found[:2]}
    edge = client.edges.create(found[0]["id"], found[1]["id"], "feeds")
    [row] = client.edges.list_arrow(node_id=list(ends)).to_pylist()
    assert (row["id"], row["relationType"], row["properties"]) == (edge["id"], "feeds", "{}")


def test_a_batch_that_is_not_atomic_has_the_error_of_each_command(client: Client) -> None:
    result = client.commands.batch(
        [commands.create_node("a", "actor"), commands.delete_node(uuid.uuid4())], atomic=False
    )
    first, second = result["results"]
    assert (first["status"], second["status"]) == ("applied", "failed")
    assert isinstance(batch_error(second["error"]), NotFoundError)


def test_a_command_with_the_same_idempotency_key_is_executed_once(client: Client) -> None:
    key = str(uuid.uuid4())
    command = commands.create_node("once", "concept")
    results = [client.commands.execute(command, idempotency_key=key) for _ in range(2)]
    assert results[0]["commandId"] == results[1]["commandId"]


async def test_changes_are_streamed_and_the_stream_is_resumed(async_client: AsyncClient) -> None:
    node = await async_client.nodes.create("streamed", "concept")
    newest = (await async_client.changes.list(limit=1)).items[0]["sequence"]
    async with async_client.changes.stream(after=newest - 1) as stream:
        event = await anext(stream)
        assert (event.event, event.data["node"]["id"]) == ("change", node["id"])
    await async_client.nodes.update(node["id"], {"name": "changed"})
    async with async_client.changes.stream(after=stream.last_id) as stream:
        assert (await anext(stream)).data["node"]["name"] == "changed"


def test_a_stream_of_another_graph_is_reset(client: Client) -> None:
    client.nodes.create("reset", "concept")
    with client.changes.stream(after=1 << 40) as stream:
        event = next(stream)
    assert (event.event, event.data["reason"]) == ("reset", "beyond_newest")
    assert stream.last_id == str(event.data["newest"])


def test_documents_are_written_found_and_deleted(client: Client) -> None:
    external = f"notes/{uuid.uuid4()}.md"
    text = "# Compressor\n\nThe compressor in the attic supplies the paint shop with compressed air."
    [result] = client.documents.put([{"externalId": external, "text": text, "contentType": "text/markdown"}])
    assert result["status"] == "created"
    assert client.documents.put([{"externalId": external, "text": text, "contentType": "text/markdown"}])[0][
        "status"
    ] == "unchanged"  # fmt: skip
    assert client.documents.get(external)["title"] == "Compressor"
    assert external in [document["externalId"] for document in client.documents.iterate()]
    assert client.documents.list(limit=1).total >= 1
    end = time.monotonic() + 30
    while not [hit for hit in client.search.nodes("who supplies air?", group_by="document")
               if hit.get("document", {}).get("externalId") == external]:  # fmt: skip
        assert time.monotonic() < end, "the document is not found"
        time.sleep(0.2)
    hits = client.search.hybrid(
        "compressor", hops=1, explain=True, weights={"text": 1, "vector": 0.5}, facets=["entityType"]
    )
    assert hits.items[0]["score"] == 1
    assert hits.meta["facets"]["entityType"]["values"]
    answer = client.search.answer("who supplies compressed air?", max_sentences=1, hops=1, min_score=0.1)
    assert answer["answer"] == "The compressor in the attic supplies the paint shop with compressed air. [1]"
    assert answer["citations"][0]["document"]["externalId"] == external
    assert client.search.answer("?")["answer"] is None
    assert client.search.index_status()["model"] is not None
    deleted = client.documents.delete(external)
    with pytest.raises(NotFoundError):
        client.documents.get(external)
    client.commands.undo(command_id=deleted["commandId"])
    assert client.documents.get(result["id"])["externalId"] == external


async def test_retrievers_find_passages_and_what_edges_connect(client: Client, async_client: AsyncClient) -> None:
    external, serial = f"manuals/{uuid.uuid4()}.md", uuid.uuid4().hex[:8]
    belt = "The conveyor carries boxes from the press to the oven at half a metre per second. " * 12
    bearing = f"Put lithium grease on the bearing of turntable {serial} every nine weeks, and wipe off the rest. " * 12
    text = f"# Conveyor\n\n{belt}\n\n# Turntable\n\n{bearing}"
    client.documents.put([{"externalId": external, "text": text, "contentType": "text/markdown"}])
    question = f"How often does turntable {serial} need grease?"
    chain = LangChainRetriever(client=client, async_client=async_client, k=5, follow_edges=True)
    end = time.monotonic() + 30
    while not (found := chain.invoke(question)) or serial not in found[0].page_content:
        assert time.monotonic() < end, "the passage is not the first result"
        await asyncio.sleep(0.2)
    assert found[0].metadata["source"] == external
    assert client.nodes.get(found[0].id or "")["description"] == found[0].page_content
    assert [d.id for d in await chain.ainvoke(question)][:1] == [found[0].id]
    nodes = LlamaIndexRetriever(client, async_client=async_client, top_k=5, group_by="document")
    for retrieved in (nodes.retrieve(question), await nodes.aretrieve(question)):
        assert retrieved[0].node.metadata["source"] == external
        assert retrieved[0].text == found[0].page_content
    client.documents.delete(external)


def test_promql_is_evaluated(client: Client) -> None:
    source = f"prom_{uuid.uuid4().hex}"
    client.sources.create(source)
    answer = client.points.write([{"metric": "level", "value": 3}], source=source)
    client.wait_visible(answer["checkpoint"])
    result = client.prometheus.query("sum(level) * 2", time=datetime.now(UTC) + timedelta(seconds=1))
    assert result["data"]["resultType"] == "vector"
    now = datetime.now(UTC)
    ranged = client.prometheus.query_range("vector(2)", start=now - timedelta(minutes=1), end=now, step=15)
    [series] = ranged["data"]["result"]
    assert isinstance(series, dict)
    assert [value[1] for value in series["values"]] == ["2"] * 5
    with pytest.raises(ValidationError, match="400 bad_data") as caught:
        client.prometheus.query("sum(")
    assert caught.value.request_id


def test_the_account_has_the_scopes_of_the_key(client: Client) -> None:
    assert "admin" in client.account()["scopes"]
