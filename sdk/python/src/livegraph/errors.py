"""The exceptions of the package. All of them are :class:`LivegraphError`.

No exception contains the API key.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .types import ErrorDetails, Point, Rejection


class LivegraphError(Exception):
    """The base class of all exceptions of the package."""


class TransportError(LivegraphError):
    """The server could not be reached, or the connection broke before the response ended.

    ``sent`` is False if the request was certainly not sent.
    """

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


class ResponseError(LivegraphError):
    """The server's response is not in the format of the API, for example because a proxy answered."""


class APIError(LivegraphError):
    """The server answered with an error.

    Attributes:
        message: The public message of the server.
        status: The HTTP status. In the results of a batch it is 0, because the API sends none.
        code: The code of the error, such as ``VALIDATION_ERROR``; "" if the response has none.
        request_id: The id of the request, to find it in the server's log; "" if the response has none.
        details: The field, the limit or the conflict that caused the error, as ``ErrorDetails`` of the API.
        retry_after: The seconds after which the server accepts another attempt; None if it did not send them.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        code: str = "",
        request_id: str = "",
        details: "ErrorDetails | None" = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.request_id = request_id
        self.details: ErrorDetails = details if details is not None else {}
        self.retry_after = retry_after

    def __str__(self) -> str:
        text = " ".join(part for part in (str(self.status or ""), self.code) if part) or "error"
        text += f": {self.message}"
        if "field" in self.details:
            text += f" ({self.details['field']}: {self.details.get('reason', 'is invalid')})"
        return text + (f", request {self.request_id}" if self.request_id else "")


class ValidationError(APIError):
    """The request is malformed or has invalid values (400, 405, 413, 415, 422)."""


class AuthenticationError(APIError):
    """The key is missing, invalid, revoked or expired (401)."""


class AuthorizationError(APIError):
    """The key has no access to the workspace or lacks a scope (403)."""


class NotFoundError(APIError):
    """The resource does not exist in the workspace (404)."""


class ConflictError(APIError):
    """The name or id exists, the version is another one, or an undo is blocked (409)."""


class RateLimitedError(APIError):
    """The workspace has used all requests of the minute or the day (429)."""


class ServerError(APIError):
    """The server failed (5xx)."""


class UnavailableError(ServerError):
    """A store is unavailable, or the request timed out (502, 503, 504)."""


class RejectedError(LivegraphError):
    """The server accepted a request with points but rejected some of them.

    Attributes:
        rejected: The number of rejected points.
        rejections: The reasons, with the index of the first point of each in the request.
    """

    def __init__(self, rejected: int, rejections: Sequence["Rejection"]) -> None:
        first = f": {rejections[0]['field']}: {rejections[0]['reason']}" if rejections else ""
        super().__init__(f"{rejected} points were rejected{first}")
        self.rejected = rejected
        self.rejections = list(rejections)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.rejected, self.rejections)


class WriteError(LivegraphError):
    """A writer could not write some points. ``__cause__`` is the reason.

    Attributes:
        points: The points of the requests that failed. Of a request whose points were rejected in part, all points
            are listed; the rejections name them.
    """

    def __init__(self, message: str, points: Sequence["Point"] = ()) -> None:
        super().__init__(message)
        self.points = list(points)


class WriterClosedError(LivegraphError):
    """The writer is closed and accepts no points."""


_BY_STATUS: Mapping[int, type[APIError]] = {
    400: ValidationError,
    401: AuthenticationError,
    403: AuthorizationError,
    404: NotFoundError,
    405: ValidationError,
    409: ConflictError,
    413: ValidationError,
    415: ValidationError,
    422: ValidationError,
    429: RateLimitedError,
    502: UnavailableError,
    503: UnavailableError,
    504: UnavailableError,
}
_BY_CODE: Mapping[str, type[APIError]] = {
    "VALIDATION_ERROR": ValidationError,
    "AUTHORIZATION_ERROR": AuthorizationError,
    "NOT_FOUND": NotFoundError,
    "CONFLICT": ConflictError,
    "INTERNAL_ERROR": ServerError,
}
_SERVER_ERRORS = 500


def error_class(status: int, code: str) -> type[APIError]:
    """Returns the exception class of an error. In the results of a batch, status is 0 and the code decides."""
    if not status:
        return _BY_CODE.get(code, APIError)
    if status >= _SERVER_ERRORS:
        return _BY_STATUS.get(status, ServerError)
    return _BY_STATUS.get(status, APIError)
