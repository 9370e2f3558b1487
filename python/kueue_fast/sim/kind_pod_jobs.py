"""Runs the reconciler of pods on single pods and groups that Kueue manages. A group is looked at once an instant."""

from __future__ import annotations

from typing import TypeAlias

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.jobs import pod_names, pod_reconciler
from kueue_fast.jobs.pod_facts import group_name
from kueue_fast.jobs.pod_group import PodGroup
from kueue_fast.jobs.pod_group_workload import workload_name
from kueue_fast.jobs.reconciler import View
from kueue_fast.jobs.registry import Registry
from kueue_fast.jobs.validation import prebuilt_name
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.kind_actions import Actions
from kueue_fast.sim.kind_ancestors import workloads_of
from kueue_fast.sim.kind_later import Later

__all__ = ["PodJobs"]

# Namespace, and the name of the group or, without one, of the pod.
Key: TypeAlias = tuple[str, str, str]


class PodJobs:
    """Keeps the members of each group by namespace and name, in the order in which they came."""

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        registry: Registry,
        view: View,
        actions: Actions,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._registry = registry
        self._view = view
        self._actions = actions
        self._groups: dict[Key, dict[str, None]] = {}
        # Pods alone that name a Workload made beforehand, by its namespace and name.
        self._wanting: dict[tuple[str, str], dict[Key, None]] = {}
        self._later = Later(clock, self._run)
        cluster.watch(Pod.KIND, self.on_pod)
        cluster.watch(Workload.KIND, self.on_workload)

    def restart(self) -> None:
        """Groups are put together from the pods that there are, and looked at."""
        self._groups.clear()
        self._wanting.clear()
        self._cluster.relist(Pod.KIND, self.on_pod)

    def on_pod(self, event: WatchEvent) -> None:
        """A pod of Kueue's came, changed or is gone."""
        pod: Pod = event.object
        if (pod.metadata.labels or {}).get(pod_names.MANAGED) != pod_names.TRUE:
            return
        key = self._key(pod)
        gone = event.change is Change.DELETED
        if key[1]:
            members = self._groups.setdefault(key, {})
            if not gone:
                members[pod.metadata.name] = None
            elif self._cluster.get(Pod.KIND, key[0], pod.metadata.name) is None:
                members.pop(pod.metadata.name, None)
            if not members:
                del self._groups[key]
        self._later.ask(key)

    def on_workload(self, event: WatchEvent) -> None:
        """A Workload changed: its pods take the next step."""
        workload: Workload = event.object
        namespace = workload.metadata.namespace or ""
        for key in self._wanting.get((namespace, workload.metadata.name), ()):
            self._later.ask(key)
        group = namespace, workload.metadata.name, ""
        if group in self._groups:
            self._later.ask(group)
            return
        for owner in workload.metadata.owner_references or ():
            if owner.controller and (owner.api_version, owner.kind) == (Pod.API_VERSION, Pod.KIND):
                self._later.ask((namespace, "", owner.name))

    def _key(self, pod: Pod) -> Key:
        group = group_name(pod.metadata, self._view.settings)
        return pod.metadata.namespace or "", group, "" if group else pod.metadata.name

    def _run(self, key: Key) -> None:
        namespace, group_of, name = key
        members = list(self._groups.get(key, ())) if group_of else [name]
        found = [self._cluster.get(Pod.KIND, namespace, each) for each in members]
        pods: list[Pod] = [pod for pod in found if pod is not None]
        if not pods:
            return
        group = PodGroup(pods, is_group=bool(group_of))
        actions = pod_reconciler.reconcile(
            group,
            self._workload(group),
            self._view,
            self._clock.now,
            implicit=self._registry.implicit("pod"),
        )
        if not self._actions.carry_out(actions):
            self._later.ask(key)

    def _workload(self, group: PodGroup) -> Workload | None:
        metadata = group.first.metadata
        name = prebuilt_name(metadata, self._view.settings)
        if name and not group.is_group:
            self._wanting.setdefault((metadata.namespace or "", name), {})[
                metadata.namespace or "", "", metadata.name
            ] = None
        if group.is_group or name:
            name = workload_name(group, self._view.settings)
            found: Workload | None = self._cluster.get(Workload.KIND, metadata.namespace, name)
            return found
        return next(iter(workloads_of(self._cluster, metadata)), None)
