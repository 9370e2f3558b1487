"""Decision rows of a cycle back to names.

Equal assignments are made into objects once: most workloads of a queue ask for the same, and a cycle over a thousand
queues must not spend its time on dictionaries.
"""

from __future__ import annotations

import struct
from itertools import islice
from typing import NamedTuple, Protocol

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
    "NodeFailure",
    "Displaced",
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

POSSIBILITIES = ("NoFit", "NoCandidates", "Preempt", "Reclaim", "Fit")
"""Names of kueuecore's Possibility (QP-403)."""

MODES = ("NoFit", "Preempt", "DeferredFit", "Fit")

DELAYS = (None, "Pending", "Ready")
"""Values of delayedTopologyRequest, by kueuecore's Delay."""

_HEAD = struct.Struct("=qiiiiq")
_ITEM = struct.Struct("=iiq")
_DOMAIN = struct.Struct("=qq")
_ATTEMPT = struct.Struct("=iiiiq")
_NO_AMOUNT = -1
_REASON = struct.Struct("=iiiiqqq")
_KNOWN_DETAILS = 16384


class Placement(NamedTuple):
    """Where the pods of a pod set stand: level labels, and (values of the levels, pods) of each domain in order."""

    levels: tuple[str, ...]
    domains: tuple[tuple[tuple[str, ...], int], ...]


class PodSetAssignment(NamedTuple):
    """What one pod set got: pods, the flavor of each resource, the total amounts in kernel units, and places."""

    name: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs
    flavors: dict[str, str]
    usage: dict[str, int]
    placement: Placement | None = None
    delayed: str | None = None
    """`Pending` or `Ready`: places come, or came, after the admission checks (TP-608)."""


class Reason(NamedTuple):
    """One reason of the kernel for passing a flavor over; `first` to `third` depend on the code (see _types.pxd)."""

    code: int
    pod_set: int
    flavor: str
    resource: str
    first: int
    second: int
    third: int
    detail: int = 0
    """The number in place of a resource: kueuecore's PlacementError of a pod set that was not placed."""


class Attempt(NamedTuple):
    """One flavor that was looked at for a group of pod sets, how it did, and why no better."""

    leader: int
    """The first pod set of the group, counted within the workload."""
    flavor: str
    possibility: str
    """One of POSSIBILITIES, of the resource that did worst."""
    borrow: int
    """The highest borrowing level of its resources; 0 is none."""
    reasons: tuple[Reason, ...]


UNDECLARED_RESOURCE, NOT_ELIGIBLE, AFFINITY_ERROR = range(3)
EXCEEDS_MAX_QUOTA, WAITING_FOR_QUOTA, NOT_NOMINATED, NO_TOPOLOGY_DATA = range(3, 7)
TOPOLOGY_UNSUPPORTED, TOPOLOGY_ONLY, TOPOLOGY_UNKNOWN, LEVEL_MISSING = range(7, 11)
NOT_PLACED, NODES_EXCLUDED, LAYER_NOT_PLACED, NO_TOPOLOGY_FLAVOR, SEVERAL_TOPOLOGIES = range(11, 16)
OTHER_FLAVOR_OF_SLICE, ELASTIC_REQUIRED, ELASTIC_PREFERRED = range(16, 19)
"""Codes of Reason, as kueuecore's ReasonCode has them."""


class Places(Protocol):
    """Names of places in topologies."""

    def values(self, place: int) -> tuple[str, ...]:
        """Values of the levels of a place, as assignments write them: the hostname alone where it is a level."""

    def levels(self, flavor: int) -> tuple[str, ...]:
        """Labels of the levels that an assignment of this flavor names."""


class DecisionReader:
    """Reads the bytes that the kernel hands out."""

    def __init__(self, tables: Tables, places: Places) -> None:
        self._tables = tables
        self._places = places
        self._details: dict[bytes, tuple[PodSetAssignment, ...]] = {}

    def pod_sets(self, detail: bytes, places: bool = False) -> tuple[PodSetAssignment, ...]:
        """The assignments of an admission, shared between equal ones: not to be changed.

        `places`: some pods were placed in a topology; such assignments are long and hardly ever equal.
        """
        if places:
            return self._read(detail)
        known = self._details.get(detail)
        if known is None:
            if len(self._details) >= _KNOWN_DETAILS:
                self._details.clear()
            known = self._read(detail)
            # Where no pod has a place, levels may be written still: those of a Topology that may be another one later.
            if all(one.placement is None for one in known):
                self._details[detail] = known
        return known

    def _read(self, detail: bytes) -> tuple[PodSetAssignment, ...]:
        tables = self._tables
        assignments = []
        at = 0
        while at < len(detail):
            count, name, length, tree, delayed, domains = _HEAD.unpack_from(detail, at)
            at += _HEAD.size
            flavors: dict[str, str] = {}
            usage: dict[str, int] = {}
            for _ in range(length):
                resource, flavor, amount = _ITEM.unpack_from(detail, at)
                at += _ITEM.size
                flavors[tables.resource_names[resource]] = tables.flavor_names[flavor]
                if amount != _NO_AMOUNT:
                    usage[tables.resource_names[resource]] = amount
            placement = None
            if tree >= 0:
                end = at + domains * _DOMAIN.size
                values = self._places.values
                placement = Placement(
                    self._places.levels(tree),
                    tuple((values(place), pods) for place, pods in _DOMAIN.iter_unpack(detail[at:end])),
                )
                at = end
            assignments.append(
                PodSetAssignment(
                    tables.pod_set_names[name], count, flavors, usage, placement, DELAYS[delayed]
                )
            )
        return tuple(assignments)

    def reasons(self, rows: bytes) -> list[Reason]:
        """Reasons of one refusal, in the order in which the kernel found them."""
        tables = self._tables
        return [
            Reason(
                code,
                pod_set,
                "" if flavor < 0 else tables.flavor_names[flavor],
                "" if resource < 0 or code == NOT_PLACED else tables.resource_names[resource],
                first,
                second,
                third,
                resource,
            )
            for code, pod_set, flavor, resource, first, second, third in _REASON.iter_unpack(rows)
        ]

    def attempts(self, rows: bytes, reasons: bytes) -> list[Attempt]:
        """Flavors that were looked at for one admission, in the order of the scan. Source: QP-465."""
        names = self._tables.flavor_names
        told = iter(self.reasons(reasons))
        return [
            Attempt(leader, names[flavor], POSSIBILITIES[possibility], borrow, tuple(islice(told, count)))
            for leader, flavor, possibility, borrow, count in _ATTEMPT.iter_unpack(rows)
        ]
