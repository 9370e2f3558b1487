"""The list of admission checks on a Workload, and what follows from their states.

Source: LC-605, LC-1201, LC-1202, LC-1205, LC-1206, LC-1209, QC-137.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec

from kueue_fast.api.kueue import AdmissionCheckState, ClusterQueue, Workload
from kueue_fast.lifecycle import deactivation, events, eviction
from kueue_fast.lifecycle.admission import assigned_flavors
from kueue_fast.lifecycle.status import timestamp, with_status, writable_status
from kueue_fast.lifecycle.steps import REST, Step, UpdateWorkloadStatus

__all__ = [
    "failed_checks",
    "pending_checks",
    "pending_messages",
    "required_checks",
    "set_check",
    "synced_checks",
]

PENDING: Final = "Pending"
READY: Final = "Ready"
RETRY: Final = "Retry"
REJECTED: Final = "Rejected"
BY_ADMISSION_CHECK: Final = "AdmissionCheck"


def required_checks(cluster_queue: ClusterQueue, workload: Workload) -> list[str]:
    """Checks that a Workload needs in its ClusterQueue, sorted by name.

    With an admission: those whose flavors meet the assigned ones. Without: those that apply whatever the flavor.

    Source: LC-1201.
    """
    spec = cluster_queue.spec
    strategy = spec.admission_checks_strategy if spec is not None else None
    if spec is None or strategy is None:
        return []
    every = {flavor.name for group in spec.resource_groups or () for flavor in group.flavors or ()}
    admission = workload.status.admission if workload.status is not None else None
    assigned = None if admission is None else assigned_flavors(admission)
    required = []
    for rule in strategy.admission_checks or ():
        flavors = set(rule.on_flavors) if rule.on_flavors else every
        needed = flavors >= every if assigned is None else bool(flavors & assigned)
        if needed:
            required.append(rule.name)
    return sorted(required)


def synced_checks(workload: Workload, required: Collection[str], now_ns: int) -> Workload | None:
    """The Workload with exactly the required checks listed, new ones as Pending; None when the list stands.

    A difference in order alone is none. Source: LC-1202.
    """
    before = (workload.status.admission_checks or []) if workload.status is not None else []
    names = {check.name for check in before}
    if names == set(required):
        return None
    now = timestamp(now_ns)
    checks = [check for check in before if check.name in required]
    checks.extend(
        AdmissionCheckState(name=name, state=PENDING, last_transition_time=now)
        for name in required
        if name not in names
    )
    checks.sort(key=lambda check: check.name)
    status = writable_status(workload)
    return with_status(workload, msgspec.structs.replace(status, admission_checks=checks or None))


def pending_checks(workload: Workload) -> list[AdmissionCheckState]:
    """Checks that are not Ready, in list order."""
    if workload.status is None:
        return []
    return [check for check in workload.status.admission_checks or () if check.state != READY]


def pending_messages(workload: Workload) -> str:
    """What the checks that a Workload waits for say, in list order; empty if none says anything. Source: LC-1209."""
    checks = (workload.status.admission_checks if workload.status is not None else None) or ()
    said = [check for check in checks if check.state == PENDING and check.message]
    return "; ".join(f"{check.name}: {check.message}" for check in said)


def set_check(
    before: Sequence[AdmissionCheckState] | None, new: AdmissionCheckState, now_ns: int
) -> list[AdmissionCheckState]:
    """The list with another state of one check, as the controller of the check writes it.

    Message, updates and delay are those of `new`; the time changes with the state alone, and the number of retries is
    the one that stands there. Source: LC-605.
    """
    since = new.last_transition_time or timestamp(now_ns)
    after = list(before or ())
    for number, old in enumerate(after):
        if old.name == new.name:
            if old.state == new.state:
                since = old.last_transition_time or since
            after[number] = msgspec.structs.replace(
                new, last_transition_time=since, retry_count=old.retry_count
            )
            return after
    return [*after, msgspec.structs.replace(new, last_transition_time=since)]


def failed_checks(workload: Workload, now_ns: int) -> Step:
    """A Workload with a reservation: rejected by a check it is switched off, asked to retry it is evicted.

    Source: LC-1205, LC-1206.
    """
    known = (workload.status.admission_checks if workload.status is not None else None) or ()
    states = {check.state for check in known}
    if eviction.is_evicted(workload) or states.isdisjoint((RETRY, REJECTED)):
        return REST
    namespace, name = workload.metadata.namespace or "", workload.metadata.name
    if REJECTED in states:
        message = _listed(known, REJECTED)
        told = deactivation.target(workload, BY_ADMISSION_CHECK, message, now_ns)
        text = f"Deactivated due to {message}"
        event = events.warning(namespace, name, "AdmissionCheckRejected", text, now_ns)
        return told._replace(events=(event,))
    message = f"Evicted due to {_listed(known, RETRY)}"
    evicted = eviction.evicted(workload, BY_ADMISSION_CHECK, message, now_ns)
    event = events.evicted(namespace, name, BY_ADMISSION_CHECK, message, now_ns)
    return Step((UpdateWorkloadStatus(evicted),), (event,))


def _listed(checks: Iterable[AdmissionCheckState], state: str) -> str:
    found = sorted((check for check in checks if check.state == state), key=lambda check: check.name)
    parts = [f'"{check.name}" ({check.message})' if check.message else f'"{check.name}"' for check in found]
    noun = "AdmissionChecks" if len(found) > 1 else "AdmissionCheck"
    return f"{noun} in {state} state: {'; '.join(parts)}"
