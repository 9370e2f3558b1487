"""Elastic RayClusters, RayJobs and RayServices: an autoscaler asks for workers, and slices follow."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kueue_fast.api.kueue import Workload
from kueue_fast.sim.result import Outcome, SimulationResult, State, WorkloadRow
from kueue_fast.sim.simulate import Simulation
from tests.sim.kind_makers import PREEMPTING, made, queues, ray_cluster, topology, urgent
from tests.sim.world import (
    MINUTE,
    cluster_queue,
    flavor,
    job,
    local_queue,
    one_queue,
    priority_class,
    run,
    seconds,
)

ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}
GATE = "kueue.x-k8s.io/elastic-job"
KINDS = ("RayCluster", "RayJob", "RayService")


def scaling(workers: int = 2, **spec: Any) -> dict[str, Any]:
    """A cluster of a head and workers of one cpu each; its autoscaler takes nothing."""
    options = {"resources": {"requests": {"cpu": 0}}}
    return {
        **ray_cluster(workers),
        "enableInTreeAutoscaling": True,
        "autoscalerOptions": options,
        **spec,
    }


def elastic(kind: str, resize: str | None = None, workers: int = 2, **more: Any) -> dict[str, Any]:
    """Of each kind an object with the same cluster, kept for an hour."""
    cluster = more.pop("cluster", None) or scaling(workers)
    spec = {
        "RayCluster": cluster,
        "RayService": {"rayClusterConfig": cluster},
        "RayJob": {
            "rayClusterSpec": cluster,
            "shutdownAfterJobFinishes": True,
            "submissionMode": "HTTPMode",
        },
    }[kind]
    said = {"run_time": "60m", **({"resize": resize} if resize else {}), **more}
    return made("ray.io/v1", kind, spec, annotations=ELASTIC, **said)


def chain(result: SimulationResult, name: str = "k") -> list[WorkloadRow]:
    return [row for row in result.workloads if row.owner_name == name]


def sizes(row: WorkloadRow) -> list[tuple[float | None, int]]:
    assert row.slice is not None
    return [(seconds(time), pods) for time, pods in row.slice.sizes]


def times(row: WorkloadRow) -> tuple[float | None, float | None, float | None]:
    return seconds(row.arrived_ns), seconds(row.admitted_ns), seconds(row.finished_ns)


def pods(simulation: Simulation) -> tuple[int, int]:
    """Pods of the cluster, and those of them that run."""
    found = list(simulation.cluster.list("Pod"))
    running = [each for each in found if each.status.phase == "Running"]
    assert all(not each.spec.scheduling_gates for each in running)
    gated = [each for each in found if GATE in [gate.name for gate in each.spec.scheduling_gates or ()]]
    assert len(gated) + len(running) == len(found)
    return len(found), len(running)


def pods_at(*objects: dict[str, Any], minutes: list[int]) -> dict[int, tuple[int, int]]:
    return {at: pods(run(*objects, until_ns=at * MINUTE)[1]) for at in minutes}


@pytest.mark.parametrize("kind", KINDS)
def test_it_grows_in_a_new_slice_and_shrinks_in_place(kind: str) -> None:
    result, simulation = run(*one_queue(10), elastic(kind, "10m=8, 30m=3"))
    first, second = chain(result)
    assert (times(first), first.outcome) == ((0, 0, 600), Outcome.REPLACED)
    assert times(second) == (600, 600, 3600)
    assert (sizes(first), sizes(second)) == ([(0, 3)], [(600, 9), (1800, 4)])
    assert second.slice is not None
    assert (second.slice.chain, second.slice.replaces) == (first.name, first.key)
    # Never both slices at once: 3 cpu for 10 minutes, 9 for 20, 4 for 30.
    (use,) = result.queues[0].resources
    assert (use.peak, use.reserved) == (9000, 0)
    assert use.integral == (3 * 10 + 9 * 20 + 4 * 30) * 1000 * MINUTE
    assert list(simulation.cluster.list("Pod")) == []


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_neither_stopped_nor_started_again(kind: str) -> None:
    result, _ = run(*one_queue(10), elastic(kind, "10m=8, 30m=3"), events=True)
    reasons = [event.reason for event in result.events if event.kind == kind]
    assert reasons[:3] == ["CreatedWorkload", "Started", "CreatedWorkload"]
    assert "Stopped" not in reasons
    (told,) = [event for event in result.events if event.reason == "WorkloadSliceReplaced"]
    assert told.name == chain(result)[0].name
    assert told.message.startswith("Replaced to accommodate a workload (UID: ")
    assert told.message.endswith("due to workload slice aggregation")


@pytest.mark.parametrize("kind", KINDS)
def test_workers_beyond_the_admitted_slice_wait_at_their_gates(kind: str) -> None:
    other = job("other", cpu=4, run_time="20m")
    objects = (*one_queue(10), other, elastic(kind, "10m=8, 30m=3"))
    want = {5: (3, 3), 15: (9, 3), 25: (9, 9), 35: (4, 4)}
    assert pods_at(*objects, minutes=list(want)) == want


@pytest.mark.parametrize("kind", KINDS)
def test_a_waiting_slice_follows_further_resizes_in_place(kind: str) -> None:
    other = job("other", cpu=4, run_time="30m")
    objects = (*one_queue(10), other, elastic(kind, "10m=8, 15m=12, 20m=7, 40m=9"))
    result, _ = run(*objects)
    _, second, third = chain(result)
    assert sizes(second) == [(600, 9), (900, 13), (1200, 8)]
    assert (times(second)[1], second.outcome) == (1801, Outcome.REPLACED)
    assert (sizes(third), times(third)) == ([(2400, 10)], (2400, 2400, 3600))
    want = {17: (13, 3), 25: (8, 3), 35: (8, 8), 45: (10, 10)}
    assert pods_at(*objects, minutes=list(want)) == want


@pytest.mark.parametrize("kind", KINDS)
def test_many_resizes_in_one_second(kind: str) -> None:
    resizes = ", ".join(f"10m={count}" for count in (3, 4, 2, 5, 1, 6))
    result, simulation = run(*one_queue(10), elastic(kind, resizes), until_ns=20 * MINUTE)
    slices = chain(result)
    assert {row.outcome for row in slices[:-1]} == {Outcome.REPLACED}
    assert sizes(slices[-1])[-1][1] == 7
    assert (result.queues[0].resources[0].reserved, result.queues[0].resources[0].peak) == (7000, 7000)
    assert pods(simulation) == (7, 7)


@pytest.mark.parametrize("kind", KINDS)
def test_shrinking_makes_room_for_others_at_once(kind: str) -> None:
    other = job("other", cpu=5, arrival="5m", run_time="10m")
    result, _ = run(*one_queue(10), other, elastic(kind, "20m=4", 8))
    (row,) = chain(result, "other")
    assert seconds(row.admitted_ns) == 1201


@pytest.mark.parametrize("kind", KINDS)
def test_down_to_no_worker_and_up_again(kind: str) -> None:
    result, _ = run(*one_queue(10), elastic(kind, "10m=0, 20m=5"))
    first, second = chain(result)
    assert (sizes(first), sizes(second)) == ([(0, 3), (600, 1)], [(1200, 6)])
    assert result.queues[0].resources[0].integral == (3 * 10 + 1 * 10 + 6 * 40) * 1000 * MINUTE


@pytest.mark.parametrize("kind", KINDS)
def test_a_slice_keeps_the_flavor_of_the_one_before(kind: str) -> None:
    quotas = {"small": {"cpu": 4}, "large": {"cpu": 40}}
    objects = (flavor("small"), flavor("large"), cluster_queue("cq", quotas), local_queue())
    result, simulation = run(*objects, elastic(kind, "10m=8"), until_ns=20 * MINUTE)
    first, second = chain(result)
    assert (first.state, second.state) == (State.RUNNING, State.PENDING)
    words = "could not assign large flavor since the original workload is assigned: small"
    assert words in second.waiting_message
    assert pods(simulation) == (9, 3)


# What each kind asks for when it was stopped: a RayCluster what was written last, the others their own spec, of which
# their autoscaler makes what is wanted as soon as the new cluster is there.
BACK = {
    "RayCluster": [([(60, 6), (1800, 4)], State.DELETED)],
    "RayService": [([(60, 6), (120, 3)], State.FINISHED), ([(181, 6), (1800, 4)], State.DELETED)],
    "RayJob": [([(60, 6), (120, 3)], State.FINISHED), ([(181, 6), (1800, 4)], State.FINISHED)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_preempted_one_comes_back_at_its_last_size(kind: str) -> None:
    objects = (*queues(10), urgent(10), elastic(kind, "1m=5, 30m=3"))
    result, _ = run(*objects)
    assert [(sizes(row), row.state) for row in chain(result)[1:]] == BACK[kind]
    assert result.queues[0].resources[0].reserved == 0
    want = {1: (6, 6), 2: (0, 0), 4: (6, 6), 35: (4, 4)}
    assert pods_at(*objects, minutes=list(want)) == want


@pytest.mark.parametrize("kind", KINDS)
def test_the_old_slice_is_preempted_while_the_new_one_waits(kind: str) -> None:
    """It ends at once, and the pods run on without quota, as in the reference. Source: JS-580."""
    classes = priority_class("high", 100), *one_queue(10, **PREEMPTING)
    rush = job(
        "urgent",
        cpu=8,
        arrival="20m",
        run_time="10m",
        labels={"kueue.x-k8s.io/priority-class": "high"},
    )
    result, simulation = run(*classes, elastic(kind, "10m=12", 3), rush, until_ns=25 * MINUTE)
    first, second = chain(result)
    assert (times(first)[2], first.outcome, first.preemptions) == (1200, Outcome.REPLACED, 1)
    assert second.state is State.PENDING
    assert chain(result, "urgent")[0].state is State.RUNNING
    assert pods(simulation) == (13, 4)


@pytest.mark.parametrize("kind", KINDS)
def test_it_ends_while_a_slice_waits_and_leaves_nothing_behind(kind: str) -> None:
    other = job("other", cpu=4, run_time="90m")
    result, simulation = run(*one_queue(10), other, elastic(kind, "10m=8"))
    first, second = chain(result)
    assert second.admitted_ns is None
    assert {seconds(row.finished_ns) for row in (first, second)} == {3600}
    assert result.queues[0].resources[0].reserved == 0
    assert list(simulation.cluster.list("Pod")) == []


def test_a_rayjob_notes_the_sizes_and_the_generation_of_its_cluster() -> None:
    _, simulation = run(*one_queue(10), elastic("RayJob", "10m=8"), until_ns=20 * MINUTE)
    (stored,) = simulation.cluster.list("RayJob")
    (cluster,) = simulation.cluster.list("RayCluster")
    notes = stored.metadata.annotations
    assert notes["kueue.x-k8s.io/raycluster-generation"] == str(cluster.metadata.generation) == "2"
    assert json.loads(notes["kueue.x-k8s.io/raycluster-podset-replica-sizes"]) == [
        {"name": "head", "count": 1},
        {"name": "gpu", "count": 8},
    ]
    # What the user wrote stays; only the cluster has other replicas.
    (group,) = stored.spec.ray_cluster_spec.worker_group_specs
    assert (group.replicas, cluster.spec.worker_group_specs[0].replicas) == (2, 8)


@pytest.mark.parametrize("kind", ("RayJob", "RayService"))
def test_the_cluster_below_has_no_workload_and_is_not_stopped_while_a_slice_waits(kind: str) -> None:
    other = job("other", cpu=7, run_time="20m")
    result, simulation = run(*one_queue(10), other, elastic(kind, "10m=8"), until_ns=15 * MINUTE)
    assert {row.owner_kind for row in chain(result)} == {kind}
    (cluster,) = simulation.cluster.list("RayCluster")
    assert not cluster.spec.suspend
    assert GATE in bytes(cluster.spec.head_group_spec.template.spec).decode()
    assert {each.KIND for each in simulation.cluster.list("Workload")} == {Workload.KIND}


def test_groups_grow_and_shrink_in_one_new_slice() -> None:
    spec = scaling(2)
    small = {**spec["workerGroupSpecs"][0], "groupName": "small", "replicas": 3}
    spec["workerGroupSpecs"] = [*spec["workerGroupSpecs"], small]
    said = "10m=gpu:5, 20m=small:1, 20m=gpu:6"
    result, simulation = run(*one_queue(12), elastic("RayCluster", said, cluster=spec), until_ns=30 * MINUTE)
    assert [[size for _, size in sizes(row)] for row in chain(result)] == [[6], [9, 7], [8]]
    assert pods(simulation) == (8, 8)


def test_hosts_of_a_worker_count_each() -> None:
    spec = scaling(1)
    spec["workerGroupSpecs"][0]["numOfHosts"] = 2
    result, simulation = run(
        *one_queue(12), elastic("RayCluster", "10m=3", cluster=spec), until_ns=30 * MINUTE
    )
    assert [sizes(row) for row in chain(result)] == [[(0, 3)], [(600, 7)]]
    assert pods(simulation) == (7, 7)


def test_what_is_wanted_before_the_start_is_asked_for_at_the_start() -> None:
    other = job("other", cpu=10, run_time="30m")
    result, _ = run(
        *one_queue(10), other, elastic("RayJob", "10m=8, 20m=5", arrival="1m"), until_ns=60 * MINUTE
    )
    first, second = chain(result)
    # The autoscaler lives in the head, which is not there before.
    assert (sizes(first), times(first)) == ([(60, 3)], (60, 1801, 1801))
    assert (sizes(second), times(second)[1]) == ([(1801, 6)], 1801)


def test_a_cluster_that_does_not_scale_itself_is_resized_by_its_user_before_it_runs() -> None:
    other = job("other", cpu=10, run_time="30m")
    spec = ray_cluster(2)
    mine = elastic("RayCluster", "10m=8, 20m=5", cluster=spec, arrival="1m")
    result, _ = run(*one_queue(10), other, mine)
    (only,) = chain(result)
    assert sizes(only) == [(60, 3), (600, 9), (1200, 6)]


def test_workers_of_an_elastic_cluster_find_places_in_a_topology() -> None:
    of = {
        "metadata": {"annotations": {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}},
        "spec": ray_cluster()["headGroupSpec"]["template"]["spec"],
    }
    spec = {**scaling(), **ray_cluster(2, of)}
    objects = (*topology(), elastic("RayCluster", "10m=9, 30m=3", cluster=spec))
    for at, want in {5: 3, 15: 10, 35: 4}.items():
        _, simulation = run(*objects, until_ns=at * MINUTE)
        found = list(simulation.cluster.list("Pod"))
        assert [each.status.phase for each in found] == ["Running"] * want
        assert all(each.spec.node_name for each in found)


def test_with_the_gate_off_one_that_scales_itself_is_refused() -> None:
    with pytest.raises(Exception, match="enableInTreeAutoscaling"):
        run(
            *one_queue(10),
            elastic("RayCluster"),
            feature_gates={"ElasticJobsViaWorkloadSlices": False},
        )
