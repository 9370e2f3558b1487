"""What a kubelet says of its node: that it is there, what it holds, whether it is ready."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kueue_fast.api.core import Node, NodeStatus
from kueue_fast.api.meta import Condition
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.lifecycle.node_gates import READY, ready_condition
from kueue_fast.lifecycle.status import timestamp
from kueue_fast.model.topology_names import HOSTNAME
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.manifest import SimulationFacts

__all__ = ["registered", "schedule_changes", "with_readiness"]

DEFAULT_PODS: Final = "110"
PODS: Final = "pods"


def registered(node: Node, now_ns: int) -> Node:
    """The node of a manifest with what every node has: the label of its host name, room for pods, a condition Ready.

    What the manifest says of these stays; allocatable is the capacity where it says nothing.
    """
    labels = node.metadata.labels or {}
    if HOSTNAME not in labels:
        metadata = msgspec.structs.replace(node.metadata, labels={**labels, HOSTNAME: node.metadata.name})
        node = msgspec.structs.replace(node, metadata=metadata)
    status = node.status or NodeStatus()
    if status.allocatable is None:
        status = msgspec.structs.replace(status, allocatable=status.capacity or {})
    allocatable = status.allocatable or {}
    if PODS not in allocatable:
        status = msgspec.structs.replace(status, allocatable={**allocatable, PODS: DEFAULT_PODS})
    node = msgspec.structs.replace(node, status=status)
    return node if ready_condition(node) is not None else with_readiness(node, True, now_ns)


def with_readiness(node: Node, ready: bool, now_ns: int) -> Node:
    """The node, ready or not from now on; the same node if it is so already."""
    status = node.status or NodeStatus()
    wanted = "True" if ready else "False"
    found = ready_condition(node)
    if found is not None and found.status == wanted:
        return node
    condition = Condition(
        type=READY,
        status=wanted,
        reason="KubeletReady" if ready else "KubeletNotReady",
        message="kubelet is posting ready status" if ready else "kubelet has stopped",
        last_transition_time=timestamp(now_ns),
    )
    others = [each for each in status.conditions or () if each.type != READY]
    return msgspec.structs.replace(
        node, status=msgspec.structs.replace(status, conditions=[*others, condition])
    )


def schedule_changes(
    cluster: MemoryCluster, clock: VirtualClock, name: str, facts: SimulationFacts, start_ns: int
) -> None:
    """Have a node fail and recover when its manifest says so; a time that has passed is now."""

    def change(ready: Any) -> None:
        node: Node | None = cluster.get(Node.KIND, None, name)
        if node is not None:
            cluster.update_status(with_readiness(node, ready, clock.now))

    for moments, ready in ((facts.fails_at, False), (facts.recovers_at, True)):
        for moment in moments:
            clock.schedule(moment.at(start_ns), change, ready)
