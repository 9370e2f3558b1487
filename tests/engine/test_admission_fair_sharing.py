"""Admission fair sharing: heads and victims by the past use of LocalQueues. Source: QC-13..17, QP-611, QP-920."""

from __future__ import annotations

import math
from typing import Any

import pytest

from kueue_fast.errors import InputError
from tests.arrays import objects as o
from tests.engine.small_cluster import victims, waits
from tests.engine.usage_based import GPU, MODE, SAMPLED, heads, in_local, local, queue, started

# --- order of heads. The queue has no quota, so every head is parked and makes way for the next one.

PAIR = [waits("a", "a", created=0), waits("b", "b", created=1)]
ORDER: dict[str, Any] = {
    "who used less": {"queues": [local("a", cpu="8"), local("b", cpu="2")], "want": ["b", "a"]},
    "use before priority": {
        "queues": [local("a", cpu="2"), local("b", cpu="1")],
        "workloads": [waits("a", "a", priority=2), waits("b", "b", priority=1)],
        "want": ["b", "a"],
    },
    "priority where the use is the same": {
        "queues": [local("a", cpu="2"), local("b", cpu="2000m")],
        "workloads": [waits("a", "a", priority=1), waits("b", "b", priority=2)],
        "want": ["b", "a"],
    },
    "age where use and priority are the same": {
        "queues": [local("a", cpu="2"), local("b", cpu="2")], "want": ["a", "b"],
    },
    "priority within a LocalQueue": {
        "queues": [local("a", cpu="2"), local("b", cpu="1")],
        "workloads": [waits("a1", "a"), waits("a2", "a", priority=3), waits("b", "b")],
        "want": ["b", "a2", "a1"],
    },
    "a queue without history before one with it": {"queues": [local("a", cpu="1m"), local("b")], "want": ["b", "a"]},
    "by the weights of the LocalQueues": {
        "queues": [local("a", cpu="10", weight="1"), local("b", cpu="12", weight="2")], "want": ["b", "a"],
    },
    "by a fraction of a weight": {
        "queues": [local("a", cpu="1", weight="0.1"), local("b", cpu="5")], "want": ["b", "a"],
    },
    "weight 0 last, also without use": {"queues": [local("a", weight="0"), local("b", cpu="99")], "want": ["b", "a"]},
    "two of weight 0 by age": {
        "queues": [local("a", cpu="5", weight="0"), local("b", weight="0")], "want": ["a", "b"],
    },
    "by the weights of resources": {
        "queues": [local("a", cpu="1", gpu="10"), local("b", cpu="1000", gpu="1")],
        "sharing": {**SAMPLED, "resourceWeights": {"cpu": 0, GPU: 1}},
        "want": ["b", "a"],
    },
    "all resources together, 1 each, without weights": {
        "queues": [local("a", cpu="1", gpu="10"), local("b", cpu="1000", gpu="1")], "want": ["a", "b"],
    },
    "without a half life nothing is remembered": {
        "queues": [local("a", cpu="8"), local("b")], "sharing": {"usageHalfLifeTime": "0s"}, "want": ["a", "b"],
    },
    "the half life is 0 by default": {"queues": [local("a", cpu="8"), local("b")], "sharing": {}, "want": ["a", "b"]},
    "age without the mode": {"queues": [local("a", cpu="8"), local("b")], "scope": None, "want": ["a", "b"]},
    "age with the other mode": {
        "queues": [local("a", cpu="8"), local("b")], "scope": {"admissionMode": "NoAdmissionFairSharing"},
        "want": ["a", "b"],
    },
    "age without the configuration": {
        "queues": [local("a", cpu="8"), local("b")], "sharing": None, "want": ["a", "b"],
    },
    "age without the gate": {
        "queues": [local("a", cpu="8"), local("b")], "gates": {"AdmissionFairSharing": False}, "want": ["a", "b"],
    },
}  # fmt: skip


@pytest.mark.parametrize("case", ORDER.values(), ids=ORDER)
def test_heads_come(case: Any) -> None:
    cluster_queue = queue(scope=case.get("scope", MODE))
    engine = started(
        cluster_queue, *case["queues"], *case.get("workloads", PAIR),
        sharing=case.get("sharing", SAMPLED), gates=case.get("gates"),
    )  # fmt: skip
    assert heads(engine) == case["want"]


@pytest.mark.parametrize("objects", [0, 1, 2], ids=["queue first", "local queues first", "workloads first"])
def test_the_order_of_arrival_of_the_objects_does_not_matter(objects: int) -> None:
    groups = [[queue()], [local("a", cpu="8"), local("b", cpu="2")], PAIR]
    turned = groups[objects:] + groups[:objects]
    assert heads(started(*turned[0], *turned[1], *turned[2])) == ["b", "a"]


def test_use_precedes_stickiness() -> None:
    """A preemptor that waits for its victims keeps the first place only among LocalQueues of the same use."""
    preemption = {"withinClusterQueue": "LowerPriority"}
    for used, want in (("1", "b"), ("0", "a")):
        engine = started(
            queue(1, preemption=preemption), local("a", cpu=used), local("b"), local("c"),
            in_local("victim", "c"), waits("a", "a", priority=5),
        )  # fmt: skip
        assert o.cycle(engine).requeued[0].outcome == "Preempting"
        o.feed(engine, waits("b", "b", priority=9))
        assert o.cycle(engine).requeued[0].workload == f"default/{want}"


def test_a_change_of_the_mode_is_read_again() -> None:
    engine = started(queue(scope=None), local("a", cpu="8"), local("b"), *PAIR)
    o.feed(engine, queue())
    assert heads(engine) == ["b", "a"]
    o.feed(engine, queue(scope=None))
    engine.flush(o.START, all=True)
    assert heads(engine) == ["a", "b"]


def test_a_change_of_a_weight_is_read_again() -> None:
    engine = started(queue(), local("a", cpu="8"), local("b", cpu="6"), *PAIR)
    o.feed(engine, local("a", weight="2"))
    assert heads(engine) == ["a", "b"]


def test_a_deleted_local_queue_leaves_nothing() -> None:
    engine = started(queue(), local("a", cpu="8"), local("b", cpu="1"), *PAIR)
    engine.delete("LocalQueue", "default", "a")
    o.feed(engine, local("a"))
    assert heads(engine) == ["a", "b"]


# --- bad input

BAD: dict[str, Any] = {
    "a negative half life": ({"usageHalfLifeTime": "-1s"}, "$.admissionFairSharing.usageHalfLifeTime"),
    "a negative interval": ({"usageSamplingInterval": "-5m"}, "$.admissionFairSharing.usageSamplingInterval"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_a_configuration_is_refused(case: Any) -> None:
    sharing, want_field = case
    with pytest.raises(InputError) as caught:
        started(sharing=sharing)
    assert (caught.value.object, caught.value.field) == ("Configuration", want_field)


def test_a_local_queue_with_a_bad_quantity_is_refused_and_changes_nothing() -> None:
    engine = started(queue(), local("a", cpu="8"), local("b", cpu="9"), *PAIR)
    with pytest.raises(InputError) as caught:
        o.feed(engine, local("a", weight="lots"))
    assert (caught.value.object, caught.value.field) == ("LocalQueue default/a", "$.spec.fairSharing.weight")
    with pytest.raises(InputError, match="1x"):
        o.feed(engine, local("c", cpu="1x"))
    assert heads(engine) == ["a", "b"]


def test_an_infinite_use_is_no_trouble() -> None:
    weights = {"resourceWeights": {"cpu": 1e308}}
    engine = started(
        queue(), local("a", cpu="1E"), local("b", cpu="1"), *PAIR, sharing={**SAMPLED, **weights}
    )
    assert math.isinf(1e308 * 1e18)
    assert heads(engine) == ["b", "a"]


# --- victims

USED = [local("low", cpu="1"), local("high", cpu="9"), local("in")]
VICTIMS: dict[str, Any] = {
    "one of the LocalQueue that used more, though its priority is higher": {
        "held": [in_local("l", "low", priority=0), in_local("h", "high", priority=5)], "want": ["h"],
    },
    "by priority within a LocalQueue": {
        "held": [in_local("h1", "high", priority=5), in_local("h2", "high", priority=4)], "want": ["h2"],
    },
    "with fair sharing, too": {
        "held": [in_local("l", "low", priority=0), in_local("h", "high", priority=5)], "fair": {"fairSharing": {}},
        "want": ["h"],
    },
    "by priority without the mode": {
        "held": [in_local("l", "low", priority=0), in_local("h", "high", priority=5)], "scope": None, "want": ["l"],
    },
    "by priority without the configuration": {
        "held": [in_local("l", "low", priority=0), in_local("h", "high", priority=5)], "sharing": None, "want": ["l"],
    },
}  # fmt: skip


@pytest.mark.parametrize("case", VICTIMS.values(), ids=VICTIMS)
def test_the_victim_is(case: Any) -> None:
    engine = started(
        queue(2, scope=case.get("scope", MODE), preemption={"withinClusterQueue": "LowerPriority"}), *USED,
        *case["held"], waits("w", "in", priority=10), sharing=case.get("sharing", SAMPLED), **case.get("fair", {}),
    )  # fmt: skip
    assert [name for name, _ in victims(o.cycle(engine))] == case["want"]


def test_victims_of_several_queues_keep_the_places_of_their_queue() -> None:
    """By the usual rules: o1, x, y, o2. `other` orders by use, so that of its places the first is o2's (QP-920).

    The request asks for one more cpu at a time; without fill-back each search takes the front of the order.
    """
    taken = []
    for cpu in (1, 2, 3, 4):
        engine = started(
            queue(4, cohort="all", scope=None, preemption={"reclaimWithinCohort": "Any"}),
            queue(0, "other", cohort="all"),
            queue(0, "third", cohort="all", scope=None),
            local("in"), local("low", target="other", cpu="1"), local("high", target="other", cpu="9"),
            local("plain", target="third"),
            in_local("o1", "low", "other", priority=1), in_local("o2", "high", "other", priority=4),
            in_local("x", "plain", "third", priority=2), in_local("y", "plain", "third", priority=3),
            waits("w", "in", cpu, priority=9),
        )  # fmt: skip
        taken.append({name for name, _ in victims(o.cycle(engine))})
    assert taken == [{"o2"}, {"o2", "x"}, {"o2", "x", "y"}, {"o2", "x", "y", "o1"}]
