"""What the topology request of a pod set asks for.

A request is read through these functions only: several of its fields say the same thing in an older and a newer way.
Source: TP-203, TP-204, TP-601, TP-603, TP-605, TP-606.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kueue_fast.api.kueue import PodSetTopologyRequest


class SliceLayer(NamedTuple):
    """Pods that stand together, `size` of them, inside one domain of a level. A missing size is 0."""

    topology: str
    size: int


def slice_layers(request: PodSetTopologyRequest | None) -> tuple[SliceLayer, ...]:
    """The layers of slices that a request asks for, outermost first. Source: TP-204."""
    if request is None:
        return ()
    constraints = request.podset_slice_required_topology_constraints
    if constraints:
        return tuple(SliceLayer(each.topology, each.size) for each in constraints)
    if request.pod_set_slice_required_topology is None:
        return ()
    return (SliceLayer(request.pod_set_slice_required_topology, request.pod_set_slice_size or 0),)


def is_explicit(request: PodSetTopologyRequest | None) -> bool:
    """Whether a pod set asks for a topology itself, be it with `unconstrained: false`. Source: TP-601."""
    return request is not None and (
        request.unconstrained is not None
        or request.required is not None
        or request.preferred is not None
        or request.pod_set_slice_required_topology is not None
        or request.pod_set_slice_size is not None
        or bool(request.podset_slice_required_topology_constraints)
    )


def is_required(request: PodSetTopologyRequest | None) -> bool:
    """Whether all pods must stand in one domain of the main level. Source: TP-606."""
    return request is not None and request.required is not None


def is_unconstrained(request: PodSetTopologyRequest | None, implied: bool) -> bool:
    """Whether a request takes the profile of unconstrained ones; implied and slice-only ones do. Source: TP-606."""
    return implied or (request is not None and (bool(request.unconstrained) or is_slice_only(request)))


def is_slice_only(request: PodSetTopologyRequest) -> bool:
    """Whether a request names levels for its slices and none for the whole. Source: TP-605."""
    return request.required is None and request.preferred is None and bool(slice_layers(request))


def main_level(
    request: PodSetTopologyRequest | None, levels: Sequence[str], implied: bool = False
) -> str | None:
    """The level that the pods should share, None if the request has none; `levels` are the Topology's, from the top.

    The level that a request names need not be among them. Source: TP-605.
    """
    if request is not None:
        if request.required is not None:
            return request.required
        if request.preferred is not None:
            return request.preferred
        if is_slice_only(request):
            return levels[0]
        if request.unconstrained:
            return levels[-1]
    return levels[-1] if implied else None


def has_levels(request: PodSetTopologyRequest | None, levels: Sequence[str]) -> bool:
    """Whether a Topology has all levels that an explicit request names, its main level among them. Source: TP-603."""
    return main_level(request, levels) in levels and all(
        layer.topology in levels for layer in slice_layers(request)
    )
