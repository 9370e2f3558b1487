"""Late pods and Workloads made beforehand, for every kind of job."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.api.configuration import Configuration
from kueue_fast.api.configuration_types import Integrations
from kueue_fast.api.kueue import Workload
from kueue_fast.jobs.registry import Registry
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.sim.manifest import PREFIX
from kueue_fast.sim.result import State
from tests.sim.kind_makers import (
    GROUP,
    PRIORITY,
    RUNNING_KINDS,
    SERVING_KINDS,
    SPARK,
    group,
    leader_worker_set,
    made,
    plain_pod,
    ray_cluster,
    ray_job,
    serving,
    template,
)
from tests.sim.test_lifecycle import conditions, said, told, waiting
from tests.sim.world import MINUTE, job, one_queue, priority_class, rows, run, seconds, workload

NAMED = "kueue.x-k8s.io/prebuilt-workload-name"
PODS: dict[str, list[dict[str, Any]]] = {
    "a pod": [plain_pod("k")],
    "a group of pods": group(4),
    "Deployment": [serving("Deployment", 1, run_time="40m")],
}
FRAMEWORKS = list(Registry(JobSettings(frameworks=(), spark_applications=True)).frameworks)
ALL = {**RUNNING_KINDS, **SERVING_KINDS, **PODS}


def configured() -> Configuration:
    """All kinds are on, and pods have five minutes to start."""
    configuration = waiting()
    configuration.integrations = Integrations(frameworks=FRAMEWORKS)
    return configuration


def annotated(objects: list[dict[str, Any]], **values: str) -> list[dict[str, Any]]:
    """The objects with annotations of the simulator on those that are jobs."""
    made_so = []
    for each in objects:
        if each["kind"] == "ClusterTrainingRuntime":
            made_so.append(each)
            continue
        known = each["metadata"].get("annotations") or {}
        metadata = {**each["metadata"], "annotations": {**known, **said(**values)}}
        made_so.append({**each, "metadata": metadata})
    return made_so


@pytest.mark.parametrize("kind", ALL)
def test_pods_of_every_kind_are_ready_by_themselves(kind: str) -> None:
    objects = annotated(ALL[kind], run_time="2h")
    result, simulation = run(*one_queue(), *objects, until_ns=90 * MINUTE, **SPARK)
    assert result.evictions == []
    assert conditions(simulation)["PodsReady"] == ("True", "Started")


@pytest.mark.parametrize("kind", sorted(ALL.keys() - {"Deployment"}))
def test_late_pods_of_every_kind_are_evicted_and_may_be_in_time_the_second_time(kind: str) -> None:
    objects = annotated(ALL[kind], run_time="60m", ready_after="never,1m")
    result, simulation = run(
        *one_queue(), *objects, configuration=configured(), until_ns=15 * MINUTE, **SPARK
    )
    late = [(seconds(each.time_ns), each.reason) for each in result.evictions]
    assert late == [(300, "EvictedDueToPodsReadyTimeout")]
    if kind == "a pod":
        # It has failed, and nobody makes another one.
        assert result.workloads[0].state is State.FINISHED
        return
    [row] = result.workloads
    assert (row.state, seconds(row.admitted_ns)) == (State.RUNNING, 360)
    assert conditions(simulation)["PodsReady"] == ("True", "Started")


def test_every_pod_of_a_deployment_starts_for_the_first_time() -> None:
    late = serving("Deployment", 1, run_time="14m", ready_after="never,1m")
    result, _ = run(*one_queue(), late, configuration=configured(), **SPARK)
    assert [seconds(each.time_ns) for each in result.evictions] == [300, 600]


# ---- Workloads made beforehand ----


def beforehand(pod_sets: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    """A Workload of one pod, or of these pod sets."""
    found = workload("before", run_time=None, **more)
    if pod_sets is not None:
        found["spec"]["podSets"] = pod_sets
    return found


def sets(*counts: tuple[str, int], pods: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return [{"name": name, "count": count, "template": pods or template()} for name, count in counts]


NAMING = {"annotations": {NAMED: "before"}}
ADOPTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "Job": (job("k", run_time="10m", labels={NAMED: "before"}), beforehand()),
    "RayJob": (
        ray_job(annotations={NAMED: "before"}),
        beforehand(sets(("head", 1), ("gpu", 2), ("submitter", 1))),
    ),
    "RayCluster": (
        made("ray.io/v1", "RayCluster", ray_cluster(), run_time="10m", **NAMING),
        beforehand(sets(("head", 1), ("gpu", 3))),
    ),
    "Pod": (plain_pod("k", annotations={NAMED: "before"}), beforehand()),
}


@pytest.mark.parametrize("late", [False, True], ids=["before the job", "after the job"])
@pytest.mark.parametrize("kind", ADOPTED)
def test_a_job_runs_as_the_workload_that_was_made_beforehand(kind: str, late: bool) -> None:
    obj, named = ADOPTED[kind]
    named = {**named, "metadata": {**named["metadata"], "annotations": said(arrival="1m") if late else {}}}
    result, simulation = run(*one_queue(), obj, named)
    [row] = result.workloads
    assert (row.name, row.owner_kind, row.owner_name) == ("before", kind, "k")
    start = 60 if late else 0
    ended = State.DELETED if kind == "RayCluster" else State.FINISHED
    assert (seconds(row.admitted_ns), seconds(row.finished_ns), row.state) == (start, start + 600, ended)
    for found in simulation.cluster.list(Workload.KIND):
        [owner] = found.metadata.owner_references
        assert owner.controller
        assert found.metadata.labels["kueue.x-k8s.io/job-uid"] == owner.uid


def test_a_group_of_pods_runs_as_the_workload_that_was_made_beforehand() -> None:
    members = group(2, annotations={NAMED: "g"})
    marked = {"kueue.x-k8s.io/is-group-workload": "true"}
    [pod_set] = run(*one_queue(), *group(2))[1].cluster.list(Workload.KIND)
    role = pod_set.spec.pod_sets[0].name
    named = workload("g", run_time=None)
    named["metadata"]["annotations"] = {**marked, f"{PREFIX}arrival": "1m"}
    named["spec"]["podSets"] = sets((role, 2))
    result, _ = run(*one_queue(), *members, named)
    [row] = result.workloads
    assert (row.name, seconds(row.admitted_ns), row.state) == ("g", 60, State.FINISHED)
    assert members[0]["metadata"]["labels"][GROUP] == "g"


def test_a_workload_that_does_not_fit_its_job_ends() -> None:
    result, simulation = run(*one_queue(), beforehand(cpu=2), job("k", labels={NAMED: "before"}), events=True)
    assert conditions(simulation) == {"Finished": ("True", "OutOfSync")}
    [found] = simulation.cluster.list(Workload.KIND)
    assert found.status.conditions[0].message == "The prebuilt workload is out of sync with its user job"
    [stopped] = simulation.cluster.list("Job")
    assert stopped.spec.suspend
    assert told(result) == []


def test_a_workload_of_another_job_is_left_alone() -> None:
    named = {NAMED: "before"}
    result, simulation = run(
        *one_queue(), beforehand(), job("first", labels=named), job("second", labels=named, arrival="10s")
    )
    assert [row.owner_name for row in result.workloads] == ["first"]
    assert [bool(each.spec.suspend) for each in simulation.cluster.list("Job")] == [False, True]


# ---- the WorkloadPriorityClass `default` ----

KINDS_WITH_CLASS = {
    "Job": job("k", run_time="10m"),
    "RayJob": ray_job(),
    "Pod": plain_pod("k"),
    "LeaderWorkerSet": leader_worker_set(1, 4, run_time="10m"),
    "Deployment": serving("Deployment", 1, run_time="10m"),
}


@pytest.mark.parametrize("kind", KINDS_WITH_CLASS)
def test_jobs_get_the_default_class_where_the_gate_is_on(kind: str) -> None:
    objects = (*one_queue(), priority_class("default", 7), KINDS_WITH_CLASS[kind])
    on, _ = run(*objects, feature_gates={"WorkloadPriorityClassDefaulting": True}, until_ns=MINUTE)
    off, _ = run(*objects, until_ns=MINUTE)
    found = [(row.priority, row.priority_class) for row in (*on.workloads, *off.workloads)]
    assert found == [(7, "default"), (0, None)]


def test_a_class_that_is_named_stays() -> None:
    named = job("k", labels={PRIORITY: "high"})
    result, _ = run(
        *one_queue(),
        priority_class("default", 7),
        priority_class("high", 100),
        named,
        feature_gates={"WorkloadPriorityClassDefaulting": True},
    )
    assert rows(result)["k"].priority == 100


def test_deactivating_a_deployment_reaches_the_workloads_of_its_pods() -> None:
    """Its pods are evicted, and it makes others, whose Workloads are active."""
    objects = annotated([serving("Deployment", 2)], active="5m=false")
    result, _ = run(*one_queue(4), *objects, until_ns=10 * MINUTE)
    assert [(row.state, seconds(row.admitted_ns)) for row in result.workloads] == [
        (State.DELETED, 0),
        (State.DELETED, 0),
        (State.RUNNING, 300),
        (State.RUNNING, 300),
    ]
