"""Workloads that are switched off: by Kueue itself, by a user, or since they ran too long.

Source: LC-1001..1006, LC-1603.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kueue_fast.api.kueue import Workload
from kueue_fast.lifecycle import events, eviction
from kueue_fast.lifecycle.status import TRUE, add_condition, with_status, writable_status
from kueue_fast.lifecycle.steps import REST, Step, UpdateWorkload, UpdateWorkloadStatus, again
from kueue_fast.model import conditions, times

__all__ = ["deactivate", "evict_inactive", "execution_time", "job_deadline", "target"]

DEACTIVATED: Final = "Deactivated"
MESSAGE: Final = "The workload is deactivated"
BY_KUEUE: Final = "DeactivatedDueTo"
MAXIMUM_EXECUTION_TIME_EXCEEDED: Final = "MaximumExecutionTimeExceeded"
SECOND: Final = 1_000_000_000


def target(workload: Workload, reason: str, message: str, now_ns: int) -> Step:
    """Say that the Workload is to be switched off; that comes next. Source: LC-1006."""
    status = writable_status(workload)
    add_condition(workload, status, conditions.DEACTIVATION_TARGET, TRUE, reason, message, now_ns)
    return Step((UpdateWorkloadStatus(with_status(workload, status)),))


def deactivate(workload: Workload) -> Step:
    """Switch an active Workload off that is to be. Source: LC-1001."""
    known = workload.status.conditions if workload.status is not None else None
    if not conditions.is_true(known, conditions.DEACTIVATION_TARGET):
        return REST
    spec = msgspec.structs.replace(workload.spec, active=False)
    return Step((UpdateWorkload(msgspec.structs.replace(workload, spec=spec)),))


def evict_inactive(workload: Workload, now_ns: int) -> Step:
    """Evict a Workload that is switched off; one that was evicted before only forgets its backoff.

    Without an admission nothing was taken from it, so nobody is told. Source: LC-1002.
    """
    status = writable_status(workload)
    told = eviction.is_evicted(workload)
    if told and status.requeue_state is None:
        return REST
    known = conditions.find(status.conditions, conditions.DEACTIVATION_TARGET)
    conditions.remove_condition(status.conditions or [], conditions.DEACTIVATION_TARGET)
    status = msgspec.structs.replace(status, requeue_state=None)
    workload = with_status(workload, status)
    if told:
        return Step((UpdateWorkloadStatus(workload),))
    cause = known.reason if known is not None else ""
    message = f"{MESSAGE} due to {known.message}" if known is not None else MESSAGE
    evicted = eviction.evicted(workload, DEACTIVATED, message, now_ns, cause)
    if status.admission is None:
        return Step((UpdateWorkloadStatus(evicted),))
    namespace, name = workload.metadata.namespace or "", workload.metadata.name
    reason = eviction.reason_with_cause(DEACTIVATED, cause)
    event = events.evicted(namespace, name, reason, message, now_ns)
    return Step((UpdateWorkloadStatus(evicted),), (event,))


def execution_time(workload: Workload, now_ns: int) -> Step:
    """An active, admitted Workload with a maximum execution time: when it is over, or what follows then.

    The reference looks at inactive ones too, until their job has stopped: one that was just switched off for its time
    gets the target again, and would be switched off at once when somebody switches it on. Source: LC-1003.
    """
    limit = workload.spec.maximum_execution_time_seconds
    status = workload.status
    admitted = conditions.find(status.conditions if status is not None else None, conditions.ADMITTED)
    if limit is None or status is None or not conditions.is_active(workload):
        return REST
    if admitted is None or admitted.status != TRUE:
        return REST
    before = status.accumulated_past_execution_time_seconds or 0
    since = times.parse(admitted.last_transition_time) if admitted.last_transition_time else 0
    deadline = since + (limit - before) * SECOND
    if deadline > now_ns:
        return again(deadline)
    if conditions.is_true(status.conditions, conditions.DEACTIVATION_TARGET):
        return REST
    status = writable_status(workload)
    status = msgspec.structs.replace(status, accumulated_past_execution_time_seconds=None)
    message = "exceeding the maximum execution time"
    told = target(with_status(workload, status), MAXIMUM_EXECUTION_TIME_EXCEEDED, message, now_ns)
    event = events.warning(
        workload.metadata.namespace or "",
        workload.metadata.name,
        MAXIMUM_EXECUTION_TIME_EXCEEDED,
        f"The maximum execution time ({limit}s) exceeded",
        now_ns,
    )
    return told._replace(events=(event,))


def job_deadline(workload: Workload, retention_ns: int | None) -> int | None:
    """When the job of a Workload that Kueue switched off is to be deleted, in ns since 1970; None: not at all.

    Source: LC-1603, JS-076.
    """
    if retention_ns is None or conditions.is_active(workload):
        return None
    known = workload.status.conditions if workload.status is not None else None
    found = conditions.find(known, conditions.EVICTED)
    if found is None or found.status != TRUE or not found.reason.startswith(BY_KUEUE):
        return None
    return (times.parse(found.last_transition_time) if found.last_transition_time else 0) + retention_ns
