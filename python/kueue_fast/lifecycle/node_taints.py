"""What a node's taints mean for the pods that a Workload has on it. Source: TP-1405."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Final

import msgspec

from kueue_fast.api.core import Taint, Toleration
from kueue_fast.api.kueue import PodSet, PodSetAssignment, ResourceFlavor, Workload
from kueue_fast.model.placements import Placements, assignments, stands_on
from kueue_fast.model.taints import tolerates

__all__ = ["Tolerance", "tolerance"]

COMPARISONS: Final = ("Lt", "Gt")


class Tolerance(Enum):
    """The worst that holds for any taint and any pod set."""

    FOREVER = 0
    FOR_A_TIME = 1
    NONE = 2


class _Tolerations(msgspec.Struct):
    """The one field of a pod spec that is read here."""

    tolerations: list[Toleration] | None = None


def tolerance(
    taints: Iterable[Taint],
    node: str,
    workload: Workload,
    placed: Placements,
    flavor: Callable[[str], ResourceFlavor | None],
) -> Tolerance:
    """How the pod sets that stand on the node bear its taints.

    A pod tolerates what its template, its flavors and all admission checks say, ready or not; `Lt` and `Gt` do not
    count here. A toleration with a time is one for a time.

    Raises LookupError naming a flavor that does not exist.
    """
    by_name = {pod_set.name: pod_set for pod_set in workload.spec.pod_sets or ()}
    worst = Tolerance.FOREVER
    for assignment in assignments(workload):
        pod_set = by_name.get(assignment.name)
        placement = placed.get(assignment.name)
        if pod_set is None or placement is None or not stands_on(placement, node):
            continue
        tolerations = effective_tolerations(workload, pod_set, assignment, flavor)
        lasting = [each for each in tolerations if each.toleration_seconds is None]
        for taint in taints:
            if not any(tolerates(each, taint) for each in tolerations):
                return Tolerance.NONE
            if not any(tolerates(each, taint) for each in lasting):
                worst = Tolerance.FOR_A_TIME
    return worst


def effective_tolerations(
    workload: Workload,
    pod_set: PodSet,
    assignment: PodSetAssignment,
    flavor: Callable[[str], ResourceFlavor | None],
) -> list[Toleration]:
    """Tolerations of the template, the flavors, and the first update of each admission check."""
    found: list[Toleration] = []
    spec = pod_set.template.spec
    # Templates are opened only where the field can be.
    if b'"tolerations"' in bytes(spec):
        found += msgspec.json.decode(spec, type=_Tolerations).tolerations or ()
    for name in dict.fromkeys((assignment.flavors or {}).values()):
        its_flavor = flavor(name)
        if its_flavor is None:
            raise LookupError(f"ResourceFlavor {name} does not exist")
        found += (its_flavor.spec.tolerations if its_flavor.spec is not None else None) or ()
    for check in (workload.status.admission_checks if workload.status is not None else None) or ():
        update = next((each for each in check.pod_set_updates or () if each.name == assignment.name), None)
        found += (update.tolerations if update is not None else None) or ()
    return [each for each in found if each.operator not in COMPARISONS]
