"""The reconciler of elastic jobs. Source: JS-480..489."""

from __future__ import annotations

import msgspec
import pytest

from kueue_fast.api.batch import Job
from kueue_fast.jobs import elastic, reconciler
from kueue_fast.jobs.defaults import defaulted
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.lifecycle import eviction, finish, slices
from kueue_fast.model import conditions
from kueue_fast.model.elastic import ELASTIC_JOB, REPLACEMENT_FOR
from tests.jobs.elastic_makers import ELASTIC, elastic_job, first_slice, running, second_slice, step
from tests.jobs.makers import BATCH, NOW, View, admitted, job, template_of

CHAIN = "kueue.x-k8s.io/workload-slice-name"


def test_the_first_slice_begins_a_chain_of_its_own_name() -> None:
    action = step(elastic_job(3))
    assert isinstance(action, reconciler.CreateWorkload)
    made = action.workload
    assert made.metadata.annotations == {ELASTIC_JOB: "true", CHAIN: made.metadata.name}
    assert slices.pod_counts(made.spec.pod_sets) == {"main": 3}
    assert action.event.message == f"Created Workload: ns/{made.metadata.name}"


def test_the_pods_of_an_elastic_job_are_born_gated() -> None:
    want = [{"name": ELASTIC_JOB}]
    assert template_of(elastic_job())["spec"]["schedulingGates"] == want
    assert defaulted(elastic_job(), BATCH, JobSettings(), False).spec == elastic_job().spec
    off = JobSettings(elastic_jobs=False)
    assert (
        "schedulingGates" not in template_of(defaulted(job(annotations=ELASTIC), BATCH, off, False))["spec"]
    )
    assert "schedulingGates" not in template_of(defaulted(job(), BATCH, JobSettings(), False))["spec"]


def test_slices_are_told_apart_by_the_generation_of_the_job() -> None:
    made = [first_slice(generation=generation).metadata.name for generation in (1, 2, 1)]
    assert made[0] == made[2] != made[1]


def test_growing_makes_a_slice_that_follows_the_admitted_one() -> None:
    old = admitted(first_slice(3))
    new = second_slice(8, old)
    annotations = new.metadata.annotations or {}
    assert annotations[REPLACEMENT_FOR] == f"ns/{old.metadata.name}"
    assert annotations[CHAIN] == old.metadata.name
    assert slices.pod_counts(new.spec.pod_sets) == {"main": 8}
    # The job is at its new size: nothing more to do, and it runs on.
    assert step(running(8, old), old, new) is None


def test_a_third_slice_carries_the_name_of_the_chain_on() -> None:
    old = admitted(first_slice(3))
    middle = admitted(second_slice(8, old), count=8)
    ended = finish.finished(old, slices.SLICE_REPLACED, "replaced", NOW)
    assert ended is not None
    action = step(running(9, old, generation=4), ended, middle)
    assert isinstance(action, reconciler.CreateWorkload)
    annotations = action.workload.metadata.annotations or {}
    assert annotations[REPLACEMENT_FOR] == f"ns/{middle.metadata.name}"
    assert annotations[CHAIN] == old.metadata.name


@pytest.mark.parametrize("pods", [1, 2, 12])
def test_a_waiting_slice_follows_the_job_in_place(pods: int) -> None:
    old = admitted(first_slice(3))
    new = second_slice(8, old)
    action = step(running(pods, old, generation=4), old, new)
    assert isinstance(action, reconciler.UpdateWorkload)
    assert action.workload.metadata.name == new.metadata.name
    assert slices.pod_counts(action.workload.spec.pod_sets) == {"main": pods}


def test_shrinking_changes_the_admitted_slice_in_place() -> None:
    old = admitted(first_slice(3))
    action = step(running(1, old), old)
    assert isinstance(action, reconciler.UpdateWorkload)
    assert slices.pod_counts(action.workload.spec.pod_sets) == {"main": 1}
    assert action.workload.status is old.status


def test_a_job_that_runs_is_not_stopped_while_its_slice_waits() -> None:
    waiting = first_slice(3)
    assert step(elastic_job(3, held=False), waiting) is None
    assert isinstance(
        reconciler.reconcile(job({"suspend": False}), BATCH, waiting, View(), NOW), reconciler.UpdateJob
    )


def test_a_job_that_runs_without_slice_gets_one_and_is_not_stopped() -> None:
    assert isinstance(step(elastic_job(3, held=False, status={"active": 3})), reconciler.CreateWorkload)


def test_a_started_job_carries_the_name_of_the_chain_in_its_template() -> None:
    old = admitted(first_slice(3))
    a_job = running(3, old)
    assert template_of(a_job)["metadata"]["annotations"][CHAIN] == old.metadata.name
    # After an eviction the next slice starts it anew: the template names the Workload of now, and the same chain.
    new = admitted(second_slice(8, old), count=8)
    held = msgspec.structs.replace(
        a_job, spec=msgspec.structs.replace(a_job.spec, suspend=True, parallelism=8)
    )
    action = step(held, new)
    assert isinstance(action, reconciler.UpdateJob)
    assert isinstance(action.job, Job)
    annotations = template_of(action.job)["metadata"]["annotations"]
    assert (annotations[CHAIN], annotations["kueue.x-k8s.io/workload"]) == (
        old.metadata.name,
        new.metadata.name,
    )


def test_an_evicted_slice_stops_its_job_and_frees_its_quota() -> None:
    old = admitted(first_slice(3))
    told = eviction.preempted(old, "InClusterQueue", "make way", NOW)
    action = step(running(3, old), told)
    assert isinstance(action, reconciler.UpdateJob)
    assert isinstance(action.job, Job)
    assert action.job.spec.suspend is True
    gone = msgspec.structs.replace(action.job, status=None)
    freed = step(gone, told)
    assert isinstance(freed, reconciler.UpdateWorkloadStatus)
    assert not conditions.is_true(
        freed.workload.status.conditions if freed.workload.status else None, "QuotaReserved"
    )


def test_an_evicted_slice_with_a_waiting_replacement_ends_at_once_and_the_job_runs_on() -> None:
    """The reference's behaviour, with which pods go on without quota. Source: JS-580."""
    old = admitted(first_slice(3))
    new = second_slice(8, old)
    told = eviction.preempted(old, "InClusterQueue", "make way", NOW)
    a_job = running(8, old)
    action = step(a_job, told, new)
    assert isinstance(action, reconciler.UpdateWorkloadStatus)
    assert finish.is_finished(action.workload)
    assert step(a_job, action.workload, new) is None


def test_an_evicted_replacement_that_holds_no_quota_yet_ends() -> None:
    old = admitted(first_slice(3))
    new = eviction.evicted(second_slice(8, old), "InactiveWorkload", "deactivated", NOW)
    action = step(running(8, old), old, new)
    assert isinstance(action, reconciler.UpdateWorkloadStatus)
    found = conditions.find(action.workload.status.conditions if action.workload.status else None, "Finished")
    assert found is not None
    assert (action.workload.metadata.name, found.reason) == (new.metadata.name, slices.OUT_OF_SYNC)


def test_all_slices_of_a_job_that_ended_end() -> None:
    """The reference forgets the older one, and its quota stays taken. Source: JS-596."""
    old = admitted(first_slice(3))
    new = second_slice(8, old)
    done = msgspec.structs.replace(
        running(8, old),
        status=msgspec.convert(
            {"conditions": [{"type": "Complete", "status": "True", "reason": "Done", "message": "done"}]},
            type(job(status={}).status),
        ),
    )
    workloads = {each.metadata.name: each for each in (old, new)}
    order = []
    while (action := step(done, *workloads.values())) is not None:
        assert isinstance(action, reconciler.UpdateWorkloadStatus)
        workloads[action.workload.metadata.name] = action.workload
        order.append(action.workload.metadata.name)
    assert order == [new.metadata.name, old.metadata.name]
    for each in workloads.values():
        found = conditions.find(each.status.conditions if each.status else None, "Finished")
        assert found is not None
        assert (found.reason, found.message) == ("Succeeded", "done")


def test_a_deleted_replacement_stops_the_job_and_may_go() -> None:
    old = admitted(first_slice(3))
    new = second_slice(8, old)
    deleted = msgspec.structs.replace(
        new, metadata=msgspec.structs.replace(new.metadata, deletion_timestamp="2026-01-01T00:30:00Z")
    )
    action = step(running(8, old), old, deleted)
    assert isinstance(action, reconciler.UpdateJob)
    assert isinstance(action.job, Job)
    released = step(msgspec.structs.replace(action.job, status=None), old, deleted)
    assert isinstance(released, reconciler.UpdateWorkload)
    assert not released.workload.metadata.finalizers


def test_no_slice_is_made_while_several_live() -> None:
    built = first_slice(9)
    with pytest.raises(elastic.TooManySlicesError, match="2 have not ended"):
        elastic.new_slice(built, [first_slice(1), first_slice(2)])


def test_a_job_without_queue_is_left_alone() -> None:
    assert step(elastic_job(3, labels={})) is None


@pytest.mark.parametrize(
    ("annotations", "gate", "want"),
    [(ELASTIC, True, True), (ELASTIC, False, False), ({}, True, False), ({ELASTIC_JOB: "yes"}, True, False)],
)
def test_which_jobs_are_elastic(annotations: dict[str, str], gate: bool, want: bool) -> None:
    view = View(JobSettings(elastic_jobs=gate))
    assert elastic.is_elastic_job(job(annotations=annotations), BATCH, view) is want
