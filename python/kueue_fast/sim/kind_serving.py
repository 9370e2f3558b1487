"""What the controllers of kinds that serve share: one look an instant at an object, its Workloads and its pods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, NamedTuple

import msgspec

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import LocalQueue, Workload, WorkloadPriorityClass
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.cluster.memory import MemoryCluster, WatchEvent
from kueue_fast.jobs import names, pod_names
from kueue_fast.jobs.ancestors import controller_of
from kueue_fast.jobs.defaults import DEFAULT_PRIORITY_CLASS
from kueue_fast.jobs.pod import Pods
from kueue_fast.jobs.pod_facts import annotation
from kueue_fast.jobs.reconciler import View
from kueue_fast.lifecycle.pods import is_terminal
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.kind_actions import Actions
from kueue_fast.sim.kind_later import Later

__all__ = ["Around", "ServingController", "has_default_queue", "owners_of", "root_of"]

PODS: Final = Pods()


class Around(NamedTuple):
    """What every such controller needs."""

    cluster: MemoryCluster
    clock: VirtualClock
    view: View
    actions: Actions


class ServingController(ABC):
    """Looks at an object at the end of each instant at which it, its Workloads or its pods changed."""

    kind: ClassVar[type[KubernetesObject]]

    def __init__(self, around: Around) -> None:
        self._around = around
        self._cluster = around.cluster
        self._later = Later(around.clock, self._run)
        self._cluster.watch(self.kind.KIND, self.on_object)
        self._cluster.watch(Pod.KIND, self.on_pod)
        self._cluster.watch(Workload.KIND, self.on_workload)

    @abstractmethod
    def reconcile(self, obj: Any) -> bool:
        """Bring Workloads and pods in line; False to look again, since something had changed meanwhile."""

    def restart(self) -> None:
        """Every object is looked at."""
        self._cluster.relist(self.kind.KIND, self.on_object)

    def on_object(self, event: WatchEvent) -> None:
        """The object itself changed."""
        self._ask(event.object)

    def on_pod(self, event: WatchEvent) -> None:
        """A pod below such an object changed."""
        self._ask(root_of(self._cluster, event.object))

    def on_workload(self, event: WatchEvent) -> None:
        """A Workload of such an object changed."""
        for owner in event.object.metadata.owner_references or ():
            if owner.kind == self.kind.KIND:
                self._later.ask((event.object.metadata.namespace or "", owner.name))

    def _ask(self, obj: KubernetesObject) -> None:
        if isinstance(obj, self.kind):
            self._later.ask((obj.metadata.namespace or "", obj.metadata.name))

    def _run(self, key: Any) -> None:
        found = self._cluster.get(self.kind.KIND, *key)
        if found is not None and not self.reconcile(found):
            self._later.ask(key)

    def create_pod(self, pod: Pod, change: Callable[[Pod], Pod] = lambda pod: pod) -> None:
        """Create a pod as the webhook of pods stores it, then `change` as Kueue's controller of the kind does."""
        if annotation(pod, pod_names.SUSPENDING_PARENT):
            pod = change(PODS.default(pod, self._around.view.settings, default_queue_exists=False))
        self._cluster.create(pod)

    def live_pods(self, namespace: str | None, wanted: Iterable[str]) -> dict[str, Pod]:
        """Pods of these names that are there and have not ended; those that have ended are deleted."""
        found: dict[str, Pod] = {}
        for name in wanted:
            pod: Pod | None = self._cluster.get(Pod.KIND, namespace, name)
            if pod is None:
                continue
            if is_terminal(pod) and not pod.metadata.finalizers:
                self._cluster.delete(Pod.KIND, namespace, name)
            else:
                found[name] = pod
        return found

    def tell_status(self, obj: Any, empty: Any, pods: Iterable[Pod]) -> None:
        """How many pods there are, and how many of them run."""
        known = list(pods)
        running = sum(pod.status is not None and pod.status.phase == "Running" for pod in known)
        status = msgspec.structs.replace(
            obj.status or empty, replicas=len(known) or None, ready_replicas=running or None
        )
        current = self._cluster.get(obj.KIND, obj.metadata.namespace, obj.metadata.name)
        if current is not None and status != (current.status or empty):
            self._cluster.update_status(msgspec.structs.replace(current, status=status))


def has_default_queue(cluster: MemoryCluster, namespace: str | None) -> bool:
    """Whether jobs of the namespace that name no queue get one."""
    return cluster.get(LocalQueue.KIND, namespace, names.DEFAULT_LOCAL_QUEUE) is not None


def has_default_class(cluster: MemoryCluster) -> bool:
    """Whether jobs that name no WorkloadPriorityClass can get one. Source: JS-048."""
    return cluster.get(WorkloadPriorityClass.KIND, None, DEFAULT_PRIORITY_CLASS) is not None


def root_of(cluster: MemoryCluster, obj: Any) -> Any:
    """The object at the top of the chain of controllers, as far as they are in the cluster."""
    above = owners_of(cluster, obj)
    return above[-1] if above else obj


def owners_of(cluster: MemoryCluster, obj: Any) -> list[Any]:
    """The controllers above an object, the nearest first, as far as they are in the cluster; each once, should they
    go in a circle.
    """
    found: list[Any] = []
    seen = {obj.metadata.uid}
    while True:
        owner = controller_of(obj.metadata)
        obj = None if owner is None or owner.uid in seen else cluster.by_uid(owner.uid)
        if obj is None:
            return found
        seen.add(obj.metadata.uid)
        found.append(obj)
