"""The API server's refusals as classes, and network trouble, which is another thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from kueue_fast.cluster.errors import AlreadyExistsError, ClusterError, ConflictError, NotFoundError

__all__ = [
    "ApiAlreadyExistsError",
    "ApiConflictError",
    "ApiError",
    "ApiNotFoundError",
    "ForbiddenError",
    "GoneError",
    "RejectedError",
    "ServerError",
    "TooManyRequestsError",
    "UnauthorizedError",
    "UnreachableError",
    "api_error",
    "status_error",
]


class UnreachableError(ClusterError):
    """No answer: the connection was refused, broke or took too long."""


class ApiError(ClusterError):
    """The API server answered, and not with success.

    `status` is the HTTP status, `reason` the word of Kubernetes for it, `retry_after_s` how many seconds the server
    wants to be left alone, or None.
    """

    def __init__(self, message: str, status: int, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.retry_after_s = retry_after_s


class RejectedError(ApiError):
    """The request is wrong (400, 405, 413, 415, 422 and the like); the same again would be refused again."""


class UnauthorizedError(ApiError):
    """The server does not know who asks (401)."""


class ForbiddenError(ApiError):
    """Who asks may not do it (403), or a webhook refused it; the message names verb and resource, or the webhook."""


class ApiNotFoundError(ApiError, NotFoundError):
    """The object, or its kind, does not exist (404)."""


class ApiAlreadyExistsError(ApiError, AlreadyExistsError):
    """An object of that name exists (409)."""


class ApiConflictError(ApiError, ConflictError):
    """The object was changed by someone else in between, or a field belongs to another manager (409)."""


class GoneError(ApiError):
    """The resource version that was asked for is no longer kept (410)."""


class TooManyRequestsError(ApiError):
    """The server is busy (429)."""


class ServerError(ApiError):
    """The server failed (5xx)."""


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: float | None = None


class _Status(msgspec.Struct, rename="camel"):
    """A metav1.Status, as far as it is needed."""

    message: str | None = None
    reason: str | None = None
    code: int | None = None
    details: _Details | None = None


_decode_status = msgspec.json.Decoder(_Status).decode

BY_STATUS: Final[Mapping[int, type[ApiError]]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: ApiNotFoundError,
    409: ApiConflictError,
    410: GoneError,
    429: TooManyRequestsError,
}
TEXT_LIMIT: Final = 300


def api_error(status: int, body: bytes, retry_after: str | None, what: str) -> ApiError:
    """The error of an answer: its HTTP status, body, Retry-After header, and what was asked, for the message."""
    try:
        told = _decode_status(body)
    except msgspec.MsgspecError:
        told = _Status(message=body[:TEXT_LIMIT].decode(errors="replace").strip())
    return _make(status, told, retry_after, what)


def status_error(body: bytes, what: str) -> ApiError:
    """The error in a Status object that a watch delivered. An unreadable one counts as a failure of the server."""
    try:
        told = _decode_status(body)
    except msgspec.MsgspecError:
        told = _Status(message="an ERROR event that cannot be read")
    return _make(told.code or 500, told, None, what)


def _make(status: int, told: _Status, retry_after: str | None, what: str) -> ApiError:
    reason = told.reason or ""
    if status == 409 and reason == "AlreadyExists":
        made: type[ApiError] = ApiAlreadyExistsError
    elif status in BY_STATUS:
        made = BY_STATUS[status]
    else:
        made = ServerError if status >= 500 else RejectedError
    message = f"{what}: {told.message or 'no message'} ({status})"
    return made(message, status, reason, _retry_after(told, retry_after))


def _retry_after(told: _Status, header: str | None) -> float | None:
    # The header may also carry a date; API servers send seconds.
    if header is not None and header.isascii() and header.isdigit():
        return float(header)
    if told.details is not None and told.details.retry_after_seconds:
        return told.details.retry_after_seconds
    return None
