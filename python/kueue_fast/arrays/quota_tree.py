"""ClusterQueues and Cohorts to rows of the quota forest: edges, implicit cohorts, cycles, recomputation.

Source: QP-201..204, QP-217, QP-300.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from kueue_fast.arrays.tables import NONE, Tables

CLUSTER_QUEUE = "ClusterQueue"
COHORT = "Cohort"


class Quota(NamedTuple):
    """Quota of one flavor-resource pair in kernel units; None is no limit."""

    nominal: int
    borrowing_limit: int | None
    lending_limit: int | None


Quotas = Mapping[tuple[str, str], Quota]
"""(flavor, resource) to quota."""


class QuotaTree:
    """Keeps parents, children and quotas of all nodes, and has the kernel recompute what a change touches."""

    def __init__(self, tables: Tables) -> None:
        self.version = 0  # grows with every change of what stands in the trees
        self.tables = tables
        self.parent: dict[int, int] = {}
        self.children: dict[int, set[int]] = {}
        self.explicit: set[int] = set()
        self.quotas: dict[int, Quotas] = {}
        self._groups: dict[int, object] = {}
        self._trees: dict[int, list[int]] = {}  # root to the ClusterQueue rows of its tree
        self._touched: set[int] = set()  # nodes whose trees are to be recomputed
        self._heights: set[int] = set()  # nodes whose trees have new heights only

    # --- changes

    def set_cluster_queue(self, name: str, cohort: str | None, quotas: Quotas, groups: object = None) -> int:
        """Create or update a ClusterQueue's row; returns it.

        `groups`: resources and flavors of its groups, to be compared: another order advances the generation (QP-217).
        """
        self.version += 1
        row = self.tables.node(CLUSTER_QUEUE, name)
        new = row not in self.quotas
        self.tables.forest.is_queue[row] = 1
        before = self.parent.get(row, NONE)
        # upstream makes the implicit cohort of an only child anew at each update (QP-202)
        remade = before != NONE and before not in self.explicit and self.children[before] == {row}
        after = self._attach(row, cohort)
        same = not new and self.quotas[row] == quotas and self._groups.get(row) == groups
        self._groups[row] = groups
        if same and before == after and not remade:
            return row
        self._write_quotas(row, quotas)
        self._touched |= {row, before} - {NONE}
        return row

    def set_cohort(self, name: str, parent: str | None, quotas: Quotas) -> int:
        """Create or update a Cohort's row; returns it. Every event recomputes its tree (QP-217)."""
        self.version += 1
        row = self._cohort(name)
        self.explicit.add(row)
        before = self.parent.get(row, NONE)
        self._attach(row, parent)
        self._write_quotas(row, quotas)
        self._touched |= {row, before} - {NONE}
        return row

    def remove_cluster_queue(self, name: str) -> None:
        """Free the row of a ClusterQueue whose quota nobody holds any more."""
        self.version += 1
        row = self.tables.node(CLUSTER_QUEUE, name)
        before = self.parent.get(row, NONE)
        self._attach(row, None)
        self.quotas.pop(row, None)
        self._groups.pop(row, None)
        self._trees.clear()
        self.tables.forget_node(CLUSTER_QUEUE, name)
        self._touched |= {before} - {NONE}

    def remove_cohort(self, name: str) -> None:
        """A Cohort object is gone: its children stay in an implicit cohort that is a root (QP-201.3)."""
        self.version += 1
        row = self.tables.nodes.find((COHORT, name))
        if row is None:
            return
        before = self.parent.get(row, NONE)
        self._attach(row, None)
        # not before: one that is its own parent would be freed as a childless implicit one
        self.explicit.discard(row)
        self._write_quotas(row, {})
        touched = {row, before} - {NONE}
        if not self.children.get(row):
            self._free(row)
            touched.discard(row)
        self._touched |= touched

    # --- questions

    def root(self, row: int) -> int:
        """The root of a node's tree; a node whose chain has a cycle is its own root."""
        seen = {row}
        at = row
        while (above := self.parent.get(at, NONE)) != NONE:
            if above in seen:
                return row
            seen.add(above)
            at = above
        return at

    def is_cyclic(self, row: int) -> bool:
        """Whether walking up from a node meets a cohort twice (QP-203)."""
        seen = {row}
        while (row := self.parent.get(row, NONE)) != NONE:
            if row in seen:
                return True
            seen.add(row)
        return False

    def queues_of_tree(self, row: int) -> list[int]:
        """ClusterQueue rows of the tree that a node is in."""
        root = self.root(row)
        queues = self._trees.get(root)
        if queues is None:
            is_queue = self.tables.forest.is_queue
            queues = [node for node in self._subtree(root) if is_queue[node]]
            self._trees[root] = queues
        return queues

    def set_active(self, row: int, active: bool) -> None:
        """Whether a ClusterQueue is scheduled; heights count active ones only (QP-232, QP-321)."""
        self.tables.forest.in_snapshot[row] = active
        self._heights.add(row)

    def refresh(self) -> None:
        """Recompute what changed since the last call; due before usage is booked or a cycle runs.

        A thousand queues that are created one after the other cost one recomputation, not a thousand.
        """
        if self._touched:
            touched, self._touched = self._touched, set()
            self._recompute(touched)
        if self._heights:
            rows, self._heights = self._heights, set()
            for root in {self.root(row) for row in rows if self._is_alive(row) and not self.is_cyclic(row)}:
                self.tables.forest.recompute_heights(np.array(self._subtree(root), np.int32))

    # --- parts

    def _cohort(self, name: str) -> int:
        row = self.tables.node(COHORT, name)
        if row not in self.children:
            self.children[row] = set()
            self.tables.forest.is_queue[row] = 0
            self.tables.forest.in_snapshot[row] = 1
        return row

    def _attach(self, row: int, parent: str | None) -> int:
        """Set a node's parent; an implicit cohort that loses its last child vanishes. Returns the parent's row."""
        before = self.parent.get(row, NONE)
        after = self._cohort(parent) if parent else NONE
        if before != after:
            self._trees.clear()
            if before != NONE:
                self.children[before].discard(row)
            if after != NONE:
                self.children[after].add(row)
                self.parent[row] = after
            else:
                self.parent.pop(row, None)
            if before != NONE and before not in self.explicit and not self.children[before]:
                self._free(before)
        return after

    def _free(self, cohort: int) -> None:
        above = self.parent.pop(cohort, NONE)
        if above != NONE:
            self.children[above].discard(cohort)
        del self.children[cohort]
        self.quotas.pop(cohort, None)
        self._trees.clear()
        self.tables.forget_node(*self.tables.nodes[cohort])

    def _write_quotas(self, row: int, quotas: Quotas) -> None:
        tables = self.tables
        columns = {
            tables.column(tables.flavor(flavor), tables.resource(resource)): quota
            for (flavor, resource), quota in quotas.items()
        }
        forest = tables.forest
        for matrix in (forest.has_quota, forest.has_borrow_limit, forest.has_lend_limit, forest.nominal):
            np.asarray(matrix)[row] = 0
        for column, quota in columns.items():
            forest.has_quota[row, column] = 1
            forest.nominal[row, column] = quota.nominal
            if quota.borrowing_limit is not None:
                forest.has_borrow_limit[row, column] = 1
                forest.borrow_limit[row, column] = quota.borrowing_limit
            if quota.lending_limit is not None:
                forest.has_lend_limit[row, column] = 1
                forest.lend_limit[row, column] = quota.lending_limit
        self.quotas[row] = quotas

    def _subtree(self, root: int) -> list[int]:
        """Rows below and with `root`, children before parents."""
        order: list[int] = []
        stack = [root]
        while stack:
            row = stack.pop()
            order.append(row)
            stack.extend(sorted(self.children.get(row, ())))
        order.reverse()
        return order

    def _recompute(self, touched: Iterable[int]) -> None:
        """Recompute the trees of the touched nodes; below a cycle nothing is, and the edges are cut for the kernel."""
        forest = self.tables.forest
        alive = [row for row in touched if self._is_alive(row)]
        roots: dict[int, None] = {}
        for row in alive:
            if self.is_cyclic(row):
                for node in self._reachable(row):
                    forest.frozen[node] = 1
                    forest.parent[node] = NONE
            else:
                roots[self.root(row)] = None
        for root in roots:
            order = self._subtree(root)
            rows = np.array(order, np.int32)
            np.asarray(forest.frozen)[rows] = 0
            np.asarray(forest.parent)[rows] = [self.parent.get(row, NONE) for row in order]
            forest.recompute(rows)

    def _is_alive(self, row: int) -> bool:
        return row in self.quotas or row in self.children

    def _reachable(self, row: int) -> set[int]:
        """All nodes whose chains meet the cycle above a node, and the cycle itself."""
        cycle = row
        seen: set[int] = set()
        while cycle not in seen:
            seen.add(cycle)
            cycle = self.parent[cycle]
        below: set[int] = set()
        stack = [cycle]
        while stack:
            node = stack.pop()
            if node not in below:
                below.add(node)
                stack.extend(self.children.get(node, ()))
        return below
