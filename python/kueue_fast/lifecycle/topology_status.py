"""The finalizer that keeps a Topology as long as a flavor needs it. Source: TP-1901."""

from __future__ import annotations

from typing import Final

import msgspec

from kueue_fast.api.kueue import ResourceFlavor, Topology
from kueue_fast.model import times

__all__ = ["RECHECK_NS", "RESOURCE_IN_USE", "deletion_frees", "is_used", "reconcile_topology"]

RESOURCE_IN_USE: Final = "kueue.x-k8s.io/resource-in-use"
RECHECK_NS: Final = times.SECOND
"""How long after the deletion of a flavor its Topology is looked at again."""


def reconcile_topology(topology: Topology, used: bool) -> Topology | None:
    """The Topology with its finalizer, or without when it is being deleted and no flavor uses it; None when it is
    as it should be. Source: TP-1901.
    """
    before = topology.metadata.finalizers or []
    if not topology.metadata.deletion_timestamp:
        after = before if RESOURCE_IN_USE in before else [*before, RESOURCE_IN_USE]
    elif used:
        return None
    else:
        after = [name for name in before if name != RESOURCE_IN_USE]
    if after == before:
        return None
    metadata = msgspec.structs.replace(topology.metadata, finalizers=after or None)
    return msgspec.structs.replace(topology, metadata=metadata)


def is_used(topology: str, flavor: ResourceFlavor) -> bool:
    """Whether a flavor names the Topology."""
    return flavor.spec is not None and flavor.spec.topology_name == topology


def deletion_frees(flavor: ResourceFlavor) -> str | None:
    """The Topology to look at, `RECHECK_NS` later, after this flavor was deleted. Source: TP-1901."""
    return flavor.spec.topology_name if flavor.spec is not None else None
