"""Upstream's words for why pods could not be placed. Source: TP-603, TP-604, TP-1001, TP-1002, TP-1004."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

TOPOLOGY_DOMAIN: Final = "topologyDomain"
"""Key of the leaves that a replacement may not take (TP-704)."""

NO_CACHE: Final = "workload requires Topology, but there is no TAS cache information"
NO_FLAVOR: Final = "no TAS flavor assigned"
ELASTIC_REQUIRED: Final = "required topology is not supported with ElasticJobsViaWorkloadSlices"
ELASTIC_PREFERRED: Final = "preferred topology is not supported with ElasticJobsViaWorkloadSlices"


class PlacementError(IntEnum):
    """Why pods were not placed; the kernel's codes."""

    PLACED = 0
    NOT_ENOUGH_ROOM = 1
    LEVEL_MISSING = 2
    LEVEL_UNKNOWN = 3
    SLICE_LEVEL_UNKNOWN = 4
    SLICE_ABOVE_MAIN = 5
    SLICE_SIZE_MISSING = 6
    LAYER_UNKNOWN = 7
    LAYER_NOT_LOWER = 8
    LAYER_NOT_DIVIDING = 9
    NO_DOMAINS = 10
    INVALID_FILTER = 11
    STALE_DOMAIN = 12
    NO_REPLACEMENT = 13
    TOO_MANY_IN_GROUP = 14


class LayerFit(NamedTuple):
    """How many slices of a layer fit, of how many."""

    level: str
    fitted: int
    needed: int


class Failure(NamedTuple):
    """A failed placement, with names in place of numbers.

    `keys` are what the code speaks of, in this order: SLICE_ABOVE_MAIN the slice level and the main level,
    LAYER_NOT_LOWER the layer's level and the one above, LAYER_NOT_DIVIDING both sizes (the layer's, its parent's),
    INVALID_FILTER the reason in words, STALE_DOMAIN the domain's first value, NO_REPLACEMENT the node, and the others
    that speak of a level that level.
    """

    code: PlacementError
    topology: str = ""
    keys: tuple[str, ...] = ()
    fitted: int = 0
    needed: int = 0
    in_slices: bool = False
    leaves: int = 0
    exclusions: Mapping[str, int] = {}
    """Key of the message -> leaves that it took: a filter's exclusion, `resource_key`, TOPOLOGY_DOMAIN."""
    layers: Sequence[LayerFit] = ()
    """All layers, outermost first, if the request has more than one."""


_WORDS: Final = {
    PlacementError.LEVEL_MISSING: "topology level not specified",
    PlacementError.LEVEL_UNKNOWN: "no requested topology level: {}",
    PlacementError.SLICE_LEVEL_UNKNOWN: "no requested topology level for slices: {}",
    PlacementError.SLICE_ABOVE_MAIN: "podset slice topology {} is above the podset topology {}",
    PlacementError.SLICE_SIZE_MISSING: "slice topology requested, but slice size not provided",
    PlacementError.LAYER_UNKNOWN: "no requested topology level for additional slice layer: {}",
    PlacementError.LAYER_NOT_LOWER: "additional slice layer topology {} must be at a lower level than {}",
    PlacementError.LAYER_NOT_DIVIDING: "additional slice layer size {} must evenly divide parent layer size {}",
    PlacementError.NO_DOMAINS: "no topology domains at level: {}",
    PlacementError.INVALID_FILTER: "{}",
    PlacementError.STALE_DOMAIN: (
        "Cannot replace the node, because the existing topologyAssignment is invalid, "
        "as it contains the stale domain {}"
    ),
    PlacementError.NO_REPLACEMENT: "cannot find replacement assignment for unhealthy node: {}",
    # Upstream crashes here (TP-2011).
    PlacementError.TOO_MANY_IN_GROUP: "a pod set group may hold at most two pod sets that use a topology",
}


def resource_key(resource: str) -> str:
    """The key under which leaves without room for one pod are counted, by the resource that limits them."""
    return f'resource "{resource}"'


def placement_message(failure: Failure) -> str:
    """The reason in upstream's words. Source: TP-1001, TP-1002, TP-1004."""
    if failure.code != PlacementError.NOT_ENOUGH_ROOM:
        return _WORDS[failure.code].format(*failure.keys)
    if failure.layers:
        text = f'topology "{failure.topology}" doesn\'t allow to fit' + "".join(
            f"; {layer.fitted}/{layer.needed} slice(s) fit on level {layer.level}" for layer in failure.layers
        )
    else:
        unit = "slice" if failure.in_slices else "pod"
        if failure.fitted == 0:
            text = f'topology "{failure.topology}" doesn\'t allow to fit any of {failure.needed} {unit}(s)'
        else:
            text = (
                f'topology "{failure.topology}" allows to fit only {failure.fitted} '
                f"out of {failure.needed} {unit}(s)"
            )
    excluded = sorted(f"{key}: {count}" for key, count in failure.exclusions.items() if count > 0)
    if excluded:
        text += f". Total nodes: {failure.leaves}; excluded: {', '.join(excluded)}"
    return text


def no_support(flavor: str) -> str:
    """Why a flavor without a topology does not serve a pod set that asks for one. Source: TP-603."""
    return f'Flavor "{flavor}" does not support TopologyAwareScheduling'


def not_cached(flavor: str) -> str:
    """Why a flavor whose topology is not there does not serve a pod set that asks for one. Source: TP-603."""
    return f'Flavor "{flavor}" information missing in TAS cache'


def lacks_level(flavor: str) -> str:
    """Why a flavor does not serve a pod set that names a level which its Topology lacks. Source: TP-603."""
    return f'Flavor "{flavor}" does not contain the requested level'


def only_topology(flavor: str) -> str:
    """Why a flavor with a topology does not serve a pod set that asks for none. Source: TP-603."""
    return f'Flavor "{flavor}" supports only TopologyAwareScheduling'


def several_flavors(flavors: Sequence[str]) -> str:
    """Why a pod set that was assigned several flavors with topologies cannot be placed. Source: TP-604."""
    return f"more than one TAS flavor assigned: {', '.join(sorted(flavors))}"
