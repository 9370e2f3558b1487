"""Makers of jobs of all kinds: each asks for four pods of one cpu and runs for ten minutes."""

from __future__ import annotations

from typing import Any

from kueue_fast.sim.manifest import PREFIX
from tests.sim.world import KUEUE, job, local_queue, meta, one_queue, pod, priority_class

QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"
GROUP = "kueue.x-k8s.io/pod-group-name"
TOTAL = "kueue.x-k8s.io/pod-group-total-count"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
RUN_TIME = f"{PREFIX}run-time"
PREEMPTING = {"preemption": {"withinClusterQueue": "LowerPriority"}}


def made(
    api_version: str,
    kind: str,
    spec: dict[str, Any],
    *,
    name: str = "k",
    queue: str | None = "lq",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    **simulated: str,
) -> dict[str, Any]:
    """An object; `simulated` are annotations of the simulator, with `_` for `-`."""
    said = {f"{PREFIX}{key.replace('_', '-')}": value for key, value in simulated.items()}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": meta(
            name,
            "ns",
            labels={**({QUEUE: queue} if queue else {}), **(labels or {})},
            annotations={**(annotations or {}), **said},
        ),
        "spec": spec,
    }


def template(cpu: Any = 1, **annotations: str) -> dict[str, Any]:
    return {"metadata": {"annotations": annotations}, "spec": pod(cpu)}


def required(level: str, cpu: Any = 1) -> dict[str, Any]:
    """A template whose pods stay in one domain of the level."""
    return template(cpu, **{REQUIRED: level})


def ray_cluster(workers: int = 3, pods: dict[str, Any] | None = None) -> dict[str, Any]:
    of = pods or template()
    groups = [{"groupName": "gpu", "replicas": workers, "template": of}]
    return {"headGroupSpec": {"template": of}, "workerGroupSpecs": groups}


def ray_job(workers: int = 2, pods: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """With the pod that submits it has four pods."""
    spec = {
        "rayClusterSpec": ray_cluster(workers, pods),
        "shutdownAfterJobFinishes": True,
        "submitterPodTemplate": template(),
    }
    return made("ray.io/v1", "RayJob", spec, **{"run_time": "10m", **more})


def replicated(
    name: str, replicas: int, pods: dict[str, Any] | None = None, **simulated: str
) -> dict[str, Any]:
    """A replicated job of two pods each."""
    said = {f"{PREFIX}{key.replace('_', '-')}": value for key, value in simulated.items()}
    spec = {"parallelism": 2, "completions": 2, "template": pods or template()}
    return {
        "name": name,
        "replicas": replicas,
        "template": {"metadata": {"annotations": said}, "spec": spec},
    }


def job_set(*jobs: dict[str, Any], **more: str) -> dict[str, Any]:
    return made("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": list(jobs)}, **more)


def replicas(field: str, pods: dict[str, Any] | None = None, **counts: int) -> dict[str, Any]:
    """Replicas by type under the field of a training job."""
    of = pods or template()
    return {field: {type_: {"replicas": count, "template": of} for type_, count in counts.items()}}


def training(kind: str, field: str, version: str = "v1", **counts: int) -> dict[str, Any]:
    return made(f"kubeflow.org/{version}", kind, replicas(field, **counts), run_time="10m")


def runtime() -> dict[str, Any]:
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    node = {"name": "node", "template": {"metadata": {"labels": labels}, "spec": {"template": template()}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": meta("torch"),
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [node]}}},
    }


def wrapped(pods: dict[str, Any] | None = None) -> dict[str, Any]:
    spec = {"parallelism": 4, "completions": 4, "template": pods or template()}
    return {
        "template": {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "inner"}, "spec": spec}
    }


def leader_worker_set(groups: int = 2, size: int = 2, /, **more: Any) -> dict[str, Any]:
    of = more.pop("pods", None) or template()
    spec = {
        "replicas": groups,
        "leaderWorkerTemplate": {"size": size, "leaderTemplate": of, "workerTemplate": of},
    }
    return made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec, **more)


def serving(kind: str, count: int = 4, /, **more: Any) -> dict[str, Any]:
    """A Deployment or a StatefulSet."""
    spec = {"replicas": count, "template": more.pop("pods", None) or template()}
    return made("apps/v1", kind, spec, **more)


def plain_pod(name: str, cpu: Any = 1, **more: Any) -> dict[str, Any]:
    return made("v1", "Pod", pod(cpu), name=name, **{"run_time": "10m", **more})


def member(name: str, total: int, group: str = "g", **more: Any) -> dict[str, Any]:
    """A pod of a group."""
    annotations = {TOTAL: str(total), **(more.pop("annotations", None) or {})}
    return plain_pod(name, labels={GROUP: group}, annotations=annotations, **more)


def group(count: int = 4, **more: Any) -> list[dict[str, Any]]:
    return [member(f"g-{number}", count, **more) for number in range(count)]


RUNNING_KINDS: dict[str, list[dict[str, Any]]] = {
    "JobSet": [job_set(replicated("a", 1), replicated("b", 1), run_time="10m")],
    "PyTorchJob": [training("PyTorchJob", "pytorchReplicaSpecs", Master=1, Worker=3)],
    "TFJob": [training("TFJob", "tfReplicaSpecs", PS=1, Worker=3)],
    "XGBoostJob": [training("XGBoostJob", "xgbReplicaSpecs", Master=1, Worker=3)],
    "PaddleJob": [training("PaddleJob", "paddleReplicaSpecs", Master=1, Worker=3)],
    "JAXJob": [training("JAXJob", "jaxReplicaSpecs", Worker=4)],
    "MPIJob": [training("MPIJob", "mpiReplicaSpecs", "v2beta1", Launcher=1, Worker=3)],
    "TrainJob": [
        runtime(),
        made(
            "trainer.kubeflow.org/v1alpha1",
            "TrainJob",
            {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 4}},
            run_time="10m",
        ),
    ],
    "AppWrapper": [
        made("workload.codeflare.dev/v1beta2", "AppWrapper", {"components": [wrapped()]}, run_time="10m")
    ],
    "SparkApplication": [
        made(
            "sparkoperator.k8s.io/v1beta2",
            "SparkApplication",
            {
                "mode": "cluster",
                "driver": {"coreRequest": "1"},
                "executor": {"coreRequest": "1", "instances": 3},
            },
            run_time="10m",
        )
    ],
    "RayJob": [ray_job()],
}
"""Kinds of one object that run and end."""
SERVING_KINDS: dict[str, list[dict[str, Any]]] = {
    "RayCluster": [made("ray.io/v1", "RayCluster", ray_cluster(), run_time="10m")],
    "RayService": [made("ray.io/v1", "RayService", {"rayClusterConfig": ray_cluster()}, run_time="10m")],
    "StatefulSet": [serving("StatefulSet", run_time="10m")],
    "LeaderWorkerSet": [leader_worker_set(1, 4, run_time="10m")],
}
"""Kinds with one Workload that serve until they are deleted."""
SPARK = {"feature_gates": {"SparkApplicationIntegration": True}}
HIGH = priority_class("high", 100)


def queues(cpu: Any = 4) -> tuple[dict[str, Any], ...]:
    """A ClusterQueue whose urgent jobs preempt."""
    return (*one_queue(cpu, **PREEMPTING), HIGH)


def urgent(cpu: Any = 4) -> dict[str, Any]:
    """A Job that preempts after two minutes, for one minute."""
    return job("urgent", cpu=cpu, arrival="2m", run_time="1m", labels={PRIORITY: "high"})


def topology(cpu: Any = 32) -> tuple[dict[str, Any], ...]:
    """Two racks of two hosts with four cpu each, and a queue that preempts."""
    levels = [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"r{rack}h{host}", "labels": {"rack": f"r{rack}", "pool": "a"}},
            "status": {"capacity": {"cpu": 4}},
        }
        for rack in range(2)
        for host in range(2)
    ]
    spec = {"nodeLabels": {"pool": "a"}, "topologyName": "t"}
    _, queue, _ = one_queue(cpu, **PREEMPTING)
    return (
        {"apiVersion": KUEUE, "kind": "Topology", "metadata": meta("t"), "spec": {"levels": levels}},
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": meta("default"), "spec": spec},
        queue,
        local_queue(),
        HIGH,
        *nodes,
    )
