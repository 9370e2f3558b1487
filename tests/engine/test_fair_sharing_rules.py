"""Victims under fair sharing: strategies, shares, entitlement, order of queues, pruning.

Source: QP-331..335, QP-720..738.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.engine import small_cluster
from tests.engine.small_cluster import (
    FINAL_SHARE,
    IN_QUEUE,
    INITIAL_SHARE,
    RECLAIMED,
    Json,
    held,
    outcomes,
    queue,
    quotas,
    tree,
    victims,
    waits,
)

SHARED = "InCohortFairSharing"
BOTH = [FINAL_SHARE, INITIAL_SHARE]
ANYBODY = {"within": "LowerPriority", "reclaim": "Any"}

decide = partial(small_cluster.decide, fair=True)


def many(prefix: str, queue: str, count: int, **rest: Any) -> list[Json]:
    """Workloads of 1 cpu."""
    return [held(f"{prefix}{i}", queue, 1, **rest) for i in range(1, count + 1)]


# `a` and `b` (3 cpu each) share 9 with a lender; `a` holds its own 3 already, at a high priority.
STRATEGIES = {
    "the final share allows a small victim of a high priority, not a big one": {
        "b": [held("big", "b", 5), held("small", "b", 1, priority=1)], "ask": 1,
        "strategies": [FINAL_SHARE], "want": [("small", SHARED)],
    },
    "the initial share allows the big one": {
        "b": [held("big", "b", 5), held("small", "b", 1, priority=1)], "ask": 1,
        "strategies": [INITIAL_SHARE], "want": [("big", SHARED)],
    },
    "with both the final share is asked first": {
        "b": [held("big", "b", 5), held("small", "b", 1, priority=1)], "ask": 1,
        "strategies": BOTH, "want": [("small", SHARED)],
    },
    "without a setting both are asked": {
        "b": [held("big", "b", 5), held("small", "b", 1, priority=1)], "ask": 1,
        "strategies": None, "want": [("small", SHARED)],
    },
    "equal final shares are allowed": {
        "b": [held("b1", "b", 1), held("rest", "b", 4, priority=9)], "ask": 1, "lender": 2,
        "strategies": [FINAL_SHARE], "want": [("b1", SHARED)],
    },
    "a swap of the imbalance is refused by the final share": {
        "b": [held("b1", "b", 1), held("rest", "b", 3, priority=9)], "ask": 1, "lender": 1,
        "strategies": [FINAL_SHARE], "want": [],
    },
    "equal shares before are refused by the initial share": {
        "b": [held("b1", "b", 1), held("rest", "b", 3, priority=9)], "ask": 1, "lender": 1,
        "strategies": [INITIAL_SHARE], "want": [],
    },
    "what the final share refuses is taken by the initial share": {
        "b": [held("b1", "b", 3), held("b2", "b", 3)], "ask": 2,
        "strategies": BOTH, "want": [("b1", SHARED)],
    },
    "but not where it was not asked for": {
        "b": [held("b1", "b", 3), held("b2", "b", 3)], "ask": 2, "strategies": [FINAL_SHARE], "want": [],
    },
}  # fmt: skip


@pytest.mark.parametrize("case", STRATEGIES.values(), ids=STRATEGIES)
def test_strategies(case: Json) -> None:
    objects = [
        queue("a", 3, **ANYBODY), queue("b", 3), queue("lender", case.get("lender", 3)),
        held("mine", "a", 3, priority=9), *case["b"],
    ]  # fmt: skip
    one = decide(objects, waits("in", "a", case["ask"], priority=5), strategies=case["strategies"])
    assert victims(one) == case["want"]
    assert outcomes(one)["in"] == ("Preempting" if case["want"] else "NoCandidates")


# While `a` (6 cpu) would have a share, all candidates elsewhere are put off. Its own one goes, which is not enough;
# now the initial share allows those that were put off, one a queue.
SECOND = {
    "two of one queue are one too many": {
        "b": [queue("b", 2), held("b1", "b", 3), held("b2", "b", 3)], "want": [],
    },
    "one each of two queues will do": {
        "b": [queue("b"), queue("c"), queue("lender", 2), held("b1", "b", 3), held("c1", "c", 3)],
        # its own workload goes back, and the last victim takes its place
        "want": [("c1", SHARED), ("b1", SHARED)],
    },
}  # fmt: skip


@pytest.mark.parametrize("case", SECOND.values(), ids=SECOND)
def test_the_second_strategy_takes_one_victim_a_queue(case: Json) -> None:
    objects = [queue("a", 6, **ANYBODY), held("mine", "a", 2), *case["b"]]
    assert victims(decide(objects, waits("in", "a", 6, priority=5))) == case["want"]


# `a` (3 cpu, nothing in use) asks for its nominal quota; `b` borrowed all of it.
ENTITLED = {
    "with the gate nominal quota is reclaimed": {"gates": {}, "want": RECLAIMED},
    "without it shares decide": {"gates": {"FairSharingPreemptWithinNominal": False}, "want": SHARED},
}


@pytest.mark.parametrize("case", ENTITLED.values(), ids=ENTITLED)
def test_nominal_entitlement(case: Json) -> None:
    objects = [queue("a", 3, **ANYBODY), queue("b", 0), *many("b", "b", 3)]
    one = decide(objects, waits("in", "a", 2), gates=case["gates"])
    assert victims(one) == [("b1", case["want"]), ("b2", case["want"])]


def test_entitlement_overrides_shares_of_the_cohorts() -> None:
    """The cohort of `a` borrows more than that of `b`; yet `a` asks only for what is nominally its own."""
    objects = [
        tree("root"), tree("x", "root"), tree("y", "root"), queue("a", 2, "x", **ANYBODY), queue("a2", 0, "x"),
        queue("b", 0, "y"), queue("lender", 4, "root"), held("a2 1", "a2", 4), *many("b", "b", 2, priority=1),
    ]  # fmt: skip
    entitled = decide(objects, waits("in", "a", 1))
    assert victims(entitled) == [("a2 1", RECLAIMED)]
    unentitled = decide(objects, waits("in", "a", 1), gates={"FairSharingPreemptWithinNominal": False})
    assert victims(unentitled) == [("a2 1", SHARED)]


def test_entitlement_is_judged_once_with_the_request() -> None:
    """After its own victim `a` is within nominal, but it began as a borrower."""
    objects = [
        queue("a", 3, **ANYBODY), queue("b", 0, weight="10"), queue("lender", 1), held("mine", "a", 1),
        *many("b", "b", 3),
    ]  # fmt: skip
    one = decide(objects, waits("in", "a", 3, priority=1))
    assert victims(one) == [("mine", IN_QUEUE), ("b1", SHARED), ("b2", SHARED)]


# Which of the queues gives: all borrow, `a` (2 cpu, unused) asks for 1 of 6. {queue: (weight, workloads of 1 cpu)}
HIGHEST = {
    "the one with the larger share": {"shares": {"b": ("1", 1), "c": ("1", 3)}, "want": ["c1"]},
    "weights divide shares": {"shares": {"b": ("1", 1), "c": ("4", 3)}, "want": ["b1"]},
    "a fraction as weight multiplies it": {"shares": {"b": ("0.25", 1), "c": ("1", 3)}, "want": ["b1"]},
    "in milli units": {"shares": {"b": ("250m", 1), "c": ("1", 3)}, "want": ["b1"]},
    "weight 0 is the highest": {"shares": {"b": ("0", 1), "c": ("0.001", 3)}, "want": ["b1"]},
    "of two weights 0 the larger amount": {"shares": {"b": ("0", 1), "c": ("0", 3)}, "want": ["c1"]},
    "of equal shares the queue whose first candidate comes first": {
        "shares": {"b": ("1", 2), "c": ("1", 2)}, "priority": {"b": 1, "c": 0}, "want": ["c1"],
    },
}  # fmt: skip


@pytest.mark.parametrize("case", HIGHEST.values(), ids=HIGHEST)
def test_the_queue_that_gives(case: Json) -> None:
    objects: list[Any] = [queue("a", 2, **ANYBODY), queue("lender", 2)]
    for name, (weight, count) in case["shares"].items():
        objects += [
            queue(name, 0, weight=weight),
            *many(name, name, count, priority=case.get("priority", {}).get(name, 0)),
        ]
    one = decide(objects, waits("in", "a", 1, priority=-9))
    assert [name for name, _ in victims(one)] == case["want"]


def test_after_each_victim_shares_are_looked_at_again() -> None:
    objects = [
        queue("a", 3, **ANYBODY), queue("b", 0), queue("c", 0), queue("lender", 3), *many("b", "b", 3),
        *many("c", "c", 3),
    ]  # fmt: skip
    assert [name for name, _ in victims(decide(objects, waits("in", "a", 3)))] == ["b1", "c1", "b2"]
    shared = decide(objects, waits("in", "a", 3), gates={"FairSharingPreemptWithinNominal": False})
    assert victims(shared) == [("b1", SHARED), ("c1", SHARED), ("b2", SHARED)]


# Who is never asked (QP-721, QP-723): `a` (4 cpu, unused, directly below root) asks for 2.
SPARED = {
    "a queue that does not borrow": {
        "objects": [queue("b", 2, "root"), queue("c", 0, "root"), *many("b", "b", 2), *many("c", "c", 4, priority=9)],
        "want": ["c1", "c2"],
    },
    "a queue that borrows only what is not short": {
        "objects": [
            queue("b", 0, "root", quotas({"one": {"cpu": 2, "memory": 0}})), queue("c", 0, "root"),
            queue("lender", 0, "root", quotas({"one": {"memory": 5}})),
            held("b1", "b", {"cpu": 2, "memory": 5}, priority=-10), *many("c", "c", 4, priority=9),
        ],
        "want": ["c1", "c2"],
    },
    "a queue once it is back at its nominal quota": {
        "objects": [
            queue("b", 1, "root"), queue("c", 0, "root", weight="100"), *many("b", "b", 2),
            *many("c", "c", 3, priority=9),
        ],
        "want": ["b1", "c1"],
    },
    "a borrowing queue in a cohort that does not borrow": {
        "objects": [
            tree("x", "root", 2), queue("b", 0, "x"), queue("c", 0, "root"), *many("b", "b", 2),
            *many("c", "c", 4, priority=9),
        ],
        "want": ["c1", "c2"],
    },
    "a queue that is stopped": {
        "objects": [
            queue("b", 0, "root", stopPolicy="Hold"), queue("c", 0, "root"), *many("b", "b", 2, priority=-9),
            *many("c", "c", 2),
        ],
        "want": ["c1", "c2"],
    },
    "a queue that uses a flavor which it has no quota entry for": {
        "objects": [
            queue("b", 0, "root", quotas({"two": {"cpu": 0}})), queue("c", 0, "root"), *many("b", "b", 2, priority=-9),
            *many("c", "c", 2),
        ],
        "want": ["c1", "c2"],
    },
    "workloads that the policy does not allow": {
        "objects": [
            queue("c", 0, "root"), *many("b", "c", 1, priority=1), *many("old", "c", 1), *many("c", "c", 2, created=60),
        ],
        "created": 30, "reclaim": "LowerOrNewerEqualPriority", "want": ["c1", "c2"],
    },
}  # fmt: skip


@pytest.mark.parametrize("case", SPARED.values(), ids=SPARED)
def test_victims_spare(case: Json) -> None:
    objects = [tree("root"), queue("a", 4, "root", reclaim=case.get("reclaim", "Any")), *case["objects"]]
    incoming = waits("in", "a", 2, created=case.get("created", 0))
    assert [name for name, _ in victims(decide(objects, incoming))] == case["want"]


# Nobody has a share left but who is protected, so the own queue gives. `still` is stopped: what it holds stays.
OWN = {
    "rather than a queue that is back at its nominal quota": {
        "objects": [
            queue("a", 4, "root", **ANYBODY), queue("b", 1, "root"), held("mine", "a", 1), held("s", "still", 2),
            *many("b", "b", 2),
        ],
        "ask": 2,
        "want": [("b1", RECLAIMED), ("mine", IN_QUEUE)],
    },
    "rather than a borrowing queue in a cohort that does not borrow": {
        "objects": [
            queue("a", 4, "root", **ANYBODY), tree("x", "root", 2), queue("b", 0, "x"), held("mine", "a", 1),
            held("s", "still", 3), *many("b", "b", 2),
        ],
        "ask": 1,
        "want": [("mine", IN_QUEUE)],
    },
    "though its own cohort does not borrow": {
        "objects": [
            tree("x", "root"), queue("a", 4, "x", **ANYBODY), held("mine", "a", 1), held("s", "still", 3),
        ],
        "ask": 1,
        "want": [("mine", IN_QUEUE)],
    },
}  # fmt: skip


@pytest.mark.parametrize("case", OWN.values(), ids=OWN)
def test_the_own_queue_gives(case: Json) -> None:
    objects = [tree("root"), queue("still", 0, "root", stopPolicy="Hold"), *case["objects"]]
    assert victims(decide(objects, waits("in", "a", case["ask"], priority=1))) == case["want"]


# On equal shares (QP-723): `c` directly below root, or the cohort y with `b`; `c` would be the first candidate.
def test_a_cohort_gives_before_a_queue_of_the_same_share() -> None:
    objects = [
        tree("root"), tree("y", "root"), queue("a", 4, "root", reclaim="Any"), queue("b", 0, "y"), queue("c",
        0, "root"),
        *many("b", "b", 2, priority=1), *many("c", "c", 2),
    ]  # fmt: skip
    assert [name for name, _ in victims(decide(objects, waits("in", "a", 1)))] == ["b1"]


# Weight 0 of the preemptor's queue `a` (1 cpu): what it may take (QP-734, QP-735).
WEIGHTLESS = {
    "not what a queue with a weight borrowed": {"b": "1", "used": 1, "ask": 1, "want": []},
    "what another of weight 0 borrowed more of": {"b": "0", "used": 1, "ask": 1, "want": [("b1", SHARED)]},
    "also twice, as long as it has no more": {
        "b": "0",
        "used": 1,
        "ask": 2,
        "want": [("b1", SHARED), ("b2", SHARED)],
    },
    "its nominal quota from anybody": {"b": "1", "used": 0, "ask": 1, "want": [("b1", RECLAIMED)]},
}


@pytest.mark.parametrize("case", WEIGHTLESS.values(), ids=WEIGHTLESS)
def test_a_preemptor_of_weight_zero(case: Json) -> None:
    objects = [
        queue("a", 1, weight="0", **ANYBODY), queue("b", 0, weight=case["b"]), queue("lender", 4),
        *many("a", "a", case["used"], priority=9), *many("b", "b", 5 - case["used"]),
    ]  # fmt: skip
    one = decide(objects, waits("in", "a", case["ask"], priority=5))
    assert victims(one) == case["want"]


def test_the_share_of_weight_zero_makes_the_own_queue_give_first() -> None:
    objects = [
        queue("a", 3, weight="0", **ANYBODY), queue("b", 1, weight="0.0001"), queue("lender", 1), held("mine", "a", 1),
        *many("b", "b", 4),
    ]  # fmt: skip
    one = decide(objects, waits("in", "a", 3, priority=5))
    assert victims(one) == [("mine", IN_QUEUE), ("b1", SHARED), ("b2", SHARED)]


# Shares are compared just below the lowest common cohort (QP-734). `a` asks for 2 cpu, 1 more than its cohort x has.
LEVELS = {
    "the cohorts, though their queues differ more": {
        "objects": [
            tree("x", "root", 1), tree("y", "root", 4), queue("a", 0, "x", **ANYBODY), queue("b", 0, "y"),
            queue("b2", 0, "y"), *many("b", "b", 4), *many("z", "b2", 1, priority=9),
        ],
        "want": [],
    },
    "the queues, where they are of one cohort": {
        "objects": [tree("y", "root", 4), queue("a", 0, "y", **ANYBODY), queue("b", 0, "y"), *many("b", "b", 4)],
        "want": ["b1", "b2"],
    },
    "a queue against a cohort": {
        "objects": [
            tree("x", "root", 1), tree("y", "root"), queue("a", 0, "x", **ANYBODY), queue("lender", 3, "root"),
            queue("b", 0, "root"), *many("b", "b", 4),
        ],
        "want": ["b1", "b2"],
    },
    "equal weights of cohorts": {
        "objects": [
            tree("x", "root", 1), tree("y", "root", 4), queue("a", 0, "x", **ANYBODY), queue("b", 0, "y"),
            queue("lender", 1, "root"), *many("b", "b", 6),
        ],
        "want": [],
    },
    "a heavier cohort may take more": {
        "objects": [
            tree("x", "root", 1, weight="4"), tree("y", "root", 4), queue("a", 0, "x", **ANYBODY), queue("b", 0, "y"),
            queue("lender", 1, "root"), *many("b", "b", 6),
        ],
        "want": ["b1", "b2"],
    },
}  # fmt: skip


@pytest.mark.parametrize("case", LEVELS.values(), ids=LEVELS)
def test_the_level_at_which_shares_are_compared(case: Json) -> None:
    one = decide([tree("root"), *case["objects"]], waits("in", "a", 2))
    assert [name for name, _ in victims(one)] == case["want"]


# A borrower whose reclaimWithinCohort is not Never is asked for victims, though none may pass (QP-204, QP-435).
@pytest.mark.parametrize(
    ("policy", "want"), [("Never", "NoFit"), ("", "NoCandidates"), ("LowerPriority", "NoCandidates")]
)
def test_an_empty_policy_is_not_never(policy: str, want: str) -> None:
    objects = [queue("a", 0, reclaim=policy), queue("b", 0), queue("lender", 2), held("b1", "b", 2)]
    assert outcomes(decide(objects, waits("in", "a", 2))) == {"in": want}
