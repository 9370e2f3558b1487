"""What a simulation gives back: one row a workload, one a queue, one a flavor, and the events.

Amounts are in the kernel's units (cpu in milli, everything else whole), times in nanoseconds since 1970. The
reports turn them into quantities and seconds.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TypeAlias

from kueue_fast.lifecycle.events import Event
from kueue_fast.sim.topology_result import TopologyRow

__all__ = [
    "FlavorRow",
    "History",
    "Outcome",
    "PodSetRow",
    "PreemptionRow",
    "QueueRow",
    "ResourceUse",
    "SimulationResult",
    "SliceRow",
    "State",
    "WorkloadRow",
]

History: TypeAlias = list[tuple[int, int]] | None
"""An amount over time: (time, amount from then on), at the end of instants that changed it; None if not kept."""


class State(enum.Enum):
    """Where a workload stands when the simulation ends."""

    PENDING = "Pending"
    RESERVED = "QuotaReserved"
    RUNNING = "Running"
    FINISHED = "Finished"
    DELETED = "Deleted"


class Outcome(enum.Enum):
    """How a workload ended."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    REPLACED = "Replaced"
    """A slice of an elastic job: the job went on in another slice."""


@dataclass(slots=True, frozen=True)
class PodSetRow:
    """What one pod set was given: pods, and the flavor of each resource in the order of resource names."""

    name: str
    count: int
    flavors: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class SliceRow:
    """What a workload is among the slices of its elastic job.

    `chain` is the name that all slices of a chain share, `replaces` the workload (`namespace/name`) whose place it
    takes, `sizes` are (time, pods that it asks for from then on).
    """

    chain: str
    replaces: str | None
    sizes: list[tuple[int, int]]


@dataclass(slots=True, frozen=True)
class PreemptionRow:
    """One workload told to stop for another one.

    Workloads are `namespace/name`, paths lead from the root of the cohort tree to the ClusterQueue, `reason` is
    upstream's (QP-704).
    """

    time_ns: int
    workload: str
    path: str
    preemptor: str
    preemptor_path: str
    reason: str


@dataclass(slots=True)
class WorkloadRow:
    """One workload from its arrival to the end. Times that never came are None."""

    namespace: str
    name: str
    owner_kind: str | None
    owner_name: str | None
    queue: str
    priority: int
    priority_class: str | None
    arrived_ns: int
    # Kind and name of the object at the top, where its owner belongs to another one: the Deployment of a pod.
    top: tuple[str, str] | None = None
    cluster_queue: str | None = None
    state: State = State.PENDING
    reserved_ns: int | None = None
    admitted_ns: int | None = None
    finished_ns: int | None = None
    outcome: Outcome | None = None
    pod_sets: tuple[PodSetRow, ...] = ()
    # Why it waits, in words: empty unless the state is PENDING or RESERVED.
    waiting_reason: str = ""
    waiting_message: str = ""
    # Workloads (`namespace/name`) that were evicted for it and have not stopped yet.
    waits_for: tuple[str, ...] = ()
    preemptions: int = 0
    last_preemption: PreemptionRow | None = None
    # It was told to stop and still holds its quota.
    evicting: bool = False
    # Since when it queues: its arrival, or its last return.
    queued_ns: int | None = None
    # Time that it waited before it was admitted the times before, and ran for nothing.
    waited_before_ns: int = 0
    lost_ns: int = 0
    # For workloads of elastic jobs only.
    slice: SliceRow | None = None

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def waited_ns(self) -> int | None:
        """Time that it waited until it was admitted, each time if it was evicted; None while not admitted."""
        if self.admitted_ns is None:
            return None
        since = self.arrived_ns if self.queued_ns is None else self.queued_ns
        return self.waited_before_ns + self.admitted_ns - since


@dataclass(slots=True)
class ResourceUse:
    """Quota of one flavor and resource, and what was used of it.

    `integral` is amount times nanoseconds since the start: divided by the length of the run it gives the mean.
    """

    flavor: str
    resource: str
    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None
    reserved: int = 0
    admitted: int = 0
    borrowed: int = 0
    peak: int = 0
    integral: int = 0
    history: History = None

    def mean(self, duration_ns: int) -> float:
        """Mean use over the run in the unit of the other amounts; the present use when the run took no time."""
        return self.integral / duration_ns if duration_ns > 0 else float(self.reserved)


@dataclass(slots=True)
class QueueRow:
    """One ClusterQueue at the end of the run. `weight` and `weighted_share` are None without fair sharing."""

    name: str
    cohort: str | None
    active: bool
    reason: str
    message: str
    resources: list[ResourceUse] = field(default_factory=list)
    pending: int = 0
    reserving: int = 0
    admitted: int = 0
    finished: int = 0
    weight: float | None = None
    weighted_share: float | None = None


@dataclass(slots=True)
class FlavorRow:
    """One flavor and resource over all ClusterQueues; `nominal` counts the quotas of cohorts too."""

    flavor: str
    resource: str
    nominal: int
    reserved: int = 0
    peak: int = 0
    integral: int = 0
    history: History = None

    def mean(self, duration_ns: int) -> float:
        """Mean use over the run, as in ResourceUse."""
        return self.integral / duration_ns if duration_ns > 0 else float(self.reserved)


@dataclass(slots=True)
class SimulationResult:
    """All that a run produced, in a fixed order: workloads by arrival, queues and flavors by name, events by time."""

    start_ns: int
    end_ns: int
    # True when --until ended the run while something was still to happen.
    stopped: bool
    cycles: int
    workloads: list[WorkloadRow]
    queues: list[QueueRow]
    flavors: list[FlavorRow]
    events: list[Event]
    notes: list[str]
    preemptions: list[PreemptionRow] = field(default_factory=list)
    topologies: list[TopologyRow] = field(default_factory=list)
    # Workloads that were told to stop for another reason than preemption.
    evictions: list[Event] = field(default_factory=list)

    @property
    def duration_ns(self) -> int:
        """Length of the run in virtual time."""
        return self.end_ns - self.start_ns
