"""What pod sets ask of topologies, as rows of the kernel: requests, what one pod takes, which nodes it accepts.

Source: TP-203, TP-204, TP-501, TP-601..607, TP-702.
"""

from __future__ import annotations

from kueue_fast.api.core import PodSpec
from kueue_fast.api.kueue import PodSetTopologyRequest
from kueue_fast.arrays.tables import NONE, Tables
from kueue_fast.arrays.topology import TopologyRows
from kueue_fast.model.topology_requests import is_explicit, is_slice_only, slice_layers

NOTHING, REQUIRED, PREFERRED, UNCONSTRAINED, SLICES, UNCLEAR = range(6)
"""Values of kueuecore's TopologyKind."""
NO_TOPOLOGY, UNKNOWN_TOPOLOGY, HAS_TOPOLOGY = range(3)
"""Values of kueuecore's TopologySupport."""

_NO_REQUEST = 0


class PodTopologyRows:
    """Writes the kernel's PodTopology. While no flavor has a topology, pod sets that ask for none cost nothing."""

    def __init__(self, tables: Tables, topology: TopologyRows) -> None:
        self._tables = tables
        self._kernel = tables.scheduler.pod_topology
        self._topology = topology
        self._requests: dict[object, int] = {}
        self._pods: list[PodSpec] = []  # [eligibility class] a pod of it
        self.used = False  # some flavor has a topology

    def write(self, row: int, request: PodSetTopologyRequest | None, pod: PodSpec, eligibility: int) -> None:
        """One pod set. Raises InputError for requests that are no quantities."""
        number = self._request(request)
        if number == _NO_REQUEST and not self.used:
            if row < self._kernel.request.shape[0]:
                self._kernel.write_pod_set(row, _NO_REQUEST, 0, 0)
            return
        self._kernel.reserve(pod_sets=row + 1)
        self._kernel.write_pod_set(row, number, self._topology.pods_row(pod), eligibility)

    def add_class(self, eligibility: int, pod: PodSpec) -> None:
        """A new class of pods by selector, affinity and tolerations: which nodes of each flavor it accepts."""
        self._pods.append(pod)
        for name in self._topology.flavors():
            self._write_filter(eligibility, name)

    def knows(self, flavor: str) -> bool:
        """Whether the kernel holds anything about a flavor."""
        return bool(self._tables.flavor(flavor) < self._kernel.support.shape[0])

    def set_flavor(self, name: str, names_topology: bool) -> None:
        """A flavor, or the Topology that it names, came, changed or went."""
        flavor = self._tables.flavor(name)
        exists = self._topology.exists(name)
        self._kernel.reserve(flavors=flavor + 1)
        self._kernel.support[flavor] = (
            HAS_TOPOLOGY if exists else UNKNOWN_TOPOLOGY if names_topology else NO_TOPOLOGY
        )
        if exists:
            self.used = True
            for eligibility in range(len(self._pods)):
                self._write_filter(eligibility, name)

    def _write_filter(self, eligibility: int, name: str) -> None:
        flavor = self._tables.flavor(name)
        self._kernel.reserve(flavors=flavor + 1, pod_filters=eligibility + 1)
        self._kernel.filter_row[eligibility, flavor] = self._topology.filter_row(
            self._pods[eligibility], name
        )

    def _request(self, request: PodSetTopologyRequest | None) -> int:
        if request is None or not is_explicit(request):
            return _NO_REQUEST
        layers = slice_layers(request)
        unconstrained = bool(request.unconstrained)
        if request.required is not None:
            kind, label = REQUIRED, request.required
        elif request.preferred is not None:
            kind, label = PREFERRED, request.preferred
        elif is_slice_only(request):
            kind, label = SLICES, None
        else:
            kind, label = UNCONSTRAINED if unconstrained else UNCLEAR, None
        key = (kind, label, unconstrained, layers)
        number = self._requests.get(key)
        if number is None:
            level_key = self._topology.level_key
            number = self._requests[key] = self._kernel.add_request(
                kind,
                unconstrained,
                NONE if label is None else level_key(label),
                [(level_key(layer.topology), layer.size) for layer in layers],
            )
        return number
