"""Runs the engine in a thread of its own: objects in, cycles, decisions out to the event loop.

All of the engine happens in that thread; the kernel releases the interpreter's lock, so that watches, writes and the
Lease go on meanwhile. What comes in waits in a queue until the cycle at hand is over.

Source: QC-36 (flush), QC-87 (samples), QC-89 (cycles), QC-132 (standing still).
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar, cast

import msgspec

from kueue_fast.api.kueue import ClusterQueue, ClusterQueueSpec
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.cluster.changes import Change, WatchEvent, describe, key_of
from kueue_fast.engine import Cycle, Engine
from kueue_fast.engine.admission_fair_sharing import LocalQueueUse
from kueue_fast.errors import InputError, Unsupported

__all__ = ["CycleResult", "SchedulerThread"]

SECOND: Final = 1_000_000_000
# Between cycles that lead nowhere, as upstream: doubling up to the longest.
FIRST_PAUSE_S: Final = 0.001
LONGEST_PAUSE_S: Final = 0.010
# Without anything due, to look whether time alone has changed something.
IDLE_S: Final = 1.0

log = logging.getLogger("scheduler")

Task = Callable[[Engine], None]
Answer = TypeVar("Answer")


class CycleResult(NamedTuple):
    """A cycle, when it ran (ns since 1970), why each of its `requeued` waits, in words, and how long it took."""

    cycle: Cycle
    now_ns: int
    messages: list[str]
    seconds: float = 0.0


class SchedulerThread:
    """The engine's thread. Everything but its loop is called from the event loop's thread.

    `on_failure` is called in the event loop when the thread ends with an error: then the engine is in doubt, and the
    process has to end.
    """

    def __init__(
        self,
        engine: Engine,
        on_failure: Callable[[BaseException], None],
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        self._engine = engine
        self._on_cycle: Callable[[CycleResult], None] = lambda _: None
        self._on_sample: Callable[[list[LocalQueueUse]], None] = lambda _: None
        self._on_failure = on_failure
        self._clock = now
        self._loop = asyncio.get_running_loop()
        self._inbox: deque[WatchEvent | Task] = deque()
        self._wake = threading.Event()
        self._asked: set[asyncio.Future[Any]] = set()
        self._stopping = False
        self._holds_after_admissions = False
        self._held = False
        self._latest = 0
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)

    def start(
        self,
        on_cycle: Callable[[CycleResult], None],
        on_sample: Callable[[list[LocalQueueUse]], None] = lambda uses: None,
    ) -> None:
        """Begin; what was fed before is taken in first.

        `on_cycle` is called in the event loop after each cycle, `on_sample` when LocalQueues were sampled.
        """
        self._on_cycle = on_cycle
        self._on_sample = on_sample
        self._thread.start()

    async def stop(self) -> None:
        """End after the cycle at hand."""
        self._stopping = True
        self._wake.set()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join)
        for future in self._asked:
            future.cancel()

    def feed(self, event: WatchEvent) -> None:
        """A change of the cluster."""
        self._inbox.append(event)
        self._wake.set()

    def submit(self, task: Task) -> None:
        """Something to be done with the engine between two cycles."""
        self._inbox.append(task)
        self._wake.set()

    def hold_after_admissions(self) -> None:
        """To be called before the start: after a cycle that admitted something none runs until `release`.

        What comes in is taken in meanwhile. Source: QC-132.
        """
        self._holds_after_admissions = True

    def release(self) -> None:
        """Cycles may run again."""
        self._held = False
        self._wake.set()

    async def ask(self, question: Callable[[Engine], Answer]) -> Answer:
        """What the engine answers between two cycles. Cancelled when the thread ends before."""
        future: asyncio.Future[Answer] = self._loop.create_future()
        if self._stopping:
            future.cancel()

        def give(answer: Answer | None, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(cast("Answer", answer))

        def answer(engine: Engine) -> None:
            try:
                found = question(engine)
            except Exception as error:
                self._loop.call_soon_threadsafe(give, None, error)
            else:
                self._loop.call_soon_threadsafe(give, found, None)

        self._asked.add(future)
        self.submit(answer)
        try:
            return await future
        finally:
            self._asked.discard(future)

    def _run(self) -> None:
        try:
            self._cycles()
        except BaseException as error:
            log.exception("the scheduler has failed")
            self._loop.call_soon_threadsafe(self._on_failure, error)

    def _cycles(self) -> None:
        pause = 0.0
        before: list[tuple[str, str]] | None = None
        while not self._stopping:
            self._wake.clear()
            if self._inbox:
                before = None
            self._take_inbox()
            now = self._now()
            self._do_due(now)
            if self._held or not self._engine.has_heads(now):
                self._wake.wait(self._idle_s(now))
                continue
            begun = time.monotonic()
            cycle = self._engine.cycle(now)
            # The words have to be made now: the next cycle uses the rows again.
            messages = [each.message() for each in cycle.requeued]
            result = CycleResult(cycle, now, messages, time.monotonic() - begun)
            self._held = self._holds_after_admissions and bool(cycle.admitted)
            if self._held:
                self._engine.stand(each.workload for each in cycle.admitted)
            self._loop.call_soon_threadsafe(self._on_cycle, result)
            if cycle.admitted or cycle.evicted or cycle.moved:
                pause, before = 0.0, None
                continue
            pause = min(max(FIRST_PAUSE_S, 2 * pause), LONGEST_PAUSE_S)
            heads = [(each.workload, each.outcome) for each in cycle.requeued]
            idle = not cycle.changed and heads == before
            before = heads
            # The same heads with the same answers will not do better before something changes.
            self._wake.wait(self._idle_s(now) if idle else pause)

    def _do_due(self, now: int) -> None:
        flush = self._engine.next_flush()
        if flush is not None and flush <= now:
            self._engine.flush(now)
        sample = self._engine.next_sample()
        if sample is not None and sample <= now:
            uses = self._engine.sample(now)
            if uses:
                self._loop.call_soon_threadsafe(self._on_sample, uses)

    def _idle_s(self, now: int) -> float:
        # Nothing comes of a second pass that is due while no cycle runs.
        second_pass = None if self._held else self._engine.next_second_pass()
        due = (self._engine.next_flush(), second_pass, self._engine.next_sample())
        waits = [max(0, each - now) / SECOND for each in due if each is not None]
        return min(waits, default=IDLE_S)

    def _now(self) -> int:
        """Wall-clock time that does not go back, whatever the machine's clock does."""
        self._latest = max(self._latest, self._clock())
        return self._latest

    def _take_inbox(self) -> None:
        while self._inbox:
            item = self._inbox.popleft()
            if isinstance(item, WatchEvent):
                self._take(item)
            else:
                item(self._engine)

    def _take(self, event: WatchEvent) -> None:
        obj = event.object
        try:
            if event.change is Change.DELETED:
                self._engine.delete(obj.KIND, obj.metadata.namespace or "", obj.metadata.name, self._now())
            else:
                self._engine.upsert(as_scheduled(obj), self._now())
        except (InputError, Unsupported) as error:
            # What makes no sense must not stop the others.
            log.error("%s is passed over: %s", describe(key_of(obj)), error)


def as_scheduled(obj: KubernetesObject) -> KubernetesObject:
    """What the engine is to see: a ClusterQueue that is being deleted admits no more than one on hold (LC-1701)."""
    if not isinstance(obj, ClusterQueue) or not obj.metadata.deletion_timestamp:
        return obj
    spec = msgspec.structs.replace(obj.spec or ClusterQueueSpec(), stop_policy="Hold")
    return msgspec.structs.replace(obj, spec=spec)
