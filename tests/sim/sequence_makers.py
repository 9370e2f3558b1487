"""Makers of the clusters and jobs of random sequences."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tests.sim import kind_makers as kinds
from tests.sim.test_elastic_ray import ELASTIC, elastic
from tests.sim.test_lifecycle import annotated, check
from tests.sim.world import cluster_queue, flavor, job, local_queue, workload

Json = dict[str, Any]


def quota(dice: Random) -> Sequence[Json]:
    """One or two flavors, at times with a check on the second one."""
    cpu = dice.randint(3, 9)
    spec: Json = {
        "preemption": {
            "withinClusterQueue": dice.choice(("LowerPriority", "LowerOrNewerEqualPriority", "Never"))
        },
        "queueingStrategy": dice.choice(("StrictFIFO", "BestEffortFIFO")),
    }
    common = [kinds.HIGH, kinds.runtime(), local_queue()]
    if dice.random() < 0.5:
        return [flavor("default"), cluster_queue("cq", {"default": {"cpu": cpu}}, **spec), *common]
    rules = [{"name": "check", "onFlavors": ["spot"]}]
    spec["admissionChecksStrategy"] = {"admissionChecks": rules}
    quotas = {"base": {"cpu": cpu // 2}, "spot": {"cpu": cpu - cpu // 2 + 2}}
    answers = (
        "2s=Ready",
        "5s=Retry/3s; 1s=Ready",
        "2s=Ready,20s=Rejected",
        "3s=Rejected; 1s=Ready",
        "0s=Ready",
    )
    return [
        flavor("base"),
        flavor("spot"),
        cluster_queue("cq", quotas, **spec),
        check(answers=dice.choice(answers)),
        *common,
    ]


def places(dice: Random) -> Sequence[Json]:
    """Two racks of two hosts with four cpu each."""
    return [*kinds.topology(dice.choice((8, 32))), kinds.runtime()]


def one_job(dice: Random, name: str, *, placed: bool, bounded: bool) -> list[Json]:
    """A job of any kind with its fate."""
    run_time = f"{dice.choice((3, 20, 60, 150))}s"
    labels = {kinds.PRIORITY: "high"} if dice.random() < 0.3 else {}
    pods = (
        kinds.required(dice.choice(("rack", "kubernetes.io/hostname")))
        if placed and dice.random() < 0.8
        else None
    )
    made = dice.choice(MAKERS)(dice, name, pods)
    fate = {"run_time": run_time}
    if dice.random() < 0.4:
        fate["grace_period"] = dice.choice(("1s", "4s", "30s"))
    if dice.random() < 0.2:
        fate["ready_after"] = dice.choice(("2s", "never,1s", "never", "10s") if bounded else ("2s", "10s"))
    if dice.random() < 0.15:
        fate["pod_loss"] = dice.choice(("4s=3s", "10s=never"))
    if dice.random() < 0.1:
        fate["failure"] = "true"
    if made[0]["kind"] in ("LeaderWorkerSet", "StatefulSet", "Deployment", "RayCluster", "RayService"):
        fate.pop("failure", None)
        fate.pop("grace_period", None)
    if made[0]["kind"] == "Job" and "kueue.x-k8s.io/elastic-job" in made[0]["metadata"]["annotations"]:
        fate.pop("ready_after", None)
        fate.pop("pod_loss", None)
    finished = []
    for each in made:
        each = annotated(copy.deepcopy(each), **fate)
        if each["kind"] == "Workload":
            each["spec"]["priority"] = 100 if labels else 0
        else:
            each["metadata"]["labels"] = {**(each["metadata"].get("labels") or {}), **labels}
        finished.append(each)
    return finished


Maker = Callable[[Random, str, Json | None], list[Json]]


def a_job(dice: Random, name: str, pods: Json | None, **more: Any) -> list[Json]:
    made = job(name, parallelism=dice.randint(1, 4), cpu=dice.randint(1, 2), **more)
    if pods is not None:
        made["spec"]["template"]["metadata"] = pods["metadata"]
        made["spec"]["completionMode"] = "Indexed"
    return [made]


def an_elastic_job(dice: Random, name: str, pods: Json | None) -> list[Json]:
    del pods
    return a_job(dice, name, None, completions=1000, more_annotations=ELASTIC)


def an_elastic_ray_kind(dice: Random, name: str, pods: Json | None) -> list[Json]:
    del pods
    return [
        elastic(dice.choice(("RayCluster", "RayJob", "RayService")), workers=dice.randint(0, 3), name=name)
    ]


def a_workload(dice: Random, name: str, pods: Json | None) -> list[Json]:
    del pods
    return [workload(name, cpu=dice.randint(1, 2), count=dice.randint(1, 3))]


def another_kind(dice: Random, name: str, pods: Json | None) -> list[Json]:
    del pods
    known = {**kinds.RUNNING_KINDS, **kinds.SERVING_KINDS}
    known.pop("SparkApplication")
    made = copy.deepcopy(known[dice.choice(list(known))][-1])
    made["metadata"]["name"] = name
    return [made]


def placed_kind(dice: Random, name: str, pods: Json | None) -> list[Json]:
    what = dice.randrange(4)
    if what == 0:
        return [kinds.ray_job(dice.randint(0, 2), pods, name=name)]
    if what == 1:
        return [kinds.leader_worker_set(dice.randint(1, 2), 2, name=name, pods=pods)]
    if what == 2:
        return [kinds.job_set(kinds.replicated("a", dice.randint(1, 2), pods), name=name)]
    return [kinds.serving("StatefulSet", dice.randint(1, 3), name=name, pods=pods)]


def some_pods(dice: Random, name: str, pods: Json | None) -> list[Json]:
    del pods
    what = dice.randrange(3)
    if what == 0:
        return [kinds.plain_pod(name)]
    if what == 1:
        return [kinds.serving("Deployment", dice.randint(1, 3), name=name)]
    total = dice.randint(1, 3)
    return [kinds.member(f"{name}-{number}", total, group=f"{name}-g") for number in range(total)]


MAKERS: list[Maker] = [
    a_job, a_job, an_elastic_job, an_elastic_job, an_elastic_ray_kind, a_workload, another_kind, placed_kind, some_pods,
]  # fmt: skip
