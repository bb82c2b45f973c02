"""Client of Livegraph: live data, a graph and search behind one REST API.

:class:`Client` blocks, :class:`AsyncClient` is for asyncio. Their methods are the same. Answers are dictionaries with
the names of the API, whose types are in ``livegraph.types``.
"""

from . import commands, filters, types, webhooks
from ._async.client import AsyncClient
from ._async.streams import AsyncEventStream
from ._async_writer import AsyncWriter
from ._frames import FrameReceipt
from ._response import AnswerPart, Page, batch_error
from ._retry import Retry
from ._sse import Event
from ._sync.client import Client
from ._sync.streams import EventStream
from ._sync_writer import Writer
from ._version import __version__
from .errors import (
    APIError,
    AuthenticationError,
    AuthorizationError,
    ConflictError,
    LivegraphError,
    NotFoundError,
    RateLimitedError,
    RejectedError,
    ResponseError,
    ServerError,
    TransportError,
    UnavailableError,
    ValidationError,
    WriteError,
    WriterClosedError,
)

__all__ = [
    "APIError",
    "AnswerPart",
    "AsyncClient",
    "AsyncEventStream",
    "AsyncWriter",
    "AuthenticationError",
    "AuthorizationError",
    "Client",
    "ConflictError",
    "Event",
    "EventStream",
    "FrameReceipt",
    "LivegraphError",
    "NotFoundError",
    "Page",
    "RateLimitedError",
    "RejectedError",
    "ResponseError",
    "Retry",
    "ServerError",
    "TransportError",
    "UnavailableError",
    "ValidationError",
    "WriteError",
    "Writer",
    "WriterClosedError",
    "__version__",
    "batch_error",
    "commands",
    "filters",
    "types",
    "webhooks",
]
