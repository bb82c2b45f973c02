"""Sources and points."""

import uuid
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from livegraph import (
    AsyncClient,
    AuthenticationError,
    Client,
    ConflictError,
    NotFoundError,
    RejectedError,
    ValidationError,
    WriteError,
)


def name() -> str:
    return f"source {uuid.uuid4()}"


def test_a_source_is_created_listed_changed_and_deleted(client: Client) -> None:
    created = client.sources.create(name(), unit="°C", tags={"room": "cellar", "floor": "1"}, interval_seconds=2.5)
    assert (created["unit"], created["intervalSeconds"]) == ("°C", 2.5)
    with pytest.raises(ConflictError) as caught:
        client.sources.create(created["name"])
    assert caught.value.request_id.startswith("req_")
    assert client.sources.ensure(created["name"])["id"] == created["id"]
    assert created["id"] in [source["id"] for source in client.sources.iterate(tag={"room": "cellar"})]
    page = client.sources.list(name=created["name"][-20:].upper(), limit=1, sort="-createdAt")
    assert [source["id"] for source in page] == [created["id"]]
    changed = client.sources.update(created["id"], {"tags": {"room": None}, "unit": None}, expected_version=1)
    assert (changed["tags"], changed["unit"], changed["version"]) == ({"floor": "1"}, None, 2)
    with pytest.raises(ConflictError) as caught:
        client.sources.update(created["id"], {"unit": "K"}, expected_version=1)
    assert caught.value.details["actualVersion"] == 2
    client.sources.delete(created["id"])
    with pytest.raises(NotFoundError):
        client.sources.get(created["id"])


def test_points_are_written_in_all_formats_and_read(client: Client) -> None:
    source = client.sources.create(name())["name"]
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=10)
    stamp = int(start.timestamp())
    answers = [
        client.points.write([{"metric": "a", "value": 1, "timestamp": stamp, "tags": {"k": "v"}}], source=source,
                            precision="s"),
        client.points.write_series(
            [{"metric": "b", "timestamps": [stamp, stamp + 60, stamp + 61], "values": [1, 2.5, 4]}], source=source,
            precision="s"),
        client.points.write_lines(f'{source.replace(" ", chr(92) + " ")},x=y c=3,d="open" {stamp}', precision="s"),
    ]  # fmt: skip
    assert [answer["accepted"] for answer in answers] == [1, 3, 2]
    assert client.wait_visible(*(answer["checkpoint"] for answer in answers)) == 0
    rows = {series["metric"]: series["points"] for series in client.points.query(source=source, epoch="ms")}
    assert rows["b"] == [[stamp * 1000, 1], [(stamp + 60) * 1000, 2.5], [(stamp + 61) * 1000, 4]]
    assert rows["d"] == [[stamp * 1000, "open"]]
    [series] = client.points.aggregate(
        ["max", "count"], source=source, metric="b", start=start, end=start + timedelta(hours=1), epoch="ms"
    )
    assert series["columns"] == ["timestamp", "max", "count"]
    assert series["points"][0][1:] == [4, 3]
    [series] = client.points.latest(source=source, metric="b", tag={})
    assert series["points"][0][1] == 4
    assert [s["metric"] for s in client.points.series(source=source, tag={"x": ["y", "z"]})] == ["c", "d"]


def test_raw_points_of_a_series_are_read_page_by_page(client: Client) -> None:
    source = client.sources.create(name())["name"]
    start = int(datetime.now(UTC).timestamp()) - 1000
    answer = client.points.write_series(
        [{"metric": "m", "timestamps": list(range(start, start + 25)), "values": list(range(25))}],
        source=source, precision="s",
    )  # fmt: skip
    client.wait_visible(answer["checkpoint"])
    parts = [part["points"] for part in client.points.iterate(source=source, metric="m", points_limit=10)]
    assert [len(part) for part in parts] == [10, 10, 5]
    assert [row[1] for part in parts for row in part] == list(range(25))


def test_points_are_deleted(client: Client) -> None:
    source = client.sources.create(name())
    client.points.write([{"metric": "m", "value": 1}, {"metric": "n", "value": 1}], source=source["name"])
    deletion = client.points.delete(source["id"], metric="m")
    client.wait_visible(deletion["checkpoint"])
    counts = {series["metric"]: len(series["points"]) for series in client.points.latest(source=source["name"])}
    assert counts == {"m": 0, "n": 1}


def test_errors_have_what_the_server_sent(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationError) as caught:
        client.points.write([{"source": "no such source", "metric": "m", "value": 1}])
    error = caught.value
    assert (error.status, error.code) == (422, "VALIDATION_ERROR")
    assert error.details["rejected"] == 1
    monkeypatch.setenv("LIVEGRAPH_API_KEY", "lg_live_wrong")
    with Client.from_environment() as other, pytest.raises(AuthenticationError, match="401") as refused:
        other.account()
    assert "lg_live_wrong" not in repr(refused.value)


def test_a_writer_stores_every_point_and_reports_what_is_rejected(client: Client) -> None:
    source = client.sources.create(name())["name"]
    errors: list[WriteError] = []
    with client.writer(batch_size=100, interval=0.2, on_error=errors.append) as writer:
        for value in range(1050):
            writer.write(source, "m", value)
        writer.flush()
        writer.write("no such source", "m", 1)
        writer.write(source, "old", 1, time=datetime(1969, 1, 1, tzinfo=UTC))
        writer.write(source, "state", "open")
    [error] = errors
    assert isinstance(error.__cause__, RejectedError)
    assert error.__cause__.rejected == 2
    checkpoint = client.points.write([{"metric": "last", "value": 1}], source=source)["checkpoint"]
    client.wait_visible(checkpoint)
    counts = {series["metric"]: series["count"] for series in client.points.series(source=source)}
    assert counts == {"m": 1050, "state": 1, "last": 1}


async def test_an_async_writer_stores_every_point(async_client: AsyncClient) -> None:
    source = (await async_client.sources.create(name()))["name"]
    async with async_client.writer(batch_size=100, max_points=300) as writer:
        for value in range(1050):
            await writer.write(source, "m", value, tags={"k": "v"})
    answer = await async_client.points.write([{"metric": "last", "value": 1}], source=source)
    await async_client.wait_visible(answer["checkpoint"])
    counts = {series["metric"]: series["count"] async for series in async_client.points.series(source=source)}
    assert counts == {"m": 1050, "last": 1}


def test_points_are_streamed_and_the_stream_is_resumed(client: Client) -> None:
    source = client.sources.create(name())["name"]
    with client.points.stream(source=source) as stream:
        client.points.write([{"metric": "m", "value": 5}], source=source)
        event = next(stream)
        position = stream.last_id
    assert event.event == "points"
    assert [series["points"][0][1] for series in event.data] == [5]
    client.points.write([{"metric": "resumed", "value": 7}], source=source)
    with client.points.stream(source=source, after=position) as resumed:
        metrics: list[str] = []
        while "resumed" not in metrics:
            metrics += [series["metric"] for series in next(resumed).data]


def test_a_data_frame_is_written_and_read(client: Client) -> None:
    source = client.sources.create(name())["name"]
    rows = 60_000
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=20)
    frame = pd.DataFrame(
        {"x": range(rows), "half": [i / 2 if i % 2 else None for i in range(rows)], "room": ["a", "b"] * (rows // 2)},
        index=pd.date_range(start, periods=rows, freq="s"),
    )
    receipt = client.write_frame(frame, source=source, tags=["room"])
    assert (receipt.accepted, receipt.rejected) == (rows + rows // 2, 0)
    assert len(receipt.checkpoints) == 2
    client.wait_visible(*receipt.checkpoints)
    read = client.query_frame(source=source, metric="x", start=start, end=start + timedelta(days=1))
    assert len(read) == rows
    assert read["value"].sum() == sum(range(rows))
    assert read["timestamp"].iloc[0] == pd.Timestamp(start)
    assert str(read["timestamp"].dtype) == "datetime64[us, UTC]"
    assert set(read["tag.room"].unique()) == {"a", "b"}
    means = client.query_frame(
        source=source, metric="half", aggregation=["avg", "count"], interval="30d", group_by="metric",
        start=start, end=start + timedelta(days=1),
    )  # fmt: skip
    assert means["count"].sum() == rows // 2


def test_a_frame_of_several_pages_has_all_columns(client: Client) -> None:
    source = client.sources.create(name())["name"]
    start = int(datetime.now(UTC).timestamp()) - 1000
    series = {"metric": "m", "timestamps": list(range(start, start + 25)), "values": list(range(25))}
    answer = client.points.write_series([series], source=source, precision="s")  # type: ignore[list-item]
    client.wait_visible(answer["checkpoint"])
    frame = client.query_frame(source=source, metric="m", points_limit=10)
    assert frame["value"].tolist() == list(range(25))


async def test_the_async_client_reads_frames(async_client: AsyncClient) -> None:
    source = (await async_client.sources.create(name()))["name"]
    answer = await async_client.points.write([{"metric": "m", "value": "open"}], source=source)
    await async_client.wait_visible(answer["checkpoint"])
    table = await async_client.query_arrow(source=source)
    assert table.column("value.text").to_pylist() == ["open"]
    series = await async_client.points.series_arrow(source=source)
    assert series.select(["metric", "kind", "tags", "count"]).to_pylist() == [
        {"metric": "m", "kind": "string", "tags": "{}", "count": 1}
    ]
