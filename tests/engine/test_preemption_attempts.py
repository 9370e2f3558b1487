"""The classical search for victims: lists, attempts, validity, fill-back. Source: QP-631..642, QP-702..708."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.small_cluster import (
    IN_QUEUE,
    RECLAIMED,
    Json,
    decide,
    held,
    outcomes,
    queue,
    quotas,
    tree,
    victims,
    waits,
)

BORROWED = "InCohortReclaimWhileBorrowing"
LOWER = {"policy": "LowerPriority"}


def own(cpu: int, **rest: Any) -> list[Any]:
    """The preemptor's queue."""
    return queue("q", cpu, rest.pop("cohort", "all"), within="LowerPriority", reclaim="Any", **rest)


# Everything is held; `in` (priority 10) asks `q` for some cpu. Each case needs another branch of QP-706.
ATTEMPTS = {
    "without candidates elsewhere it may borrow": {
        "objects": [
            own(2), queue("lender", 2),
            *(held(f"y{i}", "q") for i in range(1, 5)),
        ],
        "ask": 2,
        "want": [("y1", IN_QUEUE), ("y2", IN_QUEUE)],
    },
    "who is within nominal elsewhere is no candidate": {
        "objects": [
            own(3), queue("b", 4),
            held("y1", "q"), held("y2", "q"), held("b1", "b", 3),
        ],
        "ask": 3,
        "want": [("y1", IN_QUEUE)],
    },
    "nor who is in a cohort within nominal": {
        "objects": [
            tree("root"), own(3, cohort="root"), tree("x", "root", 4), queue("b", 0, "x"),
            held("y1", "q"), held("y2", "q"), held("b1", "b", 3),
        ],
        "ask": 3,
        "want": [("y1", IN_QUEUE)],
    },
    "exactly at nominal, without leave to borrow, only the own queue counts": {
        "objects": [
            own(2), queue("lender", 2), queue("b"),
            held("y1", "q"), held("y2", "q"), held("b1", "b"),
        ],
        "ask": 2,
        "want": [("y1", IN_QUEUE)],
    },
    "below nominal, without leave to borrow, it tries to end up within nominal first": {
        "objects": [
            own(3), queue("lender", 3), queue("b"),
            held("y1", "q"), held("y2", "q"), held("b1", "b", 2),
        ],
        "ask": 3,
        # b1 is put back, and the last victim takes its place
        "want": [("y2", IN_QUEUE), ("y1", IN_QUEUE)],
    },
    "below nominal, where that fails, it borrows": {
        "objects": [
            own(3), queue("lender", 2), queue("b"),
            held("y1", "q", priority=99), held("y2", "q"), held("b1", "b"),
        ],
        "ask": 3,
        "want": [("y2", IN_QUEUE)],
    },
    "a policy Never for borrowing is like none": {
        "objects": [
            own(3, borrow={"policy": "Never"}), queue("lender", 3), queue("b"),
            held("y1", "q"), held("y2", "q"), held("b1", "b", 2),
        ],
        "ask": 3,
        "want": [("y2", IN_QUEUE), ("y1", IN_QUEUE)],
    },
    "with leave to borrow it borrows first": {
        "objects": [
            own(3, borrow=LOWER), queue("lender", 3), queue("b"),
            held("y1", "q"), held("y2", "q"), held("b1", "b", 2),
        ],
        "ask": 3,
        "want": [("b1", BORROWED)],
    },
    "with leave to borrow, but not from these, it ends up within nominal": {
        "objects": [own(3, borrow=LOWER), queue("b"), held("y1", "q"), held("b1", "b", 2, priority=10)],
        "ask": 3,
        "want": [("b1", RECLAIMED), ("y1", IN_QUEUE)],
    },
    "with an advantage it borrows first": {
        "objects": [
            tree("root"), tree("c", "root", 3), own(3, cohort="c"), queue("b", 0, "root"),
            held("y1", "q"), held("y2", "q"), held("b1", "b", 4),
        ],
        "ask": 3,
        "want": [("b1", RECLAIMED)],
    },
}  # fmt: skip


@pytest.mark.parametrize("case", ATTEMPTS.values(), ids=ATTEMPTS)
def test_attempts(case: Json) -> None:
    one = decide(case["objects"], waits("in", "q", case["ask"], priority=10))
    assert (victims(one), outcomes(one)) == (case["want"], {"in": "Preempting"})


# `q` asks for cpu and memory. Both are short; preemption could find either, but not both.
def two_resources(*more: Any, **spec: Any) -> list[Any]:
    both = quotas({"one": {"cpu": 6, "memory": 6}})
    return [
        queue("q", 0, "all", both, within="LowerPriority", reclaim="Any", **spec),
        queue("lender", 0, "all", quotas({"one": {"cpu": 4, "memory": 0}})),
        queue("b", 0, "all", quotas({"one": {"cpu": 0, "memory": 0}})),
        *more,
    ]


AT_NOMINAL = {
    "one short resource at nominal forbids reclaiming for the other": {
        "held": [held("y", "q", {"cpu": 6}), held("b1", "b", {"memory": 2})],
        "want": ([], "NoCandidates"),
    },
    "below nominal in both it reclaims": {
        "held": [held("y", "q", {"cpu": 5}), held("z", "lender", {"cpu": 1}), held("b1", "b", {"memory": 2})],
        "want": ([("y", IN_QUEUE), ("b1", RECLAIMED)], "Preempting"),
    },
}


@pytest.mark.parametrize("case", AT_NOMINAL.values(), ids=AT_NOMINAL)
def test_all_short_resources_must_be_below_nominal(case: Json) -> None:
    one = decide(two_resources(*case["held"]), waits("in", "q", {"cpu": 5, "memory": 5}, priority=10))
    assert (sorted(victims(one)), outcomes(one)["in"]) == (sorted(case["want"][0]), case["want"][1])


def test_a_resource_that_is_not_short_must_not_borrow_either() -> None:
    """cpu could be reclaimed within nominal, but memory, which fits, would borrow: so nothing is taken."""
    objects = [
        queue("q", 0, "all", quotas({"one": {"cpu": 2, "memory": 1}}), reclaim="Any"),
        queue("lender", 0, "all", quotas({"one": {"cpu": 0, "memory": 2}})),
        queue("b", 0, "all", quotas({"one": {"cpu": 0, "memory": 0}})),
        held("b1", "b", {"cpu": 2}),
    ]
    one = decide(objects, waits("in", "q", {"cpu": 2, "memory": 2}))
    assert (victims(one), outcomes(one)) == ([], {"in": "NoCandidates"})
    fits = decide(objects, waits("in", "q", {"cpu": 2, "memory": 1}))
    assert victims(fits) == [("b1", RECLAIMED)]


# `q` (2 cpu) asks for 3, one of them borrowed; `b` holds six times 1 cpu of the given priority.
THRESHOLD = {
    "a lower priority at the threshold": {
        "borrow": {**LOWER, "maxPriorityThreshold": 0}, "priority": 0, "want": BORROWED,
    },
    "a lower priority above the threshold": {
        "borrow": {**LOWER, "maxPriorityThreshold": 0}, "priority": 1, "want": None,
    },
    "a negative threshold": {"borrow": {**LOWER, "maxPriorityThreshold": -5}, "priority": -4, "want": None},
    "at a negative threshold": {"borrow": {**LOWER, "maxPriorityThreshold": -5}, "priority": -5, "want": BORROWED},
    "no threshold": {"borrow": LOWER, "priority": 9, "want": BORROWED},
    "no threshold, an equal priority": {"borrow": LOWER, "priority": 10, "want": None},
    "a higher threshold, an equal priority": {
        "borrow": {**LOWER, "maxPriorityThreshold": 20}, "priority": 10, "want": None,
    },
    "a threshold without a policy": {
        "borrow": {"policy": "Never", "maxPriorityThreshold": 20}, "priority": 0, "want": None,
    },
}  # fmt: skip


@pytest.mark.parametrize("case", THRESHOLD.values(), ids=THRESHOLD)
def test_borrowing_may_take(case: Json) -> None:
    objects = [
        own(2, borrow=case["borrow"]), queue("b", 2), queue("c", 2),
        *(held(f"b{i}", "b", priority=case["priority"]) for i in range(1, 7)),
    ]  # fmt: skip
    one = decide(objects, waits("in", "q", 3, priority=10))
    want = case["want"]
    assert victims(one) == ([] if want is None else [("b1", want), ("b2", want), ("b3", want)])


def test_above_the_threshold_nominal_quota_is_still_reclaimed() -> None:
    objects = [
        own(2, borrow={**LOWER, "maxPriorityThreshold": 0}),
        queue("b", 2),
        held("b1", "b", 4, priority=1),
    ]
    assert victims(decide(objects, waits("in", "q", 2, priority=10))) == [("b1", RECLAIMED)]


# Who is protected when its turn comes (QP-702, QP-707). `q` (4 cpu, root) asks for some; reclaimWithinCohort is Any.
PROTECTED = {
    "the rest of a queue that is back within nominal": {
        "objects": [
            queue("b", 1, "root"), queue("c", 0, "root"),
            held("b1", "b"), held("b2", "b", priority=1), *(held(f"c{i}", "c", priority=2) for i in (1, 2, 3)),
        ],
        "ask": 2,
        "want": ["b1", "c1"],
    },
    "the rest of a cohort that is back within nominal, though its queues are not": {
        "objects": [
            tree("a", "root", 2), queue("a1", 0, "a"), queue("a2", 0, "a"), queue("c", 0, "root"),
            held("u", "a1", 2), held("v", "a2", 2, priority=1), held("w", "c", 2, priority=2),
        ],
        "ask": 4,
        "want": ["u", "w"],
    },
    "the rest of a cohort two levels up that is back within nominal": {
        "objects": [
            tree("a", "root", 2), tree("m", "a"), tree("m2", "a"), queue("a1", 0, "m"), queue("a2", 0, "m2"),
            queue("c", 0, "root"),
            held("u", "a1", 2), held("v", "a2", 2, priority=1), held("w", "c", 2, priority=2),
        ],
        "ask": 4,
        "want": ["u", "w"],
    },
    "a queue within nominal, whatever its priority": {
        "objects": [
            queue("b", 1, "root"), queue("c", 0, "root"), held("b1", "b", priority=-10), held("c1", "c", 4, priority=9),
        ],
        "ask": 4,
        "want": ["c1"],
    },
    "a borrowing queue in a cohort that does not borrow": {
        "objects": [
            tree("a", "root", 2), queue("a1", 0, "a"), queue("c", 0, "root"),
            held("u", "a1", 2, priority=-10), held("c1", "c", 4, priority=9),
        ],
        "ask": 4,
        "want": ["c1"],
    },
    "a queue that borrows only what is not short": {
        "objects": [
            queue("b", 0, "root", quotas({"one": {"cpu": 2, "memory": 0}})), queue("c", 0, "root"),
            queue("lender", 0, "root", quotas({"one": {"memory": 5}})),
            held("b1", "b", {"cpu": 2, "memory": 5}, priority=-10), held("c1", "c", 4, priority=9),
        ],
        "ask": 2,
        "want": ["c1"],
    },
    "within nominal means within it for every short resource": {
        "objects": [
            queue("b", 0, "root", quotas({"one": {"cpu": 1, "memory": 9}})),
            held("b1", "b", {"cpu": 5, "memory": 1}),
        ],
        "ask": 4,
        "want": ["b1"],
    },
}  # fmt: skip


@pytest.mark.parametrize("case", PROTECTED.values(), ids=PROTECTED)
def test_victims_spare(case: Json) -> None:
    objects = [tree("root"), queue("q", 4, "root", reclaim="Any"), *case["objects"]]
    one = decide(objects, waits("in", "q", case["ask"]))
    assert victims(one) == [(name, RECLAIMED) for name in case["want"]]


def test_quota_at_the_common_cohort_protects_nobody() -> None:
    """Both queues live on the quota of their cohort, which is within its own: that is no protection."""
    objects = [tree("root"), tree("c", "root", 2), queue("q", 0, "c", reclaim="Any", borrow=LOWER), queue("b", 0, "c"),
               held("b1", "b", 2)]  # fmt: skip
    assert victims(decide(objects, waits("in", "q", 2, priority=1))) == [("b1", BORROWED)]


# Whether `in` may borrow while it takes `b1`, which has its priority: only with an advantage in the hierarchy (QP-702).
ADVANTAGE = {
    "the cohort holds what exceeds the local part of the queue": {
        "objects": [
            tree("root"), tree("c", "root", 1), queue("q", (2, None, 0), "c", reclaim="Any", borrow=LOWER),
            queue("b", 0, "root"), held("b1", "b", 1),
        ],
        "ask": 3,
        "want": True,
    },
    "only the whole tree would hold it": {
        "objects": [
            tree("root", None, 1), tree("c", "root"), queue("q", (2, None, 0), "c", reclaim="Any", borrow=LOWER),
            queue("b", 0, "root"), held("b1", "b", 1),
        ],
        "ask": 3,
        "want": False,
    },
    "what the queue uses counts": {
        "objects": [
            queue("q", 2, reclaim="Any", borrow=LOWER), queue("lender", 1), queue("b"),
            held("y", "q", 1, priority=10), held("b1", "b", 2),
        ],
        "ask": 2,
        "want": False,
    },
    "what others use of the cohort counts": {
        "objects": [
            tree("root"), tree("c", "root", 2), queue("q", 0, "c", reclaim="Any", borrow=LOWER), queue("near", 0, "c"),
            queue("b", 0, "root"), queue("lender", 1, "root"), held("n", "near", 1, priority=10), held("b1", "b", 2),
        ],
        "ask": 2,
        "want": False,
    },
}  # fmt: skip


@pytest.mark.parametrize("case", ADVANTAGE.values(), ids=ADVANTAGE)
def test_hierarchical_advantage(case: Json) -> None:
    one = decide(case["objects"], waits("in", "q", case["ask"]))
    want = ([("b1", RECLAIMED)], "Preempting") if case["want"] else ([], "NoCandidates")
    assert (victims(one), outcomes(one)["in"]) == want


def test_an_advantage_once_gained_holds_for_the_subtrees_beyond() -> None:
    """Cohort c could hold the request, mid above it could not any more: `b1` beyond has the advantage all the same."""
    objects = [
        tree("root"), tree("mid", "root"), tree("c", "mid", 2), queue("q", 0, "c", reclaim="Any"),
        queue("full", 0, "mid"), queue("b", 0, "root"), queue("lender", 2, "root"),
        held("f", "full", 2, priority=1), held("b1", "b", 2),
    ]  # fmt: skip
    assert victims(decide(objects, waits("in", "q", 2))) == [("b1", RECLAIMED)]


# All of `q` (10 cpu) is held, by lower priorities in order of name; who of them goes in the end, and in which order.
FILL_BACK = {
    "small ones go back when a big one suffices": {"held": [1, 1, 8], "ask": 8, "want": "c"},
    "the last takes the place of the one put back": {"held": [3, 1, 3, 3], "ask": 9, "want": "adc"},
    "later ones are tried first": {"held": [2, 2, 6], "ask": 8, "want": "ac"},
    "two are put back": {"held": [1, 4, 1, 4], "ask": 8, "want": "db"},
    "the last one never goes back": {"held": [5, 5], "ask": 5, "want": "a"},
    "none goes back": {"held": [1, 2, 3, 4], "ask": 10, "want": "abcd"},
}


@pytest.mark.parametrize("case", FILL_BACK.values(), ids=FILL_BACK)
def test_fill_back(case: Json) -> None:
    sizes = zip("abcd", case["held"], strict=False)
    objects = [
        queue("q", 10, None, within="LowerPriority"),
        *(held(name, "q", size, priority=place) for place, (name, size) in enumerate(sizes)),
    ]
    one = decide(objects, waits("in", "q", case["ask"], priority=10))
    assert [name for name, _ in victims(one)] == list(case["want"])


# The oracle's answer for each flavor decides which one is taken (QP-440, QP-640). Fungibility is in the case.
ORACLE = {
    "reclaiming on a later flavor beats preempting at home": {
        "fungibility": {"whenCanPreempt": "TryNextFlavor"}, "want": [("b1", RECLAIMED)],
    },
    "preempting at home stops the search": {
        "fungibility": {"whenCanPreempt": "Preempt"}, "want": [("y", IN_QUEUE)],
    },
}  # fmt: skip


@pytest.mark.parametrize("case", ORACLE.values(), ids=ORACLE)
def test_the_flavor_whose_victims_are_elsewhere(case: Json) -> None:
    both = quotas({"one": {"cpu": 2}, "two": {"cpu": 2}})
    objects = [
        queue("q", 0, "all", both, within="LowerPriority", reclaim="Any", flavorFungibility=case["fungibility"]),
        queue("b", 0, "all", quotas({"two": {"cpu": 0}})),
        held("y", "q", 2, "one"), held("b1", "b", 2, "two"),
    ]  # fmt: skip
    assert victims(decide(objects, waits("in", "q", 2, priority=1))) == case["want"]


@pytest.mark.parametrize("stops", [False, True], ids=["the last one", "the first one"])
def test_one_victim_at_home_makes_a_flavor_preempting(stops: bool) -> None:
    """On `one` victims are at home and elsewhere, on `two` elsewhere only: that is better."""
    both = quotas({"one": {"cpu": 3}, "two": {"cpu": 3}})
    try_next = {"whenCanPreempt": "TryNextFlavor"}
    objects = [
        queue("q", 0, "all", both, within="LowerPriority", reclaim="Any", flavorFungibility=try_next),
        queue("b", 0, "all", quotas({"one": {"cpu": 0}, "two": {"cpu": 0}})),
        held("b1", "b", 2, "one"), held("y", "q", 1, "one", evicted=stops), held("b2", "b", 3, "two"),
    ]  # fmt: skip
    assert victims(decide(objects, waits("in", "q", 3, priority=1))) == [("b2", RECLAIMED)]


def test_the_level_after_the_preemption_counts() -> None:
    """By borrow level: on `one` the victims leave the request within nominal, on `two` it would borrow and fit."""
    both = quotas({"one": {"cpu": 2}, "two": {"cpu": 0}})
    objects = [
        queue("q", 0, "all", both, within="LowerPriority", reclaim="Any",
              flavorFungibility={"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor",
                                 "preference": "PreemptionOverBorrowing"}),
        queue("lender", 0, "all", quotas({"two": {"cpu": 2}})),
        held("y", "q", 2, "one"),
    ]  # fmt: skip
    assert victims(decide(objects, waits("in", "q", 2, priority=1))) == [("y", IN_QUEUE)]
