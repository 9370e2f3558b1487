"""Makers of Jobs and of what the reconciler reads."""

from typing import Any

import msgspec

from kueue_fast.api.batch import Job
from kueue_fast.api.core import PriorityClass
from kueue_fast.api.kueue import ResourceFlavor, Workload, WorkloadPriorityClass, WorkloadStatus
from kueue_fast.jobs import pod_set_info, reconciler
from kueue_fast.jobs.job import BatchJob
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.model import times

BATCH = BatchJob()
NOW = times.parse("2026-01-01T01:00:00Z")
QUEUE = {"kueue.x-k8s.io/queue-name": "lq"}
MIN = "kueue.x-k8s.io/job-min-parallelism"
SYNC = "kueue.x-k8s.io/job-completions-equal-parallelism"
POD = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}], "restartPolicy": "Never"}


def job(
    spec: dict[str, Any] | None = None,
    *,
    pod: dict[str, Any] | None = None,
    template: dict[str, Any] | None = None,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    status: dict[str, Any] | None = None,
) -> Job:
    made = {
        "metadata": {
            "name": "name",
            "namespace": "ns",
            "uid": "uid",
            "labels": QUEUE if labels is None else labels,
            "annotations": annotations,
        },
        "spec": {
            "parallelism": 3,
            "suspend": True,
            "template": {"metadata": template or {}, "spec": pod or POD},
            **(spec or {}),
        },
        "status": status,
    }
    return msgspec.json.decode(msgspec.json.encode(made), type=Job)


def flavor(name: str) -> ResourceFlavor | None:
    specs: dict[str, dict[str, Any]] = {
        "spot": {
            "nodeLabels": {"type": "spot", "shared": "spot"},
            "tolerations": [{"key": "spot", "operator": "Exists"}],
        },
        "gpu": {"nodeLabels": {"gpu": "yes", "shared": "gpu"}},
    }
    if name not in specs:
        return None
    return msgspec.convert({"metadata": {"name": name}, "spec": specs[name]}, ResourceFlavor)


class View:
    """What the reconciler reads."""

    def __init__(self, settings: JobSettings | None = None) -> None:
        self.settings = settings or JobSettings()
        self.flavor = flavor
        high = msgspec.convert({"metadata": {"name": "high"}, "value": 1000}, WorkloadPriorityClass)
        pods = msgspec.convert({"metadata": {"name": "pods"}, "value": 7}, PriorityClass)
        self.workload_classes = {"high": high}
        self.pod_classes = {"pods": pods}


def step(a_job: Job, workload: Workload | None, view: View | None = None) -> Any:
    return reconciler.reconcile(a_job, BATCH, workload, view or View(), NOW)


def made_workload(a_job: Job, view: View | None = None) -> Workload:
    action = step(a_job, None, view)
    assert isinstance(action, reconciler.CreateWorkload)
    return action.workload


def admitted(workload: Workload, *, flavors: dict[str, str] | None = None, **more: Any) -> Workload:
    assignment = {"flavors": flavors or {"cpu": "spot"}, "count": more.pop("count", 3)}
    status = {
        "admission": {"clusterQueue": "cq", "podSetAssignments": [assignment]},
        "conditions": [
            {"type": "QuotaReserved", "status": "True"},
            {"type": "Admitted", "status": "True"},
        ],
        **more,
    }
    return msgspec.structs.replace(workload, status=msgspec.convert(status, WorkloadStatus))


def template_of(a_job: Job) -> dict[str, Any]:
    template = a_job.spec.template
    return {"metadata": pod_set_info.decode(template.metadata), "spec": pod_set_info.decode(template.spec)}
