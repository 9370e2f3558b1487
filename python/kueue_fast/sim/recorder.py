"""What happens during a run, written down: rows of workloads and meters of what they use.

All of it costs the same for the first event and for the millionth: a meter keeps its sum up to the last change,
and only the meters that a workload uses are touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kueue_fast.lifecycle.events import Event
from kueue_fast.sim.result import History, Outcome, PodSetRow, PreemptionRow, State, WorkloadRow

__all__ = ["Meter", "Recorder"]


@dataclass(slots=True)
class Meter:
    """An amount over time: now, at most, and the sum of amount times nanoseconds up to `since_ns`.

    `history` is kept where it is a list.
    """

    since_ns: int
    current: int = 0
    peak: int = 0
    integral: int = 0
    history: History = None

    def add(self, amount: int, now_ns: int) -> None:
        """Change the amount at a time that is not before the last one."""
        self.integral += self.current * (now_ns - self.since_ns)
        self.since_ns = now_ns
        self.current += amount

    def settle(self) -> None:
        """Take the present amount into the peak: called when an instant is over, so that a handover is no peak."""
        self.peak = max(self.peak, self.current)
        if self.history is not None and (not self.history or self.history[-1][1] != self.current):
            self.history.append((self.since_ns, self.current))

    def close(self, now_ns: int) -> None:
        """Bring the sum up to the end of the run."""
        self.add(0, now_ns)
        self.settle()


class Recorder:
    """Rows, meters and events of a run."""

    def __init__(self, start_ns: int, *, keep_events: bool, keep_history: bool = False) -> None:
        self.start_ns = start_ns
        self.keep_events = keep_events
        self.keep_history = keep_history
        self.rows: dict[str, WorkloadRow] = {}
        self.events: list[Event] = []
        self.preemptions: list[PreemptionRow] = []
        # Events of evictions for other reasons, kept whether or not events are.
        self.evictions: list[Event] = []
        # For whose evictions a workload waits, as the last cycle that looked at it found.
        self.awaited: dict[str, list[str]] = {}
        self.ended = 0
        # By (ClusterQueue, flavor, resource), and by (flavor, resource) over all of them.
        self.queue_meters: dict[tuple[str, str, str], Meter] = {}
        self.flavor_meters: dict[tuple[str, str], Meter] = {}
        # What each workload that holds a reservation uses, by (flavor, resource).
        self.holding: dict[str, Mapping[tuple[str, str], int]] = {}
        self._changed: dict[int, Meter] = {}

    def event(self, event: Event) -> None:
        """Keep an event, when events are kept."""
        if self.keep_events:
            self.events.append(event)

    def evicted(self, event: Event) -> None:
        """A workload was told to stop, not to make way for another one."""
        self.evictions.append(event)
        self.event(event)

    def arrived(self, row: WorkloadRow) -> None:
        """A workload was created."""
        self.rows[row.key] = row

    def reserved(
        self,
        key: str,
        cluster_queue: str,
        pod_sets: tuple[PodSetRow, ...],
        usage: Mapping[tuple[str, str], int],
        now_ns: int,
    ) -> None:
        """A workload got a reservation; `usage` is what it holds by (flavor, resource)."""
        row = self.rows[key]
        row.state = State.RESERVED
        row.cluster_queue = cluster_queue
        row.pod_sets = pod_sets
        row.reserved_ns = now_ns
        self.holding[key] = usage
        self._use(cluster_queue, usage.items(), 1, now_ns)

    def resized(self, key: str, usage: Mapping[tuple[str, str], int], now_ns: int) -> None:
        """A workload that holds a reservation uses this much from now on."""
        row = self.rows[key]
        if row.cluster_queue is not None and key in self.holding:
            self._release(key, row, now_ns)
            self.holding[key] = usage
            self._use(row.cluster_queue, usage.items(), 1, now_ns)

    def admitted(self, key: str, now_ns: int) -> None:
        """A workload that holds a reservation was admitted."""
        row = self.rows[key]
        row.state = State.RUNNING
        row.admitted_ns = now_ns

    def finished(self, key: str, outcome: Outcome, now_ns: int) -> None:
        """A workload ended; what it held is free."""
        row = self.rows[key]
        self._release(key, row, now_ns)
        row.state = State.FINISHED
        row.evicting = False
        row.finished_ns = now_ns
        row.outcome = outcome
        self.ended += 1

    def returned(self, key: str, now_ns: int) -> None:
        """A workload lost its reservation and waits again: what it ran is lost."""
        row = self.rows[key]
        self._release(key, row, now_ns)
        since = row.arrived_ns if row.queued_ns is None else row.queued_ns
        row.waited_before_ns += (now_ns if row.admitted_ns is None else row.admitted_ns) - since
        row.lost_ns += 0 if row.admitted_ns is None else now_ns - row.admitted_ns
        row.queued_ns = now_ns
        row.evicting = False
        row.state = State.PENDING
        row.reserved_ns = row.admitted_ns = None
        row.pod_sets = ()

    def preempted(self, row: PreemptionRow) -> None:
        """A workload was told to stop for another one."""
        self.preemptions.append(row)
        victim = self.rows[row.workload]
        victim.preemptions += 1
        victim.last_preemption = row

    def deleted(self, key: str, now_ns: int) -> None:
        """A workload was deleted; one that had ended before keeps its row as it is."""
        row = self.rows.get(key)
        if row is None or row.state is State.FINISHED:
            return
        self._release(key, row, now_ns)
        row.state = State.DELETED
        row.evicting = False
        row.finished_ns = now_ns
        self.ended += 1

    def settle(self) -> None:
        """An instant is over: take what changed in it into the peaks."""
        for meter in self._changed.values():
            meter.settle()
        self._changed.clear()

    def close(self, end_ns: int) -> None:
        """The run is over."""
        self.settle()
        for meter in (*self.queue_meters.values(), *self.flavor_meters.values()):
            meter.close(end_ns)

    def _meter(self) -> Meter:
        return Meter(self.start_ns, history=[] if self.keep_history else None)

    def _release(self, key: str, row: WorkloadRow, now_ns: int) -> None:
        usage = self.holding.pop(key, None)
        if usage is not None and row.cluster_queue is not None:
            self._use(row.cluster_queue, usage.items(), -1, now_ns)

    def _use(
        self, cluster_queue: str, usage: Iterable[tuple[tuple[str, str], int]], sign: int, now_ns: int
    ) -> None:
        for (flavor, resource), amount in usage:
            queue_key = (cluster_queue, flavor, resource)
            meter = self.queue_meters.get(queue_key)
            if meter is None:
                meter = self.queue_meters[queue_key] = self._meter()
            meter.add(sign * amount, now_ns)
            self._changed[id(meter)] = meter
            total = self.flavor_meters.get((flavor, resource))
            if total is None:
                total = self.flavor_meters[flavor, resource] = self._meter()
            total.add(sign * amount, now_ns)
            self._changed[id(total)] = total
