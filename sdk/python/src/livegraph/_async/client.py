"""The client of a workspace."""

import os
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

import httpx

from .. import _frames
from .._async_writer import AsyncWriter
from .._buffer import Limits
from .._request import Bearer, Request, query
from .._retry import Retry
from ..errors import WriteError
from ..filters import FrameQuery
from ..types import Account, GraphCounts, IngestAnswerData, Point, PointRows
from .alerting import AsyncAlerts, AsyncRules, AsyncWebhooks
from .analyses import AsyncAnalyses
from .documents import AsyncDocuments, AsyncSearch
from .graph import AsyncChanges, AsyncCommands, AsyncEdges, AsyncNodes
from .livedata import QUERY, AsyncPoints, AsyncSources, points_query
from .prometheus import AsyncPrometheus
from .saved import AsyncSavedQueries
from .transport import AsyncTransport

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

NO_SOURCE = "00000000-0000-0000-0000-000000000000"
"""The id of a source that does not exist. A query of it returns nothing, quickly."""
FRAME_POINTS = 1_000_000


class AsyncClient:
    """A client of one workspace of a Livegraph server.

    Args:
        url: The address of the server, such as ``https://livegraph.example.com``.
        api_key: An API key. It appears in no exception and in no ``repr``.
        workspace_id: The id of the workspace.
        retry: How often failed requests are sent again.
        timeout: The seconds to wait for a connection, and for each part of a response.
        http: A client of httpx with custom certificates or proxies. It is not closed by this client.

    Raises:
        ValueError: The address is not an http or https URL, or the key contains invalid characters.
    """

    def __init__(
        self,
        url: str,
        api_key: str,
        workspace_id: str,
        *,
        retry: Retry | None = None,
        timeout: float = 45.0,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        parsed = httpx.URL(url)
        if parsed.scheme not in ("http", "https") or not parsed.host or parsed.query or parsed.fragment:
            raise ValueError(f"the server's address {url!r} is not an http or https URL")
        self._owned = http is None
        self._http = http or httpx.AsyncClient()
        self._transport = AsyncTransport(
            str(parsed).rstrip("/"),
            Bearer(api_key),
            workspace_id,
            retry=retry or Retry(),
            timeout=timeout,
            http=self._http,
        )
        self._description = f"{type(self).__name__}({str(parsed)!r}, workspace_id={workspace_id!r})"
        self.sources = AsyncSources(self._transport)
        self.points = AsyncPoints(self._transport)
        self.commands = AsyncCommands(self._transport)
        self.nodes = AsyncNodes(self._transport, self.commands)
        self.edges = AsyncEdges(self._transport, self.commands)
        self.changes = AsyncChanges(self._transport)
        self.analyses = AsyncAnalyses(self._transport)
        self.documents = AsyncDocuments(self._transport)
        self.search = AsyncSearch(self._transport)
        self.saved_queries = AsyncSavedQueries(self._transport)
        self.prometheus = AsyncPrometheus(self._transport)
        self.rules = AsyncRules(self._transport)
        self.alerts = AsyncAlerts(self._transport)
        self.webhooks = AsyncWebhooks(self._transport)

    @classmethod
    def from_environment(cls, **options: Any) -> Self:
        """Creates a client with LIVEGRAPH_URL, LIVEGRAPH_API_KEY and LIVEGRAPH_WORKSPACE_ID of the environment.

        Raises:
            KeyError: One of the variables is not set.
        """
        names = ("LIVEGRAPH_URL", "LIVEGRAPH_API_KEY", "LIVEGRAPH_WORKSPACE_ID")
        url, api_key, workspace_id = (os.environ[name] for name in names)
        return cls(url, api_key, workspace_id, **options)

    def __repr__(self) -> str:
        return self._description

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections. Close writers and streams before."""
        if self._owned:
            await self._http.aclose()

    async def account(self) -> Account:
        """Returns the key of the client, its scopes and its workspaces with their limits."""
        return await self._transport.data(Request[Account]("GET", "/api/me"))

    async def graph_counts(self, *, limit: int = 50) -> GraphCounts:
        """Returns the numbers of nodes and edges by type, for at most ``limit`` types of each kind, 1 to 100.

        The numbers that the scopes of the key do not permit are missing.
        """
        return await self._transport.data(Request[GraphCounts]("GET", "/api/queries/counts", query=query(limit=limit)))

    async def wait_visible(self, *checkpoints: str, timeout: float = 60.0) -> int:
        """Waits until queries see the points of these ingests.

        Args:
            checkpoints: The checkpoints in the answers to ingests.
            timeout: The seconds to wait for each.

        Returns:
            The number of records that could not be stored and became dead letters. Their points are not visible.

        Raises:
            UnavailableError: The timeout is over (status 504).
        """
        dead = 0
        for checkpoint in checkpoints:
            parameters = query(checkpoint=checkpoint, source_id=NO_SOURCE, limit=1)
            page = await self._transport.page(Request[PointRows]("GET", QUERY, query=parameters), timeout)
            dead += int(page.meta.get("deadLettered", 0))
        return dead

    def writer(
        self,
        *,
        max_points: int = Limits.max_points,
        batch_size: int = Limits.batch_size,
        interval: float = Limits.interval,
        on_error: Callable[[WriteError], None] | None = None,
    ) -> AsyncWriter:
        """Returns a writer that collects points and writes them in batches.

        Args:
            max_points: The number of points that the writer holds. ``write`` waits for space beyond it.
            batch_size: The number of points of a request.
            interval: The seconds after which points are sent, even if they are fewer than batch_size.
            on_error: Called with points that could not be written. It must not call the writer. Without it, the next
                call of the writer raises the error.
        """

        async def send(points: list[Point]) -> IngestAnswerData:
            return await self.points.write(points, precision="us")

        return AsyncWriter(send, Limits(max_points, batch_size, interval), on_error)

    async def query_arrow(self, **selector: Unpack[FrameQuery]) -> "pa.Table":
        """Returns points as a table of Apache Arrow, with one row per point in the order of time.

        The columns are those of the API: ``timestamp`` (microseconds, UTC), ``sourceId``, ``sourceName``, ``metric``,
        ``kind``, ``unit``, ``tag.<key>``, and ``value`` or one column per function, with ``<name>.text`` for strings.
        It requires ``livegraph[pandas]``.

        Raises:
            ValidationError: The points of several series are more than ``points_limit``, 1,000,000 by default.
        """
        parameters = points_query(selector, limit=_frames.MAX_ITEMS)
        request = _frames.arrow_request(QUERY, parameters)
        if "points_limit" not in selector:
            request = request.with_query(points_limit=FRAME_POINTS)
        return _frames.parse_arrow(await self._transport.contents(request))

    async def query_frame(self, **selector: Unpack[FrameQuery]) -> "pd.DataFrame":
        """Returns points as a data frame of pandas. See ``query_arrow``. Texts that repeat are categories."""
        frame: pd.DataFrame = (await self.query_arrow(**selector)).to_pandas()
        return frame

    async def write_frame(
        self, frame: "pd.DataFrame", *, source: str, time: str | None = None, tags: Sequence[str] = ()
    ) -> _frames.FrameReceipt:
        """Writes the columns of a data frame as series, in requests of at most 50,000 values.

        Each column is a metric, except for those of the time and the tags. Cells without a value are omitted. If a
        request fails, those before it are stored; it is safe to write the frame again.

        Args:
            frame: A data frame of pandas.
            source: The name of the source, which must exist.
            time: The column with the times, which have a time zone. Without it, the index has the times.
            tags: The columns with the tags.

        Raises:
            ValueError: A column does not exist, or a time is missing or has no time zone.
            TypeError: A column contains something else than numbers, booleans or strings.
        """
        receipt = _frames.FrameReceipt()
        for series in _frames.frame_series(frame, source, time, tags):
            receipt.add(await self.points.write_series(series, precision="us"))
        return receipt
