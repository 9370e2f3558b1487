"""Preemption with numbers at the ends of their ranges, and with times that are equal or missing."""

from typing import Any

import pytest

from kueue_fast.api.configuration import load_configuration
from tests.sim.world import (
    SECOND,
    cluster_queue,
    cohort,
    flavor,
    job,
    local_queue,
    one_queue,
    priority_class,
    rows,
    run,
    seconds,
    workload,
)

WITHIN = {"preemption": {"withinClusterQueue": "LowerPriority"}}
HIGH = {"kueue.x-k8s.io/priority-class": "high"}


def test_priorities_at_the_ends_of_their_range() -> None:
    lowest, highest = -(2**31), 2**31 - 1
    result, simulation = run(
        *one_queue(1, **WITHIN),
        workload("lowest", priority=lowest, run_time="20s"),
        workload("middle", arrival="5s", run_time="20s"),
        workload("highest", arrival="10s", priority=highest, run_time="20s"),
        workload("another", arrival="12s", priority=highest, run_time="20s"),
        events=True,
    )
    got = [row.workload for row in result.preemptions]
    assert got == ["ns/lowest", "ns/middle"]
    finished = {name: seconds(row.finished_ns) for name, row in rows(result).items()}
    assert finished == {"highest": 30, "another": 51, "middle": 72, "lowest": 93}
    told = [event.message for event in result.events if event.reason == "PreemptedWorkload"]
    assert f"preemptee effective priority: {lowest} (base: {lowest}, boost: 0)" in told[0]
    assert f"preemptor effective priority: {highest} (base: {highest}, boost: 0)" in told[1]
    assert simulation.restless_ns is None


def test_equal_timestamps_and_missing_creation_times() -> None:
    """Of equals the lower uid stops first; uids that are given out ascend in the order of the input."""
    newer = {"preemption": {"withinClusterQueue": "LowerOrNewerEqualPriority"}}
    stamp = {"creationTimestamp": "2025-06-01T00:00:00Z"}
    equals = [workload(name, run_time="1h", metadata=stamp) for name in "abc"]
    result, _ = run(*one_queue(3, **newer), *equals, workload("high", cpu=2, arrival="5s", priority=1))
    assert [row.workload for row in result.preemptions] == ["ns/a", "ns/b"]
    missing = [workload(name, run_time="1h") for name in "abc"]
    result, simulation = run(
        *one_queue(3, **newer), *missing, workload("high", cpu=2, arrival="5s", priority=1)
    )
    assert [row.workload for row in result.preemptions] == ["ns/a", "ns/b"]
    # An equal one preempts none that is as old.
    result, simulation = run(*one_queue(1, **newer), *missing, until_ns=10 * SECOND)
    assert result.preemptions == []
    assert simulation.restless_ns is None


def sharing(weight: Any) -> tuple[dict[str, Any], ...]:
    reclaim = {"preemption": {"reclaimWithinCohort": "Any"}}
    quota = {"name": "cpu", "nominalQuota": 4}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [quota]}]}
    return (
        flavor("default"),
        cohort("lab", resourceGroups=[group]),
        *(
            each
            for name, its in (("a", weight), ("b", 1))
            for each in (
                cluster_queue(
                    name,
                    {"default": {"cpu": 0}},
                    cohortName="lab",
                    fairSharing={"weight": its},
                    **reclaim,
                ),
                local_queue(f"lq-{name}", name),
            )
        ),
        *(job(f"a{n}", arrival=f"{n}s", queue="lq-a", run_time=None) for n in range(5)),
        *(job(f"b{n}", arrival=f"{30 + n}s", queue="lq-b", run_time=None) for n in range(5)),
    )


WEIGHTS: dict[str, tuple[Any, list[int]]] = {
    "0: everybody takes from it": (0, [0, 4000]),
    "the least that is legal": ("2n", [0, 4000]),
    "the same": (1, [2000, 2000]),
    # Its share stays all but 0, whatever it holds: nobody else is worse off.
    "huge": ("9223372036854775807", [4000, 0]),
    "beyond 64 bits": ("1e30", [4000, 0]),
}


@pytest.mark.parametrize("case", WEIGHTS)
def test_weights_at_the_ends_of_their_range(case: str) -> None:
    weight, want = WEIGHTS[case]
    text = b"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfairSharing: {}\n"
    configuration = load_configuration(text, "config.yaml")
    result, simulation = run(*sharing(weight), configuration=configuration, until_ns=120 * SECOND)
    assert [each.resources[0].reserved for each in result.queues] == want
    assert simulation.restless_ns is None


def test_a_threshold_without_a_policy_changes_nothing() -> None:
    """The policy is then Never, as the schema has it: a borrower preempts nobody outside its queue."""

    def team(**more: Any) -> tuple[dict[str, Any], ...]:
        preemption = {"preemption": {"reclaimWithinCohort": "LowerPriority", **more}}
        return (
            flavor("default"),
            cluster_queue("cq", {"default": {"cpu": 1}}, cohortName="team", **preemption),
            cluster_queue("other", {"default": {"cpu": 1}}, cohortName="team"),
            cluster_queue("lender", {"default": {"cpu": 2}}, cohortName="team"),
            local_queue(),
            local_queue("lq-other", "other"),
            *(job(f"o{n}", queue="lq-other", run_time=None) for n in range(4)),
            job("borrower", cpu=2, arrival="5s", labels=HIGH),
            priority_class("high", 100),
        )

    plain, _ = run(*team(), until_ns=20 * SECOND)
    threshold, _ = run(*team(borrowWithinCohort={"maxPriorityThreshold": 50}), until_ns=20 * SECOND)
    assert threshold.preemptions == plain.preemptions == []
    assert threshold.workloads == plain.workloads
    policy = {"policy": "LowerPriority", "maxPriorityThreshold": 50}
    allowed, _ = run(*team(borrowWithinCohort=policy), until_ns=20 * SECOND)
    assert len(allowed.preemptions) == 2
    assert {row.reason for row in allowed.preemptions} == {"InCohortReclaimWhileBorrowing"}
