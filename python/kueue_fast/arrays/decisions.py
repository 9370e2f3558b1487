"""Decision rows of a cycle back to names.

Equal assignments are made into objects once: most workloads of a queue ask for the same, and a cycle over a thousand
queues must not spend its time on dictionaries.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from kueue_fast.arrays.tables import Tables

OUTCOMES = (
    "Admitted",
    "NoFit",
    "NoCandidates",
    "NoLongerFits",
    "FailedChecks",
    "NamespaceMissing",
    "NamespaceMismatch",
    "Invalid",
    "Inactive",
    "Preempting",
    "Overlap",
    "Deferred",
    "Gated",
)
"""Names of kueuecore's Outcome."""

REQUEUE_REASONS = (
    "",
    "FailedAfterNomination",
    "NamespaceMismatch",
    "NoFit",
    "PreemptionNoCandidates",
    "PendingPreemption",
    "PreemptionFailed",
    "PreemptionGated",
    "PendingMigration",
)
"""Names of kueuecore's Requeue, as upstream calls them (QC-22)."""

PREEMPTION_REASONS = (
    "InClusterQueue",
    "InCohortReclamation",
    "InCohortReclaimWhileBorrowing",
    "InCohortFairSharing",
)
"""Names of kueuecore's TargetReason (QP-704)."""

MODES = ("NoFit", "Preempt", "DeferredFit", "Fit")

_HEAD = struct.Struct("=qii")
_ITEM = struct.Struct("=iiq")
_REASON = struct.Struct("=iiiiqqq")
_KNOWN_DETAILS = 16384


class PodSetAssignment(NamedTuple):
    """What one pod set got: pods, the flavor of each resource, and the total amounts in kernel units."""

    name: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs
    flavors: dict[str, str]
    usage: dict[str, int]


class Reason(NamedTuple):
    """One reason of the kernel for passing a flavor over; `first` to `third` depend on the code (see _types.pxd)."""

    code: int
    pod_set: int
    flavor: str
    resource: str
    first: int
    second: int
    third: int


UNDECLARED_RESOURCE, NOT_ELIGIBLE, AFFINITY_ERROR = range(3)
EXCEEDS_MAX_QUOTA, WAITING_FOR_QUOTA, NOT_NOMINATED, NO_TOPOLOGY_DATA = range(3, 7)
"""Codes of Reason, as kueuecore's ReasonCode has them."""


class DecisionReader:
    """Reads the bytes that the kernel hands out."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._details: dict[bytes, tuple[PodSetAssignment, ...]] = {}

    def pod_sets(self, detail: bytes) -> tuple[PodSetAssignment, ...]:
        """The assignments of an admission, shared between equal ones: not to be changed."""
        known = self._details.get(detail)
        if known is None:
            if len(self._details) >= _KNOWN_DETAILS:
                self._details.clear()
            known = self._details[detail] = self._read(detail)
        return known

    def _read(self, detail: bytes) -> tuple[PodSetAssignment, ...]:
        tables = self._tables
        assignments = []
        at = 0
        while at < len(detail):
            count, name, length = _HEAD.unpack_from(detail, at)
            at += _HEAD.size
            flavors: dict[str, str] = {}
            usage: dict[str, int] = {}
            for _ in range(length):
                resource, flavor, amount = _ITEM.unpack_from(detail, at)
                at += _ITEM.size
                flavors[tables.resource_names[resource]] = tables.flavor_names[flavor]
                usage[tables.resource_names[resource]] = amount
            assignments.append(PodSetAssignment(tables.pod_set_names[name], count, flavors, usage))
        return tuple(assignments)

    def reasons(self, rows: bytes) -> list[Reason]:
        """Reasons of one refusal, in the order in which the kernel found them."""
        tables = self._tables
        return [
            Reason(
                code,
                pod_set,
                "" if flavor < 0 else tables.flavor_names[flavor],
                "" if resource < 0 else tables.resource_names[resource],
                first,
                second,
                third,
            )
            for code, pod_set, flavor, resource, first, second, third in _REASON.iter_unpack(rows)
        ]
