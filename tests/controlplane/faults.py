"""A proxy on loopback before the apiserver that answers as a test wants: busy, failing, silent, cut off."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web

from tests.controlplane.client import Client
from tests.controlplane.ports import HOST

HOP_HEADERS = {"host", "connection", "transfer-encoding", "content-length", "content-encoding"}


@dataclass(frozen=True)
class Seen:
    """A request as it came in."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]

    @property
    def watch(self) -> bool:
        return self.query.get("watch") == "true"


@dataclass
class Fault:
    """What to do with the next `times` requests that fit.

    With `status`, answer that instead of asking the apiserver; with `cut`, close the connection without an answer;
    `lose` does so after the apiserver has done it.
    """

    fits: Callable[[Seen], bool]
    times: int = 1
    status: int = 0
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    lose: bool = False


class FaultProxy:
    """Forwards to the apiserver, but for what `faults` say; `seen` has all requests."""

    def __init__(self, client: Client) -> None:
        self.url = ""
        self.seen: list[Seen] = []
        self.faults: list[Fault] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self._client = client
        self._open: set[aiohttp.ClientResponse] = set()
        self._session: aiohttp.ClientSession

    @classmethod
    @asynccontextmanager
    async def running(cls, client: Client) -> AsyncIterator["FaultProxy"]:
        proxy = cls(client)
        tls = ssl.create_default_context(cafile=str(client.authority))
        connector = aiohttp.TCPConnector(ssl=tls, limit=0)
        async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:
            proxy._session = session
            application = web.Application(client_max_size=1 << 24)
            application.router.add_route("*", "/{path:.*}", proxy._handle)
            runner = web.AppRunner(application, shutdown_timeout=0.1, handler_cancellation=True)
            await runner.setup()
            site = web.TCPSite(runner, HOST, 0)
            await site.start()
            proxy.url = f"http://{HOST}:{runner.addresses[0][1]}"
            try:
                yield proxy
            finally:
                await runner.cleanup()

    @property
    def open_streams(self) -> int:
        """Answers that are being passed on."""
        return len(self._open)

    def add(self, fits: Callable[[Seen], bool], **what: object) -> Fault:
        fault = Fault(fits, **what)  # type: ignore[arg-type]
        self.faults.append(fault)
        return fault

    def cut_watches(self) -> None:
        """Break every stream in the middle."""
        for answer in list(self._open):
            _abort(answer)

    def count(self, fits: Callable[[Seen], bool]) -> int:
        return sum(map(fits, self.seen))

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        seen = Seen(request.method, request.path, dict(request.query), dict(request.headers))
        self.seen.append(seen)
        fault = next((each for each in self.faults if each.times > 0 and each.fits(seen)), None)
        if fault is not None:
            fault.times -= 1
            if fault.cut:
                return _cut(request)
            if fault.status:
                return web.Response(
                    status=fault.status,
                    text=fault.body,
                    headers=fault.headers,
                    content_type="application/json",
                )
        self.in_flight += not seen.watch
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._forward(request, lose=fault is not None and fault.lose)
        finally:
            self.in_flight -= not seen.watch

    async def _forward(self, request: web.Request, *, lose: bool) -> web.StreamResponse:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP_HEADERS}
        async with self._session.request(
            request.method,
            self._client.server + request.raw_path,
            data=await request.read(),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=None),
        ) as answer:
            if lose:
                await answer.read()
                return _cut(request)
            return await self._pass_on(request, answer)

    async def _pass_on(self, request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        kept = {name: value for name, value in answer.headers.items() if name.lower() not in HOP_HEADERS}
        if "Content-Encoding" in answer.headers:
            kept["Content-Encoding"] = answer.headers["Content-Encoding"]
        passed = web.StreamResponse(status=answer.status, headers=kept)
        await passed.prepare(request)
        self._open.add(answer)
        try:
            async for chunk in answer.content.iter_any():
                await passed.write(chunk)
        except (aiohttp.ClientError, ConnectionError):
            return _cut(request)
        finally:
            self._open.discard(answer)
            _abort(answer)
        await passed.write_eof()
        return passed


def _abort(answer: aiohttp.ClientResponse) -> None:
    """Nothing if all of it has come: then the connection is another's."""
    if answer.connection is not None and answer.connection.transport is not None:
        answer.connection.transport.abort()


def _cut(request: web.Request) -> web.Response:
    transport = request.transport
    if isinstance(transport, asyncio.Transport):
        transport.abort()
    return web.Response()
