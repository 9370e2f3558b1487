"""Events: what `kubectl get events` would show, with upstream's types, reasons and facts.

Source: LC-501 (cut of messages), LC-803, LC-2001, LC-2003, QC-139, QC-144, QP-814, JS-090, JS-118, JS-496,
TP-1407, TP-1408, TP-1509, TP-1604.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from kueue_fast.model.conditions import cut_event_message

__all__ = [
    "Event",
    "Priority",
    "admitted",
    "created_workload",
    "deleted",
    "evicted",
    "finished_workload",
    "normal",
    "pending",
    "preempted",
    "quota_reserved",
    "second_pass_failed",
    "slice_replaced",
    "started",
    "stopped",
    "terminated_pod",
    "updated_admission_check",
    "updated_priority",
    "warning",
]

NORMAL = "Normal"
WARNING = "Warning"
NANOSECONDS = 1_000_000_000


class Event(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """One event: its type (Normal or Warning), reason, the object it is about, the text, and its time in ns
    since 1970.
    """

    time_ns: int
    type: str
    reason: str
    kind: str
    namespace: str
    name: str
    message: str


def _workload(time_ns: int, type_: str, reason: str, namespace: str, name: str, message: str) -> Event:
    return Event(
        time_ns=time_ns,
        type=type_,
        reason=reason,
        kind="Workload",
        namespace=namespace,
        name=name,
        message=cut_event_message(message),
    )


def quota_reserved(
    namespace: str, name: str, cluster_queue: str, waited_ns: int, now_ns: int, *, considered: str = ""
) -> Event:
    """Event of a Workload that got a reservation after `waited_ns` in the queue.

    `considered`: flavors that did not simply fit, in words. Source: QC-144, QP-465.
    """
    message = (
        f"Quota reserved in ClusterQueue {cluster_queue}, wait time since queued was {seconds(waited_ns)}s"
    )
    if considered:
        message += f"; Flavors considered: {considered}"
    return _workload(now_ns, NORMAL, "QuotaReserved", namespace, name, message)


def admitted(namespace: str, name: str, cluster_queue: str, waited_ns: int, now_ns: int) -> Event:
    """Event of a Workload that was admitted `waited_ns` after its reservation. Source: QC-144, LC-703."""
    message = (
        f"Admitted by ClusterQueue {cluster_queue}, wait time since reservation was {seconds(waited_ns)}s"
    )
    return _workload(now_ns, NORMAL, "Admitted", namespace, name, message)


def pending(namespace: str, name: str, message: str, now_ns: int, *, reason: str = "Pending") -> Event:
    """Event of a Workload that a cycle looked at and could not admit. Source: QC-139."""
    return _workload(now_ns, WARNING, reason, namespace, name, message)


def second_pass_failed(namespace: str, name: str, message: str, now_ns: int) -> Event:
    """Event of a Workload that holds quota and got no place in the topology this time. Source: TP-1604."""
    return _workload(now_ns, WARNING, "SecondPassFailed", namespace, name, message)


def slice_replaced(namespace: str, name: str, message: str, now_ns: int) -> Event:
    """Event of a slice that ended since a newer one was admitted in its place. Source: JS-496."""
    return _workload(now_ns, NORMAL, "WorkloadSliceReplaced", namespace, name, message)


def evicted(namespace: str, name: str, reason: str, message: str, now_ns: int) -> Event:
    """Event of a Workload that is told to stop for this reason. Source: LC-803, TP-1408, TP-1509."""
    return _workload(now_ns, NORMAL, f"EvictedDueTo{reason}", namespace, name, message)


def warning(namespace: str, name: str, reason: str, message: str, now_ns: int) -> Event:
    """A warning about a Workload: its time is over, or a check rejected it. Source: LC-1003, LC-1205."""
    return _workload(now_ns, WARNING, reason, namespace, name, message)


def normal(namespace: str, name: str, reason: str, message: str, now_ns: int) -> Event:
    """A note about a Workload: it is gated, its gate is open, it was deleted. Source: LC-1405, LC-1602."""
    return _workload(now_ns, NORMAL, reason, namespace, name, message)


class Priority(NamedTuple):
    """The priority that counts for a workload, and the one of its class: the difference is its boost."""

    effective: int
    base: int

    def __str__(self) -> str:
        return f"{self.effective} (base: {self.base}, boost: {self.effective - self.base})"


def preempted(
    victim: str,
    victim_uid: str,
    cluster_queue: str,
    preemptor: str,
    message: str,
    priorities: tuple[Priority, Priority],
    now_ns: int,
) -> tuple[Event, Event, Event]:
    """Events of a preemption: two on the victim (`namespace/name`) with the eviction's message, one on the preemptor.

    `cluster_queue` is the victim's, `priorities` are the preemptor's and the victim's. Source: QP-814, LC-803.
    """
    namespace, _, name = victim.partition("/")
    whose, _, by = preemptor.partition("/")
    preemptors, victims = priorities
    both = f"; preemptor effective priority: {preemptors}; preemptee effective priority: {victims}"
    told = f"Preempted workload {victim} (UID: {victim_uid}) in ClusterQueue {cluster_queue}{both}"
    return (
        evicted(namespace, name, "Preempted", message, now_ns),
        _workload(now_ns, NORMAL, "Preempted", namespace, name, message + both),
        _workload(now_ns, NORMAL, "PreemptedWorkload", whose, by, told),
    )


def _job(time_ns: int, reason: str, kind: str, namespace: str, name: str, message: str) -> Event:
    return Event(
        time_ns=time_ns,
        type=NORMAL,
        reason=reason,
        kind=kind,
        namespace=namespace,
        name=name,
        message=cut_event_message(message),
    )


def created_workload(kind: str, namespace: str, name: str, workload: str, now_ns: int) -> Event:
    """Event on a job whose Workload `namespace/name` was made. Source: JS-090, JS-110."""
    return _job(now_ns, "CreatedWorkload", kind, namespace, name, f"Created Workload: {workload}")


def updated_priority(kind: str, namespace: str, name: str, workload: str, now_ns: int) -> Event:
    """Event on a job whose Workload `namespace/name` got the priority class that the job names now. Source: JS-118."""
    return _job(
        now_ns, "UpdatedWorkload", kind, namespace, name, f"Updated workload priority class: {workload}"
    )


def started(kind: str, namespace: str, name: str, cluster_queue: str, now_ns: int) -> Event:
    """Event on a job that was started. Source: JS-090, JS-160."""
    return _job(now_ns, "Started", kind, namespace, name, f"Admitted by clusterQueue {cluster_queue}")


def stopped(kind: str, namespace: str, name: str, why: str, now_ns: int) -> Event:
    """Event on a job that was stopped, with the reason in words. Source: JS-164."""
    return _job(now_ns, "Stopped", kind, namespace, name, why)


def finished_workload(kind: str, namespace: str, name: str, workload: str, now_ns: int) -> Event:
    """Event on a job whose Workload is Finished. Source: JS-066, JS-069."""
    return _job(
        now_ns, "FinishedWorkload", kind, namespace, name, f"Workload '{workload}' is declared finished"
    )


def updated_admission_check(kind: str, namespace: str, name: str, message: str, now_ns: int) -> Event:
    """Event on a held job: what the admission checks that it waits for say. Source: JS-089, LC-1209."""
    return _job(now_ns, "UpdatedAdmissionCheck", kind, namespace, name, message)


def deleted(kind: str, namespace: str, name: str, message: str, now_ns: int) -> Event:
    """Event on a job that Kueue deletes. Source: JS-076, LC-1603."""
    return _job(now_ns, "Deleted", kind, namespace, name, message)


def terminated_pod(namespace: str, name: str, message: str, now_ns: int) -> Event:
    """Event on a pod that Kueue failed, since it would never have started where it was sent. Source: TP-1407."""
    return _job(now_ns, "PodTerminatedByKueue", "Pod", namespace, name, message)


def seconds(duration_ns: int) -> int:
    """Whole seconds, halves to the even neighbour, as Go prints %.0f."""
    whole, rest = divmod(duration_ns, NANOSECONDS)
    if rest * 2 > NANOSECONDS or (rest * 2 == NANOSECONDS and whole % 2 == 1):
        return whole + 1
    return whole
