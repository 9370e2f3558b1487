"""Events of events.k8s.io/v1: equal ones are folded into a series, and when there are too many they are dropped.

Events are written one at a time, so that they never crowd out the writes that matter; what waits is bounded.
Whoever may not write that group writes the same as events of the core group: the ClusterRole of Kueue up to v0.18
allows those alone.

Source: OP-690, OP-691.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from kueue_fast.cluster.errors import AlreadyExistsError, ClusterError, NotFoundError
from kueue_fast.cluster.kube.backoff import Backoff
from kueue_fast.cluster.kube.errors import (
    ForbiddenError,
    ServerError,
    TooManyRequestsError,
    UnreachableError,
)
from kueue_fast.cluster.kube.resources import CORE_EVENTS, EVENTS, Resource
from kueue_fast.cluster.kube.times import micro_time
from kueue_fast.cluster.kube.transport import MERGE_PATCH, Connection

__all__ = ["EventRecorder", "ObjectReference"]

QUEUE_LIMIT: Final = 1000
ATTEMPTS: Final = 12
SECOND: Final = 1_000_000_000
# A series that was not heard of for so long is written a last time and forgotten.
FINISH_NS: Final = 6 * 60 * SECOND
# One that goes on is written again in between, before the API server lets the event expire.
REFRESH_NS: Final = 30 * 60 * SECOND
PASSING: Final = (UnreachableError, TooManyRequestsError, ServerError)
# What the core group calls otherwise.
CORE_NAMES: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
}

log = logging.getLogger("events")


class ObjectReference(NamedTuple):
    """The object that an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""


class _Key(NamedTuple):
    """Events with the same key are equal; the text is not a part of it, as upstream's recorder has it."""

    type: str
    action: str
    reason: str
    controller: str
    regarding: ObjectReference


class _Series:
    """An event that was written, how often it came, and when last (ns since 1970)."""

    __slots__ = ("body", "count", "last_ns", "name", "namespace", "written_count", "written_ns")

    def __init__(self, name: str, namespace: str, body: dict[str, object], now_ns: int) -> None:
        self.name = name
        self.namespace = namespace
        self.body = body
        self.count = 1
        self.written_count = 0
        self.last_ns = now_ns
        self.written_ns = now_ns


class EventRecorder:
    """Takes events and writes them in the background (`run`). `now` returns ns since 1970."""

    def __init__(
        self,
        connection: Connection,
        hostname: str,
        now: Callable[[], int],
        *,
        queue_limit: int = QUEUE_LIMIT,
        backoff: Backoff = Backoff(1.0, 30.0),
    ) -> None:
        self.dropped = 0
        self._connection = connection
        self._hostname = hostname
        self._now = now
        self._backoff = backoff
        self._queue_limit = queue_limit
        self._series: dict[_Key, _Series] = {}
        self._queue: deque[_Series] = deque()
        self._queued = asyncio.Event()
        self._named_ns = 0
        self._resource = EVENTS
        self._idle = asyncio.Event()
        self._idle.set()

    def record(
        self,
        controller: str,
        regarding: ObjectReference,
        type_: str,
        reason: str,
        note: str,
        *,
        action: str = "",
        time_ns: int | None = None,
    ) -> None:
        """An event by the recorder named `controller`; returns at once."""
        now = self._now() if time_ns is None else time_ns
        # The version counts, as upstream: what is told of a changed object, such as its second preemption, has words of
        # its own, which a series would hide.
        key = _Key(type_, action or reason, reason, controller, regarding)
        series = self._series.get(key)
        if series is not None:
            series.count += 1
            series.last_ns = now
            if series.count == 2:
                self._enqueue(series)
            return
        series = self._series[key] = self._begin(key, regarding, note, now)
        if not self._enqueue(series):
            del self._series[key]

    async def run(self) -> None:
        """Write what comes in, until it is cancelled."""
        while True:
            while self._queue:
                await self._write(self._queue[0])
                self._queue.popleft()
            self._idle.set()
            self._queued.clear()
            await self._queued.wait()

    async def flush(self) -> None:
        """Return when nothing waits to be written; `run` has to be running."""
        await self._idle.wait()

    def sweep(self) -> None:
        """To be called every few minutes: series that ended are written a last time, long ones in between."""
        now = self._now()
        for key, series in list(self._series.items()):
            ended = now - series.last_ns >= FINISH_NS
            unwritten = series.count > max(series.written_count, 1)
            if unwritten and (ended or now - series.written_ns >= REFRESH_NS):
                self._enqueue(series)
            if ended:
                del self._series[key]

    def _begin(self, key: _Key, regarding: ObjectReference, note: str, now: int) -> _Series:
        # An event about an object without a namespace is kept in "default".
        namespace = regarding.namespace or "default"
        # Two events of one moment about one object need two names.
        self._named_ns = max(self._named_ns + 1, now)
        name = f"{regarding.name}.{self._named_ns:x}"
        body: dict[str, object] = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": micro_time(now),
            "reportingController": key.controller,
            "reportingInstance": f"{key.controller}-{self._hostname}"[:128],
            "action": key.action,
            "reason": key.reason,
            "regarding": {
                "apiVersion": regarding.api_version,
                "kind": regarding.kind,
                "namespace": regarding.namespace,
                "name": regarding.name,
                "uid": regarding.uid,
                "resourceVersion": regarding.resource_version,
            },
            "note": note,
            "type": key.type,
        }
        return _Series(name, namespace, body, now)

    def _enqueue(self, series: _Series) -> bool:
        if len(self._queue) >= self._queue_limit:
            self.dropped += 1
            return False
        self._queue.append(series)
        self._idle.clear()
        self._queued.set()
        return True

    async def _write(self, series: _Series) -> None:
        failures = 0
        while True:
            try:
                await self._send(series)
            except PASSING as error:
                failures += 1
                if failures >= ATTEMPTS:
                    log.warning("event %s given up: %s", series.name, error)
                    return
                await asyncio.sleep(self._backoff.wait_s(failures, error))
            except ClusterError as error:
                # The same would be refused again; an event is not worth more.
                log.warning("event %s refused: %s", series.name, error)
                return
            else:
                return

    async def _send(self, series: _Series) -> None:
        try:
            await self._send_as(series, self._resource)
        except ForbiddenError as error:
            # Or the namespace is going, and takes events under neither name.
            other = CORE_EVENTS if self._resource is EVENTS else EVENTS
            try:
                await self._send_as(series, other)
            except ForbiddenError:
                raise error from None
            log.info("events are written as %s from now on: %s", other.api_version, error)
            self._resource = other

    async def _send_as(self, series: _Series, resource: Resource) -> None:
        count = series.count
        if series.written_count == count:
            # It was queued twice, and the first time wrote all of it.
            return
        if series.written_count:
            patch = {"series": _counted(series)}
            try:
                await self._connection.request(
                    "PATCH",
                    resource.path(series.namespace, series.name),
                    body=msgspec.json.encode(patch),
                    content_type=MERGE_PATCH,
                )
            except NotFoundError:
                # It has expired; the series goes on as a new object.
                series.written_count = 0
        if not series.written_count:
            body = series.body if count == 1 else {**series.body, "series": _counted(series)}
            if resource is CORE_EVENTS:
                body = {CORE_NAMES.get(name, name): value for name, value in body.items()}
                body["apiVersion"] = CORE_EVENTS.api_version
            try:
                await self._connection.request(
                    "POST", resource.path(series.namespace), body=msgspec.json.encode(body)
                )
            except AlreadyExistsError:
                # An attempt whose answer was lost.
                log.debug("event %s exists", series.name)
        series.written_count = count
        series.written_ns = self._now()


def _counted(series: _Series) -> dict[str, object]:
    return {"count": series.count, "lastObservedTime": micro_time(series.last_ns)}
