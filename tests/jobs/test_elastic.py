"""The reconciler of elastic jobs. Source: JS-480..489."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.batch import Job
from kueue_fast.api.kueue import PriorityClassRef, Workload, WorkloadPriorityClass
from kueue_fast.errors import InputError
from kueue_fast.jobs import elastic, reconciler
from kueue_fast.jobs.defaults import defaulted
from kueue_fast.jobs.ray_cluster import RayClusters
from kueue_fast.jobs.ray_clusters import slice_annotations
from kueue_fast.jobs.ray_job import RayJobs
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.lifecycle import eviction, finish, slices
from kueue_fast.model import conditions
from kueue_fast.model.elastic import ELASTIC_JOB, REPLACEMENT_FOR
from tests.jobs.kinds import changed, read
from tests.jobs.makers import BATCH, NOW, QUEUE, View, admitted, job, template_of

ELASTIC = {ELASTIC_JOB: "true"}
CHAIN = "kueue.x-k8s.io/workload-slice-name"
PRIORITY = "kueue.x-k8s.io/priority-class"


def elastic_job(pods: int = 3, *, held: bool = True, generation: int = 1, **more: Any) -> Job:
    made = job({"parallelism": pods, "suspend": held}, annotations=ELASTIC, **more)
    made.metadata.generation = generation
    return defaulted(made, BATCH, JobSettings(), False) if held else made


def step(a_job: Job, *workloads: Workload, view: View | None = None) -> Any:
    return elastic.reconcile(a_job, BATCH, workloads, view or View(), NOW)


def stored(workload: Workload, uid: str, minute: int) -> Workload:
    """A Workload as the API server gives it back."""
    metadata = msgspec.structs.replace(
        workload.metadata, uid=uid, creation_timestamp=f"2026-01-01T00:{minute:02}:00Z"
    )
    return msgspec.structs.replace(workload, metadata=metadata)


def first_slice(pods: int = 3, **more: Any) -> Workload:
    action = step(elastic_job(pods, **more))
    assert isinstance(action, reconciler.CreateWorkload)
    return stored(action.workload, "1", 1)


def running(pods: int, workload: Workload, *, generation: int = 2) -> Job:
    """The Job of an admitted slice, started."""
    action = step(elastic_job(slices.pod_counts(workload.spec.pod_sets)["main"]), workload)
    assert isinstance(action, reconciler.UpdateJob)
    started = msgspec.structs.replace(
        action.job, status=msgspec.convert({"active": 1}, type(job(status={}).status))
    )
    assert isinstance(started, Job)
    started = msgspec.structs.replace(
        started,
        spec=msgspec.structs.replace(started.spec, parallelism=pods),
        metadata=msgspec.structs.replace(started.metadata, generation=generation),
    )
    return started


def second_slice(pods: int, old: Workload, *, view: View | None = None) -> Workload:
    action = step(running(pods, old, generation=3), old, view=view)
    assert isinstance(action, reconciler.CreateWorkload)
    return stored(action.workload, "2", 2)


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


# --- priority


def classed(workload: Workload, name: str, value: int) -> Workload:
    ref = PriorityClassRef(group="kueue.x-k8s.io", kind="WorkloadPriorityClass", name=name)
    spec = msgspec.structs.replace(workload.spec, priority_class_ref=ref, priority=value)
    return msgspec.structs.replace(workload, spec=spec)


def two_classes() -> View:
    view = View()
    view.workload_classes["low"] = msgspec.convert(
        {"metadata": {"name": "low"}, "value": 10}, WorkloadPriorityClass
    )
    return view


def labelled(a_job: Job, name: str) -> Job:
    return msgspec.structs.replace(
        a_job, metadata=msgspec.structs.replace(a_job.metadata, labels={**QUEUE, PRIORITY: name})
    )


def test_a_waiting_slice_follows_the_class_of_its_job() -> None:
    waiting = classed(first_slice(3), "low", 10)
    action = step(labelled(elastic_job(3), "high"), waiting, view=two_classes())
    assert isinstance(action, reconciler.UpdateWorkload)
    assert (action.workload.spec.priority, action.workload.spec.priority_class_ref.name) == (1000, "high")  # type: ignore[union-attr]
    assert action.event is not None
    assert (action.event.reason, action.event.message) == (
        "UpdatedWorkload",
        f"Updated workload priority class: ns/{waiting.metadata.name}",
    )


def test_count_and_class_change_in_two_writes() -> None:
    waiting = classed(first_slice(3), "low", 10)
    a_job = labelled(elastic_job(5), "high")
    resized = step(a_job, waiting, view=two_classes())
    assert slices.pod_counts(resized.workload.spec.pod_sets) == {"main": 5}
    assert resized.workload.spec.priority == 10
    assert step(a_job, resized.workload, view=two_classes()).workload.spec.priority == 1000


def test_a_slice_stays_as_it_is_when_the_class_does_not_exist() -> None:
    with pytest.raises(InputError, match="missing"):
        step(labelled(elastic_job(3), "missing"), classed(first_slice(3), "low", 10), view=two_classes())


def test_the_replacement_and_the_slice_behind_it_follow_both() -> None:
    view = two_classes()
    plain = admitted(first_slice(3))
    old, new = classed(plain, "low", 10), classed(second_slice(8, plain), "low", 10)
    a_job = labelled(running(8, plain), "high")
    known = {each.metadata.name: each for each in (old, new)}
    order = []
    while (action := step(a_job, *known.values(), view=view)) is not None:
        known[action.workload.metadata.name] = action.workload
        order.append(action.workload.metadata.name)
    assert order == [new.metadata.name, old.metadata.name]
    assert {each.spec.priority for each in known.values()} == {1000}


def test_the_admitted_slice_follows_before_its_replacement_is_made() -> None:
    view = two_classes()
    plain = admitted(first_slice(3))
    old = classed(plain, "low", 10)
    a_job = labelled(running(8, plain), "high")
    updated = step(a_job, old, view=view)
    assert updated.workload.spec.priority == 1000
    made = step(a_job, updated.workload, view=view)
    assert isinstance(made, reconciler.CreateWorkload)
    assert made.workload.spec.priority == 1000


def test_an_admitted_slice_without_class_cannot_get_one() -> None:
    old = admitted(first_slice(3))
    assert old.spec.priority_class_ref is None
    assert step(labelled(running(3, old), "high"), old, view=two_classes()) is None


def test_a_class_that_was_edited_is_no_reason_to_write() -> None:
    assert (
        step(labelled(elastic_job(3), "high"), classed(first_slice(3), "high", 5), view=two_classes()) is None
    )


def test_a_stale_value_is_mended_together_with_another_name() -> None:
    view = two_classes()
    plain = admitted(first_slice(3))
    old, new = classed(plain, "high", 5), classed(second_slice(8, plain), "low", 10)
    a_job = labelled(running(8, plain), "high")
    first = step(a_job, old, new, view=view)
    assert (first.workload.metadata.name, first.workload.spec.priority) == (old.metadata.name, 1000)
    second = step(a_job, first.workload, new, view=view)
    assert (second.workload.metadata.name, second.workload.spec.priority) == (new.metadata.name, 1000)


# --- other kinds

RAY = """
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: ray
  namespace: ns
  uid: ray-uid
  generation: 4
  labels: {kueue.x-k8s.io/queue-name: lq}
  annotations: {kueue.x-k8s.io/elastic-job: "true"}
spec:
  enableInTreeAutoscaling: true
  suspend: true
  headGroupSpec: {template: {spec: {containers: [{name: head}]}}}
  workerGroupSpecs:
    - {groupName: small, replicas: 2, template: {spec: {containers: [{name: c}]}}}
    - {groupName: large, replicas: 3, template: {spec: {containers: [{name: c}]}}}
"""


def test_a_ray_cluster_has_slices_as_well() -> None:
    view, kind = View(), RayClusters()
    cluster = read(RAY)
    assert elastic.is_elastic_job(cluster, kind, view)
    made = elastic.reconcile(cluster, kind, [], view, NOW)
    assert isinstance(made, reconciler.CreateWorkload)
    assert slices.pod_counts(made.workload.spec.pod_sets) == {"head": 1, "small": 2, "large": 3}
    held = stored(made.workload, "1", 1)
    one = {"name": "head", "count": 1}, {"name": "small", "count": 2}, {"name": "large", "count": 3}
    status: Any = {
        "admission": {"clusterQueue": "cq", "podSetAssignments": list(one)},
        "conditions": [{"type": name, "status": "True"} for name in ("QuotaReserved", "Admitted")],
    }
    held = msgspec.structs.replace(held, status=msgspec.convert(status, type(admitted(held).status)))
    shrunk = changed(changed(cluster, "spec/suspend", False), "spec/workerGroupSpecs/0/replicas", 1)
    action = elastic.reconcile(shrunk, kind, [held], view, NOW)
    assert isinstance(action, reconciler.UpdateWorkload)
    assert slices.pod_counts(action.workload.spec.pod_sets) == {"head": 1, "small": 1, "large": 3}
    mixed = changed(changed(shrunk, "spec/workerGroupSpecs/1/replicas", 4), "metadata/generation", 6)
    action = elastic.reconcile(mixed, kind, [held], view, NOW)
    assert isinstance(action, reconciler.CreateWorkload)
    assert (action.workload.metadata.annotations or {})[REPLACEMENT_FOR] == f"ns/{held.metadata.name}"


def test_a_ray_job_whose_cluster_was_resized_gets_a_slice_of_another_name() -> None:
    cluster = read(RAY)
    made = read(
        """
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: j, namespace: ns, generation: 2}
spec: {rayClusterSpec: {headGroupSpec: {template: {spec: {containers: [{name: head}]}}}}}
"""
    )
    assert RayJobs().slice_mark(made) == "2"
    pod_sets = RayClusters().pod_sets(cluster, JobSettings())
    notes = slice_annotations(pod_sets, cluster)
    assert notes == {
        "kueue.x-k8s.io/raycluster-generation": "4",
        "kueue.x-k8s.io/raycluster-podset-replica-sizes": (
            '[{"name":"head","count":1},{"name":"small","count":2},{"name":"large","count":3}]'
        ),
    }
    assert RayJobs().slice_mark(changed(made, "metadata/annotations", notes)) == "2_4"
    assert slice_annotations(pod_sets, None)["kueue.x-k8s.io/raycluster-generation"] == ""


def test_a_job_whose_pod_sets_have_other_names_is_treated_as_one_that_is_not_elastic() -> None:
    view, kind = View(), RayClusters()
    cluster = read(RAY)
    made = elastic.reconcile(cluster, kind, [], view, NOW)
    assert isinstance(made, reconciler.CreateWorkload)
    renamed = changed(changed(cluster, "spec/workerGroupSpecs/0/groupName", "tiny"), "spec/suspend", False)
    # It runs without an admitted Workload, so it is stopped.
    action = elastic.reconcile(renamed, kind, [stored(made.workload, "1", 1)], view, NOW)
    assert isinstance(action, reconciler.UpdateJob)
