"""Explanations of jobs of every kind, of what belongs to them, and of those that have no Workload."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from kueue_fast.errors import InputError
from kueue_fast.sim.explain import read_target
from kueue_fast.sim.explanation import Document, Named
from tests.sim.explaining import explained, text
from tests.sim.kind_makers import (
    REQUIRED,
    RUNNING_KINDS,
    SERVING_KINDS,
    SPARK,
    group,
    leader_worker_set,
    made,
    member,
    plain_pod,
    ray_job,
    serving,
    template,
    topology,
)
from tests.sim.test_elastic import elastic as elastic_job
from tests.sim.test_elastic_ray import KINDS, elastic
from tests.sim.world import job, one_queue, workload

WRITTEN = {
    "a kind in small letters": ("rayjob/ns/a", "RayJob/ns/a"),
    "a plural": ("leaderworkersets/ns/a", "LeaderWorkerSet/ns/a"),
    "a plural with its group": ("rayjobs.ray.io/ns/a", "RayJob/ns/a"),
    "with version and group": ("statefulsets.v1.apps/ns/a", "StatefulSet/ns/a"),
    "a version of the past": ("RayCluster.v1alpha1.ray.io/ns/a", "RayCluster/ns/a"),
    "the version of a group without name": ("pods.v1/ns/a", "Pod/ns/a"),
    "with the apiVersion before it": ("kueue.x-k8s.io/v1beta1/Workload/ns/a", "Workload/ns/a"),
    "with the apiVersion of a group without name": ("v1/Pod/ns/a", "Pod/ns/a"),
    "a short name": ("lws/ns/a", "LeaderWorkerSet/ns/a"),
    "a short name with its group": ("kwl.kueue.x-k8s.io/ns/a", "Workload/ns/a"),
    "a group of pods": ("podgroups/ns/a", "PodGroup/ns/a"),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_the_names_that_kubectl_takes(case: str) -> None:
    written, want = WRITTEN[case]
    assert str(read_target(written)) == want


MISTAKEN = {
    "a mistake in the kind": (
        "raycluser/ns/a",
        "the kind 'raycluser' cannot be explained (expected RayCluster)",
    ),
    "another group": (
        "rayjobs.batch/ns/a",
        "the kind 'rayjobs.batch' cannot be explained (expected RayJob of the group ray.io)",
    ),
    "a group where there is none": (
        "pods.apps/ns/a",
        "the kind 'pods.apps' cannot be explained (expected Pod of the group that has no name)",
    ),
    "the apiVersion of another kind": (
        "batch/v1/RayJob/ns/a",
        "the kind 'RayJob' cannot be explained (expected RayJob of the group ray.io)",
    ),
    "a kind that takes no quota": (
        "cq/ns/a",
        "the kind 'cq' cannot be explained (expected one of AppWrapper, Deployment, JAXJob, Job, JobSet, "
        "LeaderWorkerSet, MPIJob, PaddleJob, Pod, PodGroup, PyTorchJob, RayCluster, RayJob, RayService, ReplicaSet, "
        "SparkApplication, StatefulSet, TFJob, TrainJob, Workload, XGBoostJob)",
    ),
    "no version before the kind": (
        "batch/Job/ns/a",
        "'batch/Job/ns/a' names no object (expected KIND/NAMESPACE/NAME, such as Job/team-a/train or "
        "rayjob/team-a/tune)",
    ),
    "too long to repeat": (
        "x" * 500 + "/ns/a",
        f"the kind '{'x' * 56}... cannot be explained",
    ),
}


@pytest.mark.parametrize("case", MISTAKEN)
def test_names_that_mean_no_kind(case: str) -> None:
    written, want = MISTAKEN[case]
    with pytest.raises(InputError) as caught:
        read_target(written)
    assert str(caught.value).startswith(want)


# ---- jobs that wait, and jobs that run ----

ALL_KINDS = {**RUNNING_KINDS, **SERVING_KINDS}


def target_of(objects: list[dict[str, Any]]) -> str:
    obj = objects[-1]
    return f"{obj['kind'].lower()}/{obj['metadata']['namespace']}/{obj['metadata']['name']}"


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_job_of_each_kind_that_runs(kind: str) -> None:
    objects = ALL_KINDS[kind]
    document = explained(target_of(objects), *one_queue(4), *objects, at=1, **SPARK)
    [found] = document.workloads
    assert (document.state, document.message, document.ancestor) == ("Found", "", None)
    assert found.state == "Running"
    assert found.owner is not None
    assert (found.owner.kind, found.owner.name) == (kind, "k")
    assert found.admission is not None
    given = found.admission.pod_sets
    assert sum(each.count for each in given) == 4
    assert {flavor for each in given for flavor in each.flavors.values()} == {"default"}


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_job_of_each_kind_that_waits(kind: str) -> None:
    objects = ALL_KINDS[kind]
    first = workload("first", run_time="1h", cpu=2)
    document = explained(target_of(objects), *one_queue(4), first, *objects, at=1, **SPARK)
    [found] = document.workloads
    assert found.state == "Pending"
    assert (found.queue.place, found.queue.parked) == ("Parked", 1)
    assert found.look is not None
    assert found.look.outcome == "NoCandidates"
    lacking = {(each.flavor, each.resource, each.missing) for each in found.flavors if each.missing}
    assert lacking <= {("default", "cpu", "1"), ("default", "cpu", "2")}
    assert lacking
    assert found.preemption is not None
    assert found.preemption.result == "The policies of its ClusterQueue let it stop nobody."


def test_what_lacks_is_told_for_each_pod_set_of_a_group() -> None:
    """Leader and workers get their flavors together: 4 are asked for and 2 there."""
    pods = template(1, **{REQUIRED: "rack", "kueue.x-k8s.io/podset-group-name": "all"})
    objects = (*topology(6), workload("first", run_time="1h", cpu=4), leader_worker_set(1, 4, pods=pods))
    [found] = explained("lws/ns/k", *objects, at=1).workloads
    assert [(each.pod_set, each.missing) for each in found.flavors] == [("leader", "2"), ("worker", "2")]


class Held(NamedTuple):
    """Objects, whom to ask for, reason and message of what keeps the Workload out of the queue."""

    objects: list[dict[str, Any]]
    target: str
    reason: str
    message: str


HELD = {
    "a StatefulSet that was scaled to none": Held(
        [serving("StatefulSet", 2, replicas="5m=0")],
        "sts/ns/k",
        "OnHold",
        "StatefulSet scaled to zero; workload on hold",
    ),
    "a group whose failed pod nobody replaces": Held(
        [member("g-0", 2, failure="true", run_time="2m"), member("g-1", 2, run_time="3h")],
        "podgroup/ns/g",
        "WaitingForReplacementPods",
        "Exceeded the PodsReady timeout ns/g",
    ),
}


@pytest.mark.parametrize("case", HELD)
def test_a_workload_that_its_job_keeps_out_of_the_queue(case: str) -> None:
    objects, target, reason, message = HELD[case]
    [found] = explained(target, *one_queue(8), *objects, at=60).workloads
    assert found.summary == f"{reason}: {message}"
    [blocker] = found.blockers
    assert (blocker.kind, blocker.reason, blocker.message) == ("Workload", reason, message)


# ---- what belongs to another object ----


class Belongs(NamedTuple):
    """Objects, whom to ask for, what is said, the object above, and the Workloads that are shown."""

    objects: list[dict[str, Any]]
    target: str
    message: str
    ancestor: str | None
    workloads: list[str]
    at: float | None = 1


def names(document: Document) -> list[str]:
    """Names of the workloads, without the hash at their end."""
    return [each.name.rpartition("-")[0] or each.name for each in document.workloads]


def written(named: Named | None) -> str | None:
    return None if named is None else f"{named.kind}/{named.namespace}/{named.name}"


DEPLOYMENT = [serving("Deployment", 2)]
BELONGING: dict[str, Belongs] = {
    "the cluster of a RayJob": Belongs(
        [ray_job()],
        "raycluster/ns/k-48e74",
        "It belongs to RayJob k, whose Workload stands for it.",
        "RayJob/ns/k",
        ["rayjob-k"],
    ),
    "the Job that submits for a RayJob": Belongs(
        [ray_job()],
        "job/ns/k",
        "It belongs to RayJob k, whose Workload stands for it.",
        "RayJob/ns/k",
        ["rayjob-k"],
    ),
    "a worker of a RayJob": Belongs(
        [ray_job()],
        "pod/ns/k-48e74-gpu-1",
        "It belongs to RayJob k; its Workload is rayjob-k-f29aa.",
        "RayJob/ns/k",
        ["rayjob-k"],
    ),
    "the cluster of a RayService": Belongs(
        SERVING_KINDS["RayService"],
        "raycluster/ns/k-48e74",
        "It belongs to RayService k, whose Workload stands for it.",
        "RayService/ns/k",
        ["rayservice-k"],
    ),
    "the cluster of an elastic RayJob": Belongs(
        [elastic("RayJob", "30s=3")],
        "raycluster/ns/k-48e74",
        "It belongs to RayJob k, whose Workloads stand for it.",
        "RayJob/ns/k",
        ["rayjob-k", "rayjob-k"],
    ),
    "a worker of an elastic RayJob goes on in the newest slice": Belongs(
        [elastic("RayJob", "30s=3")],
        "pod/ns/k-48e74-gpu-0",
        "It belongs to RayJob k; its Workload is rayjob-k-bb8c4.",
        "RayJob/ns/k",
        ["rayjob-k"],
    ),
    "a leader": Belongs(
        [leader_worker_set(2, 2)],
        "pod/ns/k-1",
        "It belongs to LeaderWorkerSet k; its Workload is leaderworkerset-k-1-74369.",
        "LeaderWorkerSet/ns/k",
        ["leaderworkerset-k-1"],
    ),
    "a worker that waits": Belongs(
        [leader_worker_set(2, 5)],
        "pod/ns/k-1-4",
        "It belongs to LeaderWorkerSet k; its Workload is leaderworkerset-k-1-74369.",
        "LeaderWorkerSet/ns/k",
        ["leaderworkerset-k-1"],
    ),
    "the workers of a leader": Belongs(
        [leader_worker_set(2, 2)],
        "statefulset/ns/k-1",
        "It belongs to LeaderWorkerSet k; its Workload is leaderworkerset-k-1-74369.",
        "LeaderWorkerSet/ns/k",
        ["leaderworkerset-k-1"],
    ),
    "the leaders of a LeaderWorkerSet": Belongs(
        [leader_worker_set(2, 2)],
        "sts/ns/k",
        "It belongs to LeaderWorkerSet k, whose Workloads stand for it.",
        "LeaderWorkerSet/ns/k",
        ["leaderworkerset-k-0", "leaderworkerset-k-1"],
    ),
    "a LeaderWorkerSet": Belongs(
        [leader_worker_set(2, 2)], "lws/ns/k", "", None, ["leaderworkerset-k-0", "leaderworkerset-k-1"]
    ),
    "a pod of a StatefulSet": Belongs(
        [serving("StatefulSet", 2)],
        "pod/ns/k-1",
        "It belongs to StatefulSet k; its Workload is statefulset-k-c530c.",
        "StatefulSet/ns/k",
        ["statefulset-k"],
    ),
    "a pod of a StatefulSet that waits": Belongs(
        [serving("StatefulSet", 9)],
        "pod/ns/k-8",
        "It belongs to StatefulSet k; its Workload is statefulset-k-c530c.",
        "StatefulSet/ns/k",
        ["statefulset-k"],
    ),
    "a Deployment has one a pod": Belongs(
        DEPLOYMENT, "deploy/ns/k", "", None, ["pod-k-e0ee1-3beb1", "pod-k-e0ee1-0caab"]
    ),
    "a Deployment that is gone": Belongs(
        [serving("Deployment", 2, run_time="5m")],
        "deploy/ns/k",
        "",
        None,
        ["pod-k-e0ee1-3beb1", "pod-k-e0ee1-0caab"],
        at=20,
    ),
    "what a Deployment makes its pods with": Belongs(
        DEPLOYMENT,
        "rs/ns/k-e0ee1",
        "It belongs to Deployment k, whose Workloads stand for it.",
        "Deployment/ns/k",
        ["pod-k-e0ee1-3beb1", "pod-k-e0ee1-0caab"],
    ),
    "a pod of a Deployment": Belongs(
        DEPLOYMENT,
        "po/ns/k-e0ee1-0caab",
        "It belongs to Deployment k.",
        "Deployment/ns/k",
        ["pod-k-e0ee1-0caab"],
    ),
    "a pod alone": Belongs([plain_pod("solo")], "pod/ns/solo", "", None, ["pod-solo"]),
    "a pod of a group": Belongs(
        group(2), "pod/ns/g-1", "It is a pod of the group g.", "PodGroup/ns/g", ["g"]
    ),
    "a group of pods": Belongs(group(2), "podgroup/ns/g", "", None, ["g"]),
    "a group of pods that are gone": Belongs(group(2), "podgroup/ns/g", "", None, ["g"], at=None),
    "a group where no pod is called like it": Belongs(group(2), "pod/ns/g", "", None, ["g"]),
    "an elastic Job": Belongs(
        [elastic_job("e", "30s=4", parallelism=2)], "job/ns/e", "", None, ["job-e", "job-e"]
    ),
    **{
        f"an elastic {kind}": Belongs(
            [elastic(kind, "30s=3")], f"{kind}/ns/k", "", None, [f"{kind.lower()}-k"] * 2
        )
        for kind in KINDS
    },
}


@pytest.mark.parametrize("case", BELONGING)
def test_what_belongs_to_another_object(case: str) -> None:
    objects, target, message, ancestor, workloads, at = BELONGING[case]
    document = explained(target, *one_queue(8), *objects, at=at)
    assert (document.state, document.message) == ("Found", message)
    assert written(document.ancestor) == ancestor
    assert names(document) == workloads
    if message:
        assert f"\n  {message}\n" in text(target, *one_queue(8), *objects, at=at)


# ---- no Workload ----


class Without(NamedTuple):
    """Objects, whom to ask for, state and message."""

    objects: list[dict[str, Any]]
    target: str
    state: str
    message: str
    ancestor: str | None = None


OUTSIDE = "It names no LocalQueue: it runs outside Kueue and takes no quota."
PREBUILT = {"kueue.x-k8s.io/prebuilt-workload-name": "pre"}
SELECTOR = {"clusterSelector": {"ray.io/cluster": "there"}, "entrypoint": "true"}
WITHOUT = {
    "a RayJob without a queue": Without([ray_job(queue=None)], "rayjob/ns/k", "OutsideKueue", OUTSIDE),
    "the cluster of a RayJob without a queue": Without(
        [ray_job(queue=None)],
        "raycluster/ns/k-01e29",
        "OutsideKueue",
        f"It belongs to RayJob k. Of that: {OUTSIDE}",
        "RayJob/ns/k",
    ),
    "a Deployment without a queue": Without(
        [serving("Deployment", queue=None)], "deploy/ns/k", "OutsideKueue", OUTSIDE
    ),
    "a pod without a queue": Without([plain_pod("solo", queue=None)], "pod/ns/solo", "OutsideKueue", OUTSIDE),
    "a group of pods without a queue": Without(
        group(2, queue=None), "podgroup/ns/g", "OutsideKueue", OUTSIDE
    ),
    "a RayJob in a cluster that is there": Without(
        [made("ray.io/v1", "RayJob", SELECTOR)],
        "rayjob/ns/k",
        "OutsideKueue",
        "It runs in a RayCluster that is there: that one takes the quota.",
    ),
    "a StatefulSet of no pods": Without(
        [serving("StatefulSet", 0)], "sts/ns/k", "NoWorkload", "It asks for no pods."
    ),
    "a LeaderWorkerSet of no groups": Without(
        [leader_worker_set(0, 2)], "lws/ns/k", "NoWorkload", "It asks for no pods."
    ),
    "a Deployment of no pods": Without(
        [serving("Deployment", 0)], "deploy/ns/k", "NoWorkload", "It asks for no pods."
    ),
    "a group whose pods are not all there": Without(
        [member("g-0", 2), member("g-1", 2, arrival="5m")],
        "podgroup/ns/g",
        "NoWorkload",
        "1 of the 2 pods of its group are there: it has a Workload once all are.",
    ),
    "a pod whose group is not all there": Without(
        [member("g-0", 2), member("g-1", 2, arrival="5m")],
        "pod/ns/g-0",
        "NoWorkload",
        "It is a pod of the group g. 1 of the 2 pods of its group are there: it has a Workload once all are.",
        "PodGroup/ns/g",
    ),
    "a Workload made beforehand that is not there": Without(
        [ray_job(labels=PREBUILT)],
        "rayjob/ns/k",
        "NoWorkload",
        "The Workload pre, which it names, is not there.",
    ),
    "an object that comes later": Without(
        [ray_job(arrival="5m")],
        "rayjob/ns/k",
        "NotCreated",
        "It is not there yet: it arrives 5m0s after the start.",
    ),
    "a group that comes later": Without(
        group(2, arrival="5m"),
        "podgroup/ns/g",
        "NotCreated",
        "It is not there yet: it arrives 5m0s after the start.",
    ),
}


@pytest.mark.parametrize("case", WITHOUT)
def test_an_object_without_a_workload(case: str) -> None:
    objects, target, state, message, ancestor = WITHOUT[case]
    document = explained(target, *one_queue(8), *objects, at=1)
    assert (document.state, document.message, written(document.ancestor)) == (state, message, ancestor)
    assert document.workloads == []


def test_a_workload_that_belongs_to_another_job() -> None:
    """The first of two jobs that name it has it; the other one waits."""
    first, second = (job(name, cpu=1, labels=PREBUILT, run_time="1h") for name in ("a", "b"))
    pod_set = {"name": "main", "count": 1, "template": first["spec"]["template"]}
    objects = (*one_queue(8), workload("pre", podSets=[pod_set]), first, second)
    assert names(explained("job/ns/a", *objects, at=1)) == ["pre"]
    document = explained("job/ns/b", *objects, at=1)
    assert (document.state, document.message) == (
        "NoWorkload",
        "The Workload pre, which it names, belongs to Job a.",
    )


UNKNOWN = {
    "another name": ("rayjob/ns/kk", "RayJob/ns/kk is not in the input (expected RayJob/ns/k"),
    "another kind": ("mpijob/ns/k", "MPIJob/ns/k is not in the input (expected Job/ns/k or RayJob/ns/k)"),
    "what the job made": (
        "raycluster/ns/k-48e75",
        "RayCluster/ns/k-48e75 is not in the input (expected RayCluster/ns/k-48e74",
    ),
    "a group": ("podgroup/ns/gg", "PodGroup/ns/gg is not in the input (expected PodGroup/ns/g"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_an_object_that_is_not_there_is_told_with_names_like_it(case: str) -> None:
    target, want = UNKNOWN[case]
    with pytest.raises(InputError) as caught:
        explained(target, *one_queue(8), ray_job(), *group(2), at=1)
    assert str(caught.value).startswith(want)


# ---- several Workloads in words ----


SLICES = """
RayCluster ns/k at 25m0s

Slices: 3
Workload               Pods  State                Arrived  Admitted  Ended
──────────────────────────────────────────────────────────────────────────
ns/raycluster-k-0a079  3     Finished (Replaced)       0s        0s  10m0s
ns/raycluster-k-8bc1d  5     Running                10m0s     10m0s      -
ns/raycluster-k-8c729  8     Pending                20m0s         -      -

Workload ns/raycluster-k-8bc1d of RayCluster k: Running
  It is admitted.
  Arrived 10m0s; priority 0
  Took the place of ns/raycluster-k-0a079
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)

What it got
  ClusterQueue cq: quota reserved 10m0s, admitted 10m0s
  Pod set head, 1 pod: cpu 1 from flavor default
  Pod set gpu, 4 pods: cpu 4 from flavor default

Workload ns/raycluster-k-8c729 of RayCluster k: Pending
  Pending: couldn't assign flavors to pod set gpu: \
insufficient unused quota for cpu in flavor default, 2 more needed
  Arrived 20m0s, waits for 5m0s; priority 0
  Takes the place of ns/raycluster-k-8bc1d, whose quota counts for it
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Place: parked: it is tried again when a workload ends, or a queue, cohort, flavor or node changes
  Looked at last: 20m0s, in cycle 3, 5m0s before: NoCandidates
  Asks for: pod set head, 1 pod of cpu 1
  Asks for: pod set gpu, 7 pods of cpu 1

Flavors, in the order in which they are tried
Pod set  Flavor   Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
─────────────────────────────────────────────────────────────────────────────────────────────────────────
head     default  cpu           1        6         5         0          1        6        -  -
gpu      default  cpu           7        6         5         0          1        6        2  not free now

Preemption
  Policies: withinClusterQueue Never, reclaimWithinCohort Never, borrowWithinCohort Never
  The policies of its ClusterQueue let it stop nobody.
  What is missing is held in cq by 1 workload, none of lower priority
"""


def test_slices_are_told_at_a_glance_and_those_that_are_over_not_one_by_one() -> None:
    objects = (*one_queue(6), elastic("RayCluster", "10m=4, 20m=7"))
    assert text("raycluster/ns/k", *objects, at=25) == SLICES


def test_of_many_workloads_those_that_wait_come_first() -> None:
    objects = (*one_queue(6), serving("Deployment", 8))
    lines = text("deploy/ns/k", *objects, at=1).splitlines()
    assert "Workloads: 8" in lines
    told = [line for line in lines if line.startswith("Workload ns/")]
    assert [line.rpartition(": ")[2] for line in told] == ["Running"] * 3 + ["Pending"] * 2
    assert lines[-1] == "--json tells of the other 3"
    document = explained("deploy/ns/k", *objects, at=1)
    assert [each.state for each in document.workloads] == ["Running"] * 6 + ["Pending"] * 2
    assert [each.sizes for each in document.workloads] == [None] * 8


def test_the_sizes_of_slices_are_told() -> None:
    objects = (*one_queue(9), elastic("RayCluster", "10m=4, 20m=1"))
    document = explained("raycluster/ns/k", *objects, at=25)
    sizes = [[(each.time, each.pods) for each in part.sizes or ()] for part in document.workloads]
    assert sizes == [[(0, 3)], [(600, 5), (1200, 2)]]
    lines = text("raycluster/ns/k", *objects, at=25).splitlines()
    assert any("5, 2 from 20m0s" in line for line in lines)


def test_a_workload_that_was_deleted_says_so() -> None:
    lines = text("lws/ns/k", *one_queue(8), *SERVING_KINDS["LeaderWorkerSet"], at=20).splitlines()
    assert "  ClusterQueue cq: quota reserved 0s, admitted 0s, deleted 10m0s" in lines
