"""A day of mixed jobs, as `kueue-fast simulate` plays it.

    python -m bench.day [--jobs 50000] [--nodes 2000] [--profile] [--json]

Jobs, RayJobs and LeaderWorkerSets arrive at random over 24 hours and run for minutes to hours, so that the cluster is
nearly full all day: queues build up, and teams of production take back what they lent. A third asks for a topology.
The bar: 50,000 on 2,000 nodes in less than five minutes. It is a process of its own, from the files to the result.
"""

import argparse
import cProfile
import json
import pstats
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kueue_fast.sim.manifests import load
from kueue_fast.sim.nodes import add_nodes
from kueue_fast.sim.result import State
from kueue_fast.sim.simulate import simulate

TEAMS = 20
GPUS = 8
HOSTS_A_RACK = 20
DAY = 24 * 3600
LEVELS = ("cloud.provider.com/topology-block", "cloud.provider.com/topology-rack", "kubernetes.io/hostname")
RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
ARRIVAL = "sim.kueue-fast.dev/arrival"
RUN_TIME = "sim.kueue-fast.dev/run-time"
RACK = LEVELS[1]
KINDS = ("Job", "RayJob", "LeaderWorkerSet")
SHARES = (70, 20, 10)
# Aimed at this part of the GPUs, on average over the day.
LOAD = 0.95


def queues(nodes: int) -> Iterator[dict[str, Any]]:
    """A flavor with a topology and two cohorts of teams that share it evenly."""
    kueue = "kueue.x-k8s.io/v1beta2"
    yield {
        "apiVersion": kueue,
        "kind": "Topology",
        "metadata": {"name": "datacenter"},
        "spec": {"levels": [{"nodeLabel": level} for level in LEVELS]},
    }
    yield {
        "apiVersion": kueue,
        "kind": "ResourceFlavor",
        "metadata": {"name": "gpu"},
        "spec": {"nodeLabels": {"pool": "gpu"}, "topologyName": "datacenter"},
    }
    for name, value in (("prod", 1000), ("dev", 100)):
        yield {
            "apiVersion": kueue,
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
    quotas = {
        "cpu": 96 * nodes // TEAMS,
        "memory": f"{512 * nodes // TEAMS}Gi",
        "nvidia.com/gpu": GPUS * nodes // TEAMS,
    }
    for team in range(TEAMS):
        yield {
            "apiVersion": kueue,
            "kind": "ClusterQueue",
            "metadata": {"name": f"team-{team:02d}"},
            "spec": {
                "cohortName": "company",
                "namespaceSelector": {},
                "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
                "resourceGroups": [
                    {
                        "coveredResources": list(RESOURCES),
                        "flavors": [
                            {
                                "name": "gpu",
                                "resources": [
                                    {"name": name, "nominalQuota": quotas[name]} for name in RESOURCES
                                ],
                            }
                        ],
                    }
                ],
            },
        }
        yield {
            "apiVersion": kueue,
            "kind": "LocalQueue",
            "metadata": {"name": "queue", "namespace": f"team-{team:02d}"},
            "spec": {"clusterQueue": f"team-{team:02d}"},
        }


def template(gpus: int, placed: bool, **spec: Any) -> dict[str, Any]:
    """A pod of so many GPUs; `placed`: all pods of its set within a rack, if they fit one."""
    requests = {"cpu": max(2, 8 * gpus), "memory": f"{max(4, 32 * gpus)}Gi"}
    if gpus:
        requests["nvidia.com/gpu"] = gpus
    made: dict[str, Any] = {
        "spec": {
            "containers": [
                {"name": "main", "image": "registry.example/main", "resources": {"requests": requests}}
            ],
            **spec,
        }
    }
    if placed:
        made["metadata"] = {"annotations": {"kueue.x-k8s.io/podset-preferred-topology": RACK}}
    return made


def jobs(count: int, nodes: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """So many jobs, in order of their arrival."""
    dice = random.Random(seed)
    # Seconds that all GPUs have, over what the average job asks: run times follow from the load.
    sizes = [
        (kind, dice.choice((1, 1, 2, 4, 8)), dice.choice((1, 1, 1, 2, 4, 8, 16)))
        for kind in dice.choices(KINDS, SHARES, k=count)
    ]
    asked = sum(gpus * pods for _, gpus, pods in sizes) / count
    mean = LOAD * DAY * GPUS * nodes / (asked * count)
    arrivals = sorted(dice.uniform(0, DAY) for _ in range(count))
    for number, ((kind, gpus, pods), arrival) in enumerate(zip(sizes, arrivals, strict=True)):
        placed = dice.random() < 1 / 3
        run_time = max(30, round(dice.expovariate(1 / mean)))
        metadata = {
            "name": f"{kind.lower()}-{number:05d}",
            "namespace": f"team-{dice.randrange(TEAMS):02d}",
            "labels": {
                "kueue.x-k8s.io/queue-name": "queue",
                "kueue.x-k8s.io/priority-class": "prod" if dice.random() < 0.2 else "dev",
            },
            "annotations": {ARRIVAL: f"{round(arrival)}s", RUN_TIME: f"{run_time}s"},
        }
        yield MAKERS[kind](metadata, gpus, pods, placed)


def batch_job(metadata: dict[str, Any], gpus: int, pods: int, placed: bool) -> dict[str, Any]:
    """A Job of that many pods."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "template": template(gpus, placed, restartPolicy="Never"),
        },
    }


def ray_job(metadata: dict[str, Any], gpus: int, pods: int, placed: bool) -> dict[str, Any]:
    """A RayJob with that many workers."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": metadata,
        "spec": {
            "entrypoint": "python main.py",
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": {
                "headGroupSpec": {"rayStartParams": {}, "template": template(0, placed)},
                "workerGroupSpecs": [
                    {
                        "groupName": "workers",
                        "replicas": pods,
                        "rayStartParams": {},
                        "template": template(gpus, placed),
                    }
                ],
            },
        },
    }


def leader_worker_set(metadata: dict[str, Any], gpus: int, pods: int, placed: bool) -> dict[str, Any]:
    """A LeaderWorkerSet of one or two replicas of that many pods in all."""
    replicas = 2 if pods > 4 else 1
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": metadata,
        "spec": {
            "replicas": replicas,
            "leaderWorkerTemplate": {"size": pods // replicas, "workerTemplate": template(gpus, placed)},
        },
    }


MAKERS = {"Job": batch_job, "RayJob": ray_job, "LeaderWorkerSet": leader_worker_set}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=50_000)
    parser.add_argument("--nodes", type=int, default=2_000, help=f"a multiple of {HOSTS_A_RACK * 10}")
    parser.add_argument("--profile", action="store_true", help="print where the time went")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    racks = arguments.nodes // HOSTS_A_RACK
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "day.json"
        items = [*queues(arguments.nodes), *jobs(arguments.jobs, arguments.nodes)]
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        del items
        size = file.stat().st_size
        profile = cProfile.Profile()
        if arguments.profile:
            profile.enable()
        started = time.perf_counter()
        manifests = load([str(file)])
        read = time.perf_counter()
        shape = f"gpu:10x{racks // 10}x{HOSTS_A_RACK} cpu=96,memory=512Gi,nvidia.com/gpu={GPUS},pods=110"
        result = simulate(add_nodes([shape], manifests))
        ended = time.perf_counter()
        profile.disable()
    figures = {
        "jobs": arguments.jobs,
        "nodes": arguments.nodes,
        "json_bytes": size,
        "read_s": round(read - started, 2),
        "simulate_s": round(ended - read, 2),
        "total_s": round(ended - started, 2),
        "workloads": len(result.workloads),
        "finished": sum(row.state is State.FINISHED for row in result.workloads),
        "preemptions": len(result.preemptions),
        "cycles": result.cycles,
        "days": round(result.duration_ns / 1e9 / DAY, 2),
    }
    print(
        json.dumps(figures)
        if arguments.json
        else "\n".join(f"{name}: {value}" for name, value in figures.items())
    )
    if arguments.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(40)


if __name__ == "__main__":
    main()
