"""The hash that tells the roles of a pod group apart: over all of a pod's spec that scheduling depends on.

It is a name that other controllers may know, so its bytes are upstream's: compact JSON with sorted keys, and within
Kubernetes' own types with their order of fields, which the wire structs share.

Source: JS-341, JS-212.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from kueue_fast.api.core import Container, PodSpec
from kueue_fast.api.meta import QuantityValue
from kueue_fast.model.quantities import canonical_text

__all__ = ["pod_shape", "role_hash"]

HASH_LENGTH: Final = 8
ESCAPED: Final = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def role_hash(spec: PodSpec) -> str:
    """Eight hex digits. Labels, images, commands and volumes do not count. Source: JS-341."""
    text = json.dumps({"spec": pod_shape(spec)}, ensure_ascii=False, separators=(",", ":")).translate(ESCAPED)
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_LENGTH]


def pod_shape(spec: PodSpec) -> dict[str, Any]:
    """What counts of a pod's spec, as plain values with sorted keys; what is not set is None."""
    shape = {
        "affinity": _plain(spec.affinity),
        "containers": _containers(spec.containers),
        "initContainers": _containers(spec.init_containers),
        "nodeSelector": _sorted(spec.node_selector),
        "overhead": _amounts(spec.overhead),
        "priority": spec.priority,
        "resourceClaims": _plain(spec.resource_claims),
        "runtimeClassName": spec.runtime_class_name,
        "tolerations": _plain(spec.tolerations),
        "topologySpreadConstraints": _plain(spec.topology_spread_constraints),
    }
    if spec.resources is not None:
        shape["resources"] = _amounts(spec.resources.requests)
    return _sorted(shape) or {}


def _containers(containers: Sequence[Container] | None) -> list[dict[str, Any]] | None:
    shapes = [
        {
            "ports": _plain(each.ports),
            "resources": {
                "requests": _amounts(each.resources.requests if each.resources is not None else None)
            },
        }
        for each in containers or ()
    ]
    return shapes or None


def _amounts(amounts: Mapping[str, QuantityValue] | None) -> dict[str, str] | None:
    if amounts is None:
        return None
    return {name: canonical_text(amounts[name]) for name in sorted(amounts)}


def _sorted(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if values is None else {key: values[key] for key in sorted(values)}


def _plain(value: Any) -> Any:
    """Structs as mappings in the order of their fields, without what is not set; within them, without what is empty."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(value[key]) for key in sorted(value)}
    if not isinstance(value, msgspec.Struct):
        return value
    plain = {}
    for field in msgspec.structs.fields(value):
        part = getattr(value, field.name)
        # Of the numbers only the port of the host is left out where it is 0: the others are pointers upstream.
        unset = part in ("", [], {}) or (part == 0 and field.name == "host_port")
        if part is not None and (field.required or not unset):
            plain[field.encode_name] = _plain(part)
    return plain
