"""Writes to the API server: many objects at once, one object in order, what failed for the moment again.

A write that meets a conflict is made anew from the newest object by whoever asked for it, or given back. What finally
failed is told to the asker; that the cluster does not look as wished is found by the watches anyway.

Source: OP-740, OP-891.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kueue_fast.cluster.changes import Key, describe
from kueue_fast.cluster.errors import ClusterError, NotFoundError
from kueue_fast.cluster.kube.backoff import Backoff
from kueue_fast.cluster.kube.errors import (
    ApiConflictError,
    ServerError,
    TooManyRequestsError,
    UnreachableError,
)
from kueue_fast.cluster.kube.resources import Resource
from kueue_fast.cluster.kube.transport import (
    APPLY,
    JSON,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Connection,
)

__all__ = ["Verb", "Write", "Writer"]

IN_FLIGHT: Final = 64
ATTEMPTS: Final = 8
CONFLICTS: Final = 5
# What answers with the whole object, not with one of its own.
WITH_OBJECT: Final = ("", "status")
PASSING: Final = (UnreachableError, TooManyRequestsError, ServerError)

log = logging.getLogger("writer")


class Verb(enum.Enum):
    """What a write does: HTTP method and content type."""

    APPLY = ("PATCH", APPLY)
    PATCH = ("PATCH", JSON_PATCH)
    MERGE = ("PATCH", MERGE_PATCH)
    STRATEGIC_MERGE = ("PATCH", STRATEGIC_MERGE_PATCH)
    CREATE = ("POST", JSON)
    REPLACE = ("PUT", JSON)
    DELETE = ("DELETE", JSON)


@dataclass(frozen=True, slots=True)
class Write:
    """One write.

    `manager` is the field manager; `force` takes fields from other managers (APPLY only). `rebuild` is given the newest
    object as JSON after a conflict and returns the write to do instead, or None when nothing is left to do; without it
    a conflict is final.
    """

    resource: Resource
    namespace: str | None
    name: str
    verb: Verb
    body: bytes | None = None
    subresource: str = ""
    manager: str = ""
    force: bool = False
    rebuild: Callable[[bytes], Write | None] | None = None

    @property
    def key(self) -> Key:
        """The object."""
        return self.resource.kind, self.namespace or "", self.name


class Writer:
    """Sends writes; use it from the event loop's thread only.

    `may_write` is asked right before each: a leader whose lease has run out must not write, whatever was pending.
    `answered` is given the objects as the server has them after writes, before those who asked for the writes are
    called. These are called before anybody who is told soon (`call_soon`) because of it: what belongs to a decision,
    such as the end of the slice whose place was taken, is not to be found undone by a look at the object.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        in_flight: int = IN_FLIGHT,
        backoff: Backoff = Backoff(0.1, 10.0),
        may_write: Callable[[], bool] = lambda: True,
        answered: Callable[[Key, bytes], None] = lambda key, body: None,
    ) -> None:
        self._connection = connection
        self._may_write = may_write
        self._answered = answered
        self._slots = asyncio.Semaphore(in_flight)
        self._backoff = backoff
        self._queues: dict[Key, deque[tuple[Write, asyncio.Future[bytes | None]]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def submit(self, write: Write) -> asyncio.Future[bytes | None]:
        """Send a write after all earlier ones of the same object.

        The future gives the object as the server has it then, or None when `rebuild` found nothing to do; it fails with
        ClusterError. Nobody has to wait for it.
        """
        future: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        if self._closed:
            _fail(future, ClusterError(f"{describe(write.key)}: not written, since writing has stopped"))
            return future
        queue = self._queues.get(write.key)
        if queue is None:
            queue = self._queues[write.key] = deque()
            task = asyncio.create_task(self._drain(write.key, queue))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        queue.append((write, future))
        return future

    def is_writing(self, key: Key) -> bool:
        """Whether a write of this object is not done yet: what is known of the object is about to change."""
        return key in self._queues

    @property
    def pending(self) -> int:
        """Writes that are not done yet."""
        return sum(len(queue) for queue in self._queues.values())

    async def flush(self) -> None:
        """Return when nothing is pending, also of what came in meanwhile."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self, patience_s: float = 0.0) -> None:
        """Take no more writes, give those that are pending `patience_s` seconds, and give up the rest."""
        self._closed = True
        if self._tasks and patience_s > 0:
            await asyncio.wait(self._tasks, timeout=patience_s)
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _drain(self, key: Key, queue: deque[tuple[Write, asyncio.Future[bytes | None]]]) -> None:
        """All writes of one object, one after the other."""
        newest: bytes | None = None
        try:
            while queue:
                write, future = queue[0]
                try:
                    result = await self._write(write, newest)
                except ClusterError as error:
                    log.warning("%s: %s", describe(key), error)
                    _fail(future, error)
                except Exception as error:
                    # A mistake of ours in `rebuild`; the other writes must not stop for it.
                    log.exception("%s: cannot be written", describe(key))
                    _fail(future, error)
                else:
                    if not future.done():
                        future.set_result(result)
                    newest = self._take(write, result)
                queue.popleft()
        finally:
            # Only when cancelled is anything left.
            for _, future in queue:
                _fail(future, ClusterError(f"{describe(key)}: given up, since writing has stopped"))
            del self._queues[key]

    def _take(self, write: Write, result: bytes | None) -> bytes | None:
        """The object after a write, if the answer is one."""
        if result is None or write.verb is Verb.DELETE or write.subresource not in WITH_OBJECT:
            return None
        self._answered(write.key, result)
        return result

    async def _write(self, write: Write, newest: bytes | None = None) -> bytes | None:
        """`newest` is the object after the write before, of which whoever asked for this one cannot have known."""
        failures = conflicts = 0
        if write.rebuild is not None and newest is not None:
            first = write.rebuild(newest)
        elif write.verb is Verb.REPLACE and write.body is None:
            first = await self._rebuild(write)
        else:
            first = write
        if first is None:
            return None
        write = first
        while True:
            try:
                async with self._slots:
                    return await self._send(write)
            except PASSING as error:
                failures += 1
                if failures >= ATTEMPTS:
                    raise
                await asyncio.sleep(self._backoff.wait_s(failures, error))
            except ApiConflictError:
                conflicts += 1
                if write.rebuild is None or conflicts > CONFLICTS:
                    raise
                again = await self._rebuild(write)
                if again is None:
                    return None
                write = again

    async def _rebuild(self, write: Write) -> Write | None:
        newest = await self._newest(write)
        if newest is None or write.rebuild is None:
            return None
        return write.rebuild(newest)

    async def _newest(self, write: Write) -> bytes | None:
        failures = 0
        while True:
            try:
                async with self._slots:
                    return await self._connection.request(
                        "GET", write.resource.path(write.namespace, write.name)
                    )
            except NotFoundError:
                return None
            except PASSING as error:
                failures += 1
                if failures >= ATTEMPTS:
                    raise
                await asyncio.sleep(self._backoff.wait_s(failures, error))

    async def _send(self, write: Write) -> bytes:
        if not self._may_write():
            raise ClusterError("not written, since we do not lead")
        method, content_type = write.verb.value
        query: dict[str, str] = {}
        if write.manager:
            query["fieldManager"] = write.manager
        if write.force:
            query["force"] = "true"
        name = None if write.verb is Verb.CREATE else write.name
        path = write.resource.path(write.namespace, name, write.subresource)
        return await self._connection.request(
            method, path, query=query, body=write.body, content_type=content_type
        )


def _fail(future: asyncio.Future[bytes | None], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
        # Whoever does not wait for it must not be reminded.
        future.exception()
