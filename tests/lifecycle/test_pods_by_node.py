"""Which pods belong to a node, as they come, move and go; and the Workloads that its end concerns."""

from typing import Any

import msgspec

from kueue_fast.api.core import Pod
from kueue_fast.lifecycle.pods_by_node import PodsByNode, workloads_of_node

WORKLOAD = "kueue.x-k8s.io/workload"


def pod(name: str, node: str | None = None, asks: str | None = None, workload: str = "") -> Pod:
    spec: dict[str, Any] = {"containers": []}
    if node is not None:
        spec["nodeName"] = node
    if asks is not None:
        spec["nodeSelector"] = {"kubernetes.io/hostname": asks}
    annotations = {WORKLOAD: workload} if workload else {}
    metadata = {"name": name, "namespace": "ns", "annotations": annotations}
    return msgspec.convert({"metadata": metadata, "spec": spec}, Pod)


def names(pods: PodsByNode, node: str) -> list[str]:
    return [each.metadata.name for each in pods.of(node)]


def test_pods_are_kept_by_the_nodes_that_they_run_on_or_ask_for() -> None:
    pods = PodsByNode()
    for each in (pod("a", node="x"), pod("b", asks="x"), pod("c"), pod("d", node="x", asks="y")):
        pods.keep(each, over=False)
    assert (names(pods, "x"), names(pods, "y"), names(pods, "z")) == (["a", "b", "d"], ["d"], [])
    pods.keep(pod("b", node="y"), over=False)
    pods.keep(pod("a", node="x"), over=True)
    assert (names(pods, "x"), names(pods, "y")) == (["d"], ["d", "b"])
    pods.keep(pod("a", node="x"), over=True)
    assert names(pods, "x") == ["d"]


def test_workloads_of_a_node_are_those_placed_there_and_those_of_its_pods() -> None:
    pods = [pod("a", workload="w"), pod("b", workload="v"), pod("c"), pod("d", workload="w")]
    assert list(workloads_of_node([("ns", "v"), ("other", "v")], pods)) == [
        ("ns", "v"),
        ("other", "v"),
        ("ns", "w"),
    ]
