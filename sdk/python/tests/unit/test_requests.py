"""What is sent."""

import gzip
import inspect
import json
import traceback
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import httpx
import pytest
from servers import KEY, WORKSPACE, Server, answer, client, content, failure, page

import livegraph
from livegraph import AsyncClient, Client, commands


def test_requests_have_the_key_the_workspace_and_the_path_of_the_address() -> None:
    server = Server(answer({}))
    client(server).nodes.get("a/b?c")
    [request] = server.requests
    assert request.url.raw_path == b"/prefix/api/queries/nodes/a%2Fb%3Fc"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["x-workspace-id"] == WORKSPACE
    assert request.headers["User-Agent"].startswith("livegraph-python/")


def test_filters_become_parameters() -> None:
    server = Server(page([]))
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=1)))
    client(server).nodes.list(
        name="a b&c",
        entity_type=["object", "actor"],
        property={"room": ["x", "y"], "n": "1"},
        created_after=moment,
        property_min={"n": 1.5},
        property_max={"at": "2026"},
        property_prefix={"serial": ["A", "B"]},
    )
    assert server.requests[0].url.params.multi_items() == [
        ("limit", "100"), ("name", "a b&c"), ("entityType", "object"), ("entityType", "actor"),
        ("createdAfter", "2026-01-02T03:04:05+01:00"), ("property.room", "x"), ("property.room", "y"),
        ("property.n", "1"), ("propertyMin.n", "1.5"), ("propertyMax.at", "2026"), ("propertyPrefix.serial", "A"),
        ("propertyPrefix.serial", "B"),
    ]  # fmt: skip


def test_a_query_of_points_has_the_names_of_the_api() -> None:
    server = Server(page([]), page([]), page([]))
    points = client(server).points
    points.query(source="pump", start="-1h", end=datetime(2026, 1, 1, tzinfo=UTC), tag={"a": "b"}, points_limit=5)
    points.aggregate(["avg", "max"], interval="1m", group_by="tag.a")
    points.latest(metric=["x", "y,z"])
    sent = [request.url.params.multi_items() for request in server.requests]
    assert sent == [
        [("limit", "100"), ("source", "pump"), ("pointsLimit", "5"), ("from", "-1h"),
         ("to", "2026-01-01T00:00:00+00:00"), ("tag.a", "b")],
        [("limit", "100"), ("aggregation", "avg,max"), ("interval", "1m"), ("groupBy", "tag.a")],
        [("latest", "true"), ("limit", "100"), ("metric", "x"), ("metric", "y,z")],
    ]  # fmt: skip


def test_facets_have_the_names_of_the_api_and_are_in_the_page() -> None:
    facets = {"tags": {"values": [{"value": "a", "count": 2}], "other": 0, "missing": 1}}
    server = Server(answer([], total=3, limit=10, offset=0, hasMore=False, nextCursor=None, facets=facets))
    hits = client(server).search.nodes("pump", facets=["tags", "timestamp"], facet_limit=5, facet_interval="year")
    assert hits.meta["facets"] == facets
    assert content(server.requests[0]) == {
        "query": "pump", "limit": 10, "facets": ["tags", "timestamp"], "facetLimit": 5, "facetInterval": "year"
    }  # fmt: skip


def test_searches_are_filtered_by_documents() -> None:
    empty = answer([], total=0, limit=10, offset=0, hasMore=False, nextCursor=None)
    server = Server(empty, empty)
    since = datetime(2026, 11, 21, 7, 40, 8, tzinfo=UTC)
    client(server).search.nodes("pump", documents=["d"], tags=["a", "b"], all_tags=["c"], timestamp={"from": since})
    assert content(server.requests[0]) == {
        "query": "pump", "limit": 10, "documents": ["d"], "tags": ["a", "b"], "allTags": ["c"],
        "timestamp": {"from": "2026-11-21T07:40:08+00:00"}
    }  # fmt: skip
    client(server).saved_queries.run_nodes("id", documents=["d"], tags=["a"], timestamp={"to": "2027-01-01T00:00:00Z"})
    assert content(server.requests[1]) == {
        "documents": ["d"], "tags": ["a"], "timestamp": {"to": "2027-01-01T00:00:00Z"}
    }  # fmt: skip


def test_lists_of_documents_are_filtered() -> None:
    empty = answer([], total=0, limit=100, offset=0, hasMore=False, nextCursor=None)
    server = Server(empty, empty)
    since = datetime(2026, 11, 21, 7, 40, 8, tzinfo=UTC)
    client(server).documents.list(tags=["a,b", "c"], all_tags=["d"], timestamp={"from": since}, limit=5)
    assert server.requests[0].url.params.multi_items() == [
        ("limit", "5"), ("tag", "a,b"), ("tag", "c"), ("allTag", "d"), ("timestampFrom", "2026-11-21T07:40:08+00:00")
    ]  # fmt: skip
    assert list(client(server).documents.iterate(timestamp={"to": "2027-01-01T00:00:00Z"}, sort="newest")) == []
    assert str(server.requests[1].url.params) == "limit=100&timestampTo=2027-01-01T00%3A00%3A00Z&sort=newest"


def test_searches_are_filtered_by_properties() -> None:
    server = Server(answer([], total=0, limit=10, offset=0, hasMore=False, nextCursor=None))
    client(server).search.nodes(
        "pump", properties={"site": ["a", "b"]}, property_min={"kW": 5}, property_max={"at": "2026"},
        property_prefix={"my key": "x"},
    )  # fmt: skip
    assert content(server.requests[0]) == {
        "query": "pump", "limit": 10, "properties": {"site": ["a", "b"]}, "propertyMin": {"kW": 5},
        "propertyMax": {"at": "2026"}, "propertyPrefix": {"my key": "x"},
    }  # fmt: skip


def test_reranking_is_requested_and_described_by_the_page() -> None:
    rerank = {"model": "m", "candidates": 3, "milliseconds": 1.5}
    server = Server(answer([], total=3, limit=10, offset=0, hasMore=False, nextCursor=None, rerank=rerank))
    hits = client(server).search.nodes("pump", rerank={"candidates": 30, "weight": 1})
    assert hits.meta["rerank"] == rerank
    assert content(server.requests[0]) == {"query": "pump", "limit": 10, "rerank": {"candidates": 30, "weight": 1}}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", datetime(2026, 1, 1), object()])
def test_values_without_a_form_in_json_are_refused_before_a_request(value: Any) -> None:
    server = Server()
    with pytest.raises((ValueError, TypeError)):
        client(server).points.write([{"metric": "m", "value": value}], source="s")
    assert not server.requests


def test_large_bodies_are_compressed() -> None:
    server = Server(answer([{}] * 2), answer([{}] * 2))
    api = client(server)
    api.commands.batch([commands.create_node("n", "actor")])
    api.commands.batch([commands.create_node("n" * 1000, "actor")])
    small, large = server.requests
    assert "Content-Encoding" not in small.headers
    assert json.loads(gzip.decompress(large.content))["atomic"] is True


@pytest.mark.parametrize(
    ("point", "has_key"), [({"metric": "m", "value": 1}, True), ({"metric": "m", "value": 1, "timestamp": 5}, False)]
)
def test_points_without_a_timestamp_have_an_idempotency_key(point: Any, has_key: bool) -> None:
    server = Server(answer({"accepted": 1, "rejected": 0, "errors": [], "checkpoint": "c"}, 201))
    client(server).points.write([point], source="s", precision="us", strict=True)
    [request] = server.requests
    assert ("Idempotency-Key" in request.headers) is has_key
    assert content(request) == {"points": [point], "source": "s", "precision": "us"}
    assert str(request.url.params) == "strict=true"


def test_a_patch_sends_null() -> None:
    server = Server(answer({}))
    client(server).sources.update("s", {"unit": None, "nodeId": "n"}, expected_version=3)
    assert content(server.requests[0]) == {"unit": None, "nodeId": "n", "expectedVersion": 3}


def test_commands_are_built() -> None:
    assert commands.update_node("a", {"description": None}, expected_version=2) == {
        "type": "UPDATE_NODE", "payload": {"description": None, "id": "a"}, "expectedVersion": 2,
    }  # fmt: skip
    assert commands.undo() == {"type": "UNDO"}
    assert commands.redo(scope="workspace") == {"type": "REDO", "payload": {"scope": "workspace"}}


@pytest.mark.parametrize("address", ["server", "ftp://server", "http://", "http://server?x=1", ""])
def test_an_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="not an http or https URL"):
        Client(address, KEY, WORKSPACE)


@pytest.mark.parametrize("key", ["", "a b", "a\n", "ä", "a\r\nx: y"])
def test_an_invalid_key_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ValueError, match="the API key") as caught:
        Client("http://server", key, WORKSPACE)
    assert not key.strip() or key not in str(caught.value)


def test_the_key_is_not_shown() -> None:
    server = Server(failure(401, "AUTHENTICATION_ERROR"), httpx.ReadError("broken"))
    api = client(server, livegraph.Retry(total=0))
    shown = [repr(api), repr(vars(api)), repr(vars(vars(api)["_transport"])), repr(server.requests)]
    for _ in range(2):
        with pytest.raises(livegraph.LivegraphError) as caught:
            api.account()
        shown += [repr(caught.value), repr(vars(caught.value))]
        shown.append("".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format()))
    assert not [text for text in shown if KEY in text]


def test_both_clients_have_the_same_methods() -> None:
    def signatures(cls: type, prefix: str = "") -> dict[str, str]:
        found = {}
        for name, member in inspect.getmembers(cls, callable):
            if not name.startswith("_"):
                text = str(inspect.signature(member)).replace("Async", "")
                found[prefix + name.removeprefix("a") if name == "aclose" else prefix + name] = text.split(" -> ")[0]
        return found

    with Client("http://server", KEY, WORKSPACE) as blocking:
        asynchronous = AsyncClient("http://server", KEY, WORKSPACE)
        assert signatures(Client) == signatures(AsyncClient)
        groups = [name for name in vars(blocking) if not name.startswith("_")]
        assert len(groups) >= 9
        for name in groups:
            one, other = getattr(blocking, name), getattr(asynchronous, name)
            assert signatures(type(one)) == signatures(type(other))
            assert f"Async{type(one).__name__}" == type(other).__name__
