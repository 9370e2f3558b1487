"""Pod templates of jobs: how a Workload carries them, and the small changes that integrations make.

Templates are JSON text. It is kept as it is wherever nothing has to change: it is what equal templates are recognized
by.

Source: JS-008.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.jobs.pod_set_info import decode, encode

__all__ = ["added_container", "gated", "has_gate", "marked", "unique_env", "without_keys"]


def unique_env(spec: msgspec.Raw) -> msgspec.Raw:
    """Make `env` of every container unique by name: the first place, the last value. Source: JS-008."""
    if b'"env"' not in bytes(spec):
        return spec
    opened = decode(spec)
    changed = False
    for part in ("containers", "initContainers"):
        for container in opened.get(part) or ():
            variables = container.get("env") or []
            by_name = {variable.get("name"): variable for variable in variables}
            if len(by_name) != len(variables):
                container["env"] = list(by_name.values())
                changed = True
    return encode(opened) if changed else spec


def added_container(template: PodTemplateSpec, container: Mapping[str, Any]) -> PodTemplateSpec:
    """The template with one more container, last."""
    spec = decode(template.spec)
    spec["containers"] = [*(spec.get("containers") or ()), container]
    return PodTemplateSpec(metadata=template.metadata, spec=encode(spec))


def has_gate(template: PodTemplateSpec, gate: str) -> bool:
    """Whether pods of the template are born with this scheduling gate."""
    gates = decode(template.spec).get("schedulingGates") or ()
    return any(each == {"name": gate} for each in gates)


def gated(template: PodTemplateSpec, gate: str) -> PodTemplateSpec:
    """The template with a scheduling gate; the same object if it has it already."""
    if has_gate(template, gate):
        return template
    spec = decode(template.spec)
    spec["schedulingGates"] = [*(spec.get("schedulingGates") or ()), {"name": gate}]
    return PodTemplateSpec(metadata=template.metadata, spec=encode(spec))


def marked(
    template: PodTemplateSpec, labels: Mapping[str, str] = {}, annotations: Mapping[str, str] = {}
) -> PodTemplateSpec:
    """The template with these labels and annotations, which win over its own; the same object if it has them."""
    metadata = decode(template.metadata)
    changed = False
    for part, wanted in (("labels", labels), ("annotations", annotations)):
        present = metadata.get(part) or {}
        merged = {**present, **wanted}
        if merged != present:
            metadata[part] = merged
            changed = True
    return PodTemplateSpec(metadata=encode(metadata), spec=template.spec) if changed else template


def without_keys(template: PodTemplateSpec, prefix: str, kept: str) -> PodTemplateSpec:
    """The template without labels and annotations whose key begins with `prefix`, save the key `kept`."""
    if prefix.encode() not in bytes(template.metadata):
        return template
    metadata = decode(template.metadata)
    for part in ("labels", "annotations"):
        if metadata.get(part):
            metadata[part] = {
                key: value
                for key, value in metadata[part].items()
                if key == kept or not key.startswith(prefix)
            }
    return PodTemplateSpec(metadata=encode(metadata), spec=template.spec)
