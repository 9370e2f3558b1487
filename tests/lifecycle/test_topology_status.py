"""The finalizer of Topologies, and which changes ask to look again."""

from typing import Any

import pytest

from kueue_fast.api.core import Node, Pod
from kueue_fast.api.kueue import ClusterQueue, ResourceFlavor, Topology
from kueue_fast.lifecycle.topology_status import deletion_frees, is_used, reconcile_topology
from kueue_fast.lifecycle.topology_triggers import (
    flavor_calls,
    flavors_of_node_change,
    freed_node,
    node_changed,
    queues_of_nodes,
)
from tests.placed import UNCONSTRAINED, as_struct, pod

FINALIZER = "kueue.x-k8s.io/resource-in-use"
LATER = "2026-01-01T02:00:00Z"


def topology(*finalizers: str, deleted: bool = False) -> Topology:
    metadata = {
        "name": "t",
        "finalizers": finalizers or None,
        "deletionTimestamp": LATER if deleted else None,
    }
    return as_struct({"metadata": metadata, "spec": {"levels": [{"nodeLabel": "rack"}]}}, Topology)


# Topology, used, finalizers afterwards (None: nothing to write).
FINALIZERS: dict[str, tuple[Topology, bool, list[str] | None]] = {
    "a new one": (topology(), False, [FINALIZER]),
    "beside others": (topology("other"), True, ["other", FINALIZER]),
    "it has it": (topology("other", FINALIZER), False, None),
    "deleted and used": (topology(FINALIZER, deleted=True), True, None),
    "deleted and not used": (topology(FINALIZER, "other", deleted=True), False, ["other"]),
    "the last one": (topology(FINALIZER, deleted=True), False, []),
    "deleted and without it": (topology("other", deleted=True), False, None),
}


@pytest.mark.parametrize("case", FINALIZERS)
def test_finalizers(case: str) -> None:
    before, used, want = FINALIZERS[case]
    got = reconcile_topology(before, used)
    assert (None if got is None else got.metadata.finalizers or []) == want


def flavor(topology: str | None = None, *taints: str) -> ResourceFlavor:
    spec = {"topologyName": topology, "nodeTaints": [{"key": key, "effect": "NoSchedule"} for key in taints]}
    return as_struct({"metadata": {"name": "f"}, "spec": spec}, ResourceFlavor)


def test_who_uses_a_topology() -> None:
    assert is_used("t", flavor("t"))
    assert not is_used("t", flavor("other"))
    assert not is_used("t", flavor())
    assert deletion_frees(flavor("t")) == "t"
    assert deletion_frees(flavor()) is None


BARE = as_struct({"metadata": {"name": "f"}}, ResourceFlavor)
FLAVORS: dict[str, tuple[ResourceFlavor | None, ResourceFlavor | None, bool]] = {
    "created": (None, flavor("t"), True),
    "created without topology": (None, flavor(), False),
    "created without spec": (None, BARE, False),
    "deleted": (flavor("t"), None, False),
    "the same": (flavor("t", "a"), flavor("t", "a"), False),
    "another taint": (flavor("t", "a"), flavor("t", "b"), True),
    "another taint without topology": (flavor(None, "a"), flavor(None, "b"), False),
    "it got a topology": (flavor(), flavor("t"), True),
    "another topology": (flavor("t"), flavor("u"), True),
    "it has none any more": (flavor("t"), flavor(), False),
}


@pytest.mark.parametrize("case", FLAVORS)
def test_changes_of_flavors(case: str) -> None:
    old, new, want = FLAVORS[case]
    assert flavor_calls(old, new) is want


def node(
    spec: dict[str, Any] | None = None,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    allocatable: dict[str, Any] | None = None,
    version: str = "1",
    **conditions: str,
) -> Node:
    status = {
        "allocatable": {"cpu": "8", "memory": "32Gi"} if allocatable is None else allocatable,
        "conditions": [
            {"type": kind, "status": value, "lastTransitionTime": LATER if version == "2" else None}
            for kind, value in (conditions or {"Ready": "True"}).items()
        ],
    }
    metadata = {
        "name": "n",
        "labels": {"rack": "r1"} if labels is None else labels,
        "annotations": annotations,
        "resourceVersion": version,
    }
    return as_struct({"metadata": metadata, "spec": spec, "status": status}, Node)


TAINT = {"key": "test", "effect": "NoExecute"}
NODES: dict[str, tuple[Node | None, Node | None, bool]] = {
    "created": (None, node(), True),
    "deleted": (node(), None, True),
    "heartbeats and versions": (node(), node(version="2"), False),
    "the same amounts, written otherwise": (
        node(),
        node(allocatable={"cpu": "8000m", "memory": "34359738368"}),
        False,
    ),
    "other amounts": (node(), node(allocatable={"cpu": "16", "memory": "32Gi"}), True),
    "another resource": (node(), node(allocatable={"cpu": "8", "memory": "32Gi", "gpu": 0}), True),
    "no spec, said otherwise": (node(), node(spec={"unschedulable": False, "taints": []}), False),
    "takes no pods": (node(), node(spec={"unschedulable": True}), True),
    "a label": (node(), node(labels={"rack": "r2"}), True),
    "an annotation": (node(), node(annotations={"a": "b"}), True),
    "another value of an annotation": (node(annotations={"a": "b"}), node(annotations={"a": "c"}), True),
    "another value of a label": (node(labels={"a": "b"}), node(labels={"a": "c"}), True),
    "no annotations, said otherwise": (node(), node(annotations={}), False),
    "a taint": (node(), node(spec={"taints": [TAINT]}), True),
    "the time of a taint": (
        node(spec={"taints": [TAINT]}),
        node(spec={"taints": [{**TAINT, "timeAdded": LATER}]}),
        True,
    ),
    "not ready": (node(), node(Ready="False"), True),
    "another condition": (node(), node(Ready="True", DiskPressure="True"), True),
    "a condition less": (node(Ready="True", DiskPressure="False"), node(), True),
    "conditions in another order": (
        node(Ready="True", DiskPressure="False"),
        node(DiskPressure="False", Ready="True"),
        False,
    ),
}


@pytest.mark.parametrize("case", NODES)
def test_changes_of_nodes(case: str) -> None:
    old, new, want = NODES[case]
    assert node_changed(old, new) is want


KNOWN = {
    "racks": ({}, ("rack",)),
    "zones": ({}, ("zone",)),
    "spot": ({"type": "spot"}, ("rack",)),
    "typeless": ({"type": ""}, ("rack",)),
}
MEMBERS: dict[str, tuple[Node | None, Node | None, list[str]]] = {
    "created": (None, node(), ["racks", "typeless"]),
    "created and not ready": (None, node(Ready="False"), ["racks", "typeless"]),
    "deleted": (node(), None, ["racks", "typeless"]),
    "nothing new": (node(), node(version="2"), []),
    "from flavor to flavor": (
        node(labels={"rack": "", "type": "spot"}),
        node(labels={"zone": "z"}),
        ["racks", "spot", "zones"],
    ),
    "of no flavor": (node(labels={}), node(labels={"a": "b"}), []),
}


@pytest.mark.parametrize("case", MEMBERS)
def test_flavors_of_a_node(case: str) -> None:
    old, new, want = MEMBERS[case]
    assert flavors_of_node_change(old, new, KNOWN) == want


def other(node: str | None = "n1", *, phase: str = "Running", **requests: str) -> Pod:
    """A pod that Kueue does not place."""
    made = pod("p", node=node, phase=phase, annotations={UNCONSTRAINED: None})
    containers = [{"name": "c", "resources": {"requests": requests or {"cpu": "2"}}}]
    made.spec.containers = as_struct({"containers": containers}, type(made.spec)).containers
    return made


FREED: dict[str, tuple[Pod | None, Pod | None, str | None]] = {
    "came": (None, other(), None),
    "was scheduled": (other(None), other(), None),
    "was never scheduled": (other(None), None, None),
    "left": (other(), None, "n1"),
    "ended": (other(), other(phase="Succeeded"), "n1"),
    "failed": (other(), other(phase="Failed"), "n1"),
    "went after it had ended": (other(phase="Failed"), None, None),
    "is placed by Kueue now": (other(), pod("p", node="n1"), "n1"),
    "was placed by Kueue": (pod("p", node="n1"), None, None),
    "moved": (other(), other("n2"), "n1"),
    "the same": (other(), other(), None),
    "the same amount": (other(cpu="2"), other(cpu="2000m"), None),
    "less": (other(cpu="2"), other(cpu="1"), "n1"),
    "more": (other(cpu="2"), other(cpu="3"), None),
    "less of one and more of another": (
        other(cpu="2", memory="1Gi"),
        other(cpu="1", memory="2Gi"),
        "n1",
    ),
    "a request that is not made any more": (other(cpu="2", memory="1Gi"), other(cpu="2"), None),
}


@pytest.mark.parametrize("case", FREED)
def test_pods_that_make_room(case: str) -> None:
    old, new, want = FREED[case]
    assert freed_node(old, new) == want


def test_which_queues_room_on_a_node_concerns() -> None:
    """Not those of flavors without a topology, or with one that is not there."""

    def flavor(name: str, **spec: Any) -> Any:
        return as_struct({"metadata": {"name": name}, "spec": spec}, ResourceFlavor)

    def queue(name: str, *flavors: str) -> Any:
        offered = [{"name": each, "resources": []} for each in flavors]
        groups = [{"coveredResources": ["cpu"], "flavors": offered}]
        return as_struct({"metadata": {"name": name}, "spec": {"resourceGroups": groups}}, ClusterQueue)

    node = as_struct({"metadata": {"name": "n", "labels": {"rack": "r", "type": "a"}}}, Node)
    flavors = [
        flavor("here", topologyName="t", nodeLabels={"type": "a"}),
        flavor("elsewhere", topologyName="t", nodeLabels={"type": "b"}),
        flavor("lost", topologyName="gone"),
        flavor("plain"),
    ]
    queues = [queue("q1", "plain", "here"), *(queue(each, each) for each in ("elsewhere", "lost", "plain"))]
    assert queues_of_nodes([node], flavors, [topology()], queues) == {"q1"}
    assert queues_of_nodes([], flavors, [topology()], queues) == set()
