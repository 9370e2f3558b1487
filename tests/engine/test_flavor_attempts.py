"""What an admission says of the flavors that it was weighed against.

Source: QP-465; words of upstream's FormatFlavorAssignmentAttemptsForEvents.
"""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast import Engine
from tests.arrays import objects as o
from tests.engine.small_cluster import held, queue, quotas, tree, waits

TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
ONE_MORE = "insufficient unused quota for cpu in flavor one, 1 more needed"


def two(first: int, second: int) -> o.Json:
    """A resource group of two flavors."""
    return quotas({"one": {"cpu": first}, "two": {"cpu": second}})


def admission(*objects: Any, flavors: list[Any] | None = None, cycles: int = 1) -> dict[str, str]:
    """What the admissions of the last of some cycles say, by name of the workload."""
    engine = o.feed(
        Engine(attempts=True),
        o.namespace(),
        *(flavors or [o.flavor("one"), o.flavor("two")]),
        *_flat(objects),
    )
    for _ in range(cycles):
        last = o.cycle(engine)
    return {one.workload.partition("/")[2]: one.considered for one in last.admitted}


def _flat(objects: Any) -> list[Any]:
    found: list[Any] = []
    for one in objects:
        found += one if isinstance(one, list) else [one]
    return found


SAID: dict[str, tuple[Any, dict[str, str]]] = {
    "one flavor that simply fits": (lambda: admission(queue("q", 4, None), waits("w", "q")), {"w": ""}),
    "all of the nominal quota is not borrowing": (
        lambda: admission(queue("q", 2), queue("r", 4), waits("w", "q", 2)),
        {"w": ""},
    ),
    "borrowing, from the only cohort": (
        lambda: admission(queue("q", 1), queue("r", 4), waits("w", "q", 2)),
        {"w": "main: one(Fit;borrow=1)"},
    ),
    "borrowing from farther away": (
        lambda: admission(
            tree("near", "far"),
            tree("far"),
            queue("q", 1, "near"),
            queue("r", 4, "far"),
            waits("w", "q", 2),
        ),
        {"w": "main: one(Fit;borrow=2)"},
    ),
    "a flavor with a taint was passed over": (
        lambda: admission(
            queue("q", 0, None, two(4, 4)),
            waits("w", "q"),
            flavors=[o.flavor("one", nodeTaints=[TAINT]), o.flavor("two")],
        ),
        {"w": "main: one(NoFit;untolerated taint {gpu yes NoSchedule <nil>} in flavor one)"},
    ),
    "a flavor is too small for ever": (
        lambda: admission(queue("q", 0, None, two(1, 4)), waits("w", "q", 2)),
        {
            "w": "main: one(NoFit;insufficient quota for cpu in flavor one, previously considered podsets requests (0) "
            "+ current podset request (2) > maximum capacity (1))"
        },
    ),
    "a flavor is full, and policies let nobody be preempted": (
        lambda: admission(queue("q", 0, None, two(1, 4)), held("old", "q"), waits("w", "q")),
        {"w": f"main: one(preemptionMode=NoCandidates;{ONE_MORE})"},
    ),
    "a flavor is full of workloads with the same priority": (
        lambda: admission(
            queue("q", 0, None, two(1, 4), within="LowerPriority"), held("old", "q"), waits("w", "q")
        ),
        {"w": f"main: one(preemptionMode=NoCandidates;{ONE_MORE})"},
    ),
    "a flavor is full of workloads that could be preempted": (
        lambda: admission(
            queue("q", 0, None, two(1, 4), within="LowerPriority"),
            held("old", "q"),
            waits("w", "q", priority=1),
        ),
        {"w": f"main: one(preemptionMode=Preempt;{ONE_MORE})"},
    ),
    "preempting all that may be preempted would not be enough": (
        lambda: admission(
            queue("q", 0, None, two(2, 4), within="LowerPriority"),
            held("old", "q"),
            held("urgent", "q", priority=1),
            waits("w", "q", 2, priority=1),
        ),
        {"w": f"main: one(preemptionMode=NoCandidates;{ONE_MORE.replace('1 more', '2 more')})"},
    ),
    "one as urgent may be preempted if it is newer": (
        lambda: admission(
            queue("q", 0, None, two(1, 4), within="LowerOrNewerEqualPriority"),
            held("newer", "q", created=9),
            waits("w", "q", created=5),
        ),
        {"w": f"main: one(preemptionMode=Preempt;{ONE_MORE})"},
    ),
    "and not if it is older": (
        lambda: admission(
            queue("q", 0, None, two(1, 4), within="LowerOrNewerEqualPriority"),
            held("older", "q", created=1),
            waits("w", "q", created=5),
        ),
        {"w": f"main: one(preemptionMode=NoCandidates;{ONE_MORE})"},
    ),
    "victims of the own queue, in a cohort": (
        lambda: admission(
            queue("q", 0, "all", two(1, 4), within="LowerPriority"),
            held("old", "q"),
            waits("w", "q", priority=1),
        ),
        {"w": f"main: one(preemptionMode=Preempt;{ONE_MORE})"},
    ),
    "victims of another queue, which borrowed": (
        lambda: admission(
            queue("q", 0, "all", two(1, 4), reclaim="Any"),
            queue("r", 0),
            held("old", "r"),
            waits("w", "q"),
        ),
        {"w": f"main: one(preemptionMode=Reclaim;{ONE_MORE})"},
    ),
    "victims of another queue whose priority is too high": (
        lambda: admission(
            queue("q", 0, "all", two(1, 4), reclaim="LowerPriority"),
            queue("r", 0),
            held("old", "r", priority=5),
            waits("w", "q"),
        ),
        {"w": f"main: one(preemptionMode=NoCandidates;{ONE_MORE})"},
    ),
    "a flavor is lent out beyond what may be reclaimed": (
        lambda: admission(
            queue("q", 0, "all", quotas({"one": {"cpu": 0}, "two": {"cpu": 4}})),
            queue("r", 1),
            held("old", "r"),
            waits("w", "q"),
        ),
        {"w": f"main: one(NoFit;borrow=1;{ONE_MORE})"},
    ),
    "what the same cycle admitted does not count": (
        lambda: admission(
            queue("q", 1), queue("r", 1), queue("s", 2), waits("w", "q", 2), waits("x", "r", 2)
        ),
        {"w": "main: one(Fit;borrow=1)", "x": "main: one(Fit;borrow=1)"},
    ),
    "borrowing in the first flavor, and none in the next": (
        lambda: admission(
            queue("q", 0, "all", two(1, 4), flavorFungibility={"whenCanBorrow": "TryNextFlavor"}),
            queue("r", 4),
            waits("w", "q", 2),
        ),
        {"w": "main: one(Fit;borrow=1)"},
    ),
    "pod sets in their order, by what those before them take": (
        lambda: admission(
            queue("q", 1, "all"),
            queue("r", 4),
            o.workload("w", "q", o.pod_set(1, name="first", cpu=1), o.pod_set(1, name="second", cpu=1)),
        ),
        {"w": "second: one(Fit;borrow=1)"},
    ),
    "several pod sets": (
        lambda: admission(
            queue("q", 0, "all"),
            queue("r", 4),
            o.workload("w", "q", o.pod_set(1, name="first", cpu=1), o.pod_set(1, name="second", cpu=1)),
        ),
        {"w": "first: one(Fit;borrow=1) | second: one(Fit;borrow=1)"},
    ),
    "nothing of a flavor behind the one that fits": (
        lambda: admission(queue("q", 0, None, two(4, 0)), waits("w", "q")),
        {"w": ""},
    ),
    "a cohort's place was taken by the entry before: the scan goes on behind": (
        lambda: admission(
            queue("q", 0, "all", two(0, 2)),
            queue("r", 0, "all"),
            queue("s", 2, "all"),
            waits("w", "q", 2),
            waits("x", "r", 2, priority=1),
            cycles=2,
        ),
        {"w": ""},
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_what_an_admission_says(case: str) -> None:
    run, want = SAID[case]
    assert run() == want


def test_asking_changes_nothing() -> None:
    engine = o.feed(
        Engine(attempts=True),
        o.namespace(),
        o.flavor("one"),
        *queue("q", 1),
        *queue("r", 4),
        waits("w", "q", 2),
    )
    o.cycle(engine)
    state = engine.queue_state()
    assert (state["q"].usage["one/cpu"], state["r"].usage["one/cpu"]) == (2000, 0)
    engine._state.tables.scheduler.validate()
