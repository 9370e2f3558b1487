"""The engine: objects in, scheduling cycles, decisions out. The same one simulates, replays and runs live."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from kueue_fast.api.configuration import Configuration
from kueue_fast.api.core import LimitRange, Namespace, Node, Pod, RuntimeClass
from kueue_fast.api.kueue import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ResourceFlavor,
    Topology,
    Workload,
)
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.arrays.decisions import OUTCOMES, PREEMPTION_REASONS, REQUEUE_REASONS
from kueue_fast.arrays.tables import NONE
from kueue_fast.arrays.workloads import ASSUMED
from kueue_fast.engine import flavor_attempts, second_pass
from kueue_fast.engine.activity import required_checks
from kueue_fast.engine.admission_fair_sharing import LocalQueueUse
from kueue_fast.engine.decisions import Admission, Cycle, Preemption, Replacement, Requeued
from kueue_fast.engine.explain import Standing, describe
from kueue_fast.engine.intake import Intake
from kueue_fast.engine.inventory import Inventory
from kueue_fast.engine.metric_numbers import MetricNumbers, metric_numbers
from kueue_fast.engine.queue_numbers import QueueNumbers, queue_numbers
from kueue_fast.engine.queues import Queues, refresh_order
from kueue_fast.engine.refusals import Refusal
from kueue_fast.engine.state import ClusterQueueEntry, State
from kueue_fast.engine.topologies import Topologies
from kueue_fast.model.features import FeatureGates


class QueueState(NamedTuple):
    """A ClusterQueue as it stands: who waits where, and what of its quota is reserved (kernel units)."""

    active: list[str]
    """Keys of workloads in the heap, sorted."""
    parked: list[str]
    """Keys of inadmissible workloads, sorted."""
    usage: dict[str, int]
    """`flavor/resource` to reserved quota, for the pairs that the spec has."""
    nominal: dict[str, int]
    borrowing: dict[str, int]
    """What of the usage is beyond nominal quota; empty without a cohort."""
    weighted_share: float
    """Dominant resource share over the weight, +Inf for weight 0 while borrowing; 0 without fair sharing (QP-333)."""
    reserving: int
    admitted: int
    status: str
    """`active` or `pending`."""
    inactive_reason: str
    inactive_message: str


class Engine:
    """Kueue's scheduler over one cluster.

    Feed it objects (`kueue_fast.api`), run cycles, read decisions. An admitted workload is assumed to hold its quota at
    once; feed the Workload back with its new status when the cluster shows it, or call `forget` if it could not be
    written.

    Raises `Unsupported` for a configuration, an object or a cycle that needs what this version cannot decide yet.
    """

    def __init__(
        self,
        configuration: Configuration | None = None,
        feature_gates: Mapping[str, bool] | None = None,
        *,
        attempts: bool = False,
    ) -> None:
        """`attempts`: admissions say which flavors were considered."""
        configuration = configuration or Configuration()
        gates = FeatureGates({**(configuration.feature_gates or {}), **(feature_gates or {})})
        self._state = State(configuration, gates)
        self._intake = Intake(self._state)
        self._queues = Queues(self._state, self._intake)
        self._topologies = Topologies(self._state, self._queues, self._intake)
        self._inventory = Inventory(self._state, self._queues, self._intake, self._topologies)
        self._state.tables.scheduler.assigner.keeps_attempts = attempts
        self._words: dict[str, Refusal] = {}
        self._cycle = 0
        self._kept: set[int] = set()  # rows whose stored places are the result of their second pass (TP-1503)
        self._refusal_of: list[int] = []  # [place in `requeued`] place among the kernel's refusals
        queues, inventory, topologies = self._queues, self._inventory, self._topologies
        self._upserts: dict[type, Callable[[Any], None]] = {
            Workload: self._intake.upsert,
            ClusterQueue: queues.upsert_cluster_queue,
            Cohort: queues.upsert_cohort,
            LocalQueue: queues.upsert_local_queue,
            ResourceFlavor: inventory.upsert_flavor,
            Topology: topologies.upsert_topology,
            Node: topologies.upsert_node,
            Pod: topologies.upsert_pod,
            AdmissionCheck: lambda check: inventory.set_check(check.metadata.name, check),
            Namespace: lambda namespace: queues.set_namespace(
                namespace.metadata.name, namespace.metadata.labels or {}
            ),
            RuntimeClass: lambda one: inventory.set_runtime_class(one.metadata.name, one),
            LimitRange: lambda one: inventory.set_limit_range(
                one.metadata.namespace or "", one.metadata.name, one
            ),
        }
        self._deletes: dict[str, Callable[[str, str], None]] = {
            Workload.KIND: lambda namespace, name: self._intake.delete(f"{namespace}/{name}"),
            ClusterQueue.KIND: lambda _, name: queues.delete_cluster_queue(name),
            Cohort.KIND: lambda _, name: queues.delete_cohort(name),
            LocalQueue.KIND: queues.delete_local_queue,
            ResourceFlavor.KIND: lambda _, name: inventory.delete_flavor(name),
            Topology.KIND: lambda _, name: topologies.delete_topology(name),
            Node.KIND: lambda _, name: topologies.delete_node(name),
            Pod.KIND: topologies.delete_pod,
            AdmissionCheck.KIND: lambda _, name: inventory.set_check(name, None),
            Namespace.KIND: lambda _, name: queues.set_namespace(name, None),
            RuntimeClass.KIND: lambda _, name: inventory.set_runtime_class(name, None),
            LimitRange.KIND: lambda namespace, name: inventory.set_limit_range(namespace, name, None),
        }

    # --- objects in

    def upsert(self, obj: KubernetesObject, now_ns: int | None = None) -> None:
        """Take in an object that was created or changed; kinds that decide nothing are ignored.

        `now_ns`: time of the event, ns since the epoch; the time of the last call without it.
        Raises InputError, naming object and field, for what cannot be read. Nothing has changed then.
        """
        if now_ns is not None:
            self._state.now_ns = now_ns
        handler = self._upserts.get(type(obj))
        if handler is not None:
            handler(obj)

    def delete(self, kind: str, namespace: str, name: str, now_ns: int | None = None) -> None:
        """Forget an object that is gone; unknown ones are ignored. `namespace` is empty for a cluster-wide kind."""
        if now_ns is not None:
            self._state.now_ns = now_ns
        handler = self._deletes.get(kind)
        if handler is not None:
            handler(namespace, name)
        if kind == Workload.KIND:
            self._words.pop(f"{namespace}/{name}", None)

    def forget(self, workload: str) -> None:
        """The admission of a workload (`namespace/name`) could not be written: it waits again. Source: QC-136."""
        self._intake.forget(workload)

    def preemption_failed(self, victim: str, preemptor: str) -> None:
        """The eviction of a victim could not be written: the preemptor is looked at again, which issues it anew.

        Source: QC-131, QC-146.
        """
        record = self._state.rows.records.get(victim)
        if record is not None:
            self._state.tables.workloads.evicting[record.row] = False
        self._intake.retry(preemptor)

    def stand(self, workloads: Iterable[str]) -> None:
        """Those that were admitted and stand until the pods of others are ready: numbers say they wait (QC-132)."""
        self._state.standing = set(workloads)

    def stands_no_more(self, workload: str) -> None:
        """The admission of a workload (`namespace/name`) is being written, or was dropped."""
        self._state.standing.discard(workload)

    # --- time

    def flush(self, now_ns: int, all: bool = False) -> int:
        """Move parked workloads back where an event asked for it at least a second ago; returns how many moved.

        `all`: do not wait for the second to pass. Source: QC-36.
        """
        self._state.now_ns = now_ns
        self._state.topology.refresh()  # what came since the last cycle should not wait for the next
        return self._state.retries.run(now_ns, all)

    def next_flush(self) -> int | None:
        """When the next such request is due, ns since the epoch, or None."""
        return self._state.retries.next_due()

    def next_second_pass(self) -> int | None:
        """When the next workload is due to be given other places, ns since the epoch, or None. Source: TP-1602."""
        return self._intake.second_pass.next_due()

    def sample(self, now_ns: int) -> list[LocalQueueUse]:
        """Bring the past use of LocalQueues up to date where that is due; returns what their statuses say then.

        Only with admission fair sharing. Source: QC-87.
        """
        self._state.now_ns = now_ns
        fairness = self._state.fairness
        return [] if fairness is None else fairness.sample(now_ns)

    def next_sample(self) -> int | None:
        """When the next sample is due, ns since the epoch; None without admission fair sharing."""
        fairness = self._state.fairness
        return None if fairness is None else fairness.next_sample()

    def retry(self, workload: str) -> None:
        """Ask that the parked workloads around the ClusterQueue of this workload's LocalQueue are looked at again."""
        self._intake.retry(workload)

    def retry_all(self) -> None:
        """Ask that the parked workloads of every ClusterQueue are looked at again."""
        self._state.retry_all()

    def retry_queues(self, cluster_queues: Iterable[str]) -> None:
        """The same of some ClusterQueues, by name."""
        state = self._state
        for name in cluster_queues:
            entry = state.cluster_queues.get(name)
            if entry is not None:
                state.retries.request(entry.row, state.now_ns)

    def is_active(self, cluster_queue: str) -> bool:
        """Whether workloads of a ClusterQueue are looked at; False for one that is not known."""
        entry = self._state.cluster_queues.get(cluster_queue)
        return entry is not None and entry.activity.active

    def has_heads(self, now_ns: int | None = None) -> bool:
        """Whether a cycle would have something to look at.

        Some active ClusterQueue has a workload in its heap, or a workload is due to be given other places.
        """
        if self._intake.second_pass.advance(self._state.now_ns if now_ns is None else now_ns):
            return True
        heap_length = self._state.tables.pending.heap_length
        return any(
            entry.activity.active and heap_length(entry.row) for entry in self._state.cluster_queues.values()
        )

    # --- cycles

    def cycle(self, now_ns: int) -> Cycle:
        """Run one scheduling cycle: one head of each active ClusterQueue. Source: QC-89.

        Evictions are issued once: a victim holds its quota until the cluster shows that it stopped.
        """
        state = self._state
        state.now_ns = now_ns
        refresh_order(state)
        state.topology.refresh()
        scheduler = state.tables.scheduler
        again = self._take_second_pass(now_ns)
        heads = scheduler.run(now_ns)
        self._cycle = scheduler.cycle
        moved, new = [], []
        for row, queue, detail, places, held in scheduler.admissions():
            if held:
                moved.append(self._move(row, queue, detail))
            else:
                new.append((row, queue, detail, places))
        if scheduler.assigner.keeps_attempts:
            considered = scheduler.attempts()
            admitted = [self._admission(*one, *rows) for one, rows in zip(new, considered, strict=True)]
        else:
            admitted = [self._admission(*one) for one in new]
        requeued, evicted = [], []
        self._refusal_of = []
        for number, refusal in enumerate(scheduler.refusals()):
            waiting = again.get(refusal[0])
            if waiting is None:
                requeued.append(self._refusal(*refusal))
            elif OUTCOMES[refusal[2]] == "NodeFailure":
                evicted.append(second_pass.node_failure(waiting.workload, state.by_row[refusal[1]].name))
                continue
            else:
                requeued.append(self._again(waiting, *refusal))
            self._refusal_of.append(number)
        preempted = self._preemptions(scheduler.preemptions())
        keys = state.rows.keys
        replaced = [
            Replacement(keys[old], state.by_row[queue].name, keys[new])
            for old, queue, new in scheduler.replacements()
        ]
        changed = bool(admitted or preempted or moved or evicted) or scheduler.scan_progressed
        return Cycle(self._cycle, heads, admitted, requeued, changed, preempted, evicted, replaced, moved)

    def _take_second_pass(self, now_ns: int) -> dict[int, second_pass.Waiting]:
        """Hand the workloads that come again to the kernel; returns them by row."""
        queue = self._intake.second_pass
        if not queue.advance(now_ns):
            return {}
        state = self._state
        self._kept = set()
        found = {}
        entries = []
        for key, waiting in queue.take():
            record = state.rows.records.get(key)
            if record is None or state.tables.workloads.reserved_in[record.row] == NONE:
                continue
            if second_pass.is_done(record, waiting.workload):
                continue
            found[record.row] = waiting
            entries.append(second_pass.entry(state, record, waiting.workload))
            if entries[-1][1]:
                self._kept.add(record.row)
        state.tables.scheduler.second_pass.set(entries)
        return found

    def _again(self, waiting: second_pass.Waiting, row: int, *rest: Any) -> Requeued:
        """One that found no places: it comes again after a while (TP-1604)."""
        refusal = self._refusal(row, *rest)
        self._intake.second_pass.offer(
            refusal.workload, waiting.workload, waiting.iteration, self._state.now_ns
        )
        return refusal._replace(again=True)

    def _move(self, row: int, queue: int, detail: bytes) -> Admission:
        """New places of a workload that holds its quota; the rest of its assignment stays (TP-1510)."""
        state = self._state
        record = state.rows.by_row[row]
        assert record is not None and record.admission is not None
        name, before = record.admission
        found = {one.name: one for one in state.reader.pod_sets(detail, True)}
        if row in self._kept:
            # the kernel lists only the places that are still there; the assignment stays as it is written
            self._intake.rebook(record)
            return Admission(record.key, name, tuple(one for one in before if one.name in found), ())
        pod_sets = tuple(
            one._replace(placement=new.placement or one.placement, delayed=new.delayed)
            if (new := found.get(one.name)) is not None
            else one
            for one in before
        )
        record.admission = (name, pod_sets)
        decided = tuple(one for one in pod_sets if one.name in found)
        return Admission(record.key, name, decided, ())

    def _preemptions(self, rows: list[tuple[int, int, int, int]]) -> list[Preemption]:
        # one expression for all: a cycle may issue thousands, and a call for each would cost more than the search
        keys, queues = self._state.rows.keys, self._state.by_row
        return [
            Preemption(keys[victim], queues[queue].name, PREEMPTION_REASONS[reason], keys[preemptor])
            for victim, queue, reason, preemptor in rows
        ]

    def _admission(
        self, row: int, queue: int, detail: bytes, places: bool, attempts: bytes = b"", reasons: bytes = b""
    ) -> Admission:
        state = self._state
        record = state.rows.by_row[row]
        entry = state.by_row[queue]
        assert record is not None
        pod_sets = state.reader.pod_sets(detail, places)
        record.state = ASSUMED
        record.admission = (entry.name, pod_sets)
        self._intake.accounts.charge(record, queue)
        self._words.pop(record.key, None)
        checks: tuple[str, ...] = ()
        if entry.rules:
            checks = required_checks(entry.rules, {name for one in pod_sets for name in one.flavors.values()})
        considered = ""
        if attempts:
            assert record.layout is not None
            considered = flavor_attempts.words(state, record.layout, state.reader.attempts(attempts, reasons))
        return Admission(record.key, entry.name, pod_sets, checks, considered)

    def _refusal(
        self, row: int, queue: int, outcome: int, requeue: int, mode: int, victims: int, reasons: bytes
    ) -> Requeued:
        del mode
        state = self._state
        record = state.rows.by_row[row]
        entry = state.by_row[queue]
        assert record is not None and record.layout is not None
        words = Refusal(
            state, entry.name, record.layout, record.namespace, outcome, requeue, victims, reasons,
            state.now_ns, self._cycle,
        )  # fmt: skip
        self._words[record.key] = words
        return Requeued(record.key, entry.name, REQUEUE_REASONS[requeue], OUTCOMES[outcome], words)

    # --- questions

    def pending_message(self, workload: str) -> str | None:
        """Why a workload waits, as the last cycle that looked at it found; None if none did."""
        words = self._words.get(workload)
        return words() if words is not None else None

    def explain(self, workload: str) -> Standing | None:
        """How a workload (`namespace/name`) stands, and what the last cycle that looked at it found.

        None for one that is not known, or has finished. Reads only; costs a walk over its queue.
        """
        return describe(self._state, workload, self._words)

    def next_places(self, workload: str) -> int | None:
        """When a workload that holds its quota is due to be given places, ns since the epoch; None if it is not."""
        return self._intake.second_pass.next_try(workload)

    def victims(self, refusal: int) -> list[str]:
        """Keys of the workloads for whose evictions a head of the last cycle waits, by its place in `requeued`.

        Raises ValueError for a place that is none. Answers until the next cycle or event: rows are used again.
        """
        by_row = self._state.rows.by_row
        if not 0 <= refusal < len(self._refusal_of):
            raise ValueError(f"refusal {refusal}: expected 0 to {len(self._refusal_of) - 1}")
        targets = self._state.tables.scheduler.targets_of(self._refusal_of[refusal])
        return [record.key for row in targets if (record := by_row[row]) is not None]

    def queue_numbers(self) -> QueueNumbers:
        """What statuses and metrics of all queues show, as they stand now; cheaper than `queue_state`."""
        return queue_numbers(self._state)

    def metric_numbers(self) -> MetricNumbers:
        """The same with what only metrics show."""
        return metric_numbers(self._state)

    def queue_state(self) -> dict[str, QueueState]:
        """All ClusterQueues by name, as they stand now."""
        self._state.tree.refresh()
        workloads = self._state.tables.workloads
        reserved_in = np.asarray(workloads.reserved_in)
        held = reserved_in != NONE
        rows = self._state.tables.forest.nodes
        reserving = np.bincount(reserved_in[held], minlength=rows)
        admitted = np.bincount(reserved_in[held & (np.asarray(workloads.admitted) != 0)], minlength=rows)
        return {
            name: self._queue_state(entry, int(reserving[entry.row]), int(admitted[entry.row]))
            for name, entry in sorted(self._state.cluster_queues.items())
        }

    def _queue_state(self, entry: ClusterQueueEntry, reserving: int, admitted: int) -> QueueState:
        tables = self._state.tables
        by_row = self._state.rows.by_row

        def keys(rows: list[int]) -> list[str]:
            return sorted(record.key for row in rows if (record := by_row[row]) is not None)

        usage, nominal, borrowing = {}, {}, {}
        forest = tables.forest
        for flavor, resource in self._state.tree.quotas[entry.row]:
            column = tables.column(tables.flavor(flavor), tables.resource(resource))
            name = f"{flavor}/{resource}"
            usage[name] = forest.usage[entry.row, column]
            nominal[name] = forest.nominal[entry.row, column]
            if self._state.tree.parent.get(entry.row, NONE) != NONE:
                borrowing[name] = max(0, usage[name] - nominal[name])
        return QueueState(
            keys(tables.pending.heap_rows(entry.row)),
            keys(tables.pending.parked_rows(entry.row)),
            usage,
            nominal,
            borrowing,
            self._weighted_share(entry),
            reserving,
            admitted,
            "active" if entry.activity.active else "pending",
            "" if entry.activity.active else entry.activity.reason,
            "" if entry.activity.active else entry.activity.message,
        )

    def _weighted_share(self, entry: ClusterQueueEntry) -> float:
        preemptor = self._state.tables.scheduler.preemptor
        if not preemptor.fair_sharing:
            return 0.0
        ratio, weight, _ = preemptor.shares.find(entry.row)
        if ratio == 0:
            return 0.0
        return ratio / weight if weight else math.inf


__all__ = ["Admission", "Cycle", "Engine", "QueueState", "Requeued", "Standing"]
