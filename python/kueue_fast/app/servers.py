"""The HTTP servers of the process: probes, and metrics. They answer on every replica, whoever leads.

Source: OP-160, OP-161, OP-163, OP-254, OP-259, OP-500.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from aiohttp import web

from kueue_fast.app.access import Answer
from kueue_fast.errors import InputError

__all__ = ["Address", "health_app", "listening", "metrics_app", "read_address"]

OFF: Final = "0"
TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
CHECKS: Final = ("healthz", "readyz")

log = logging.getLogger("setup")


class Address(NamedTuple):
    """Where a server listens; `host` None is everywhere, `port` 0 is any that is free."""

    host: str | None
    port: int


def read_address(value: str, field: str) -> Address | None:
    """The address in a bindAddress such as `:8081` or `127.0.0.1:8081`; None for `0`, which is no server.

    Raises InputError, naming the field of the Configuration.
    """
    if value == OFF:
        return None
    host, separator, port = value.rpartition(":")
    if not separator or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise InputError(
            f'"{value}" is no address',
            object="Configuration",
            field=field,
            expected="[host]:port, such as :8081 or 127.0.0.1:8081, or 0 for no server",
        )
    return Address(host.strip("[]") or None, int(port))


def health_app(liveness: str = "/healthz", readiness: str = "/readyz") -> web.Application:
    """Liveness and readiness: both hold as long as the process can answer.

    Upstream's readiness also looks at its webhook server; beside upstream we have none.
    """
    app = web.Application()
    for path, name in zip((liveness, readiness), CHECKS, strict=True):
        app.router.add_get(path, _probe(name))
        app.router.add_get(f"{path}/{name}", _probe(name))
    return app


def metrics_app(
    collect: Callable[[], Awaitable[bytes]], check: Callable[[str | None, str], Awaitable[Answer]]
) -> web.Application:
    """`/metrics` for those who may read it; `check` is asked with the header Authorization and the path."""

    async def serve(request: web.Request) -> web.Response:
        answer = await check(request.headers.get("Authorization"), request.path)
        if answer is not Answer.ALLOWED:
            return web.Response(status=answer.value, text=f"{answer.name.capitalize()}\n")
        response = web.Response(body=await collect(), headers={"Content-Type": TEXT})
        response.enable_compression()
        return response

    app = web.Application()
    app.router.add_get("/metrics", serve)
    return app


@asynccontextmanager
async def listening(
    app: web.Application, address: Address, field: str, context: ssl.SSLContext | None = None
) -> AsyncIterator[Sequence[int]]:
    """Serve while the block runs; gives the ports. Raises InputError where nobody can listen there."""
    # What a client asks of us every few seconds is not worth a line.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, address.host, address.port, ssl_context=context)
        try:
            await site.start()
        except OSError as error:
            raise InputError(
                f"nobody can listen there: {error.strerror or error}",
                object="Configuration",
                field=field,
                expected="an address that is free",
            ) from error
        ports = [each[1] for each in runner.addresses]
        log.info("%s: listening on port %s", field, ports[0])
        yield ports
    finally:
        await runner.cleanup()


def _probe(name: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def serve(request: web.Request) -> web.Response:
        if "verbose" not in request.query:
            return web.Response(text="ok")
        excluded = name in request.query.getall("exclude", [])
        return web.Response(text=f"[+]{name} {'excluded: ' if excluded else ''}ok\nhealthz check passed\n")

    return serve
