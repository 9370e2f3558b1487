"""Which pod of a pod set a pod is, by its labels; ranks go through the domains of an assignment in their order.

Ranks are used for all pods of a pod set or for none: whatever does not agree makes them useless.

Source: TP-1805..1808.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import PodSetTopologyRequest, Workload
from kueue_fast.errors import KueueFastError
from kueue_fast.lifecycle.pods import has_gate
from kueue_fast.model.integers import parse_int64, parse_uint64
from kueue_fast.model.placements import assignments
from kueue_fast.model.topology_names import POD_INDEX_OFFSET

__all__ = ["OffsetError", "RankRange", "pod_set_counts", "pods_by_rank", "rank_ranges", "shifted"]


class OffsetError(KueueFastError):
    """A pod whose offset annotation is no integer: nothing of its Workload is let go."""


class RankRange(NamedTuple):
    """The index of the pod set's first pod, and the least index that is too high for it."""

    offset: int
    bound: int


def pod_set_counts(workload: Workload) -> dict[str, int]:
    """Pods admitted of each pod set."""
    asked = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets or ()}
    return {
        each.name: asked.get(each.name, 0) if each.count is None else each.count
        for each in assignments(workload)
    }


def rank_ranges(workload: Workload) -> dict[str, RankRange]:
    """Ranges of the indices of each pod set, by its name.

    The two pod sets of a group are counted through: the smaller comes first, on equal counts the first. Any further
    one of a group has no indices.

    Source: TP-1805.
    """
    requests = {pod_set.name: pod_set.topology_request for pod_set in workload.spec.pod_sets or ()}
    counts = pod_set_counts(workload)
    groups: dict[str, list[tuple[str, int]]] = {}
    for number, assignment in enumerate(assignments(workload)):
        request = requests.get(assignment.name)
        group = request.pod_set_group_name if request is not None else None
        # No group has a number for its name.
        groups.setdefault(str(number) if group is None else group, []).append(
            (assignment.name, counts[assignment.name])
        )
    ranges = dict.fromkeys(counts, RankRange(0, 0))
    for members in groups.values():
        if len(members) == 1:
            ((name, count),) = members
            ranges[name] = RankRange(0, count)
            continue
        (first, least), (second, most) = sorted(members[:2], key=lambda member: member[1])
        ranges[first] = RankRange(0, least)
        ranges[second] = RankRange(least, least + most)
    return ranges


def shifted(indices: RankRange, pods: Sequence[Pod]) -> RankRange:
    """The range, moved by the offset that the first pod is marked with: all pods of a pod set carry the same.

    Raises OffsetError when the mark is no integer. Source: TP-1805.
    """
    text = (pods[0].metadata.annotations or {}).get(POD_INDEX_OFFSET) if pods else None
    if text is None:
        return indices
    offset = parse_int64(text)
    if offset is None:
        raise OffsetError(
            f"pod {pods[0].metadata.namespace}/{pods[0].metadata.name}: "
            f"metadata.annotations[{POD_INDEX_OFFSET}]: {text!r} is no integer"
        )
    return RankRange(indices.offset + offset, indices.bound + offset)


def pods_by_rank(
    pods: Iterable[Pod],
    request: PodSetTopologyRequest | None,
    count: int,
    indices: RankRange,
    domains: Sequence[tuple[str, ...]],
    levels: Sequence[str],
) -> dict[int, Pod] | None:
    """The pods, gated or not, by rank; None when ranks are of no use.

    `count` is the pod set's, `domains` the values of the domain of each rank.

    Source: TP-1807.
    """
    if request is None or request.pod_index_label is None:
        return None
    size = count
    if request.sub_group_index_label is not None:
        if request.sub_group_count is None or request.sub_group_count <= 0:
            return None
        size = count // request.sub_group_count
    found: dict[int, Pod] = {}
    for pod in pods:
        rank = _rank(pod, request, size, indices)
        if rank is None or not 0 <= rank < count or rank in found:
            return None
        found[rank] = pod
    for rank, pod in found.items():
        # An assignment can be shorter than its pod set: slices that do not divide it leave a rest.
        if rank >= len(domains):
            return None
        selector = pod.spec.node_selector or {}
        if not has_gate(pod) and domains[rank] != tuple(selector.get(level, "") for level in levels):
            return None
    return found


def _rank(pod: Pod, request: PodSetTopologyRequest, size: int, indices: RankRange) -> int | None:
    index = _index(pod, request.pod_index_label, indices.bound)
    if index is None:
        return None
    if request.sub_group_index_label is None:
        return index - indices.offset
    group = _index(pod, request.sub_group_index_label, request.sub_group_count or 0)
    if group is None or index >= size:
        return None
    return index + group * size - indices.offset


def _index(pod: Pod, label: str | None, bound: int) -> int | None:
    """What a label says, if that is an integer without sign below the bound."""
    index = parse_uint64((pod.metadata.labels or {}).get(label or "", ""))
    return index if index is not None and index < bound else None
