"""The process around the controller: signals, logs, exit codes. Source: OP-147, OP-148."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from asyncio import sslproto
from typing import Final

from kueue_fast.app.controller import run_controller
from kueue_fast.app.logs import set_up_logging
from kueue_fast.app.settings import ControllerSettings
from kueue_fast.cluster.errors import ClusterError
from kueue_fast.errors import KueueFastError

__all__ = ["FAILED", "run_process"]

FAILED: Final = 1
# What asyncio reads at once from a TLS connection: it keeps a buffer of that size for each one, 256 KiB by itself, and
# there is a connection for every watch and every write in flight. asyncio takes it from this class alone, so it is set
# where the whole process is ours.
TLS_BUFFER: Final = 1 << 15

log = logging.getLogger("setup")


def run_process(settings: ControllerSettings, *, debug: bool = False) -> int:
    """Run until a signal; returns the exit code: 0 after SIGINT or SIGTERM, 1 after anything else.

    A second signal ends the process at once.
    """
    set_up_logging(logging.DEBUG if debug else logging.INFO)
    sslproto.SSLProtocol.max_size = TLS_BUFFER
    try:
        return asyncio.run(_until_signal(settings))
    except* (KueueFastError, ClusterError, TimeoutError) as group:
        for error in _leaves(group):
            log.error("%s", error)
    except* Exception:
        log.exception("ended by a mistake of ours")
    return FAILED


async def _until_signal(settings: ControllerSettings) -> int:
    task = asyncio.current_task()
    assert task is not None
    told = False

    def stop(number: int) -> None:
        nonlocal told
        if told:
            os._exit(FAILED)
        told = True
        log.info("stopping: %s", signal.Signals(number).name)
        task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        await run_controller(settings)
    except asyncio.CancelledError:
        if not told:
            raise
    return 0


def _leaves(group: BaseExceptionGroup[Exception]) -> list[Exception]:
    found: list[Exception] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
