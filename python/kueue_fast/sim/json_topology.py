"""Topologies in the JSON of a result; docs/simulation-json.md describes them."""

from __future__ import annotations

from typing import Final

import msgspec

from kueue_fast.model.quantities import format_amount
from kueue_fast.sim.topology_result import GangRow, TopologyMoment, TopologyRow

__all__ = ["TopologyEntry", "topology_entry"]

NANOSECONDS: Final = 1_000_000_000
DECIMALS: Final = 6


class _Part(msgspec.Struct, rename="camel", kw_only=True, gc=False):
    """Base of the parts: every field is written, null where there is nothing."""


class TopologyUseEntry(_Part, kw_only=True):
    """A resource of all nodes that take pods; amounts are Kubernetes quantities."""

    resource: str
    capacity: str
    placed: str
    other: str
    free: str


class LevelEntry(_Part, kw_only=True):
    """One level; shares are numbers from 0 to 1."""

    level: str
    domains: int
    empty: int
    full: int | None
    least_used: float | None
    most_used: float | None


class GangFitEntry(_Part, kw_only=True):
    """How a gang fits at one level."""

    level: str
    largest: int
    domain: list[str]
    gangs: int
    unusable: float | None


class GangEntry(_Part, kw_only=True):
    """A gang, and how it fits."""

    workload: str
    pod_set: str
    pods: int
    request: dict[str, str]
    resource: str
    levels: list[GangFitEntry]


class MomentEntry(_Part, kw_only=True):
    """A topology at a moment; its time is in seconds after the start."""

    time: float
    nodes: int
    ready_nodes: int
    workloads: int
    pods: int
    resource: str
    resources: list[TopologyUseEntry]
    levels: list[LevelEntry]
    gangs: list[GangEntry]


class TopologyEntry(_Part, kw_only=True):
    """The nodes of a ResourceFlavor with a Topology."""

    flavor: str
    topology: str
    levels: list[str]
    end: MomentEntry
    peak: MomentEntry | None


def topology_entry(row: TopologyRow, start_ns: int) -> TopologyEntry:
    """The row of a flavor."""
    return TopologyEntry(
        flavor=row.flavor,
        topology=row.topology,
        levels=list(row.levels),
        end=_moment(row.end, row.resources, start_ns),
        peak=None if row.peak is None else _moment(row.peak, row.resources, start_ns),
    )


def _moment(moment: TopologyMoment, resources: list[str], start_ns: int) -> MomentEntry:
    uses = []
    for name in resources:
        capacity, placed, other = moment.total(name)
        free = sum(leaf.free(name) for leaf in moment.leaves)
        uses.append(
            TopologyUseEntry(
                resource=name,
                capacity=format_amount(name, capacity),
                placed=format_amount(name, placed),
                other=format_amount(name, other),
                free=format_amount(name, free),
            )
        )
    return MomentEntry(
        time=(moment.time_ns - start_ns) / NANOSECONDS,
        nodes=sum(leaf.nodes for leaf in moment.leaves),
        ready_nodes=sum(leaf.ready for leaf in moment.leaves),
        workloads=len(moment.workloads),
        pods=moment.pods,
        resource=moment.resource,
        resources=uses,
        levels=[
            LevelEntry(
                level=each.level,
                domains=each.domains,
                empty=each.empty,
                full=each.full,
                least_used=_rounded(each.least_used),
                most_used=_rounded(each.most_used),
            )
            for each in moment.levels
        ],
        gangs=[_gang(row) for row in moment.gangs],
    )


def _gang(row: GangRow) -> GangEntry:
    return GangEntry(
        workload=row.gang.workload,
        pod_set=row.gang.pod_set,
        pods=row.gang.pods,
        request={name: format_amount(name, row.gang.request[name]) for name in sorted(row.gang.request)},
        resource=row.resource,
        levels=[
            GangFitEntry(
                level=fit.level,
                largest=fit.largest,
                domain=list(fit.domain),
                gangs=fit.gangs,
                unusable=_rounded(fit.unusable),
            )
            for fit in row.fits
        ],
    )


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, DECIMALS)
