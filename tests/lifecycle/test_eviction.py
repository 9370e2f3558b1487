"""Eviction: what a Workload is told, and what it is once its job has stopped."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.kueue import Workload
from kueue_fast.lifecycle import events
from kueue_fast.lifecycle.events import Priority
from kueue_fast.lifecycle.eviction import (
    cohort_path,
    evicted,
    eviction_of,
    preempted,
    preemption_message,
    stopped,
)
from kueue_fast.lifecycle.status import Reasons
from kueue_fast.model import conditions, times

BEFORE = "2026-01-01T00:30:00Z"
STAMP = "2026-01-01T01:00:00Z"
NOW = times.parse(STAMP)


def workload(**status: Any) -> Workload:
    true = {"status": "True", "lastTransitionTime": BEFORE, "reason": "r", "message": "m"}
    made = {
        "metadata": {"name": "w", "namespace": "ns", "uid": "uid", "generation": 2},
        "spec": {},
        "status": {
            "admission": {"clusterQueue": "cq"},
            "conditions": [{"type": "QuotaReserved", **true}, {"type": "Admitted", **true}],
            **status,
        },
    }
    return msgspec.convert(made, Workload)


def facts(of: Workload) -> dict[str, tuple[str, str, str, str | None]]:
    assert of.status is not None
    return {
        each.type: (each.status, each.reason, each.message, each.last_transition_time)
        for each in of.status.conditions or ()
    }


def test_a_preempted_workload_keeps_its_quota() -> None:
    got = preempted(workload(), "InCohortReclamation", "why", NOW)
    assert got.status is not None
    assert got.status.admission is not None
    assert facts(got)["Preempted"] == ("True", "InCohortReclamation", "why", STAMP)
    assert facts(got)["Evicted"] == ("True", "Preempted", "why", STAMP)
    assert facts(got)["Admitted"][0] == "True"
    assert eviction_of(got) == ("Preempted", "why")
    assert eviction_of(workload()) is None


def test_an_eviction_resets_checks_closes_gates_and_counts() -> None:
    check = {"lastTransitionTime": BEFORE, "message": "old"}
    update = [{"name": "main", "labels": {"a": "b"}}]
    before = workload(
        conditions=[{"type": "BlockedOnPreemptionGates", "status": "True"}],
        admissionChecks=[
            {"name": "ready", "state": "Ready", "podSetUpdates": update, "retryCount": 3, **check},
            {"name": "retry", "state": "Retry", "requeueAfterSeconds": 5, "retryCount": 1, **check},
            {"name": "pending", "state": "Pending", "retryCount": 7, **check},
        ],
        preemptionGates=[{"name": "gate", "position": "Open", "lastTransitionTime": BEFORE}],
        clusterName="cluster",
        nominatedClusterNames=["cluster"],
        unhealthyNodes=[{"name": "node"}],
        schedulingStats={"evictions": [{"reason": "NodeFailures", "underlyingCause": "", "count": 2}]},
    )
    status = msgspec.to_builtins(evicted(evicted(before, "Preempted", "why", NOW), "Preempted", "why", NOW))[
        "status"
    ]
    reset = {"state": "Pending", "lastTransitionTime": STAMP}
    words = "Reset to Pending after eviction. Previously: "
    assert status["admissionChecks"] == [
        {"name": "ready", "message": words + "Ready", **reset},
        {"name": "retry", "message": words + "Retry", "requeueAfterSeconds": 5, "retryCount": 2, **reset},
        {"name": "pending", "state": "Pending", "retryCount": 7, **check},
    ]
    assert status["preemptionGates"] == [{"name": "gate", "position": "Closed", "lastTransitionTime": STAMP}]
    assert status["schedulingStats"]["evictions"] == [
        {"reason": "NodeFailures", "underlyingCause": "", "count": 2},
        {"reason": "Preempted", "underlyingCause": "", "count": 2},
    ]
    assert not {"clusterName", "nominatedClusterNames", "unhealthyNodes"} & status.keys()
    blocked = next(each for each in status["conditions"] if each["type"] == "BlockedOnPreemptionGates")
    assert (blocked["status"], blocked["reason"]) == ("False", "Preempted")


REQUEUED = {
    "preempted": ("Preempted", "True"),
    "a node failed": ("NodeFailures", "True"),
    "a check failed: a backoff comes first": ("AdmissionCheck", "False"),
    "its queue was stopped": ("ClusterQueueStopped", "False"),
}


@pytest.mark.parametrize("case", REQUEUED)
def test_once_stopped_it_may_queue_again(case: str) -> None:
    reason, want = REQUEUED[case]
    got = stopped(evicted(workload(), reason, "why", NOW), NOW)
    assert got.status is not None
    assert got.status.admission is None
    assert facts(got)["Requeued"][:3] == (want, reason, "why")
    assert facts(got)["QuotaReserved"][:3] == ("False", "Pending", "why")
    assert facts(got)["Admitted"][:2] == ("False", "NoReservation")
    # It stays evicted until it gets quota again.
    assert facts(got)["Evicted"][0] == "True"
    assert got.status.accumulated_past_execution_time_seconds == 1800


def test_granular_reasons() -> None:
    got = stopped(evicted(workload(), "Preempted", "why", NOW), NOW, Reasons(granular=True))
    assert facts(got)["QuotaReserved"][1] == "PendingEvaluation"


def test_what_is_not_evicted_is_left_alone() -> None:
    assert stopped(workload(), NOW) == workload()
    assert conditions.find(workload().status.conditions, "Requeued") is None  # type: ignore[union-attr]


def test_the_message_names_both_and_their_paths() -> None:
    path = cohort_path("cq", ["parent", "root"])
    assert preemption_message("u", "j", "InClusterQueue", path, cohort_path("other", [])) == (
        "Preempted to accommodate a workload (UID: u, JobUID: j) due to prioritization in the ClusterQueue; "
        "preemptor path: /root/parent/cq; preemptee path: /other"
    )
    assert preemption_message("", "", "Tuesday", "", "") == (
        "Preempted to accommodate a workload (UID: UNKNOWN, JobUID: UNKNOWN) due to UNKNOWN; "
        "preemptor path: UNKNOWN; preemptee path: UNKNOWN"
    )


def test_events_of_a_preemption() -> None:
    priorities = Priority(effective=12, base=10), Priority(effective=-3, base=-3)
    got = events.preempted("a/victim", "uid", "cq", "b/winner", "why", priorities, NOW)
    assert [(each.type, each.reason, each.namespace, each.name) for each in got] == [
        ("Normal", "EvictedDueToPreempted", "a", "victim"),
        ("Normal", "Preempted", "a", "victim"),
        ("Normal", "PreemptedWorkload", "b", "winner"),
    ]
    both = (
        "; preemptor effective priority: 12 (base: 10, boost: 2)"
        "; preemptee effective priority: -3 (base: -3, boost: 0)"
    )
    assert [each.message for each in got] == [
        "why",
        "why" + both,
        "Preempted workload a/victim (UID: uid) in ClusterQueue cq" + both,
    ]


POD = {"apiVersion": "v1", "kind": "Pod", "name": "p"}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "j"}
GROUP = {"kueue.x-k8s.io/is-group-workload": "true"}
OWNERS: dict[str, tuple[list[dict[str, str]], dict[str, str], bool]] = {
    "one pod": ([POD], {}, True),
    "one pod, and said to be no group": ([POD], {"kueue.x-k8s.io/is-group-workload": "false"}, True),
    "a group of one pod": ([POD], GROUP, False),
    "two pods": ([POD, POD], {}, False),
    "a Job": ([JOB], {}, False),
    "a Pod of somebody else": ([{**POD, "apiVersion": "example.com/v1"}], {}, False),
    "nobody": ([], {}, False),
}


@pytest.mark.parametrize("case", OWNERS)
def test_what_ends_with_its_pod_does_not_queue_again(case: str) -> None:
    owners, annotations, want = OWNERS[case]
    before = workload()
    made = {**msgspec.to_builtins(before.metadata), "ownerReferences": owners, "annotations": annotations}
    before = msgspec.structs.replace(before, metadata=msgspec.convert(made, type(before.metadata)))
    assert conditions.owned_by_single_pod(before) is want
    done = evicted(before, "NodeFailures", "why", NOW)
    assert facts(stopped(done, NOW))["Requeued"][0] == ("False" if want else "True")
    assert facts(stopped(done, NOW, skip_pod_owned=False))["Requeued"][0] == "True"
