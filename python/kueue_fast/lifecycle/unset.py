"""Taking the reservation of a Workload back, as one status write. Source: LC-504."""

from __future__ import annotations

from kueue_fast.api.kueue import Workload
from kueue_fast.lifecycle.admission import unset_reservation
from kueue_fast.lifecycle.status import Reasons, with_status, writable_status

__all__ = ["unset"]


def unset(
    workload: Workload, reason: str, message: str, now_ns: int, reasons: Reasons = Reasons()
) -> Workload | None:
    """The Workload without reservation, and why; None when that stands there already."""
    status = writable_status(workload)
    if not unset_reservation(workload, status, reason, message, now_ns, reasons):
        return None
    return with_status(workload, status)
