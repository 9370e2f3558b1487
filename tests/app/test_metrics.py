"""What is counted when a Workload changes or a cycle ends. Source: OP-501..508, OP-531..550, OP-582..590."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from kueue_fast.api.kueue import ClusterQueue, Cohort, LocalQueue, Workload
from kueue_fast.app.metrics import BUCKETS, Metrics
from kueue_fast.cluster.changes import Change, WatchEvent
from kueue_fast.engine import Admission, Cycle
from kueue_fast.engine.decisions import Requeued
from kueue_fast.model import times

START = times.parse("2026-01-01T00:00:00Z")
SECOND = 1_000_000_000
QUEUE = {"cluster_queue": "cq", "priority_class": "high"}
LOCAL = {"name": "lq", "namespace": "ns", "priority_class": "high"}


def condition(type_: str, at: int, status: str = "True", reason: str = "Any") -> dict[str, Any]:
    when = times.format(START + at * SECOND)
    return {"type": type_, "status": status, "reason": reason, "message": "", "lastTransitionTime": when}


def workload(*conditions: dict[str, Any], admission: bool = True, **status: Any) -> Workload:
    if admission:
        status["admission"] = {"clusterQueue": "cq", "podSetAssignments": []}
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
    made = {
        "metadata": {"name": "w", "namespace": "ns", "creationTimestamp": times.format(START)},
        "spec": {"queueName": "lq", "priorityClassRef": reference},
        "status": {"conditions": list(conditions), **status},
    }
    return msgspec.convert(made, Workload)


WAITS = workload(admission=False)
RESERVED = condition("QuotaReserved", 10)
ADMITTED = condition("Admitted", 30)


def metrics_after(*states: Workload, at: int, **settings: Any) -> Metrics:
    metrics = Metrics(lambda: START + at * SECOND, **settings)
    for old, new in itertools.pairwise(states):
        metrics.on_workload(WatchEvent(Change.MODIFIED, new, old))
    return metrics


def value(metrics: Metrics, name: str, /, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"kueue_{name}", {**labels, "replica_role": "standalone"})


def test_reserved_and_admitted_at_once() -> None:
    got = metrics_after(WAITS, workload(RESERVED, condition("Admitted", 10)), at=12)
    for name in ("quota_reserved", "admitted"):
        assert value(got, f"{name}_workloads_total", **QUEUE) == 1
        assert value(got, f"local_queue_{name}_workloads_total", **LOCAL) == 1
    assert value(got, "quota_reserved_wait_time_seconds_sum", **QUEUE) == 12
    assert value(got, "admission_wait_time_seconds_sum", **QUEUE) == 12
    # Nothing was checked.
    assert value(got, "admission_checks_wait_time_seconds_count", **QUEUE) is None


def test_admissions_below_cohorts() -> None:
    above = {"cq": ["team", "root"]}
    got = metrics_after(WAITS, workload(RESERVED, ADMITTED), at=30, above=above.get)
    for cohort in above["cq"]:
        labels = {"cohort": cohort, "priority_class": "high"}
        assert value(got, "cohort_subtree_admitted_workloads_total", **labels) == 1
    got.on_queue(WatchEvent(Change.DELETED, msgspec.convert({"metadata": {"name": "team"}}, Cohort), None))
    gone = {"cohort": "team", "priority_class": "high"}
    assert value(got, "cohort_subtree_admitted_workloads_total", **gone) is None


def test_admitted_once_the_checks_are_ready() -> None:
    got = metrics_after(WAITS, workload(RESERVED), workload(RESERVED, ADMITTED), at=30)
    assert value(got, "admission_checks_wait_time_seconds_sum", **QUEUE) == 20
    assert value(got, "admission_wait_time_seconds_sum", **QUEUE) == 30
    assert value(got, "quota_reserved_workloads_total", **QUEUE) == 1


def test_checks_that_were_ready_already_took_no_time() -> None:
    check = {"name": "c", "state": "Ready", "message": "", "lastTransitionTime": times.format(START)}
    got = metrics_after(WAITS, workload(RESERVED, ADMITTED, admissionChecks=[check]), at=30)
    assert value(got, "admission_checks_wait_time_seconds_count", **QUEUE) == 1
    assert value(got, "admission_checks_wait_time_seconds_sum", **QUEUE) == 0


def local_queue(stop_policy: str | None = None) -> LocalQueue:
    made = {
        "metadata": {"name": "lq", "namespace": "ns"},
        "spec": {"clusterQueue": "cq", "stopPolicy": stop_policy},
    }
    return msgspec.convert(made, LocalQueue)


CHANGES: dict[str, tuple[LocalQueue, LocalQueue, bool, float | None]] = {
    "it goes on": (local_queue(), local_queue("None"), True, 1),
    "it is held": (local_queue(), local_queue("Hold"), True, None),
    "it is drained, and was held": (local_queue("Hold"), local_queue("HoldAndDrain"), True, None),
    "it stays held": (local_queue("Hold"), local_queue("Hold"), True, 1),
    "it is not shown any more": (local_queue(), local_queue(), False, None),
}


@pytest.mark.parametrize("case", CHANGES)
def test_counters_of_a_local_queue_after_a_change_of_it(case: str) -> None:
    old, new, shown, want = CHANGES[case]
    visible = [True]
    got = metrics_after(WAITS, workload(RESERVED), at=12, shows=lambda namespace, name: visible[0])
    visible[0] = shown
    got.on_queue(WatchEvent(Change.MODIFIED, new, old))
    assert value(got, "local_queue_quota_reserved_workloads_total", **LOCAL) == want
    assert value(got, "quota_reserved_workloads_total", **QUEUE) == 1


def test_waits_are_counted_from_the_last_requeueing() -> None:
    requeued = condition("Requeued", 100)
    old = workload(requeued, admission=False)
    got = metrics_after(old, workload(requeued, condition("QuotaReserved", 104)), at=104)
    assert value(got, "quota_reserved_wait_time_seconds_sum", **QUEUE) == 4


def test_pods_that_became_ready() -> None:
    running = workload(RESERVED, ADMITTED)
    ready = workload(RESERVED, ADMITTED, condition("PodsReady", 45, reason="Started"))
    got = metrics_after(running, ready, ready, at=46)
    assert value(got, "ready_wait_time_seconds_sum", **QUEUE) == 46
    assert value(got, "admitted_until_ready_wait_time_seconds_sum", **QUEUE) == 15
    assert value(got, "local_queue_admitted_until_ready_wait_time_seconds_count", **LOCAL) == 1


def test_pods_that_recovered_were_ready_before() -> None:
    running = workload(RESERVED, ADMITTED)
    ready = workload(RESERVED, ADMITTED, condition("PodsReady", 45, reason="Recovered"))
    got = metrics_after(running, ready, at=46)
    assert value(got, "ready_wait_time_seconds_count", **QUEUE) is None


def evicted(count: int) -> Workload:
    stats = {"evictions": [{"reason": "Preempted", "underlyingCause": "", "count": count}]}
    found = condition("Evicted", 60, reason="Preempted")
    return workload(RESERVED, ADMITTED, found, schedulingStats=stats)


def test_evictions() -> None:
    ready = workload(RESERVED, ADMITTED, condition("PodsReady", 45, reason="Started"))
    gone = workload(condition("QuotaReserved", 65, "False"), condition("Evicted", 60, reason="Preempted"),
                    admission=False)  # fmt: skip
    got = metrics_after(ready, evicted(1), gone, evicted(2), at=65)
    labels = {"reason": "Preempted", "underlying_cause": ""}
    assert value(got, "evicted_workloads_total", **QUEUE, **labels) == 2
    assert value(got, "local_queue_evicted_workloads_total", **LOCAL, **labels) == 2
    assert value(got, "pods_ready_to_evicted_time_seconds_sum", cluster_queue="cq", **labels) == 15
    latency = value(got, "workload_eviction_latency_seconds_sum", cluster_queue="cq", reason="Preempted")
    assert latency == 5


def test_only_the_first_eviction_counts_once() -> None:
    labels = {"reason": "Preempted", "underlying_cause": ""}
    got = metrics_after(workload(RESERVED, ADMITTED), evicted(1), evicted(2), at=65)
    assert value(got, "evicted_workloads_once_total", **QUEUE, **labels) == 1


def test_what_finished() -> None:
    got = metrics_after(workload(RESERVED), workload(RESERVED, condition("Finished", 90)), at=90)
    assert value(got, "finished_workloads_total", **QUEUE) == 1
    assert value(got, "local_queue_finished_workloads_total", **LOCAL) == 1
    never = metrics_after(WAITS, workload(condition("Finished", 90), admission=False), at=90)
    assert value(never, "finished_workloads_total", cluster_queue="", priority_class="high") == 1
    assert value(never, "local_queue_finished_workloads_total", **LOCAL) is None


def test_what_was_there_from_the_start_is_not_counted() -> None:
    metrics = Metrics(lambda: START)
    metrics.on_workload(WatchEvent(Change.ADDED, workload(RESERVED, ADMITTED), None))
    assert value(metrics, "admitted_workloads_total", **QUEUE) is None


def test_local_queues_that_are_not_shown() -> None:
    got = metrics_after(
        WAITS,
        workload(RESERVED, ADMITTED),
        at=30,
        shows=lambda namespace, name: (namespace, name) != ("ns", "lq"),
    )
    assert value(got, "admitted_workloads_total", **QUEUE) == 1
    assert value(got, "local_queue_admitted_workloads_total", **LOCAL) is None


def cycle(admitted: int = 0, requeued: tuple[Requeued, ...] = (), heads: int = 1) -> Cycle:
    decisions = [Admission(f"ns/{number}", "cq", (), ()) for number in range(admitted)]
    return Cycle(1, heads, decisions, list(requeued), bool(admitted), [])


def test_cycles() -> None:
    metrics = Metrics(lambda: START)
    metrics.on_cycle(cycle(admitted=2, heads=3), 0.03)
    metrics.on_cycle(cycle(), 0.001)
    metrics.on_cycle(cycle(heads=0), 5.0)
    assert value(metrics, "admission_attempts_total", result="success") == 1
    assert value(metrics, "admission_attempts_total", result="inadmissible") == 1
    assert value(metrics, "admission_attempt_duration_seconds_sum", result="success") == 0.03


def test_heads_that_were_passed_over_stay_until_there_are_others() -> None:
    metrics = Metrics(lambda: START)
    passed = Requeued("ns/w", "cq", "", "Overlap", str)
    metrics.on_cycle(cycle(requeued=(passed, passed)), 0.1)
    metrics.on_cycle(cycle(), 0.1)
    assert metrics.skips == {"cq": 2}


def test_queues_that_are_gone_take_their_series_along() -> None:
    metrics = metrics_after(WAITS, workload(RESERVED, ADMITTED), at=30)
    metrics.preempted("cq", "InClusterQueue")
    labels = {"preempting_cluster_queue": "cq", "reason": "InClusterQueue"}
    assert value(metrics, "preempted_workloads_total", **labels) == 1
    local = msgspec.convert({"metadata": {"name": "lq", "namespace": "ns"}}, LocalQueue)
    metrics.on_queue(WatchEvent(Change.DELETED, local, None))
    assert value(metrics, "local_queue_admitted_workloads_total", **LOCAL) is None
    assert value(metrics, "admitted_workloads_total", **QUEUE) == 1
    metrics.on_queue(
        WatchEvent(Change.DELETED, msgspec.convert({"metadata": {"name": "cq"}}, ClusterQueue), None)
    )
    assert value(metrics, "admitted_workloads_total", **QUEUE) is None
    assert value(metrics, "preempted_workloads_total", **labels) is None


@pytest.mark.parametrize(
    ("name", "want_last", "want_count"),
    [
        ("admission_wait_time_seconds", 40960, 16),
        ("local_queue_admission_wait_time_seconds", 10240, 14),
        ("admission_attempt_duration_seconds", 10, 11),
    ],
)
def test_buckets(name: str, want_last: float, want_count: int) -> None:
    assert (BUCKETS[name][-1], len(BUCKETS[name])) == (want_last, want_count)
    assert list(BUCKETS[name]) == sorted(BUCKETS[name])
