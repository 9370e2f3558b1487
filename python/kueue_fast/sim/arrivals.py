"""What can be told of a simulation's input before it starts: when it starts, and in which order objects come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from kueue_fast.api.core import Namespace
from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.errors import InputError
from kueue_fast.model import times
from kueue_fast.sim.kinds import is_played
from kueue_fast.sim.manifest import Manifest, describe

__all__ = ["EPOCH", "creation_rank", "identity", "missing_namespaces", "named_namespace", "start_time"]

EPOCH: Final = "2026-01-01T00:00:00Z"
LATEST_START: Final = times.parse("2200-01-01T00:00:00Z")  # far from where 64 bits of nanoseconds end
NAMESPACE_NAME_LABEL: Final = "kubernetes.io/metadata.name"


def identity(obj: KubernetesObject) -> tuple[str, str, str]:
    """Kind, namespace and name."""
    return obj.KIND, obj.metadata.namespace or "", obj.metadata.name


def start_time(manifests: Iterable[Manifest]) -> int:
    """Where the clock starts, in ns since 1970."""
    start = times.parse(EPOCH)
    for manifest in manifests:
        created = manifest.object.metadata.creation_timestamp
        if created:
            start = max(start, times.parse(created))
            if start > LATEST_START:
                raise InputError(
                    f"a simulation cannot start at {created}",
                    file=manifest.place,
                    object=describe(manifest.object),
                    field="$.metadata.creationTimestamp",
                    expected="a time before the year 2200",
                )
    return start


def creation_rank(manifest: Manifest) -> int:
    """Order of creation at one instant, in the order of the input otherwise.

    What jobs refer to comes first, then Workloads that belong to a job, so that the job finds its own.
    """
    obj = manifest.object
    if obj.KIND != Workload.KIND and not is_played(obj):
        return 0
    return 1 if obj.KIND == Workload.KIND and obj.metadata.owner_references else 2


def missing_namespaces(manifests: Iterable[Manifest]) -> list[str]:
    """Namespaces that are used but not defined, in the order of first use: a cluster would have them."""
    used: dict[str, None] = {}
    defined = set()
    for manifest in manifests:
        obj = manifest.object
        if isinstance(obj, Namespace):
            defined.add(obj.metadata.name)
        elif obj.metadata.namespace:
            used[obj.metadata.namespace] = None
    return [name for name in used if name not in defined]


def named_namespace(namespace: Namespace) -> Namespace:
    """A Namespace with the label that every cluster puts on it."""
    labels = {**(namespace.metadata.labels or {}), NAMESPACE_NAME_LABEL: namespace.metadata.name}
    return msgspec.structs.replace(
        namespace, metadata=msgspec.structs.replace(namespace.metadata, labels=labels)
    )
