"""What waits in a ClusterQueue: the heap, the parked set, and what moves a workload from one to the other.

Source: QC-10 to QC-47.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from tests.oracle.settings import Settings
from tests.oracle.workloads import Workload

FAILED_AFTER_NOMINATION = "FailedAfterNomination"
NAMESPACE_MISMATCH = "NamespaceMismatch"
GENERIC = ""
PENDING_PREEMPTION = "PendingPreemption"
NO_FIT = "NoFit"
NO_CANDIDATES = "PreemptionNoCandidates"

AT_ONCE = (FAILED_AFTER_NOMINATION, PENDING_PREEMPTION)
PARKS_ITS_CLASS = (NO_FIT, NO_CANDIDATES)


@dataclass(frozen=True)
class Preemptor:
    """The workload of a ClusterQueue that waits for its victims. Source: QC-18."""

    key: str
    sticky: bool
    generation: int


class PendingQueue:
    """Events never arrive inside a cycle here, so a popped workload needs no place of its own until it is requeued."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.strict = False
        self.heap: dict[str, Workload] = {}
        self.parked: dict[str, Workload] = {}
        self.parked_shapes: set[Hashable] = set()
        self.preemptor: Preemptor | None = None
        self.pop_cycle = 0
        self.flush_cycle = -1

    def order(self, workload: Workload) -> tuple[bool, int, int, str]:
        """Source: QC-11."""
        sticky = self.preemptor is not None and self.preemptor.sticky and self.preemptor.key == workload.key
        return not sticky, -workload.priority(self.settings), workload.queue_time(self.settings), workload.uid

    def pop(self) -> Workload | None:
        """Source: QC-25."""
        self.pop_cycle += 1
        if not self.heap:
            return None
        head = min(self.heap.values(), key=self.order)
        del self.heap[head.key]
        head.evaluated_generation = head.generation
        return head

    def is_preemptor(self, workload: Workload) -> bool:
        """Source: QC-18."""
        return self.preemptor is not None and (self.preemptor.key, self.preemptor.generation) == (
            workload.key,
            workload.generation,
        )

    def add_or_update(self, workload: Workload, *, changed: bool = True) -> None:
        """An object event brought it. Source: QC-20, QC-27."""
        if workload.key in self.parked:
            reevaluated = workload.evaluated_generation in (0, workload.generation)
            if reevaluated and not changed:
                return
            del self.parked[workload.key]
        if workload.key not in self.heap and not self.strict and workload.shape in self.parked_shapes:
            self.parked[workload.key] = workload
        else:
            self.heap[workload.key] = workload

    def add_untracked(self, workload: Workload) -> None:
        """It came with its LocalQueue or its ClusterQueue. Source: QC-29."""
        if workload.key not in self.parked:
            self.heap[workload.key] = workload

    def delete(self, key: str) -> None:
        self.heap.pop(key, None)
        self.parked.pop(key, None)
        if self.preemptor is not None and self.preemptor.key == key:
            self.preemptor = None

    def requeue(self, workload: Workload, reason: str) -> None:
        """The scheduler did not admit it. Source: QC-22, QC-23."""
        if reason == PENDING_PREEMPTION:
            self.preemptor = Preemptor(workload.key, not self.strict, workload.evaluated_generation)
        at_once = reason != NAMESPACE_MISMATCH if self.strict else reason in AT_ONCE
        goes_on = workload.record is not None and workload.record.pending_flavors()
        if at_once or goes_on or self.flush_cycle >= self.pop_cycle:
            self.heap[workload.key] = workload
            return
        self.parked[workload.key] = workload
        if reason in PARKS_ITS_CLASS and not self.strict and workload.shape is not None:
            self._park_class(workload.shape)

    def _park_class(self, shape: Hashable) -> None:
        """Source: QC-46."""
        self.parked_shapes.add(shape)
        for key in [key for key, workload in self.heap.items() if workload.shape == shape]:
            self.parked[key] = self.heap.pop(key)

    def flush(self, admits: Callable[[str], bool]) -> None:
        """Move back what is parked and whose namespace the ClusterQueue admits. Source: QC-37."""
        self.flush_cycle = self.pop_cycle
        self.parked_shapes = set()
        for key in [key for key, workload in self.parked.items() if admits(workload.namespace)]:
            self.heap[key] = self.parked.pop(key)
