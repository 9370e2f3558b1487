"""Every kind of job from its arrival to its end: admitted as a whole, run, evicted and run again."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.sim.result import Outcome, SimulationResult, State, WorkloadRow
from tests.sim.kind_makers import (
    RUN_TIME,
    RUNNING_KINDS,
    SERVING_KINDS,
    SPARK,
    job_set,
    leader_worker_set,
    queues,
    ray_job,
    replicated,
    serving,
    template,
    urgent,
)
from tests.sim.world import MINUTE, job, one_queue, output, run, seconds

ALL_KINDS = RUNNING_KINDS | SERVING_KINDS


def row_of(result: SimulationResult, kind: str) -> WorkloadRow:
    """The only row of that kind."""
    [row] = [row for row in result.workloads if row.owner_kind == kind]
    return row


def events_of(result: SimulationResult, kind: str) -> list[tuple[float | None, str]]:
    """What was said about the object itself."""
    return [(seconds(each.time_ns), each.reason) for each in result.events if each.kind == kind]


@pytest.mark.parametrize("kind", RUNNING_KINDS)
def test_a_job_runs_for_its_time_and_ends(kind: str) -> None:
    result, _ = run(*one_queue(4), *RUNNING_KINDS[kind], events=True, **SPARK)
    row = row_of(result, kind)
    assert row.name.startswith(f"{kind.lower()}-k-")
    assert (row.state, row.outcome) == (State.FINISHED, Outcome.SUCCEEDED)
    assert (seconds(row.admitted_ns), seconds(row.finished_ns)) == (0, 600)
    assert sum(each.count for each in row.pod_sets) == 4
    assert events_of(result, kind) == [
        (0, "CreatedWorkload"),
        (0, "Started"),
        (600, "FinishedWorkload"),
    ]
    assert result.queues[0].resources[0].reserved == 0


@pytest.mark.parametrize("kind", RUNNING_KINDS)
def test_a_job_may_fail(kind: str) -> None:
    *others, obj = RUNNING_KINDS[kind]
    said = {**obj["metadata"]["annotations"], "sim.kueue-fast.dev/failure": "true"}
    failing = {**obj, "metadata": {**obj["metadata"], "annotations": said}}
    result, _ = run(*one_queue(4), *others, failing, **SPARK)
    assert row_of(result, kind).outcome is Outcome.FAILED


@pytest.mark.parametrize("kind", RUNNING_KINDS)
def test_an_evicted_job_stops_and_runs_anew(kind: str) -> None:
    result, simulation = run(*queues(4), *RUNNING_KINDS[kind], urgent(), events=True, **SPARK)
    row = row_of(result, kind)
    assert row.preemptions == 1
    assert (seconds(row.admitted_ns), seconds(row.finished_ns)) == (181, 781)
    assert row.lost_ns == 2 * MINUTE
    assert events_of(result, kind) == [
        (0, "CreatedWorkload"),
        (0, "Started"),
        (120, "Stopped"),
        (181, "Started"),
        (781, "FinishedWorkload"),
    ]
    use = result.queues[0].resources[0]
    assert (use.peak, use.reserved) == (4000, 0)
    assert simulation.restless_ns is None


@pytest.mark.parametrize("kind", RUNNING_KINDS)
def test_an_evicted_job_goes_on_for_its_grace_period(kind: str) -> None:
    *others, obj = RUNNING_KINDS[kind]
    said = {**obj["metadata"]["annotations"], "sim.kueue-fast.dev/grace-period": "30s"}
    slow = {**obj, "metadata": {**obj["metadata"], "annotations": said}}
    result, _ = run(*queues(4), *others, slow, urgent(), **SPARK)
    assert seconds(row_of(result, "Job").admitted_ns) == 150
    assert seconds(row_of(result, kind).admitted_ns) == 211


@pytest.mark.parametrize("kind", SERVING_KINDS)
def test_a_kind_that_serves_is_deleted_after_its_time(kind: str) -> None:
    result, simulation = run(*one_queue(4), *SERVING_KINDS[kind])
    row = row_of(result, kind)
    assert (row.state, row.outcome) == (State.DELETED, None)
    assert (seconds(row.admitted_ns), seconds(row.finished_ns)) == (0, 600)
    assert result.queues[0].resources[0].reserved == 0
    for left in (kind, "Pod", "RayCluster", "StatefulSet", "Workload"):
        assert list(simulation.cluster.list(left)) == []


@pytest.mark.parametrize("kind", SERVING_KINDS)
def test_a_kind_that_serves_without_a_time_stays(kind: str) -> None:
    [obj] = SERVING_KINDS[kind]
    said = {name: value for name, value in obj["metadata"]["annotations"].items() if name != RUN_TIME}
    endless = {**obj, "metadata": {**obj["metadata"], "annotations": said}}
    result, _ = run(*one_queue(4), endless, job("late", arrival="1h"))
    assert row_of(result, kind).state is State.RUNNING
    assert row_of(result, "Job").state is State.PENDING


@pytest.mark.parametrize("kind", SERVING_KINDS)
def test_its_time_goes_on_while_it_is_evicted(kind: str) -> None:
    result, _ = run(*queues(4), *SERVING_KINDS[kind], urgent())
    row = row_of(result, kind)
    assert row.preemptions == 1
    assert (seconds(row.admitted_ns), seconds(row.finished_ns)) == (181, 600)
    assert seconds(row_of(result, "Job").admitted_ns) == 120


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_gang_that_can_never_fit_says_why(kind: str) -> None:
    result, simulation = run(*one_queue(3), *ALL_KINDS[kind], **SPARK)
    row = row_of(result, kind)
    assert row.state is State.PENDING
    assert "insufficient quota for cpu in flavor default" in row.waiting_message
    assert "maximum capacity (3)" in row.waiting_message
    # Nothing of it runs.
    assert all(pod.spec.scheduling_gates for pod in simulation.cluster.list("Pod"))
    assert list(simulation.cluster.list("RayCluster")) == [
        each for each in simulation.cluster.list("RayCluster") if each.spec.suspend
    ]


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_without_a_queue_it_runs_outside_kueue(kind: str) -> None:
    *others, obj = ALL_KINDS[kind]
    free = {**obj, "metadata": {**obj["metadata"], "labels": {}}}
    result, _ = run(*one_queue(1), *others, free, **SPARK)
    assert result.workloads == []
    assert result.notes == [f"Jobs without a queue name run outside Kueue and take no quota: {kind} ns/k"]


def test_the_same_input_gives_the_same_bytes() -> None:
    objects: list[dict[str, Any]] = [*queues(40), urgent(40), serving("Deployment", 3, name="web")]
    for name, (*others, obj) in ALL_KINDS.items():
        objects += [*others, {**obj, "metadata": {**obj["metadata"], "name": f"k-{name.lower()}"}}]
    first = output(*objects, events=True, until_ns=60 * MINUTE, **SPARK)
    assert output(*objects, events=True, until_ns=60 * MINUTE, **SPARK) == first


def test_tables_show_the_kind_where_not_all_are_jobs() -> None:
    head = "Workload"
    _, mixed = output(*one_queue(8), ray_job(), job("j"))
    _, jobs = output(*one_queue(8), job("j"))
    lines = {text: [line.split() for line in text.splitlines()] for text in (mixed, jobs)}
    assert [line[:3] for line in lines[mixed] if line[:1] == [head]] == [[head, "Kind", "Queue"]]
    assert [line[:2] for line in lines[jobs] if line[:1] == [head]] == [[head, "Queue"]]
    kinds = {line[1] for line in lines[mixed] if line[:1] and line[0].startswith("ns/")}
    assert kinds == {"RayJob", "Job"}


# ---- pods that are done with before the job is ----


def test_replicated_jobs_end_at_their_own_times_and_what_they_held_is_free() -> None:
    first = job_set(replicated("a", 1, run_time="3m"), replicated("b", 1, run_time="10m"))
    result, _ = run(*one_queue(4), first, job("next", cpu=2, arrival="1m"))
    assert seconds(row_of(result, "JobSet").finished_ns) == 600
    assert seconds(row_of(result, "Job").admitted_ns) == 181
    use = result.queues[0].resources[0]
    assert (use.peak, use.reserved) == (4000, 0)
    # Three minutes of four cpu, one of two after the other job's, the rest of two.
    assert use.integral == (3 * 4000 + 1 * 2000 + 7 * 2000) * MINUTE


def test_a_replicated_job_that_was_done_runs_anew_after_an_eviction() -> None:
    first = job_set(replicated("a", 1, run_time="1m"), replicated("b", 1, run_time="10m"))
    result, _ = run(*queues(4), first, urgent(3))
    row = row_of(result, "JobSet")
    assert (seconds(row.admitted_ns), seconds(row.finished_ns)) == (181, 781)
    # Two minutes of four and two cpu, one of the urgent job's three, a second of nothing, again one and nine minutes.
    assert result.queues[0].resources[0].integral == (4 + 2 + 3 + 4 + 9 * 2) * 1000 * MINUTE


def test_a_replicated_job_without_a_time_runs_on() -> None:
    first = job_set(replicated("a", 1, run_time="3m"), replicated("b", 1))
    result, _ = run(*one_queue(4), first, job("next", cpu=2, arrival="1m"))
    assert row_of(result, "JobSet").state is State.RUNNING
    assert seconds(row_of(result, "Job").admitted_ns) == 181


# ---- scaled at given times ----

SCALED: dict[str, tuple[dict[str, Any], int, list[tuple[str, float | None, float | None]]]] = {
    "groups of a LeaderWorkerSet come and go": (
        leader_worker_set(1, 2, replicas="10m=3,20m=1", run_time="30m"),
        8,
        [
            ("LeaderWorkerSet", 0, 1800),
            ("LeaderWorkerSet", 600, 1200),
            ("LeaderWorkerSet", 600, 1200),
        ],
    ),
    "a group without room waits and goes without having run": (
        leader_worker_set(1, 2, replicas="10m=3,20m=1", run_time="30m"),
        4,
        [
            ("LeaderWorkerSet", 0, 1800),
            ("LeaderWorkerSet", 600, 1200),
            ("LeaderWorkerSet", None, 1200),
        ],
    ),
    "pods of a Deployment come one by one and the newest go first": (
        serving("Deployment", 1, replicas="10m=3,20m=2", run_time="30m"),
        2,
        [("Pod", 0, 1800), ("Pod", 600, 1800), ("Pod", None, 1200)],
    ),
    "a StatefulSet gives its quota back at no replicas and takes it up again": (
        serving("StatefulSet", 2, replicas="10m=0,20m=2", run_time="30m"),
        4,
        [("StatefulSet", 1200, 1800)],
    ),
}


@pytest.mark.parametrize("case", SCALED)
def test_scaling(case: str) -> None:
    obj, cpu, want = SCALED[case]
    result, _ = run(*one_queue(cpu), obj)
    got = [(row.owner_kind, seconds(row.admitted_ns), seconds(row.finished_ns)) for row in result.workloads]
    assert got == want
    assert all(row.state is State.DELETED for row in result.workloads)


def test_no_replicas_at_first() -> None:
    result, _ = run(*one_queue(4), serving("StatefulSet", 0, replicas="10m=3"), until_ns=20 * MINUTE)
    row = row_of(result, "StatefulSet")
    assert (row.state, seconds(row.admitted_ns), row.pod_sets[0].count) == (State.RUNNING, 600, 3)


def test_a_larger_gang_waits_until_it_fits_as_a_whole() -> None:
    small = job("small", cpu=1, run_time="5m")
    result, _ = run(*one_queue(4), small, ray_job(2, template(1), arrival="1m"))
    assert seconds(row_of(result, "RayJob").admitted_ns) == 301
