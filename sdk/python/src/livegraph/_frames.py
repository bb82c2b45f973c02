"""Converts data frames of pandas and tables of Apache Arrow. Nothing here does input or output."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._request import Query, Request
from .types import IngestAnswerData, PointSeries, Rejection

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ARROW = "application/vnd.apache.arrow.stream"
MAX_VALUES = 50_000
"""The number of values in a request."""
MAX_ITEMS = 10_000
"""The number of items on a page of columns."""


@dataclass
class FrameReceipt:
    """The result of ``write_frame``.

    Attributes:
        accepted: The number of accepted points. They are durable.
        rejected: The number of rejected points.
        errors: Why points were rejected.
        checkpoints: The checkpoints for ``wait_visible``, one of each request.
    """

    accepted: int = 0
    rejected: int = 0
    errors: list[Rejection] = field(default_factory=list)
    checkpoints: list[str] = field(default_factory=list)

    def add(self, answer: IngestAnswerData) -> None:
        """Adds the answer to a request."""
        self.accepted += answer["accepted"]
        self.rejected += answer["rejected"]
        self.errors += answer["errors"]
        self.checkpoints.append(answer["checkpoint"])


def arrow_request(path: str, query: Query) -> Request[bytes]:
    """Returns a request for a list as a stream of Apache Arrow."""
    return Request("GET", path, query=query, headers={"Accept": ARROW})


def parse_arrow(pages: Sequence[bytes]) -> "pa.Table":
    """Returns the rows of streams of Apache Arrow. A column that a page does not have is null there."""
    import pyarrow as pa  # noqa: PLC0415

    tables = []
    for page in pages:
        with pa.ipc.open_stream(page) as reader:
            tables.append(reader.read_all())
    return pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()


def frame_series(
    frame: "pd.DataFrame", source: str, time: str | None, tags: Sequence[str]
) -> Iterator[list[PointSeries]]:
    """Iterates over requests with the values of a data frame, each with at most MAX_VALUES.

    Each column is a metric, except for the columns with the time (None: the index) and the tags. Cells without a value
    are omitted, and so are tags without a value. Timestamps are in microseconds.

    Raises:
        ValueError: A column does not exist, the times have no time zone, or a time is missing.
        TypeError: A column contains something else than numbers, booleans or strings.
    """
    import pandas as pd  # noqa: PLC0415

    if missing := [name for name in (*([time] if time else []), *tags) if name not in frame.columns]:
        raise ValueError(f"the data frame has no column {missing[0]!r}")
    metrics = [name for name in frame.columns if name != time and name not in tags]
    stamps = _microseconds(pd.Series(frame.index) if time is None else frame[time])
    plain = frame.reset_index(drop=True)
    groups = plain.groupby(list(tags), dropna=False, sort=False, observed=True).indices if tags else {}
    batch: list[PointSeries] = []
    times: list[Any]
    free = MAX_VALUES
    for key, rows in groups.items() if tags else [((), range(len(plain)))]:
        labels = _labels(tags, key if isinstance(key, tuple) else (key,))
        for metric in metrics:
            column = plain[metric].iloc[list(rows)]
            column = column[column.notna()]
            times, values = stamps.iloc[list(column.index)].tolist(), _values(column)
            while values:
                batch.append(
                    {
                        "source": source,
                        "metric": str(metric),
                        "tags": labels,
                        "timestamps": times[:free],
                        "values": values[:free],
                    }
                )
                times, values, free = times[free:], values[free:], free - min(free, len(values))
                if not free:
                    yield batch
                    batch, free = [], MAX_VALUES
    if batch:
        yield batch


def _microseconds(times: "pd.Series[Any]") -> "pd.Series[Any]":
    import pandas as pd  # noqa: PLC0415

    if not isinstance(times.dtype, pd.DatetimeTZDtype):
        raise ValueError("the times have no time zone; use for example frame[time].dt.tz_localize('UTC')")
    if times.isna().any():
        raise ValueError("a time is missing")
    microseconds: pd.Series[Any] = times.dt.as_unit("us").astype("int64")
    return microseconds.reset_index(drop=True)


def _labels(tags: Sequence[str], key: Sequence[Any]) -> dict[str, str]:
    import pandas as pd  # noqa: PLC0415

    return {str(tag): str(value) for tag, value in zip(tags, key, strict=True) if not pd.isna(value)}


def _values(column: "pd.Series[Any]") -> list[Any]:
    values = column.tolist()
    for value in values:
        if not isinstance(value, bool | int | float | str):
            raise TypeError(f"the column {column.name!r} contains a value of type {type(value).__name__}")
    return values
