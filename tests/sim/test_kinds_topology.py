"""Kinds of jobs that are placed by topology: their pods go to the domains of their Workload, and again after a loss."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kueue_fast.sim.result import State
from kueue_fast.sim.simulate import Simulation
from tests.sim.kind_makers import (
    REQUIRED,
    SPARK,
    group,
    job_set,
    leader_worker_set,
    made,
    plain_pod,
    ray_cluster,
    ray_job,
    replicas,
    replicated,
    required,
    runtime,
    serving,
    topology,
    wrapped,
)
from tests.sim.world import MINUTE, job, rows, run, seconds

IN_A_RACK = required("rack", 2)
SAID = {REQUIRED: "rack"}

# Kind: its objects, and how many pods stand in each rack.
PLACED: dict[str, tuple[list[dict[str, Any]], dict[str, int]]] = {
    "JobSet": (
        [job_set(replicated("a", 1, IN_A_RACK), replicated("b", 2, IN_A_RACK), run_time="20m")],
        {"r0": 2, "r1": 4},
    ),
    "PyTorchJob": (
        [
            made(
                "kubeflow.org/v1",
                "PyTorchJob",
                replicas("pytorchReplicaSpecs", IN_A_RACK, Master=1, Worker=3),
                run_time="20m",
            )
        ],
        {"r0": 4},
    ),
    "MPIJob": (
        [
            made(
                "kubeflow.org/v2beta1",
                "MPIJob",
                {**replicas("mpiReplicaSpecs", IN_A_RACK, Launcher=1, Worker=3), "runLauncherAsWorker": True},
                run_time="20m",
            )
        ],
        {"r0": 4},
    ),
    "AppWrapper": (
        [
            made(
                "workload.codeflare.dev/v1beta2",
                "AppWrapper",
                {"components": [wrapped(IN_A_RACK)]},
                run_time="20m",
            )
        ],
        {"r0": 4},
    ),
    "SparkApplication": (
        [
            made(
                "sparkoperator.k8s.io/v1beta2",
                "SparkApplication",
                {
                    "mode": "cluster",
                    "driver": {"coreRequest": "2", "annotations": SAID},
                    "executor": {"coreRequest": "2", "instances": 3, "annotations": SAID},
                },
                run_time="20m",
            )
        ],
        {"r0": 4},
    ),
    "RayJob": ([ray_job(3, IN_A_RACK, run_time="20m")], {"r0": 4, "r1": 1}),
    "RayCluster": ([made("ray.io/v1", "RayCluster", ray_cluster(3, IN_A_RACK))], {"r0": 4}),
    "RayService": (
        [made("ray.io/v1", "RayService", {"rayClusterConfig": ray_cluster(3, IN_A_RACK)})],
        {"r0": 4},
    ),
    "a group of pods": (group(4, cpu=2, annotations=SAID, run_time="20m"), {"r0": 4}),
    "a pod": ([plain_pod("solo", 2, annotations=SAID, run_time="20m")], {"r0": 1}),
    "StatefulSet": ([serving("StatefulSet", 4, pods=IN_A_RACK)], {"r0": 4}),
    "Deployment": ([serving("Deployment", 3, pods=IN_A_RACK)], {"r0": 3}),
    "LeaderWorkerSet": ([leader_worker_set(2, 4, pods=required("rack"))], {"r0": 8}),
}


def where(simulation: Simulation, *, without: str = "urgent") -> dict[str, str | None]:
    """The node of each pod that has not ended."""
    return {
        pod.metadata.name: pod.spec.node_name
        for pod in simulation.cluster.list("Pod")
        if not pod.metadata.name.startswith(without) and pod.status.phase not in ("Failed", "Succeeded")
    }


def racks(nodes: dict[str, str | None]) -> Counter[str]:
    return Counter((node or "none")[:2] for node in nodes.values())


@pytest.mark.parametrize("kind", PLACED)
def test_pods_stand_in_their_domains(kind: str) -> None:
    objects, want = PLACED[kind]
    _, simulation = run(*topology(), *objects, until_ns=MINUTE, **SPARK)
    assert racks(where(simulation)) == want


@pytest.mark.parametrize("kind", [kind for kind in PLACED if kind != "a pod"])
def test_after_an_eviction_they_stand_there_again(kind: str) -> None:
    objects, want = PLACED[kind]
    all_of_it = job(
        "urgent",
        cpu=4,
        parallelism=4,
        arrival="2m",
        run_time="1m",
        labels={"kueue.x-k8s.io/priority-class": "high"},
    )
    scene = (*topology(), *objects, all_of_it)
    _, evicted = run(*scene, until_ns=150 * 10**9, **SPARK)
    assert not any(where(evicted).values())
    result, after = run(*scene, until_ns=4 * MINUTE, **SPARK)
    assert racks(where(after)) == want
    assert not [row for row in result.workloads if row.state is State.PENDING]


@pytest.mark.parametrize(
    "kind", ["JobSet", "RayCluster", "a group of pods", "StatefulSet", "LeaderWorkerSet"]
)
def test_pods_of_a_failed_host_are_replaced(kind: str) -> None:
    """One host fails for good. With hosts to spare the pods that stood there stand on another one."""
    objects, want = PLACED[kind]
    *base, spare = topology()
    # A host more in each rack.
    for rack in ("r0", "r1"):
        labels = {**spare["metadata"]["labels"], "rack": rack}
        base.append({**spare, "metadata": {**spare["metadata"], "name": f"{rack}h2", "labels": labels}})
    base.append(spare)
    failing = next(each for each in base if each["metadata"]["name"] == "r0h0")
    said = {"sim.kueue-fast.dev/fails-at": "1m"}
    base[base.index(failing)] = {**failing, "metadata": {**failing["metadata"], "annotations": said}}
    _, before = run(*base, *objects, until_ns=30 * 10**9)
    assert "r0h0" in where(before).values()
    _, after = run(*base, *objects, until_ns=10 * MINUTE)
    nodes = where(after)
    assert "r0h0" not in nodes.values()
    assert None not in nodes.values()
    assert len(nodes) == sum(want.values())


def test_ranks_follow_the_labels_of_the_kind() -> None:
    """Jobs of a replicated job are sub groups: their pods are numbered in each."""
    objects, _ = PLACED["JobSet"]
    _, simulation = run(*topology(), *objects, until_ns=MINUTE)
    job_index, index = "jobset.sigs.k8s.io/job-index", "batch.kubernetes.io/job-completion-index"
    numbers = {
        pod.metadata.name: (pod.metadata.labels[job_index], pod.metadata.labels[index])
        for pod in simulation.cluster.list("Pod")
    }
    assert numbers == {
        "k-a-0": ("0", "0"),
        "k-a-1": ("0", "1"),
        "k-b-0": ("0", "0"),
        "k-b-1": ("0", "1"),
        "k-b-2": ("1", "0"),
        "k-b-3": ("1", "1"),
    }


def test_workers_beside_a_launcher_count_from_one() -> None:
    objects, _ = PLACED["MPIJob"]
    _, simulation = run(*topology(), *objects, until_ns=MINUTE)
    index = "training.kubeflow.org/replica-index"
    numbers = {pod.metadata.name: pod.metadata.labels.get(index) for pod in simulation.cluster.list("Pod")}
    assert numbers == {"k-launcher-0": "0", "k-worker-0": "1", "k-worker-1": "2", "k-worker-2": "3"}


def test_a_gang_too_large_for_a_rack_waits_and_says_so() -> None:
    result, _ = run(*topology(), leader_worker_set(1, 10, pods=required("rack")))
    [row] = result.workloads
    assert row.state is State.PENDING
    assert 'topology "t" allows to fit only 8 out of' in row.waiting_message


def test_a_set_waits_until_a_rack_is_free() -> None:
    blockers = [
        job(
            f"b{rack}",
            cpu=1,
            run_time="5m",
            pod_spec={"nodeSelector": {"kubernetes.io/hostname": f"r{rack}h0"}},
        )
        for rack in range(2)
    ]
    for blocker in blockers:
        blocker["spec"]["template"]["metadata"] = {"annotations": {REQUIRED: "kubernetes.io/hostname"}}
    result, _ = run(*topology(), *blockers, ray_job(4, IN_A_RACK, arrival="1m"), until_ns=20 * MINUTE)
    assert seconds(rows(result)["k"].admitted_ns) == 301


def test_train_jobs_are_placed_by_the_template_of_their_runtime() -> None:
    made_runtime = runtime()
    replicated_jobs = made_runtime["spec"]["template"]["spec"]["replicatedJobs"]
    replicated_jobs[0]["template"]["spec"]["template"] = IN_A_RACK
    train = made(
        "trainer.kubeflow.org/v1alpha1",
        "TrainJob",
        {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 4}},
    )
    _, simulation = run(*topology(), made_runtime, train, until_ns=MINUTE)
    assert racks(where(simulation)) == {"r0": 4}
