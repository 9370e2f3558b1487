"""Writes the statuses of ClusterQueues, LocalQueues and Cohorts, all together a second after something changed.

What a queue is to show is asked of the engine; what it shows already is not written. ClusterQueues and Cohorts are
looked at when upstream looks at them (`queue_touches`), and when their conditions change. A write that meets a conflict
is not repeated: the newer object comes by the watch and is looked at then.

Source: LC-1701..1704, LC-1711, LC-1712, LC-1721, OP-742.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Mapping
from functools import partial
from typing import Any, Final

from kueue_fast.api.kueue import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ResourceFlavor,
    Topology,
    Workload,
)
from kueue_fast.app.queue_touches import touched
from kueue_fast.cluster.changes import Change, Key, WatchEvent, key_of
from kueue_fast.cluster.index import ObjectIndex
from kueue_fast.cluster.kube import patches
from kueue_fast.cluster.kube.backoff import Backoff
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.writer import Write, Writer
from kueue_fast.engine.queue_numbers import ClusterQueueNumbers, QueueNumbers
from kueue_fast.lifecycle.queues import (
    Activity,
    QueueCounts,
    cluster_queue_status,
    cohort_status,
    local_queue_status,
    share_status,
)

__all__ = ["QueueStatusController", "due_statuses"]

BATCH_S: Final = 1.0
RETRY: Final = Backoff(0.1, 60.0)
KINDS: Final = frozenset(
    each.KIND
    for each in (AdmissionCheck, ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Topology, Workload)
)
# Kinds whose status is written here, by their name in `controller.groupKindConcurrency`.
WORKERS: Final = {
    kind: f"{kind}.kueue.x-k8s.io" for kind in (ClusterQueue.KIND, LocalQueue.KIND, Cohort.KIND)
}
TERMINATING: Final = Activity(False, "Terminating", "Can't admit new workloads; clusterQueue is terminating")


class QueueStatusController:
    """`ask` gives the numbers of the engine as they stand; `workers` is `controller.groupKindConcurrency`.

    No more objects of a kind are written at once than it has workers, one by default: where the API server is the
    bottleneck, it is to admit Workloads before it says how many there are. What was written longest ago comes first.
    """

    def __init__(
        self,
        cluster: KubeCluster,
        writer: Writer,
        ask: Callable[[], Awaitable[QueueNumbers]],
        now: Callable[[], int],
        *,
        fair_sharing: bool,
        workers: Mapping[str, int],
    ) -> None:
        self._cluster = cluster
        self._writer = writer
        self._ask = ask
        self._now = now
        self._fair_sharing = fair_sharing
        self._changed = asyncio.Event()
        self._free = {kind: workers.get(name) or 1 for kind, name in WORKERS.items()}
        # By kind, what is due as of the last pass and not begun.
        self._due: dict[str, dict[Key, Write]] = {kind: {} for kind in WORKERS}
        # Objects that are being written, or wait after a failure.
        self._busy: set[Key] = set()
        self._failures: dict[Key, int] = {}
        # ClusterQueues and Cohorts to be looked at; at first all.
        self._touched: set[Key] | None = None
        # When objects were written last, in steps.
        self._written_at: dict[Key, int] = {}
        self._step = 0

    async def run(self) -> None:
        """Until cancelled: a pass now, and one a second after each change."""
        self._cluster.watch(None, self._on_change)
        self._changed.set()
        while True:
            await self._changed.wait()
            await asyncio.sleep(BATCH_S)
            self._changed.clear()
            # What changes while the engine is asked is looked at in the next pass.
            look_at = self._take()
            self.write(await self._ask(), look_at)

    def changed(self) -> None:
        """Something that is not an object changed, such as who waits where."""
        self._changed.set()

    def write(self, numbers: QueueNumbers, look_at: set[Key] | None = None) -> None:
        """Write what differs. What was due before and was not begun is forgotten: the numbers are newer.

        `look_at`: the ClusterQueues and Cohorts that were touched before the engine was asked; by default those so far.
        """
        if look_at is None:
            look_at = self._take()
        found = due_statuses(
            numbers, self._cluster, self._now(), fair_sharing=self._fair_sharing, look_at=look_at
        )
        due: list[tuple[Key, Write]] = []
        for old, new in found:
            key, write = key_of(old), patches.update_status(old, new)
            if write is not None and key not in self._busy:
                due.append((key, write))
        due.sort(key=lambda each: self._written_at.get(each[0], 0))
        # Until their writes have begun, they are to be looked at in the next pass too.
        self._touch(look_at & {key_of(old) for old, _ in found})
        for kind in WORKERS:
            self._due[kind] = {key: write for key, write in due if key[0] == kind}
            self._begin(kind)

    def _take(self) -> set[Key]:
        """Who was touched since the last call; at first all."""
        taken, self._touched = self._touched, set()
        if taken is not None:
            return taken
        kinds = (ClusterQueue.KIND, Cohort.KIND)
        return {key_of(each) for kind in kinds for each in self._cluster.list(kind)}

    def _begin(self, kind: str) -> None:
        due = self._due[kind]
        while due and self._free[kind]:
            key = next(iter(due))
            self._free[kind] -= 1
            self._busy.add(key)
            if self._touched is not None:
                self._touched.discard(key)
            self._step += 1
            self._written_at[key] = self._step
            self._writer.submit(due.pop(key)).add_done_callback(partial(self._written, key))

    def _written(self, key: Key, done: asyncio.Future[bytes | None]) -> None:
        self._free[key[0]] += 1
        if not done.cancelled() and done.exception() is None:
            self._failures.pop(key, None)
            self._again(key)
        else:
            # The writer has said why.
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            self._touch({key})
            asyncio.get_running_loop().call_later(RETRY.wait_s(failures), self._again, key)
        self._begin(key[0])

    def _again(self, key: Key) -> None:
        self._busy.discard(key)
        self._changed.set()

    def _touch(self, keys: set[Key]) -> None:
        if self._touched is not None:
            self._touched |= keys

    def _on_change(self, event: WatchEvent) -> None:
        obj = event.object
        if obj.KIND in KINDS:
            self._touch(touched(event, self._cluster))
            self._changed.set()
        if event.change is Change.DELETED:
            key = key_of(obj)
            self._written_at.pop(key, None)
            self._failures.pop(key, None)


def due_statuses(
    numbers: QueueNumbers,
    objects: ObjectIndex,
    now_ns: int,
    *,
    fair_sharing: bool,
    look_at: Container[Key] | None = None,
) -> list[tuple[Any, Any]]:
    """Queues and cohorts whose status is not what it should be, each with the one that has it.

    `look_at`: ClusterQueues and Cohorts, None for all. Of other ClusterQueues only the conditions are looked at.
    """
    due: list[tuple[Any, Any]] = []
    activities: dict[str, bool] = {}
    for queue in objects.list(ClusterQueue.KIND):
        found = numbers.cluster_queues.get(queue.metadata.name)
        if found is None:
            # The engine has not taken it in: it has just come, or it makes no sense.
            continue
        activity = TERMINATING if queue.metadata.deletion_timestamp else Activity(*found.activity)
        activities[queue.metadata.name] = activity.active
        nominal = {pair: quota.nominal for pair, quota in found.quotas.items()}
        share = share_status(found.weighted_share) if fair_sharing else None
        new = cluster_queue_status(queue, activity, counts(found), nominal, now_ns, share)
        if new is not None and (look_at is None or key_of(queue) in look_at or _turned(queue, new)):
            due.append((queue, new))
    for local in objects.list(LocalQueue.KIND):
        key = local.metadata.namespace or "", local.metadata.name
        mine = numbers.local_queues.get(key)
        if mine is None:
            continue
        name = (local.spec.cluster_queue if local.spec is not None else None) or ""
        target: ClusterQueue | None = objects.get(ClusterQueue.KIND, None, name)
        of_local = QueueCounts(
            mine.active + mine.inadmissible,
            mine.reserving,
            mine.admitted,
            mine.reserved_usage,
            mine.admitted_usage,
        )
        changed = local_queue_status(local, target, activities.get(name, False), of_local, now_ns)
        if changed is not None:
            due.append((local, changed))
    for cohort in objects.list(Cohort.KIND):
        if look_at is not None and key_of(cohort) not in look_at:
            continue
        cohort_share = numbers.cohort_shares.get(cohort.metadata.name)
        shown = cohort_status(cohort, cohort_share, fair_sharing=fair_sharing)
        if shown is not None:
            due.append((cohort, shown))
    return due


def _turned(old: ClusterQueue, new: ClusterQueue) -> bool:
    """Whether the conditions are others."""
    before = old.status.conditions if old.status is not None else None
    return new.status is None or new.status.conditions != before


def counts(numbers: ClusterQueueNumbers) -> QueueCounts:
    """Numbers of a ClusterQueue as its status takes them."""
    return QueueCounts(
        numbers.active + numbers.inadmissible,
        numbers.reserving,
        numbers.admitted,
        numbers.reserved_usage,
        numbers.admitted_usage,
    )
