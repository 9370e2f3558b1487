"""Where the search for flavors goes on in the next cycle.

Source: QP-217, QP-443, QP-501..504, QC-28, QC-40, QC-98..100.

In most tests `w` loses flavor `one` to a stronger workload in the cycle in which it was nominated with it. With the
record of that scan it goes on at `two`; without one it starts at `one`, which is free again by then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kueue_fast import Engine
from tests.arrays.objects import cohort as bare_cohort
from tests.engine.small_cluster import (
    Json,
    add,
    cycle,
    flavors_of,
    held,
    outcomes,
    queue,
    quotas,
    release,
    started,
    waits,
)

PRESERVE = "FlavorFungibilityPreserveScanProgress"
HASHING = "SchedulingEquivalenceHashing"


def both(one: int = 0, two: int = 0) -> Json:
    return quotas({"one": {"cpu": one}, "two": {"cpu": two}})


def interrupted(*more: Any, gates: dict[str, bool] | None = None, **spec: Any) -> Engine:
    """`w` of `q` was nominated with `one` in cycle 1, and lost it to `rival` of the queue `s`, which is gone again."""
    engine = started(
        queue("q", 0, "all", both(0, 5), **spec), queue("s", 0, "all", both(2)), *more,
        waits("w", "q", 2), waits("rival", "s", 2, priority=5), gates=gates,
    )  # fmt: skip
    assert outcomes(cycle(engine)) == {"rival": "Admitted", "w": "NoLongerFits"}
    return engine


def free(engine: Engine) -> None:
    engine.delete("Workload", "default", "rival")


def busy_cycle(engine: Engine) -> None:
    """A cycle in which a stronger workload of `q` is the head, so that the record of `w` gets older than a cycle."""
    add(engine, waits("urgent", "q", 1, priority=99))
    assert outcomes(cycle(engine)) == {"urgent": "Admitted"}


def test_the_scan_goes_on_in_the_next_cycle() -> None:
    engine = interrupted()
    free(engine)
    assert flavors_of(cycle(engine)) == {"w": "two"}


# Gates and changes before the next cycle; the generation of `q` was not advanced.
NEXT_CYCLE = {
    "nothing": {"want": "two"},
    "without preserving, a skipped one forgets": {"gates": {PRESERVE: False}, "want": "one"},
    "without fungibility the scan starts at the first": {"gates": {"FlavorFungibility": False}, "want": "one"},
    "an update that changes nothing": {"then": [waits("w", "q", 2)], "want": "two"},
    "another priority is another shape": {"then": [waits("w", "q", 2, priority=1)], "want": "one"},
    "without hashing shapes are not known": {
        "gates": {HASHING: False}, "then": [waits("w", "q", 2, priority=1)], "want": "two",
    },
    "other requests are another workload": {
        "gates": {HASHING: False}, "then": [waits("w", "q", 1)], "want": "one",
    },
    "deleted and created again": {"delete": "w", "then": [waits("w", "q", 2)], "want": "one"},
    "a later generation of the queue does not matter yet": {
        "then": [queue("late", 0, "all", both())], "want": "two",
    },
}  # fmt: skip


@pytest.mark.parametrize("case", NEXT_CYCLE.values(), ids=NEXT_CYCLE)
def test_the_next_cycle_after(case: Json) -> None:
    engine = interrupted(gates=case.get("gates"))
    if "delete" in case:
        engine.delete("Workload", "default", case["delete"])
    free(engine)
    add(engine, *case.get("then", []))
    assert flavors_of(cycle(engine)) == {"w": case["want"]}


def _delete_urgent(engine: Engine) -> None:
    engine.delete("Workload", "default", "urgent")


def _see_urgent(engine: Engine) -> None:
    add(engine, held("urgent", "q", 1, "two", priority=99))


def _see_mine_again(engine: Engine) -> None:
    add(engine, held("mine", "q", 0, "two", priority=99))


def _delete_sibling_queue(engine: Engine) -> None:
    engine.delete("ClusterQueue", "", "t")


# What advances the generation of `q` (QP-217), seen once the record is older than a cycle: then `w` starts at `one`.
EVENTS: dict[str, tuple[Callable[[Engine], object], str]] = {
    "nothing": (lambda engine: None, "two"),
    "a workload of the queue was removed": (_delete_urgent, "one"),
    "an assumed workload of the queue was seen with its reservation": (_see_urgent, "one"),
    "a held workload of the queue was seen again": (_see_mine_again, "one"),
    "a workload of a sibling was removed": (lambda engine: engine.delete("Workload", "default", "other"), "two"),
    "the quota of the queue changed": (
        lambda engine: add(engine, queue("q", 0, "all", both(0, 6))[0]), "one",
    ),
    "the queue was updated without another quota": (
        lambda engine: add(engine, queue("q", 0, "all", both(0, 5), within="LowerPriority")[0]), "two",
    ),
    "the quota of a sibling changed": (lambda engine: add(engine, queue("t", 0, "all", both(0, 1))[0]), "one"),
    "a sibling was updated without another quota": (
        lambda engine: add(engine, queue("t", 0, "all", both(), within="LowerPriority")[0]), "two",
    ),
    "a sibling left": (lambda engine: add(engine, queue("t", 0, None, both())[0]), "one"),
    "a sibling was deleted": (_delete_sibling_queue, "one"),
    "a sibling came": (lambda engine: add(engine, queue("new", 0, "all", both())), "one"),
    "the cohort got an object": (lambda engine: add(engine, bare_cohort("all")), "one"),
    "a queue of another tree changed": (lambda engine: add(engine, queue("far", 3, "elsewhere")[0]), "two"),
    "a workload that holds quota came to the queue": (lambda engine: add(engine, held("new", "q", 1, "two")), "two"),
    "a pending workload came to the queue": (lambda engine: add(engine, waits("more", "q", 1, priority=-9)), "two"),
}  # fmt: skip


@pytest.mark.parametrize(("event", "want"), EVENTS.values(), ids=EVENTS)
def test_an_older_record_after(event: Callable[[Engine], object], want: str) -> None:
    engine = interrupted(
        queue("t", 0, "all", both()), queue("far", 1, "elsewhere"), held("other", "t", 0),
        held("mine", "q", 0, "two", priority=99),
    )  # fmt: skip
    busy_cycle(engine)
    free(engine)
    event(engine)
    assert flavors_of(cycle(engine))["w"] == want


def test_a_cohort_event_that_changes_nothing_outdates_a_record() -> None:
    engine = interrupted(bare_cohort("all"))
    busy_cycle(engine)
    free(engine)
    add(engine, bare_cohort("all"))
    assert flavors_of(cycle(engine)) == {"w": "one"}


def test_a_record_of_the_previous_cycle_survives_any_event() -> None:
    engine = interrupted()
    free(engine)
    add(engine, bare_cohort("all"), queue("q", 0, "all", both(0, 6))[0])
    assert flavors_of(cycle(engine)) == {"w": "two"}


def test_cycles_without_the_queue_age_a_record_too() -> None:
    engine = interrupted(held("mine", "q", 0, "two"))
    add(engine, queue("q", 0, "all", both(0, 5), stopPolicy="Hold")[0])
    assert outcomes(cycle(engine)) == {}
    add(engine, queue("q", 0, "all", both(0, 5))[0])
    free(engine)
    engine.delete("Workload", "default", "mine")
    assert flavors_of(cycle(engine)) == {"w": "one"}


# Which outcome keeps the record: `w` prefers `one`, where it needs victims, and stops there (QP-504, QC-128).
def test_an_issued_preemption_forgets_the_scan() -> None:
    engine = started(
        queue("q", 0, None, both(2, 2), within="LowerPriority", flavorFungibility={"whenCanPreempt": "MayStopSearch"}),
        held("v", "q", 2, "one"), waits("w", "q", 2, priority=1),
    )  # fmt: skip
    assert outcomes(cycle(engine)) == {"w": "Preempting"}
    release(engine, "v")
    assert flavors_of(cycle(engine)) == {"w": "one"}


def test_a_closed_preemption_gate_forgets_the_scan() -> None:
    engine = started(
        queue("q", 0, None, both(2, 2), within="LowerPriority", flavorFungibility={"whenCanPreempt": "MayStopSearch"}),
        held("v", "q", 2, "one"), waits("w", "q", 2, priority=1, preemptionGates=[{"name": "g"}]),
        gates={"ConcurrentAdmission": True},
    )  # fmt: skip
    assert outcomes(cycle(engine)) == {"w": "Gated"}
    release(engine, "v")
    assert flavors_of(cycle(engine)) == {"w": "one"}


def test_a_deferred_fit_forgets_the_scan() -> None:
    keep = {"whenCanPreempt": "MayStopSearch"}
    engine = started(
        queue("first", 2, reclaim="Any"), queue("q", 0, "all", both(2, 2), reclaim="Any", flavorFungibility=keep),
        queue("b", 0, "all", both()), held("v", "b", 4, "one"),
        waits("first", "first", 2, priority=2), waits("w", "q", 2),
        gates={"RecomputeAssignmentUponPreemptionTargetsOverlap": True},
    )  # fmt: skip
    assert outcomes(cycle(engine)) == {"first": "Preempting", "w": "Deferred"}
    release(engine, "v")
    assert flavors_of(cycle(engine))["w"] == "one"


def test_an_overlap_keeps_the_scan() -> None:
    """Skipped on `one`, it finds `two` in the next cycle, as after a lost flavor."""
    keep = {"whenCanPreempt": "MayStopSearch"}
    engine = started(
        queue("first", 2, reclaim="Any"), queue("q", 0, "all", both(2, 2), reclaim="Any", flavorFungibility=keep),
        queue("b", 0, "all", both()), held("v", "b", 4, "one"),
        waits("first", "first", 2, priority=2), waits("w", "q", 2),
    )  # fmt: skip
    assert outcomes(cycle(engine)) == {"first": "Preempting", "w": "Overlap"}
    assert flavors_of(cycle(engine)) == {"w": "two"}


def without_joint_victims(*more: Any, **options: Any) -> Engine:
    """On `one` victims exist for cpu and for memory alone, not for both: the scan stops there and finds nobody."""
    one = {"cpu": 6, "memory": 6}
    return started(
        queue("q", 0, "all", quotas({"one": one, "two": {"cpu": 9, "memory": 9}}), within="LowerPriority",
        reclaim="Any",
              flavorFungibility={"whenCanPreempt": "MayStopSearch"}),
        queue("lender", 0, "all", quotas({"one": {"cpu": 4, "memory": 0}})),
        queue("b", 0, "all", quotas({"one": {"cpu": 0, "memory": 0}})),
        held("y", "q", {"cpu": 6}), held("b1", "b", {"memory": 2}), *more, **options,
    )  # fmt: skip


def test_no_candidates_keeps_the_scan_and_tries_the_next_flavor_at_once() -> None:
    engine = without_joint_victims(waits("w", "q", {"cpu": 5, "memory": 5}, priority=1))
    assert outcomes(cycle(engine)) == {"w": "NoCandidates"}
    # flavors are left, so it is not parked (QC-40)
    assert engine.queue_state()["q"].active == ["default/w"]
    assert flavors_of(cycle(engine)) == {"w": "two"}


# Without preserving, a later generation outdates the record of the previous cycle too: upstream's reason for the gate.
GENERATION = {
    "with the gate": {"gates": {}, "then": [bare_cohort("all")], "want": "Admitted"},
    "without it": {"gates": {PRESERVE: False}, "then": [bare_cohort("all")], "want": "NoCandidates"},
    "without it, and without an event": {"gates": {PRESERVE: False}, "then": [], "want": "Admitted"},
}


@pytest.mark.parametrize("case", GENERATION.values(), ids=GENERATION)
def test_a_later_generation_in_the_next_cycle(case: Json) -> None:
    engine = without_joint_victims(waits("w", "q", {"cpu": 5, "memory": 5}, priority=1), gates=case["gates"])
    assert outcomes(cycle(engine)) == {"w": "NoCandidates"}
    add(engine, *case["then"])
    assert outcomes(cycle(engine)) == {"w": case["want"]}


def test_the_last_flavor_makes_the_scan_start_over() -> None:
    """Nominated with `two`, the last one, it lost it; the next scan begins at `one`, which is free now."""
    engine = started(
        queue("q", 0, "all", both(1, 0)), queue("s", 0, "all", both(0, 1)), held("x", "q", 1, "one"),
        waits("w", "q", 1), waits("rival", "s", 1),
    )  # fmt: skip
    assert outcomes(cycle(engine)) == {"rival": "Admitted", "w": "NoLongerFits"}
    release(engine, "x")
    assert flavors_of(cycle(engine)) == {"w": "one"}


def test_an_evicted_workload_starts_at_the_first_flavor() -> None:
    engine = started(queue("q", 0, None, both(2, 2)), waits("w", "q", 2))
    assert flavors_of(cycle(engine)) == {"w": "one"}
    add(engine, held("w", "q", 2, "one"), waits("w", "q", 2))
    assert flavors_of(cycle(engine)) == {"w": "one"}


def test_a_workload_evicted_from_a_later_flavor_starts_at_the_first() -> None:
    engine = interrupted()
    free(engine)
    assert flavors_of(cycle(engine)) == {"w": "two"}
    add(engine, held("w", "q", 2, "two"), waits("w", "q", 2))
    assert flavors_of(cycle(engine)) == {"w": "one"}


def test_a_list_of_flavors_that_shrank_is_gone_through_from_its_start() -> None:
    """The record points beyond the list: upstream would admit without quota (QP-902)."""
    engine = interrupted()
    free(engine)
    add(engine, queue("q", 0, "all", quotas({"one": {"cpu": 0}}))[0])
    assert flavors_of(cycle(engine)) == {"w": "one"}
