"""When an evicted Workload may queue again: its backoff, and the condition Requeued.

Source: LC-901..907.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kueue_fast.api.kueue import RequeueState, Workload, WorkloadStatus
from kueue_fast.lifecycle.status import TRUE, add_condition, timestamp, with_status, writable_status
from kueue_fast.model import conditions, times

__all__ = [
    "BY_ADMISSION_CHECK",
    "BY_PODS_READY_TIMEOUT",
    "after_backoff",
    "backoff_ns",
    "check_delay",
    "queued_since",
    "raised",
    "requeue_at",
    "requeued",
    "waits_for",
    "without_requeue_at",
]

SECOND: Final = 1_000_000_000
NO_CAP: Final = (2**63 - 1) // 2  # of durations in int64 nanoseconds, doubled at each step
JITTER: Final = 0.0001

BY_PODS_READY_TIMEOUT: Final = "PodsReadyTimeout"
BY_ADMISSION_CHECK: Final = "AdmissionCheck"
# By a user, and with what for by Kueue: `DeactivatedDueTo...`.
DEACTIVATED: Final = "Deactivated"
RETRY: Final = "Retry"


def backoff_ns(count: int, base_seconds: int, max_seconds: int, random: float = 0.0) -> int:
    """The wait before the `count`-th attempt (from 1), in nanoseconds: doubled each time up to the maximum.

    No maximum: 0. The base itself is not cut to it. `random` in [0, 1) lengthens the wait by up to a ten-thousandth, so
    that workloads do not all come back at once. Source: LC-901.
    """
    cap = max_seconds * SECOND or NO_CAP
    wait = base_seconds * SECOND
    for _ in range(count - 1):
        if wait == cap:
            break
        wait = min(2 * wait, cap)
    return wait + int(wait * JITTER * random)


def requeue_at(workload: Workload) -> int | None:
    """`status.requeueState.requeueAt` in ns since 1970, None without one. Raises InputError if it is no time."""
    state = workload.status.requeue_state if workload.status is not None else None
    return None if state is None or state.requeue_at is None else times.parse(state.requeue_at)


def raised(status: WorkloadStatus, at_ns: int, *, count: bool) -> WorkloadStatus:
    """The status with a time to queue again that is not before `at_ns`; `count`: one more attempt.

    A later time that stands there stays. Source: LC-902, LC-903.
    """
    state = status.requeue_state or RequeueState()
    now = state.requeue_at
    at = now if now is not None and times.parse(now) >= at_ns else timestamp(at_ns)
    attempts = (state.count or 0) + 1 if count else state.count
    return msgspec.structs.replace(status, requeue_state=RequeueState(count=attempts, requeue_at=at))


def without_requeue_at(workload: Workload) -> Workload:
    """The backoff is over; how often it was requeued stays known. Source: LC-906."""
    status = writable_status(workload)
    return with_status(workload, _cleared(status))


def check_delay(workload: Workload, now_ns: int) -> int | None:
    """When the checks that want a retry allow one, where that is later than the Workload says. Source: LC-904."""
    status = workload.status
    latest = 0
    for check in (status.admission_checks if status is not None else None) or ():
        if check.state == RETRY and check.requeue_after_seconds is not None and check.last_transition_time:
            latest = max(
                latest, times.parse(check.last_transition_time) + check.requeue_after_seconds * SECOND
            )
    if latest <= now_ns:
        return None
    present = requeue_at(workload)
    return None if present is not None and present >= latest else latest


def after_backoff(workload: Workload, now_ns: int) -> Workload | None:
    """An active Workload that was kept out of its queue, and need not be any more; None while it must, or was not.

    One that Kueue itself had switched off comes back like any other: upstream strands it (LC-908, docs/parity.md).

    Source: LC-907.
    """
    known = workload.status.conditions if workload.status is not None else None
    found = conditions.find(known, conditions.REQUEUED)
    if found is None or found.status == TRUE:
        return None
    if found.reason.startswith(DEACTIVATED):
        return requeued(workload, "Reactivated", "The workload was reactivated", now_ns)
    if found.reason not in (BY_PODS_READY_TIMEOUT, BY_ADMISSION_CHECK):
        return None
    status = _cleared(writable_status(workload))
    add_condition(
        workload,
        status,
        conditions.REQUEUED,
        TRUE,
        "BackoffFinished",
        "The workload backoff was finished",
        now_ns,
    )
    return with_status(workload, status)


def requeued(workload: Workload, reason: str, message: str, now_ns: int) -> Workload:
    """The Workload that may queue again. Source: LC-907."""
    status = writable_status(workload)
    add_condition(workload, status, conditions.REQUEUED, TRUE, reason, message, now_ns)
    return with_status(workload, status)


def waits_for(workload: Workload, reason: str) -> bool:
    """Whether the Workload is kept out of its queue for this reason."""
    known = workload.status.conditions if workload.status is not None else None
    found = conditions.find(known, conditions.REQUEUED)
    return found is not None and found.status != TRUE and found.reason == reason


def _cleared(status: WorkloadStatus) -> WorkloadStatus:
    state = status.requeue_state
    if state is None or state.requeue_at is None:
        return status
    return msgspec.structs.replace(status, requeue_state=RequeueState(count=state.count))


def queued_since(workload: Workload, now: int) -> int:
    """Since when the Workload waits, ns since 1970: the transition of Requeued, or its creation. Source: QC-144."""
    known = workload.status.conditions if workload.status is not None else None
    requeued = conditions.find(known, conditions.REQUEUED)
    since = workload.metadata.creation_timestamp
    if requeued is not None and requeued.last_transition_time:
        since = requeued.last_transition_time
    return times.parse(since) if since else now
