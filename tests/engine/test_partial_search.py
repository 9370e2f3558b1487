"""The search for reduced pod counts, where more pods may do although fewer do not. Source: QP-531, QP-532."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast import Engine
from tests.engine.small_cluster import (
    Json,
    add,
    cycle,
    held,
    outcomes,
    pod_set,
    queue,
    quotas,
    started,
    victims,
    workload_json,
)


def uneven(memory_in_use: int, *, six: int = 6) -> Engine:
    """`q` stops at flavor `one` where victims exist for cpu and for memory alone, though not for both.

    Pods of 1 cpu and 1 memory: `one` has 4 cpu and 6 memory less what is in use, and takes up to `six` with victims;
    `two` holds 7. So more than 7 pods never fit; 7 fit on `two`, since `one` could never hold them; 5 and 6 are stuck
    at `one`.
    """
    return started(
        queue(
            "q", 0, "all", quotas({"one": {"cpu": 6, "memory": six}, "two": {"cpu": 7, "memory": 7}}),
            within="LowerPriority", reclaim="Any", flavorFungibility={"whenCanPreempt": "MayStopSearch"},
        ),
        queue("lender", 0, "all", quotas({"one": {"cpu": 4, "memory": 0}})),
        queue("b", 0, "all", quotas({"one": {"cpu": 0, "memory": 0}})),
        held("y", "q", {"cpu": 6}), held("b1", "b", {"memory": memory_in_use}),
    )  # fmt: skip


def pods(count: int, minimum: int | None) -> Json:
    return workload_json("w", "q", pod_set(count, minimum=minimum, cpu=1, memory=1), priority=1)


# (count, minimum): pods and flavor that it gets, or the outcome. Success by count: 7 on two; 4 and fewer on one.
UNEVEN = {
    "8 to 4: six pods are asked first and fail, so four are found, not seven": {
        "pods": (8, 4), "memory": 2, "want": (4, "one"),
    },
    "8 to 6: seven are the first that is asked": {"pods": (8, 6), "memory": 2, "want": (7, "two")},
    "8 to 5: six fail, five fail, and seven are never asked": {"pods": (8, 5), "memory": 2, "want": "NoFit"},
    "8 to 4 where four do not fit either: nothing is found though seven would fit": {
        "pods": (8, 4), "memory": 3, "want": "NoFit",
    },
    "8 to 7: seven": {"pods": (8, 7), "memory": 2, "want": (7, "two")},
    "8 without a minimum": {"pods": (8, None), "memory": 2, "want": "NoFit"},
    "7 fit and are not reduced": {"pods": (7, 1), "memory": 2, "want": (7, "two")},
    "6 to 1: stuck, then reduced": {"pods": (6, 1), "memory": 2, "want": (4, "one")},
    "6 to 6: nothing to reduce": {"pods": (6, 6), "memory": 2, "want": "NoCandidates"},
}  # fmt: skip


@pytest.mark.parametrize("case", UNEVEN.values(), ids=UNEVEN)
def test_the_order_of_probes(case: Json) -> None:
    engine = add(uneven(case["memory"]), pods(*case["pods"]))
    one = cycle(engine)
    if isinstance(case["want"], str):
        assert (outcomes(one), victims(one)) == ({"w": case["want"]}, [])
    else:
        assert [(each.count, each.flavors["cpu"]) for each in one.admitted[0].pod_sets] == [case["want"]]


def test_without_partial_admission_nothing_is_reduced() -> None:
    engine = started(queue("q", 4, None), pods_of_cpu(8, 1), gates={"PartialAdmission": False})
    assert outcomes(cycle(engine)) == {"w": "NoFit"}


def pods_of_cpu(count: int, minimum: int, **rest: Any) -> Json:
    return workload_json("w", "q", pod_set(count, minimum=minimum, cpu=1), **rest)


# Probes that preempt: `q` has 8 cpu, and holds lower priorities as given. {(count, minimum)}: victims and outcome.
PREEMPTING = {
    "victims for the full count are preferred to a reduction": {
        "held": [2, 2, 2, 2], "pods": (8, 1), "want": ["v1", "v2", "v3", "v4"],
    },
    "the largest count for which victims suffice": {
        "held": [2, 2], "kept": 4, "pods": (8, 1), "want": ["v1", "v2"],
    },
    "a reduced count needs fewer victims": {
        "held": [1, 1], "kept": 5, "pods": (8, 1), "want": ["v1", "v2"],
    },
    "what fits without victims is not looked for while victims suffice": {
        "held": [1], "kept": 3, "pods": (8, 1), "want": ["v1"],
    },
}  # fmt: skip


@pytest.mark.parametrize("case", PREEMPTING.values(), ids=PREEMPTING)
def test_reductions_with_victims(case: Json) -> None:
    engine = started(
        queue("q", 8, None, within="LowerPriority"),
        *(held(f"v{i}", "q", size, priority=i) for i, size in enumerate(case["held"], 1)),
        *([held("kept", "q", case["kept"], priority=99)] if "kept" in case else []),
        pods_of_cpu(*case["pods"], priority=50),
    )  # fmt: skip
    assert sorted(name for name, _ in victims(cycle(engine))) == case["want"]


def test_nothing_found_leaves_the_full_assignment_without_victims() -> None:
    engine = started(
        queue("q", 8, None, within="LowerPriority"), held("kept", "q", 8, priority=99), pods_of_cpu(8, 2, priority=1)
    )  # fmt: skip
    one = cycle(engine)
    assert (outcomes(one), victims(one)) == ({"w": "NoCandidates"}, [])
    assert "8 more needed" in one.requeued[0].message()


# Reductions of several pod sets go in step: {(count, minimum)} under a quota of cpu, 1 a pod.
STEPS = {
    "each by its share, truncated": {"sets": [(4, 1), (10, 4)], "quota": 9, "want": [2, 6]},
    "to the minima of all": {"sets": [(4, 1), (10, 4)], "quota": 5, "want": [1, 4]},
    "what falls between two steps is left": {"sets": [(4, 1), (10, 4)], "quota": 6, "want": [1, 4]},
    "two cpu more are one step less": {"sets": [(4, 1), (10, 4)], "quota": 7, "want": [2, 5]},
    "a set without a minimum keeps its pods": {"sets": [(4, None), (10, 4)], "quota": 9, "want": [4, 5]},
    "a minimum of the full count is none": {"sets": [(4, 4), (10, 4)], "quota": 9, "want": [4, 5]},
}


@pytest.mark.parametrize("case", STEPS.values(), ids=STEPS)
def test_pod_sets_are_reduced_together(case: Json) -> None:
    sets = [
        pod_set(count, name=f"s{i}", minimum=least, cpu=1) for i, (count, least) in enumerate(case["sets"])
    ]
    one = cycle(started(queue("q", case["quota"], None), workload_json("w", "q", *sets)))
    assert [each.count for each in one.admitted[0].pod_sets] == case["want"]
