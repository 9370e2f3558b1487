"""Which Workloads stand for an object at the moment that is explained; where there are none, why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.api.ray import RayJob
from kueue_fast.errors import InputError
from kueue_fast.jobs.pod_facts import group_name, total_count
from kueue_fast.jobs.validation import prebuilt_name
from kueue_fast.jobs.workload import is_managed
from kueue_fast.lifecycle.pods import slice_of_pod, workload_of_pod
from kueue_fast.model import times
from kueue_fast.sim.arrivals import identity
from kueue_fast.sim.explain_target import EXPLAINED, POD_GROUP, Target, near
from kueue_fast.sim.kind_serving import owners_of
from kueue_fast.sim.kinds import SCALABLE
from kueue_fast.sim.manifest import Manifest
from kueue_fast.sim.result import SimulationResult, WorkloadRow
from kueue_fast.sim.simulate import Simulation

__all__ = ["Found", "look_up"]

_KINDS: Final = frozenset(each.KIND for each in EXPLAINED)


class Found(NamedTuple):
    """What there is of an object.

    `state` and `message` are those of the document. `ancestor` is the object that the Workloads are for, None if it
    is the one that was asked for; `rows` are they in the order of arrival.
    """

    state: str
    message: str = ""
    ancestor: Target | None = None
    rows: Sequence[WorkloadRow] = ()


def look_up(
    simulation: Simulation, manifests: Sequence[Manifest], result: SimulationResult, target: Target
) -> Found:
    """The Workloads of an object, of its group, or of the object that it belongs to.

    Raises InputError for one that is not in the input and that nothing made, naming some that are like it.
    """
    return _Search(simulation, manifests, result).find(target)


class _Search:
    def __init__(
        self, simulation: Simulation, manifests: Sequence[Manifest], result: SimulationResult
    ) -> None:
        self._cluster = simulation.cluster
        self._settings = simulation.settings
        self._registry = simulation.registry
        self._manifests = manifests
        self._result = result

    def find(self, target: Target) -> Found:
        """All about one target."""
        if target.kind == POD_GROUP:
            return self._group(target) or self._unknown(target)
        rows = self._rows_of(target)
        obj = None if target.kind == Workload.KIND else self._cluster.get(*target)
        if rows:
            return self._own(target, rows)
        if obj is not None:
            return self._below(target, obj)
        if target.kind == Pod.KIND and not self._is_in_input(target):
            group = self._group(target)
            if group is not None:
                return group
        return self._unknown(target)

    def _rows_of(self, target: Target) -> list[WorkloadRow]:
        """The Workload itself, those that the object owns, or those of what it made."""
        rows = (row for row in self._result.workloads if row.namespace == target.namespace)
        if target.kind == Workload.KIND:
            return [row for row in rows if row.name == target.name]
        named = target.kind, target.name
        return [row for row in rows if named in ((row.owner_kind, row.owner_name), row.top)]

    def _own(self, target: Target, rows: list[WorkloadRow]) -> Found:
        """Its own Workloads, or those of its pods. A pod may have one and belong to a Deployment."""
        top = rows[0].top
        if top is None or target.kind == Workload.KIND or top == (target.kind, target.name):
            return Found("Found", rows=rows)
        ancestor = Target(top[0], target.namespace, top[1])
        return Found("Found", f"It belongs to {_words(ancestor)}.", ancestor, rows)

    def _below(self, target: Target, obj: Any) -> Found:
        """An object without a Workload of its own."""
        above = owners_of(self._cluster, obj)
        for pod in (obj, *above):
            row = self._row_named(pod) if isinstance(pod, Pod) else None
            if row is not None:
                return _of_workload(row)
        topmost = self._topmost(above)
        if topmost is not None:
            ancestor, rows = topmost
            words = f"It belongs to {_words(ancestor)}"
            if rows:
                stand = "Workload stands" if len(rows) == 1 else "Workloads stand"
                return Found("Found", f"{words}, whose {stand} for it.", ancestor, rows)
            state, why = self._without(self._cluster.get(*ancestor))
            return Found(state, f"{words}. Of that: {why}", ancestor)
        group = group_name(obj.metadata, self._settings) if isinstance(obj, Pod) else ""
        if group and is_managed(obj.metadata, self._settings):
            found = self._group(Target(POD_GROUP, target.namespace, group))
            if found is not None:
                return found._replace(
                    message=f"It is a pod of the group {group}. {found.message}".rstrip(),
                    ancestor=Target(POD_GROUP, target.namespace, group),
                )
        state, message = self._without(obj)
        return Found(state, message)

    def _row_named(self, pod: Pod) -> WorkloadRow | None:
        """The Workload that a pod says it belongs to, of an elastic job the newest slice.

        What Kueue writes into pods that it admits as a group is the name of the Workload; a pod that waits says no
        more. A Workload that only happens to be called so is of nobody above the pod.
        """
        named = {workload_of_pod(pod), slice_of_pod(pod)} - {None}
        group = group_name(pod.metadata, self._settings)
        owners = {(each.KIND, each.metadata.name) for each in owners_of(self._cluster, pod)}
        found = None
        for row in self._result.workloads:
            if row.namespace != pod.metadata.namespace:
                continue
            chain = None if row.slice is None else row.slice.chain
            in_group = row.name == group and (row.owner_kind, row.owner_name) in owners
            if row.name in named or chain in named or in_group:
                found = row
        return found

    def _topmost(self, above: Sequence[Any]) -> tuple[Target, list[WorkloadRow]] | None:
        """The topmost owner that has Workloads; the topmost of all if none has."""
        for each in reversed(above):
            target = Target(*identity(each))
            rows = self._rows_of(target)
            if rows:
                return target, rows
        return (Target(*identity(above[-1])), []) if above else None

    # ---- groups of pods ----

    def _group(self, target: Target) -> Found | None:
        """A group of pods, None if there is none of that name."""
        members = [
            pod
            for pod in self._cluster.list(Pod.KIND, target.namespace)
            if group_name(pod.metadata, self._settings) == target.name
        ]
        names = {prebuilt_name(pod.metadata, self._settings) or target.name for pod in members}
        rows = [
            row
            for row in self._result.workloads
            if row.namespace == target.namespace
            and row.name in (names or {target.name})
            and row.owner_kind == Pod.KIND
            and (members or row.owner_name == row.name)
        ]
        if rows:
            return Found("Found", rows=rows)
        if not members:
            return None
        wanted = total_count(members[0])
        if not is_managed(members[0].metadata, self._settings):
            return Found("OutsideKueue", _OUTSIDE)
        if wanted is not None and len(members) < wanted:
            words = (
                f"{len(members)} of the {wanted} pods of its group are there: it has a Workload once all are."
            )
            return Found("NoWorkload", words)
        return Found("NoWorkload", _NO_WORKLOAD)

    # ---- no Workload ----

    def _without(self, obj: Any) -> tuple[str, str]:
        """State and words for an object of the cluster that no Workload is for."""
        metadata = obj.metadata
        integration = self._registry.find(obj.API_VERSION, obj.KIND)
        if integration is None:
            return "OutsideKueue", f"A {obj.KIND} takes no quota."
        if not is_managed(metadata, self._settings):
            return "OutsideKueue", _OUTSIDE
        if isinstance(obj, Pod) and self._registry.implicit(integration.framework):
            return "OutsideKueue", "The integration of pods is on for those of other kinds only."
        if isinstance(obj, RayJob) and obj.spec.cluster_selector:
            return "OutsideKueue", "It runs in a RayCluster that is there: that one takes the quota."
        prebuilt = prebuilt_name(metadata, self._settings)
        if prebuilt:
            return "NoWorkload", self._prebuilt(metadata.namespace, prebuilt)
        if obj.KIND in SCALABLE and obj.spec.replicas == 0:
            return "NoWorkload", "It asks for no pods."
        return "NoWorkload", _NO_WORKLOAD

    def _prebuilt(self, namespace: str, name: str) -> str:
        """Why a Workload made beforehand is not the object's."""
        row = next(
            (row for row in self._result.workloads if (row.namespace, row.name) == (namespace, name)), None
        )
        if row is None:
            return f"The Workload {name}, which it names, is not there."
        if row.owner_kind is None:
            return f"The Workload {name}, which it names, is {row.state.value} and not its own."
        return f"The Workload {name}, which it names, belongs to {row.owner_kind} {row.owner_name}."

    def _is_in_input(self, target: Target) -> bool:
        return any(identity(each.object) == target for each in self._manifests)

    def _unknown(self, target: Target) -> Found:
        """An object that is not in the cluster: it comes later, is gone, or nobody knows it."""
        now = self._result.end_ns
        arrivals = [
            _arrival(each, self._result.start_ns) for each in self._manifests if self._means(each, target)
        ]
        if arrivals and min(arrivals) > now:
            after = times.format_duration(min(arrivals) - self._result.start_ns)
            return Found("NotCreated", f"It is not there yet: it arrives {after} after the start.")
        if arrivals:
            return Found("NoWorkload", "It is gone, and no Workload was ever made for it.")
        raise InputError(f"{target} is not in the input", expected=near(self._known(), target))

    def _means(self, manifest: Manifest, target: Target) -> bool:
        obj = manifest.object
        if identity(obj) == target:
            return True
        return (
            target.kind in (POD_GROUP, Pod.KIND)
            and isinstance(obj, Pod)
            and (obj.metadata.namespace, group_name(obj.metadata, self._settings)) == target[1:]
        )

    def _known(self) -> Iterator[Target]:
        """All objects that could be explained: of the input, made by now, and groups of pods."""
        made = (each for kind in sorted(_KINDS) for each in self._cluster.list(kind))
        objects: list[KubernetesObject] = [each.object for each in self._manifests]
        for obj in (*objects, *made):
            if obj.KIND in _KINDS:
                yield Target(*identity(obj))
            group = group_name(obj.metadata, self._settings) if isinstance(obj, Pod) else ""
            if group:
                yield Target(POD_GROUP, obj.metadata.namespace or "", group)
        for row in self._result.workloads:
            yield Target(Workload.KIND, row.namespace, row.name)


_OUTSIDE: Final = "It names no LocalQueue: it runs outside Kueue and takes no quota."
_NO_WORKLOAD: Final = "Kueue has made no Workload for it."


def _of_workload(row: WorkloadRow) -> Found:
    """A pod that says which Workload it belongs to, or what belongs to such a pod."""
    kind, name = row.top or (row.owner_kind or "", row.owner_name or "")
    if (kind, name) == (Pod.KIND, row.name):
        return Found(
            "Found", f"It is a pod of the group {name}.", Target(POD_GROUP, row.namespace, name), [row]
        )
    ancestor = Target(kind, row.namespace, name)
    return Found("Found", f"It belongs to {_words(ancestor)}; its Workload is {row.name}.", ancestor, [row])


def _words(target: Target) -> str:
    return f"{target.kind} {target.name}"


def _arrival(manifest: Manifest, start_ns: int) -> int:
    facts = manifest.facts
    if facts.arrival_ns is not None:
        return start_ns + facts.arrival_ns
    return start_ns if facts.arrival_time_ns is None else facts.arrival_time_ns
