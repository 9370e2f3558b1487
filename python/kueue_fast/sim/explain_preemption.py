"""What preemption could do for a waiting workload: policies, what the search came to, and who would have to give."""

from __future__ import annotations

from typing import Final

from kueue_fast.api.kueue import ClusterQueue
from kueue_fast.engine.explain import Look, Standing
from kueue_fast.sim.explain_flavors import current_reasons
from kueue_fast.sim.explanation import HolderPart, PreemptionPart, Victim
from kueue_fast.sim.recorder import Recorder
from kueue_fast.sim.result import WorkloadRow

__all__ = ["preemption_part"]

NEVER: Final = "Never"
_LACKING: Final = frozenset(("ExceedsMaximum", "WaitingForQuota", "NotPlaced"))
_WORDS: Final = {
    "Preempting": "Workloads were told to stop for it.",
    "Overlap": "Workloads that would have to stop for it are stopping for another one already.",
    "Deferred": "It fits once workloads that stop for others have stopped.",
    "Gated": "It would need preemption, and one of its preemption gates is closed.",
    "NoLongerFits": "None was needed: a workload before it in the same cycle took the room.",
}
_NO_FIT: Final = {
    "ExceedsMaximum": "more is asked for than there could ever be",
    "WaitingForQuota": "it would have to borrow, and its ClusterQueue may not preempt while it borrows",
    "NotPlaced": "its pods would find no places even if all other workloads were gone",
}


def preemption_part(
    recorder: Recorder, row: WorkloadRow, queue: ClusterQueue | None, standing: Standing
) -> PreemptionPart | None:
    """Policies and outcome, None where quota and places were not what it lacked. Source: QP-435, QP-601, TP-611."""
    look = standing.look
    if look is None or queue is None or queue.spec is None:
        return None
    result = _result(look, standing, queue)
    if result is None:
        return None
    policies = queue.spec.preemption
    borrowing = policies.borrow_within_cohort if policies is not None else None
    rows = recorder.rows
    return PreemptionPart(
        within_cluster_queue=(policies.within_cluster_queue if policies else None) or NEVER,
        reclaim_within_cohort=(policies.reclaim_within_cohort if policies else None) or NEVER,
        borrow_within_cohort=(borrowing.policy if borrowing else None) or NEVER,
        max_priority_threshold=borrowing.max_priority_threshold if borrowing else None,
        result=result,
        holders=[
            HolderPart(
                cluster_queue=each.cluster_queue,
                borrowing=each.borrowing,
                workloads=each.workloads,
                lower_priority=each.lower,
            )
            for each in standing.holders
        ],
        waits_for=[_victim(rows[key], row) for key in row.waits_for],
    )


def _victim(victim: WorkloadRow, row: WorkloadRow) -> Victim:
    last = victim.last_preemption
    other = last.preemptor if last is not None and last.preemptor != row.key else None
    return Victim(workload=victim.key, cluster_queue=victim.cluster_queue, preemptor=other)


def _result(look: Look, standing: Standing, queue: ClusterQueue) -> str | None:
    if look.outcome in _WORDS:
        return _WORDS[look.outcome]
    kinds = {each.kind for each in current_reasons(standing)} & _LACKING
    if look.outcome == "NoFit" and kinds:
        return (
            f"None was considered: {', or '.join(words for kind, words in _NO_FIT.items() if kind in kinds)}."
        )
    if look.outcome != "NoCandidates":
        return None
    policies = queue.spec.preemption if queue.spec is not None else None
    within = (policies.within_cluster_queue if policies else None) or NEVER
    reclaim = (policies.reclaim_within_cohort if policies else None) or NEVER
    if within == NEVER and (reclaim == NEVER or not standing.cohorts):
        return "The policies of its ClusterQueue let it stop nobody."
    return "No workloads were found that its policies let it stop and whose going would make it fit."
