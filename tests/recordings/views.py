"""What a user can see of a cluster, without what differs from run to run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from tests.recordings.names import DURATION, Names, stable

__all__ = ["Look", "snapshot"]

Json = dict[str, Any]

QUEUE_KINDS: Final = ("ClusterQueue", "LocalQueue", "Cohort", "AdmissionCheck")
# Besides Kueue's own controllers; operators and others tell of their conflicts and retries.
RECORDERS: Final = ("job-controller",)
OTHERS: Final = ("Pod", "Node")


class Look:
    """Objects at one moment: jobs, pods and Workloads of the scenario's namespaces; queues; events."""

    def __init__(self, jobs: list[Json], pods: list[Json], workloads: list[Json], queues: list[Json]) -> None:
        self.jobs = jobs
        self.pods = pods
        self.workloads = workloads
        self.queues = queues

    @property
    def objects(self) -> list[Json]:
        """All of them."""
        return [*self.jobs, *self.pods, *self.workloads, *self.queues]

    def count(self, what: str) -> int:
        """Workloads with a condition, all `Workloads`, or pods of a phase, `Pods.Running`."""
        if what == "Workloads":
            return len(self.workloads)
        if what.startswith("Pods."):
            return sum(
                each.get("status", {}).get("phase") == what[5:]
                and not each["metadata"].get("deletionTimestamp")
                for each in self.pods
            )
        return sum(
            any(one["type"] == what and one["status"] == "True" for one in conditions(each.get("status", {})))
            for each in self.workloads
        )


def snapshot(look: Look, events: Iterable[Json], names: Names) -> dict[str, Json]:
    """Views by what they are of. Pods that look alike are counted."""
    found: dict[str, Json] = {}
    for each in look.workloads:
        found[_key(each, names)] = stable(_workload(each), names)
    for each in look.jobs:
        found[_key(each, names)] = stable(_job(each), names)
    for each in look.queues:
        found[_key(each, names)] = stable(_status(each), names)
    pods: dict[str, int] = {}
    for each in look.pods:
        text = json.dumps(stable(_pod(each), names), sort_keys=True)
        pods[text] = pods.get(text, 0) + 1
    found["pods"] = dict(sorted(pods.items()))
    found["events"] = dict.fromkeys(sorted(filter(None, (_event(each, names) for each in events))), True)
    return found


def conditions(status: Json) -> list[Json]:
    """The conditions of a status."""
    found: list[Json] = status.get("conditions") or []
    return found


def _key(obj: Json, names: Names) -> str:
    namespace = obj["metadata"].get("namespace", "")
    return "/".join(filter(None, (obj["kind"], namespace, names.text(obj["metadata"]["name"]))))


def _status(obj: Json) -> Json:
    status = obj.get("status", {})
    kept = {name: value for name, value in status.items() if name != "conditions" and value not in ({}, [])}
    by_type = {
        each["type"]: {name: each.get(name) for name in ("status", "reason", "message")}
        for each in conditions(status)
    }
    return {**kept, "conditions": by_type}


def _owner(obj: Json) -> str:
    owner = next(iter(obj["metadata"].get("ownerReferences", [])), None)
    return f"{owner['kind']}/{owner['name']}" if owner else ""


def _workload(obj: Json) -> Json:
    metadata, spec = obj["metadata"], obj.get("spec", {})
    pod_sets = [
        {
            **_picked(each, "name", "count", "minCount", "topologyRequest"),
            "template": _template(each["template"]),
        }
        for each in spec.get("podSets", [])
    ]
    return {
        "owner": _owner(obj),
        **_picked(metadata, "labels", "annotations", "finalizers"),
        "deleted": bool(metadata.get("deletionTimestamp")),
        "spec": {
            **_picked(
                spec, "queueName", "priority", "priorityClassRef", "active", "maximumExecutionTimeSeconds"
            ),
            "podSets": pod_sets,
        },
        "status": _status(obj),
    }


def _job(obj: Json) -> Json:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    numbers = (
        "active",
        "ready",
        "succeeded",
        "failed",
        "readyReplicas",
        "replicas",
        "availableWorkerReplicas",
    )
    return {
        "labels": _kueue(obj["metadata"].get("labels")),
        "annotations": _kueue(obj["metadata"].get("annotations")),
        "spec": _picked(spec, "suspend", "parallelism", "completions", "replicas"),
        "templates": {name: _template(each) for name, each in _templates(obj)},
        "status": {
            **_picked(status, *numbers, "state", "jobDeploymentStatus", "jobStatus", "serviceStatus"),
            "conditions": _status(obj)["conditions"],
        },
    }


def _templates(obj: Json) -> Iterator[tuple[str, Json]]:
    """Pod templates of a job of any kind by role."""
    spec = obj.get("spec", {})
    if "template" in spec:
        yield "main", spec["template"]
    group = spec.get("leaderWorkerTemplate", {})
    for role in ("leaderTemplate", "workerTemplate"):
        if group.get(role):
            yield role, group[role]
    cluster = spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or spec
    if "headGroupSpec" in cluster:
        yield "head", cluster["headGroupSpec"]["template"]
    for workers in cluster.get("workerGroupSpecs", []):
        yield workers["groupName"], workers["template"]


def _pod(obj: Json) -> Json:
    metadata, spec = obj["metadata"], obj["spec"]
    return {
        "of": _owner(obj) or metadata["name"],
        "phase": obj.get("status", {}).get("phase"),
        "deleted": bool(metadata.get("deletionTimestamp")),
        "scheduled": bool(spec.get("nodeName")),
        **_picked(spec, "schedulingGates", "nodeSelector"),
        "labels": _kueue(metadata.get("labels")),
        "annotations": _kueue(metadata.get("annotations")),
        "finalizers": [each for each in metadata.get("finalizers", []) if "kueue" in each],
    }


def _template(template: Json) -> Json:
    found = _picked(
        template.get("spec", {}), "nodeSelector", "tolerations", "schedulingGates", "priorityClassName"
    )
    metadata = template.get("metadata", {})
    for part in ("labels", "annotations"):
        kept = _kueue(metadata.get(part))
        if kept:
            found[part] = kept
    return found


def _event(obj: Json, names: Names) -> str | None:
    about = obj.get("regarding", {})
    by = obj.get("reportingController", "")
    if "kueue" not in by and (by not in RECORDERS or about.get("kind") in OTHERS):
        return None
    note = DURATION.sub("<time>", names.text(obj.get("note") or ""))
    what = f"{about.get('kind')}/{names.text(about.get('name', ''))}"
    return f"{what} {obj.get('type')} {obj.get('reason')} ({by}): {note}"


def _kueue(values: Json | None) -> Json:
    return {name: value for name, value in (values or {}).items() if "kueue" in name}


def _picked(values: Json, *names: str) -> Json:
    return {name: values[name] for name in names if values.get(name) not in (None, {}, [])}
