"""From typed objects back to manifests, with the kind and version that the class stands for."""

from __future__ import annotations

from typing import Any

import msgspec

from kueue_fast.api.meta import KubernetesObject

_encoder = msgspec.json.Encoder()


def encode(obj: KubernetesObject) -> bytes:
    """JSON text of an object, apiVersion and kind first. Absent fields are left out."""
    head = f'{{"apiVersion":"{obj.API_VERSION}","kind":"{obj.KIND}",'
    return head.encode() + _encoder.encode(obj)[1:]


def to_manifest(obj: KubernetesObject) -> dict[str, Any]:
    """An object as plain mappings and lists, in the form of its manifest."""
    manifest: dict[str, Any] = msgspec.json.decode(encode(obj))
    return manifest


def status_manifest(obj: KubernetesObject) -> dict[str, Any]:
    """`status` alone in the form of a manifest, without the work for the rest; empty where there is none."""
    status: Any = getattr(obj, "status", None)
    return {} if status is None else {"status": msgspec.json.decode(_encoder.encode(status))}
