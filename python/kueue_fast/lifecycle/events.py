"""Events: what `kubectl get events` would show, with upstream's types, reasons and facts.

Source: LC-501 (cut of messages), LC-2001, LC-2003, QC-139, QC-144, JS-090.
"""

from __future__ import annotations

import msgspec

from kueue_fast.model.conditions import cut_event_message

__all__ = [
    "Event",
    "admitted",
    "created_workload",
    "finished_workload",
    "pending",
    "quota_reserved",
    "started",
    "stopped",
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


def quota_reserved(namespace: str, name: str, cluster_queue: str, waited_ns: int, now_ns: int) -> Event:
    """Event of a Workload that got a reservation after `waited_ns` in the queue. Source: QC-144."""
    message = (
        f"Quota reserved in ClusterQueue {cluster_queue}, wait time since queued was {seconds(waited_ns)}s"
    )
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


def seconds(duration_ns: int) -> int:
    """Whole seconds, halves to the even neighbour, as Go prints %.0f."""
    whole, rest = divmod(duration_ns, NANOSECONDS)
    if rest * 2 > NANOSECONDS or (rest * 2 == NANOSECONDS and whole % 2 == 1):
        return whole + 1
    return whole
