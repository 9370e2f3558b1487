"""Writing a Workload's status: copies that share what does not change, and the condition Admitted.

Structs are values here: a function returns a new Workload and leaves the one it was given alone.

Source: LC-501, LC-503, LC-702, QC-138.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from kueue_fast.api.kueue import Workload, WorkloadStatus
from kueue_fast.api.meta import Condition
from kueue_fast.model import conditions, times
from kueue_fast.model.features import FeatureGates
from kueue_fast.model.second_pass import topology_pending

__all__ = ["Reasons", "add_condition", "sync_admitted", "with_status", "writable_status"]

TRUE: Final = "True"
FALSE: Final = "False"
READY: Final = "Ready"
NANOSECONDS: Final = 1_000_000_000


class Reasons(NamedTuple):
    """Which reasons conditions carry: the gates UnadmittedWorkloadsObservability and ...ExplicitStatus.

    Source: LC-503.
    """

    granular: bool = False
    explicit: bool = False

    @classmethod
    def read(cls, gates: FeatureGates) -> Reasons:
        """Reasons as the gates want them."""
        return cls(
            granular=gates.enabled("UnadmittedWorkloadsObservability"),
            explicit=gates.enabled("UnadmittedWorkloadsExplicitStatus"),
        )

    def pick(self, granular: str, legacy: str) -> str:
        """The granular reason if these are on, else the legacy one."""
        return granular if self.granular and granular else legacy


def writable_status(workload: Workload) -> WorkloadStatus:
    """A copy of the status whose list of conditions may be changed."""
    if workload.status is None:
        return WorkloadStatus(conditions=[])
    return msgspec.structs.replace(workload.status, conditions=list(workload.status.conditions or ()))


def with_status(workload: Workload, status: WorkloadStatus) -> Workload:
    """The Workload with another status."""
    return msgspec.structs.replace(workload, status=status)


def add_condition(
    workload: Workload, status: WorkloadStatus, type_: str, value: str, reason: str, message: str, now_ns: int
) -> bool:
    """Set a condition in a writable status, for the Workload's generation; returns whether anything changed."""
    if status.conditions is None:
        status.conditions = []
    return conditions.set_condition(
        status.conditions,
        Condition(
            type=type_,
            status=value,
            reason=reason,
            message=conditions.cut_condition_message(message),
            observed_generation=workload.metadata.generation,
        ),
        timestamp(now_ns),
    )


def timestamp(now_ns: int) -> str:
    """A time as Kubernetes keeps it: whole seconds."""
    return times.format(now_ns - now_ns % NANOSECONDS)


def sync_admitted(
    workload: Workload, status: WorkloadStatus, now_ns: int, reasons: Reasons = Reasons()
) -> bool:
    """Bring the condition Admitted of a writable status in line with reservation, checks and topology.

    True to False adds the whole seconds admitted to `accumulatedPastExecutionTimeSeconds`. Returns whether anything
    changed.

    Source: LC-702, QC-138.
    """
    reserved = conditions.is_true(status.conditions, conditions.QUOTA_RESERVED)
    checks_ready = all(check.state == READY for check in status.admission_checks or ())
    topology_ready = not topology_pending(status)
    before = conditions.find(status.conditions, conditions.ADMITTED)
    was_admitted = before is not None and before.status == TRUE
    if reasons.granular:
        if (
            before is None
            and not reasons.explicit
            and conditions.find(status.conditions, conditions.QUOTA_RESERVED) is None
        ):
            return False
    elif was_admitted == (reserved and checks_ready and topology_ready):
        return False
    value = FALSE
    if not reserved and not checks_ready and not reasons.granular:
        reason = "NoReservationUnsatisfiedChecks"
        message = "The workload has no reservation and not all checks ready"
    elif not reserved:
        reason, message = "NoReservation", "The workload has no reservation"
    elif not checks_ready:
        reason = reasons.pick("UnsatisfiedAdmissionChecks", "UnsatisfiedChecks")
        message = "The workload has not all checks ready"
    elif not topology_ready:
        reason, message = "PendingDelayedTopologyRequests", "There are pending delayed topology requests"
    else:
        value, reason, message = TRUE, conditions.ADMITTED, "The workload is admitted"
    if was_admitted and value == FALSE and before is not None and before.last_transition_time:
        seconds = (now_ns - times.parse(before.last_transition_time)) // NANOSECONDS
        status.accumulated_past_execution_time_seconds = (
            status.accumulated_past_execution_time_seconds or 0
        ) + seconds
    return add_condition(workload, status, conditions.ADMITTED, value, reason, message, now_ns)
