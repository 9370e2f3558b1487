"""Makers of manifests for tests of the simulator."""

from __future__ import annotations

import io
from typing import Any

import msgspec

from kueue_fast.api.decode import decode_object
from kueue_fast.model import times
from kueue_fast.sim.json_report import to_json
from kueue_fast.sim.manifest import Manifest, read_facts
from kueue_fast.sim.options import SimulationOptions
from kueue_fast.sim.report import print_report
from kueue_fast.sim.result import SimulationResult, WorkloadRow
from kueue_fast.sim.simulate import Simulation

KUEUE = "kueue.x-k8s.io/v1beta2"
SECOND = 10**9
MINUTE = 60 * SECOND
START = times.parse("2026-01-01T00:00:00Z")


def seconds(time_ns: int | None) -> float | None:
    """A time as seconds after the usual start of a run."""
    return None if time_ns is None else (time_ns - START) / SECOND


def manifests(*objects: dict[str, Any]) -> list[Manifest]:
    """Manifests as the loader makes them, each in a file of its own name."""
    made = []
    for number, value in enumerate(objects):
        obj = decode_object(value)
        facts, errors = read_facts(obj.KIND, obj.metadata.annotations)
        assert not errors
        file = f"{value['metadata']['name']}.yaml"
        made.append(
            Manifest(file, 1 + number, 0, value["apiVersion"], obj, msgspec.json.encode(value), facts)
        )
    return made


def run(*objects: dict[str, Any], **options: Any) -> tuple[SimulationResult, Simulation]:
    simulation = Simulation(manifests(*objects), SimulationOptions(**options))
    simulation.run()
    return simulation.result(), simulation


def output(*objects: dict[str, Any], **options: Any) -> tuple[bytes, str]:
    """JSON and tables of a run."""
    result, _ = run(*objects, **options)
    out = io.StringIO()
    print_report(result, out, width=120)
    return to_json(result), out.getvalue()


def rows(result: SimulationResult) -> dict[str, WorkloadRow]:
    """Rows by the name of the job, or of the Workload where there is none."""
    return {row.owner_name or row.name: row for row in result.workloads}


def meta(name: str, namespace: str | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, **({"namespace": namespace} if namespace else {}), **more}


def flavor(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": meta(name), "spec": spec}


def cluster_queue(name: str, quotas: dict[str, dict[str, Any]], **spec: Any) -> dict[str, Any]:
    """`quotas`: flavor to resource to nominal quota, or to (nominal, borrowingLimit)."""
    flavors = []
    for flavor_name, resources in quotas.items():
        entries = []
        for resource, quota in resources.items():
            entry = {"name": resource, "nominalQuota": quota}
            if isinstance(quota, tuple):
                entry = {"name": resource, "nominalQuota": quota[0], "borrowingLimit": quota[1]}
            entries.append(entry)
        flavors.append({"name": flavor_name, "resources": entries})
    covered = list(next(iter(quotas.values())))
    groups = [{"coveredResources": covered, "flavors": flavors}]
    return {
        "apiVersion": KUEUE,
        "kind": "ClusterQueue",
        "metadata": meta(name),
        "spec": {"namespaceSelector": {}, "resourceGroups": groups, **spec},
    }


def local_queue(name: str = "lq", target: str = "cq", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": KUEUE,
        "kind": "LocalQueue",
        "metadata": meta(name, "ns"),
        "spec": {"clusterQueue": target, **spec},
    }


def one_queue(cpu: Any = 4, **spec: Any) -> tuple[dict[str, Any], ...]:
    """One flavor, one ClusterQueue of some cpu, one LocalQueue."""
    return flavor("default"), cluster_queue("cq", {"default": {"cpu": cpu}}, **spec), local_queue()


def priority_class(name: str, value: int) -> dict[str, Any]:
    return {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": meta(name), "value": value}


def cohort(name: str, parent: str | None = None, **spec: Any) -> dict[str, Any]:
    above = {"parentName": parent} if parent else {}
    return {"apiVersion": KUEUE, "kind": "Cohort", "metadata": meta(name), "spec": {**above, **spec}}


def annotations(
    arrival: str | None, run_time: str | None, grace: str | None = None, **more: str
) -> dict[str, str]:
    prefix = "sim.kueue-fast.dev/"
    said = {prefix + "arrival": arrival, prefix + "run-time": run_time, prefix + "grace-period": grace}
    return {**{name: value for name, value in said.items() if value is not None}, **more}


def pod(cpu: Any = 1, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"containers": [container], "restartPolicy": "Never", **spec}


def job(
    name: str,
    *,
    cpu: Any = 1,
    parallelism: int = 1,
    arrival: str | None = None,
    run_time: str | None = "1m",
    grace: str | None = None,
    queue: str | None = "lq",
    labels: dict[str, str] | None = None,
    more_annotations: dict[str, str] | None = None,
    pod_spec: dict[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    all_labels = {**({"kueue.x-k8s.io/queue-name": queue} if queue else {}), **(labels or {})}
    said = annotations(arrival, run_time, grace, **(more_annotations or {}))
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta(name, "ns", labels=all_labels, annotations=said),
        "spec": {
            "parallelism": parallelism,
            "completions": parallelism,
            "template": {"spec": pod(cpu, **(pod_spec or {}))},
            **spec,
        },
    }


def workload(
    name: str,
    *,
    cpu: Any = 1,
    count: int = 1,
    arrival: str | None = None,
    run_time: str | None = "1m",
    grace: str | None = None,
    queue: str = "lq",
    priority: int = 0,
    status: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    made = {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": meta(name, "ns", annotations=annotations(arrival, run_time, grace), **(metadata or {})),
        "spec": {
            "queueName": queue,
            "priority": priority,
            "podSets": [{"name": "main", "count": count, "template": {"spec": pod(cpu)}}],
            **spec,
        },
    }
    return {**made, "status": status} if status else made
