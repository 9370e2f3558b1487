"""Who may read `/metrics`: asked of the API server by a TokenReview and a SubjectAccessReview. Source: OP-500."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any, Final, TypeAlias

import msgspec

from kueue_fast.cluster.errors import ClusterError

__all__ = ["Access", "Answer"]

# Cache times in seconds.
KNOWN_S: Final = 60.0
ALLOWED_S: Final = 300.0
DENIED_S: Final = 30.0
# More tokens than that are not kept: somebody sends guesses.
MOST_KEPT: Final = 1000
TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

Post: TypeAlias = Callable[[str, bytes], Awaitable[bytes]]

log = logging.getLogger("metrics")


class Answer(Enum):
    """The HTTP status of an answer about access."""

    ALLOWED = 200
    UNKNOWN = 401
    DENIED = 403
    FAILED = 500


class Access:
    """Asks once for each token and path, and remembers the answer for a while.

    `post` sends a body to a path of the API server and gives the answer; it raises ClusterError.
    """

    def __init__(self, post: Post, now: Callable[[], float] = time.monotonic) -> None:
        self._post = post
        self._now = now
        # Hashes of tokens: the tokens themselves need not stay in memory.
        self._users: dict[bytes, tuple[float, dict[str, Any] | None]] = {}
        self._allowed: dict[tuple[bytes, str], tuple[float, bool]] = {}

    async def check(self, authorization: str | None, path: str) -> Answer:
        """Whether the bearer of `authorization`, a header, may `get` the path."""
        scheme, _, token = (authorization or "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return Answer.UNKNOWN
        key = hashlib.sha256(token.encode()).digest()
        try:
            user = await self._user(key, token)
            if user is None:
                return Answer.UNKNOWN
            return Answer.ALLOWED if await self._may(key, user, path) else Answer.DENIED
        except ClusterError as error:
            log.error("who asks for %s cannot be reviewed: %s", path, error)
            return Answer.FAILED

    async def _user(self, key: bytes, token: str) -> dict[str, Any] | None:
        known = self._users.get(key)
        if known is not None and known[0] > self._now():
            return known[1]
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        status = await self._review(TOKEN_REVIEWS, body)
        user = status.get("user") if status.get("authenticated") else None
        if len(self._users) >= MOST_KEPT:
            self._users.clear()
        self._users[key] = (self._now() + KNOWN_S, user)
        return user

    async def _may(self, key: bytes, user: dict[str, Any], path: str) -> bool:
        known = self._allowed.get((key, path))
        if known is not None and known[0] > self._now():
            return known[1]
        spec = {
            "user": user.get("username", ""),
            "uid": user.get("uid", ""),
            "groups": user.get("groups", []),
            "extra": user.get("extra", {}),
            "nonResourceAttributes": {"path": path, "verb": "get"},
        }
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        allowed = bool((await self._review(ACCESS_REVIEWS, body)).get("allowed"))
        if len(self._allowed) >= MOST_KEPT:
            self._allowed.clear()
        self._allowed[key, path] = (self._now() + (ALLOWED_S if allowed else DENIED_S), allowed)
        return allowed

    async def _review(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await self._post(path, msgspec.json.encode(body))
        status: dict[str, Any] = msgspec.json.decode(answer).get("status") or {}
        return status
