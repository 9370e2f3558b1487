"""A dry run beside another scheduler: says what would be done, and where the other one did something else."""

from __future__ import annotations

import logging

from kueue_fast.api.kueue import Workload
from kueue_fast.app.scheduler import CycleResult
from kueue_fast.cluster.changes import Change, WatchEvent
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.engine import Admission
from kueue_fast.lifecycle.admission import to_admission

__all__ = ["Shadow"]

log = logging.getLogger("shadow")


class Shadow:
    """Compares our admissions with those that appear: `agreed` counts the same ones, `differences` the others."""

    def __init__(self, cluster: KubeCluster) -> None:
        self.agreed = 0
        self.differences = 0
        self.decided: dict[str, Admission] = {}
        cluster.watch(Workload.KIND, self._on_workload)

    def on_cycle(self, result: CycleResult) -> None:
        """Say what a cycle decided."""
        for decision in result.cycle.admitted:
            self.decided[decision.workload] = decision
            flavors = {one.name: dict(one.flavors) for one in decision.pod_sets}
            log.info(
                "would admit %s in ClusterQueue %s with %s",
                decision.workload,
                decision.cluster_queue,
                flavors,
            )
        for preemption in result.cycle.preempted:
            log.info("would preempt %s for %s", preemption.workload, preemption.preemptor)
        for requeued, message in zip(result.cycle.requeued, result.messages, strict=True):
            log.info("%s would wait: %s", requeued.workload, message)

    def _on_workload(self, event: WatchEvent) -> None:
        workload: Workload = event.object
        key = f"{workload.metadata.namespace}/{workload.metadata.name}"
        if event.change is Change.DELETED:
            self.decided.pop(key, None)
            return
        status = workload.status
        if status is None or status.admission is None:
            return
        decision = self.decided.pop(key, None)
        before = event.old.status if event.old is not None else None
        if before is not None and before.admission is not None:
            return
        if decision is None:
            self.differences += 1
            log.warning("%s was admitted, and would not have been by now", key)
            return
        ours, theirs = to_admission(decision), status.admission
        same = ours.cluster_queue == theirs.cluster_queue and {
            one.name: (one.flavors, one.count) for one in ours.pod_set_assignments or ()
        } == {one.name: (one.flavors, one.count) for one in theirs.pod_set_assignments or ()}
        if same:
            self.agreed += 1
        else:
            self.differences += 1
            log.warning("%s was admitted otherwise: %s, and ours would be %s", key, theirs, ours)
