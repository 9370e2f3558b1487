"""Pod templates of driver and executors, as the Spark operator will make them: as far as quota goes. Source: JS-444."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.spark import SparkPodSpec
from kueue_fast.errors import InputError
from kueue_fast.jobs.pod_set_info import as_json, decode, encode
from kueue_fast.model.quantities import as_fraction

__all__ = ["DRIVER_CONTAINER", "EXECUTOR_CONTAINER", "java_memory", "spark_template", "with_gates"]

DRIVER_CONTAINER: Final = "spark-kubernetes-driver"
EXECUTOR_CONTAINER: Final = "spark-kubernetes-executor"
JAVA_UNITS: Final = {
    "kb": "Ki",
    "mb": "Mi",
    "gb": "Gi",
    "tb": "Ti",
    "pb": "Pi",
    "k": "Ki",
    "m": "Mi",
    "g": "Gi",
    "t": "Ti",
    "p": "Pi",
}


def spark_template(pod: SparkPodSpec, container: str, path: str) -> PodTemplateSpec:
    """The template of the pods of one role, whose Spark container is called `container`.

    The user's own template gives labels and annotations only. Raises InputError for an amount that is none.
    """
    resources: dict[str, dict[str, Any]] = {}
    for part, resource, amount, field in (
        ("requests", "cpu", pod.core_request, "coreRequest"),
        ("limits", "cpu", pod.core_limit, "coreLimit"),
        ("requests", "memory", _java(pod.memory), "memory"),
        ("limits", "memory", _java(pod.memory_limit), "memoryLimit"),
    ):
        if amount is not None:
            _check(amount, f"$.{path}.{field}")
            resources.setdefault(part, {})[resource] = amount
    if pod.gpu is not None and pod.gpu.name and pod.gpu.quantity > 0:
        resources.setdefault("limits", {})[pod.gpu.name] = str(pod.gpu.quantity)
    own: dict[str, Any] = {"name": container}
    if resources:
        own["resources"] = resources
    spec: dict[str, Any] = {"containers": _added([own], pod.sidecars)}
    for field, value in (
        ("initContainers", _added([], pod.init_containers)),
        ("priorityClassName", pod.priority_class_name),
        ("nodeSelector", pod.node_selector),
        ("affinity", pod.affinity),
        ("tolerations", as_json(pod.tolerations)),
    ):
        if value:
            spec[field] = value
    metadata = decode(pod.template.metadata) if pod.template is not None else {}
    for part, extra in (("labels", pod.labels), ("annotations", pod.annotations)):
        merged = {**(metadata.get(part) or {}), **(extra or {})}
        if merged:
            metadata[part] = merged
    return PodTemplateSpec(metadata=encode(metadata), spec=encode(spec))


def java_memory(text: str) -> str:
    """An amount of memory in Java's units as Kubernetes writes it: `512m` is `512Mi`.

    Only small letters are units: of `2G` the operator makes `2GGi`, which is no amount.
    """
    for unit, suffix in JAVA_UNITS.items():
        if text.lower().endswith(unit):
            return text.removesuffix(unit) + suffix
    return text


def with_gates(pod: SparkPodSpec, gates: list[dict[str, Any]], container: str) -> PodTemplateSpec:
    """The user's template, made up if there is none, with these scheduling gates."""
    template = pod.template
    if template is None:
        template = PodTemplateSpec(spec=encode({"containers": [{"name": container}]}))
    spec = decode(template.spec)
    if (spec.get("schedulingGates") or []) == gates:
        return template
    spec["schedulingGates"] = gates
    if not gates:
        del spec["schedulingGates"]
    return msgspec.structs.replace(template, spec=encode(spec))


def _java(text: str | None) -> str | None:
    return None if text is None else java_memory(text)


def _check(amount: str, field: str) -> None:
    try:
        as_fraction(amount)
    except ValueError:
        raise InputError(f"has {amount!r}", field=field, expected="a quantity") from None


def _added(containers: list[dict[str, Any]], more: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """The containers and those of `more` that are not among them by name and image."""
    for each in more or ():
        if not any(
            (each.get("name"), each.get("image")) == (known.get("name"), known.get("image"))
            for known in containers
        ):
            containers.append(each)
    return containers
