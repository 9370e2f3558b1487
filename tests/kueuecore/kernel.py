"""Kernel tables built by hand, without the border: what the tests of this folder share."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np

from kueuecore import Flavors, Forest, Journal, Pending, Scheduler, Workloads
from tests.oracle import forest as oracle
from tests.oracle.amounts import MAX, UNLIMITED
from tests.oracle.strategies import COLUMNS, EDGES, Change, ClusterQueueRow, CohortRow, ForestCase

NONE = -1
NOWHERE, HEAP, PARKED, INFLIGHT = range(4)
MISSING, MISMATCH, MATCHES = range(3)


class KernelForest:
    """A ForestCase in the kernel. Rows are dealt out at random, so that no test leans on their order."""

    def __init__(self, case: ForestCase, seed: int = 0, inactive: Iterable[str] = ()) -> None:
        names = [row.name for row in (*case.cohorts, *case.cluster_queues)]
        rows = list(range(len(names) + 2))  # two rows stay free
        random.Random(seed).shuffle(rows)
        self.row = dict(zip(names, rows, strict=False))
        self.forest = Forest()
        self.forest.reserve(len(rows), len(COLUMNS))
        self.forest.reserve_resources(len(COLUMNS))
        self.journal = Journal()
        parents = {row.name: row.parent for row in case.cohorts}
        for cohort in case.cohorts:
            self._write(cohort.name, cohort.parent, cohort.quotas, is_queue=False)
        for queue in case.cluster_queues:
            self._write(queue.name, queue.cohort, queue.quotas, is_queue=True)
            for fr, amount in queue.usage.items():
                self.forest.usage[self.row[queue.name], COLUMNS.index(fr)] = amount
        for name in inactive:
            self.forest.in_snapshot[self.row[name]] = 0

        def depth(name: str) -> int:
            above = parents.get(name)
            return 0 if above is None else 1 + depth(above)

        cohorts = sorted(parents, key=depth, reverse=True)
        order = [row.name for row in case.cluster_queues] + cohorts
        self.order = np.array([self.row[name] for name in order], np.int32)
        self.forest.recompute(self.order)

    def _write(self, name: str, parent: str | None, quotas: oracle.Quotas, *, is_queue: bool) -> None:
        forest, row = self.forest, self.row[name]
        forest.parent[row] = NONE if parent is None else self.row[parent]
        forest.is_queue[row] = is_queue
        forest.in_snapshot[row] = 1
        for column, fr in enumerate(COLUMNS):
            # what no flag declares valid is rubbish
            forest.nominal[row, column] = quotas.nominal.get(fr, 0)
            forest.has_quota[row, column] = fr in quotas.nominal
            forest.borrow_limit[row, column] = quotas.borrowing_limit.get(fr, 77)
            forest.has_borrow_limit[row, column] = fr in quotas.borrowing_limit
            forest.lend_limit[row, column] = quotas.lending_limit.get(fr, 77)
            forest.has_lend_limit[row, column] = fr in quotas.lending_limit

    def change(self, change: Change) -> None:
        self.forest.change_usage(
            self.row[change.cluster_queue],
            COLUMNS.index(change.fr),
            change.amount,
            self.journal,
            change.removes,
        )

    def usage_bytes(self) -> bytes:
        return np.asarray(self.forest.usage).tobytes()


def differences(kernel: KernelForest, built: oracle.Forest, amounts: Iterable[int] = ()) -> list[str]:
    """Every number in which the kernel's forest and the oracle's differ."""
    forest = kernel.forest
    found = []
    for node in (*built.cohorts.values(), *built.cluster_queues.values()):
        row = kernel.row[node.name]
        pairs: dict[str, tuple[object, object]] = {}
        if node.active:
            pairs["height"] = (forest.height[row], node.height())
        for column, fr in enumerate(COLUMNS):
            pairs |= {
                f"subtree {fr}": (forest.subtree[row, column], node.subtree.get(fr, 0)),
                f"local {fr}": (forest.local[row, column], node.local_quota(fr)),
                f"potential {fr}": (forest.potential[row, column], node.potential(fr)),
                f"usage {fr}": (forest.usage[row, column], node.usage.get(fr, 0)),
                f"available {fr}": (forest.find_available(row, column), node.available(fr)),
            }
            if node.is_cluster_queue:
                for amount in amounts:
                    pairs[f"lowest subtree {fr} {amount}"] = (
                        forest.find_lowest_subtree_that_fits(row, column, amount),
                        node.lowest_subtree(fr, amount),
                    )
        found += [
            f"{node.name}: {what}: kernel {got}, oracle {want}"
            for what, (got, want) in pairs.items()
            if got != want
        ]
    return found


def random_case(rng: random.Random) -> ForestCase:
    """A random forest with changes, without hypothesis: a thousand a second."""
    huge = rng.random() < 0.4

    def amount() -> int:
        if huge and rng.random() < 0.5:
            return rng.choice((*EDGES, MAX - 2, UNLIMITED, rng.randrange(MAX)))
        return rng.randrange(20)

    def limits(
        nominal: dict[oracle.FlavorResource, int], has_parent: bool
    ) -> dict[oracle.FlavorResource, int]:
        return {fr: amount() for fr in nominal if has_parent and rng.random() < 0.4}

    def quotas(has_parent: bool) -> oracle.Quotas:
        nominal = {fr: amount() for fr in COLUMNS if rng.random() < 0.8}
        return oracle.Quotas(nominal, limits(nominal, has_parent), limits(nominal, has_parent))

    cohorts = []
    for i in range(rng.randrange(6)):
        parent = rng.choice([None, *[row.name for row in cohorts]]) if i else None
        cohorts.append(CohortRow(f"cohort-{i}", parent, quotas(parent is not None)))
    queues = []
    for i in range(rng.randrange(1, 7)):
        cohort = rng.choice([None, *[row.name for row in cohorts] * 3])
        usage = {fr: amount() for fr in COLUMNS if rng.random() < 0.7}
        queues.append(ClusterQueueRow(f"queue-{i}", cohort, quotas(cohort is not None), usage))
    changes = [
        Change(rng.choice(queues).name, rng.choice(COLUMNS), amount(), rng.random() < 0.4)
        for _ in range(rng.randrange(9))
    ]
    return ForestCase(tuple(cohorts), tuple(queues), tuple(changes))


class World:
    """Some ClusterQueues with 10 cpu of one flavor each, and workloads of one pod set: a Scheduler by hand.

    `requests`: amounts that a workload can ask for; request class, pod set and amount share a number.
    """

    def __init__(
        self,
        queues: int = 1,
        *,
        strict: Iterable[int] = (),
        requests: tuple[int, ...] = (0, 5, 100),
        nominal: int = 10,
        flavors: int = 1,
        cohort: bool = False,
        hashing: bool = True,
        namespaces: tuple[int, ...] = (MATCHES, MISMATCH, MISSING),
    ) -> None:
        nodes = queues + cohort
        self.queues = queues
        self.forest, self.flavors, self.workloads = Forest(), Flavors(), Workloads()
        self.forest.reserve(nodes, flavors)
        self.forest.reserve_resources(1)
        self.flavors.reserve(nodes, flavors, 1, 1)
        self.flavors.resource_rank = np.zeros(self.flavors.group_of.shape[1], np.int32)
        self.flavors.group_start = np.zeros(1, np.int32)
        self.flavors.group_length = np.array([flavors], np.int32)
        self.flavors.group_flavors = np.arange(flavors, dtype=np.int32)
        for flavor in range(flavors):
            self.flavors.column[flavor, 0] = flavor
            self.flavors.eligible[0, flavor] = 1
        self.pending = Pending(self.workloads, hashing)
        self.pending.reserve(nodes, len(namespaces))
        for node in range(nodes):
            self.forest.in_snapshot[node] = 1
            if node >= queues:
                continue
            self.forest.is_queue[node] = 1
            self.forest.parent[node] = queues if cohort else NONE
            self.flavors.group_of[node, 0] = 0
            self.flavors.next_when_preempting[node] = 1
            for flavor in range(flavors):
                self.forest.has_quota[node, flavor] = 1
                self.forest.nominal[node, flavor] = nominal
            for namespace, match in enumerate(namespaces):
                self.pending.namespace_match[node, namespace] = match
        for queue in strict:
            self.pending.strict[queue] = 1
        self.forest.recompute(np.arange(nodes, dtype=np.int32))
        workloads = self.workloads
        workloads.reserve(
            pod_sets=len(requests), request_classes=len(requests), requests=len(requests), slots=1
        )
        for number, amount in enumerate(requests):
            workloads.request_start[number] = number
            workloads.request_length[number] = 1
            workloads.request_resource[number] = 0
            workloads.request_amount[number] = amount
            workloads.write_pod_set(number, 0, number, 0, 0, 1, 1, NONE, 0, 1)
        self.scheduler = Scheduler(self.forest, self.flavors, workloads, self.pending)
        self.scheduler.queue_order = np.arange(queues, dtype=np.int32)
        self.journal = Journal()

    def write(
        self,
        row: int,
        queue: int = 0,
        *,
        request: int = 0,
        priority: int = 0,
        timestamp: int = 0,
        namespace: int = 0,
        shape: int = NONE,
        requeue_at: int = 0,
        blocked: bool = False,
        invalid: bool = False,
        checks_failed: bool = False,
        uid: str | None = None,
        keep: bool = False,
    ) -> int:
        """Write a workload's row; its slot has the same number."""
        if row >= self.workloads.rows:
            self.workloads.reserve(rows=row + 1, slots=row + 1)
        self.workloads.write(
            row,
            queue,
            0,
            namespace,
            shape,
            priority,
            timestamp,
            requeue_at,
            blocked,
            invalid,
            checks_failed,
            f"uid-{row:04d}" if uid is None else uid,
            request,
            1,
            row,
            keep,
        )
        return row

    def use(self, queue: int, amount: int, flavor: int = 0) -> None:
        """Usage that belongs to nobody."""
        self.forest.change_usage(queue, flavor, amount, self.journal)

    def places(self, *rows: int) -> list[int]:
        return [self.pending.place_of(row) for row in rows]

    def admitted(self, now: int = 0) -> list[int]:
        """Run a cycle; rows of the workloads that it admitted."""
        self.scheduler.run(now)
        return [row for row, *_ in self.scheduler.admissions()]

    def refused(self, now: int = 0) -> dict[int, tuple[int, int]]:
        """Run a cycle; (outcome, requeue reason) of the rows that went back."""
        self.scheduler.run(now)
        return {row: (outcome, requeue) for row, _, outcome, requeue, *_ in self.scheduler.refusals()}
