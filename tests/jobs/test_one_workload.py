"""The one Workload of a job: found among those it owns, brought in line, or adopted as it was made beforehand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from kueue_fast.api.batch import Job
from kueue_fast.api.kueue import Workload, WorkloadStatus
from kueue_fast.api.meta import OwnerReference
from kueue_fast.jobs import reconciler
from kueue_fast.jobs.actions import DeleteWorkload, GroupAction
from kueue_fast.jobs.equivalence import same_pod_sets
from kueue_fast.jobs.one_workload import Ensured, find
from kueue_fast.jobs.reconciler import DeleteJob, UpdateJob, UpdateWorkload, UpdateWorkloadStatus
from kueue_fast.jobs.settings import JobSettings
from tests.jobs.makers import BATCH, MIN, NOW, POD, QUEUE, View, admitted, job, made_workload, step

NAMED = "kueue.x-k8s.io/prebuilt-workload-name"


def renamed(workload: Workload, name: str) -> Workload:
    return msgspec.structs.replace(workload, metadata=msgspec.structs.replace(workload.metadata, name=name))


def owned_by(workload: Workload, *owners: OwnerReference) -> Workload:
    metadata = msgspec.structs.replace(workload.metadata, owner_references=list(owners) or None)
    return msgspec.structs.replace(workload, metadata=metadata)


def owner(uid: str = "uid", name: str = "name", controller: bool = True) -> OwnerReference:
    return OwnerReference(api_version="batch/v1", kind="Job", name=name, uid=uid, controller=controller)


def found(a_job: Job, *owned: Workload, named: Workload | None = None, **settings: Any) -> Ensured:
    return find(a_job, BATCH, owned, named, View(JobSettings(**settings)), NOW)


def told(action: GroupAction) -> tuple[type, str | None]:
    """What an action is, and the event that comes with it."""
    event = action.event
    return type(action), None if event is None else f"{event.reason}: {event.message}"


MORE_CPU = {**POD, "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}
SAME_IN_OTHER_WORDS = {
    **POD,
    "initContainers": [],
    "containers": [{"name": "c", "env": [], "resources": {"requests": {"cpu": "1000m"}, "limits": {}}}],
    "nodeSelector": {"a": "b"},
}
CHANGES: dict[str, tuple[Callable[[], Job], bool]] = {
    "nothing": (job, True),
    "the same in other words": (lambda: job(pod=SAME_IN_OTHER_WORDS), True),
    "labels of the template": (lambda: job(template={"labels": {"a": "b"}}), True),
    "more pods": (lambda: job({"parallelism": 4}), False),
    "more cpu": (lambda: job(pod=MORE_CPU), False),
    "tolerations": (lambda: job(pod={**POD, "tolerations": [{"operator": "Exists"}]}), False),
    "an init container": (lambda: job(pod={**POD, "initContainers": [{"name": "i"}]}), False),
    "a limit on its time": (
        lambda: job(labels={**QUEUE, "kueue.x-k8s.io/max-exec-time-seconds": "60"}),
        False,
    ),
    "fewer pods will do": (lambda: job(annotations={MIN: "1"}), False),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_changed_job_and_its_workload(case: str) -> None:
    changed, want = CHANGES[case]
    workload = made_workload(job())
    ensured = found(changed(), workload)
    if want:
        assert ensured == Ensured(workload)
        return
    [action] = ensured.actions
    assert ensured.workload is None
    assert told(action) == (
        UpdateWorkload,
        f"UpdatedWorkload: Updated not matching Workload for suspended job: ns/{workload.metadata.name}",
    )
    assert isinstance(action, UpdateWorkload)
    assert found(changed(), action.workload) == Ensured(action.workload)


def test_pod_sets_of_other_numbers_differ() -> None:
    pod_sets = BATCH.pod_sets(job(), JobSettings())
    assert same_pod_sets(pod_sets, pod_sets, tolerations=True)
    assert not same_pod_sets(pod_sets, [], tolerations=True)


def test_a_workload_that_holds_quota_is_deleted_and_not_updated() -> None:
    workload = admitted(made_workload(job()))
    [action] = found(job({"parallelism": 4}), workload).actions
    assert told(action) == (
        DeleteWorkload,
        f"DeletedWorkload: Deleted not matching Workload: ns/{workload.metadata.name}",
    )


def test_further_workloads_are_deleted() -> None:
    first = made_workload(job())
    [action] = found(job(), first, renamed(first, "again")).actions
    assert told(action) == (DeleteWorkload, "DeletedWorkload: Deleted not matching Workload: ns/again")
    assert isinstance(action, DeleteWorkload)


def test_a_running_job_is_what_its_admission_made_of_it() -> None:
    workload = admitted(made_workload(job()))
    running = step(job(), workload).job
    assert not running.spec.suspend
    assert found(running, workload) == Ensured(workload)
    # Held again, its templates may be those from before.
    assert found(job(), workload) == Ensured(workload)


def test_a_running_job_that_was_changed_is_stopped() -> None:
    workload = admitted(made_workload(job()))
    running = step(job(), workload).job
    changed = msgspec.structs.replace(running, spec=msgspec.structs.replace(running.spec, parallelism=5))
    stop, delete = found(changed, workload).actions
    assert told(stop) == (
        UpdateJob,
        "Stopped: No matching Workload; restoring pod templates according to existent Workload",
    )
    assert told(delete)[0] is DeleteWorkload


OWNERS: dict[str, tuple[tuple[OwnerReference, ...], dict[str, Any], bool]] = {
    "the job": ((owner(),), {}, True),
    "another of the same name": ((owner("other"),), {}, False),
    "another of the same name, without the gate": ((owner("other"),), {"finish_orphaned": False}, True),
    "one of another name": ((owner(name="other"),), {}, False),
    "no controller": ((owner(controller=False),), {}, False),
}


@pytest.mark.parametrize("case", OWNERS)
def test_whose_workload_it_is(case: str) -> None:
    owners, settings, want = OWNERS[case]
    ensured = found(job(), owned_by(made_workload(job()), *owners), **settings)
    assert (ensured.workload is not None) is want


def test_gates_and_priority_are_followed() -> None:
    workload = made_workload(job())
    gate = {"kueue.x-k8s.io/admission-gated-by": "a.b/c"}
    [gated] = found(job(annotations=gate), workload).actions
    assert told(gated) == (UpdateWorkload, 'UpdatedWorkload: Updated workload AdmissionGatedBy to "a.b/c"')
    [raised] = found(job(labels={**QUEUE, "kueue.x-k8s.io/priority-class": "high"}), workload).actions
    assert isinstance(raised, UpdateWorkload)
    assert raised.workload.spec.priority == 1000


# ---- made beforehand ----


def naming(spec: dict[str, Any] | None = None) -> Job:
    return job(spec, labels={**QUEUE, NAMED: "before"})


def beforehand(*owners: OwnerReference, of: Job | None = None) -> Workload:
    return owned_by(renamed(made_workload(of or job()), "before"), *owners)


def test_a_workload_that_nobody_controls_becomes_the_jobs() -> None:
    [action] = found(naming(), named=beforehand()).actions
    assert isinstance(action, UpdateWorkload)
    assert action.event is None
    metadata = action.workload.metadata
    [own] = metadata.owner_references or []
    assert (own.api_version, own.kind, own.name, own.uid, own.controller, own.block_owner_deletion) == (
        "batch/v1",
        "Job",
        "name",
        "uid",
        True,
        True,
    )
    assert (metadata.labels or {})["kueue.x-k8s.io/job-uid"] == "uid"
    assert found(naming(), named=action.workload) == Ensured(action.workload)


def test_a_workload_of_another_job_does_not() -> None:
    assert found(naming(), named=beforehand(owner("other"))) == Ensured(None)


def test_one_that_does_not_fit_ends() -> None:
    named = beforehand(owner(), of=job({"parallelism": 5}))
    [action] = found(naming(), named=named).actions
    assert isinstance(action, UpdateWorkloadStatus)
    status = action.workload.status
    assert status is not None
    [finished] = status.conditions or []
    assert (finished.type, finished.reason, finished.message) == (
        "Finished",
        "OutOfSync",
        "The prebuilt workload is out of sync with its user job",
    )
    assert found(naming(), named=action.workload) == Ensured(None)


def test_a_job_whose_workload_is_not_there_is_held_and_gets_none() -> None:
    assert found(naming()) == Ensured(None)
    held = step(naming({"suspend": False}), None)
    assert isinstance(held, UpdateJob)
    assert held.event is not None
    assert (held.event.reason, held.event.message) == ("Stopped", "missing workload")
    assert step(naming(), None) is None


# ---- the reconciler ----


def test_the_reconciler_tells_whether_pods_are_ready() -> None:
    view = View(JobSettings(wait_for_pods_ready=True))
    workload = made_workload(job())
    first = step(job(), workload, view)
    assert isinstance(first, UpdateWorkloadStatus)
    assert reason_of(first.workload) == ("False", "WaitForStart")
    running = step(job(), admitted(workload), View()).job
    ready = msgspec.convert({"active": 3, "ready": 3}, type(job(status={}).status))
    second = step(msgspec.structs.replace(running, status=ready), admitted(workload), view)
    assert isinstance(second, UpdateWorkloadStatus)
    assert reason_of(second.workload) == ("True", "Started")


def reason_of(workload: Workload) -> tuple[str, str]:
    assert workload.status is not None
    [condition] = [each for each in workload.status.conditions or () if each.type == "PodsReady"]
    return condition.status, condition.reason


def test_the_job_of_a_workload_that_kueue_switched_off_is_deleted_after_a_while() -> None:
    settings = JobSettings(after_deactivated_ns=60 * 10**9)
    off = {
        "type": "Evicted",
        "status": "True",
        "reason": "DeactivatedDueToAdmissionCheck",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:59:30Z",
    }
    made = made_workload(job())
    status = msgspec.convert({"conditions": [off]}, WorkloadStatus)
    spec = msgspec.structs.replace(made.spec, active=False)
    workload = msgspec.structs.replace(made, spec=spec, status=status)
    view = View(settings)
    later = NOW + 30 * 10**9
    assert step(job(), workload, view) is None
    assert reconciler.next_look(workload, settings, NOW) == later
    action = reconciler.reconcile(job(), BATCH, workload, view, later)
    assert isinstance(action, DeleteJob)
    assert (action.event.reason, action.event.message) == (
        "Deleted",
        "Deleted job: deactivation retention period expired",
    )
    assert reconciler.next_look(workload, settings, later) is None
