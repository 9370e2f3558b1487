"""Makers of slices: Workloads of one elastic job."""

from typing import Any

import msgspec

from kueue_fast.api.kueue import Workload
from kueue_fast.model.elastic import ELASTIC_JOB, REPLACEMENT_FOR

JOB_UID = "job-uid"


def make_slice(
    name: str,
    *,
    age: int = 0,
    pods: int | dict[str, int] = 1,
    replaces: str | None = None,
    reserved: bool = False,
    admitted: bool = False,
    evicted: bool = False,
    finished: bool = False,
    uid: str | None = None,
    **metadata: Any,
) -> Workload:
    """A slice in namespace `ns` that is `age` minutes old; `replaces` is the name of another one."""
    counts = pods if isinstance(pods, dict) else {"main": pods}
    annotations = {ELASTIC_JOB: "true", **metadata.pop("annotations", {})}
    if replaces is not None:
        annotations[REPLACEMENT_FOR] = f"ns/{replaces}"
    states = {
        "QuotaReserved": reserved or admitted,
        "Admitted": admitted,
        "Evicted": evicted,
        "Finished": finished,
    }
    conditions = [
        {"type": name, "status": "True", "reason": "Test", "message": "for a test"}
        for name, is_true in states.items()
        if is_true
    ]
    status: dict[str, Any] = {"conditions": conditions}
    if reserved or admitted:
        assignments = [
            {
                "name": pod_set,
                "count": count,
                "flavors": {"cpu": "default"},
                "resourceUsage": {"cpu": str(count)},
            }
            for pod_set, count in counts.items()
        ]
        status["admission"] = {"clusterQueue": "cq", "podSetAssignments": assignments}
    made = {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": name if uid is None else uid,
            "creationTimestamp": f"2026-01-01T00:{59 - age:02}:00Z",
            "annotations": annotations,
            "labels": {"kueue.x-k8s.io/job-uid": JOB_UID},
            **metadata,
        },
        "spec": {
            "queueName": "lq",
            "podSets": [
                {"name": pod_set, "count": count, "template": {"spec": {"containers": []}}}
                for pod_set, count in counts.items()
            ],
        },
        "status": status,
    }
    return msgspec.json.decode(msgspec.json.encode(made), type=Workload)
