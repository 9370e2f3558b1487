"""What a Workload's conditions say: its status, whether it may queue, and since when.

These run for each event of a workload, so each looks at the conditions once and returns at
once if there are none.

Source: QC-10, QC-12, QC-26, QC-55..QC-58, LC-409, LC-411..LC-413, LC-501.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from kueue_fast.api.kueue_workload import Workload
from kueue_fast.api.meta import Condition
from kueue_fast.model import times
from kueue_fast.model.integers import parse_int32

QUOTA_RESERVED: Final = "QuotaReserved"
ADMITTED: Final = "Admitted"
FINISHED: Final = "Finished"
EVICTED: Final = "Evicted"
PREEMPTED: Final = "Preempted"
REQUEUED: Final = "Requeued"
PODS_READY: Final = "PodsReady"
DEACTIVATION_TARGET: Final = "DeactivationTarget"
WAITING_FOR_REPLACEMENT_PODS: Final = "WaitingForReplacementPods"

IS_GROUP_WORKLOAD = "kueue.x-k8s.io/is-group-workload"
ADMISSION_GATED_BY: Final = "kueue.x-k8s.io/admission-gated-by"
PRIORITY_BOOST: Final = "kueue.x-k8s.io/priority-boost"

WorkloadState: TypeAlias = Literal["pending", "quotaReserved", "admitted", "finished"]

_TRUE: Final = "True"
_FALSE: Final = "False"
_ON_HOLD: Final = "OnHold"
_PODS_READY_TIMEOUT: Final = "PodsReadyTimeout"
_ADMISSION_CHECK: Final = "AdmissionCheck"
_RECLAIM_WHILE_BORROWING: Final = "InCohortReclaimWhileBorrowing"
_CLOSED: Final = "Closed"
_EVICTION: Final = "Eviction"
_MILLISECOND: Final = 1_000_000  # ns
_MESSAGE_BYTES: Final = 32 * 1024
_EVENT_BYTES: Final = 1024
_CUT: Final = b" ..."


def find(conditions: Sequence[Condition] | None, type_: str) -> Condition | None:
    """The condition of this type, or None."""
    for condition in conditions or ():
        if condition.type == type_:
            return condition
    return None


def is_true(conditions: Sequence[Condition] | None, type_: str) -> bool:
    """Whether there is a condition of this type and it is `True`."""
    condition = find(conditions, type_)
    return condition is not None and condition.status == _TRUE


def set_condition(conditions: list[Condition], condition: Condition, now: str) -> bool:
    """Puts a condition into the list; returns whether anything changed.

    A new condition is appended, with `now` (RFC 3339) as its transition time if it has none. Of
    one that is there, reason, message and observed generation are overwritten, and the
    transition time only if the status changes. The old entry is replaced, not changed in place,
    so that other holders of it keep what they saw.

    Source: LC-501.
    """
    since = condition.last_transition_time or now
    for i, old in enumerate(conditions):
        if old.type != condition.type:
            continue
        if old.status == condition.status:
            since = old.last_transition_time or since
            if (
                old.reason == condition.reason
                and old.message == condition.message
                and (old.observed_generation or 0) == (condition.observed_generation or 0)
            ):
                return False
        conditions[i] = msgspec.structs.replace(condition, last_transition_time=since)
        return True
    conditions.append(msgspec.structs.replace(condition, last_transition_time=since))
    return True


def remove_condition(conditions: list[Condition], type_: str) -> bool:
    """Takes the condition of this type out of the list; returns whether there was one."""
    for i, condition in enumerate(conditions):
        if condition.type == type_:
            del conditions[i]
            return True
    return False


def cut_condition_message(message: str) -> str:
    """The message, cut to 32768 bytes with ` ...` at the end if it is longer. Source: LC-501."""
    return _cut(message, _MESSAGE_BYTES)


def cut_event_message(message: str) -> str:
    """The message, cut to 1024 bytes with ` ...` at the end if it is longer. Source: LC-501."""
    return _cut(message, _EVENT_BYTES)


def workload_status(workload: Workload) -> WorkloadState:
    """How far a workload has come. Source: QC-55."""
    status = workload.status
    if status is None or not status.conditions:
        return "pending"
    true = {condition.type for condition in status.conditions if condition.status == _TRUE}
    if FINISHED in true:
        return "finished"
    if ADMITTED in true:
        return "admitted"
    return "quotaReserved" if QUOTA_RESERVED in true else "pending"


def is_active(workload: Workload) -> bool:
    """Whether `spec.active` is unset or true."""
    return workload.spec.active is not False


def has_admission_gate(workload: Workload) -> bool:
    """Whether an annotation holds admission back; counts with gate `AdmissionGatedBy` only.

    Source: QC-57.
    """
    annotations = workload.metadata.annotations
    return bool(annotations and annotations.get(ADMISSION_GATED_BY))


def is_on_hold(workload: Workload) -> bool:
    """Whether its job has given quota back on purpose and does not want to queue.

    Source: LC-413.
    """
    reserved = find(workload.status.conditions if workload.status else None, QUOTA_RESERVED)
    return reserved is not None and reserved.status == _FALSE and reserved.reason == _ON_HOLD


def held_back(workload: Workload) -> tuple[str, str] | None:
    """Why its job keeps it out of the queue, as a reason and words: pods of its group lack, or it is on hold.

    Source: QC-56.
    """
    known = workload.status.conditions if workload.status is not None else None
    replacing = find(known, WAITING_FOR_REPLACEMENT_PODS)
    if replacing is not None and replacing.status == _TRUE:
        return WAITING_FOR_REPLACEMENT_PODS, replacing.message
    reserved = find(known, QUOTA_RESERVED)
    return (_ON_HOLD, reserved.message) if reserved is not None and is_on_hold(workload) else None


def is_admissible(workload: Workload, *, admission_gated_by: bool = True) -> bool:
    """Whether the workload may be queued. `admission_gated_by` is the gate `AdmissionGatedBy`.

    Source: QC-56.
    """
    if workload.spec.active is False or (admission_gated_by and has_admission_gate(workload)):
        return False
    status = workload.status
    if status is None or not status.conditions:
        return True
    for condition in status.conditions:
        if condition.status == _TRUE:
            if condition.type in (FINISHED, QUOTA_RESERVED, WAITING_FOR_REPLACEMENT_PODS):
                return False
        elif condition.status == _FALSE and condition.type == QUOTA_RESERVED and condition.reason == _ON_HOLD:
            return False
    return True


def owned_by_single_pod(workload: Workload) -> bool:
    """Whether a Workload stands for one pod and ends with it; a group of one pod can get another (TP-1503, TP-1512)."""
    owners = workload.metadata.owner_references or ()
    return (
        len(owners) == 1
        and (owners[0].kind, owners[0].api_version) == ("Pod", "v1")
        and (workload.metadata.annotations or {}).get(IS_GROUP_WORKLOAD) != "true"
    )


def has_closed_preemption_gate(workload: Workload) -> bool:
    """Whether some preemption gate of the spec is closed, or not yet in the status.

    Source: QC-58.
    """
    gates = workload.spec.preemption_gates
    if not gates:
        return False
    states = (workload.status.preemption_gates if workload.status else None) or ()
    positions = {state.name: state.position for state in states}
    return any(positions.get(gate.name, _CLOSED) == _CLOSED for gate in gates)


def backoff_over(workload: Workload, now: int) -> bool:
    """Whether the workload's wait after an eviction is over at `now` (ns since the epoch).

    Source: QC-26.
    """
    status = workload.status
    if status is None:
        return True
    requeued = find(status.conditions, REQUEUED)
    if requeued is not None and requeued.status == _FALSE:
        return False
    state = status.requeue_state
    return state is None or state.requeue_at is None or now >= times.parse(state.requeue_at)


def queue_timestamp(
    workload: Workload,
    *,
    requeuing_timestamp: str = _EVICTION,
    priority_sorting_within_cohort: bool = True,
) -> int:
    """The time that orders the workload among equals, in ns since the epoch.

    It is the creation time, or the time of an eviction that must not keep its place.
    `requeuing_timestamp` is `waitForPodsReady.requeuingStrategy.timestamp` of the configuration
    (`Eviction` or `Creation`), `priority_sorting_within_cohort` the gate of that name. A
    workload without creation time counts as created at 0.

    Source: QC-12, LC-409.
    """
    status = workload.status
    if status is not None and status.conditions:
        evicted = find(status.conditions, EVICTED)
        if (
            evicted is not None
            and evicted.status == _TRUE
            and (
                evicted.reason == _ADMISSION_CHECK
                or (evicted.reason == _PODS_READY_TIMEOUT and requeuing_timestamp == _EVICTION)
            )
        ):
            return _time(evicted.last_transition_time)
        if not priority_sorting_within_cohort:
            preempted = find(status.conditions, PREEMPTED)
            if (
                preempted is not None
                and preempted.status == _TRUE
                and preempted.reason == _RECLAIM_WHILE_BORROWING
            ):
                # Strictly after the preemptor, which was created no later than this.
                return _time(preempted.last_transition_time) + _MILLISECOND
    return _time(workload.metadata.creation_timestamp)


def effective_priority(workload: Workload, *, priority_boost: bool = False) -> int:
    """The priority that orders the workload; `priority_boost` is the gate `PriorityBoost`.

    A boost that is no 32-bit decimal counts as none.

    Source: QC-10.
    """
    priority = workload.spec.priority or 0
    annotations = workload.metadata.annotations
    if not priority_boost or not annotations:
        return priority
    return priority + (parse_int32(annotations.get(PRIORITY_BOOST, "")) or 0)


def _time(text: str | None) -> int:
    return times.parse(text) if text else 0


def _cut(message: str, limit: int) -> str:
    raw = message.encode()
    if len(raw) <= limit:
        return message
    return (raw[: limit - len(_CUT)] + _CUT).decode(errors="replace")
