"""What makes one look at a node."""

import pytest

from kueue_fast.api.core import Node, Pod
from kueue_fast.lifecycle.node_gates import NodeGates, node_calls, nodes_of_pod
from kueue_fast.model.features import FeatureGates
from tests.placed import HOSTNAME, node, pod

TAINT = {"key": "foo", "effect": "NoSchedule"}
LATER = "2026-01-01T02:00:00Z"

CALLS: dict[str, tuple[Node | None, Node | None, bool]] = {
    "created": (None, node(), True),
    "deleted": (node(), None, True),
    "not ready any more": (node(), node("False"), True),
    "ready again": (node("Unknown"), node(), True),
    "not ready in another way": (node("Unknown"), node("False"), False),
    "nothing known any more": (node(), node(None), True),
    "ready for longer": (node(), node(since=LATER), False),
    "labels alone": (node(), node(labels={"a": "b"}), False),
    "a taint": (node(), node(taints=[TAINT]), True),
    "the time of a taint": (node(taints=[TAINT]), node(taints=[{**TAINT, "timeAdded": LATER}]), True),
    "no taints, said otherwise": (node(), node(taints=[]), False),
}


@pytest.mark.parametrize("case", CALLS)
def test_changes_of_nodes(case: str) -> None:
    old, new, want = CALLS[case]
    assert node_calls(old, new, NodeGates()) is want
    assert node_calls(old, new, NodeGates(replacement=False)) is False


def test_without_the_gate_taints_call_nobody() -> None:
    assert not node_calls(node(), node(taints=[TAINT]), NodeGates(taints=False))


PODS: dict[str, tuple[Pod, list[str]]] = {
    "waits for its host": (pod("p", select={HOSTNAME: "n1"}), ["n1"]),
    "waits for its host behind a gate": (pod("p", select={HOSTNAME: "n1"}, gates=["g"]), ["n1"]),
    "waits for a rack": (pod("p", select={"rack": "r1"}), []),
    "waits for nothing": (pod("p"), []),
    "runs": (pod("p", node="n1", select={HOSTNAME: "n1"}, phase="Running"), []),
    "failed": (pod("p", node="n1", phase="Failed"), ["n1"]),
    "succeeded": (pod("p", node="n1", phase="Succeeded"), ["n1"]),
    "leaves": (pod("p", node="n1", phase="Running", deleted=True), ["n1"]),
    "is not Kueue's": (
        pod(
            "p", node="n1", phase="Failed", annotations={"kueue.x-k8s.io/podset-unconstrained-topology": None}
        ),
        [],
    ),
}


@pytest.mark.parametrize("case", PODS)
def test_events_of_pods(case: str) -> None:
    a_pod, want = PODS[case]
    assert nodes_of_pod(a_pod) == want


MARKS = {
    "podset-required-topology": True,
    "podset-preferred-topology": True,
    "podset-unconstrained-topology": True,
    "podset-slice-required-topology": True,
    "podset-slice-required-topology-constraints": True,
    "podset-slice-size": False,
    "podset-group-name": False,
}


@pytest.mark.parametrize("case", MARKS)
def test_marks_that_make_a_pod_kueues(case: str) -> None:
    marks = {"kueue.x-k8s.io/podset-unconstrained-topology": None, f"kueue.x-k8s.io/{case}": ""}
    a_pod = pod(
        "p", select={HOSTNAME: "n1"}, annotations=marks if case != "podset-unconstrained-topology" else {}
    )
    assert bool(nodes_of_pod(a_pod)) is MARKS[case]


def test_gates_are_read() -> None:
    assert NodeGates.read(FeatureGates()) == NodeGates()
    names = (
        "TASFailedNodeReplacement",
        "TASReplaceNodeOnPodTermination",
        "TASReplaceNodeDueToNotReadyOverFixedTime",
        "TASReplaceNodeOnNodeTaints",
    )
    for number, name in enumerate(names):
        default = NodeGates()[number]
        got = NodeGates.read(FeatureGates({name: not default}))
        assert got == NodeGates()._replace(**{NodeGates._fields[number]: not default})
