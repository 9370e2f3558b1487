"""Flavors that a waiting workload may use, and topologies that its pods may be placed in: what there is, what lacks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from kueue_fast.api.core import PodSpec
from kueue_fast.api.kueue import PodSet, Workload
from kueue_fast.arrays.tables import PODS
from kueue_fast.engine.explain import Ask, PassedOver, QuotaRow, Standing
from kueue_fast.model import topology_requests
from kueue_fast.model.other_pods import occupied
from kueue_fast.sim.explanation import FlavorPart, LevelRoom, TopologyPart
from kueue_fast.sim.json_report import quantity
from kueue_fast.sim.result import SimulationResult
from kueue_fast.sim.topology_numbers import measure, room_for
from kueue_fast.sim.topology_result import Gang, TopologyRow

__all__ = ["current_reasons", "flavor_parts", "topology_parts"]

NOT_PLACED: Final = "NotPlaced"


def current_reasons(standing: Standing) -> tuple[PassedOver, ...]:
    """Why flavors were passed over in the last look, if that was in the ClusterQueue where it waits now."""
    look = standing.look
    return look.passed_over if look is not None and look.cluster_queue == standing.cluster_queue else ()


def flavor_parts(standing: Standing) -> list[FlavorPart]:
    """One part a pod set, flavor and resource that is asked for, flavors in the order in which they are tried."""
    reasons = current_reasons(standing)
    return [
        _flavor_part(ask, quota, reasons)
        for ask in standing.asks
        for quota in standing.quotas
        if quota.resource == PODS or quota.resource in ask.per_pod
    ]


def _flavor_part(ask: Ask, quota: QuotaRow, reasons: Sequence[PassedOver]) -> FlavorPart:
    resource = quota.resource
    reason = next(
        (
            each
            for each in reasons
            if (each.pod_set, each.flavor) == (ask.pod_set, quota.flavor) and each.resource in ("", resource)
        ),
        None,
    )
    missing = None
    if reason is not None and reason.missing is not None:
        missing = quantity(reason.resource or PODS, reason.missing)
    return FlavorPart(
        pod_set=ask.pod_set,
        flavor=quota.flavor,
        resource=resource,
        requested=quantity(resource, ask.total(resource)),
        nominal_quota=quantity(resource, quota.nominal),
        borrowing_limit=None if quota.borrowing_limit is None else quantity(resource, quota.borrowing_limit),
        reserved=quantity(resource, quota.reserved),
        borrowed=quantity(resource, quota.borrowed),
        available=quantity(resource, max(0, quota.available)),
        most=quantity(resource, max(0, quota.most)),
        reason=None if reason is None else reason.kind,
        missing=missing,
        message=None if reason is None else reason.message,
    )


def topology_parts(result: SimulationResult, workload: Workload, standing: Standing) -> list[TopologyPart]:
    """One part a flavor with a topology and pod set that asks for one, or found no place in it."""
    reasons = current_reasons(standing)
    offered = {quota.flavor for quota in standing.quotas}
    asks = {ask.pod_set: ask for ask in standing.asks}
    return [
        _topology_part(topology, pod_set, asks[pod_set.name], reason)
        for pod_set in workload.spec.pod_sets or ()
        for topology in result.topologies
        if topology.flavor in offered and pod_set.name in asks
        for reason in [_failure(reasons, pod_set.name, topology.flavor)]
        if reason is not None or topology_requests.is_explicit(pod_set.topology_request)
    ]


def _failure(reasons: Iterable[PassedOver], pod_set: str, flavor: str) -> PassedOver | None:
    for reason in reasons:
        if (reason.pod_set, reason.flavor, reason.kind) == (pod_set, flavor, NOT_PLACED):
            return reason
    return None


def _topology_part(
    topology: TopologyRow, pod_set: PodSet, ask: Ask, reason: PassedOver | None
) -> TopologyPart:
    asked = pod_set.topology_request
    text = bytes(pod_set.template.spec)
    request = occupied(msgspec.json.decode(text, type=PodSpec) if text else PodSpec())
    gang = Gang("", pod_set.name, ask.pods, request)
    end = topology.end
    rows = measure(end.time_ns, topology.levels, end.leaves, [gang] if ask.pods else []).gangs
    return TopologyPart(
        pod_set=pod_set.name,
        flavor=topology.flavor,
        topology=topology.topology,
        request="required"
        if topology_requests.is_required(asked)
        else "preferred"
        if asked is not None and asked.preferred is not None
        else "unconstrained"
        if topology_requests.is_explicit(asked)
        else "implied",
        level=topology_requests.main_level(asked, topology.levels, asked is None),
        slices=[f"{layer.size} in one {layer.topology}" for layer in topology_requests.slice_layers(asked)],
        pods=ask.pods,
        levels=[
            LevelRoom(level=fit.level, fits=min(fit.largest, ask.pods), domain=list(fit.domain))
            for row in rows
            for fit in row.fits
        ],
        fits_in_all=min(sum(room_for(leaf, request) for leaf in end.leaves), ask.pods),
        message=None if reason is None else reason.message,
    )
