"""Words for why a workload waits: the kernel's codes in upstream's terms.

The facts are upstream's, and so are the words that people and tools search for. Source: QP-431, QP-434, QP-464, QC-92.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kueue_fast.arrays.decisions import (
    AFFINITY_ERROR,
    ELASTIC_PREFERRED,
    ELASTIC_REQUIRED,
    EXCEEDS_MAX_QUOTA,
    LAYER_NOT_PLACED,
    LEVEL_MISSING,
    NO_TOPOLOGY_DATA,
    NO_TOPOLOGY_FLAVOR,
    NODES_EXCLUDED,
    NOT_ELIGIBLE,
    NOT_NOMINATED,
    NOT_PLACED,
    OTHER_FLAVOR_OF_SLICE,
    SEVERAL_TOPOLOGIES,
    TOPOLOGY_ONLY,
    TOPOLOGY_UNKNOWN,
    TOPOLOGY_UNSUPPORTED,
    UNDECLARED_RESOURCE,
    Reason,
)
from kueue_fast.arrays.layouts import Layout, pods_of_group
from kueue_fast.arrays.templates import PodClasses
from kueue_fast.arrays.topology import TopologyRows
from kueue_fast.model import topology_messages
from kueue_fast.model.flavor_match import FlavorMatchError
from kueue_fast.model.quantities import format_amount, format_quantity
from kueue_fast.model.topology_requests import slice_layers

FAILED_CHECKS = "The workload has failed admission checks"
NAMESPACE_MISMATCH = "workload namespace doesn't match ClusterQueue selector"
NO_LONGER_FITS = "Workload no longer fits after processing another workload"
OVERLAP = "Workload has overlapping preemption targets with another workload"
DEFERRED = (
    "Workload has overlapping preemption targets with another workload,"
    " but will fit after these preemptions complete"
)
GATED = "Workload requires preemption, but it's gated"


def inactive(cluster_queue: str) -> str:
    """The ClusterQueue is known, but takes no part in scheduling."""
    return f"ClusterQueue {cluster_queue} is inactive"


def pending_preemptions(victims: int) -> str:
    """What follows the reasons of a workload that waits for its victims to stop."""
    return f". Pending the preemption of {victims} workload(s)"


def namespace_missing(namespace: str) -> str:
    """The workload's namespace does not exist."""
    return f'workload namespace "{namespace}" does not exist: Namespace "{namespace}" not found'


def assignment(reasons: Sequence[Reason], layout: Layout, classes: PodClasses, topology: TopologyRows) -> str:
    """Why pod sets got no flavor or no places, or none that fit now; empty if there is nothing to say.

    Source: QP-464, TP-1003.
    """
    by_group: dict[int, list[str]] = {}
    for index, reason in enumerate(reasons):
        if reason.code in (NODES_EXCLUDED, LAYER_NOT_PLACED):
            continue  # parts of the reason before them
        if reason.code == NOT_PLACED:
            group = layout.groups[reason.pod_set]
            by_group.setdefault(group, []).append(not_placed(reasons[index:], layout, topology))
            continue
        if reason.code in _ERRORS:
            name = layout.names[reason.pod_set]
            return f"failed to assign flavors to pod set {name}: {reason_text(reason, layout, classes)}"
        by_group.setdefault(reason.pod_set, []).append(reason_text(reason, layout, classes))
    return "; ".join(
        f"couldn't assign flavors to pod set {name}: {', '.join(sorted(by_group[group]))}"
        for name, group in zip(layout.names, layout.groups, strict=True)
        if group in by_group
    )


def not_placed(reasons: Sequence[Reason], layout: Layout, topology: TopologyRows) -> str:
    """Why pods found no places: the first reason, and what those after it count. Source: TP-1001, TP-1002, TP-1004."""
    failed = reasons[0]
    parts = []
    for reason in reasons[1:]:
        if reason.code not in (NODES_EXCLUDED, LAYER_NOT_PLACED):
            break
        parts.append(reason)
    if not topology.exists(failed.flavor):
        return topology_messages.not_cached(failed.flavor)
    code = topology_messages.PlacementError(failed.detail)
    request = layout.pod_sets[failed.pod_set].topology_request
    layers = [layer.topology for layer in slice_layers(request)]
    exclusions: dict[str, int] = {}
    for part in parts:
        if part.code == NODES_EXCLUDED:
            exclusions[topology.exclusion_key(part.second, part.resource)] = part.first
    return topology_messages.placement_message(
        topology_messages.Failure(
            code,
            topology.topology_of(failed.flavor),
            _keys(failed, code, layout, topology),
            failed.first,
            failed.second,
            failed.third < 0,
            failed.third if failed.third >= 0 else -1 - failed.third,
            exclusions,
            [
                topology_messages.LayerFit(layers[part.third], part.first, part.second)
                for part in parts
                if part.code == LAYER_NOT_PLACED and part.third < len(layers)
            ],
        )
    )


def _keys(
    failed: Reason, code: topology_messages.PlacementError, layout: Layout, topology: TopologyRows
) -> tuple[str, ...]:
    """What the words of a failure name: levels, sizes, a node, or why a filter cannot be read."""
    errors = topology_messages.PlacementError
    if code in (errors.LEVEL_UNKNOWN, errors.SLICE_LEVEL_UNKNOWN, errors.LAYER_UNKNOWN, errors.NO_DOMAINS):
        return (topology.level_label(failed.first),)
    if code in (errors.SLICE_ABOVE_MAIN, errors.LAYER_NOT_LOWER):
        return topology.level_label(failed.first), topology.level_label(failed.second)
    if code == errors.LAYER_NOT_DIVIDING:
        return str(failed.first), str(failed.second)
    if code == errors.INVALID_FILTER:
        return (topology.why_no_filter(layout.classes[failed.pod_set].pod, failed.flavor),)
    if code in (errors.STALE_DOMAIN, errors.NO_REPLACEMENT):
        return (topology.place_value(failed.first) if failed.first >= 0 else "",)
    return ()


_ERRORS = (
    AFFINITY_ERROR,
    NO_TOPOLOGY_DATA,
    NO_TOPOLOGY_FLAVOR,
    SEVERAL_TOPOLOGIES,
    ELASTIC_REQUIRED,
    ELASTIC_PREFERRED,
)
"""Reasons that replace all others of a workload (TP-1003)."""

_TOPOLOGY_WORDS: Mapping[int, Callable[[str], str]] = {
    NO_TOPOLOGY_DATA: lambda _: topology_messages.NO_CACHE,
    NO_TOPOLOGY_FLAVOR: lambda _: topology_messages.NO_FLAVOR,
    SEVERAL_TOPOLOGIES: lambda _: "more than one TAS flavor assigned",
    TOPOLOGY_UNSUPPORTED: topology_messages.no_support,
    TOPOLOGY_ONLY: topology_messages.only_topology,
    TOPOLOGY_UNKNOWN: topology_messages.not_cached,
    LEVEL_MISSING: topology_messages.lacks_level,
    ELASTIC_REQUIRED: lambda _: topology_messages.ELASTIC_REQUIRED,
    ELASTIC_PREFERRED: lambda _: topology_messages.ELASTIC_PREFERRED,
}


def reason_text(reason: Reason, layout: Layout, classes: PodClasses) -> str:
    """One reason in words."""
    resource, flavor = reason.resource, reason.flavor
    if reason.code == UNDECLARED_RESOURCE:
        return f"resource {resource} unavailable in ClusterQueue"
    if reason.code in (NOT_ELIGIBLE, AFFINITY_ERROR):
        pods = [layout.classes[index].pod for index in pods_of_group(layout, reason.pod_set)]
        try:
            return classes.why_not(flavor, pods)
        except FlavorMatchError as error:
            return str(error)
    if reason.code in _TOPOLOGY_WORDS:
        return _TOPOLOGY_WORDS[reason.code](flavor)
    if reason.code == NOT_NOMINATED:
        return (
            f"skipping flavor {flavor} as it is not found in the nomination mapping for resource {resource}"
        )
    if reason.code == EXCEEDS_MAX_QUOTA:
        return (
            f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests "
            f"({format_amount(resource, reason.first)}) + current podset request "
            f"({format_quantity(resource, reason.second)}) > maximum capacity ({format_amount(resource, reason.third)})"
        )
    if reason.code == OTHER_FLAVOR_OF_SLICE:
        other = "" if reason.first < 0 else classes.tables.flavor_names[reason.first]
        return f"could not assign {flavor} flavor since the original workload is assigned: {other}"
    missing = format_amount(resource, reason.first)
    return f"insufficient unused quota for {resource} in flavor {flavor}, {missing} more needed"
