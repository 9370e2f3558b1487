"""Patches that carry only what differs: our structs hold a part of each object, and the rest must stay as it is."""

from __future__ import annotations

from typing import Any

import msgspec

from kueue_fast.api.encode import encode, to_manifest
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.cluster.kube.resources import resource_of
from kueue_fast.cluster.kube.writer import Verb, Write

__all__ = ["create", "difference", "update", "update_status"]


def create(obj: KubernetesObject) -> Write:
    """Create the object."""
    metadata = obj.metadata
    return Write(resource_of(obj), metadata.namespace, metadata.name, Verb.CREATE, encode(obj))


def update(old: KubernetesObject, new: KubernetesObject) -> Write | None:
    """Write everything but the status that differs; None if nothing does. A conflict if it was changed since."""
    return _merge(old, new, "")


def update_status(old: KubernetesObject, new: KubernetesObject) -> Write | None:
    """Write what differs in the status; None if nothing does. A conflict if it was changed since."""
    return _merge(old, new, "status")


def difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The JSON merge patch (RFC 7386) from one mapping to the other: None takes away, lists are replaced whole."""
    patch: dict[str, Any] = {field: None for field in old if field not in new}
    for field, value in new.items():
        before = old.get(field)
        if isinstance(before, dict) and isinstance(value, dict):
            inner = difference(before, value)
            if inner:
                patch[field] = inner
        elif field not in old or before != value:
            patch[field] = value
    return patch


def _merge(old: KubernetesObject, new: KubernetesObject, subresource: str) -> Write | None:
    patch = difference(to_manifest(old), to_manifest(new))
    if subresource:
        patch = {subresource: patch[subresource]} if subresource in patch else {}
    else:
        patch.pop("status", None)
    if not patch:
        return None
    metadata = old.metadata
    # Version and uid make it a conflict if the object is no longer the one that was looked at.
    patch.setdefault("metadata", {}).update(resourceVersion=metadata.resource_version, uid=metadata.uid)
    body = msgspec.json.encode(patch)
    return Write(resource_of(old), metadata.namespace, metadata.name, Verb.MERGE, body, subresource)
