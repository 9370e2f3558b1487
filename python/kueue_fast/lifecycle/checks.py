"""The list of admission checks on a Workload.

Source: LC-605, LC-1201, LC-1202, QC-137.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from kueue_fast.api.kueue import AdmissionCheckState, ClusterQueue, Workload
from kueue_fast.lifecycle.admission import assigned_flavors
from kueue_fast.lifecycle.status import timestamp, with_status, writable_status

__all__ = ["pending_checks", "required_checks", "synced_checks"]

PENDING: Final = "Pending"
READY: Final = "Ready"


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
