"""Pods that the controllers of jobs keep: one that is lost is replaced by another of the same index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count, islice
from typing import NamedTuple

import msgspec

from kueue_fast.api.core import Pod, PodSpec, PodTemplateSpec
from kueue_fast.api.kueue import ResourceFlavor, Workload
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.jobs.ancestors import controller_of
from kueue_fast.jobs.pod_set_info import annotations_of, from_status, merge_template
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.topology_indexes import IndexLabels
from kueue_fast.lifecycle.pods import is_terminal
from kueue_fast.model.integers import parse_int32
from kueue_fast.model.topology_names import POD_INDEX_OFFSET, TOPOLOGY_GATE
from kueue_fast.sim.kind_pod_template import Opened, made_pod, opened
from kueue_fast.sim.kind_serving import root_of
from kueue_fast.sim.pod_limits import check_pods

__all__ = ["MadePods", "PodsOfOneTemplate", "placed_pods"]

GATE = {"name": TOPOLOGY_GATE}


class PodsOfOneTemplate(NamedTuple):
    """So many pods of a template, named `prefix` and a number, with labels that number them."""

    prefix: str
    template: PodTemplateSpec
    pods: int
    indexes: IndexLabels


class _Slot(NamedTuple):
    """What a pod stands for: one number of a group, its template, its labels."""

    prefix: str
    number: int
    template: Opened
    labels: dict[str, str]

    @property
    def name(self) -> str:
        """Name of the first attempt."""
        return f"{self.prefix}-{self.number}"


class _Kept(NamedTuple):
    slots: dict[str, _Slot]
    attempts: dict[str, int]


class MadePods:
    """Makes pods of jobs, by the UID of the job. Those that no gate holds back run at once, on no node."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        self._kept: dict[str, _Kept] = {}
        cluster.watch(Pod.KIND, self.on_pod)

    def make(self, owner: KubernetesObject, groups: Sequence[PodsOfOneTemplate]) -> None:
        """Pods of an owner that has none; nothing for one that has."""
        if (owner.metadata.uid or "") not in self._kept:
            self.keep(owner, groups)

    def keep(self, owner: KubernetesObject, groups: Sequence[PodsOfOneTemplate]) -> None:
        """So many pods of each group, whatever an owner has: of too many those go first that never ran, then the last.

        Those that stay are what they were, be the template another one by now.
        """
        kept = self._kept.setdefault(owner.metadata.uid or "", _Kept({}, {}))
        check_pods(root_of(self._cluster, owner), sum(group.pods for group in groups))
        for group in groups:
            there = {name: slot for name, slot in kept.slots.items() if slot.prefix == group.prefix}
            self._drop(owner, kept, there, len(there) - group.pods)
            taken = {slot.number for slot in there.values()}
            free = (number for number in count() if number not in taken)
            missing = group.pods - len(there)
            if missing <= 0:
                continue
            template = opened(group.template)
            offset = parse_int32(annotations_of(group.template).get(POD_INDEX_OFFSET, "0")) or 0
            for number in islice(free, missing):
                labels = index_labels(group, number, offset)
                self._make(owner, kept, _Slot(group.prefix, number, template, labels))

    def end(self, uid: str) -> None:
        """The run is over: the pods go, and are not replaced."""
        kept = self._kept.pop(uid, None)
        owner = self._cluster.by_uid(uid)
        if kept is None or owner is None:
            return  # Pods of an owner that is gone follow it by their owner reference.
        for name in kept.slots:
            self._cluster.delete(Pod.KIND, owner.metadata.namespace, name)

    def on_pod(self, event: WatchEvent) -> None:
        """Replace a pod that was lost, and run one whose last gate is gone, if it has no place to go to."""
        pod: Pod = event.object
        gone = event.change is Change.DELETED
        owner = controller_of(pod.metadata)
        kept = self._kept.get(owner.uid) if owner is not None else None
        if owner is None or kept is None:
            return
        if not (gone or is_terminal(pod)):
            self._run(pod, kept)
            return
        slot = kept.slots.pop(pod.metadata.name, None)
        job = self._cluster.by_uid(owner.uid)
        if slot is None or job is None:
            return
        if not gone:
            self._cluster.delete(Pod.KIND, pod.metadata.namespace, pod.metadata.name)
        kept.attempts[slot.name] = kept.attempts.get(slot.name, 0) + 1
        self._make(job, kept, slot)

    def _drop(self, owner: KubernetesObject, kept: _Kept, there: dict[str, _Slot], surplus: int) -> None:
        if surplus <= 0:
            return
        gated = {
            name
            for name in there
            if (pod := self._cluster.get(Pod.KIND, owner.metadata.namespace, name)) is not None
            and pod.spec.scheduling_gates
        }
        last = sorted(there, key=lambda name: (name in gated, there[name].number), reverse=True)
        for name in last[:surplus]:
            # First forgotten, so that it is not replaced.
            slot = kept.slots.pop(name)
            kept.attempts[slot.name] = kept.attempts.get(slot.name, 0) + 1
            del there[name]
            self._cluster.delete(Pod.KIND, owner.metadata.namespace, name)

    def _run(self, pod: Pod, kept: _Kept) -> None:
        slot = kept.slots.get(pod.metadata.name)
        if (
            slot is None
            or pod.spec.scheduling_gates
            or pod.status is None
            or pod.status.phase != "Pending"
            or has_gate(slot.template.spec)
        ):
            return
        current: Pod | None = self._cluster.get(Pod.KIND, pod.metadata.namespace, pod.metadata.name)
        if current is not None and current.status is not None:
            status = msgspec.structs.replace(current.status, phase="Running")
            self._cluster.update_status(msgspec.structs.replace(current, status=status))

    def _make(self, owner: KubernetesObject, kept: _Kept, slot: _Slot) -> None:
        attempt = kept.attempts.get(slot.name, 0)
        name = slot.name + (f"-r{attempt}" if attempt else "")
        while self._cluster.get(Pod.KIND, owner.metadata.namespace, name) is not None:
            name += "-x"
        kept.slots[name] = slot
        phase = "Pending" if slot.template.spec.scheduling_gates else "Running"
        self._cluster.create(made_pod(slot.template, name, owner, labels=slot.labels, phase=phase))


def has_gate(spec: PodSpec) -> bool:
    """Whether pods of the template wait for a place in a topology."""
    return any(gate.name == TOPOLOGY_GATE for gate in spec.scheduling_gates or ())


def index_labels(group: PodsOfOneTemplate, number: int, offset: int) -> dict[str, str]:
    """Labels that say which of its kind a pod is. Source: TP-306."""
    indexes, labels = group.indexes, {}
    index = number + offset
    if indexes.sub_group is not None and indexes.sub_group_count:
        size = max(group.pods // indexes.sub_group_count, 1)
        labels[indexes.sub_group] = str(number // size)
        index = number % size
    if indexes.pod is not None:
        labels[indexes.pod] = str(index)
    return labels


def placed_pods(
    name: str,
    workload: Workload,
    flavor: Callable[[str], ResourceFlavor | None],
    settings: JobSettings,
) -> list[PodsOfOneTemplate]:
    """Pods of the pod sets that were placed by topology, as admission makes them; `name` is the job's.

    Raises StartError and LookupError as starting the job would.
    """
    infos = from_status(workload, flavor, settings)
    found = []
    for pod_set, info in zip(workload.spec.pod_sets or (), infos, strict=True):
        if GATE not in info.scheduling_gates:
            continue
        request = pod_set.topology_request
        indexes = IndexLabels()
        if request is not None:
            indexes = IndexLabels(
                request.pod_index_label, request.sub_group_index_label, request.sub_group_count
            )
        template = merge_template(pod_set.template, info)
        found.append(PodsOfOneTemplate(f"{name}-{pod_set.name}", template, info.count, indexes))
    return found
