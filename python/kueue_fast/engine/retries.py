"""Requests to move parked workloads back, gathered for a second as upstream does. Source: QC-31..38."""

from __future__ import annotations

from collections.abc import Iterable

from kueue_fast.arrays.quota_tree import QuotaTree
from kueue_fast.arrays.tables import Tables

SECOND = 1_000_000_000


class Retries:
    """One request a tree of ClusterQueues, due one batch period after the first event that asked for it."""

    def __init__(self, tables: Tables, tree: QuotaTree, batch_ns: int = SECOND) -> None:
        self._tables = tables
        self._tree = tree
        self._batch = batch_ns
        self._due: dict[int, int] = {}
        self._runs = 0
        self._all_asked: tuple[int, int] | None = (
            None  # `_runs` and shape of the trees when all were asked for
        )

    def request(self, queue: int, now_ns: int) -> None:
        """Ask for the tree of a ClusterQueue; below a cohort cycle nothing moves (QC-32)."""
        if not self._tree.is_cyclic(queue):
            self._due.setdefault(self._tree.root(queue), now_ns + self._batch)

    def request_all(self, queues: Iterable[int], now_ns: int) -> None:
        """Ask for the trees of all ClusterQueues.

        Thousands of Nodes may come before the next run; while no request ended and no tree changed, all stand already.
        """
        asked = (self._runs, self._tree.version)
        if asked == self._all_asked:
            return
        for queue in queues:
            self.request(queue, now_ns)
        self._all_asked = asked

    def forget(self, row: int) -> None:
        """A forest row is given back: a request for it means nothing."""
        self._runs += 1
        self._due.pop(row, None)

    def next_due(self) -> int | None:
        """When the next request is due, ns since the epoch, or None."""
        return min(self._due.values(), default=None)

    def run(self, now_ns: int, every: bool) -> int:
        """Carry out the requests that are due (or all); returns how many workloads moved."""
        if not self._due:
            return 0
        roots = [root for root, due in self._due.items() if every or due <= now_ns]
        self._runs += 1
        moved = 0
        for root in roots:
            del self._due[root]
            if self._tree.is_cyclic(root):
                continue  # the cycle came after the request (QC-32)
            for queue in self._tree.queues_of_tree(root):
                moved += self._tables.pending.flush(queue, now_ns)
        return moved
