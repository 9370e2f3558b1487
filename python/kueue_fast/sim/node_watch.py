"""The node controllers of the simulated cluster: pods of a failed node are lost, and Kueue hears of the failure.

Kubernetes gives pods on a node that is not ready five minutes, or what they tolerate; then they are deleted. What
Kueue makes of a failure says `lifecycle.node_failures`.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from kueue_fast.api.core import Node, Pod, Taint
from kueue_fast.api.kueue import ResourceFlavor, Workload
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.cluster.placement_index import PlacementIndex
from kueue_fast.lifecycle.node_failures import (
    ClearNode,
    EvictWorkload,
    MarkNode,
    TerminatePod,
    View,
    reconcile_node,
)
from kueue_fast.lifecycle.node_gates import POD_DELAY_NS, NodeGates, is_ready, node_calls, nodes_of_pod
from kueue_fast.lifecycle.pods import is_terminal
from kueue_fast.lifecycle.pods_by_node import PodsByNode, workloads_of_node
from kueue_fast.lifecycle.status import timestamp
from kueue_fast.model import times
from kueue_fast.model.taints import tolerates
from kueue_fast.model.topology_nodes import blocking_taints
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.recorder import Recorder

__all__ = ["NodeWatch"]

Key: TypeAlias = tuple[str, str]
NOT_READY: Final = Taint(key="node.kubernetes.io/not-ready", effect="NoExecute")
DEFAULT_PATIENCE_NS: Final = 300 * times.SECOND


class NodeWatch:
    """Watches nodes and pods; a node is looked at once an instant, however much happened to it."""

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        placements: PlacementIndex,
        gates: NodeGates,
        recorder: Recorder,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._placements = placements
        self._gates = gates
        self._recorder = recorder
        # Pods that run on a node, or ask for it by name.
        self._pods = PodsByNode()
        self._due: dict[tuple[str, int], int] = {}
        self._losses: dict[Key, int] = {}
        cluster.watch(Node.KIND, self.on_node)
        cluster.watch(Pod.KIND, self.on_pod)

    def restart(self) -> None:
        """Every node is looked at. That pods of failed nodes are lost is not Kueue's doing: it goes on."""
        for entry in self._due.values():
            self._clock.cancel(entry)
        self._due.clear()
        for node in self._cluster.list(Node.KIND):
            self._look(node.metadata.name, 0)

    def on_node(self, event: WatchEvent) -> None:
        """A node came, changed, or is gone."""
        node: Node = event.object
        name = node.metadata.name
        gone = event.change is Change.DELETED
        old: Node | None = node if gone else event.old
        new = None if gone else node
        if node_calls(old, new, self._gates):
            self._look(name, 0)
        well = new is not None and is_ready(new)
        for pod in self._pods.of(name):
            if pod.spec.node_name == name:
                key = pod.metadata.namespace or "", pod.metadata.name
                self._await_loss(key, pod, None if well else 0 if gone else patience(pod))

    def on_pod(self, event: WatchEvent) -> None:
        """Keep the pod by its nodes, and look at those that it says something about."""
        pod: Pod = event.object
        key = pod.metadata.namespace or "", pod.metadata.name
        gone = event.change is Change.DELETED
        over = gone or is_terminal(pod)
        self._pods.keep(pod, over=over)
        if over:
            self._await_loss(key, pod, None)
        if self._gates.replacement:
            if gone and pod.metadata.deletion_timestamp is None:
                # A pod without grace is gone without having been told so.
                metadata = msgspec.structs.replace(
                    pod.metadata, deletion_timestamp=timestamp(self._clock.now)
                )
                pod = msgspec.structs.replace(pod, metadata=metadata)
            for name in nodes_of_pod(pod):
                if self._is_suspect(name):
                    self._look(name, POD_DELAY_NS)

    def _is_suspect(self, name: str) -> bool:
        """Whether a pod can make a difference: on a node without a flaw it cannot."""
        node: Node | None = self._cluster.get(Node.KIND, None, name)
        if node is None or not is_ready(node):
            return True
        return bool(blocking_taints(node.spec.taints if node.spec is not None else None))

    def _look(self, name: str, delay_ns: int) -> None:
        at = self._clock.now + delay_ns
        if (name, at) not in self._due:
            self._due[name, at] = self._clock.schedule(at, self._run, (name, at))

    def _run(self, due: Any) -> None:
        del self._due[due]
        name = due[0]
        node: Node | None = self._cluster.get(Node.KIND, None, name)
        pods = self._pods.of(name)
        view = View(self._workloads(name, pods), pods, self._flavor, self._gates, self._placements.of)
        try:
            outcome = reconcile_node(name, node, view, self._clock.now)
        except LookupError:
            return  # A flavor that is gone: Kueue would try in vain until it is back.
        for action in outcome.actions:
            match action:
                case MarkNode(workload) | ClearNode(workload):
                    self._cluster.update_status(workload)
                case EvictWorkload(workload, event):
                    self._cluster.update_status(workload)
                    self._recorder.evicted(event)
                case TerminatePod(pod, event):
                    # What an action before it led to may have taken the pod away.
                    if self._cluster.get(Pod.KIND, pod.metadata.namespace, pod.metadata.name) is not None:
                        self._cluster.update_status(pod)
                        self._recorder.event(event)
        if outcome.requeue_after_ns is not None:
            self._look(name, outcome.requeue_after_ns)

    def _workloads(self, name: str, pods: list[Pod]) -> list[Workload]:
        keys = workloads_of_node(self._placements.on_node(name), pods)
        found = (self._cluster.get(Workload.KIND, *key) for key in keys)
        return [each for each in found if each is not None]

    def _flavor(self, name: str) -> ResourceFlavor | None:
        found: ResourceFlavor | None = self._cluster.get(ResourceFlavor.KIND, None, name)
        return found

    def _await_loss(self, key: Key, pod: Pod, after_ns: int | None) -> None:
        """Have the pod deleted after a time; None is not any more, and nothing changes for one that waits for it."""
        if after_ns is None:
            entry = self._losses.pop(key, None)
            if entry is not None:
                self._clock.cancel(entry)
        elif key not in self._losses or after_ns == 0:
            self._await_loss(key, pod, None)
            self._losses[key] = self._clock.schedule(self._clock.now + after_ns, self._lose, key)

    def _lose(self, key: Any) -> None:
        self._losses.pop(key, None)
        if self._cluster.get(Pod.KIND, *key) is not None:
            self._cluster.delete(Pod.KIND, *key)


def patience(pod: Pod) -> int | None:
    """How long a pod stays on a node that is not ready, in ns; None is for ever."""
    seconds: list[int] = []
    tolerations = pod.spec.tolerations or ()
    bearing = [each for each in tolerations if tolerates(each, NOT_READY)]
    if not bearing:
        return DEFAULT_PATIENCE_NS
    for each in bearing:
        if each.toleration_seconds is not None:
            seconds.append(max(each.toleration_seconds, 0))
    return min(seconds) * times.SECOND if seconds else None
