"""Writes the admissions of cycles, one by one where each waits for the pods of those before it.

With `blockAdmission` the scheduler of the reference stands still before an entry while a workload that holds quota has
pods that are not ready, and then admits the entry as the cycle found it. So what a cycle admitted is written later
here, and no cycle runs until all of it is. Source: LC-1105.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from kueue_fast.api.kueue import Workload
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.engine import Admission, Cycle, Engine
from kueue_fast.engine.decisions import Replacement
from kueue_fast.lifecycle import admission, events, pods_ready, slices
from kueue_fast.lifecycle.events import Event
from kueue_fast.model import conditions
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.observer import WorkloadObserver
from kueue_fast.sim.recorder import Recorder
from kueue_fast.sim.workload_controller import WorkloadController

__all__ = ["Admitter"]


class Admitter:
    """Takes what cycles admitted, and writes it. `by_hostname_prefix` is a gate of topology assignments."""

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        engine: Engine,
        observer: WorkloadObserver,
        recorder: Recorder,
        workloads: WorkloadController,
        *,
        by_hostname_prefix: bool,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._engine = engine
        self._observer = observer
        self._recorder = recorder
        self._workloads = workloads
        self._reasons = workloads.lifecycle.reasons
        self._by_hostname_prefix = by_hostname_prefix
        settings = workloads.lifecycle.pods_ready
        self._blocks = settings is not None and settings.block_admission
        # With the uid of the Workload: another one of its name is not what was decided about.
        self._waiting: deque[tuple[Admission, list[Replacement], str]] = deque()
        # Whether the first of them says that it waits.
        self._told = False

    def restart(self, engine: Engine) -> None:
        """What was not written yet was never decided."""
        self._engine = engine
        self._waiting.clear()
        self._told = False

    def take(self, cycle: Cycle) -> None:
        """A cycle is over."""
        if not self._blocks:
            self._carry_out(cycle.admitted, cycle.replaced)
            return
        for decision in cycle.admitted:
            replaced = [each for each in cycle.replaced if each.replaced_by == decision.workload]
            workload = self._workload(decision.workload)
            self._waiting.append((decision, replaced, _uid(workload)))
        self.ready()

    @property
    def waits(self) -> bool:
        """Whether something waits, so that no cycle runs."""
        return bool(self._waiting)

    def ready(self) -> bool:
        """Write what need not wait any more; whether nothing waits, so that a cycle may run."""
        while self._waiting:
            decision, replaced, uid = self._waiting[0]
            workload = self._workload(decision.workload)
            if workload is None or _uid(workload) != uid or not conditions.is_admissible(workload):
                self._engine.forget(decision.workload)
            elif self._workloads.not_ready:
                # Told once: what others say of the Workload meanwhile stays.
                changed = None if self._told else pods_ready.waiting(workload, self._clock.now, self._reasons)
                self._told = True
                if changed is not None:
                    self._cluster.update_status(changed)
                return False
            else:
                self._workloads.not_ready.put(decision.workload)
                self._carry_out((decision,), replaced)
            self._waiting.popleft()
            self._told = False
        return True

    def write(self, decision: Admission) -> None:
        """A decision into the status of its Workload."""
        workload = self._workload(decision.workload)
        if workload is None:
            return
        topologies = admission.topologies_of(decision.pod_sets, by_hostname_prefix=self._by_hostname_prefix)
        self._cluster.update_status(
            admission.admitted(workload, decision, self._clock.now, self._reasons, topologies=topologies)
        )

    def _carry_out(self, decisions: Sequence[Admission], replaced: Sequence[Replacement]) -> None:
        # Whoever hears that a slice was admitted finds the one before it finished.
        with self._cluster.together():
            for decision in decisions:
                if self._workload(decision.workload) is not None:
                    self._observer.decided(decision)
                    self.write(decision)
            ended = [event for each in replaced if (event := self._replace(each)) is not None]
        for event in ended:
            self._recorder.event(event)

    def _replace(self, replacement: Replacement) -> Event | None:
        """A slice was admitted: the one before it ends, which is told by the event."""
        old, new = (self._workload(key) for key in (replacement.workload, replacement.replaced_by))
        done = None if old is None or new is None else slices.replaced(old, new, self._clock.now)
        if old is None or new is None or done is None:
            return None
        self._cluster.update_status(done)
        placed = slices.with_cluster_of(new, old)
        if placed is not new:
            self._cluster.update_status(placed)
        namespace, name = old.metadata.namespace or "", old.metadata.name
        return events.slice_replaced(namespace, name, slices.replacement_message(new), self._clock.now)

    def _workload(self, key: str) -> Workload | None:
        namespace, _, name = key.partition("/")
        found: Workload | None = self._cluster.get(Workload.KIND, namespace, name)
        return found


def _uid(workload: Workload | None) -> str:
    return "" if workload is None else workload.metadata.uid or ""
