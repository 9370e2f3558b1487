"""What the tests of all kinds of jobs share: manifests in, pod sets and errors out in a form that a table can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import yaml

from kueue_fast.api.decode import decode_object
from kueue_fast.api.encode import to_manifest
from kueue_fast.api.kueue import PodSet, Workload, WorkloadStatus
from kueue_fast.jobs import pod_set_info, reconciler
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.model.validation.field_error import FieldError
from tests.jobs.makers import NOW, View

QUEUE = "kueue.x-k8s.io/queue-name"
ELASTIC = "kueue.x-k8s.io/elastic-job"
PRIORITY = "kueue.x-k8s.io/priority-class"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"
MAX_EXEC = "kueue.x-k8s.io/max-exec-time-seconds"
GATED_BY = "kueue.x-k8s.io/admission-gated-by"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"
GROUP = "kueue.x-k8s.io/podset-group-name"
SLICE = "kueue.x-k8s.io/podset-slice-required-topology"
SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size"


def read(text: str) -> Any:
    """The object of a manifest in YAML."""
    return decode_object(yaml.safe_load(text))


def changed(obj: Any, path: str, value: Any) -> Any:
    """The object with one field of its manifest changed: `spec/workerGroupSpecs/0/replicas`; None takes it out."""
    manifest = to_manifest(obj)
    at: Any = manifest
    *parents, last = path.split("/")
    for part in parents:
        if isinstance(at, list):
            at = at[int(part)]
        else:
            at = at.setdefault(part, {})
    key: Any = int(last) if isinstance(at, list) else last
    if value is None and (isinstance(at, list) or key in at):
        del at[key]
    elif value is None:
        pass
    else:
        at[key] = value
    return decode_object(manifest)


def amended(obj: Any, changes: dict[str, Any]) -> Any:
    """The object with several fields changed."""
    for path, value in changes.items():
        obj = changed(obj, path, value)
    return obj


def shape(pod_sets: Sequence[PodSet]) -> list[tuple[str, int, dict[str, Any]]]:
    """Name, count and requests by container of each pod set."""
    shapes = []
    for pod_set in pod_sets:
        containers = pod_set_info.decode(pod_set.template.spec)["containers"]
        requests = {each["name"]: each.get("resources", {}).get("requests", {}) for each in containers}
        shapes.append((pod_set.name, pod_set.count, requests))
    return shapes


def requests_of(pod_sets: Sequence[PodSet]) -> list[dict[str, Any] | None]:
    """The topology request of each pod set, None where there is none."""
    return [
        None if pod_set.topology_request is None else msgspec.to_builtins(pod_set.topology_request)
        for pod_set in pod_sets
    ]


def told(errors: Sequence[FieldError]) -> list[str]:
    """Errors as the API server prints them."""
    return [str(error) for error in errors]


def paths(errors: Sequence[FieldError]) -> list[str]:
    """Where the errors are."""
    return [error.path for error in errors]


def made(job: Any, integration: Any, settings: JobSettings | None = None) -> Workload:
    """The Workload that a held job gets."""
    action = reconciler.reconcile(job, integration, None, View(settings), NOW)
    assert isinstance(action, reconciler.CreateWorkload)
    return action.workload


def admitted(workload: Workload) -> Workload:
    """The Workload admitted with the flavor `spot` for all."""
    assignments = [
        {"name": pod_set.name, "flavors": {"cpu": "spot"}, "count": pod_set.count}
        for pod_set in workload.spec.pod_sets or ()
    ]
    status = {
        "admission": {"clusterQueue": "cq", "podSetAssignments": assignments},
        "conditions": [
            {"type": "QuotaReserved", "status": "True"},
            {"type": "Admitted", "status": "True"},
        ],
    }
    return msgspec.structs.replace(workload, status=msgspec.convert(status, WorkloadStatus))


def started(job: Any, integration: Any) -> tuple[Any, Workload]:
    """The job as its admission released it, and its admitted Workload."""
    workload = admitted(made(job, integration))
    action = reconciler.reconcile(job, integration, workload, View(), NOW)
    assert isinstance(action, reconciler.UpdateJob), action
    assert action.event is not None
    assert (action.event.reason, action.event.kind) == ("Started", integration.kind)
    return action.job, workload


def stopped(job: Any, integration: Any, workload: Workload) -> Any:
    """The job after it was told to stop."""
    result = integration.stop(job, pod_set_info.from_workload(workload))
    assert result.now
    return result.job


def same(one: Any, other: Any) -> bool:
    """Whether two objects write the same manifest."""
    return to_manifest(one) == to_manifest(other)
