"""Elastic Jobs in simulations: resizes at given times, and the slices that they make."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kueue_fast.api.batch import Job
from kueue_fast.api.kueue import Workload
from kueue_fast.errors import InputError
from kueue_fast.sim.manifest import Moment, read_facts
from kueue_fast.sim.result import Outcome, SimulationResult, State, WorkloadRow
from tests.sim.world import (
    MINUTE,
    START,
    cluster_queue,
    flavor,
    job,
    local_queue,
    one_queue,
    output,
    priority_class,
    run,
    seconds,
)

ELASTIC = "kueue.x-k8s.io/elastic-job"
RESIZE = "sim.kueue-fast.dev/resize"
HIGH = {"kueue.x-k8s.io/priority-class": "high"}
WITHIN = {"withinClusterQueue": "LowerPriority"}


def elastic(
    name: str, resize: str | None, *, annotations: dict[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    said = {ELASTIC: "true", **({RESIZE: resize} if resize else {}), **(annotations or {})}
    return job(name, more_annotations=said, **{"run_time": "60m", "completions": 1000, **more})


def chain(result: SimulationResult, name: str = "e") -> list[WorkloadRow]:
    """Slices of a Job in the order in which they were made."""
    return [row for row in result.workloads if row.owner_name == name]


def times(row: WorkloadRow) -> tuple[float | None, float | None, float | None]:
    """Made, admitted, ended, in seconds after the start."""
    return seconds(row.arrived_ns), seconds(row.admitted_ns), seconds(row.finished_ns)


def sizes(row: WorkloadRow) -> list[tuple[float | None, int]]:
    assert row.slice is not None
    return [(seconds(time), pods) for time, pods in row.slice.sizes]


def test_a_job_grows_in_a_new_slice_and_shrinks_in_place() -> None:
    result, simulation = run(*one_queue(10), elastic("e", "10m=8, 30m=3", parallelism=2))
    first, second = chain(result)
    assert (times(first), first.outcome) == ((0, 0, 600), Outcome.REPLACED)
    assert (times(second), second.outcome) == ((600, 600, 3600), Outcome.SUCCEEDED)
    assert (sizes(first), sizes(second)) == ([(0, 2)], [(600, 8), (1800, 3)])
    assert second.slice is not None
    assert (second.slice.chain, second.slice.replaces) == (first.name, first.key)
    # 2 cpu for 10 minutes, 8 for 20, 3 for 30: never both slices at once.
    (use,) = result.queues[0].resources
    assert (use.peak, use.reserved) == (8000, 0)
    assert use.integral == (2 * 10 + 8 * 20 + 3 * 30) * 1000 * MINUTE
    ended: Job | None = simulation.cluster.get("Job", "ns", "e")
    assert ended is not None
    assert ended.spec.parallelism == 3


def test_the_job_is_neither_stopped_nor_started_again() -> None:
    result, _ = run(*one_queue(10), elastic("e", "10m=8, 30m=3", parallelism=2), events=True)
    reasons = [event.reason for event in result.events if event.kind == "Job"]
    assert reasons == ["CreatedWorkload", "Started", "CreatedWorkload", "FinishedWorkload"]
    (told,) = [event for event in result.events if event.reason == "WorkloadSliceReplaced"]
    assert (told.name, told.type) == (chain(result)[0].name, "Normal")
    assert told.message.endswith("due to workload slice aggregation")


def running_pods(at: int, *objects: dict[str, Any]) -> tuple[int, int]:
    """Pods of the Job `e` that are there, and those of them that went to nodes, so many minutes after the start."""
    _, simulation = run(*objects, until_ns=at * MINUTE)
    found: Job | None = simulation.cluster.get("Job", "ns", "e")
    assert found is not None
    assert found.status is not None
    return found.status.active or 0, found.status.ready or 0


def test_pods_beyond_the_admitted_slice_wait_at_their_gates() -> None:
    # The new slice waits until the other job ends.
    other = job("other", cpu=4, run_time="20m")
    objects = (*one_queue(10), other, elastic("e", "10m=8, 30m=3", parallelism=2))
    want = {5: (2, 2), 15: (8, 2), 25: (8, 8), 35: (3, 3)}
    assert {at: running_pods(at, *objects) for at in want} == want


def test_a_waiting_slice_follows_further_resizes_in_place() -> None:
    other = job("other", cpu=4, run_time="30m")
    result, _ = run(*one_queue(10), other, elastic("e", "10m=8, 15m=12, 20m=7, 40m=9", parallelism=2))
    first, second, third = chain(result)
    assert sizes(second) == [(600, 8), (900, 12), (1200, 7)]
    assert (times(second)[1], second.outcome) == (1801, Outcome.REPLACED)
    assert (sizes(third), times(third)) == ([(2400, 9)], (2400, 2400, 3600))
    assert first.outcome is Outcome.REPLACED


def test_back_to_the_admitted_size_before_the_new_slice_got_quota() -> None:
    other = job("other", cpu=4, run_time="30m")
    result, _ = run(*one_queue(6), other, elastic("e", "10m=8, 20m=2", parallelism=2))
    first, second = chain(result)
    assert sizes(second) == [(600, 8), (1200, 2)]
    assert (second.state, second.outcome, first.outcome) == (
        State.FINISHED,
        Outcome.SUCCEEDED,
        Outcome.REPLACED,
    )
    assert result.queues[0].resources[0].peak == 6000


def test_many_resizes_in_one_second() -> None:
    resizes = ", ".join(f"10m={count}" for count in (3, 4, 2, 5, 1, 6))
    result, _ = run(*one_queue(10), elastic("e", resizes, parallelism=2))
    slices = chain(result)
    assert [row.outcome for row in slices[:-1]] == [Outcome.REPLACED] * (len(slices) - 1)
    assert sizes(slices[-1])[-1][1] == 6
    assert (result.queues[0].resources[0].reserved, result.queues[0].resources[0].peak) == (0, 6000)


def test_a_resize_before_the_job_was_admitted_makes_no_slice() -> None:
    other = job("other", cpu=10, run_time="30m")
    result, _ = run(*one_queue(10), other, elastic("e", "10m=8, 20m=3", parallelism=2, arrival="1m"))
    (only,) = chain(result)
    assert (sizes(only), only.outcome) == ([(60, 2), (600, 8), (1200, 3)], Outcome.SUCCEEDED)


def test_shrinking_makes_room_for_others_at_once() -> None:
    other = job("other", cpu=5, arrival="5m", run_time="10m")
    result, _ = run(*one_queue(10), other, elastic("e", "20m=4", parallelism=8))
    (row,) = chain(result, "other")
    # Workloads that were parked are looked at again a second later.
    assert seconds(row.admitted_ns) == 1201


def test_down_to_no_pod_and_up_again() -> None:
    result, _ = run(*one_queue(10), elastic("e", "10m=0, 20m=5", parallelism=2))
    first, second = chain(result)
    assert (sizes(first), sizes(second)) == ([(0, 2), (600, 0)], [(1200, 5)])
    assert (times(second)[1], second.outcome) == (1200, Outcome.SUCCEEDED)
    assert result.queues[0].resources[0].integral == (2 * 10 + 5 * 40) * 1000 * MINUTE


def test_a_preempted_job_comes_back_at_its_last_size() -> None:
    result, _ = run(
        priority_class("high", 100),
        *one_queue(10, preemption=WITHIN),
        elastic("e", "10m=8", parallelism=2),
        job("urgent", cpu=10, arrival="20m", run_time="10m", labels=HIGH),
    )
    first, second = chain(result)
    assert (first.outcome, second.preemptions) == (Outcome.REPLACED, 1)
    assert sizes(second) == [(600, 8)]
    # It starts anew a second after the urgent job is done, and runs for its whole time.
    assert times(second) == (600, 30 * 60 + 1, 90 * 60 + 1)


def test_the_old_slice_is_preempted_while_the_new_one_waits() -> None:
    """It ends at once, and the job's pods run on without quota, as in the reference. Source: JS-580."""
    result, simulation = run(
        priority_class("high", 100),
        *one_queue(10, preemption=WITHIN),
        elastic("e", "10m=12", parallelism=4),
        job("urgent", cpu=8, arrival="20m", run_time="10m", labels=HIGH),
        until_ns=25 * MINUTE,
    )
    first, second = chain(result)
    assert (times(first)[2], first.outcome, first.preemptions) == (1200, Outcome.REPLACED, 1)
    assert second.state is State.PENDING
    (urgent,) = chain(result, "urgent")
    assert urgent.state is State.RUNNING
    found: Job | None = simulation.cluster.get("Job", "ns", "e")
    assert found is not None
    assert found.spec.suspend is False


def test_a_job_that_ends_while_a_slice_waits_leaves_nothing_behind() -> None:
    other = job("other", cpu=4, run_time="90m")
    result, simulation = run(*one_queue(10), other, elastic("e", "10m=8", parallelism=2))
    first, second = chain(result)
    assert {row.outcome for row in (first, second)} == {Outcome.SUCCEEDED}
    assert second.admitted_ns is None
    assert result.queues[0].resources[0].reserved == 0
    for workload in simulation.cluster.list(Workload.KIND):
        assert workload.status is not None


def test_a_slice_keeps_the_flavor_of_the_one_before() -> None:
    quotas = {"small": {"cpu": 4}, "large": {"cpu": 40}}
    result, _ = run(
        flavor("small"),
        flavor("large"),
        cluster_queue("cq", quotas),
        local_queue(),
        elastic("e", "10m=8", parallelism=2),
        until_ns=20 * MINUTE,
    )
    first, second = chain(result)
    assert (first.state, second.state) == (State.RUNNING, State.PENDING)
    assert (
        "could not assign large flavor since the original workload is assigned: small"
        in second.waiting_message
    )


def test_an_indexed_job_can_tie_its_completions() -> None:
    tied = {"kueue.x-k8s.io/job-completions-equal-parallelism": "true"}
    made = elastic("e", "10m=4", parallelism=2, completions=2, completionMode="Indexed", annotations=tied)
    result, simulation = run(*one_queue(10), made)
    assert sizes(chain(result)[1]) == [(600, 4)]
    found: Job | None = simulation.cluster.get("Job", "ns", "e")
    assert found is not None
    assert (found.spec.parallelism, found.spec.completions) == (4, 4)


def test_completions_bound_the_pods_of_a_slice() -> None:
    result, _ = run(*one_queue(10), elastic("e", "10m=8", parallelism=2, completions=5))
    assert [sizes(row)[0][1] for row in chain(result)] == [2, 5]


def test_with_the_gate_off_an_elastic_job_is_an_ordinary_one() -> None:
    gates = {"ElasticJobsViaWorkloadSlices": False}
    result, simulation = run(*one_queue(10), elastic("e", None, parallelism=2), feature_gates=gates)
    (only,) = chain(result)
    assert only.slice is None
    workload: Workload | None = simulation.cluster.get("Workload", "ns", only.name)
    assert workload is not None
    assert not workload.metadata.annotations


def test_times_and_sizes_of_the_annotation() -> None:
    facts, errors = read_facts("Job", {RESIZE: "90s=8,2026-01-01T00:05:00Z = 3 ,1h30m=0"})
    assert not errors
    want = [
        (Moment(90 * 10**9, False), 8),
        (Moment(START + 5 * MINUTE, True), 3),
        (Moment(90 * MINUTE, False), 0),
    ]
    assert list(facts.resizes) == want


@pytest.mark.parametrize(
    "text", ["", "10m", "10m=", "=8", "10m=-1", "10m=two", "soon=8", "-5m=8", "10m=8,", "10m=3000000000"]
)
def test_annotations_that_say_no_size(text: str) -> None:
    _, errors = read_facts("Job", {RESIZE: text})
    assert [error.field for error in errors] == [f'$.metadata.annotations["{RESIZE}"]']


def test_only_a_job_is_resized() -> None:
    _, (error,) = read_facts("Workload", {RESIZE: "10m=8"})
    assert error.message == "has no meaning on a Workload"


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a Job that is not elastic": (
        job("e", more_annotations={RESIZE: "10m=8"}),
        {},
        "only an elastic Job can be resized",
    ),
    "the gate is off": (
        elastic("e", "10m=8"),
        {"feature_gates": {"ElasticJobsViaWorkloadSlices": False}},
        "only an elastic Job can be resized",
    ),
    "a Job without queue": (elastic("e", "10m=8", queue=None), {}, "only a Job with a queue can be resized"),
    "completions that would not follow": (
        elastic(
            "e",
            "10m=8",
            parallelism=2,
            completions=2,
            completionMode="Indexed",
            annotations={"kueue.x-k8s.io/job-min-parallelism": "1"},
        ),
        {},
        "partial admission and elastic job cannot be used together",
    ),
    "a topology that is required": (
        {
            **elastic("e", "10m=8"),
            "spec": {
                "parallelism": 2,
                "template": {
                    "metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"},
                },
            },
        },
        {},
        "required topology is not supported with elastic jobs",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    made, options, want = REFUSED[case]
    with pytest.raises(InputError, match=want):
        run(*one_queue(10), made, **options)


def test_tables_and_json_show_the_chain() -> None:
    objects = (*one_queue(10), elastic("e", "10m=8, 30m=3", parallelism=2), job("plain"))
    data, text = output(*objects)
    table = text.partition("Slices of elastic jobs\n")[2].partition("\n\n")[0]
    rows = [line.split() for line in table.splitlines()[2:]]
    report = json.loads(data)
    first, second = (each for each in report["workloads"] if each["owner"]["name"] == "e")
    assert rows == [
        ["ns/e", first["name"], "2", "0s", "0s", "10m0s", "replaced", "by", second["name"]],
        ["ns/e", second["name"], "8,", "3", "from", "30m0s", "10m0s", "10m0s", "1h0m0s", "succeeded"],
    ]
    assert "3 finished (1 replaced)" in text
    assert first["outcome"] == "Replaced"
    assert second["slice"] == {
        "chain": first["name"],
        "replaces": f"ns/{first['name']}",
        "sizes": [{"time": 600, "pods": 8}, {"time": 1800, "pods": 3}],
    }
    (plain,) = (each for each in report["workloads"] if each["owner"]["name"] == "plain")
    assert plain["slice"] is None
