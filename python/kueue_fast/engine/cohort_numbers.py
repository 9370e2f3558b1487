"""Numbers of cohorts: their places in the tree, and what their subtrees have and hold.

Source: OP-562, OP-564, OP-565, OP-567.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from kueue_fast.arrays.quota_tree import CLUSTER_QUEUE, COHORT
from kueue_fast.arrays.tables import NONE
from kueue_fast.engine.state import State
from kueue_fast.model.quantities import MAX

__all__ = ["CohortNumbers", "cohort_numbers"]


class CohortNumbers(NamedTuple):
    """Parent ("" for none) and root by name; quota and reservations of the subtree by (flavor, resource) in the
    kernel's units, where there are any; its admitted workloads.

    `named`: some cohort of the tree has an object, and is not only what others refer to.
    """

    parent: str
    root: str
    named: bool
    quota: Mapping[tuple[str, str], int]
    reserved: Mapping[tuple[str, str], int]
    admitted: int


def cohort_numbers(state: State, admitted: Mapping[int, int]) -> dict[str, CohortNumbers]:
    """Cohorts by name, without those whose chain has a cycle; `admitted` are workloads by row of the ClusterQueue."""
    tables, tree = state.tables, state.tree
    usage, subtree = np.asarray(tables.forest.usage), np.asarray(tables.forest.subtree)
    reserved: dict[int, np.ndarray] = {}
    counts: dict[int, int] = {}
    rows = {
        name: row for (kind, name), row in tables.nodes.items() if kind == COHORT and not tree.is_cyclic(row)
    }
    for (kind, _), row in tables.nodes.items():
        if kind != CLUSTER_QUEUE or tree.is_cyclic(row):
            continue
        above = row
        while (above := tree.parent.get(above, NONE)) != NONE:
            before = reserved.get(above)
            reserved[above] = usage[row].copy() if before is None else _added(before, usage[row])
            counts[above] = counts.get(above, 0) + admitted.get(row, 0)
    names = {row: name for name, row in rows.items()}
    named = {tree.root(row) for row in tree.explicit}
    nothing = np.zeros(usage.shape[1], np.int64)
    return {
        name: CohortNumbers(
            names.get(tree.parent.get(row, NONE), ""),
            names[tree.root(row)],
            tree.root(row) in named,
            _by_pair(state, subtree[row]),
            _by_pair(state, reserved.get(row, nothing)),
            counts.get(row, 0),
        )
        for name, row in rows.items()
    }


def _added(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The sum of amounts that are not negative, which saturates."""
    return np.where(one > MAX - other, MAX, one + np.minimum(other, MAX - one))


def _by_pair(state: State, amounts: np.ndarray) -> dict[tuple[str, str], int]:
    tables = state.tables
    found = {}
    for column in np.flatnonzero(amounts[: len(tables.columns)] > 0).tolist():
        flavor, resource = tables.columns[column]
        found[tables.flavor_names[flavor], tables.resource_names[resource]] = int(amounts[column])
    return found
