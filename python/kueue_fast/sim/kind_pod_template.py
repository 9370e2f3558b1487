"""Pods as the controllers of jobs make them of a template."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from kueue_fast.api.core import Pod, PodSpec, PodStatus, PodTemplateSpec
from kueue_fast.api.meta import KubernetesObject, ObjectMeta, OwnerReference

__all__ = ["Opened", "controlled_by", "made_pod", "opened", "suffix"]

SUFFIX_LENGTH: Final = 5


class Opened(NamedTuple):
    """A pod template, read once for many pods."""

    metadata: ObjectMeta
    spec: PodSpec


def opened(template: PodTemplateSpec) -> Opened:
    """The template as structs."""
    metadata = ObjectMeta()
    if template.metadata:
        metadata = msgspec.json.decode(template.metadata, type=ObjectMeta)
    spec = msgspec.json.decode(template.spec, type=PodSpec) if template.spec else PodSpec()
    return Opened(metadata, spec)


def controlled_by(owner: KubernetesObject) -> OwnerReference:
    """The reference of an object to its controller."""
    return OwnerReference(
        api_version=owner.API_VERSION,
        kind=owner.KIND,
        name=owner.metadata.name,
        uid=owner.metadata.uid or "",
        controller=True,
        block_owner_deletion=True,
    )


def made_pod(
    template: Opened,
    name: str,
    owner: KubernetesObject,
    *,
    labels: Mapping[str, str] = {},
    annotations: Mapping[str, str] = {},
    phase: str = "Pending",
) -> Pod:
    """A new pod of the template, in the owner's namespace and controlled by it."""
    metadata = ObjectMeta(
        name=name,
        namespace=owner.metadata.namespace,
        labels={**(template.metadata.labels or {}), **labels} or None,
        annotations={**(template.metadata.annotations or {}), **annotations} or None,
        owner_references=[controlled_by(owner)],
    )
    return Pod(metadata=metadata, spec=template.spec, status=PodStatus(phase=phase))


def suffix(*parts: object) -> str:
    """Five hex digits for a name that a live controller would draw by lot: the same in every run."""
    text = "\n".join(map(str, parts))
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:SUFFIX_LENGTH]
