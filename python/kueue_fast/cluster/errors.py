"""What a cluster may answer to a request, in memory or live."""

from __future__ import annotations

from kueue_fast.errors import KueueFastError

__all__ = ["AlreadyExistsError", "ClusterError", "ConflictError", "NotFoundError"]


class ClusterError(KueueFastError):
    """The cluster refused a request."""


class NotFoundError(ClusterError):
    """The object does not exist (404)."""


class AlreadyExistsError(ClusterError):
    """An object of that kind and name exists (409)."""


class ConflictError(ClusterError):
    """The object was changed by someone else in between (409)."""
