"""Who may be preempted, and in which order: policies, ages, priorities. Source: QP-601..611, QP-701, QP-705, QC-10."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.small_cluster import (
    IN_QUEUE,
    RECLAIMED,
    Json,
    add,
    condition,
    cycle,
    held,
    outcomes,
    queue,
    quotas,
    started,
    tree,
    victims,
    waits,
)

# The queue `q` has 2 cpu, all held; a workload of priority 10 asks for 1, so the first candidate is the victim.
ORDER = {
    "the lower priority": {
        "held": [held("a", "q", priority=1), held("b", "q", priority=0)],
        "want": [("b", IN_QUEUE)],
    },
    "the one reserved later": {
        "held": [held("a", "q", since=1), held("b", "q", since=2)],
        "want": [("b", IN_QUEUE)],
    },
    "priority counts before the age of the reservation": {
        "held": [held("a", "q", priority=0, since=1), held("b", "q", priority=1, since=2)],
        "want": [("a", IN_QUEUE)],
    },
    "creation does not count": {
        "held": [held("a", "q", since=2, created=1), held("b", "q", since=1, created=2)],
        "want": [("a", IN_QUEUE)],
    },
    "the smaller uid among equals": {
        "held": [held("a", "q", metadata={"uid": "2"}), held("b", "q", metadata={"uid": "10"})],
        "want": [("b", IN_QUEUE)],
    },
    "a reservation without a time is as late as the cycle": {
        "held": [held("a", "q", since=None), held("b", "q", since=30)],
        "at": 40,
        "want": [("a", IN_QUEUE)],
    },
    "a reservation later than the cycle is later than one without a time": {
        "held": [held("a", "q", since=None), held("b", "q", since=50)],
        "at": 40,
        "want": [("b", IN_QUEUE)],
    },
    "one that stops already, whatever its priority; it is not evicted again": {
        "held": [held("a", "q", priority=0), held("b", "q", priority=9, evicted=True)],
        "want": [],
    },
    "priorities at both ends of int32": {
        "held": [held("a", "q", priority=-(2**31)), held("b", "q", priority=-(2**31) + 1)],
        "priority": 2**31 - 1,
        "want": [("a", IN_QUEUE)],
    },
}


@pytest.mark.parametrize("case", ORDER.values(), ids=ORDER)
def test_the_first_candidate_of_a_queue_is(case: Json) -> None:
    engine = started(queue("q", 2, None, within="LowerPriority"), *case["held"])
    one = _decide(engine, waits("in", "q", priority=case.get("priority", 10)), at=case.get("at", 0))
    assert (victims(one), outcomes(one)) == (case["want"], {"in": "Preempting"})


# `q` (2 cpu) and `other` (none) share 4 cpu, which are held; `in` asks for 1 within the nominal quota of q.
LISTS = {
    "another queue before the own one": {
        "held": [held("own", "q", priority=0), held("foreign", "other", 3, priority=9)],
        "want": [("foreign", RECLAIMED)],
    },
    "one of the own queue that stops before another queue": {
        "held": [held("own", "q", priority=0, evicted=True), held("foreign", "other", 3)],
        "want": [],
    },
    "of two that stop, the foreign one": {
        "held": [
            held("own", "q", 1, evicted=True),
            held("foreign", "other", 2, evicted=True),
            held("b", "other"),
        ],
        "want": [],
    },
    "priority within the other queues": {
        "held": [held("a", "other", 2, priority=2), held("b", "other2", 2, priority=1)],
        "want": [("b", RECLAIMED)],
    },
    "age within the other queues": {
        "held": [held("a", "other", 2, since=7), held("b", "other2", 2, since=6)],
        "want": [("a", RECLAIMED)],
    },
}


@pytest.mark.parametrize("case", LISTS.values(), ids=LISTS)
def test_among_queues_the_first_candidate_is(case: Json) -> None:
    engine = started(
        queue("q", 2, within="LowerPriority", reclaim="Any"), queue("other"), queue("other2"), queue("idle", 2),
        *case["held"],
    )  # fmt: skip
    one = _decide(engine, waits("in", "q", priority=10))
    assert (victims(one), outcomes(one)) == (case["want"], {"in": "Preempting"})


def test_who_may_be_reclaimed_with_an_advantage_comes_before_lower_priorities() -> None:
    """`near` shares the cohort that would not hold the request, `far` sits outside the subtree that would."""
    objects = [
        tree("root", None, 0), tree("mid", "root", 3), tree("low", "mid", 1),
        queue("q", 0, "low", reclaim="Any"), queue("near", 0, "low"), queue("far", 0, "root"),
    ]  # fmt: skip
    engine = started(*objects, held("n", "near", 2, priority=-5), held("f", "far", 2, priority=5))
    assert victims(_decide(engine, waits("in", "q", 2))) == [("f", RECLAIMED)]


# Whether a workload (priority 0, created at 100 s) may take `c` of the same queue.
POLICIES = {
    "lower priority: a lower one": {"policy": "LowerPriority", "c": {"priority": -1}, "want": True},
    "lower priority: an equal one": {"policy": "LowerPriority", "c": {"created": 200}, "want": False},
    "lower or newer: a lower one that is older": {
        "policy": "LowerOrNewerEqualPriority", "c": {"priority": -1}, "want": True,
    },
    "lower or newer: a higher one that is newer": {
        "policy": "LowerOrNewerEqualPriority", "c": {"priority": 1, "created": 900}, "want": False,
    },
    "lower or newer: an equal one that is newer": {
        "policy": "LowerOrNewerEqualPriority", "c": {"created": 101}, "want": True,
    },
    "lower or newer: one of the same second": {
        "policy": "LowerOrNewerEqualPriority", "c": {"created": 100}, "want": False,
    },
    "lower or newer: an equal one that is older": {
        "policy": "LowerOrNewerEqualPriority", "c": {"created": 99}, "want": False,
    },
    "any: a higher one": {"policy": "Any", "c": {"priority": 1}, "want": True},
    "never: a lower one": {"policy": "Never", "c": {"priority": -1}, "want": False},
    "an empty policy: a lower one": {"policy": "", "c": {"priority": -1}, "want": False},
    "an unknown policy: a lower one": {"policy": "Everyone", "c": {"priority": -1}, "want": False},
    "with the buffer: newer by exactly five minutes": {
        "policy": "LowerOrNewerEqualPriority", "buffer": True, "c": {"created": 400}, "want": False,
    },
    "with the buffer: newer by a second more": {
        "policy": "LowerOrNewerEqualPriority", "buffer": True, "c": {"created": 401}, "want": True,
    },
    "with the buffer: a lower one is no matter of age": {
        "policy": "LowerOrNewerEqualPriority", "buffer": True, "c": {"priority": -1}, "want": True,
    },
    "without the buffer: newer by exactly five minutes": {
        "policy": "LowerOrNewerEqualPriority", "c": {"created": 400}, "want": True,
    },
    "a boost of the candidate does not count without its gate": {
        "policy": "LowerPriority", "c": {"priority": -1, "boost": "1"}, "want": True,
    },
    "a boost lifts the candidate to the same priority": {
        "policy": "LowerPriority", "gates": {"PriorityBoost": True}, "c": {"priority": -1, "boost": "1"}, "want": False,
    },
    "a negative boost lowers the candidate": {
        "policy": "LowerPriority", "gates": {"PriorityBoost": True}, "c": {"priority": 1, "boost": "-2"}, "want": True,
    },
    "a boost beyond int32 counts as none": {
        "policy": "LowerPriority", "gates": {"PriorityBoost": True},
        "c": {"priority": -1, "boost": "2147483648"}, "want": True,
    },
    "a boost that is no decimal counts as none": {
        "policy": "LowerPriority", "gates": {"PriorityBoost": True}, "c": {"priority": -1, "boost": "1.5"},
        "want": True,
    },
    "priority and boost add up beyond int32": {
        "policy": "LowerPriority", "gates": {"PriorityBoost": True},
        "in": 2**31 - 1, "c": {"priority": 2**31 - 1, "boost": "2147483647"}, "want": False,
    },
}  # fmt: skip


@pytest.mark.parametrize("case", POLICIES.values(), ids=POLICIES)
def test_a_policy_allows(case: Json) -> None:
    facts = dict(case["c"])
    boost = facts.pop("boost", None)
    annotations = {} if boost is None else {"annotations": {"kueue.x-k8s.io/priority-boost": boost}}
    gates = {"SchedulerTimestampPreemptionBuffer": case.get("buffer", False), **case.get("gates", {})}
    engine = started(
        queue("q", 1, None, within=case["policy"]), held("c", "q", metadata=annotations, **facts), gates=gates
    )
    one = _decide(engine, waits("in", "q", created=100, priority=case.get("in", 0)))
    assert victims(one) == ([("c", IN_QUEUE)] if case["want"] else [])


def test_a_boost_of_the_incoming_workload_counts() -> None:
    engine = started(
        queue("q", 1, None, within="LowerPriority"), held("c", "q"), gates={"PriorityBoost": True}
    )
    boosted = waits("in", "q", metadata={"annotations": {"kueue.x-k8s.io/priority-boost": "1"}})
    assert victims(_decide(engine, boosted)) == [("c", IN_QUEUE)]


# Timestamps of workloads that stopped before (QC-12): `in` (created at 100) may take what is newer.
RETURNED = {
    "a reclaimed one goes by its creation": {"gates": {}, "want": []},
    "without sorting by priority it goes by a millisecond after its preemption": {
        "gates": {"PrioritySortingWithinCohort": False},
        "want": [("c", IN_QUEUE)],
    },
}


@pytest.mark.parametrize("case", RETURNED.values(), ids=RETURNED)
def test_a_workload_that_was_preempted_before(case: Json) -> None:
    made = held("c", "q", created=1)
    made["status"]["conditions"].append(
        condition("Preempted", reason="InCohortReclaimWhileBorrowing", at=100)
    )
    engine = started(queue("q", 1, None, within="LowerOrNewerEqualPriority"), made, gates=case["gates"])
    assert victims(_decide(engine, waits("in", "q", created=100))) == case["want"]


# Two flavors of `q` in groups of their own; `in` asks for a gpu, which is short.
USES = {
    "who holds the flavor of another resource is left alone": {
        "held": [held("a", "q", {"cpu": 1}, priority=-9), held("b", "q", {"gpu": 1}, "two")],
        "want": [("b", IN_QUEUE)],
    },
    "who holds the resource in another flavor is left alone": {
        "held": [held("a", "q", {"gpu": 5}, "three", priority=-9), held("b", "q", {"gpu": 1}, "two")],
        "want": [("b", IN_QUEUE)],
    },
}


@pytest.mark.parametrize("case", USES.values(), ids=USES)
def test_candidates_use_what_is_short(case: Json) -> None:
    groups = (quotas({"one": {"cpu": 1}}), quotas({"two": {"gpu": 1}}))
    engine = started(queue("q", 0, None, *groups, within="LowerPriority"), *case["held"])
    assert victims(_decide(engine, waits("in", "q", {"gpu": 1}, priority=1))) == case["want"]


def _decide(engine: Any, *incoming: Json, at: int = 0) -> Any:
    add(engine, *incoming, at=at)
    return cycle(engine, at=at)
