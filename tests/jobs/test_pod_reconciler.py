"""The life of pods and groups with their Workload, step by step."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.kueue import Workload, WorkloadStatus
from kueue_fast.errors import InputError
from kueue_fast.jobs.actions import DeletePod, RecordEvent, ReleaseWorkload, UpdatePod
from kueue_fast.jobs.pod_group import PodGroup
from kueue_fast.jobs.pod_reconciler import reconcile, reconcile_empty_group
from kueue_fast.jobs.reconciler import CreateWorkload, UpdateWorkload, UpdateWorkloadStatus
from kueue_fast.jobs.settings import JobSettings
from tests.jobs.kinds import PRIORITY, QUEUE
from tests.jobs.makers import NOW, View
from tests.jobs.pod_makers import (
    DELETED,
    MANAGED,
    PARENT,
    SERVING,
    alone,
    ended,
    group,
    member,
    pod,
    running,
)


def step(
    job: PodGroup, workload: Workload | None = None, view: View | None = None, **facts: bool
) -> list[Any]:
    return reconcile(job, workload, view or View(), NOW, **facts)


def made(job: PodGroup) -> Workload:
    (action,) = step(job)
    assert isinstance(action, CreateWorkload)
    return action.workload


Known = tuple[str, str, str, str]
RESERVED: Known = ("QuotaReserved", "True", "QuotaReserved", "")
ADMITTED: Known = ("Admitted", "True", "Admitted", "")
EVICTED: Known = ("Evicted", "True", "Preempted", "why")
FINISHED: Known = ("Finished", "True", "Succeeded", "")


def in_state(workload: Workload, *known: Known, **status: Any) -> Workload:
    assignments = [
        {"name": pod_set.name, "flavors": {"cpu": "spot"}, "count": pod_set.count}
        for pod_set in workload.spec.pod_sets or ()
    ]
    made = {
        "admission": {"clusterQueue": "cq", "podSetAssignments": assignments},
        "conditions": [
            dict(zip(("type", "status", "reason", "message"), each, strict=True)) for each in known
        ],
        **status,
    }
    return msgspec.structs.replace(workload, status=msgspec.convert(made, WorkloadStatus))


WAITING = alone(pod())
PAIR = group(member("a"), member("b"))
JOBS = {"a pod": WAITING, "a group": PAIR}


def kinds(actions: list[Any]) -> list[type]:
    return [type(action) for action in actions]


IGNORED: dict[str, tuple[PodGroup, dict[str, bool]]] = {
    "not managed": (alone(pod(labels={QUEUE: "lq"})), {}),
    "no queue": (alone(pod(labels={MANAGED: "true"})), {}),
    "pods are not on": (WAITING, {"implicit": True}),
}


@pytest.mark.parametrize("case", IGNORED)
def test_pods_that_are_left_alone(case: str) -> None:
    job, facts = IGNORED[case]
    assert step(job, **facts) == []


def test_a_pod_of_a_kind_that_is_on_is_not_left_alone() -> None:
    assert step(alone(pod(annotations={PARENT: "deployment"})), implicit=True)


def test_a_pod_controls_its_workload() -> None:
    workload = made(WAITING)
    assert workload.metadata.name.startswith("pod-p-")
    assert workload.metadata.labels == {"kueue.x-k8s.io/job-uid": "uid-p"}
    (owner,) = workload.metadata.owner_references or ()
    assert (owner.api_version, owner.kind, owner.uid, owner.controller) == ("v1", "Pod", "uid-p", True)
    assert workload.spec.queue_name == "lq"


def test_a_class_that_does_not_exist_is_an_error() -> None:
    job = alone(pod(labels={MANAGED: "true", QUEUE: "lq", PRIORITY: "none"}))
    with pytest.raises(InputError, match="WorkloadPriorityClass 'none' not found"):
        step(job)


def test_a_group_gets_its_workload_once_it_is_complete() -> None:
    assert made(PAIR).metadata.name == "g"
    (warning,) = step(group(member("a")))
    assert isinstance(warning, RecordEvent)


@pytest.mark.parametrize("case", JOBS)
def test_admission_starts_the_pods(case: str) -> None:
    job = JOBS[case]
    actions = step(job, in_state(made(job), RESERVED, ADMITTED))
    assert kinds(actions) == [UpdatePod] * len(job.pods)
    for action in actions:
        assert action.pod.spec.scheduling_gates is None
        assert action.pod.spec.node_selector == {"type": "spot", "shared": "spot"}
        assert action.event.message == "Admitted by clusterQueue cq"
    started = PodGroup([action.pod for action in actions], is_group=job.is_group)
    assert step(started, in_state(made(job), RESERVED, ADMITTED)) == []


def test_a_pod_that_cannot_start_ends_its_workload() -> None:
    job = alone(pod(labels={MANAGED: "true", QUEUE: "lq", "kueue.x-k8s.io/podset": "mine"}))
    (action,) = step(job, in_state(made(job), RESERVED, ADMITTED))
    assert isinstance(action, UpdateWorkloadStatus)
    status = action.workload.status
    assert status is not None
    assert (status.conditions or [])[-1].reason == "FailedToStart"


def test_the_queue_is_followed_while_nothing_is_reserved() -> None:
    moved = alone(pod(labels={MANAGED: "true", QUEUE: "other"}))
    (action,) = step(moved, made(WAITING))
    assert isinstance(action, UpdateWorkload)
    assert action.workload.spec.queue_name == "other"
    serving = group(member("a", total="1", annotations={SERVING: "true"}))
    workload = made(serving)
    workload.spec.queue_name = "other"
    assert step(serving, workload) == []


@pytest.mark.parametrize("case", ["a pod", "a group"])
def test_an_eviction_deletes_the_pods_and_frees_the_quota(case: str) -> None:
    job = (
        alone(pod(gates=(), status={"phase": "Running"}))
        if case == "a pod"
        else group(running("a"), running("b"))
    )
    workload = in_state(made(JOBS[case]), RESERVED, ADMITTED, EVICTED)
    actions = step(job, workload)
    deleted = [action for action in actions if isinstance(action, DeletePod)]
    assert len(deleted) == len(job.pods)
    reasons = {condition.reason for action in deleted for condition in action.pod.status.conditions or ()}
    assert reasons == {"WorkloadEvictedDueToPreempted"}
    # A pod alone is never waited for, and never comes back.
    assert isinstance(actions[-1], UpdateWorkloadStatus) is (case == "a pod")
    if case == "a pod":
        (requeued,) = [each for each in actions[-1].workload.status.conditions if each.type == "Requeued"]
        assert requeued.status == "False"


def test_the_quota_of_a_group_is_free_once_its_pods_are_gone() -> None:
    going = group(*(running(name, deletionTimestamp=DELETED) for name in "ab"))
    workload = in_state(made(PAIR), RESERVED, ADMITTED, EVICTED)
    assert step(going, workload) == []
    done = group(*(ended(name, "Failed", deletionTimestamp=DELETED) for name in "ab"))
    waiting, *_ = step(done, workload)
    assert isinstance(waiting, UpdateWorkloadStatus)
    (freed,) = step(done, waiting.workload)
    status = freed.workload.status
    assert status.admission is None
    requeued = [each for each in status.conditions if each.type == "Requeued"]
    assert [(each.status, each.reason) for each in requeued] == [("True", "Preempted")]


def test_pods_that_run_without_quota_are_stopped() -> None:
    job = group(running("a"), running("b"))
    assert kinds(step(job, made(PAIR))) == [DeletePod, DeletePod]
    assert kinds(step(alone(pod(gates=())))) == [DeletePod]


@pytest.mark.parametrize("case", ["a pod", "a group"])
def test_the_end(case: str) -> None:
    if case == "a pod":
        job = alone(pod(gates=(), status={"phase": "Succeeded", "message": "m"}))
        want = "m"
    else:
        job, want = group(ended("a"), ended("b")), "Pods succeeded: 2/2."
    workload = in_state(made(JOBS[case]), RESERVED, ADMITTED)
    done, *let_go = step(job, workload)
    assert isinstance(done, UpdateWorkloadStatus)
    assert done.event is not None
    assert (done.event.kind, done.event.reason) == ("Pod", "FinishedWorkload")
    finished = (done.workload.status.conditions or [])[-1]  # type: ignore[union-attr]
    assert (finished.type, finished.reason, finished.message) == ("Finished", "Succeeded", want)
    assert [action.pod.metadata.finalizers for action in let_go] == [[]] * len(job.pods)
    *let_go, released = step(job, done.workload)
    assert isinstance(released, UpdateWorkload)
    assert released.workload.metadata.finalizers is None
    gone = PodGroup([action.pod for action in let_go], is_group=job.is_group)
    assert step(gone, released.workload) == []


def test_pods_that_end_without_workload_are_let_go() -> None:
    actions = step(alone(pod(gates=(), status={"phase": "Failed"})))
    assert [action.pod.metadata.finalizers for action in actions] == [[]]


def test_a_workload_that_is_deleted_takes_its_pods_along() -> None:
    workload = made(PAIR)
    workload.metadata.deletion_timestamp = DELETED
    *deleted, released = step(PAIR, workload)
    assert kinds(deleted) == [DeletePod, DeletePod]
    assert released.workload.metadata.finalizers is None


GOING: dict[str, tuple[Known, ...]] = {
    "one that waits": (),
    "one that runs": (RESERVED, ADMITTED),
    "one that was evicted": (RESERVED, ADMITTED, EVICTED),
}


@pytest.mark.parametrize("case", GOING)
def test_a_pod_alone_that_is_deleted_ends_its_workload_and_may_go(case: str) -> None:
    runs: dict[str, Any] = {"gates": (), "node": "n", "status": {"phase": "Running"}} if GOING[case] else {}
    going = alone(pod(deletionTimestamp=DELETED, **runs))
    done, let_go = step(going, in_state(made(WAITING), *GOING[case]))
    last = done.workload.status.conditions[-1]
    assert (last.type, last.reason) == ("Finished", "OwnerNotFound")
    assert let_go.pod.metadata.finalizers == []
    released, _ = step(going, done.workload)
    assert released.workload.metadata.finalizers is None


def test_a_pod_that_is_deleted_leaves_the_workload_of_another_alone() -> None:
    going = alone(pod("other", uid="other", deletionTimestamp=DELETED))
    assert kinds(step(going, made(WAITING))) == [UpdatePod]
    assert kinds(step(going)) == [UpdatePod]


def test_succeeded_pods_give_their_quota_back() -> None:
    job = group(ended("a"), running("b"))
    (action,) = step(job, in_state(made(PAIR), RESERVED, ADMITTED))
    status = action.workload.status
    assert [(each.name, each.count) for each in status.reclaimable_pods] == [("r", 1)]
    assert step(job, action.workload) == []
    off = View(JobSettings(reclaimable_pods=False))
    assert step(job, in_state(made(PAIR), RESERVED, ADMITTED), off) == []


def test_a_failed_pod_is_waited_for_and_replaced() -> None:
    workload = in_state(made(PAIR), RESERVED, ADMITTED)
    broken = group(running("a"), ended("b", "Failed"))
    (told,) = step(broken, workload)
    assert told.workload.status.conditions[-1].type == "WaitingForReplacementPods"
    assert step(broken, told.workload) == []
    replaced = group(running("a"), ended("b", "Failed"), member("c"))
    update, let_go = step(replaced, told.workload)
    assert isinstance(update, UpdateWorkload)
    assert (let_go.pod.metadata.name, let_go.pod.metadata.finalizers) == ("b", [])
    whole = group(running("a"), member("c"))
    (told,) = step(whole, update.workload)
    assert (told.workload.status.conditions[-1].status) == "False"
    (started,) = step(whole, told.workload)
    assert (started.pod.metadata.name, started.event.reason) == ("c", "Started")


def test_a_group_whose_workload_was_made_beforehand_waits_for_no_replacement() -> None:
    prebuilt = {"kueue.x-k8s.io/prebuilt-workload-name": "g"}
    first = running("a", annotations=prebuilt)
    assert step(group(first), in_state(made(PAIR), RESERVED, ADMITTED)) == []
    assert kinds(step(group(running("a")), in_state(made(PAIR), RESERVED, ADMITTED))) == [
        UpdateWorkloadStatus
    ]


def test_nothing_is_deleted_twice() -> None:
    job = group(member("a"), member("b"), member("c", creationTimestamp="2026-01-01T00:10:00Z"))
    workload = made(PAIR)
    assert kinds(step(job, workload)) == [DeletePod]
    assert step(job, workload, observed=False) == []


def left_behind(*, marked: bool = True, controlled: bool = False, **metadata: Any) -> Workload:
    """A Workload with the name of a group that has no pods."""
    owner = {
        "apiVersion": "example.com/v1",
        "kind": "Any",
        "name": "other",
        "uid": "u",
        "controller": controlled,
    }
    made = {
        "name": "group",
        "namespace": "ns",
        "finalizers": ["kueue.x-k8s.io/resource-in-use"],
        "annotations": {"kueue.x-k8s.io/is-group-workload": "true"} if marked else {},
        "ownerReferences": [owner],
        **metadata,
    }
    return msgspec.convert({"metadata": made, "spec": {}, "status": {}}, Workload)


EMPTY: dict[str, tuple[Workload, str]] = {
    "its pods are gone, or did not come yet": (left_behind(), "released"),
    "an older one, without the mark": (left_behind(marked=False), "released"),
    "somebody else's, which only has the name": (left_behind(marked=False, controlled=True), "nothing"),
    "one that is controlled ends first": (left_behind(controlled=True), "ended"),
    "released already": (left_behind(finalizers=[]), "nothing"),
}


@pytest.mark.parametrize("case", EMPTY)
def test_the_workload_of_a_group_without_pods(case: str) -> None:
    workload, want = EMPTY[case]
    actions = reconcile_empty_group(workload, JobSettings(), NOW)
    match actions:
        case []:
            got = "nothing"
        case [ReleaseWorkload(released)]:
            assert released is workload
            got = "released"
        case [UpdateWorkloadStatus(changed, None)]:
            assert changed.status is not None
            assert changed.status.conditions is not None
            assert changed.status.conditions[0].reason == "OwnerNotFound"
            got = "ended"
    assert got == want
