"""Small API objects for the tests of arrays and engine."""

from __future__ import annotations

import copy
from typing import Any

from kueue_fast import Engine
from kueue_fast.api.decode import decode_object
from kueue_fast.model import times

V1BETA2 = "kueue.x-k8s.io/v1beta2"
START = times.parse("2026-01-01T00:00:00Z")
SECOND = 10**9

Json = dict[str, Any]


def obj(
    kind: str,
    name: str,
    spec: Json | None = None,
    *,
    api: str = V1BETA2,
    namespace: str | None = None,
    **rest: Any,
) -> Any:
    """An object of any kind, decoded."""
    metadata: Json = {"name": name, **rest.pop("metadata", {})}
    if namespace is not None:
        metadata["namespace"] = namespace
    made: Json = {"apiVersion": api, "kind": kind, "metadata": metadata, **rest}
    if spec is not None:
        made["spec"] = spec
    return decode_object(copy.deepcopy(made))


def namespace(name: str = "default", **labels: str) -> Any:
    return obj("Namespace", name, api="v1", metadata={"labels": labels})


def flavor(name: str, **spec: Any) -> Any:
    return obj("ResourceFlavor", name, spec)


def quota(
    resource: str, nominal: str | int, borrow: str | int | None = None, lend: str | int | None = None
) -> Json:
    written: Json = {"name": resource, "nominalQuota": str(nominal)}
    if borrow is not None:
        written["borrowingLimit"] = str(borrow)
    if lend is not None:
        written["lendingLimit"] = str(lend)
    return written


def group(**flavors: list[Json]) -> Json:
    """A resource group: `group(spot=[quota("cpu", 4)])`."""
    resources = next(iter(flavors.values()))
    return {
        "coveredResources": [resource["name"] for resource in resources],
        "flavors": [{"name": name, "resources": quotas} for name, quotas in flavors.items()],
    }


def cluster_queue(name: str, *groups: Json, cohort: str | None = None, **spec: Any) -> Any:
    full: Json = {
        "namespaceSelector": {},
        "queueingStrategy": "BestEffortFIFO",
        "resourceGroups": list(groups),
        **spec,
    }
    if cohort is not None:
        full["cohortName"] = cohort
    return obj("ClusterQueue", name, full)


def cohort(name: str, *groups: Json, parent: str | None = None) -> Any:
    spec: Json = {"resourceGroups": list(groups)}
    if parent is not None:
        spec["parentName"] = parent
    return obj("Cohort", name, spec)


def local_queue(
    name: str, cluster_queue: str, *, in_namespace: str = "default", stop: str | None = None
) -> Any:
    spec: Json = {"clusterQueue": cluster_queue}
    if stop is not None:
        spec["stopPolicy"] = stop
    return obj("LocalQueue", name, spec, namespace=in_namespace)


def check(name: str, *, active: str | None = "True", controller: str = "example.com/check") -> Any:
    conditions = [] if active is None else [condition("Active", active)]
    return obj("AdmissionCheck", name, {"controllerName": controller}, status={"conditions": conditions})


def limit_range(name: str, item: Json, *, in_namespace: str = "default") -> Any:
    return obj("LimitRange", name, {"limits": [item]}, api="v1", namespace=in_namespace)


def runtime_class(name: str, **overhead: str | int) -> Any:
    return obj("RuntimeClass", name, api="node.k8s.io/v1", handler="h", overhead={"podFixed": overhead})


def condition(
    kind: str, status: str = "True", reason: str = "Reason", at: int = 0, message: str = ""
) -> Json:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": times.format(START + at * SECOND),
    }


def pod_set(
    count: int = 1,
    *,
    name: str = "main",
    minimum: int | None = None,
    together: str | None = None,
    pod: Json | None = None,
    **requests: str | int,
) -> Json:
    """Pods of one container; `gpu=1` asks for `example.com/gpu`."""
    names = {"gpu": "example.com/gpu"}
    written = {names.get(resource, resource): str(amount) for resource, amount in requests.items()}
    spec: Json = {"containers": [{"name": "main", "resources": {"requests": written}}], **(pod or {})}
    made: Json = {"name": name, "count": count, "template": {"metadata": {}, "spec": spec}}
    if minimum is not None:
        made["minCount"] = minimum
    if together is not None:
        made["topologyRequest"] = {"podSetGroupName": together}
    return made


def workload_json(
    name: str,
    queue: str,
    *pod_sets: Json,
    in_namespace: str = "default",
    priority: int = 0,
    created: int = 0,
    metadata: Json | None = None,
    status: Json | None = None,
    **spec: Any,
) -> Json:
    """`created`: seconds after START."""
    made: Json = {
        "apiVersion": V1BETA2,
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": in_namespace,
            "uid": f"uid-{name}",
            "generation": 1,
            "creationTimestamp": times.format(START + created * SECOND),
            **(metadata or {}),
        },
        "spec": {"active": True, "queueName": queue, "podSets": list(pod_sets), "priority": priority, **spec},
    }
    if status is not None:
        made["status"] = status
    return made


def workload(name: str, queue: str, *pod_sets: Json, **rest: Any) -> Any:
    return decode_object(workload_json(name, queue, *pod_sets, **rest))


def reserved(
    made: Json,
    cluster_queue: str,
    *assigned: tuple[str, int, dict[str, str], dict[str, str | int]],
    admitted: bool = True,
) -> Json:
    """A workload with a reservation: `assigned` are (pod set, count, flavors, usage)."""
    status: Json = copy.deepcopy(made.get("status") or {})
    kept = [one for one in status.get("conditions", []) if one["type"] not in ("QuotaReserved", "Admitted")]
    status["conditions"] = [
        *kept,
        condition("QuotaReserved", reason="QuotaReserved"),
        *([condition("Admitted", reason="Admitted")] if admitted else []),
    ]
    status["admission"] = {
        "clusterQueue": cluster_queue,
        "podSetAssignments": [
            {
                "name": name,
                "count": count,
                "flavors": flavors,
                "resourceUsage": {key: str(value) for key, value in usage.items()},
            }
            for name, count, flavors, usage in assigned
        ],
    }
    return {**made, "status": status}


def observed(made: Json, admission: Any, *, admitted: bool = True) -> Json:
    """The workload as the cluster shows it after an admission of the engine was written."""

    def quantity(resource: str, amount: int) -> str:
        return f"{amount}m" if resource == "cpu" else str(amount)

    return reserved(
        made,
        admission.cluster_queue,
        *(
            (
                one.name,
                one.count,
                one.flavors,
                {name: quantity(name, amount) for name, amount in one.usage.items()},
            )
            for one in admission.pod_sets
        ),
        admitted=admitted,
    )


def finished(made: Json) -> Json:
    status = copy.deepcopy(made.get("status") or {})
    status["conditions"] = [*status.get("conditions", []), condition("Finished", reason="Succeeded")]
    return {**made, "status": status}


def feed(engine: Engine, *objects: Any, at: float = 0) -> Engine:
    """Upsert objects (decoded, or as JSON) `at` seconds after START."""
    for one in objects:
        engine.upsert(decode_object(one) if isinstance(one, dict) else one, START + int(at * SECOND))
    return engine


def cycle(engine: Engine, at: int = 0) -> Any:
    return engine.cycle(START + at * SECOND)


def admitted_names(one: Any) -> list[str]:
    return [admission.workload.partition("/")[2] for admission in one.admitted]
