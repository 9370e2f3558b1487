"""waitForPodsReady: the condition PodsReady, its clock, and what happens when it runs out.

Source: LC-1102..1105, JS-073, JS-174.
"""

from __future__ import annotations

from typing import Final

from kueue_fast.api.kueue import Workload
from kueue_fast.lifecycle import deactivation, events, eviction, requeue
from kueue_fast.lifecycle.settings import PodsReadySettings
from kueue_fast.lifecycle.status import FALSE, TRUE, Reasons, add_condition, with_status, writable_status
from kueue_fast.lifecycle.steps import REST, Step, UpdateWorkloadStatus, again
from kueue_fast.lifecycle.unset import unset
from kueue_fast.model import conditions, times

__all__ = ["NotReady", "ready_condition", "timeout", "waiting"]

WAIT_FOR_START: Final = "WaitForStart"
WAIT_FOR_RECOVERY: Final = "WaitForRecovery"
STARTED: Final = "Started"
RECOVERED: Final = "Recovered"
LEGACY: Final = "PodsReady"
REQUEUING_LIMIT_EXCEEDED: Final = "RequeuingLimitExceeded"

NOT_READY: Final = "Not all pods are ready or succeeded"
WAITING_FOR_RECOVERY: Final = "At least one pod has failed, waiting for recovery"
ALL_READY: Final = "All pods reached readiness and the workload is running"
OTHERS_NOT_READY: Final = "waiting for all admitted workloads to be in PodsReady condition"


def ready_condition(workload: Workload, ready: bool, now_ns: int) -> Workload | None:
    """The Workload with what its job says of its pods; None when type, status and reason stand there.

    `ready`: whether all pods of the job are ready or done; it counts for an admitted Workload only.

    Source: LC-1102.
    """
    known = workload.status.conditions if workload.status is not None else None
    before = conditions.find(known, conditions.PODS_READY)
    value, reason, message = FALSE, WAIT_FOR_START, NOT_READY
    if conditions.is_true(known, conditions.ADMITTED):
        if ready:
            recovers = before is not None and before.reason in (WAIT_FOR_RECOVERY, RECOVERED)
            value, reason, message = TRUE, RECOVERED if recovers else STARTED, ALL_READY
        elif before is not None and (before.status == TRUE or before.reason == WAIT_FOR_RECOVERY):
            reason, message = WAIT_FOR_RECOVERY, WAITING_FOR_RECOVERY
    if before is not None and (before.status, before.reason) == (value, reason):
        return None
    status = writable_status(workload)
    add_condition(workload, status, conditions.PODS_READY, value, reason, message, now_ns)
    return with_status(workload, status)


def timeout(workload: Workload, settings: PodsReadySettings | None, now_ns: int, random: float = 0.0) -> Step:
    """An active, admitted Workload whose pods are not ready: when to look again, or what follows from its being late.

    `random` is that of the backoff. Source: LC-1103, LC-1104.
    """
    if settings is None or not conditions.is_active(workload) or eviction.is_evicted(workload):
        return REST
    cause, deadline = _deadline(workload, settings)
    if deadline is None:
        return REST
    if deadline > now_ns:
        return again(deadline)
    state = workload.status.requeue_state if workload.status is not None else None
    count = ((state.count if state is not None else None) or 0) + 1
    if settings.backoff_limit is not None and count > settings.backoff_limit:
        message = "exceeding the maximum number of re-queuing retries"
        return deactivation.target(workload, REQUEUING_LIMIT_EXCEEDED, message, now_ns)
    wait = requeue.backoff_ns(count, settings.backoff_base_seconds, settings.backoff_max_seconds, random)
    status = requeue.raised(writable_status(workload), now_ns + wait, count=True)
    namespace, name = workload.metadata.namespace or "", workload.metadata.name
    message = f"Exceeded the PodsReady timeout {namespace}/{name}"
    told = eviction.evicted(
        with_status(workload, status), requeue.BY_PODS_READY_TIMEOUT, message, now_ns, cause
    )
    told_of = events.evicted(namespace, name, requeue.BY_PODS_READY_TIMEOUT, message, now_ns)
    return Step((UpdateWorkloadStatus(told),), (told_of,))


def _deadline(workload: Workload, settings: PodsReadySettings) -> tuple[str, int | None]:
    """Cause, and until when in ns since 1970; None: no clock runs. Source: LC-1103."""
    known = workload.status.conditions if workload.status is not None else None
    admitted = conditions.find(known, conditions.ADMITTED)
    if admitted is None or admitted.status != TRUE:
        return "", None
    ready = conditions.find(known, conditions.PODS_READY)
    if ready is not None and ready.status == TRUE:
        return "", None
    if ready is None or ready.reason in (WAIT_FOR_START, LEGACY):
        return WAIT_FOR_START, _since(admitted.last_transition_time) + settings.timeout_ns
    if ready.reason == WAIT_FOR_RECOVERY and settings.recovery_timeout_ns is not None:
        return WAIT_FOR_RECOVERY, _since(ready.last_transition_time) + settings.recovery_timeout_ns
    return "", None


def _since(text: str | None) -> int:
    return times.parse(text) if text else 0


class NotReady:
    """Workloads that hold quota while their pods are not ready: with `blockAdmission` none is admitted meanwhile.

    Source: LC-1105.
    """

    def __init__(self) -> None:
        self._keys: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self._keys)

    def put(self, key: str) -> None:
        """A Workload is about to be admitted."""
        self._keys[key] = None

    def update(self, workload: Workload) -> None:
        """A Workload changed."""
        key = f"{workload.metadata.namespace}/{workload.metadata.name}"
        known = workload.status.conditions if workload.status is not None else None
        holds = (
            conditions.is_active(workload)
            and conditions.is_true(known, conditions.QUOTA_RESERVED)
            and not conditions.is_true(known, conditions.FINISHED)
        )
        if holds and not conditions.is_true(known, conditions.PODS_READY):
            self._keys[key] = None
        else:
            self._keys.pop(key, None)

    def delete(self, key: str) -> None:
        """A Workload is gone, or could not be admitted."""
        self._keys.pop(key, None)


def waiting(workload: Workload, now_ns: int, reasons: Reasons = Reasons()) -> Workload | None:
    """A Workload that would be admitted if the pods of all others were ready; None when that stands there.

    Source: LC-1105.
    """
    reason = reasons.pick("WaitingForPodsReady", "Waiting")
    return unset(workload, reason, OTHERS_NOT_READY, now_ns, reasons)
