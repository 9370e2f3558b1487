"""Which signs of a node's failure count, as plain fields, and what makes one look at a node.

Source: section 1 of the topology rules, TP-1401.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kueue_fast.api.core import Node, Pod
from kueue_fast.api.meta import Condition
from kueue_fast.lifecycle.pods import is_terminal, selected_node
from kueue_fast.lifecycle.status import TRUE
from kueue_fast.model import conditions
from kueue_fast.model.features import FeatureGates
from kueue_fast.model.other_pods import is_topology_pod

__all__ = ["POD_DELAY_NS", "NodeGates", "is_ready", "node_calls", "nodes_of_pod", "ready_condition"]

READY: Final = "Ready"
POD_DELAY_NS: Final = 100_000_000
"""How long an event of a pod waits for others of its node before the node is looked at."""


class NodeGates(NamedTuple):
    """The gates TASFailedNodeReplacement, TASReplaceNodeOnPodTermination, TASReplaceNodeDueToNotReadyOverFixedTime
    and TASReplaceNodeOnNodeTaints.
    """

    replacement: bool = True
    pod_termination: bool = True
    fixed_time: bool = False
    taints: bool = True

    @classmethod
    def read(cls, gates: FeatureGates) -> NodeGates:
        """Gates as they stand."""
        return cls(
            replacement=gates.enabled("TASFailedNodeReplacement"),
            pod_termination=gates.enabled("TASReplaceNodeOnPodTermination"),
            fixed_time=gates.enabled("TASReplaceNodeDueToNotReadyOverFixedTime"),
            taints=gates.enabled("TASReplaceNodeOnNodeTaints"),
        )


def ready_condition(node: Node) -> Condition | None:
    """The node's condition Ready."""
    return conditions.find(node.status.conditions if node.status is not None else None, READY)


def is_ready(node: Node) -> bool:
    """Whether the node's condition Ready is True."""
    found = ready_condition(node)
    return found is not None and found.status == TRUE


def node_calls(old: Node | None, new: Node | None, gates: NodeGates) -> bool:
    """Whether this change of a node (None: it did not exist, it is gone) asks to look for failures.

    Creation and deletion do; of a node that was there, a change of its readiness, and of its taints where these
    count. Source: TP-1401.
    """
    if not gates.replacement:
        return False
    if old is None or new is None:
        return True
    return is_ready(old) != is_ready(new) or (gates.taints and _taints(old) != _taints(new))


def nodes_of_pod(pod: Pod) -> list[str]:
    """Nodes to look at, `POD_DELAY_NS` later, after any event of this pod.

    A pod that waits for a host it was put on might never start there; a pod that ends on its node may have been
    the last that held a failed node back. Source: TP-1401.
    """
    if not is_topology_pod(pod):
        return []
    if not pod.spec.node_name:
        node = selected_node(pod)
        return [node] if node else []
    ends = pod.metadata.deletion_timestamp is not None or is_terminal(pod)
    return [pod.spec.node_name] if ends else []


def _taints(node: Node) -> list[object]:
    return list((node.spec.taints if node.spec is not None else None) or ())
