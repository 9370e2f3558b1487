"""Writes the admissions of cycles, one by one where each waits for the pods of those before it.

With `blockAdmission` the scheduler of the reference stands still before an entry while a workload that holds quota has
pods that are not ready, and then admits the entry as the cycle found it. So what a cycle admitted is written later
here, and no cycle runs until all of it is. Source: LC-1105.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from kueue_fast.api.kueue import Workload
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.engine import Admission, Cycle, Engine
from kueue_fast.engine.decisions import Replacement
from kueue_fast.lifecycle import pods_ready
from kueue_fast.model import conditions
from kueue_fast.sim.workload_controller import WorkloadController

__all__ = ["Admitter"]

Write: TypeAlias = Callable[[Sequence[Admission], Sequence[Replacement]], None]


class Admitter:
    """Takes what cycles admitted, and has it written."""

    def __init__(
        self, cluster: MemoryCluster, engine: Engine, write: Write, workloads: WorkloadController
    ) -> None:
        self._cluster = cluster
        self._engine = engine
        self._write = write
        self._workloads = workloads
        settings = workloads.lifecycle.pods_ready
        self._blocks = settings is not None and settings.block_admission
        self._waiting: deque[tuple[Admission, list[Replacement]]] = deque()

    def take(self, cycle: Cycle, now_ns: int) -> None:
        """A cycle is over."""
        if not self._blocks:
            self._write(cycle.admitted, cycle.replaced)
            return
        for decision in cycle.admitted:
            replaced = [each for each in cycle.replaced if each.replaced_by == decision.workload]
            self._waiting.append((decision, replaced))
        self.ready(now_ns)

    def ready(self, now_ns: int) -> bool:
        """Write what need not wait any more; whether nothing waits, so that a cycle may run."""
        while self._waiting:
            decision, replaced = self._waiting[0]
            namespace, _, name = decision.workload.partition("/")
            workload: Workload | None = self._cluster.get(Workload.KIND, namespace, name)
            if workload is None or not conditions.is_admissible(workload):
                self._engine.forget(decision.workload)
            elif self._workloads.not_ready:
                changed = pods_ready.waiting(workload, now_ns, self._workloads.lifecycle.reasons)
                if changed is not None:
                    self._cluster.update_status(changed)
                return False
            else:
                self._workloads.not_ready.put(decision.workload)
                self._write((decision,), replaced)
            self._waiting.popleft()
        return True
