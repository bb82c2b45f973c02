"""Data frames."""

from typing import Any

import httpx
import pandas as pd
import pyarrow as pa
import pytest
from servers import Server, client

from livegraph import _frames
from livegraph._frames import frame_series

TIMES = pd.date_range("2026-01-01", periods=4, freq="s", tz="Europe/Berlin")
STAMP = int(TIMES[0].timestamp() * 1_000_000)


def test_columns_become_series_with_tags() -> None:
    frame = pd.DataFrame({
        "at": TIMES, "x": [1.5, None, 3.0, 4.0], "on": [True, False, True, True], "state": ["a", None, "b", "c"],
        "room": ["hall", "hall", "cellar", None],
    })  # fmt: skip
    [series] = frame_series(frame, "pump", "at", ["room"])
    found = {(item["metric"], item["tags"].get("room")): item for item in series}
    assert found["x", "hall"]["timestamps"] == [STAMP]
    assert found["x", "hall"]["values"] == [1.5]
    assert found["on", "hall"]["values"] == [True, False]
    assert found["state", None]["timestamps"] == [STAMP + 3_000_000]
    assert {item["source"] for item in series} == {"pump"}
    assert sum(len(item["values"]) for item in series) == 10


def test_the_index_has_the_times_and_requests_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_frames, "MAX_VALUES", 3)
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "y": [5, 6, 7, 8]}, index=TIMES)
    requests = list(frame_series(frame, "s", None, []))
    sizes = [[len(item["values"]) for item in request] for request in requests]
    assert sizes == [[3], [1, 2], [2]]
    values = [value for request in requests for item in request for value in item["values"]]
    assert values == [1, 2, 3, 4, 5, 6, 7, 8]
    assert all(len(item["timestamps"]) == len(item["values"]) for request in requests for item in request)


@pytest.mark.parametrize(("frame", "time", "message"), [
    ({"at": TIMES.tz_localize(None), "x": 1}, "at", "no time zone"),
    ({"at": [TIMES[0], None, None, None], "x": 1}, "at", "a time is missing"),
    ({"x": [1]}, "at", "no column 'at'"),
    ({"x": [1]}, None, "no time zone"),
    ({"at": TIMES, "x": [[1], 2, 3, 4]}, "at", "type list"),
    ({"at": TIMES, "x": TIMES}, "at", "type Timestamp"),
])  # fmt: skip
def test_a_frame_that_cannot_be_written_is_refused(frame: dict[str, Any], time: str | None, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        list(frame_series(pd.DataFrame(frame), "s", time, []))


def stream(columns: dict[str, Any]) -> bytes:
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def test_pages_of_a_frame_become_one_frame() -> None:
    first = stream({"metric": pa.array(["a", "a"]).dictionary_encode(), "value": [1.0, 2.0]})
    second = stream({"metric": pa.array(["b"]).dictionary_encode(), "value": [3.0], "tag.k": ["v"]})
    link = '</api/live-data/query?cursor=x&format=arrow>; rel="next"'
    server = Server(httpx.Response(200, content=first, headers={"Link": link}), httpx.Response(200, content=second))
    frame = client(server).query_frame(source="s", start="-1h")
    assert frame["metric"].tolist() == ["a", "a", "b"]
    assert frame["value"].sum() == 6
    assert frame["tag.k"].notna().tolist() == [False, False, True]
    assert server.requests[0].headers["Accept"] == "application/vnd.apache.arrow.stream"
    assert server.requests[0].url.params["pointsLimit"] == "1000000"
    assert str(server.requests[1].url) == "http://server/prefix/api/live-data/query?cursor=x&format=arrow"


@pytest.mark.parametrize(("path", "selected"), [
    ("/api/queries/nodes", "name"), ("/api/queries/edges", "relationType"), ("/api/live-data/series", "metric"),
])  # fmt: skip
def test_lists_become_tables(path: str, selected: str) -> None:
    first = stream({"id": ["1"], "properties": ["{}"], "entityType": pa.array(["object"]).dictionary_encode()})
    second = stream({"id": ["2"], "properties": ['{"a":1}'], "entityType": pa.array(["actor"]).dictionary_encode()})
    server = Server(
        httpx.Response(200, content=first, headers={"Link": f'<{path}?limit=10000&cursor=x>; rel="next"'}),
        httpx.Response(200, content=second),
    )
    livegraph = client(server)
    if selected == "name":
        table = livegraph.nodes.list_arrow(name="x")
    elif selected == "relationType":
        table = livegraph.edges.list_arrow(relation_type="x")
    else:
        table = livegraph.points.series_arrow(metric="x")
    assert table.column("id").to_pylist() == ["1", "2"]
    assert table.to_pandas()["entityType"].tolist() == ["object", "actor"]
    assert [request.url.path for request in server.requests] == ["/prefix" + path] * 2
    assert server.requests[0].url.params["limit"] == "10000"
    assert server.requests[0].url.params[selected] == "x"
    assert dict(server.requests[1].url.params) == {"limit": "10000", "cursor": "x"}
    assert {request.headers["Accept"] for request in server.requests} == {"application/vnd.apache.arrow.stream"}
