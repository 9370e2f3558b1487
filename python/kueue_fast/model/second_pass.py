"""The second pass: Workloads that hold quota and need a place in the topology, a first or another one.

Source: TP-1601, TP-1602.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from kueue_fast.api.kueue import Workload, WorkloadStatus
from kueue_fast.model import conditions, times
from kueue_fast.model.placements import Placements, lowest_values

__all__ = [
    "SecondPass",
    "SecondPassQueue",
    "loses_node",
    "needs_second_pass",
    "topology_pending",
    "wait_ns",
]

READY: Final = "Ready"
PENDING: Final = "Pending"

FIRST_WAIT_NS: Final = times.SECOND
LONGEST_WAIT_NS: Final = 30 * times.SECOND
DOUBLINGS: Final = 5  # 2^5 seconds are longer than the longest wait


def needs_second_pass(workload: Workload, placed: Placements) -> bool:
    """Whether a Workload that holds quota is to be looked at again.

    Either its admission checks are ready and its places were put off until then, or it runs and a node failed.

    Source: TP-1601.
    """
    status = workload.status
    if status is None or conditions.is_true(status.conditions, conditions.FINISHED):
        return False
    if conditions.is_true(status.conditions, conditions.EVICTED):
        return False
    # On hold is a reason of a reservation that is not there.
    if not conditions.is_true(status.conditions, conditions.QUOTA_RESERVED):
        return False
    if conditions.is_true(status.conditions, conditions.ADMITTED):
        return loses_node(workload, placed)
    checks = status.admission_checks or ()
    return bool(checks) and all(check.state == READY for check in checks) and topology_pending(status)


def topology_pending(status: WorkloadStatus) -> bool:
    """Whether an assignment still waits for its delayed topology. Source: LC-702, TP-1604."""
    admission = status.admission
    return admission is not None and any(
        not assignment.topology_assignment and assignment.delayed_topology_request == PENDING
        for assignment in admission.pod_set_assignments or ()
    )


def loses_node(workload: Workload, placed: Placements) -> bool:
    """Whether an admitted Workload has pods on one of its unhealthy nodes. Source: TP-1501."""
    status = workload.status
    if status is None or not status.unhealthy_nodes:
        return False
    if not conditions.is_true(status.conditions, conditions.ADMITTED):
        return False
    unhealthy = {node.name for node in status.unhealthy_nodes}
    return any(value in unhealthy for placement in placed.values() for value in lowest_values(placement))


def wait_ns(iteration: int) -> int:
    """How long the attempt with this number, from 1, is waited for. Source: TP-1602."""
    doublings = iteration - 1
    return LONGEST_WAIT_NS if doublings >= DOUBLINGS else FIRST_WAIT_NS << doublings


class SecondPass(NamedTuple):
    """A Workload that is offered to the scheduler, and the number of the attempt, from 1."""

    key: str
    iteration: int


class SecondPassQueue:
    """Who waits for the second pass, since when in ns; the clock is the caller's.

    A Workload waits for its time, then it is ready, and the next cycle takes it before all heads of queues. Keys are
    `namespace/name`.

    Source: TP-1602.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[int, int]] = {}  # time at which it is ready, number of the attempt
        self._ready: dict[str, int] = {}

    def offer(self, key: str, needed: bool, iteration: int, now_ns: int) -> bool:
        """Let a Workload wait for its next attempt, if it needs one; returns whether it waits for this one.

        `iteration` is the number of the last attempt, 0 when an event of the Workload brings it here. One that
        waits already goes on waiting. One that needs none any more is forgotten after an attempt only: an event
        alone does not cut the first wait short.
        """
        if not needed:
            if iteration > 0:
                self.forget(key)
            return False
        if key in self._waiting:
            return False
        self._waiting[key] = (now_ns + wait_ns(iteration + 1), iteration + 1)
        return True

    def forget(self, key: str) -> None:
        """The Workload is gone, has no quota any more, or is queued in the ordinary way."""
        self._waiting.pop(key, None)
        self._ready.pop(key, None)

    def advance(self, now_ns: int, needed: Callable[[str], bool]) -> None:
        """Make ready whose time has come; `needed` says whether a Workload exists and needs the second pass now."""
        for key, (at_ns, iteration) in list(self._waiting.items()):
            if at_ns <= now_ns:
                del self._waiting[key]
                if needed(key):
                    self._ready[key] = iteration

    def take(self) -> list[SecondPass]:
        """All that are ready, by key; they are not here any more."""
        taken = [SecondPass(key, iteration) for key, iteration in sorted(self._ready.items())]
        self._ready.clear()
        return taken

    def next_ns(self) -> int | None:
        """When the next one is ready, None when nobody waits."""
        return min((at_ns for at_ns, _ in self._waiting.values()), default=None)

    def is_waiting(self, key: str) -> bool:
        """Whether the Workload waits for its time; one that is ready does not."""
        return key in self._waiting

    def __bool__(self) -> bool:
        """Whether somebody is ready."""
        return bool(self._ready)
