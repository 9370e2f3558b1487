"""Who waits for victims goes first in its queue, and with a gate in the cycle. Source: QC-18, QC-107, QC-112."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast import Engine
from tests.engine.small_cluster import (
    Json,
    add,
    cycle,
    held,
    order_of_admission,
    outcomes,
    queue,
    release,
    started,
    waits,
)

PRIORITIZE = {"PrioritizePreemptorWorkloads": True}


def waiting_preemptor(strategy: str = "BestEffortFIFO", **options: Any) -> Engine:
    """`p` in `q` (2 cpu) chose `v` of `b` in the first cycle."""
    engine = started(
        queue("q", 2, reclaim="Any", queueingStrategy=strategy), queue("b"), held("v", "b", 2),
        waits("p", "q", 2), **options,
    )  # fmt: skip
    assert outcomes(cycle(engine)) == {"p": "Preempting"}
    return engine


# Which workload is the next head of `q`, after what happened to the waiting preemptor `p`.
STICKY = {
    "with BestEffortFIFO it goes before a higher priority": {
        "then": [waits("urgent", "q", 1, priority=9)], "want": "p",
    },
    "with StrictFIFO it does not": {
        "strategy": "StrictFIFO", "then": [waits("urgent", "q", 1, priority=9)], "want": "urgent",
    },
    "also after its own update": {
        "then": [waits("urgent", "q", 1, priority=9), waits("p", "q", 1)], "want": "p",
    },
    "also when it asks for another generation": {
        "then": [waits("urgent", "q", 1, priority=9), waits("p", "q", 2, metadata={"generation": 2})], "want": "p",
    },
    "not once it was deleted and came again": {
        "delete": ["p"], "then": [waits("urgent", "q", 1, priority=9), waits("p", "q", 2)], "want": "urgent",
    },
    "not once it was deactivated and came back": {
        "then": [
            waits("urgent", "q", 1, priority=9), waits("p", "q", 2, active=False), waits("p", "q", 2),
        ],
        "want": "urgent",
    },
}  # fmt: skip


@pytest.mark.parametrize("case", STICKY.values(), ids=STICKY)
def test_the_head_after_a_preemption(case: Json) -> None:
    engine = waiting_preemptor(case.get("strategy", "BestEffortFIFO"))
    for name in case.get("delete", ()):
        engine.delete("Workload", "default", name)
    add(engine, *case["then"])
    assert list(outcomes(cycle(engine))) == [case["want"]]


def test_a_preemptor_that_is_admitted_leaves_no_mark() -> None:
    """It comes back after an eviction, and does not go before others."""
    engine = waiting_preemptor()
    release(engine, "v")
    assert outcomes(cycle(engine)) == {"p": "Admitted"}
    add(engine, held("p", "q", 2))
    add(engine, waits("p", "q", 2), waits("urgent", "q", 1, priority=9))
    assert list(outcomes(cycle(engine))) == ["urgent"]


def test_another_requeue_keeps_the_mark() -> None:
    """`p` finds no victims any more, yet stays the first of its queue."""
    engine = waiting_preemptor()
    add(engine, queue("b", 2)[0], waits("urgent", "q", 1, priority=9))
    assert outcomes(cycle(engine)) == {"p": "Admitted"}  # `b` brought its own quota
    engine = waiting_preemptor()
    add(engine, queue("b", stopPolicy="Hold"))
    assert outcomes(cycle(engine)) == {"p": "NoCandidates"}
    add(engine, waits("urgent", "q", 1, priority=9))
    release(engine)
    assert list(outcomes(cycle(engine))) == ["p"]


def test_a_later_preemptor_takes_the_mark_over() -> None:
    """`p` finds no victims for a while and is parked. `p2` preempts, and goes first even when `p` is back."""
    engine = started(
        queue("q", 2, reclaim="Any"), queue("b"), held("v", "b", 2), waits("p", "q", 2, priority=9)
    )
    assert outcomes(cycle(engine)) == {"p": "Preempting"}
    add(engine, queue("b", stopPolicy="Hold"))
    assert outcomes(cycle(engine)) == {"p": "NoCandidates"}
    add(engine, queue("b"), waits("p2", "q", 2))
    assert outcomes(cycle(engine)) == {"p2": "Preempting"}
    release(engine)
    assert engine.queue_state()["q"].active == ["default/p", "default/p2"]
    assert list(outcomes(cycle(engine))) == ["p2"]


# `p` (priority 0) and `other` (priority 9) in queues of one tree; who is processed first, shown by who is admitted.
FIRST = {
    "with the gate the preemptor": {"gates": PRIORITIZE, "want": ["p", "other"]},
    "without it the higher priority": {"gates": {}, "want": ["other", "p"]},
    "with the gate in a StrictFIFO queue too": {
        "gates": PRIORITIZE,
        "strategy": "StrictFIFO",
        "want": ["p", "other"],
    },
    "not after the preemptor changed": {"gates": PRIORITIZE, "generation": 2, "want": ["other", "p"]},
    "not once it was deleted and came again": {"gates": PRIORITIZE, "again": True, "want": ["other", "p"]},
    "the preemptor before one that borrows less": {
        "gates": PRIORITIZE,
        "borrows": True,
        "want": ["p", "other"],
    },
    "without it who borrows less": {"gates": {}, "borrows": True, "want": ["other", "p"]},
}


@pytest.mark.parametrize("fair", [False, True], ids=["classical", "fair"])
@pytest.mark.parametrize("case", FIRST.values(), ids=FIRST)
def test_preemptors_are_processed_first(case: Json, fair: bool) -> None:
    nominal = 1 if case.get("borrows") else 2
    engine = started(
        queue("q", nominal, reclaim="Any", borrow=None if fair else {"policy": "LowerPriority"},
              queueingStrategy=case.get("strategy", "BestEffortFIFO")),
        queue("b"), queue("other", 2), queue("lender", 2 - nominal), held("v", "b", 4, priority=-1),
        waits("p", "q", 2), gates=case["gates"], fair=fair,
    )  # fmt: skip
    assert outcomes(cycle(engine)) == {"p": "Preempting"}
    if case.get("again"):
        engine.delete("Workload", "default", "p")
        add(engine, waits("p", "q", 2))
    release(engine, "v")
    add(engine, waits("p", "q", 2, metadata={"generation": case.get("generation", 1)}))
    add(engine, waits("other", "other", 2, priority=9))
    assert order_of_admission(cycle(engine)) == case["want"]
