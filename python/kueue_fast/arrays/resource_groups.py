"""What a ClusterQueue's spec says to the assignment: resource groups, fungibility, policies. Source: QP-204."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kueue_fast.api.kueue import ClusterQueueSpec, ResourceGroup
from kueue_fast.arrays.quota_tree import Quota, Quotas
from kueue_fast.arrays.ranges import Ranges
from kueue_fast.arrays.tables import NONE, Tables
from kueue_fast.model.quantities import quota_value

if TYPE_CHECKING:
    from kueuecore._forest import Vector

TRY_NEXT_FLAVOR = "TryNextFlavor"
PREEMPTION_OVER_BORROWING = "PreemptionOverBorrowing"
NEVER = "Never"
LOWER_PRIORITY, LOWER_OR_NEWER = 2, 3
"""Numbers of two policies in the kernel; lower numbers let nobody be taken, a greater one anybody."""
_POLICIES = {
    NEVER: 0,
    "": 1,
    "LowerPriority": LOWER_PRIORITY,
    "LowerOrNewerEqualPriority": LOWER_OR_NEWER,
    "Any": 4,
}


def read_quotas(groups: Iterable[ResourceGroup] | None) -> Quotas:
    """Quotas of a ClusterQueue or Cohort in kernel units. Raises ValueError for what is no quantity."""
    return {
        (flavor.name, resource.name): Quota(
            quota_value(resource.name, resource.nominal_quota),
            None
            if resource.borrowing_limit is None
            else quota_value(resource.name, resource.borrowing_limit),
            None if resource.lending_limit is None else quota_value(resource.name, resource.lending_limit),
        )
        for group in groups or ()
        for flavor in group.flavors or ()
        for resource in flavor.resources or ()
    }


class ResourceGroups:
    """Writes the resource groups of each ClusterQueue into ranges of the kernel's group tables."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._groups = Ranges()
        self._flavors = Ranges()
        self._of_queue: dict[int, list[tuple[int, int, int]]] = {}  # (group row, first flavor, flavors)

    def write(self, row: int, spec: ClusterQueueSpec) -> None:
        """Write a ClusterQueue's groups in spec order, and its policies."""
        self._clear(row)
        written = [
            self._write_group(
                row, group.covered_resources or (), [flavor.name for flavor in group.flavors or ()]
            )
            for group in spec.resource_groups or ()
        ]
        self._of_queue[row] = written
        self._write_policies(row, spec)

    def remove(self, row: int) -> None:
        """Free the groups of a ClusterQueue that is gone."""
        self._clear(row)
        self._of_queue.pop(row, None)

    def _clear(self, row: int) -> None:
        for group, start, length in self._of_queue.get(row, ()):
            self._groups.give_back(group, 1)
            self._flavors.give_back(start, length)
        np.asarray(self.tables.flavors.group_of)[row] = NONE

    def _write_group(self, row: int, covered: Sequence[str], flavors: Sequence[str]) -> tuple[int, int, int]:
        tables = self.tables
        group = self._groups.take(1)
        start = self._flavors.take(len(flavors))
        kernel = tables.flavors
        kernel.group_start = _grown(kernel.group_start, self._groups.end)
        kernel.group_length = _grown(kernel.group_length, self._groups.end)
        kernel.group_flavors = _grown(kernel.group_flavors, self._flavors.end)
        kernel.group_start[group] = start
        kernel.group_length[group] = len(flavors)
        indices = [tables.flavor(name) for name in flavors]
        for place, flavor in enumerate(indices):
            kernel.group_flavors[start + place] = flavor
        for name in covered:
            resource = tables.resource(name)
            # the first group that covers a resource is its group
            if kernel.group_of[row, resource] == NONE:
                kernel.group_of[row, resource] = group
            for flavor in indices:
                tables.column(flavor, resource)
        return group, start, len(flavors)

    def _write_policies(self, row: int, spec: ClusterQueueSpec) -> None:
        kernel = self.tables.flavors
        fungibility = spec.flavor_fungibility
        preemption = spec.preemption
        borrowing = preemption.borrow_within_cohort if preemption else None
        when_can_borrow = fungibility.when_can_borrow if fungibility else None
        when_can_preempt = fungibility.when_can_preempt if fungibility else None
        kernel.next_when_borrowing[row] = when_can_borrow == TRY_NEXT_FLAVOR
        kernel.next_when_preempting[row] = (when_can_preempt or TRY_NEXT_FLAVOR) == TRY_NEXT_FLAVOR
        kernel.borrowing_first[row] = bool(
            fungibility and fungibility.preference == PREEMPTION_OVER_BORROWING
        )
        kernel.within_policy[row] = _policy(preemption.within_cluster_queue if preemption else NEVER)
        kernel.reclaim_policy[row] = _policy(preemption.reclaim_within_cohort if preemption else NEVER)
        kernel.borrows_within_cohort[row] = borrowing is not None and (borrowing.policy or NEVER) != NEVER
        threshold = borrowing.max_priority_threshold if borrowing else None
        kernel.has_threshold[row] = threshold is not None
        kernel.threshold[row] = threshold or 0


def _policy(name: str | None) -> int:
    """Number of a preemption policy; anything unknown is like an empty one, which nobody satisfies (QP-204)."""
    return _POLICIES.get(name or "", 1)


def _grown(array: Vector, size: int) -> Vector:
    if size <= array.shape[0]:
        return array
    larger = np.zeros(size + size // 2 + 4, np.int32)
    larger[: array.shape[0]] = np.asarray(array)
    return larger
