"""Elastic Ray kinds that are wrong: refused before the run with a word, or waiting for ever with one."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.errors import InputError
from kueue_fast.sim.result import State
from tests.sim.kind_makers import made, ray_cluster
from tests.sim.test_elastic_ray import ELASTIC, KINDS, chain, elastic, pods, scaling, sizes
from tests.sim.world import MINUTE, one_queue, run, workload


def groups(count: int) -> list[dict[str, Any]]:
    return [{**scaling()["workerGroupSpecs"][0], "groupName": f"g{number}"} for number in range(count)]


def worker(**changes: Any) -> dict[str, Any]:
    """The cluster with something else in its worker group."""
    return {**scaling(), "workerGroupSpecs": [{**scaling()["workerGroupSpecs"][0], **changes}]}


# What stands in the cluster and what its manifest asks for: what is told, after the path of the cluster.
WRONG: dict[str, tuple[dict[str, Any], str | None, str]] = {
    "a negative number of workers": (
        worker(replicas=-2),
        None,
        ".workerGroupSpecs[0].replicas: is -2 (expected no negative number)",
    ),
    "more pods than can be counted": (
        worker(replicas=2**30, numOfHosts=8),
        None,
        ".workerGroupSpecs[0].replicas: asks for 8589934592 pods in groups of 8 hosts",
    ),
    "limits the wrong way round": (
        worker(minReplicas=5, maxReplicas=3),
        None,
        ".workerGroupSpecs[0].minReplicas: is 5 (expected at most maxReplicas, 3)",
    ),
    "a head without containers": (
        {**scaling(), "headGroupSpec": {"template": {"spec": {"containers": []}}}},
        None,
        ".headGroupSpec.template.spec.containers: is empty (expected at least one container",
    ),
    "workers of an empty template": (
        worker(template={}),
        None,
        ".workerGroupSpecs[0].template.spec.containers: is empty (expected at least one container",
    ),
    "a group without name": (worker(groupName=""), None, 'spec.podSets[1].name: Invalid value: ""'),
    "a group whose name is too long": (
        worker(groupName="X" * 70),
        None,
        "spec.podSets[1].name: Invalid value: ",
    ),
    "two groups of one name": (
        {**scaling(), "workerGroupSpecs": 2 * scaling()["workerGroupSpecs"]},
        None,
        "no Workload can be made of it: spec.podSets[2]: Duplicate value",
    ),
    "a group named head": (
        worker(groupName="head"),
        None,
        '.workerGroupSpecs[0].groupName: Forbidden (expected "head" is reserved for the head group)',
    ),
    "too many groups": (
        {**scaling(), "workerGroupSpecs": groups(18)},
        None,
        ".workerGroupSpecs: Too many: 19 (expected must have at most 18 items)",
    ),
    "a resize beyond the group's limit": (
        worker(maxReplicas=5),
        "10m=6",
        '"sim.kueue-fast.dev/resize"]: asks for 6 replicas (expected 0 to 5: what the worker group gpu may have)',
    ),
    "a resize below the group's limit": (
        worker(minReplicas=1),
        "10m=0",
        "asks for 0 replicas (expected 1 to",
    ),
    "a resize that no machine would play": (
        scaling(),
        "10m=2000000000",
        "asks for 2000000000 replicas (expected 0 to 100000",
    ),
    "a resize of a group that is not there": (
        scaling(),
        "10m=tpu:3",
        "names the worker group 'tpu' (expected gpu)",
    ),
    "a resize that does not say of which group": (
        {**scaling(), "workerGroupSpecs": groups(2)},
        "10m=3",
        "does not say which worker group (expected g0 or g1)",
    ),
    "a resize where there is no group": (
        {**scaling(), "workerGroupSpecs": None},
        "10m=3",
        "does not say which worker group (expected a cluster with worker groups)",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", WRONG)
def test_what_is_refused(case: str, kind: str) -> None:
    cluster, resize, want = WRONG[case]
    with pytest.raises(InputError) as raised:
        run(*one_queue(10), elastic(kind, resize, cluster=cluster))
    text = str(raised.value)
    assert text.startswith(f"k.yaml:4: {kind} ns/k: ")
    assert want in text


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_that_kuberay_would_not_take(kind: str) -> None:
    most = 53 if kind == "RayCluster" else 47
    result, _ = run(*one_queue(10), elastic(kind, name="a" * most))
    assert len(chain(result, "a" * most)) == 1
    with pytest.raises(InputError) as raised:
        run(*one_queue(10), elastic(kind, name="a" * (most + 1)))
    assert f"$.metadata.name: has {most + 1} characters (expected at most {most}: " in str(raised.value)


def test_a_submitter_is_one_pod_set_too_many() -> None:
    """Kueue's webhook does not count it, and no Workload could ever be made. Source: JS-585."""
    made_job = elastic("RayJob", cluster={**scaling(), "workerGroupSpecs": groups(17)})
    made_job["spec"]["submissionMode"] = "K8sJobMode"
    with pytest.raises(InputError, match=r"no Workload can be made of it: spec\.podSets: Too many: 19"):
        run(*one_queue(100), made_job)


def test_only_what_is_elastic_has_a_queue_and_scales_itself_is_resized() -> None:
    resize = {"sim.kueue-fast.dev/resize": "10m=3"}
    plain = made("ray.io/v1", "RayCluster", ray_cluster(), annotations=resize)
    still = elastic("RayJob", "10m=3", cluster=ray_cluster())
    for wrong, want in (
        (plain, "only an elastic RayCluster can be resized (expected the annotation"),
        (elastic("RayService", "10m=3", queue=None), "only a RayService with a queue can be resized"),
        (still, "the cluster of this RayJob does not scale itself (expected enableInTreeAutoscaling: true"),
    ):
        with pytest.raises(InputError) as raised:
            run(*one_queue(10), wrong)
        assert want in str(raised.value)


# What waits for ever, and why.
WAITING: dict[str, tuple[dict[str, Any], str]] = {
    "a queue that does not exist": (elastic("RayJob", queue="nowhere"), "LocalQueue nowhere doesn't exist"),
    "a resource that nobody offers": (
        elastic(
            "RayService",
            cluster=worker(
                template={
                    "spec": {
                        "containers": [{"name": "c", "resources": {"requests": {"example.com/unknown": 1}}}]
                    }
                }
            ),
        ),
        "resource example.com/unknown unavailable in ClusterQueue",
    ),
    "more workers than there is quota": (elastic("RayCluster", workers=2**31 - 1), "> maximum capacity (10)"),
}


@pytest.mark.parametrize("case", WAITING)
def test_what_waits_for_ever(case: str) -> None:
    obj, want = WAITING[case]
    result, simulation = run(*one_queue(10), obj)
    (only,) = result.workloads
    assert only.state is State.PENDING
    assert want in only.waiting_message
    assert list(simulation.cluster.list("Pod")) == []


@pytest.mark.parametrize("count", (0, None))
def test_groups_without_workers(count: int | None) -> None:
    """None stands for one, as for KubeRay."""
    result, simulation = run(
        *one_queue(10), elastic("RayCluster", "10m=4", cluster=worker(replicas=count)), until_ns=20 * MINUTE
    )
    assert [sizes(row)[0][1] for row in chain(result)] == [1 if count == 0 else 2, 5]
    assert pods(simulation) == (5, 5)


def owner(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": name, "uid": f"uid-{name}", **more}


def slice_of(name: str, minute: int, *owners: dict[str, Any], **annotations: str) -> dict[str, Any]:
    said = {f"kueue.x-k8s.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    sets = [
        {
            "name": each,
            "count": count,
            "template": {"spec": ray_cluster()["headGroupSpec"]["template"]["spec"]},
        }
        for each, count in (("head", 1), ("gpu", 2))
    ]
    metadata = {
        "ownerReferences": list(owners),
        "creationTimestamp": f"2025-12-31T23:{minute:02}:00Z",
    }
    made_slice = workload(name, metadata=metadata, podSets=sets)
    made_slice["metadata"]["annotations"] = {**ELASTIC, **said}
    return made_slice


def known(name: str) -> dict[str, Any]:
    obj = elastic("RayCluster", name=name)
    obj["metadata"]["uid"] = f"uid-{name}"
    return obj


def test_two_jobs_never_run_on_the_quota_of_one_workload() -> None:
    shared = slice_of("w", 0, owner("a", controller=True), owner("b"))
    result, simulation = run(*one_queue(10), known("a"), known("b"), shared, until_ns=MINUTE)
    assert sorted((row.owner_name, row.state) for row in result.workloads) == [
        ("a", State.RUNNING),
        ("b", State.RUNNING),
    ]
    assert result.queues[0].resources[0].reserved == 6000
    assert pods(simulation) == (6, 6)


def test_a_chain_with_a_gap_comes_to_one_slice() -> None:
    """The slice between the two is gone: the newer one asks for the whole job. Source: JS-481, JS-490."""
    mine = owner("a", controller=True)
    first = slice_of("w0", 0, mine)
    last = slice_of("w2", 1, mine, workload_slice_replacement_for="ns/w1", workload_slice_name="w0")
    result, simulation = run(*one_queue(10), known("a"), first, last, until_ns=MINUTE)
    ended, left = chain(result, "a")
    assert (ended.name, ended.state, left.name, left.state) == (
        "w0",
        State.FINISHED,
        "w2",
        State.RUNNING,
    )
    assert result.queues[0].resources[0].reserved == 3000
    assert pods(simulation) == (3, 3)


@pytest.mark.parametrize("target", ("ns/gone", "ns/w", "///", "other/raycluster-b", ""))
def test_a_slice_that_replaces_nothing_is_admitted_as_a_whole(target: str) -> None:
    only = slice_of("w", 0, owner("a", controller=True), workload_slice_replacement_for=target)
    result, simulation = run(*one_queue(10), known("a"), only, until_ns=MINUTE)
    assert [row.state for row in result.workloads] == [State.RUNNING]
    assert result.queues[0].resources[0].reserved == 3000
    assert pods(simulation) == (3, 3)


def test_a_slice_stays_in_the_cluster_of_the_one_before() -> None:
    """What MultiKueue wrote, for one that was admitted before the run. Source: JS-496."""
    first = slice_of("w", 0, owner("a", controller=True))
    counts = (("head", 1), ("gpu", 2))
    assigned = [
        {
            "name": name,
            "count": count,
            "flavors": {"cpu": "default"},
            "resourceUsage": {"cpu": str(count)},
        }
        for name, count in counts
    ]
    condition = {
        "status": "True",
        "reason": "r",
        "message": "",
        "lastTransitionTime": "2025-12-31T23:30:00Z",
    }
    first["status"] = {
        "admission": {"clusterQueue": "cq", "podSetAssignments": assigned},
        "conditions": [{"type": each, **condition} for each in ("QuotaReserved", "Admitted")],
        "clusterName": "worker-1",
    }
    obj = elastic("RayCluster", "10m=5", name="a")
    obj["metadata"]["uid"] = "uid-a"
    result, simulation = run(*one_queue(10), obj, first, until_ns=20 * MINUTE)
    old, new = chain(result, "a")
    assert (old.name, old.state, new.state) == ("w", State.FINISHED, State.RUNNING)
    stored = simulation.cluster.get("Workload", "ns", new.name)
    assert stored is not None
    assert stored.status.cluster_name == "worker-1"
