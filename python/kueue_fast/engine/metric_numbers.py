"""Numbers that only metrics show, beside those of the queues: what waits asks for, and cohorts.

Statuses are looked at every second, metrics when somebody asks.

Source: OP-551..567.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kueue_fast.arrays.layouts import Layout
from kueue_fast.arrays.tables import PODS
from kueue_fast.engine.cohort_numbers import CohortNumbers, cohort_numbers
from kueue_fast.engine.queue_numbers import QueueNumbers, Waiting, queue_numbers
from kueue_fast.engine.state import State
from kueue_fast.model.quantities import MAX

__all__ = ["MetricNumbers", "metric_numbers"]


class MetricNumbers(NamedTuple):
    """All queues at one moment, and by name what waits in a ClusterQueue, and cohorts, whether or not one has a Cohort.

    `pending` is what those that wait ask for, by ClusterQueue and resource, with the resources that its quotas name.
    """

    queues: QueueNumbers
    pending: dict[str, dict[str, int]]
    cohorts: dict[str, CohortNumbers]


def metric_numbers(state: State) -> MetricNumbers:
    """Numbers as they stand between two cycles."""
    queues = queue_numbers(state)
    waiting = Waiting(state)
    pending, admitted = {}, {}
    for name, entry in state.cluster_queues.items():
        rows = [row for place in waiting.rows(entry.row) for row in place]
        pending[name] = _pending(state, rows, {resource for _, resource in state.tree.quotas[entry.row]})
        admitted[entry.row] = queues.cluster_queues[name].admitted
    return MetricNumbers(queues, pending, cohort_numbers(state, admitted))


def _pending(state: State, rows: Iterable[int], declared: Iterable[str]) -> dict[str, int]:
    """What workloads that wait ask for, by resource; nothing of the resources that are declared."""
    # Many ask for the same.
    layouts: dict[Layout, int] = {}
    by_row = state.rows.by_row
    for row in rows:
        record = by_row[row]
        if record is not None and record.layout is not None:
            layouts[record.layout] = layouts.get(record.layout, 0) + 1
    found = dict.fromkeys(declared, 0)
    for layout, times in layouts.items():
        for pod_set, pods in zip(layout.pod_sets, layout.classes, strict=True):
            count = (pod_set.count - min(pod_set.reclaimed, pod_set.count)) * times
            for resource, amount in pods.requests:
                # Upstream counts pods when it looks for flavors, and not before.
                if resource != PODS:
                    found[resource] = min(found.get(resource, 0) + count * amount, MAX)
    return found
