"""The job reconciler on an evicted Workload, and on one that is being deleted."""

from typing import Any

import msgspec

from kueue_fast.api.batch import Job
from kueue_fast.jobs import reconciler
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.lifecycle import eviction
from kueue_fast.lifecycle.status import Reasons
from kueue_fast.model import conditions
from tests.jobs.makers import NOW, View, admitted, job, made_workload, step, template_of


def running(**status: Any) -> tuple[Job, Any]:
    """A job that was started, and its Workload."""
    a_job = job()
    workload = admitted(made_workload(a_job))
    started = step(a_job, workload).job
    counted = msgspec.convert(
        {"active": 3, "ready": 3, "startTime": "2026-01-01T00:00:00Z", **status}, type(job(status={}).status)
    )
    return msgspec.structs.replace(started, status=counted), workload


def test_an_evicted_job_is_stopped_then_waits_for_its_pods_then_frees_its_quota() -> None:
    a_job, workload = running()
    told = eviction.preempted(workload, "InClusterQueue", "make way", NOW)
    first = step(a_job, told)
    assert isinstance(first, reconciler.UpdateJob)
    stopped = first.job
    assert isinstance(stopped, Job)
    assert first.event is not None
    assert (first.event.reason, first.event.message) == ("Stopped", "make way")
    assert stopped.status is not None
    assert (stopped.spec.suspend, stopped.status.start_time, stopped.status.active) == (True, None, 3)
    assert template_of(stopped) == template_of(job())

    # Its pods still run: the quota stays.
    assert step(stopped, told) is None
    gone = msgspec.structs.replace(stopped, status=msgspec.structs.replace(stopped.status, active=0))
    second = step(gone, told)
    assert isinstance(second, reconciler.UpdateWorkloadStatus)
    status = second.workload.status
    assert status is not None
    assert status.admission is None
    assert conditions.is_true(status.conditions, "Requeued")
    reserved = conditions.find(status.conditions, "QuotaReserved")
    assert reserved is not None
    assert (reserved.status, reserved.reason) == ("False", "Pending")
    # And then there is nothing more to do until it is admitted again.
    assert step(gone, second.workload) is None


def test_reasons_of_the_gates() -> None:
    a_job, workload = running(active=0)
    told = eviction.preempted(workload, "InClusterQueue", "make way", NOW)
    view = View(JobSettings(reasons=Reasons(granular=True)))
    stopped = step(a_job, told, view).job
    status = step(stopped, told, view).workload.status
    reserved = conditions.find(status.conditions, "QuotaReserved")
    assert reserved is not None
    assert reserved.reason == "PendingEvaluation"


def test_a_job_that_ended_while_it_was_evicted_has_ended() -> None:
    a_job, workload = running(conditions=[{"type": "Complete", "status": "True", "message": "done"}])
    action = step(a_job, eviction.preempted(workload, "InClusterQueue", "make way", NOW))
    assert isinstance(action, reconciler.UpdateWorkloadStatus)
    assert action.workload.status is not None
    assert conditions.is_true(action.workload.status.conditions, "Finished")
    assert conditions.find(action.workload.status.conditions, "Requeued") is None


def test_a_workload_that_is_being_deleted_goes_once_its_job_is_stopped() -> None:
    a_job, workload = running()
    metadata = msgspec.structs.replace(workload.metadata, deletion_timestamp="2026-01-01T01:00:00Z")
    going = msgspec.structs.replace(workload, metadata=metadata)
    first = step(a_job, going)
    assert isinstance(first, reconciler.UpdateJob)
    assert first.event is not None
    assert first.event.reason == "Stopped"
    second = step(first.job, going)  # type: ignore[arg-type]
    assert isinstance(second, reconciler.UpdateWorkload)
    assert second.workload.metadata.finalizers is None
