"""Counters and histograms under upstream's names, and what a Workload's change or a cycle adds to them.

Gauges are read when somebody asks for them: `kueue_fast.app.queue_gauges`.

Source: OP-501..508, OP-531..550, OP-582..590.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final, NamedTuple

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)

from kueue_fast.api.kueue import ClusterQueue, Cohort, LocalQueue, Workload
from kueue_fast.api.meta import Condition
from kueue_fast.cluster.changes import Change, WatchEvent
from kueue_fast.engine import Cycle
from kueue_fast.lifecycle import queue_stops
from kueue_fast.lifecycle.requeue import queued_since
from kueue_fast.model import conditions, times

__all__ = ["BUCKETS", "Metrics"]

SECOND: Final = 1_000_000_000
STARTED: Final = "Started"
# Outcomes of heads that wanted to preempt and were passed over (OP-535).
SKIPPED: Final = ("Overlap",)

# What ours has of them; the language that it is written in goes by upstream's name (OP-530).
BUILD: Final = ("git_version", "git_commit", "build_date", "go_version", "compiler", "platform")
QUEUE: Final = ("cluster_queue",)
QUEUE_CLASS: Final = ("cluster_queue", "priority_class")
LOCAL_CLASS: Final = ("name", "namespace", "priority_class")


def exponential(count: int) -> tuple[float, ...]:
    """Upstream's buckets in seconds: 1, then 2.5 and its doubles. Source: OP-503."""
    return (1.0, *(2.5 * 2**step for step in range(count - 1)))


DEFAULT: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
WAITS: Final = exponential(14)
BUCKETS: Final[Mapping[str, tuple[float, ...]]] = {
    "admission_attempt_duration_seconds": DEFAULT,
    "quota_reserved_wait_time_seconds": WAITS,
    "admission_wait_time_seconds": exponential(16),
    "admission_checks_wait_time_seconds": WAITS,
    "ready_wait_time_seconds": WAITS,
    "admitted_until_ready_wait_time_seconds": WAITS,
    "pods_ready_to_evicted_time_seconds": WAITS,
    "workload_eviction_latency_seconds": WAITS,
    "workload_creation_latency_seconds": tuple(0.01 * 2**step for step in range(11)),
    "pod_scheduling_gate_removal_seconds": DEFAULT,
    "local_queue_quota_reserved_wait_time_seconds": WAITS,
    "local_queue_admission_wait_time_seconds": WAITS,
    "local_queue_admission_checks_wait_time_seconds": WAITS,
    "local_queue_ready_wait_time_seconds": WAITS,
    "local_queue_admitted_until_ready_wait_time_seconds": WAITS,
}


class Family(NamedTuple):
    """One metric; its labels but for `replica_role`, which all have."""

    name: str
    labels: tuple[str, ...]
    help: str


CAUSES: Final = ("reason", "underlying_cause")
FAMILIES: Final = (
    Family("admission_attempts_total", ("result",), "Scheduling cycles with heads; success: something was admitted"),
    Family("admission_attempt_duration_seconds", ("result",), "How long a scheduling cycle took"),
    Family("finished_workloads_total", QUEUE_CLASS, "Workloads that finished"),
    Family("quota_reserved_workloads_total", QUEUE_CLASS, "Workloads that got their quota"),
    Family("quota_reserved_wait_time_seconds", QUEUE_CLASS, "From creation or requeueing until the reservation"),
    Family("admitted_workloads_total", QUEUE_CLASS, "Workloads that were admitted"),
    Family("admission_wait_time_seconds", QUEUE_CLASS, "From creation or requeueing until admission"),
    Family("admission_checks_wait_time_seconds", QUEUE_CLASS, "From the reservation until admission"),
    Family("ready_wait_time_seconds", QUEUE_CLASS, "From creation or requeueing until all pods were ready"),
    Family("admitted_until_ready_wait_time_seconds", QUEUE_CLASS, "From admission until all pods were ready"),
    Family("evicted_workloads_total", (*QUEUE, *CAUSES, "priority_class"), "Evictions"),
    Family("evicted_workloads_once_total", (*QUEUE, *CAUSES, "priority_class"), "First evictions of a workload"),
    Family("pods_ready_to_evicted_time_seconds", (*QUEUE, *CAUSES), "How long pods had been ready at an eviction"),
    Family("workload_eviction_latency_seconds", (*QUEUE, "reason"), "From an eviction until the quota is free"),
    Family("preempted_workloads_total", ("preempting_cluster_queue", "reason"), "Workloads that were preempted"),
    Family("cohort_subtree_admitted_workloads_total", ("cohort", "priority_class"), "Admitted below the cohort"),
    Family("workload_creation_latency_seconds", ("job_kind",), "From the creation of a job to that of its Workload"),
    Family(
        "pod_scheduling_gate_removal_seconds", ("name", "cluster_queue", "is_group"), "From admission until a gate goes"
    ),
    Family("local_queue_finished_workloads_total", LOCAL_CLASS, "Workloads that finished"),
    Family("local_queue_quota_reserved_workloads_total", LOCAL_CLASS, "Workloads that got their quota"),
    Family("local_queue_quota_reserved_wait_time_seconds", LOCAL_CLASS, "From creation until the reservation"),
    Family("local_queue_admitted_workloads_total", LOCAL_CLASS, "Workloads that were admitted"),
    Family("local_queue_admission_wait_time_seconds", LOCAL_CLASS, "From creation or requeueing until admission"),
    Family("local_queue_admission_checks_wait_time_seconds", LOCAL_CLASS, "From the reservation until admission"),
    Family("local_queue_ready_wait_time_seconds", LOCAL_CLASS, "From creation until all pods were ready"),
    Family("local_queue_admitted_until_ready_wait_time_seconds", LOCAL_CLASS, "From admission until pods were ready"),
    Family(
        "local_queue_evicted_workloads_total", ("name", "namespace", *CAUSES, "priority_class"), "Evictions"
    ),
)  # fmt: skip

# Upstream has no series that say when a counter began.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """What is counted.

    `role` is the `replica_role`; `shows` says whether a LocalQueue (namespace, name) has metrics; `above` names the
    cohorts above a ClusterQueue.
    """

    def __init__(
        self,
        now: Callable[[], int],
        role: Callable[[], str] = lambda: "standalone",
        shows: Callable[[str, str], bool] = lambda namespace, name: True,
        above: Callable[[str], Iterable[str]] = lambda cluster_queue: (),
    ) -> None:
        self.registry = CollectorRegistry()
        self._now = now
        self._role = role
        self._shows = shows
        self._above = above
        self.skips: dict[str, int] = {}
        """Heads by ClusterQueue that were passed over since their victims overlap, in the last cycle with any."""
        self._families: dict[str, Counter | Histogram] = {}
        for name, labels, text in FAMILIES:
            full, all_labels = f"kueue_{name}", (*labels, "replica_role")
            if name in BUCKETS:
                made: Counter | Histogram = Histogram(
                    full, text, all_labels, buckets=BUCKETS[name], registry=self.registry
                )
            else:
                made = Counter(full, text, all_labels, registry=self.registry)
            self._families[name] = made
        ProcessCollector(registry=self.registry)
        build = Gauge("kueue_build_info", "Always 1; the labels say what runs", BUILD, registry=self.registry)
        runtime = f"python{platform.python_version()}"
        machine = f"{platform.system().lower()}/{platform.machine()}"
        build.labels(version("kueue-fast"), "", "", runtime, platform.python_implementation(), machine).set(1)

    # --- events

    def on_cycle(self, cycle: Cycle, seconds: float) -> None:
        """A scheduling cycle that had heads took so long. Source: OP-531, OP-532, OP-535."""
        if not cycle.heads:
            return
        result = "success" if cycle.admitted or cycle.moved or cycle.evicted else "inadmissible"
        self._count("admission_attempts_total", (result,))
        self._observe("admission_attempt_duration_seconds", (result,), seconds)
        skips: dict[str, int] = {}
        for each in cycle.requeued:
            if each.outcome in SKIPPED:
                skips[each.cluster_queue] = skips.get(each.cluster_queue, 0) + 1
        self.skips.update(skips)

    def preempted(self, preempting_cluster_queue: str, reason: str) -> None:
        """The eviction of a victim was written. Source: OP-549."""
        self._count("preempted_workloads_total", (preempting_cluster_queue, reason))

    def created(self, job_kind: str, seconds: float) -> None:
        """The Workload of a job was created so long after the job. Source: OP-569."""
        self._observe("workload_creation_latency_seconds", (job_kind,), seconds)

    def gate_removed(self, gate: str, cluster_queue: str, is_group: bool, seconds: float) -> None:
        """A scheduling gate of a pod went so long after its Workload was admitted. Source: OP-570."""
        labels = (gate, cluster_queue, "true" if is_group else "false")
        self._observe("pod_scheduling_gate_removal_seconds", labels, seconds)

    def on_workload(self, event: WatchEvent) -> None:
        """Compare a Workload with what it was. What was there from the start happened before us."""
        if event.change is Change.MODIFIED and event.old is not None:
            self._changed(_Seen(event.old), _Seen(event.object))

    def on_queue(self, event: WatchEvent) -> None:
        """The series of a ClusterQueue, LocalQueue or Cohort that is gone go with it. Source: OP-510.

        So do those of a LocalQueue that is stopped, as upstream takes it out of its queues then, or no longer shown.
        """
        metadata = event.object.metadata
        if event.change is not Change.DELETED:
            if event.object.KIND == LocalQueue.KIND and event.old is not None:
                policy = queue_stops.policy(event.object)
                hidden = not self._shows(metadata.namespace or "", metadata.name)
                if hidden or (policy != queue_stops.NO_STOP and policy != queue_stops.policy(event.old)):
                    self._remove({"name": metadata.name, "namespace": metadata.namespace or ""})
            return
        if event.object.KIND == ClusterQueue.KIND:
            self.skips.pop(metadata.name, None)
            self._remove({"cluster_queue": metadata.name})
            self._remove({"preempting_cluster_queue": metadata.name})
        elif event.object.KIND == LocalQueue.KIND:
            self._remove({"name": metadata.name, "namespace": metadata.namespace or ""})
        elif event.object.KIND == Cohort.KIND:
            self._remove({"cohort": metadata.name})

    # --- Workloads

    def _changed(self, old: _Seen, new: _Seen) -> None:
        queue = new.cluster_queue or old.cluster_queue
        now = self._now()
        reserved = new.is_true(conditions.QUOTA_RESERVED) and not old.is_true(conditions.QUOTA_RESERVED)
        admitted = new.is_true(conditions.ADMITTED) and not old.is_true(conditions.ADMITTED)
        waited = (now - queued_since(new.workload, now)) / SECOND
        if reserved:
            self._both(new, queue, "quota_reserved_workloads_total")
            self._both(new, queue, "quota_reserved_wait_time_seconds", waited)
        if admitted:
            self._both(new, queue, "admitted_workloads_total")
            for cohort in self._above(queue):
                self._count("cohort_subtree_admitted_workloads_total", (cohort, new.priority_class))
            self._both(new, queue, "admission_wait_time_seconds", waited)
            if not reserved:
                self._both(
                    new,
                    queue,
                    "admission_checks_wait_time_seconds",
                    new.seconds_since(conditions.QUOTA_RESERVED, now),
                )
            elif new.has_checks:
                self._both(new, queue, "admission_checks_wait_time_seconds", 0.0)
        self._ready(old, new, queue, waited)
        self._evicted(old, new, queue)
        if new.is_true(conditions.FINISHED) and not old.is_true(conditions.FINISHED):
            self._count("finished_workloads_total", (queue, new.priority_class))
            if queue:
                self._local(new, "finished_workloads_total")
        if (
            old.cluster_queue
            and not new.is_true(conditions.QUOTA_RESERVED)
            and old.is_true(conditions.QUOTA_RESERVED)
            and new.is_true(conditions.EVICTED)
        ):
            latency = max(0.0, new.seconds_since(conditions.EVICTED, now))
            labels = (old.cluster_queue, new.reason(conditions.EVICTED))
            self._observe("workload_eviction_latency_seconds", labels, latency)

    def _ready(self, old: _Seen, new: _Seen, queue: str, waited: float) -> None:
        ready = new.find(conditions.PODS_READY)
        if ready is None or not new.is_true(conditions.PODS_READY) or old.is_true(conditions.PODS_READY):
            return
        # One that recovered was ready before.
        if ready.reason == STARTED and new.is_true(conditions.ADMITTED):
            self._both(new, queue, "ready_wait_time_seconds", waited)
            took = new.since(conditions.PODS_READY) - new.since(conditions.ADMITTED)
            self._both(new, queue, "admitted_until_ready_wait_time_seconds", took / SECOND)

    def _evicted(self, old: _Seen, new: _Seen, queue: str) -> None:
        before = old.evictions
        for (reason, cause), count in new.evictions.items():
            known = before.get((reason, cause), 0)
            if count <= known or not queue:
                continue
            self._count("evicted_workloads_total", (queue, reason, cause, new.priority_class))
            if not known:
                self._count("evicted_workloads_once_total", (queue, reason, cause, new.priority_class))
            self._local(new, "evicted_workloads_total", between=(reason, cause))
            if old.is_true(conditions.PODS_READY):
                ready = (new.since(conditions.EVICTED) - old.since(conditions.PODS_READY)) / SECOND
                self._observe("pods_ready_to_evicted_time_seconds", (queue, reason, cause), ready)

    # --- series

    def _both(self, seen: _Seen, queue: str, name: str, seconds: float | None = None) -> None:
        """Of the ClusterQueue, and of the LocalQueue where that is shown."""
        if seconds is None:
            self._count(name, (queue, seen.priority_class))
        else:
            self._observe(name, (queue, seen.priority_class), seconds)
        self._local(seen, name, seconds)

    def _local(
        self, seen: _Seen, name: str, seconds: float | None = None, between: tuple[str, ...] = ()
    ) -> None:
        namespace, local_queue = seen.local_queue
        if not self._shows(namespace, local_queue):
            return
        labels = (local_queue, namespace, *between, seen.priority_class)
        if seconds is None:
            self._count(f"local_queue_{name}", labels)
        else:
            self._observe(f"local_queue_{name}", labels, seconds)

    def _count(self, name: str, labels: Sequence[str]) -> None:
        counter = self._families[name].labels(*labels, self._role())
        assert isinstance(counter, Counter)
        counter.inc()

    def _observe(self, name: str, labels: Sequence[str], seconds: float) -> None:
        histogram = self._families[name].labels(*labels, self._role())
        assert isinstance(histogram, Histogram)
        histogram.observe(seconds)

    def _remove(self, labels: dict[str, str]) -> None:
        for name, known, _ in FAMILIES:
            if set(labels) <= set(known):
                self._families[name].remove_by_labels(labels)


class _Seen:
    """What of a Workload is looked at."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        status = workload.status
        self._conditions = (status.conditions if status is not None else None) or ()
        admission = status.admission if status is not None else None
        self.cluster_queue = admission.cluster_queue if admission is not None else ""
        self.has_checks = status is not None and bool(status.admission_checks)

    @property
    def priority_class(self) -> str:
        found = self.workload.spec.priority_class_ref
        return found.name if found is not None else ""

    @property
    def local_queue(self) -> tuple[str, str]:
        return self.workload.metadata.namespace or "", self.workload.spec.queue_name or ""

    @property
    def evictions(self) -> dict[tuple[str, str], int]:
        status = self.workload.status
        stats = status.scheduling_stats if status is not None else None
        return {
            (each.reason, each.underlying_cause): each.count
            for each in (stats.evictions if stats is not None else None) or ()
        }

    def find(self, type_: str) -> Condition | None:
        return next((each for each in self._conditions if each.type == type_), None)

    def is_true(self, type_: str) -> bool:
        found = self.find(type_)
        return found is not None and found.status == "True"

    def reason(self, type_: str) -> str:
        found = self.find(type_)
        return (found.reason if found is not None else None) or ""

    def since(self, type_: str) -> int:
        """When the condition turned, ns since 1970; 0 where that is not known."""
        found: Any = self.find(type_)
        return times.parse(found.last_transition_time) if found and found.last_transition_time else 0

    def seconds_since(self, type_: str, now: int) -> float:
        return (now - self.since(type_)) / SECOND
