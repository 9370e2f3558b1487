"""Layouts: what the pod sets of a workload ask for, written once for all workloads that ask for the same.

Source: QC-42, QC-61, QP-104, QP-410.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from kueue_fast.api.core import LimitRange, RuntimeClass
from kueue_fast.api.kueue import PodSet, PodSetTopologyRequest, Workload
from kueue_fast.arrays.ranges import Ranges
from kueue_fast.arrays.tables import NONE, Tables
from kueue_fast.arrays.templates import PodClass, PodClasses
from kueue_fast.errors import InputError
from kueue_fast.model.limits import LimitRangeSummary, summarise, violations
from kueue_fast.model.templates import Template, Templates
from kueue_fast.model.validation.workload import SLICE_CONSTRAINTS_MAX

_encode = msgspec.json.Encoder(order="deterministic").encode
_KNOWN_SINGLES = 16384


class PodSetFacts(NamedTuple):
    """What a layout was made from: one pod set as its workload states it."""

    name: str
    template: Template
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs
    min_count: int | None
    topology_request: PodSetTopologyRequest | None
    reclaimed: int


class Layout:
    """Pod sets of one shape, their range in the kernel's table, and what scheduling equivalence knows of them."""

    __slots__ = (
        "classes", "groups", "key", "length", "names", "pod_sets", "shape",
        "shape_ids", "slots", "start", "uses", "violation",
    )  # fmt: skip

    def __init__(self, key: object, pod_sets: list[PodSetFacts], classes: list[PodClass]) -> None:
        self.key = key
        self.pod_sets = pod_sets
        self.names = [pod_set.name for pod_set in pod_sets]
        self.classes = classes
        self.groups: list[int] = []  # [pod set] number of the first pod set of its group
        self.start = 0
        self.length = len(pod_sets)
        self.slots = 0
        self.shape = b""
        self.shape_ids: dict[int, int] = {}  # effective priority to class of scheduling equivalence
        self.violation: str | None = None  # why no quota would do (QC-78, QC-80)
        self.uses = 0


class Layouts:
    """Interns layouts; a layout that no workload uses gives its rows back."""

    def __init__(self, tables: Tables, classes: PodClasses, *, reclaimable_pods: bool = True) -> None:
        self.tables = tables
        self.classes = classes
        self.templates = Templates()
        self.reclaimable_pods = reclaimable_pods
        self.runtime_classes: dict[str, RuntimeClass] = {}
        self._limit_ranges: dict[str, dict[str, LimitRange]] = {}
        self._summaries: dict[str, LimitRangeSummary] = {}
        # versions of what adjusts pod specs: a layout of an older one is not found again
        self._class_versions: dict[str, int] = {}
        self._range_versions: dict[str, int] = {}
        self._layouts: dict[object, Layout] = {}
        self._singles: dict[object, Layout] = {}
        self._rows = Ranges()

    # --- what adjusts pod specs

    def set_runtime_class(self, name: str, runtime_class: RuntimeClass | None) -> None:
        """A RuntimeClass came, changed or went (QC-64.1)."""
        if runtime_class is None:
            self.runtime_classes.pop(name, None)
        else:
            self.runtime_classes[name] = runtime_class
        self._class_versions[name] = self._class_versions.get(name, 0) + 1
        self._singles.clear()

    def set_limit_range(self, namespace: str, name: str, limit_range: LimitRange | None) -> None:
        """A LimitRange came, changed or went; several are summarised by name (QC-79)."""
        ranges = self._limit_ranges.setdefault(namespace, {})
        if limit_range is None:
            ranges.pop(name, None)
        else:
            ranges[name] = limit_range
        self._summaries[namespace] = summarise([ranges[name] for name in sorted(ranges)])
        self._range_versions[namespace] = self._range_versions.get(namespace, 0) + 1
        self._singles.clear()

    # --- layouts

    def find(self, workload: Workload, namespace: str) -> Layout:
        """The layout of a workload's pod sets. Raises InputError naming the path of what cannot be read."""
        pod_sets = workload.spec.pod_sets or []
        status = workload.status
        reclaimed = status is not None and status.reclaimable_pods
        if len(pod_sets) != 1 or reclaimed:
            return self._find(self._read(pod_sets, self._reclaimed(workload)), namespace)
        pod_set = pod_sets[0]
        template = self._intern(bytes(pod_set.template.spec), 0)
        adjusts = namespace if namespace in self._summaries else None
        request = pod_set.topology_request
        topology: object = None if request is None else msgspec.structs.astuple(request)
        if (
            topology is not None
            and request is not None
            and request.podset_slice_required_topology_constraints
        ):
            topology = _encode(request)
        key = (template, pod_set.count, pod_set.name, pod_set.min_count, adjusts, topology)
        layout = self._singles.get(key)
        if layout is None or layout.uses == 0:
            if len(self._singles) >= _KNOWN_SINGLES:
                self._singles.clear()
            layout = self._singles[key] = self._find(self._read(pod_sets, {}), namespace)
        return layout

    def _reclaimed(self, workload: Workload) -> Mapping[str, int]:
        status = workload.status
        if not self.reclaimable_pods or status is None:
            return {}
        return {pod.name: pod.count for pod in status.reclaimable_pods or ()}

    def renew(self, layout: Layout, namespace: str) -> Layout:
        """The layout of the same pod sets under the RuntimeClasses and LimitRanges of now."""
        return self._find(layout.pod_sets, namespace)

    def _read(self, pod_sets: list[PodSet], reclaimed: Mapping[str, int]) -> list[PodSetFacts]:
        return [
            PodSetFacts(
                pod_set.name,
                self._intern(bytes(pod_set.template.spec), index),
                pod_set.count,
                pod_set.min_count,
                pod_set.topology_request,
                reclaimed.get(pod_set.name, 0),
            )
            for index, pod_set in enumerate(pod_sets)
        ]

    def _find(self, pod_sets: list[PodSetFacts], namespace: str) -> Layout:
        parts: list[object] = []
        if namespace in self._summaries:
            parts += [namespace, self._range_versions[namespace]]
        for pod_set in pod_sets:
            topology = b"" if pod_set.topology_request is None else _encode(pod_set.topology_request)
            parts += [*pod_set[:1], pod_set.template.key, *pod_set[2:4], topology, pod_set.reclaimed]
            runtime_class = pod_set.template.pod.runtime_class_name
            if runtime_class is not None:
                parts.append(self._class_versions.get(runtime_class, 0))
        key = tuple(parts)
        layout = self._layouts.get(key)
        if layout is None:
            summary = self._summaries.get(namespace, {})
            for index, one in enumerate(pod_sets):
                _check_layers(one.topology_request, index)
            classes = [self.classes.make(one.template, self.runtime_classes, summary) for one in pod_sets]
            layout = Layout(key, pod_sets, classes)
            layout.violation = violations([one.pod for one in classes], summary)
            self._write(layout)
            self._layouts[key] = layout
        return layout

    def _intern(self, spec: bytes, index: int) -> Template:
        try:
            return self.templates.intern(spec)
        except InputError as error:
            field = f"$.spec.podSets[{index}].template.spec"
            raise InputError(error.message, field=field, expected=error.expected) from error

    def _write(self, layout: Layout) -> None:
        workloads = self.tables.workloads
        layout.start = self._rows.take(layout.length)
        workloads.reserve(pod_sets=self._rows.end)
        groups: dict[str, int] = {}
        shapes: list[object] = []
        for index, (pod_set, pods) in enumerate(zip(layout.pod_sets, layout.classes, strict=True)):
            # groups are numbers, so that a group named like an index is no other pod set's (QP-903)
            topology = pod_set.topology_request
            name = topology.pod_set_group_name if topology else None
            group = index if name is None else groups.setdefault(name, index)
            layout.groups.append(group)
            count = pod_set.count - min(pod_set.reclaimed, pod_set.count)
            workloads.write_pod_set(
                layout.start + index,
                self.tables.pod_set_names.intern(pod_set.name),
                pods.request_class,
                pods.eligibility,
                group,
                count,
                pod_set.count,
                NONE if pod_set.min_count is None else pod_set.min_count,
                layout.slots,
                pods.slots,
            )
            self.classes.topology.write(layout.start + index, topology, pods.pod, pods.eligibility)
            layout.slots += pods.slots
            shapes.append(
                (pod_set.name, pods.shape.decode(), count, pods.request_class, pod_set.min_count, topology)
            )
        layout.shape = _encode(shapes)

    def write_topologies(self) -> None:
        """The first flavor with a topology is there: from now on every pod set may be placed (TP-602)."""
        for layout in self._layouts.values():
            for index, (pod_set, pods) in enumerate(zip(layout.pod_sets, layout.classes, strict=True)):
                self.classes.topology.write(
                    layout.start + index, pod_set.topology_request, pods.pod, pods.eligibility
                )

    def use(self, layout: Layout) -> None:
        """One more workload has this layout."""
        layout.uses += 1

    def release(self, layout: Layout) -> None:
        """One workload less has this layout; the last one frees its rows."""
        layout.uses -= 1
        self.drop_unused(layout)

    def drop_unused(self, layout: Layout) -> None:
        """Give the rows of a layout back that no workload uses, after all."""
        if layout.uses == 0:
            self._layouts.pop(layout.key, None)
            self._rows.give_back(layout.start, layout.length)


def _check_layers(request: PodSetTopologyRequest | None, index: int) -> None:
    constraints = request.podset_slice_required_topology_constraints if request is not None else None
    if constraints and len(constraints) > SLICE_CONSTRAINTS_MAX:
        raise InputError(
            f"has {len(constraints)} items",
            field=f"$.spec.podSets[{index}].topologyRequest.podsetSliceRequiredTopologyConstraints",
            expected=f"at most {SLICE_CONSTRAINTS_MAX}",
        )


def pods_of_group(layout: Layout, pod_set: int) -> list[int]:
    """Numbers of the pod sets that are placed as one with `pod_set`, in order."""
    return [index for index, group in enumerate(layout.groups) if group == layout.groups[pod_set]]
