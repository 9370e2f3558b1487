"""Pod templates to rows: requests of one pod, eligible flavors, scheduling shape.

Source: QC-42, QC-61, QC-64, QP-421.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kueue_fast.api.configuration import Resources
from kueue_fast.api.core import PodSpec, RuntimeClass
from kueue_fast.api.kueue import ResourceFlavor
from kueue_fast.api.meta import QuantityValue
from kueue_fast.arrays.names import Names
from kueue_fast.arrays.pod_topology import PodTopologyRows
from kueue_fast.arrays.ranges import Ranges
from kueue_fast.arrays.tables import PODS, Tables
from kueue_fast.arrays.topology import TopologyRows
from kueue_fast.model.adjust import adjust
from kueue_fast.model.flavor_match import FlavorMatchError, eligible, missing_flavor
from kueue_fast.model.limits import LimitRangeSummary
from kueue_fast.model.quantities import canonical_quantity
from kueue_fast.model.requests import per_pod_requests
from kueue_fast.model.templates import Template

NOT_ELIGIBLE, ELIGIBLE, ELIGIBILITY_ERROR = 0, 1, 2

_encode = msgspec.json.Encoder(order="deterministic").encode


def _amounts(quantities: Mapping[str, QuantityValue] | None) -> list[tuple[str, str, str]]:
    """Quantities as the shape sees them: equal amounts written differently are equal (QC-43)."""
    found = []
    for name, quantity in sorted((quantities or {}).items()):
        family, nanos = canonical_quantity(quantity)
        found.append((name, family, str(nanos)))
    return found


class PodClass:
    """What the kernel knows of pods of one adjusted template."""

    __slots__ = ("eligibility", "pod", "request_class", "requests", "shape", "slots")

    def __init__(
        self,
        pod: PodSpec,
        requests: tuple[tuple[str, int], ...],
        request_class: int,
        eligibility: int,
        shape: bytes,
        slots: int,
    ) -> None:
        self.pod = pod
        self.requests = requests
        self.request_class = request_class
        self.eligibility = eligibility
        self.shape = shape
        self.slots = slots


class PodClasses:
    """Interns request and eligibility rows. Rows of flavors that come, change or go are written again here."""

    def __init__(
        self, tables: Tables, resources: Resources | None, topology: PodTopologyRows | None = None
    ) -> None:
        self.tables = tables
        self._topology = topology or PodTopologyRows(tables, TopologyRows(tables))
        self.resources = resources
        self.flavors: dict[str, ResourceFlavor] = {}
        self._requests: dict[tuple[tuple[str, int], ...], int] = {}
        self._requests_end = Ranges()
        self._eligibility: Names[bytes] = Names()
        self._pods: list[PodSpec] = []  # [eligibility class] a pod of the class

    def make(
        self, template: Template, runtime_classes: Mapping[str, RuntimeClass], summary: LimitRangeSummary
    ) -> PodClass:
        """Rows of a template under a namespace's LimitRanges. Raises InputError for an unreadable quantity."""
        pod = adjust(template.pod, runtime_classes, summary)
        requests = tuple(per_pod_requests(pod, self.resources).items())
        containers = [
            [
                _amounts(container.resources.requests if container.resources else None)
                for container in part or ()
            ]
            for part in (pod.init_containers, pod.containers)
        ]
        pod_level = _amounts(pod.resources.requests) if pod.resources else None
        shape = _encode((containers, _amounts(pod.overhead), pod_level)) + template.shape
        slots = len(requests) + (0 if any(name == PODS for name, _ in requests) else 1)
        return PodClass(
            pod, requests, self._request_class(requests), self._eligibility_class(pod), shape, slots
        )

    @property
    def topology(self) -> PodTopologyRows:
        """What these pods ask of topologies."""
        return self._topology

    def set_flavor(self, name: str, flavor: ResourceFlavor | None) -> None:
        """A ResourceFlavor came, changed or went: rewrite its column for every class of pods."""
        if flavor is None:
            self.flavors.pop(name, None)
        else:
            self.flavors[name] = flavor
        index = self.tables.flavor(name)
        for row, pod in enumerate(self._pods):
            self.tables.flavors.eligible[row, index] = self._answer(name, pod)

    def why_not(self, flavor: str, pods: list[PodSpec]) -> str:
        """Words for why a flavor cannot serve pods, those of the first pod set that it cannot."""
        known = self.flavors.get(flavor)
        if known is None:
            return missing_flavor(flavor)
        for pod in pods:
            reason = eligible(known, pod)
            if reason is not None:
                return reason
        return f"flavor {flavor} does not match"

    def _request_class(self, requests: tuple[tuple[str, int], ...]) -> int:
        row = self._requests.get(requests)
        if row is None:
            row = len(self._requests)
            start = self._requests_end.take(len(requests))
            workloads = self.tables.workloads
            workloads.reserve(request_classes=row + 1, requests=self._requests_end.end)
            workloads.request_start[row] = start
            workloads.request_length[row] = len(requests)
            for place, (name, amount) in enumerate(requests):
                workloads.request_resource[start + place] = self.tables.resource(name)
                workloads.request_amount[start + place] = amount
            self._requests[requests] = row
        return row

    def _eligibility_class(self, pod: PodSpec) -> int:
        key = _encode((pod.node_selector, pod.affinity, pod.tolerations))
        known = len(self._eligibility)
        row = self._eligibility.intern(key)
        if row == known:
            self.tables.eligibility_class()
            self._pods.append(pod)
            self._topology.add_class(row, pod)
            for name in self.flavors:
                self.tables.flavors.eligible[row, self.tables.flavor(name)] = self._answer(name, pod)
        return row

    def _answer(self, name: str, pod: PodSpec) -> int:
        flavor = self.flavors.get(name)
        if flavor is None:
            return NOT_ELIGIBLE
        try:
            return ELIGIBLE if eligible(flavor, pod) is None else NOT_ELIGIBLE
        except FlavorMatchError:
            return ELIGIBILITY_ERROR
