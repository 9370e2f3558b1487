"""Several preemptors in one cycle, what they hold for each other, and evictions under way.

Source: QC-115..131, QC-146, QC-147, QP-800..808.
"""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast import Engine
from tests.engine.small_cluster import (
    RECLAIMED,
    Json,
    add,
    condition,
    cycle,
    held,
    outcomes,
    queue,
    quotas,
    release,
    started,
    victims,
    waits,
)

RECOMPUTE = {"RecomputeAssignmentUponPreemptionTargetsOverlap": True}
PRIORITIZE = {"PrioritizePreemptorWorkloads": True}


def requeue_reasons(one: Any) -> dict[str, str]:
    return {row.workload.partition("/")[2]: row.reason for row in one.requeued}


# q1 and q2 (2 cpu each) reclaim from b, which holds `v` first and, where a case has more, others after it.
def two_preemptors(*more: Any, ask: int = 2, **options: Any) -> Engine:
    return started(
        queue("q1", 2, reclaim="Any"), queue("q2", 2, reclaim="Any"), queue("b"), *more,
        waits("first", "q1", ask, priority=2), waits("second", "q2", ask, priority=1), **options,
    )  # fmt: skip


SHARED = {
    "the second is skipped where both want the same victim": {
        "held": [held("v", "b", 4)],
        "want": ({"first": "Preempting", "second": "Overlap"}, ["v"]),
    },
    "the second is skipped though others would do": {
        "held": [held("v", "b", 2), held("w", "b", 2, priority=1)],
        "want": ({"first": "Preempting", "second": "Overlap"}, ["v"]),
    },
    "with the gate the second takes others": {
        "held": [held("v", "b", 2), held("w", "b", 2, priority=1)],
        "gates": RECOMPUTE,
        "want": ({"first": "Preempting", "second": "Preempting"}, ["v", "w"]),
    },
    "with the gate the second waits where the victims of the first suffice": {
        "held": [held("v", "b", 4)],
        "gates": RECOMPUTE,
        "want": ({"first": "Preempting", "second": "Deferred"}, ["v"]),
    },
}


@pytest.mark.parametrize("case", SHARED.values(), ids=SHARED)
def test_shared_victims(case: Json) -> None:
    one = cycle(two_preemptors(*case["held"], gates=case.get("gates")))
    assert (outcomes(one), [name for name, _ in victims(one)]) == case["want"]


def test_requeue_reasons_of_shared_victims() -> None:
    skipped = cycle(two_preemptors(held("v", "b", 4)))
    assert requeue_reasons(skipped) == {"first": "PendingPreemption", "second": "FailedAfterNomination"}
    deferred = cycle(two_preemptors(held("v", "b", 4), gates=RECOMPUTE))
    assert requeue_reasons(deferred) == {"first": "PendingPreemption", "second": "PendingPreemption"}


def test_a_recomputation_keeps_to_the_nominated_flavor() -> None:
    """`second` could reclaim `x` on flavor two, but it was nominated on one, where no victim is left."""
    both = quotas({"one": {"cpu": 2}, "two": {"cpu": 2}})
    objects = [
        queue("q1", 2, reclaim="Any"),
        queue("q2", 0, "all", both, reclaim="Any", flavorFungibility={"whenCanPreempt": "MayStopSearch"}),
        queue("b", 0, "all", quotas({"one": {"cpu": 0}, "two": {"cpu": 0}})), queue("still", stopPolicy="Hold"),
        held("v", "b", 2), held("out of reach", "still", 2), held("x", "b", 2, "two"),
        waits("first", "q1", 2, priority=2), waits("second", "q2", 2, priority=1),
    ]  # fmt: skip
    one = cycle(started(*objects, gates=RECOMPUTE))
    assert (outcomes(one), victims(one)) == (
        {"first": "Preempting", "second": "NoCandidates"}, [("v", RECLAIMED)],
    )  # fmt: skip


# What `second` and `third` find after `first`; q1, q2 and b share one tree.
BOOKED = {
    "quota of victims is free for later entries": {
        "objects": [
            queue("q1", 3, reclaim="Any"), queue("q2", 3), queue("b"), held("v", "b", 4),
            waits("first", "q1", 3, priority=2), waits("second", "q2", 2, priority=1),
        ],
        "want": {"first": "Preempting", "second": "Admitted"},
    },
    "what a preemptor waits for is not": {
        "objects": [
            queue("q1", 3, reclaim="Any"), queue("q2", 1), queue("b"), held("v", "b", 2),
            waits("first", "q1", 3, priority=2), waits("second", "q2", 2, priority=1),
        ],
        "want": {"first": "Preempting", "second": "NoLongerFits"},
    },
    "what a deferred one waits for is not": {
        "objects": [
            queue("q1", 2, reclaim="Any"), queue("q2", 2, reclaim="Any"), queue("b"), queue("q3"), held("v", "b", 3),
            waits("first", "q1", 2, priority=2), waits("second", "q2", 2, priority=1), waits("third", "q3", 1),
        ],
        "gates": RECOMPUTE,
        "want": {"first": "Preempting", "second": "Deferred", "third": "NoLongerFits"},
    },
    "what an admitted one took is not": {
        "objects": [
            queue("q1"), queue("q2"), queue("lender", 3), waits("first", "q1", 2, priority=2), waits("second", "q2", 2),
        ],
        "want": {"first": "Admitted", "second": "NoLongerFits"},
    },
    "a preemptor whose victims do not suffice any more is skipped": {
        "objects": [
            queue("q1", 2), queue("q2", 4, reclaim="Any"), queue("b"), held("v", "b", 2), held("w", "b", 2, priority=1),
            waits("first", "q1", 2, priority=2), waits("second", "q2", 4, priority=1),
        ],
        "want": {"first": "Admitted", "second": "NoLongerFits"},
    },
    "victims of another tree do not count": {
        "objects": [
            queue("q1", 2, "other", reclaim="Any"), queue("b", 0, "other"), held("v", "b", 2),
            queue("q2", 1), queue("q3", 0), waits("first", "q1", 2, priority=3),
            waits("second", "q2", 1, priority=2), waits("third", "q3", 1, priority=1),
        ],
        "want": {"first": "Preempting", "second": "Admitted", "third": "NoLongerFits"},
    },
}  # fmt: skip


@pytest.mark.parametrize("case", BOOKED.values(), ids=BOOKED)
def test_what_earlier_entries_leave(case: Json) -> None:
    engine = started(*case["objects"], gates=case.get("gates"))
    before = {name: state.usage for name, state in engine.queue_state().items()}
    one = cycle(engine)
    assert outcomes(one) == case["want"]
    # only what was admitted is booked once the cycle is over
    taken = {row.cluster_queue: row.pod_sets[0].usage["cpu"] for row in one.admitted}
    after = {name: state.usage for name, state in engine.queue_state().items()}
    assert after == {
        name: {pair: amount + taken.get(name, 0) for pair, amount in usage.items()}
        for name, usage in before.items()
    }


def test_requeue_reason_of_a_skipped_one() -> None:
    one = cycle(started(*BOOKED["what an admitted one took is not"]["objects"]))
    assert requeue_reasons(one) == {"second": "FailedAfterNomination"}


# `p` (in `q`, 4 cpu) finds no victims, since who borrows sits in a queue that is stopped. 2 cpu are free, and `late`
# asks for them after it: does `p` hold them back (QC-124)?
RESERVE = {
    "a queue that may reclaim anything holds nothing back": {"reclaim": "Any", "want": "Admitted"},
    "one that reclaims lower priorities does": {"reclaim": "LowerPriority", "want": "NoLongerFits"},
    "one that never reclaims does": {"reclaim": "Never", "want": "NoLongerFits"},
    "a preemptor does with the gate": {
        "reclaim": "Any",
        "gates": PRIORITIZE,
        "waited": True,
        "want": "NoLongerFits",
    },
    "one that is no preemptor does not with the gate": {
        "reclaim": "Any",
        "gates": PRIORITIZE,
        "want": "Admitted",
    },
    "a preemptor does not without the gate": {"reclaim": "Any", "waited": True, "want": "Admitted"},
}


@pytest.mark.parametrize("case", RESERVE.values(), ids=RESERVE)
def test_capacity_is_held_for_one_without_victims(case: Json) -> None:
    engine = started(
        queue("q", 4, reclaim=case["reclaim"]), queue("b"), queue("late"), held("v", "b", 2),
        gates=case.get("gates"),
    )  # fmt: skip
    if case.get("waited"):
        add(engine, waits("p", "q", 4, priority=5))
        assert outcomes(cycle(engine)) == {"p": "Preempting"}
    add(engine, queue("b", stopPolicy="Hold"), waits("p", "q", 4, priority=5), waits("late", "late", 2))
    assert outcomes(cycle(engine)) == {"p": "NoCandidates", "late": case["want"]}


# How much: `p` may borrow, finds no victims, and never reclaims. `late` asks for some of what is free after it.
LOWER = {"policy": "LowerPriority"}
AMOUNTS = {
    "without a borrowing limit all that it asks for": {
        "q": 2, "used": 0, "ask": 4, "lender": 4, "blocked": 3, "late": 1, "want": "NoLongerFits",
    },
    "with a borrowing limit no more than up to it": {
        "q": (2, 1), "used": 1, "ask": 3, "lender": 4, "blocked": 2, "late": 1, "want": "Admitted",
    },
    "with a borrowing limit all up to it": {
        "q": (2, 1), "used": 1, "ask": 3, "lender": 4, "blocked": 2, "late": 2, "want": "NoLongerFits",
    },
}  # fmt: skip


@pytest.mark.parametrize("case", AMOUNTS.values(), ids=AMOUNTS)
def test_how_much_a_borrower_holds_back(case: Json) -> None:
    engine = started(
        queue("q", case["q"], borrow=LOWER), queue("lender", case["lender"]), queue("still", stopPolicy="Hold"),
        queue("late"), held("blocked", "still", case["blocked"]),
        *([held("used", "q", case["used"], priority=9)] if case["used"] else []),
        waits("p", "q", case["ask"], priority=5), waits("late", "late", case["late"]),
    )  # fmt: skip
    assert outcomes(cycle(engine)) == {"p": "NoCandidates", "late": case["want"]}


NEGATIVE = {
    "beyond its limit it books a negative amount, and looks to be within nominal": {
        "p": [waits("p", "q", 2, priority=5)],
        "want": ({"first": "Preempting", "p": "NoCandidates", "second": "NoCandidates"}, ["v"]),
    },
    "without it the victims beyond are found": {
        "p": [],
        "want": ({"first": "Preempting", "second": "Preempting"}, ["v", "old"]),
    },
}


@pytest.mark.parametrize("case", NEGATIVE.values(), ids=NEGATIVE)
def test_a_negative_reservation(case: Json) -> None:
    """The quota of `q` was cut below what `old` holds. Only a recomputation in the same cycle can notice (QC-124)."""
    engine = started(
        queue("q", (2, 0)), queue("q1", 2, reclaim="Any"), queue("q2", 0, reclaim="Any", borrow=LOWER), queue("b"),
        queue("lender", 4), held("old", "q", 6), held("v", "b", 2, priority=-1),
        waits("first", "q1", 2, priority=9), waits("second", "q2", 2, priority=4), *case["p"], gates=RECOMPUTE,
    )  # fmt: skip
    one = cycle(engine)
    assert (outcomes(one), [name for name, _ in victims(one)]) == case["want"]


# Preemption gates: `p` needs the victim `v`; `late` could use the single cpu that is free.
CLOSED = {"preemptionGates": [{"name": "g"}]}
OPEN_STATUS = {"preemptionGates": [{"name": "g", "position": "Open"}]}
GATES = {
    "a closed gate with concurrent admission": {
        "gates": {"ConcurrentAdmission": True}, "want": {"p": "Gated", "late": "Admitted"},
    },
    "a closed gate with orchestrated preemption": {
        "gates": {"MultiKueueOrchestratedPreemption": True}, "want": {"p": "Gated", "late": "Admitted"},
    },
    "without these gates nobody looks": {"gates": {}, "want": {"p": "Preempting", "late": "NoLongerFits"}},
    "an open gate": {
        "gates": {"ConcurrentAdmission": True}, "status": OPEN_STATUS,
        "want": {"p": "Preempting", "late": "NoLongerFits"},
    },
    "one of two gates is closed": {
        "gates": {"ConcurrentAdmission": True}, "status": OPEN_STATUS,
        "spec": {"preemptionGates": [{"name": "g"}, {"name": "h"}]}, "want": {"p": "Gated", "late": "Admitted"},
    },
    "a gate that the status calls closed": {
        "gates": {"ConcurrentAdmission": True}, "status": {"preemptionGates": [{"name": "g", "position": "Closed"}]},
        "want": {"p": "Gated", "late": "Admitted"},
    },
    "a closed gate is not asked where it fits": {
        "gates": {"ConcurrentAdmission": True}, "ask": 1, "want": {"p": "Admitted", "late": "NoLongerFits"},
    },
    "a closed gate is not asked where there are no victims": {
        "gates": {
            "ConcurrentAdmission": True}, "policy": "Never", "want": {"p": "NoCandidates", "late": "NoLongerFits",
        },
    },
}  # fmt: skip


@pytest.mark.parametrize("case", GATES.values(), ids=GATES)
def test_preemption_gates(case: Json) -> None:
    engine = started(
        queue("q", 3, reclaim=case.get("policy", "Any")), queue("b"), queue("late"), held("v", "b", 2),
        waits("p", "q", case.get("ask", 3), priority=1, status=case.get("status"), **case.get("spec", CLOSED)),
        waits("late", "late"), gates=case["gates"],
    )  # fmt: skip
    one = cycle(engine)
    assert (outcomes(one), bool(one.preempted)) == (case["want"], case["want"]["p"] == "Preempting")
    if case["want"]["p"] == "Gated":
        assert requeue_reasons(one)["p"] == "PreemptionGated"


@pytest.mark.parametrize(
    ("strategy", "want"), [("BestEffortFIFO", ([], ["default/p"])), ("StrictFIFO", (["default/p"], []))]
)
def test_a_gated_workload_waits(strategy: str, want: tuple[list[str], list[str]]) -> None:
    """It is parked where others may go on; opening the gate wakes it."""
    engine = started(
        queue("q", 2, reclaim="Any", queueingStrategy=strategy), queue("b"), held("v", "b", 2),
        waits("p", "q", 2, **CLOSED), gates={"ConcurrentAdmission": True},
    )  # fmt: skip
    cycle(engine)
    state = engine.queue_state()["q"]
    assert (state.active, state.parked) == want
    add(engine, waits("p", "q", 2, status=OPEN_STATUS, **CLOSED))
    assert engine.queue_state()["q"].active == ["default/p"]
    assert victims(cycle(engine)) == [("v", RECLAIMED)]


# Evictions under way (QC-146, QC-147): `p` chose `v` in the first cycle; what the next cycle issues.
def _evicting() -> Engine:
    engine = started(queue("q", 2, reclaim="Any"), queue("q2", 2, reclaim="Any"), queue("b"), held("v", "b", 4),
                     waits("p", "q", 2))  # fmt: skip
    assert victims(cycle(engine)) == [("v", RECLAIMED)]
    return engine


UNDER_WAY = {
    "nothing is seen of it yet": {"then": [], "want": []},
    "the victim is seen unchanged": {"then": [held("v", "b", 4)], "want": []},
    "the victim is seen evicted": {"then": [held("v", "b", 4, evicted=True)], "want": []},
    "the victim stopped and came back": {
        "then": [
            waits("v", "b", 4, status={"conditions": [condition("Evicted", reason="Preempted")]}), held("v", "b", 4),
        ],
        "want": [("v", RECLAIMED)],
    },
    "the victim was deleted and another of its name came": {
        "delete": "v", "then": [held("v", "b", 4)], "want": [("v", RECLAIMED)],
    },
    "the victim's eviction was seen and taken back": {
        "then": [held("v", "b", 4, evicted=True), held("v", "b", 4)], "want": [("v", RECLAIMED)],
    },
}  # fmt: skip


@pytest.mark.parametrize("case", UNDER_WAY.values(), ids=UNDER_WAY)
def test_an_eviction_under_way(case: Json) -> None:
    engine = _evicting()
    if "delete" in case:
        engine.delete("Workload", "default", case["delete"])
    add(engine, *case["then"])
    one = cycle(engine)
    assert (victims(one), outcomes(one)) == (case["want"], {"p": "Preempting"})
    assert "Pending the preemption of 1 workload(s)" in one.requeued[0].message()
    assert one.changed is bool(case["want"])


def test_an_eviction_under_way_serves_another_preemptor() -> None:
    engine = _evicting()
    engine.delete("Workload", "default", "p")
    add(engine, waits("p2", "q2", 2))
    one = cycle(engine)
    assert (victims(one), outcomes(one)) == ([], {"p2": "Preempting"})


def test_a_preemptor_that_is_gone_leaves_its_victims_to_stop() -> None:
    engine = _evicting()
    engine.delete("Workload", "default", "p")
    add(engine, held("v", "b", 4, evicted=True))
    assert not engine.has_heads()
    release(engine, "v")
    assert engine.queue_state()["b"].usage == {"one/cpu": 0}


def test_a_victim_that_finishes_while_it_is_evicted_frees_its_quota_once() -> None:
    engine = _evicting()
    done = held("v", "b", 4)
    done["status"]["conditions"].append(condition("Finished", reason="Succeeded"))
    add(engine, done)
    assert outcomes(cycle(engine)) == {"p": "Admitted"}
    assert engine.queue_state()["b"].usage == {"one/cpu": 0}


def test_an_eviction_that_could_not_be_written_is_issued_again() -> None:
    engine = started(queue("q", 2, reclaim="Any"), queue("b"), held("v", "b", 2), waits("in", "q", 2))
    assert victims(cycle(engine)) == [("v", RECLAIMED)]
    assert victims(cycle(engine)) == []
    engine.preemption_failed("default/v", "default/in")
    engine.flush(0, all=True)
    assert victims(cycle(engine)) == [("v", RECLAIMED)]
