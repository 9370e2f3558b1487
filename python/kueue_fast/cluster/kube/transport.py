"""Requests and streams to the API server: one session, one speed limit, errors as classes.

Requests go out raw: bodies are bytes, answers are bytes. Who asks decodes only what it needs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

import aiohttp

from kueue_fast.cluster.kube.credentials import Credentials, Endpoint
from kueue_fast.cluster.kube.errors import ApiError, UnauthorizedError, UnreachableError, api_error
from kueue_fast.cluster.kube.limits import RateLimit

__all__ = [
    "APPLY",
    "JSON",
    "JSON_PATCH",
    "MERGE_PATCH",
    "STRATEGIC_MERGE_PATCH",
    "Connection",
    "ConnectionSettings",
]

JSON: Final = "application/json"
# Apply takes YAML, of which JSON is a part.
APPLY: Final = "application/apply-patch+yaml"
JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"

# A single event of a watch, one line, may be as large as the largest object that the server stores.
LINE_LIMIT: Final = 1 << 23
ERROR_BODY_LIMIT: Final = 1 << 16
# Credentials that do not help are not read again and again.
RELOAD_PAUSE_S: Final = 10.0
NETWORK_ERRORS: Final = (aiohttp.ClientError, asyncio.TimeoutError, OSError)


class ConnectionSettings(NamedTuple):
    """`clientConnection` of the Configuration, who we say we are, and how long an answer may take, in seconds.

    Source: OP-115, OP-273, OP-274.
    """

    qps: float = 300.0
    burst: int = 500
    user_agent: str = "kueue/unknown"
    timeout_s: float = 30.0
    connections: int = 100


class Connection:
    """The way to one API server. Open it with `open`, close it with `close`, or use it in `async with`."""

    def __init__(self, credentials: Credentials, settings: ConnectionSettings) -> None:
        self._credentials = credentials
        self._settings = settings
        self._limit = RateLimit(settings.qps, settings.burst, time.monotonic)
        self._endpoint: Endpoint | None = None
        self._session: aiohttp.ClientSession | None = None
        self._reloading = asyncio.Lock()
        self._reloaded_at = -RELOAD_PAUSE_S
        self._generation = 0

    @classmethod
    async def open(
        cls, credentials: Credentials, settings: ConnectionSettings = ConnectionSettings()
    ) -> Connection:
        """A connection with credentials read; the server is not asked anything yet. Raises InputError."""
        connection = cls(credentials, settings)
        await connection._load()
        return connection

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all connections; requests in flight fail with UnreachableError."""
        if self._session is not None:
            await self._session.close()

    @property
    def server(self) -> str:
        """Where requests go."""
        return self._reached()[0].server

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout_s: float | None = None,
        limited: bool = True,
        user_agent_suffix: str = "",
    ) -> bytes:
        """The body of a successful answer. `limited=False` passes by the speed limit, for what may not wait.

        Raises ApiError by the kind of refusal, UnreachableError.
        """
        if limited:
            await self._limit.wait()
        generation = self._generation
        asked = (
            method,
            path,
            query,
            body,
            content_type,
            timeout_s or self._settings.timeout_s,
            user_agent_suffix,
        )
        try:
            return await self._request(*asked)
        except UnauthorizedError:
            if not await self._reload(generation):
                raise
        return await self._request(*asked)

    @asynccontextmanager
    async def stream(
        self, path: str, query: Mapping[str, str], *, idle_s: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The lines of a streamed answer; a silence of `idle_s` seconds is taken for a broken connection.

        Raises ApiError by the kind of refusal, UnreachableError, also while the lines are read.
        """
        await self._limit.wait()
        endpoint, session = self._reached()
        generation = self._generation
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._settings.timeout_s, sock_read=idle_s)
        try:
            answer = await session.get(
                endpoint.server + path,
                params=query,
                headers=await self._headers(JSON, ""),
                timeout=timeout,
                allow_redirects=False,
                **_tls_name(endpoint),
            )
        except NETWORK_ERRORS as error:
            raise UnreachableError(f"watch {path}: {_words(error)}") from error
        try:
            if answer.status >= 300:
                raise await _refusal(answer, f"watch {path}")
            yield _lines(answer, path)
        except UnauthorizedError:
            # For the next one; this one is over.
            await self._reload(generation)
            raise
        finally:
            _abort(answer)

    async def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: bytes | None,
        content_type: str,
        timeout_s: float,
        user_agent_suffix: str,
    ) -> bytes:
        endpoint, session = self._reached()
        try:
            async with session.request(
                method,
                endpoint.server + path,
                params=query,
                data=body,
                headers=await self._headers(content_type, user_agent_suffix),
                timeout=aiohttp.ClientTimeout(total=timeout_s),
                # The API server never redirects; a body must not go elsewhere.
                allow_redirects=False,
                **_tls_name(endpoint),
            ) as answer:
                if answer.status >= 300:
                    raise await _refusal(answer, f"{method} {path}")
                return await answer.read()
        except NETWORK_ERRORS as error:
            raise UnreachableError(f"{method} {path}: {_words(error)}") from error

    async def _headers(self, content_type: str, user_agent_suffix: str) -> dict[str, str]:
        headers = {
            "Accept": JSON,
            "Content-Type": content_type,
            "User-Agent": self._settings.user_agent + user_agent_suffix,
        }
        authorization = await self._credentials.authorization()
        if authorization is not None:
            headers["Authorization"] = authorization
        return headers

    def _reached(self) -> tuple[Endpoint, aiohttp.ClientSession]:
        if self._endpoint is None or self._session is None:
            raise RuntimeError("the connection is not open")
        return self._endpoint, self._session

    async def _load(self) -> None:
        endpoint = await self._credentials.load()
        if self._endpoint is not None and self._endpoint.key == endpoint.key:
            return
        old = self._session
        self._endpoint = endpoint
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=endpoint.tls, limit=self._settings.connections),
            # The proxy is known; looking in the environment and in netrc at every request costs four times the request.
            trust_env=False,
            proxy=endpoint.proxy,
            read_bufsize=LINE_LIMIT,
            auto_decompress=True,
        )
        if old is not None:
            await old.close()

    async def _reload(self, generation: int) -> bool:
        """Read the credentials again, unless that happened since `generation`; False if it was just tried in vain."""
        async with self._reloading:
            if generation != self._generation:
                return True
            if time.monotonic() - self._reloaded_at < RELOAD_PAUSE_S:
                return False
            self._reloaded_at = time.monotonic()
            await self._load()
            self._generation += 1
            return True


def _abort(answer: aiohttp.ClientResponse) -> None:
    """End a stream that may still be coming in: at once, without waiting for the other end to say goodbye."""
    connection = answer.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    answer.close()


async def _refusal(answer: aiohttp.ClientResponse, what: str) -> ApiError:
    body = await answer.content.read(ERROR_BODY_LIMIT)
    return api_error(answer.status, body, answer.headers.get("Retry-After"), what)


async def _lines(answer: aiohttp.ClientResponse, path: str) -> AsyncIterator[bytes]:
    try:
        async for line in answer.content:
            if not line.isspace():
                yield line
    except NETWORK_ERRORS as error:
        raise UnreachableError(f"watch {path}: {_words(error)}") from error


def _tls_name(endpoint: Endpoint) -> dict[str, Any]:
    return {} if endpoint.tls_server_name is None else {"server_hostname": endpoint.tls_server_name}


def _words(error: BaseException) -> str:
    if isinstance(error, asyncio.TimeoutError):
        return "no answer in time"
    return str(error) or type(error).__name__
