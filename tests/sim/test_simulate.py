"""The simulator: arrivals, quota, run times, and what the cluster holds in the end."""

from typing import Any

import pytest

from kueue_fast.api.batch import Job
from kueue_fast.api.kueue import ClusterQueue, Workload
from kueue_fast.model import conditions, times
from kueue_fast.sim.result import Outcome, State
from tests.sim.world import (
    KUEUE,
    MINUTE,
    SECOND,
    START,
    cluster_queue,
    flavor,
    job,
    local_queue,
    meta,
    one_queue,
    output,
    rows,
    run,
    seconds,
    workload,
)

# ---- arrival, run time, waiting ----


def test_a_job_arrives_runs_and_finishes() -> None:
    result, simulation = run(*one_queue(), job("a", arrival="30s", run_time="2m"))
    row = rows(result)["a"]
    assert row.name.startswith("job-a-")
    got = [seconds(each) for each in (row.arrived_ns, row.reserved_ns, row.admitted_ns, row.finished_ns)]
    assert got == [30, 30, 30, 150]
    assert (row.state, row.outcome, row.cluster_queue) == (State.FINISHED, Outcome.SUCCEEDED, "cq")
    assert row.pod_sets[0].flavors == (("cpu", "default"),)
    assert (result.start_ns, result.end_ns, result.stopped) == (START, START + 150 * SECOND, False)
    a_job: Job | None = simulation.cluster.get("Job", "ns", "a")
    assert a_job is not None
    assert a_job.status is not None
    assert (a_job.status.succeeded, a_job.status.active) == (1, None)
    assert conditions.is_true(a_job.status.conditions, "Complete")
    done: Workload | None = simulation.cluster.get("Workload", "ns", row.name)
    assert done is not None
    assert done.status is not None
    assert conditions.is_true(done.status.conditions, "Finished")
    assert done.metadata.finalizers is None


def test_quota_is_free_again_a_second_after_the_end() -> None:
    """Parked workloads come back in batches of a second, as upstream's do."""
    result, _ = run(*one_queue(1), job("a", run_time="1m"), job("b", arrival="10s", run_time="1m"))
    assert seconds(rows(result)["b"].admitted_ns) == 61
    assert rows(result)["b"].waited_ns == 51 * SECOND


def test_the_head_of_a_strict_queue_is_tried_at_once() -> None:
    queue = one_queue(1, queueingStrategy="StrictFIFO")
    result, _ = run(*queue, job("a", run_time="1m"), job("b", arrival="10s"), job("c", arrival="11s"))
    assert [seconds(rows(result)[name].admitted_ns) for name in "abc"] == [0, 60, 120]


def test_workloads_without_a_job_run_and_end_themselves() -> None:
    result, _ = run(*one_queue(1), workload("a"), workload("b", arrival="5s", run_time=None))
    got = rows(result)
    assert (got["a"].state, seconds(got["a"].finished_ns)) == (State.FINISHED, 60)
    assert (got["b"].state, seconds(got["b"].admitted_ns)) == (State.RUNNING, 61)
    assert result.end_ns == START + 61 * SECOND


def test_what_takes_no_time_ends_at_the_instant_at_which_it_starts() -> None:
    result, _ = run(*one_queue(1), *(workload(f"w{n}", run_time="0s") for n in range(3)))
    assert [seconds(row.finished_ns) for row in result.workloads] == [0, 1, 2]


ENDS: dict[str, tuple[dict[str, Any], Outcome, float]] = {
    "a job that fails": ({"more_annotations": {"sim.kueue-fast.dev/failure": "true"}}, Outcome.FAILED, 60),
    "a job past its deadline": ({"activeDeadlineSeconds": 20}, Outcome.FAILED, 20),
    "a job that runs for ever, but for its deadline": (
        {"run_time": None, "activeDeadlineSeconds": 20},
        Outcome.FAILED,
        20,
    ),
    "a deadline that is not reached": ({"activeDeadlineSeconds": 60}, Outcome.SUCCEEDED, 60),
}


@pytest.mark.parametrize("case", ENDS)
def test_ends(case: str) -> None:
    options, want_outcome, want_end = ENDS[case]
    result, _ = run(*one_queue(), job("a", **options))
    assert (rows(result)["a"].outcome, seconds(rows(result)["a"].finished_ns)) == (want_outcome, want_end)


def test_higher_priorities_go_first() -> None:
    classes = [
        {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": meta("high"), "value": 100},
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": meta("pods"),
            "value": 50,
        },
    ]
    result, _ = run(
        *one_queue(1),
        job("first"),
        job("low", arrival="1s"),
        job("middle", arrival="2s", pod_spec={"priorityClassName": "pods"}),
        job("high", arrival="3s", labels={"kueue.x-k8s.io/priority-class": "high"}),
        job("system", arrival="4s", pod_spec={"priorityClassName": "system-node-critical"}),
        *classes,
    )
    got = rows(result)
    ordered = sorted(got, key=lambda name: got[name].admitted_ns or 0)
    assert ordered == ["first", "system", "high", "middle", "low"]
    assert (got["high"].priority, got["high"].priority_class) == (100, "high")
    assert (got["middle"].priority, got["middle"].priority_class) == (50, "pods")


def test_partial_admission_starts_fewer_pods() -> None:
    partial = job("a", parallelism=5, more_annotations={"kueue.x-k8s.io/job-min-parallelism": "2"})
    result, simulation = run(*one_queue(3), partial, until_ns=30 * SECOND)
    assert rows(result)["a"].pod_sets[0].count == 3
    a_job: Job | None = simulation.cluster.get("Job", "ns", "a")
    assert a_job is not None
    assert a_job.status is not None
    assert (a_job.spec.parallelism, a_job.spec.completions, a_job.status.active) == (3, 5, 3)


# ---- quota ----


def team(*, limit: Any = None) -> tuple[dict[str, Any], ...]:
    quota = 4 if limit is None else (4, limit)
    return (
        flavor("default"),
        cluster_queue("a", {"default": {"cpu": quota}}, cohortName="team"),
        cluster_queue("b", {"default": {"cpu": 4}}, cohortName="team"),
        local_queue("lq-a", "a"),
        local_queue("lq-b", "b"),
    )


def test_a_queue_borrows_from_its_cohort() -> None:
    result, simulation = run(*team(), job("big", cpu=6, queue="lq-a", run_time=None))
    queue = result.queues[0]
    use = queue.resources[0]
    assert (use.nominal, use.reserved, use.borrowed, use.admitted, use.peak) == (4000, 6000, 2000, 6000, 6000)
    assert (queue.cohort, queue.admitted, queue.pending) == ("team", 1, 0)
    stored: ClusterQueue | None = simulation.cluster.get("ClusterQueue", None, "a")
    assert stored is not None
    assert stored.status is not None
    (usage,) = stored.status.flavors_usage or ()
    (resource,) = usage.resources or ()
    assert (resource.total, resource.borrowed) == ("6", "2")
    assert stored.status.admitted_workloads == 1


def test_a_borrowing_limit_holds() -> None:
    result, _ = run(*team(limit=1), job("big", cpu=6, queue="lq-a"), job("fits", cpu=5, queue="lq-a"))
    assert rows(result)["big"].state is State.PENDING
    assert rows(result)["fits"].state is State.FINISHED


def test_peak_and_mean_use() -> None:
    result, _ = run(
        *one_queue(4),
        job("a", cpu=1, run_time="1m"),
        job("b", cpu=2, arrival="30s", run_time="30s"),
        job("c", cpu=3, arrival="60s", run_time="60s"),
    )
    use = result.queues[0].resources[0]
    # 1 cpu for a minute, 2 for half of it; then, a second after room was made for it, 3 for a minute.
    assert result.duration_ns == 120 * SECOND
    assert use.peak == 3000
    assert use.mean(result.duration_ns) == (1000 * 60 + 2000 * 30 + 3000 * 60) / 120
    assert (use.reserved, use.admitted) == (0, 0)
    (total,) = result.flavors
    assert (total.nominal, total.peak, total.integral) == (4000, 3000, use.integral)


def test_a_second_flavor_is_taken_when_the_first_is_full() -> None:
    quotas = {"reserved": {"cpu": 1}, "spot": {"cpu": 4}}
    objects = (flavor("reserved"), flavor("spot"), cluster_queue("cq", quotas), local_queue())
    result, _ = run(*objects, job("a"), job("b", arrival="1s"))
    assert [row.pod_sets[0].flavors for row in result.workloads] == [
        (("cpu", "reserved"),),
        (("cpu", "spot"),),
    ]


def test_what_the_engine_holds_is_what_was_written_down() -> None:
    load = [
        job(f"j{n}", cpu=f"{100 + 370 * n % 900}m", arrival=f"{n * 7}s", run_time=f"{20 + n * 13 % 50}s")
        for n in range(40)
    ]
    objects = (*one_queue("3500m"), *load)
    for until in (0, 35 * SECOND, 100 * SECOND, 200 * SECOND, 3600 * SECOND):
        result, simulation = run(*objects, until_ns=until)
        state = simulation.engine.queue_state()["cq"]
        assert state.usage == {"default/cpu": result.queues[0].resources[0].reserved}
        assert state.admitted == result.queues[0].admitted
        assert len(state.active) + len(state.parked) == result.queues[0].pending


# ---- time ----


def test_the_clock_starts_at_the_latest_creation_of_the_manifests() -> None:
    old = workload("old", metadata={"creationTimestamp": "2026-03-01T12:00:00Z"})
    result, _ = run(*one_queue(1), old, workload("later", arrival="2026-03-01T12:00:30Z"))
    assert times.format(result.start_ns) == "2026-03-01T12:00:00Z"
    got = rows(result)
    assert got["later"].arrived_ns - result.start_ns == 30 * SECOND
    early = workload("early", metadata={"creationTimestamp": "2025-01-01T00:00:00Z"})
    result, simulation = run(*one_queue(1), workload("new"), early)
    assert result.start_ns == START
    kept: Workload | None = simulation.cluster.get("Workload", "ns", "early")
    assert kept is not None
    assert kept.metadata.creation_timestamp == "2025-01-01T00:00:00Z"
    # The older one goes first, wherever it stands in the input.
    assert seconds(rows(result)["early"].admitted_ns) == 0


def test_until_ends_the_run() -> None:
    objects = (*one_queue(1), job("a", run_time="10m"), job("b", arrival="5m"), job("c", arrival="1h"))
    result, _ = run(*objects, until_ns=6 * MINUTE)
    got = rows(result)
    assert sorted(got) == ["a", "b"]
    assert (got["a"].state, got["b"].state) == (State.RUNNING, State.PENDING)
    assert (result.end_ns, result.stopped) == (START + 6 * MINUTE, True)
    assert result.queues[0].resources[0].mean(result.duration_ns) == 1000
    result, _ = run(*objects, until_ns=10 * MINUTE)
    assert rows(result)["a"].state is State.FINISHED
    result, _ = run(*objects, until_ns=5 * 60 * MINUTE)
    assert not result.stopped
    assert result.end_ns == START + 61 * MINUTE


def mixed_load() -> tuple[dict[str, Any], ...]:
    jobs = [
        job(
            f"j{n}",
            cpu=1 + n % 3,
            parallelism=1 + n % 2,
            queue=f"lq-{'ab'[n % 2]}",
            arrival=f"{n * 3 % 17}s",
            run_time=f"{5 + n * 7 % 23}s",
        )
        for n in range(30)
    ]
    return (*team(), *jobs, job("never", cpu=100, queue="lq-a"))


def test_the_same_input_gives_the_same_bytes() -> None:
    first = output(*mixed_load(), events=True)
    assert first == output(*mixed_load(), events=True)
    document, text = first
    assert b'"reason": "Admitted"' in document
    assert "couldn't assign flavors" in text


def test_recording_events_changes_no_decision() -> None:
    with_events, _ = run(*mixed_load(), events=True)
    without, _ = run(*mixed_load())
    assert without.events == []
    assert with_events.workloads == without.workloads
    assert with_events.cycles == without.cycles


def test_events_tell_a_job_from_creation_to_end() -> None:
    result, _ = run(*one_queue(1), job("a"), job("b", cpu=2, arrival="1s"), events=True)
    of_a = [(event.reason, seconds(event.time_ns)) for event in result.events if event.name.endswith("a")]
    name = rows(result)["a"].name
    of_workload = [event.reason for event in result.events if event.name == name]
    assert of_a == [("CreatedWorkload", 0), ("Started", 0), ("FinishedWorkload", 60)]
    assert of_workload == ["QuotaReserved", "Admitted"]
    of_b = [event for event in result.events if event.name == rows(result)["b"].name]
    assert [(event.type, event.reason) for event in of_b] == [("Warning", "Pending")]


def test_the_event_of_a_reservation_tells_which_flavors_did_not_simply_fit() -> None:
    """QP-465."""
    jobs = (job("big", cpu=6, queue="lq-a"), job("small", cpu=1, queue="lq-b"))
    result, _ = run(*team(), *jobs, events=True)
    messages = {event.name: event.message for event in result.events if event.reason == "QuotaReserved"}
    want = "Quota reserved in ClusterQueue {}, wait time since queued was 0s"
    assert messages == {
        rows(result)["big"].name: want.format("a") + "; Flavors considered: main: default(Fit;borrow=1)",
        rows(result)["small"].name: want.format("b"),
    }


def test_progress_is_reported() -> None:
    heard: list[tuple[int, int]] = []
    load = [workload(f"w{n}", arrival=f"{n}s", run_time="500ms") for n in range(100)]
    run(*one_queue(), *load, progress=lambda done, total: heard.append((done, total)))
    assert heard
    assert all(total == 100 for _, total in heard)
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
