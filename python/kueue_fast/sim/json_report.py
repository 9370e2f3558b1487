"""A result as JSON of the schema `kueue-fast.dev/simulation/v1`, described in docs/simulation-json.md.

Same result, same bytes: fields stand in the order of the structs, nothing depends on a clock.
"""

from __future__ import annotations

import math
from typing import Final, Literal

import msgspec

from kueue_fast.model import times
from kueue_fast.model.quantities import UNLIMITED, format_amount
from kueue_fast.sim.json_topology import TopologyEntry, topology_entry
from kueue_fast.sim.report_preemptions import eviction_reason
from kueue_fast.sim.result import (
    FlavorRow,
    PreemptionRow,
    QueueRow,
    ResourceUse,
    SimulationResult,
    WorkloadRow,
)

__all__ = ["SCHEMA", "to_json"]

SCHEMA: Final = "kueue-fast.dev/simulation/v1"
NANOSECONDS: Final = 1_000_000_000


class _Part(msgspec.Struct, rename="camel", kw_only=True, gc=False):
    """Base of the parts: every field is written, null where there is nothing."""


class Owner(_Part, kw_only=True):
    """The job that a workload belongs to."""

    kind: str
    name: str


class PodSet(_Part, kw_only=True):
    """What a pod set was given."""

    name: str
    count: int
    flavors: dict[str, str]


class Waiting(_Part, kw_only=True):
    """Why a workload waits."""

    reason: str
    message: str
    evictions: list[str]


class PreemptionEntry(_Part, kw_only=True):
    """A workload that was told to stop for another one; workloads are `namespace/name`."""

    time: float
    workload: str
    path: str
    preemptor: str
    preemptor_path: str
    reason: str


class EvictionEntry(_Part, kw_only=True):
    """A workload (`namespace/name`) that was told to stop for another reason."""

    time: float
    workload: str
    reason: str
    message: str


class Size(_Part, kw_only=True):
    """How many pods a slice asks for, from a time on."""

    time: float
    pods: int


class SliceEntry(_Part, kw_only=True):
    """What a workload is among the slices of its elastic job."""

    chain: str
    replaces: str | None
    sizes: list[Size]


class WorkloadEntry(_Part, kw_only=True):
    """One workload; times are seconds after the start."""

    namespace: str
    name: str
    owner: Owner | None
    local_queue: str
    cluster_queue: str | None
    priority: int
    priority_class: str | None
    state: str
    outcome: str | None
    arrived: float
    quota_reserved: float | None
    admitted: float | None
    finished: float | None
    waited: float | None
    evicting: bool
    preemptions: int
    last_preemption: PreemptionEntry | None
    lost_run_time: float
    pod_sets: list[PodSet]
    waiting: Waiting | None
    slice: SliceEntry | None


class ResourceEntry(_Part, kw_only=True):
    """Quota and use of a flavor and resource in one ClusterQueue; amounts are Kubernetes quantities."""

    flavor: str
    resource: str
    nominal_quota: str
    borrowing_limit: str | None
    lending_limit: str | None
    reserved: str
    admitted: str
    borrowed: str
    peak: str
    mean: float


class FairShare(_Part, kw_only=True):
    """Weight and share of a ClusterQueue in fair sharing."""

    weight: float
    weighted_share: float | Literal["infinite"]


class QueueEntry(_Part, kw_only=True):
    """One ClusterQueue."""

    name: str
    cohort: str | None
    active: bool
    reason: str
    message: str
    pending: int
    reserving: int
    admitted: int
    finished: int
    fair_sharing: FairShare | None
    resources: list[ResourceEntry]


class FlavorEntry(_Part, kw_only=True):
    """Quota and use of a flavor and resource over all ClusterQueues."""

    flavor: str
    resource: str
    nominal_quota: str
    reserved: str
    peak: str
    mean: float


class EventEntry(_Part, kw_only=True):
    """One event; its time is in seconds after the start."""

    time: float
    type: str
    reason: str
    kind: str
    namespace: str
    name: str
    message: str


class Report(_Part, kw_only=True):
    """The whole document."""

    schema: str
    start: str
    duration: float
    stopped: bool
    cycles: int
    notes: list[str]
    workloads: list[WorkloadEntry]
    cluster_queues: list[QueueEntry]
    flavors: list[FlavorEntry]
    topologies: list[TopologyEntry]
    preemptions: list[PreemptionEntry]
    evictions: list[EvictionEntry]
    events: list[EventEntry]


def to_json(result: SimulationResult) -> bytes:
    """The document, indented, with a line end at its end."""
    report = Report(
        schema=SCHEMA,
        start=times.format(result.start_ns),
        duration=result.duration_ns / NANOSECONDS,
        stopped=result.stopped,
        cycles=result.cycles,
        notes=result.notes,
        workloads=[workload_entry(result, row) for row in result.workloads],
        cluster_queues=[queue_entry(result, row) for row in result.queues],
        flavors=[flavor_entry(result, row) for row in result.flavors],
        topologies=[topology_entry(row, result.start_ns) for row in result.topologies],
        preemptions=[preemption_entry(result, row) for row in result.preemptions],
        evictions=[
            EvictionEntry(
                time=(event.time_ns - result.start_ns) / NANOSECONDS,
                workload=f"{event.namespace}/{event.name}",
                reason=eviction_reason(event),
                message=event.message,
            )
            for event in result.evictions
        ],
        events=[
            EventEntry(
                time=(event.time_ns - result.start_ns) / NANOSECONDS,
                type=event.type,
                reason=event.reason,
                kind=event.kind,
                namespace=event.namespace,
                name=event.name,
                message=event.message,
            )
            for event in result.events
        ],
    )
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"


def workload_entry(result: SimulationResult, row: WorkloadRow) -> WorkloadEntry:
    """A workload's row."""

    def after(time_ns: int | None) -> float | None:
        return None if time_ns is None else (time_ns - result.start_ns) / NANOSECONDS

    owner = None
    if row.owner_kind is not None and row.owner_name is not None:
        owner = Owner(kind=row.owner_kind, name=row.owner_name)
    return WorkloadEntry(
        namespace=row.namespace,
        name=row.name,
        owner=owner,
        local_queue=row.queue,
        cluster_queue=row.cluster_queue,
        priority=row.priority,
        priority_class=row.priority_class,
        state=row.state.value,
        outcome=None if row.outcome is None else row.outcome.value,
        arrived=(row.arrived_ns - result.start_ns) / NANOSECONDS,
        quota_reserved=after(row.reserved_ns),
        admitted=after(row.admitted_ns),
        finished=after(row.finished_ns),
        waited=None if row.waited_ns is None else row.waited_ns / NANOSECONDS,
        evicting=row.evicting,
        preemptions=row.preemptions,
        last_preemption=None
        if row.last_preemption is None
        else preemption_entry(result, row.last_preemption),
        lost_run_time=row.lost_ns / NANOSECONDS,
        pod_sets=[
            PodSet(name=each.name, count=each.count, flavors=dict(each.flavors)) for each in row.pod_sets
        ],
        waiting=Waiting(reason=row.waiting_reason, message=row.waiting_message, evictions=list(row.waits_for))
        if row.waiting_message
        else None,
        slice=slice_entry(result, row),
    )


def slice_entry(result: SimulationResult, row: WorkloadRow) -> SliceEntry | None:
    """The slice that a workload is, None for one of a job that is not elastic."""
    if row.slice is None:
        return None
    sizes = [Size(time=(time - result.start_ns) / NANOSECONDS, pods=pods) for time, pods in row.slice.sizes]
    return SliceEntry(chain=row.slice.chain, replaces=row.slice.replaces, sizes=sizes)


def preemption_entry(result: SimulationResult, row: PreemptionRow) -> PreemptionEntry:
    """One preemption."""
    return PreemptionEntry(
        time=(row.time_ns - result.start_ns) / NANOSECONDS,
        workload=row.workload,
        path=row.path,
        preemptor=row.preemptor,
        preemptor_path=row.preemptor_path,
        reason=row.reason,
    )


def fair_share(row: QueueRow) -> FairShare | None:
    """Weight and share, None without fair sharing."""
    if row.weight is None or row.weighted_share is None:
        return None
    share = row.weighted_share
    return FairShare(weight=row.weight, weighted_share="infinite" if math.isinf(share) else share)


def queue_entry(result: SimulationResult, row: QueueRow) -> QueueEntry:
    """A ClusterQueue's row."""
    return QueueEntry(
        name=row.name,
        cohort=row.cohort,
        active=row.active,
        reason=row.reason,
        message=row.message,
        pending=row.pending,
        reserving=row.reserving,
        admitted=row.admitted,
        finished=row.finished,
        fair_sharing=fair_share(row),
        resources=[resource_entry(result, use) for use in row.resources],
    )


def resource_entry(result: SimulationResult, use: ResourceUse) -> ResourceEntry:
    """Quota and use of a queue in one flavor and resource."""
    return ResourceEntry(
        flavor=use.flavor,
        resource=use.resource,
        nominal_quota=quantity(use.resource, use.nominal),
        borrowing_limit=None if use.borrowing_limit is None else quantity(use.resource, use.borrowing_limit),
        lending_limit=None if use.lending_limit is None else quantity(use.resource, use.lending_limit),
        reserved=quantity(use.resource, use.reserved),
        admitted=quantity(use.resource, use.admitted),
        borrowed=quantity(use.resource, use.borrowed),
        peak=quantity(use.resource, use.peak),
        mean=base_unit(use.resource, use.mean(result.duration_ns)),
    )


def flavor_entry(result: SimulationResult, row: FlavorRow) -> FlavorEntry:
    """Quota and use over all queues."""
    return FlavorEntry(
        flavor=row.flavor,
        resource=row.resource,
        nominal_quota=quantity(row.resource, row.nominal),
        reserved=quantity(row.resource, row.reserved),
        peak=quantity(row.resource, row.peak),
        mean=base_unit(row.resource, row.mean(result.duration_ns)),
    )


def quantity(resource: str, amount: int) -> str:
    """An amount as a Kubernetes quantity, or `unlimited`."""
    return "unlimited" if amount == UNLIMITED else format_amount(resource, amount)


def base_unit(resource: str, amount: float) -> float:
    """A mean in cores, bytes or pieces, to six decimals."""
    return round(amount / 1000 if resource == "cpu" else amount, 6)
