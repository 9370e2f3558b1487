"""The Workload controller: the next step for a Workload, by what its status, its queues and the clock say."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import pytest

from kueue_fast.api.kueue import ClusterQueue, LocalQueue, Workload
from kueue_fast.lifecycle.settings import LifecycleSettings, PodsReadySettings
from kueue_fast.lifecycle.status import Reasons
from kueue_fast.lifecycle.steps import REST, DeleteWorkload, Step, UpdateWorkload, UpdateWorkloadStatus
from kueue_fast.lifecycle.workload_controller import reconcile
from kueue_fast.model import times

SECOND = 10**9
AT = "2026-01-01T01:00:00Z"
NOW = times.parse(AT)
WAIT = PodsReadySettings(timeout_ns=300 * SECOND, recovery_timeout_ns=180 * SECOND)
SETTINGS = LifecycleSettings(pods_ready=WAIT)


def before(seconds: int) -> str:
    return times.format(NOW - seconds * SECOND)


class View(NamedTuple):
    """What is around the Workload: by default queues that take it."""

    lifecycle: LifecycleSettings = SETTINGS
    local: LocalQueue | None = msgspec.convert(
        {"metadata": {"name": "lq", "namespace": "ns"}, "spec": {"clusterQueue": "cq"}}, LocalQueue
    )
    cluster: ClusterQueue | None = msgspec.convert({"metadata": {"name": "cq"}, "spec": {}}, ClusterQueue)
    active: bool = True

    def local_queue(self, namespace: str, name: str) -> LocalQueue | None:
        return self.local if (namespace, name) == ("ns", "lq") else None

    def cluster_queue(self, name: str) -> ClusterQueue | None:
        return self.cluster if name == "cq" else None

    def is_active(self, cluster_queue: str) -> bool:
        return self.active and cluster_queue == "cq"


VIEW = View()


def local(**fields: Any) -> LocalQueue:
    metadata = {"name": "lq", "namespace": "ns", **fields.pop("metadata", {})}
    return msgspec.convert({"metadata": metadata, "spec": {"clusterQueue": "cq", **fields}}, LocalQueue)


def cluster(**fields: Any) -> ClusterQueue:
    metadata = {"name": "cq", **fields.pop("metadata", {})}
    return msgspec.convert({"metadata": metadata, "spec": fields}, ClusterQueue)


def condition(type_: str, value: str, reason: str, seconds: int = 60, message: str = "m") -> dict[str, Any]:
    since = before(seconds)
    return {
        "type": type_,
        "status": value,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
        "observedGeneration": 1,
    }


def check(state: str, name: str = "check", seconds: int = 60, **fields: Any) -> dict[str, Any]:
    return {"name": name, "state": state, "lastTransitionTime": before(seconds), **fields}


RESERVED = condition("QuotaReserved", "True", "QuotaReserved")
ADMISSION = {"clusterQueue": "cq", "podSetAssignments": [{"name": "main"}]}


def admitted(seconds: int = 60) -> dict[str, Any]:
    return condition("Admitted", "True", "Admitted", seconds)


def workload(
    *conditions: dict[str, Any],
    spec: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    **status: Any,
) -> Workload:
    raw = {
        "metadata": {"name": "w", "namespace": "ns", "generation": 1, **(metadata or {})},
        "spec": {"queueName": "lq", **(spec or {})},
        "status": {"conditions": list(conditions), **status},
    }
    return msgspec.convert(raw, Workload)


def held(*conditions: dict[str, Any], **more: Any) -> Workload:
    """One with a reservation."""
    return workload(RESERVED, *conditions, **{"admission": ADMISSION, **more})


class Want(NamedTuple):
    """What a step should be: changed conditions by type, fields of the status, events, and what else is written."""

    conditions: dict[str, tuple[str, str, str] | None] = {}
    status: dict[str, Any] = {}
    events: tuple[tuple[str, str, str], ...] = ()
    active: bool | None = None
    writes: tuple[type, ...] = (UpdateWorkloadStatus,)
    again: int | None = None


def later(seconds: int) -> Want:
    """Nothing now, and a look again after so many seconds."""
    return Want(writes=(), again=seconds)


NOTHING = Want(writes=())


def changes(old: Workload, step: Step) -> dict[str, tuple[str, str, str] | None]:
    """Conditions that the write changes, None for one that goes."""
    was = {each.type: each for each in (old.status and old.status.conditions) or ()}
    [written] = [write for write in step.writes if isinstance(write, UpdateWorkloadStatus)]
    status = written.workload.status
    now = {each.type: each for each in (status and status.conditions) or ()}
    found: dict[str, tuple[str, str, str] | None] = {
        type_: (each.status, each.reason, each.message)
        for type_, each in now.items()
        if was.get(type_) != each
    }
    return {**found, **dict.fromkeys(was.keys() - now.keys())}


BY_TIMEOUT = condition("Requeued", "False", "PodsReadyTimeout")
TIMEOUT_WORDS = "Exceeded the PodsReady timeout ns/w"
OFF = "The workload is deactivated"
TOO_LONG = condition(
    "DeactivationTarget",
    "True",
    "MaximumExecutionTimeExceeded",
    message="exceeding the maximum execution time",
)

STEPS: dict[str, tuple[Workload, View, Want]] = {
    # waitForPodsReady
    "pods that may still come in time": (held(admitted(100)), VIEW, later(200)),
    "pods that are late": (
        held(admitted(300)),
        VIEW,
        Want(
            {"Evicted": ("True", "PodsReadyTimeout", TIMEOUT_WORDS)},
            {"requeue_state": (1, 60)},
            (("Normal", "EvictedDueToPodsReadyTimeout", TIMEOUT_WORDS),),
        ),
    ),
    "pods that are late for the third time": (
        held(admitted(301), condition("PodsReady", "False", "WaitForStart"), requeueState={"count": 2}),
        VIEW,
        Want(
            {"Evicted": ("True", "PodsReadyTimeout", TIMEOUT_WORDS)},
            {"requeue_state": (3, 240)},
            (("Normal", "EvictedDueToPodsReadyTimeout", TIMEOUT_WORDS),),
        ),
    ),
    "pods that are late once more than the limit": (
        held(admitted(300), requeueState={"count": 3}),
        View(LifecycleSettings(pods_ready=msgspec.structs.replace(WAIT, backoff_limit=3))),
        Want(
            {
                "DeactivationTarget": (
                    "True",
                    "RequeuingLimitExceeded",
                    "exceeding the maximum number of re-queuing retries",
                )
            }
        ),
    ),
    "late pods at a limit of none": (
        held(admitted(300)),
        View(LifecycleSettings(pods_ready=msgspec.structs.replace(WAIT, backoff_limit=0))),
        Want(
            {
                "DeactivationTarget": (
                    "True",
                    "RequeuingLimitExceeded",
                    "exceeding the maximum number of re-queuing retries",
                )
            }
        ),
    ),
    "pods that are ready": (held(admitted(900), condition("PodsReady", "True", "Started")), VIEW, NOTHING),
    "a lost pod that may still recover": (
        held(admitted(900), condition("PodsReady", "False", "WaitForRecovery", 100)),
        VIEW,
        later(80),
    ),
    "a lost pod that did not recover": (
        held(admitted(900), condition("PodsReady", "False", "WaitForRecovery", 180)),
        VIEW,
        Want(
            {"Evicted": ("True", "PodsReadyTimeout", TIMEOUT_WORDS)},
            {"requeue_state": (1, 60)},
            (("Normal", "EvictedDueToPodsReadyTimeout", TIMEOUT_WORDS),),
        ),
    ),
    "a lost pod where recovery is not limited": (
        held(admitted(900), condition("PodsReady", "False", "WaitForRecovery", 800)),
        View(LifecycleSettings(pods_ready=msgspec.structs.replace(WAIT, recovery_timeout_ns=None))),
        NOTHING,
    ),
    "the reason of older versions": (
        held(admitted(100), condition("PodsReady", "False", "PodsReady")),
        VIEW,
        later(200),
    ),
    "waitForPodsReady off": (held(admitted(900)), View(LifecycleSettings()), NOTHING),
    "late pods of one that was evicted": (
        held(admitted(900), condition("Evicted", "True", "Preempted")),
        VIEW,
        NOTHING,
    ),
    # requeueing
    "a backoff that lasts": (
        workload(BY_TIMEOUT, requeueState={"count": 1, "requeueAt": times.format(NOW + SECOND)}),
        VIEW,
        later(1),
    ),
    "a backoff that is over": (
        workload(BY_TIMEOUT, requeueState={"count": 1, "requeueAt": AT}),
        VIEW,
        Want(status={"requeue_state": (1, None)}),
    ),
    "after the backoff": (
        workload(BY_TIMEOUT, requeueState={"count": 1}),
        VIEW,
        Want({"Requeued": ("True", "BackoffFinished", "The workload backoff was finished")}),
    ),
    "after a check's retry": (
        workload(condition("Requeued", "False", "AdmissionCheck")),
        VIEW,
        Want({"Requeued": ("True", "BackoffFinished", "The workload backoff was finished")}),
    ),
    "switched on by a user": (
        workload(condition("Requeued", "False", "Deactivated")),
        VIEW,
        Want({"Requeued": ("True", "Reactivated", "The workload was reactivated")}),
    ),
    "switched on after Kueue switched it off": (
        workload(condition("Requeued", "False", "DeactivatedDueToAdmissionCheck")),
        VIEW,
        Want({"Requeued": ("True", "Reactivated", "The workload was reactivated")}),
    ),
    "the LocalQueue runs again": (
        workload(condition("Requeued", "False", "LocalQueueStopped")),
        VIEW,
        Want(
            {"Requeued": ("True", "LocalQueueRestarted", "The LocalQueue was restarted after being stopped")}
        ),
    ),
    "the ClusterQueue runs again": (
        workload(condition("Requeued", "False", "ClusterQueueStopped")),
        VIEW,
        Want(
            {
                "Requeued": (
                    "True",
                    "ClusterQueueRestarted",
                    "The ClusterQueue was restarted after being stopped",
                )
            }
        ),
    ),
    "evicted by a stop that lasts": (
        workload(condition("Requeued", "False", "ClusterQueueStopped")),
        View(cluster=cluster(stopPolicy="Hold"), active=False),
        Want({"QuotaReserved": ("False", "Inadmissible", "ClusterQueue cq is inactive")}),
    ),
    # deactivation
    "to be switched off": (held(TOO_LONG), VIEW, Want(active=False, writes=(UpdateWorkload,))),
    "switched off by Kueue": (
        held(admitted(), TOO_LONG, spec={"active": False}, requeueState={"count": 2}),
        VIEW,
        Want(
            {
                "DeactivationTarget": None,
                "Evicted": (
                    "True",
                    "DeactivatedDueToMaximumExecutionTimeExceeded",
                    f"{OFF} due to exceeding the maximum execution time",
                ),
            },
            {"requeue_state": None},
            (
                (
                    "Normal",
                    "EvictedDueToDeactivatedDueToMaximumExecutionTimeExceeded",
                    f"{OFF} due to exceeding the maximum execution time",
                ),
            ),
        ),
    ),
    "switched off by a user": (
        held(admitted(), spec={"active": False}),
        VIEW,
        Want({"Evicted": ("True", "Deactivated", OFF)}, {}, (("Normal", "EvictedDueToDeactivated", OFF),)),
    ),
    "switched off while it waits": (
        workload(spec={"active": False}),
        VIEW,
        Want({"Evicted": ("True", "Deactivated", OFF)}),
    ),
    "switched off after an eviction": (
        workload(
            condition("Evicted", "True", "PodsReadyTimeout"),
            spec={"active": False},
            requeueState={"count": 1},
        ),
        VIEW,
        Want(status={"requeue_state": None}),
    ),
    "a run with time left": (
        held(
            admitted(100),
            condition("PodsReady", "True", "Started"),
            spec={"maximumExecutionTimeSeconds": 130},
        ),
        VIEW,
        later(30),
    ),
    "the sooner of two limits": (
        held(admitted(100), spec={"maximumExecutionTimeSeconds": 130}),
        VIEW,
        later(30),
    ),
    "a run that is too long with those before it": (
        held(
            admitted(100),
            spec={"maximumExecutionTimeSeconds": 130},
            accumulatedPastExecutionTimeSeconds=30,
        ),
        VIEW,
        Want(
            {
                "DeactivationTarget": (
                    "True",
                    "MaximumExecutionTimeExceeded",
                    "exceeding the maximum execution time",
                )
            },
            {"accumulated_past_execution_time_seconds": None},
            (("Warning", "MaximumExecutionTimeExceeded", "The maximum execution time (130s) exceeded"),),
        ),
    ),
    "too long, switched off, and not stopped yet": (
        held(
            admitted(500),
            condition("Evicted", "True", "DeactivatedDueToMaximumExecutionTimeExceeded"),
            spec={"maximumExecutionTimeSeconds": 130, "active": False},
        ),
        VIEW,
        NOTHING,
    ),
    # queues
    "no LocalQueue": (
        workload(),
        View(local=None),
        Want({"QuotaReserved": ("False", "Inadmissible", "LocalQueue lq doesn't exist")}),
    ),
    "a LocalQueue that is held": (
        workload(),
        View(local=local(stopPolicy="Hold")),
        Want({"QuotaReserved": ("False", "Inadmissible", "LocalQueue lq is inactive")}),
    ),
    "no ClusterQueue": (
        workload(),
        View(cluster=None),
        Want({"QuotaReserved": ("False", "Inadmissible", "ClusterQueue cq doesn't exist")}),
    ),
    "reserved, and the LocalQueue is held": (
        held(admissionChecks=[check("Pending")]),
        View(local=local(stopPolicy="Hold")),
        Want({"QuotaReserved": ("False", "Inadmissible", "LocalQueue lq is stopped")}, {"admission": None}),
    ),
    "reserved, and the LocalQueue is going": (
        held(admissionChecks=[check("Pending")]),
        View(
            local=local(metadata={"deletionTimestamp": AT, "finalizers": ["x"]}),
            cluster=cluster(admissionChecksStrategy={"admissionChecks": [{"name": "check"}]}),
        ),
        Want(status={"admission_checks": None}),
    ),
    "admitted, and the ClusterQueue is held": (
        held(admitted(), condition("PodsReady", "True", "Started")),
        View(cluster=cluster(stopPolicy="Hold")),
        NOTHING,
    ),
    "admitted, and the ClusterQueue is drained": (
        held(admitted()),
        View(cluster=cluster(stopPolicy="HoldAndDrain")),
        Want(
            {"Evicted": ("True", "ClusterQueueStopped", "The ClusterQueue is stopped")},
            {},
            (("Normal", "EvictedDueToClusterQueueStopped", "The ClusterQueue is stopped"),),
        ),
    ),
    "admitted, and both queues are drained": (
        held(admitted()),
        View(local=local(stopPolicy="HoldAndDrain"), cluster=cluster(stopPolicy="HoldAndDrain")),
        Want(
            {"Evicted": ("True", "LocalQueueStopped", "The LocalQueue is stopped")},
            {},
            (("Normal", "EvictedDueToLocalQueueStopped", "The LocalQueue is stopped"),),
        ),
    ),
    "admitted, its LocalQueue held, and the ClusterQueue drained": (
        held(admitted(), condition("PodsReady", "True", "Started")),
        View(local=local(stopPolicy="Hold"), cluster=cluster(stopPolicy="HoldAndDrain")),
        NOTHING,
    ),
    "admitted, and all queues are gone": (
        held(admitted(), condition("PodsReady", "True", "Started")),
        View(local=None, cluster=None),
        NOTHING,
    ),
    # gates of others
    "gated": (
        workload(metadata={"annotations": {"kueue.x-k8s.io/admission-gated-by": "a.b/c"}}),
        VIEW,
        Want(
            {"QuotaReserved": ("False", "AdmissionGated", "Admission is gated by: a.b/c")},
            {},
            (("Normal", "AdmissionGated", "Workload admission is gated by: a.b/c"),),
        ),
    ),
    "gated no more": (
        workload(condition("QuotaReserved", "False", "AdmissionGated")),
        VIEW,
        Want(
            {
                "QuotaReserved": (
                    "False",
                    "Pending",
                    "AdmissionGatedBy cleared, waiting for quota reservation",
                )
            },
            {},
            (("Normal", "AdmissionGateCleared", "Admission gate cleared, workload is now admissible"),),
        ),
    ),
    # ends
    "finished, and kept for ever": (workload(condition("Finished", "True", "Succeeded", 900)), VIEW, NOTHING),
    "finished, and kept for a while": (
        workload(condition("Finished", "True", "Succeeded", 100)),
        View(LifecycleSettings(after_finished_ns=120 * SECOND)),
        later(20),
    ),
    "finished, and kept for long enough": (
        workload(
            condition("Finished", "True", "Succeeded", 120),
            metadata={"finalizers": ["kueue.x-k8s.io/resource-in-use"]},
        ),
        View(LifecycleSettings(after_finished_ns=120 * SECOND)),
        Want(
            events=(("Normal", "Deleted", "Deleted finished workload due to elapsed retention"),),
            writes=(UpdateWorkload, DeleteWorkload),
        ),
    ),
    "finished, and being deleted": (
        workload(
            condition("Finished", "True", "Succeeded", 120),
            metadata={
                "finalizers": ["kueue.x-k8s.io/resource-in-use", "x"],
                "deletionTimestamp": AT,
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}],
            },
        ),
        View(LifecycleSettings(after_finished_ns=0)),
        Want(writes=(UpdateWorkload,)),
    ),
    "an orphan": (
        held(admitted(), metadata={"labels": {"kueue.x-k8s.io/job-uid": "u"}}),
        VIEW,
        Want({"Finished": ("True", "OwnerNotFound", "The workload's owner no longer exists")}),
    ),
    "an orphan that nobody finishes": (
        held(
            admitted(),
            condition("PodsReady", "True", "Started"),
            metadata={"labels": {"kueue.x-k8s.io/job-uid": "u"}},
        ),
        View(LifecycleSettings(finish_orphaned=False)),
        NOTHING,
    ),
    "an orphan that is being deleted": (
        workload(metadata={"deletionTimestamp": AT, "finalizers": ["kueue.x-k8s.io/resource-in-use"]}),
        VIEW,
        Want(writes=(UpdateWorkload,)),
    ),
    # admission
    "nothing to say": (workload(), VIEW, NOTHING),
    "reserved, without checks": (
        held(),
        VIEW,
        Want(
            {"Admitted": ("True", "Admitted", "The workload is admitted")},
            {},
            (("Normal", "Admitted", "Admitted by ClusterQueue cq, wait time since reservation was 60s"),),
        ),
    ),
    "pending, in words of the gate": (
        workload(condition("QuotaReserved", "False", "Pending")),
        View(LifecycleSettings(reasons=Reasons(granular=True))),
        Want(
            {
                "QuotaReserved": (
                    "False",
                    "PendingEvaluation",
                    "Workload is pending evaluation in the scheduling queue",
                ),
                "Admitted": ("False", "NoReservation", "The workload has no reservation"),
            }
        ),
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_the_next_step(case: str) -> None:
    old, view, want = STEPS[case]
    step = reconcile(old, view, NOW)
    assert tuple(type(write) for write in step.writes) == want.writes
    assert step.again_ns == (None if want.again is None else NOW + want.again * SECOND)
    assert tuple((each.type, each.reason, each.message) for each in step.events) == want.events
    for write in step.writes:
        if want.active is not None:
            assert write.workload.spec.active is want.active
        if isinstance(write, UpdateWorkloadStatus):
            assert changes(old, step) == want.conditions
            for field, value in want.status.items():
                assert shown(write.workload, field) == value
    if want == NOTHING:
        assert step == REST


def shown(of: Workload, field: str) -> Any:
    """A field of the status; the backoff as its count and how many seconds it lasts."""
    value = getattr(of.status, field)
    if field != "requeue_state" or value is None:
        return value
    at = value.requeue_at
    return value.count, None if at is None else (times.parse(at) - NOW) // SECOND


CHECKED = View(
    cluster=cluster(
        resourceGroups=[{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": []}]}],
        admissionChecksStrategy={"admissionChecks": [{"name": "a"}, {"name": "check"}]},
    )
)
CHECKS: dict[str, tuple[list[dict[str, Any]], Want]] = {
    "one wants a retry": (
        [check("Ready", "a"), check("Retry", message="no room")],
        Want(
            {
                "Evicted": (
                    "True",
                    "AdmissionCheck",
                    'Evicted due to AdmissionCheck in Retry state: "check" (no room)',
                )
            },
            {"requeue_state": None},
            (
                (
                    "Normal",
                    "EvictedDueToAdmissionCheck",
                    'Evicted due to AdmissionCheck in Retry state: "check" (no room)',
                ),
            ),
        ),
    ),
    "one wants a retry later": (
        [check("Ready", "a"), check("Retry", requeueAfterSeconds=100)],
        Want(status={"requeue_state": (None, 40)}),
    ),
    "the later of two delays": (
        [
            check("Retry", "a", 10, requeueAfterSeconds=100),
            check("Retry", seconds=90, requeueAfterSeconds=150),
        ],
        Want(status={"requeue_state": (None, 90)}),
    ),
    "both reject": (
        [check("Rejected"), check("Rejected", "a", message="no")],
        Want(
            {
                "DeactivationTarget": (
                    "True",
                    "AdmissionCheck",
                    'AdmissionChecks in Rejected state: "a" (no); "check"',
                )
            },
            {},
            (
                (
                    "Warning",
                    "AdmissionCheckRejected",
                    'Deactivated due to AdmissionChecks in Rejected state: "a" (no); "check"',
                ),
            ),
        ),
    ),
    "one is missing": ([check("Ready")], Want(status={"admission_checks": None})),
}


@pytest.mark.parametrize("case", CHECKS)
def test_what_checks_say(case: str) -> None:
    states, want = CHECKS[case]
    assigned = [{"name": "main", "flavors": {"cpu": "f"}}]
    flavored = held(
        admitted(),
        condition("PodsReady", "True", "Started"),
        admission={"clusterQueue": "cq", "podSetAssignments": assigned},
        admissionChecks=states,
    )
    view = CHECKED
    step = reconcile(flavored, view, NOW)
    assert changes(flavored, step) == want.conditions
    assert tuple((each.type, each.reason, each.message) for each in step.events) == want.events
    [write] = step.writes
    if "requeue_state" in want.status:
        assert shown(write.workload, "requeue_state") == want.status["requeue_state"]
    if case == "one is missing":
        assert write.workload.status is not None
        listed = write.workload.status.admission_checks or []
        assert [(each.name, each.state) for each in listed] == [("a", "Pending"), ("check", "Ready")]
        assert write.whole
