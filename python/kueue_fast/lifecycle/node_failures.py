"""A node fails, or comes back: what becomes of the Workloads that have pods on it.

A failed node is noted on each of its Workloads, and the scheduler looks for another one. At most one node of a
Workload is replaced at a time: a second one that fails meanwhile evicts it.

Source: TP-1402..1409.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec

from kueue_fast.api.core import Node, Pod
from kueue_fast.api.kueue import ResourceFlavor, UnhealthyNode, Workload
from kueue_fast.lifecycle import events
from kueue_fast.lifecycle.events import Event
from kueue_fast.lifecycle.eviction import BY_NODE_FAILURES, evicted, is_evicted
from kueue_fast.lifecycle.finish import is_finished
from kueue_fast.lifecycle.node_gates import NodeGates, is_ready, ready_condition
from kueue_fast.lifecycle.node_taints import Tolerance, tolerance
from kueue_fast.lifecycle.pods import (
    selected_node,
    slice_name,
    slice_of_pod,
    workload_of_pod,
)
from kueue_fast.lifecycle.status import TRUE, with_status, writable_status
from kueue_fast.lifecycle.stranded_pods import TerminatePod, is_progressing, is_stranded, terminated
from kueue_fast.model import times
from kueue_fast.model.other_pods import is_topology_pod
from kueue_fast.model.placements import PlacementsOf, has_placement_on, is_placed, placements
from kueue_fast.model.topology_nodes import blocking_taints

__all__ = [
    "FAILURE_DELAY_NS",
    "Action",
    "ClearNode",
    "EvictWorkload",
    "MarkNode",
    "NodeOutcome",
    "TerminatePod",
    "View",
    "reconcile_node",
]

FAILURE_DELAY_NS: Final = 30 * times.SECOND
"""How long a node may be not ready before that alone counts as a failure, with the gate for it."""


class MarkNode(NamedTuple):
    """Write the status of the Workload: the node is one of its unhealthy nodes now."""

    workload: Workload


class ClearNode(NamedTuple):
    """Write the status of the Workload: the node is not unhealthy any more."""

    workload: Workload


class EvictWorkload(NamedTuple):
    """Write the status of the Workload, which is told to stop, then record the event."""

    workload: Workload
    event: Event


Action: TypeAlias = MarkNode | ClearNode | EvictWorkload | TerminatePod


class NodeOutcome(NamedTuple):
    """What to write, in order, and after how many ns to look at the node again (None: when something happens)."""

    actions: list[Action]
    requeue_after_ns: int | None = None


class View(NamedTuple):
    """What is read besides the node.

    `workloads` are those to look at: all, or at least those that `placements.nodes` or a pod's selector leads to.
    `pods` likewise: all, or at least those that run on the node or ask for it by their node selector. `flavor`
    gives a ResourceFlavor by name.
    """

    workloads: Iterable[Workload]
    pods: Sequence[Pod]
    flavor: Callable[[str], ResourceFlavor | None]
    gates: NodeGates = NodeGates()
    placements: PlacementsOf = placements


class _Verdict(NamedTuple):
    healthy: bool
    ends_pods: bool


def reconcile_node(name: str, node: Node | None, view: View, now_ns: int) -> NodeOutcome:
    """What the state of a node (None: there is none of this name) asks for at a time in ns since 1970.

    Workloads come in the order of namespace and name, their pods by name. Raises LookupError for a flavor that
    does not exist.

    Source: TP-1403..1405, TP-2013.
    """
    gates = view.gates
    workloads = sorted(
        (each for each in view.workloads if not is_finished(each) and not is_evicted(each)), key=_key
    )
    on_node = {
        _key(each): each
        for each in workloads
        if is_placed(each) and has_placement_on(view.placements(each), name)
    }
    ready = None if node is None else ready_condition(node)
    if node is None or ready is None:
        return NodeOutcome([*_mark_all(on_node.values(), name, now_ns).values()])
    rest_ns = 0
    if ready.status != TRUE and ready.last_transition_time:
        rest_ns = max(0, times.parse(ready.last_transition_time) + FAILURE_DELAY_NS - now_ns)
    if rest_ns and not gates.pod_termination:
        return NodeOutcome([], rest_ns)
    overdue = gates.fixed_time and ready.status != TRUE and not rest_ns
    marked = _mark_all(on_node.values(), name, now_ns) if overdue else {}
    strays = _selecting(view.pods, name)
    progressing = {
        (pod.metadata.namespace or "", slice_of_pod(pod)) for pod in view.pods if is_progressing(pod, name)
    }
    actions: list[Action] = [*marked.values()]
    terminations: list[Action] = []
    for workload in workloads:
        key = _key(workload)
        before = marked.get(key)
        if isinstance(before, EvictWorkload) or not (key in on_node or key in strays):
            continue
        progresses = (key[0], slice_name(workload)) in progressing
        verdict = _judge(name, node, workload, progresses, view)
        action: Action | None = None
        # What waited for its time is not taken back because pods still run.
        if not (overdue and key in on_node):
            action = (_clear if verdict.healthy else _mark)(workload, name, now_ns)
        if action is not None:
            actions.append(action)
        if verdict.ends_pods and not isinstance(action, EvictWorkload):
            terminations += [terminated(pod, now_ns) for pod in strays.get(key, ()) if is_stranded(pod)]
    # Nobody calls back when the time is over (TP-2013).
    return NodeOutcome(actions + terminations, rest_ns if gates.fixed_time and rest_ns else None)


def _judge(name: str, node: Node, workload: Workload, progresses: bool, view: View) -> _Verdict:
    """Whether the node is good for a Workload, `progresses` saying that one of its pods goes on there, and whether
    pods that wait for the node are to be ended. Source: TP-1405, TP-1406.
    """
    gates = view.gates
    placed = view.placements(workload)
    if not has_placement_on(placed, name):
        return _Verdict(True, True)
    if not is_ready(node):
        return _Verdict(progresses, True) if gates.pod_termination else _Verdict(False, False)
    taints = blocking_taints(node.spec.taints if gates.taints and node.spec is not None else None)
    if not taints:
        return _Verdict(True, False)
    match tolerance(taints, name, workload, placed, view.flavor):
        case Tolerance.FOREVER:
            return _Verdict(True, False)
        case Tolerance.NONE if not gates.pod_termination:
            return _Verdict(False, False)
    return _Verdict(progresses, True)


def _selecting(pods: Iterable[Pod], node: str) -> dict[tuple[str, str], list[Pod]]:
    """Pods that ask for the node, by their Workload, in the order of their names."""
    found: dict[tuple[str, str], list[Pod]] = {}
    for pod in sorted(pods, key=_key):
        workload = workload_of_pod(pod)
        if workload is not None and selected_node(pod) == node and is_topology_pod(pod):
            found.setdefault((pod.metadata.namespace or "", workload), []).append(pod)
    return found


def _mark_all(
    workloads: Iterable[Workload], node: str, now_ns: int
) -> dict[tuple[str, str], MarkNode | EvictWorkload]:
    return {_key(each): action for each in workloads if (action := _mark(each, node, now_ns)) is not None}


def _mark(workload: Workload, node: str, now_ns: int) -> MarkNode | EvictWorkload | None:
    """Note the node, or evict for a second one; None when it is noted already. Source: TP-1408."""
    before = (workload.status.unhealthy_nodes if workload.status is not None else None) or []
    names = [each.name for each in before]
    if node in names:
        return None
    if names:
        message = (
            "Workload eviction triggered due to multiple TAS assigned node failures, including: "
            + ", ".join([*names, node])
        )
        namespace, name = _key(workload)
        return EvictWorkload(
            evicted(workload, BY_NODE_FAILURES, message, now_ns),
            events.evicted(namespace, name, BY_NODE_FAILURES, message, now_ns),
        )
    return MarkNode(_with_unhealthy(workload, [UnhealthyNode(name=node)]))


def _clear(workload: Workload, node: str, _now_ns: int) -> ClearNode | None:
    """Take the node off the list; None when it is not on it. Source: TP-1409."""
    before = (workload.status.unhealthy_nodes if workload.status is not None else None) or []
    kept = [each for each in before if each.name != node]
    return None if len(kept) == len(before) else ClearNode(_with_unhealthy(workload, kept or None))


def _with_unhealthy(workload: Workload, nodes: list[UnhealthyNode] | None) -> Workload:
    status = msgspec.structs.replace(writable_status(workload), unhealthy_nodes=nodes)
    return with_status(workload, status)


def _key(obj: Workload | Pod) -> tuple[str, str]:
    return obj.metadata.namespace or "", obj.metadata.name
