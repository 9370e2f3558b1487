"""Patches that carry only what differs: our structs hold a part of each object, and the rest must stay as it is.

They are JSON patches (RFC 6902): a merge patch replaces lists whole, and would take from the worker groups of a
RayCluster, or the conditions of a pod, the fields that we do not read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec

from kueue_fast.api.encode import encode, status_manifest, to_manifest
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.cluster.kube.resources import resource_of
from kueue_fast.cluster.kube.writer import Verb, Write

__all__ = [
    "create",
    "delete",
    "difference",
    "remove_finalizer",
    "replace_finalizers",
    "update",
    "update_status",
]

Operation: TypeAlias = dict[str, Any]


def create(obj: KubernetesObject) -> Write:
    """Create the object."""
    metadata = obj.metadata
    return Write(resource_of(obj), metadata.namespace, metadata.name, Verb.CREATE, encode(obj))


def delete(obj: KubernetesObject) -> Write:
    """Delete the object, and in the background what it owns. A conflict if it is another one by now."""
    metadata = obj.metadata
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": metadata.uid},
        "propagationPolicy": "Background",
    }
    body = msgspec.json.encode(options)
    return Write(resource_of(obj), metadata.namespace, metadata.name, Verb.DELETE, body)


def update(old: KubernetesObject, new: KubernetesObject) -> Write | None:
    """Write everything but the status that differs; None if nothing does. A conflict if it was changed since."""
    before, after = to_manifest(old), to_manifest(new)
    before.pop("status", None)
    after.pop("status", None)
    return _patch(old, difference(before, after), "", strict=True)


def remove_finalizer(obj: KubernetesObject, finalizer: str) -> Write | None:
    """Take a finalizer from the object, whatever else of it was changed since; None if it has none of this name.

    Refused if its finalizers were changed, a conflict if it is another object by now.
    """
    finalizers = obj.metadata.finalizers or []
    if finalizer not in finalizers:
        return None
    path = f"/metadata/finalizers/{finalizers.index(finalizer)}"
    operations = [{"op": "test", "path": path, "value": finalizer}, {"op": "remove", "path": path}]
    return _patch(obj, operations, "", strict=False)


def replace_finalizers(obj: KubernetesObject, wanted: Iterable[str]) -> Write:
    """Write the object as it is stored, but for its finalizers; nothing if it is another one by now, or has them.

    Whoever may update a kind need not be allowed to patch it: upstream's ClusterRole has `update` alone for the kinds
    that Kueue puts its finalizer on.
    """
    uid, finalizers = obj.metadata.uid, list(wanted)
    metadata = obj.metadata

    def rebuild(newest: bytes) -> Write | None:
        stored = msgspec.json.decode(newest)
        found = stored["metadata"]
        if found.get("uid") != uid or found.get("finalizers", []) == finalizers:
            return None
        found["finalizers"] = finalizers
        return dataclasses.replace(first, body=msgspec.json.encode(stored))

    first = Write(resource_of(obj), metadata.namespace, metadata.name, Verb.REPLACE, rebuild=rebuild)
    return first


def update_status(old: KubernetesObject, new: KubernetesObject, *, strict: bool = True) -> Write | None:
    """Write what differs in the status; None if nothing does.

    A conflict if the object was changed since; without `strict` only if it is another one by now.
    """
    before, after = status_manifest(old), status_manifest(new)
    return _patch(old, difference(before, after), "status", strict=strict)


def difference(old: Any, new: Any, path: str = "") -> list[Operation]:
    """The operations that lead from one value to the other, in order; `path` is where they stand.

    Of a list only the part that differs is touched: what both have at its beginning and its end stays.
    """
    if old == new:
        return []
    if isinstance(old, dict) and isinstance(new, dict):
        found: list[Operation] = [
            {"op": "remove", "path": _inside(path, field)} for field in old if field not in new
        ]
        for field, value in new.items():
            inside = _inside(path, field)
            if field in old:
                found += difference(old[field], value, inside)
            else:
                found.append({"op": "add", "path": inside, "value": value})
        return found
    if isinstance(old, list) and isinstance(new, list):
        return _list_difference(old, new, path)
    # "add" where something may stand already: a default that we read need not be stored.
    return [{"op": "add", "path": path, "value": new}]


def _list_difference(old: list[Any], new: list[Any], path: str) -> list[Operation]:
    if len(old) == len(new):
        found: list[Operation] = []
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            inside = _inside(path, str(number))
            if isinstance(before, dict) and isinstance(after, dict):
                found += difference(before, after, inside)
            elif before != after:
                found.append({"op": "replace", "path": inside, "value": after})
        return found
    shorter = min(len(old), len(new))
    first = next((number for number in range(shorter) if old[number] != new[number]), shorter)
    last = 0
    while last < shorter - first and old[-1 - last] == new[-1 - last]:
        last += 1
    gone = [
        {"op": "remove", "path": _inside(path, str(number))}
        for number in reversed(range(first, len(old) - last))
    ]
    come = [
        {"op": "add", "path": _inside(path, str(number)), "value": new[number]}
        for number in range(first, len(new) - last)
    ]
    return gone + come


def _inside(path: str, field: str) -> str:
    return f"{path}/{field.replace('~', '~0').replace('/', '~1')}"


def _patch(
    old: KubernetesObject, operations: list[Operation], subresource: str, *, strict: bool
) -> Write | None:
    if not operations:
        return None
    metadata = old.metadata
    # Version and uid make it a conflict if the object is no longer the one that was looked at.
    checked: list[Operation] = [{"op": "add", "path": "/metadata/uid", "value": metadata.uid}]
    if strict:
        version = {"op": "add", "path": "/metadata/resourceVersion", "value": metadata.resource_version}
        checked.append(version)
    body = msgspec.json.encode(checked + operations)
    return Write(resource_of(old), metadata.namespace, metadata.name, Verb.PATCH, body, subresource)
