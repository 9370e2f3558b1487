"""Pods by the nodes that they run on or ask for by name, and the Workloads that the end of a node concerns.

Source: TP-1401, TP-1405.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from kueue_fast.api.core import Pod
from kueue_fast.lifecycle.pods import selected_node, workload_of_pod

__all__ = ["PodsByNode", "workloads_of_node"]

Key: TypeAlias = tuple[str, str]
"""Namespace and name."""


class PodsByNode:
    """Keeps pods; those of a node in the order in which they came to it."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[Key, Pod]] = {}
        self._nodes_of: dict[Key, set[str]] = {}

    def of(self, node: str) -> list[Pod]:
        """Pods that run on the node or ask for it."""
        return list(self._pods.get(node, {}).values())

    def keep(self, pod: Pod, *, over: bool) -> None:
        """Keep the pod as it is now; `over`: not any more."""
        key = pod.metadata.namespace or "", pod.metadata.name
        nodes = set() if over else {each for each in (pod.spec.node_name, selected_node(pod)) if each}
        for name in self._nodes_of.get(key, set()) - nodes:
            pods = self._pods[name]
            del pods[key]
            if not pods:
                del self._pods[name]
        for name in nodes:
            self._pods.setdefault(name, {})[key] = pod
        if nodes:
            self._nodes_of[key] = nodes
        else:
            self._nodes_of.pop(key, None)


def workloads_of_node(placed: Iterable[Key], pods: Iterable[Pod]) -> Iterator[Key]:
    """Workloads that were `placed` on a node, and those that its pods belong to, each once."""
    keys = dict.fromkeys(placed)
    for pod in pods:
        name = workload_of_pod(pod)
        if name is not None:
            keys[pod.metadata.namespace or "", name] = None
    yield from keys
