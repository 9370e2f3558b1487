"""One look at an object at a time: the next when what the last one asked for is written, has failed, or is due.

What a controller writes brings the object back through its watch, so that a look which wrote needs no other one after
it, unless the object changed meanwhile. What has failed is looked at again, later each time. That holds for conflicts
too: usually the watch is earlier with what is newer, but not every conflict comes from a change (a quota of the
namespace that could not be counted is one), and a patch that does not fit what is stored by now is refused (422).

Source: OP-720, JS-164, JS-346.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from kueue_fast.cluster.changes import Key
from kueue_fast.cluster.errors import AlreadyExistsError, ClusterError, ConflictError, NotFoundError
from kueue_fast.cluster.kube.backoff import Backoff
from kueue_fast.cluster.kube.writer import Write, Writer

__all__ = ["Looks"]

SECOND: Final = 1_000_000_000
RETRY: Final = Backoff(0.1, 60.0)
# What was looked at was old: if something newer has come, there is nothing to wait for.
OUTDATED: Final = (ConflictError, AlreadyExistsError, NotFoundError)


class Looks:
    """Calls `look(key)`; everything happens in the event loop's thread."""

    def __init__(self, look: Callable[[Key], None], now: Callable[[], int]) -> None:
        self._look = look
        self._now = now
        self._asked: set[Key] = set()
        # Keys whose last step is being written; True: look again when that is done.
        self._writing: dict[Key, bool] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._stopped = False

    def stop(self) -> None:
        """Look at nothing more."""
        self._stopped = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def ask(self, key: Key) -> None:
        """Look once for all that is being told now, or when the write at hand is done."""
        if key in self._writing:
            self._writing[key] = True
        elif key not in self._asked:
            self._asked.add(key)
            asyncio.get_running_loop().call_soon(self._due, key)

    def at(self, key: Key, time_ns: int) -> None:
        """Look at that time, in ns since 1970, unless asked before."""
        self._later(key, max(0, time_ns - self._now()) / SECOND)

    def again(self, key: Key) -> None:
        """The look failed: another one later, each time after a longer wait."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        self._later(key, RETRY.wait_s(failures))

    def forget(self, key: Key) -> None:
        """The object is gone."""
        self._cancel(key)
        self._failures.pop(key, None)

    def write(
        self, key: Key, writer: Writer, writes: Iterable[Write], written: Callable[[], None] = lambda: None
    ) -> None:
        """Send the writes, each one after the one before it was done; `written` is called when all were."""
        self.until(key, [asyncio.ensure_future(_send(writer, list(writes)))], written)

    def until(
        self, key: Key, writes: Sequence[asyncio.Future[Any]], written: Callable[[], None] = lambda: None
    ) -> None:
        """Look no more until these are done; `written` is called if none has failed."""
        self._writing[key] = False
        asyncio.gather(*writes, return_exceptions=True).add_done_callback(
            lambda done: self._done(key, done.result(), written)
        )

    def _done(self, key: Key, results: Sequence[Any], written: Callable[[], None]) -> None:
        changed = self._writing.pop(key)
        if self._stopped:
            return
        errors = [each for each in results if isinstance(each, BaseException)]
        for error in errors:
            if not isinstance(error, ClusterError):
                raise error
        if not errors:
            self._failures.pop(key, None)
            written()
        elif not changed or not all(isinstance(each, OUTDATED) for each in errors):
            return self.again(key)
        if changed:
            self.ask(key)

    def _later(self, key: Key, seconds: float) -> None:
        self._cancel(key)
        if not self._stopped:
            self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._due, key)

    def _due(self, key: Key) -> None:
        self._asked.discard(key)
        self._cancel(key)
        if self._stopped:
            return
        if key in self._writing:
            self._writing[key] = True
            return
        failures = self._failures.get(key)
        self._look(key)
        if key not in self._writing and self._failures.get(key) == failures:
            # It is as it should be.
            self._failures.pop(key, None)

    def _cancel(self, key: Key) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()


async def _send(writer: Writer, writes: list[Write]) -> None:
    for write in writes:
        await writer.submit(write)
