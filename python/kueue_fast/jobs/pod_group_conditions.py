"""Whether a group waits for pods that replace failed ones. Source: JS-356."""

from __future__ import annotations

from kueue_fast.api.kueue import Workload
from kueue_fast.lifecycle.status import FALSE, TRUE, add_condition, with_status, writable_status
from kueue_fast.model import conditions

__all__ = ["waiting_for_replacement"]


def waiting_for_replacement(workload: Workload, absent: int, now_ns: int) -> Workload | None:
    """The Workload with the condition as `absent` pods make it, None if nothing changes.

    While it is true, an evicted Workload tells the reason and the message of its eviction. Source: JS-356.
    """
    known = workload.status.conditions if workload.status is not None else None
    before = conditions.find(known, conditions.WAITING_FOR_REPLACEMENT_PODS)
    if absent <= 0:
        if before is None or before.status == FALSE:
            return None
        return _with(workload, FALSE, "PodsReady", "No pods need replacement", now_ns)
    evicted = conditions.find(known, conditions.EVICTED)
    if evicted is not None and evicted.status == TRUE:
        reason, message = evicted.reason, evicted.message
        wanted = (TRUE, reason, message)
        if before is not None and (before.status, before.reason, before.message) == wanted:
            return None
        return _with(workload, TRUE, reason, message, now_ns)
    if before is not None and before.status == TRUE:
        return None
    return _with(workload, TRUE, "PodsFailed", "Some Failed pods need replacement", now_ns)


def _with(workload: Workload, value: str, reason: str, message: str, now_ns: int) -> Workload:
    status = writable_status(workload)
    add_condition(workload, status, conditions.WAITING_FOR_REPLACEMENT_PODS, value, reason, message, now_ns)
    return with_status(workload, status)
