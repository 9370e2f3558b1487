"""One scheduling cycle: heads, nomination, order, each entry in turn, requeue.

Source: QC-88 to QC-148, QP-800 to QP-808.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.oracle import queues
from tests.oracle.amounts import add, subtract
from tests.oracle.assignment import Assigner, Assignment, Mode
from tests.oracle.cluster import Cluster, ClusterQueue
from tests.oracle.forest import Quantities
from tests.oracle.preemption import Preemptor
from tests.oracle.preemption_common import Target
from tests.oracle.requests import is_admissible
from tests.oracle.tournament import Tournament
from tests.oracle.workloads import Admission, ScanRecord, Workload

# A try with some pod counts (None: all): the assignment, whom to evict for it, and whether that will do.
Probe: TypeAlias = Callable[[Sequence[int] | None], tuple[Assignment, list[Target], bool]]


@dataclass
class Entry:
    """A head of a ClusterQueue and what was found for it."""

    workload: Workload
    cluster_queue: ClusterQueue
    is_preemptor: bool
    assignment: Assignment = field(default_factory=Assignment)
    targets: list[Target] = field(default_factory=list)
    requeue_reason: str = queues.GENERIC


@dataclass
class Decisions:
    admitted: list[Entry] = field(default_factory=list)
    preempted: dict[str, Target] = field(default_factory=dict)
    requeued: list[Entry] = field(default_factory=list)


class Scheduler:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.settings = cluster.settings
        self.preemptor = Preemptor(cluster)
        self.cycle = 0

    def run(self, now: int) -> Decisions:
        """Decide; afterwards admitted workloads hold quota, and the heads popped are in no queue. Source: QC-89."""
        self.cycle += 1
        decisions = Decisions()
        entries = []
        for entry in self._heads():
            reason = self._refusal(entry)
            if reason is None:
                self._nominate(entry)
                entries.append(entry)
            else:
                entry.requeue_reason = reason
                decisions.requeued.append(entry)
        victims: dict[str, Workload] = {}
        fair = self.settings.fair_sharing
        order = Tournament(self.cluster).order(entries) if fair else iter(sorted(entries, key=self._order))
        with self.cluster.what_if():
            for entry in order:
                self._process(entry, victims, decisions)
        for entry in decisions.admitted:
            entry.workload.admission = Admission(entry.cluster_queue.name, dict(entry.assignment.usage), now)
            entry.workload.evicted, entry.workload.preempted = False, None
            self.cluster.hold(entry.workload)
        return decisions

    def _heads(self) -> list[Entry]:
        """Source: QC-48."""
        heads = []
        for name in sorted(self.cluster.cluster_queues):
            cluster_queue = self.cluster.cluster_queues[name]
            if self.cluster.is_active(cluster_queue):
                head = cluster_queue.pending.pop()
                if head is not None:
                    heads.append(Entry(head, cluster_queue, cluster_queue.pending.is_preemptor(head)))
        return heads

    def _refusal(self, entry: Entry) -> str | None:
        """Requeue reason of a head that may not be nominated. Source: QC-77, QC-92."""
        namespace = entry.workload.namespace
        if namespace not in self.cluster.namespaces:
            return queues.GENERIC
        if not self.cluster.admits_namespace(entry.cluster_queue, namespace):
            return queues.NAMESPACE_MISMATCH
        limits = self.cluster.limit_ranges.get(namespace, [])
        if not all(is_admissible(p.spec, limits) for p in entry.workload.pod_sets):
            return queues.GENERIC
        return None

    # --- nomination

    def _nominate(self, entry: Entry, pinned: Mapping[int, Mapping[str, str]] | None = None) -> None:
        """Source: QC-97, QC-103, QC-104."""
        workload, cluster_queue = entry.workload, entry.cluster_queue
        if workload.record is not None and self._is_outdated(workload.record, entry):
            workload.record = None
        assigner = Assigner(
            self.cluster,
            cluster_queue,
            workload,
            lambda fr, amount: self.preemptor.simulate(workload, cluster_queue, fr, amount),
            pinned,
        )

        def probe(counts: Sequence[int] | None) -> tuple[Assignment, list[Target], bool]:
            assignment = assigner.assign(counts)
            targets = (
                self.preemptor.targets(workload, cluster_queue, assignment)
                if assignment.mode == Mode.PREEMPT
                else []
            )
            return assignment, targets, assignment.mode == Mode.FIT or bool(targets)

        entry.assignment, entry.targets, accepted = probe(None)
        if (
            not accepted
            and self.settings.enabled("PartialAdmission")
            and workload.can_be_partially_admitted()
        ):
            reduced = self._reduce(workload, probe)
            if reduced is not None:
                entry.assignment, entry.targets = reduced
        workload.record = assigner.scan_record(entry.assignment, self.cycle)

    def _is_outdated(self, record: ScanRecord, entry: Entry) -> bool:
        """Source: QC-98, QP-503."""
        if self.settings.enabled("FlavorFungibilityPreserveScanProgress"):
            if record.shape != entry.workload.shape:
                return True
            if self.cycle - record.cycle <= 1:
                return False
        return entry.cluster_queue.generation > record.generation

    def _reduce(self, workload: Workload, probe: Probe) -> tuple[Assignment, list[Target]] | None:
        """The least reduction of pod counts that is accepted, by bisection. Source: QC-104, QP-532."""
        counts = [p.count for p in workload.pod_sets]
        slack = [p.count - (p.count if p.min_count is None else p.min_count) for p in workload.pod_sets]
        total = sum(slack)
        low, high = 0, total + 1
        last: tuple[int, Assignment, list[Target]] | None = None
        while low < high:
            middle = (low + high) // 2
            assignment, targets, accepted = probe(
                [count - part * middle // total for count, part in zip(counts, slack, strict=True)]
            )
            if accepted:
                high, last = middle, (middle, assignment, targets)
            else:
                low = middle + 1
        return (last[1], last[2]) if last is not None and last[0] == low else None

    def _order(self, entry: Entry) -> tuple[bool, int, int, int, str]:
        """Source: QC-107."""
        workload = entry.workload
        first = entry.is_preemptor and self.settings.enabled("PrioritizePreemptorWorkloads")
        by_priority = self.settings.enabled("PrioritySortingWithinCohort")
        priority = workload.priority(self.settings) if by_priority else 0
        return (
            not first,
            entry.assignment.borrowing,
            -priority,
            workload.queue_time(self.settings),
            workload.uid,
        )

    # --- processing

    def _process(self, entry: Entry, victims: dict[str, Workload], decisions: Decisions) -> None:
        """Decide on one entry, given those before it. Source: QC-115 to QC-134, QP-808."""
        if self.settings.enabled("RecomputeAssignmentUponPreemptionTargetsOverlap") and self._overlaps(
            entry, victims
        ):
            self._recompute(entry, victims)
        mode = entry.assignment.mode
        if mode == Mode.NO_FIT:
            entry.requeue_reason = queues.NO_FIT
        elif mode == Mode.PREEMPT and not entry.targets:
            entry.requeue_reason = queues.NO_CANDIDATES
            self._reserve(entry)
        elif mode == Mode.DEFERRED_FIT:
            entry.requeue_reason = queues.PENDING_PREEMPTION
            entry.workload.record = None
            self._book(entry, entry.assignment.usage)
        elif self._overlaps(entry, victims) or not self._fits(entry, victims):
            entry.requeue_reason = queues.FAILED_AFTER_NOMINATION
            if not self.settings.enabled("FlavorFungibilityPreserveScanProgress"):
                entry.workload.record = None
        else:
            victims.update({target.workload.key: target.workload for target in entry.targets})
            self._book(entry, entry.assignment.usage)
            if mode == Mode.FIT:
                decisions.admitted.append(entry)
                return
            entry.requeue_reason = queues.PENDING_PREEMPTION
            entry.workload.record = None
            decisions.preempted.update({target.workload.key: target for target in entry.targets})
        decisions.requeued.append(entry)

    def _overlaps(self, entry: Entry, victims: Mapping[str, Workload]) -> bool:
        return any(target.workload.key in victims for target in entry.targets)

    def _recompute(self, entry: Entry, victims: Mapping[str, Workload]) -> None:
        """Assign once more, as if earlier victims were gone. Source: QC-118 to QC-120."""
        entry.workload.record = None
        with self.cluster.what_if():
            for victim in victims.values():
                self.cluster.let_go(victim)
            self._nominate(entry, entry.assignment.pins)
        if entry.assignment.mode == Mode.FIT:
            entry.assignment.mode = Mode.DEFERRED_FIT

    def _fits(self, entry: Entry, victims: Mapping[str, Workload]) -> bool:
        """Source: QC-117, QP-236."""
        gone = {**victims, **{target.workload.key: target.workload for target in entry.targets}}
        with self.cluster.what_if():
            for workload in gone.values():
                self.cluster.remove_usage(workload)
            return all(
                max(0, entry.cluster_queue.node.available(fr)) >= amount
                for fr, amount in entry.assignment.usage.items()
            )

    def _book(self, entry: Entry, usage: Quantities) -> None:
        for fr, amount in usage.items():
            entry.cluster_queue.node.add_usage(fr, amount)

    def _reserve(self, entry: Entry) -> None:
        """Keep capacity for a workload that nobody makes room for. Source: QC-124, QP-807."""
        waits = entry.is_preemptor and self.settings.enabled("PrioritizePreemptorWorkloads")
        if entry.cluster_queue.reclaim_within_cohort == "Any" and not waits:
            return
        node = entry.cluster_queue.node
        reserved: Quantities = {}
        for fr, amount in entry.assignment.usage.items():
            used, limit = node.usage.get(fr, 0), node.quotas.borrowing_limit.get(fr)
            if entry.assignment.borrowing == 0:
                reserved[fr] = max(0, min(amount, subtract(node.nominal(fr), used)))
            elif limit is None:
                reserved[fr] = amount
            else:
                reserved[fr] = min(amount, subtract(add(node.nominal(fr), limit), used))
        self._book(entry, reserved)
