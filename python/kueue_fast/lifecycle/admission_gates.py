"""The annotation `admission-gated-by`: who else has to agree before a Workload may queue. Source: LC-1405."""

from __future__ import annotations

from typing import Final

from kueue_fast.api.kueue import Workload
from kueue_fast.lifecycle import events
from kueue_fast.lifecycle.status import Reasons
from kueue_fast.lifecycle.steps import REST, Step, UpdateWorkloadStatus
from kueue_fast.lifecycle.unset import unset
from kueue_fast.model import conditions

__all__ = ["follow_gates", "gated_by"]

GATED: Final = "AdmissionGated"
CLEARED: Final = "AdmissionGateCleared"


def gated_by(workload: Workload) -> str:
    """What the annotation says, empty without it."""
    return (workload.metadata.annotations or {}).get(conditions.ADMISSION_GATED_BY, "")


def follow_gates(workload: Workload, now_ns: int, reasons: Reasons = Reasons()) -> Step:
    """Tell that a Workload came to be gated, or that it is gated no more; a gated one gives its reservation back."""
    known = workload.status.conditions if workload.status is not None else None
    found = conditions.find(known, conditions.QUOTA_RESERVED)
    was_gated = found is not None and found.reason == GATED
    gates = gated_by(workload)
    if was_gated == bool(gates):
        return REST
    namespace, name = workload.metadata.namespace or "", workload.metadata.name
    if gates:
        message = f"Admission is gated by: {gates}"
        changed = unset(workload, GATED, message, now_ns, reasons)
        text = f"Workload admission is gated by: {gates}"
        event = events.normal(namespace, name, GATED, text, now_ns)
    else:
        reason = reasons.pick("PendingEvaluation", "Pending")
        message = "AdmissionGatedBy cleared, waiting for quota reservation"
        changed = unset(workload, reason, message, now_ns, reasons)
        text = "Admission gate cleared, workload is now admissible"
        event = events.normal(namespace, name, CLEARED, text, now_ns)
    return REST if changed is None else Step((UpdateWorkloadStatus(changed),), (event,))
