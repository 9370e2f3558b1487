"""Short ways to write manifests in tests."""

from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

API = "kueue.x-k8s.io/v1beta2"


def flavor(name: str, **spec: Any) -> Json:
    return {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def quota(
    resource: str, nominal: str | int, borrow: str | int | None = None, lend: str | int | None = None
) -> Json:
    written = {"name": resource, "nominalQuota": str(nominal)}
    if borrow is not None:
        written["borrowingLimit"] = str(borrow)
    if lend is not None:
        written["lendingLimit"] = str(lend)
    return written


def group(**flavors: list[Json]) -> Json:
    """Flavors of one resource group, underscores standing for dashes: `group(on_demand=[quota("cpu", 4)])`."""
    rows: list[Json] = [
        {"name": name.replace("_", "-"), "resources": resources} for name, resources in flavors.items()
    ]
    return {"coveredResources": [resource["name"] for resource in rows[0]["resources"]], "flavors": rows}


def cohort(name: str, *groups: Json, parent: str | None = None) -> Json:
    spec: Json = {"resourceGroups": list(groups)}
    if parent is not None:
        spec["parentName"] = parent
    return {"apiVersion": API, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}


def cluster_queue(name: str, *groups: Json, **spec: Any) -> list[Json]:
    """A ClusterQueue and a LocalQueue of the same name in the namespace default."""
    defaults = {"namespaceSelector": {}, "queueingStrategy": "BestEffortFIFO", "resourceGroups": list(groups)}
    return [
        {"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": {**defaults, **spec}},
        {
            "apiVersion": API,
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"clusterQueue": name},
        },
    ]


def pod_set(
    count: int = 1,
    *,
    name: str = "main",
    minimum: int | None = None,
    together: str | None = None,
    **requests: str | int,
) -> Json:
    """Pods of one container; `gpu=1` asks for `example.com/gpu`."""
    names = {"gpu": "example.com/gpu"}
    written = {names.get(resource, resource): str(amount) for resource, amount in requests.items()}
    spec = {"containers": [{"name": "main", "resources": {"requests": written}}]}
    made: Json = {"name": name, "count": count, "template": {"metadata": {}, "spec": spec}}
    if minimum is not None:
        made["minCount"] = minimum
    if together is not None:
        made["topologyRequest"] = {"podSetGroupName": together}
    return made


def workload(name: str, queue: str, *pod_sets: Json, priority: int = 0, created: int = 0) -> Json:
    """`created`: seconds after the start of the scenario."""
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "creationTimestamp": f"2026-01-01T00:00:{created:02d}Z",
    }
    spec = {"active": True, "queueName": queue, "podSets": list(pod_sets), "priority": priority}
    return {"apiVersion": API, "kind": "Workload", "metadata": metadata, "spec": spec}


def scenario(objects: list[Json], *steps: list[Json] | Json, config: Json | None = None) -> Json:
    """A scenario in the namespace default; a step given as a list creates what it holds."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {}}}
    made = [
        {"at": 60 * (i + 1), **({"create": step} if isinstance(step, list) else step)}
        for i, step in enumerate(steps)
    ]
    return {"name": "hand-written", "config": config or {}, "objects": [namespace, *objects], "steps": made}
