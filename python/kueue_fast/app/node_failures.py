"""Watches nodes and their pods, and writes what their failures mean for the Workloads that were placed on them.

Two nodes of one Workload may fail at a time: both are decided on the same Workload, and the second write meets a newer
one. It is decided anew then, and evicts.

Source: TP-1401..1409, TP-1905.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from kueue_fast.api.core import Node, Pod
from kueue_fast.api.kueue import ResourceFlavor, Workload
from kueue_fast.app.events import TOPOLOGY, Events
from kueue_fast.app.looks import Looks
from kueue_fast.cluster.changes import Change, Key, WatchEvent, describe, key_of
from kueue_fast.cluster.kube import patches, workload_status
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.writer import Write, Writer
from kueue_fast.cluster.placement_index import PlacementIndex
from kueue_fast.errors import InputError, KueueFastError
from kueue_fast.lifecycle.events import Event
from kueue_fast.lifecycle.node_failures import (
    Action,
    ClearNode,
    EvictWorkload,
    MarkNode,
    TerminatePod,
    View,
    reconcile_node,
)
from kueue_fast.lifecycle.node_gates import POD_DELAY_NS, NodeGates, node_calls, nodes_of_pod
from kueue_fast.lifecycle.pods import is_terminal, slice_of_pod
from kueue_fast.lifecycle.pods_by_node import PodsByNode, workloads_of_node
from kueue_fast.model.other_pods import is_topology_pod

__all__ = ["NodeFailures"]

log = logging.getLogger("tas-node-controller")


class NodeFailures:
    """`now` gives ns since 1970.

    Pods make one look at nodes even without the gate TASFailedNodeReplacement, as upstream.
    """

    def __init__(
        self,
        cluster: KubeCluster,
        writer: Writer,
        recorder: Events,
        now: Callable[[], int],
        gates: NodeGates,
    ) -> None:
        self._cluster = cluster
        self._writer = writer
        self._events = recorder
        self._now = now
        self._gates = gates
        self._looks = Looks(self._look, now)
        # When a node will be looked at, ns since 1970: the first of what asked for it counts.
        self._due: dict[Key, int] = {}
        # Pods of Workloads that have not ended.
        self._pods = PodsByNode()

    def start(self) -> None:
        """Look at every node, and from now on at those that change, and whose pods do."""
        self._placements = PlacementIndex(self._cluster, _tell_unreadable)
        self._placements.read_all()
        self._cluster.watch(Node.KIND, self._on_node)
        self._cluster.watch(Pod.KIND, self._on_pod)
        for pod in list(self._cluster.list(Pod.KIND)):
            self._on_pod(WatchEvent(Change.ADDED, pod, None))
        for node in list(self._cluster.list(Node.KIND)):
            self._on_node(WatchEvent(Change.ADDED, node, None))

    def stop(self) -> None:
        """Look at nothing more."""
        self._looks.stop()

    def _on_node(self, event: WatchEvent) -> None:
        node: Node = event.object
        gone = event.change is Change.DELETED
        if node_calls(node if gone else event.old, None if gone else node, self._gates):
            self._due.pop(key_of(node), None)
            self._looks.ask(key_of(node))

    def _on_pod(self, event: WatchEvent) -> None:
        pod: Pod = event.object
        gone = event.change is Change.DELETED
        self._pods.keep(pod, over=gone or is_terminal(pod) or slice_of_pod(pod) is None)
        nodes = nodes_of_pod(pod)
        if gone and pod.spec.node_name and is_topology_pod(pod):
            # One without grace is gone without having been told to go.
            nodes = [pod.spec.node_name]
        for name in nodes:
            self._at((Node.KIND, "", name), self._now() + POD_DELAY_NS)

    def _at(self, key: Key, time_ns: int) -> None:
        if key not in self._due or time_ns < self._due[key]:
            self._due[key] = time_ns
            self._looks.at(key, time_ns)

    def _look(self, key: Key) -> None:
        self._due.pop(key, None)
        name = key[2]
        pods = self._pods.of(name)
        view = View(self._workloads(name, pods), pods, self._flavor, self._gates, self._placements.of)
        try:
            outcome = reconcile_node(name, self._cluster.get(*key), view, self._now())
        except (KueueFastError, LookupError) as error:
            log.warning("%s: %s", describe(key), error)
            return self._looks.again(key)
        if outcome.requeue_after_ns is not None:
            self._at(key, self._now() + outcome.requeue_after_ns)
        writes = [each for action in outcome.actions if (each := self._carry_out(name, action)) is not None]
        if writes:
            # They are of other objects, which do not bring the node back: what failed is tried again.
            self._looks.until(key, writes)

    def _carry_out(self, node: str, action: Action) -> asyncio.Future[bytes | None] | None:
        told: Event | None = None
        write: Write | None
        match action:
            case MarkNode(workload):
                log.info("node %s of %s has failed", node, describe(key_of(workload)))
                write = workload_status.admission(workload)
            case ClearNode(workload):
                log.info("node %s of %s has not failed any more", node, describe(key_of(workload)))
                write = workload_status.admission(workload)
            case EvictWorkload(workload, told):
                log.info("%s: %s", describe(key_of(workload)), told.message)
                write = workload_status.admission(workload)
            case TerminatePod(pod, told):
                known: Pod | None = self._cluster.get(*key_of(pod))
                write = None if known is None else patches.update_status(known, pod)
        return None if write is None else self._submit(write, told)

    def _submit(self, write: Write, told: Event | None) -> asyncio.Future[bytes | None]:
        def done(answer: asyncio.Future[bytes | None]) -> None:
            if told is not None and not answer.cancelled() and answer.exception() is None:
                self._events.record(TOPOLOGY, told)

        future = self._writer.submit(write)
        future.add_done_callback(done)
        return future

    def _workloads(self, node: str, pods: list[Pod]) -> list[Workload]:
        keys = workloads_of_node(self._placements.on_node(node), pods)
        found = (self._cluster.get(Workload.KIND, *key) for key in keys)
        return [each for each in found if each is not None]

    def _flavor(self, name: str) -> ResourceFlavor | None:
        found: ResourceFlavor | None = self._cluster.get(ResourceFlavor.KIND, None, name)
        return found


def _tell_unreadable(workload: Workload, error: InputError) -> None:
    log.error("%s is passed over: %s", describe(key_of(workload)), error)
