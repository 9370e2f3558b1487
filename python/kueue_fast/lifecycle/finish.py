"""The end of a Workload. Source: LC-1601, LC-1606."""

from __future__ import annotations

from typing import Final

from kueue_fast.api.kueue import Workload
from kueue_fast.lifecycle.status import TRUE, add_condition, with_status, writable_status
from kueue_fast.model import conditions

__all__ = ["FAILED", "FAILED_TO_START", "OWNER_NOT_FOUND", "SUCCEEDED", "finished", "is_finished"]

SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
FAILED_TO_START: Final = "FailedToStart"
OWNER_NOT_FOUND: Final = "OwnerNotFound"


def is_finished(workload: Workload) -> bool:
    """Whether the condition Finished is True."""
    return workload.status is not None and conditions.is_true(workload.status.conditions, conditions.FINISHED)


def finished(workload: Workload, reason: str, message: str, now_ns: int) -> Workload | None:
    """The Workload with the condition Finished, or None when it has it: the first end counts.

    Reservation and admission stay as they are; the quota is free all the same. Source: LC-1601.
    """
    if is_finished(workload):
        return None
    status = writable_status(workload)
    add_condition(workload, status, conditions.FINISHED, TRUE, reason, message, now_ns)
    return with_status(workload, status)
