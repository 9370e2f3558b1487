"""Classes of nodes, and the matrix of filters and classes."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from kueuecore._topology import Topologies

from kueue_fast.api.core import Taint
from kueue_fast.arrays.node_classes import ALL_PASS, NodeClasses
from kueue_fast.arrays.node_store import NodeFacts
from kueue_fast.model.node_filter import NO_UPDATES, NodeFilter, Updates, node_filter
from tests.arrays.trees import HOST, flavor, node, pod_spec, rows, topology

TAINTS: list[tuple[Taint, ...]] = [(), (Taint(key="k", value="v", effect="NoSchedule"),)]


def on(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def affinity(*expressions: dict[str, Any], names: tuple[str, ...] = ()) -> dict[str, Any]:
    term: dict[str, Any] = {"matchExpressions": list(expressions)}
    if names:
        term["matchFields"] = [on("metadata.name", "In", *names)]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"affinity": {"nodeAffinity": required}}


def asked(**fields: Any) -> NodeFilter:
    return node_filter(pod_spec(**fields), None, NO_UPDATES, by_host=True, prefers_affinity=True)


class Nodes:
    """Some nodes and their classes, brought up to date as trees do it."""

    def __init__(self, **facts: NodeFacts) -> None:
        self.facts: Mapping[str, NodeFacts] = facts
        self.kernel = Topologies()
        self.classes = NodeClasses(self.kernel, TAINTS)
        self.class_of = {name: self.classes.class_of(each, name) for name, each in facts.items()}

    def ask(self, one: NodeFilter) -> dict[str, int]:
        row = self.classes.add_filter(one)
        for name in self.classes.touched(self.facts):
            self.class_of[name] = self.classes.class_of(self.facts[name], name)
        assert self.class_of == {
            name: self.classes.class_of(each, name) for name, each in self.facts.items()
        }, "a node that no filter touched is in another class"
        self.classes.fill()
        match = np.asarray(self.kernel.match)
        return {name: int(match[row, node_class]) for name, node_class in self.class_of.items()}


def test_nodes_are_told_apart_only_by_what_filters_look_at() -> None:
    facts = {
        f"n{number}": NodeFacts({"zone": "ab"[number % 2], HOST: f"n{number}"}, 0, 0) for number in range(100)
    }
    nodes = Nodes(**facts)
    assert set(nodes.class_of.values()) == {0}
    nodes.ask(asked(nodeSelector={"zone": "a"}))
    assert len(set(nodes.class_of.values())) == 2
    nodes.ask(asked(**affinity(on(HOST, "In", "n1", "n2"))))
    assert len(set(nodes.class_of.values())) == 4
    nodes.ask(asked(**affinity(on(HOST, "NotIn", "n1", "n2"), names=("n7",))))
    assert len(set(nodes.class_of.values())) == 5
    nodes.ask(asked(**affinity(on(HOST, "Exists"))))
    assert len(set(nodes.class_of.values())) == 5


FILTERS: dict[str, dict[str, Any]] = {
    "no demands": {},
    "selector": {"nodeSelector": {"zone": "a"}},
    "selector with two labels": {"nodeSelector": {"zone": "a", "cores": "8"}},
    "value not there": {"nodeSelector": {"zone": "q"}},
    "in": affinity(on("zone", "In", "a", "b")),
    "not in": affinity(on("zone", "NotIn", "a")),
    "exists": affinity(on("zone", "Exists")),
    "does not exist": affinity(on("cores", "DoesNotExist")),
    "greater": affinity(on("cores", "Gt", "8")),
    "less": affinity(on("cores", "Lt", "9")),
    "by name": affinity(names=("n3",)),
    "by name and label": affinity(on("zone", "NotIn", "b"), names=("n4",)),
    "tolerating": {"tolerations": [{"operator": "Exists"}]},
    "tolerating, with a selector": {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"zone": "b"}},
}
CODES = {None: 0, "nodeSelector": 1, "affinity": 2, 'taint "k=v:NoSchedule"': 3}


@pytest.mark.parametrize("seed", range(20))
def test_the_matrix_says_what_every_node_would_be_told(seed: int) -> None:
    draw = random.Random(seed)
    labels = [
        {
            key: value
            for key, value in (
                ("zone", draw.choice(["a", "b", "c", None])),
                ("cores", draw.choice(["8", "9", "x", None])),
            )
            if value
        }
        for _ in range(30)
    ]
    nodes = Nodes(
        **{f"n{number}": NodeFacts(each, draw.randrange(2), 0) for number, each in enumerate(labels)}
    )
    for fields in draw.sample(list(FILTERS.values()), len(FILTERS)):
        one = asked(**fields)
        want = {
            name: CODES[one.exclusion(TAINTS[facts.taints], facts.labels, name)]
            for name, facts in nodes.facts.items()
        }
        assert nodes.ask(one) == want


def test_the_row_of_all_that_pass_stays_empty() -> None:
    nodes = Nodes(a=NodeFacts({}, 1, 0))
    nodes.ask(asked())
    assert not np.asarray(nodes.kernel.match)[ALL_PASS].any()


def test_classes_that_come_later_are_filled_for_filters_that_are_there() -> None:
    made = rows(node("x"), levels=[HOST])
    row = made.filter_row(pod_spec(nodeSelector={"pool": "a"}), "f")
    made.refresh()
    for number in range(10):
        taint = {"key": f"k{number}", "effect": "NoSchedule"}
        made.set_node(node(f"n{number}", taints=[taint]))
    made.refresh()
    match = np.asarray(made._tables.topologies.match)
    assert set(range(3, 13)) <= set(match[row].tolist())


def test_preferred_affinity_scores_classes() -> None:
    preferred = [{"weight": 3, "preference": {"matchExpressions": [on("zone", "In", "a")]}}]
    fields = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}}
    nodes = Nodes(x=NodeFacts({"zone": "a"}, 0, 0), y=NodeFacts({}, 0, 0))
    assert nodes.ask(asked(**fields)) == {"x": 0, "y": 0}
    score = np.asarray(nodes.kernel.score)
    assert {name: int(score[1, node_class]) for name, node_class in nodes.class_of.items()} == {
        "x": 3,
        "y": 0,
    }


def test_equal_demands_have_one_row() -> None:
    made = rows(levels=[HOST])
    spec = pod_spec(nodeSelector={"zone": "a"}, tolerations=[{"key": "k"}])
    row = made.filter_row(spec, "f")
    assert row == made.filter_row(pod_spec(nodeSelector={"zone": "a"}, tolerations=[{"key": "k"}]), "f")
    assert row != made.filter_row(pod_spec(nodeSelector={"zone": "a"}), "f")
    assert row != made.filter_row(spec, "f", Updates({"x": "y"}, ()))
    made.set_flavor("g", flavor(tolerations=[{"key": "q", "operator": "Exists"}]))
    assert row != made.filter_row(spec, "g")


def test_demands_that_cannot_be_read_have_no_row_but_a_reason() -> None:
    made = rows(levels=[HOST])
    made.set_flavor("g", flavor("u"))
    made.set_topology("u", topology("rack"))
    selector, terms = pod_spec(nodeSelector={"zone": "no spaces"}), pod_spec(**affinity(on("zone", "Like")))
    assert [made.filter_row(selector, name) for name in ("f", "g")] == [-1, ALL_PASS]
    assert [made.filter_row(terms, name) for name in ("f", "g")] == [-1, -1]
    assert made.why_no_filter(selector, "f").startswith(
        "invalid node selectors: map[zone:no spaces], reason: "
    )
    assert made.why_no_filter(terms, "g").startswith("invalid affinity node selectors: &NodeSelector{")
    assert made.why_no_filter(selector, "g") == ""
