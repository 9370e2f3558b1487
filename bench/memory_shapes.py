"""Workloads for the memory benchmark, as JSON bytes: those of the load cases, and those of a live cluster."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from bench.load_cases import LoadCase, timestamp

QUEUES = 30
TEAMS = ("vision", "language", "speech", "ranking", "simulation")
FIELDS = {
    "f:metadata": {"f:annotations": {".": {}, "f:kueue.x-k8s.io/job-uid": {}}, "f:labels": {".": {}}},
    "f:spec": {
        ".": {},
        "f:active": {},
        "f:podSets": {
            ".": {},
            'k:{"name":"main"}': {
                ".": {},
                "f:count": {},
                "f:name": {},
                "f:template": {
                    ".": {},
                    "f:metadata": {".": {}, "f:labels": {".": {}}},
                    "f:spec": {".": {}, "f:containers": {}, "f:restartPolicy": {}, "f:tolerations": {}},
                },
            },
        },
        "f:priority": {},
        "f:priorityClassRef": {},
        "f:queueName": {},
    },
}


def queues() -> list[dict[str, Any]]:
    """The namespace, a flavor, and the queues that both shapes name."""
    case = LoadCase("memory")
    case.add("ResourceFlavor", "default", {})
    quota = {name: {"nominalQuota": "1000"} for name in ("cpu", "memory", "nvidia.com/gpu")}
    for number in range(QUEUES):
        case.add_queue(f"queue{number:02d}", "cohort", quota, preemption={})
    return case.objects


def load_shape(count: int) -> Iterator[dict[str, Any]]:
    """Workloads as the load cases have them: few fields, three different templates."""
    case = LoadCase("memory")
    for number in range(count):
        requests = {"cpu": case.random.choice(["500m", "1", "2"]), "memory": "1Gi"}
        queue = f"queue{number % QUEUES:02d}"
        priority = case.random.choice([0, 50, 100])
        yield case.workload(f"{queue}-{number:06d}", queue, requests, number % 3600, priority=priority)


def live_shape(count: int) -> Iterator[dict[str, Any]]:
    """Workloads of Jobs as an API server gives them, about 4 KB each: names, uids and one environment value of each
    pod template are unique, managedFields and a condition are there.
    """
    draw = random.Random(1)
    for number in range(count):
        uid, job_uid = (f"{draw.getrandbits(32):08x}-0000-4000-8000-{number:012d}" for _ in range(2))
        yield _live_workload(number, uid, job_uid, draw)


SHAPES: dict[str, Callable[[int], Iterator[dict[str, Any]]]] = {"load": load_shape, "live": live_shape}


def encode(workload: dict[str, Any]) -> bytes:
    """One line of JSON."""
    return json.dumps(workload, separators=(",", ":")).encode() + b"\n"


def _live_workload(number: int, uid: str, job_uid: str, draw: random.Random) -> dict[str, Any]:
    created = timestamp(number % 3600)
    team = draw.choice(TEAMS)
    name = f"train-{team}-{number:06d}"
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "annotations": {"kueue.x-k8s.io/job-uid": job_uid},
            "creationTimestamp": created,
            "finalizers": ["kueue.x-k8s.io/resource-in-use"],
            "generation": 1,
            "labels": {"kueue.x-k8s.io/job-uid": job_uid, "team": team, "project": f"{team}-{number % 40}"},
            "managedFields": [
                _managed("kueue", "Update", created, FIELDS),
                _managed("kueue-admission", "Apply", created, {"f:status": {"f:conditions": {}}}),
            ],
            "name": f"job-{name}-{number % 99991:05x}",
            "namespace": "load",
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "blockOwnerDeletion": True,
                    "controller": True,
                    "kind": "Job",
                    "name": name,
                    "uid": job_uid,
                }
            ],
            "resourceVersion": str(10_000_000 + number),
            "uid": uid,
        },
        "spec": {
            "active": True,
            "podSets": [
                {"count": draw.choice([1, 2, 8]), "name": "main", "template": _template(name, job_uid, draw)}
            ],
            "priority": 100,
            "priorityClassRef": {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "batch"},
            "queueName": f"queue{number % QUEUES:02d}",
        },
        "status": {
            "conditions": [
                {
                    "lastTransitionTime": created,
                    "message": "couldn't assign flavors to pod set main: insufficient unused quota for "
                    "nvidia.com/gpu in flavor default, 8 more needed",
                    "observedGeneration": 1,
                    "reason": "Pending",
                    "status": "False",
                    "type": "QuotaReserved",
                }
            ],
            "resourceRequests": [
                {"name": "main", "resources": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"}}
            ],
        },
    }


def _managed(manager: str, operation: str, time: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        "manager": manager,
        "operation": operation,
        "time": time,
    }


def _template(name: str, job_uid: str, draw: random.Random) -> dict[str, Any]:
    amounts = {
        "cpu": draw.choice(["4", "8", "16"]),
        "memory": draw.choice(["32Gi", "64Gi"]),
        "nvidia.com/gpu": "1",
    }
    environment = {
        "RUN_NAME": name,
        "NCCL_DEBUG": "WARN",
        "OMP_NUM_THREADS": "8",
        "CHECKPOINT_FOLDER": "/checkpoints",
        "TRACKING_ENDPOINT": "http://tracking.ml-platform.svc:8080",
    }
    labels = {
        "app": "trainer",
        "batch.kubernetes.io/controller-uid": job_uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": job_uid,
        "job-name": name,
    }
    container = {
        "args": ["--config=/etc/trainer/config.yaml", "--resume", "--workers=8"],
        "command": ["python", "-m", "trainer"],
        "env": [{"name": key, "value": value} for key, value in environment.items()],
        "image": "images.example.com/ml/trainer:2026.01.3",
        "imagePullPolicy": "IfNotPresent",
        "name": "trainer",
        "resources": {"limits": amounts, "requests": amounts},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            {"mountPath": "/checkpoints", "name": "checkpoints"},
            {"mountPath": "/etc/trainer", "name": "config", "readOnly": True},
        ],
    }
    return {
        "metadata": {"labels": labels},
        "spec": {
            "containers": [container],
            "dnsPolicy": "ClusterFirst",
            "nodeSelector": {"kubernetes.io/arch": "amd64"},
            "restartPolicy": "Never",
            "schedulerName": "default-scheduler",
            "securityContext": {"fsGroup": 1000, "runAsUser": 1000},
            "serviceAccountName": "trainer",
            "terminationGracePeriodSeconds": 30,
            "tolerations": [{"effect": "NoSchedule", "key": "nvidia.com/gpu", "operator": "Exists"}],
            "volumes": [
                {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "checkpoints"}},
                {"configMap": {"defaultMode": 420, "name": "trainer-config"}, "name": "config"},
            ],
        },
    }
