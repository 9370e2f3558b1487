"""Evictions that something else comes between: ends and deletions."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from kueue_fast.api.batch import Job
from kueue_fast.api.kueue import ClusterQueue, Workload
from kueue_fast.lifecycle import finish
from kueue_fast.model import conditions
from kueue_fast.sim.options import SimulationOptions
from kueue_fast.sim.result import Outcome, SimulationResult, State
from kueue_fast.sim.simulate import Simulation
from tests.sim.world import (
    SECOND,
    START,
    cluster_queue,
    flavor,
    job,
    local_queue,
    manifests,
    one_queue,
    priority_class,
    rows,
    run,
    seconds,
    workload,
)

WITHIN = {"preemption": {"withinClusterQueue": "LowerPriority"}}
HIGH = {"kueue.x-k8s.io/priority-class": "high"}
QUEUE = (*one_queue(4, **WITHIN), priority_class("high", 100))
Deed = Callable[[Simulation], None]


def run_with(
    *objects: dict[str, Any], at: float, do: Deed, until: int = 600, **options: Any
) -> tuple[SimulationResult, Simulation]:
    """A run in which something happens from outside, `at` seconds after its start."""
    simulation = Simulation(
        manifests(*objects), SimulationOptions(until_ns=until * SECOND, events=True, **options)
    )
    simulation.clock.schedule(START + int(at * SECOND), lambda _: do(simulation))
    simulation.run()
    return simulation.result(), simulation


def delete(kind: str, name: str) -> Deed:
    namespace = None if kind == "ClusterQueue" else "ns"

    def do(simulation: Simulation) -> None:
        if kind == "Workload" and simulation.cluster.get(kind, namespace, name) is None:
            (name_of,) = [
                each.metadata.name
                for each in simulation.cluster.list(kind)
                if each.metadata.name.startswith(f"job-{name}-")
            ]
            simulation.cluster.delete(kind, namespace, name_of)
        else:
            simulation.cluster.delete(kind, namespace, name)

    return do


def used(simulation: Simulation) -> dict[str, int]:
    return {name: sum(state.usage.values()) for name, state in simulation.engine.queue_state().items()}


# ---- the preemptor goes ----

PREEMPTORS: dict[str, tuple[dict[str, Any], str, Outcome | None]] = {
    # Its Workload finishes first, with the reason OwnerNotFound.
    "a Job": (job("high", cpu=4, arrival="30s", labels=HIGH), "Job", Outcome.FAILED),
    "a Workload": (workload("high", cpu=4, arrival="30s", priority=100), "Workload", None),
}


@pytest.mark.parametrize("case", PREEMPTORS)
def test_a_preemptor_deleted_while_its_victims_stop(case: str) -> None:
    """The victims stop all the same, and start again when their turn comes."""
    preemptor, kind, want_outcome = PREEMPTORS[case]
    victims = (
        job("slow", cpu=2, run_time="1m", grace="20s"),
        workload("quick", cpu=2, run_time="1m", grace="5s"),
    )
    result, simulation = run_with(*QUEUE, *victims, preemptor, at=40, do=delete(kind, "high"))
    got = rows(result)
    assert (got["high"].outcome, got["high"].admitted_ns) == (want_outcome, None)
    # quick stops at 35, but what it held is kept for the preemptor until that goes.
    assert seconds(got["quick"].admitted_ns) == 40
    assert (got["slow"].state, got["slow"].preemptions, got["slow"].lost_ns) == (
        State.FINISHED,
        1,
        50 * SECOND,
    )
    assert used(simulation) == {"cq": 0}
    assert simulation.restless_ns is None
    assert all(row.waits_for == () for row in result.workloads)


# ---- the victim goes or ends ----


def test_a_victim_whose_run_ends_within_its_grace_period_has_finished() -> None:
    for victim in (
        job("low", cpu=4, run_time="35s", grace="1m"),
        workload("low", cpu=4, run_time="35s", grace="1m"),
    ):
        result, simulation = run(*QUEUE, victim, job("high", cpu=4, arrival="30s", labels=HIGH))
        got = rows(result)
        assert (got["low"].state, got["low"].outcome) == (State.FINISHED, Outcome.SUCCEEDED)
        assert (seconds(got["low"].finished_ns), got["low"].evicting) == (35, False)
        # Its quota is free with the end, not with the grace period.
        assert seconds(got["high"].admitted_ns) == 35
        assert result.end_ns == START + 95 * SECOND
        assert used(simulation) == {"cq": 0}
        stored: Workload | None = simulation.cluster.get("Workload", "ns", got["low"].name)
        assert stored is not None
        assert stored.status is not None
        # As upstream leaves it: finished, and evicted still.
        assert conditions.is_true(stored.status.conditions, "Evicted")
        assert conditions.find(stored.status.conditions, "Requeued") is None


def test_a_victim_that_someone_finishes_while_it_stops() -> None:
    def end(simulation: Simulation) -> None:
        stored: Any = simulation.cluster.get("Workload", "ns", "low")
        done = finish.finished(stored, finish.FAILED, "by hand", simulation.clock.now)
        simulation.cluster.update_status(done)

    result, simulation = run_with(
        *QUEUE,
        workload("low", cpu=4, run_time=None, grace="1m"),
        job("high", cpu=4, arrival="30s", labels=HIGH),
        at=40,
        do=end,
    )
    got = rows(result)
    assert (got["low"].outcome, seconds(got["low"].finished_ns)) == (Outcome.FAILED, 40)
    assert seconds(got["high"].admitted_ns) == 40
    assert used(simulation) == {"cq": 0}


@pytest.mark.parametrize("victim", ["job", "workload"])
def test_a_victim_deleted_while_it_stops(victim: str) -> None:
    make = job if victim == "job" else workload
    result, simulation = run_with(
        *QUEUE,
        make("low", cpu=4, run_time=None, grace="1m"),  # type: ignore[operator]
        job("high", cpu=4, arrival="30s", labels=HIGH),
        at=40,
        do=delete("Job" if victim == "job" else "Workload", "low"),
    )
    got = rows(result)
    assert seconds(got["high"].admitted_ns) == 40
    assert got["low"].state in (State.DELETED, State.FINISHED)
    assert got["low"].evicting is False
    assert used(simulation) == {"cq": 0}


def test_a_job_whose_workload_is_deleted_stops_and_gets_another_one() -> None:
    low = job("low", cpu=4, run_time="1m", grace="10s")
    result, simulation = run_with(*QUEUE, low, at=30, do=delete("Workload", "low"))
    assert [row.state for row in result.workloads] == [State.FINISHED]
    a_job: Job | None = simulation.cluster.get("Job", "ns", "low")
    assert a_job is not None
    assert a_job.status is not None
    assert conditions.is_true(a_job.status.conditions, "Complete")
    # Stopped at 30, without pods at 40, then it runs anew.
    (row,) = result.workloads
    assert (seconds(row.admitted_ns), seconds(row.finished_ns)) == (40, 100)
    assert used(simulation) == {"cq": 0}


# ---- the ClusterQueue goes ----


def test_a_cluster_queue_goes_with_its_last_workload() -> None:
    seen: list[tuple[float | None, bool]] = []

    def look(simulation: Simulation) -> None:
        found: ClusterQueue | None = simulation.cluster.get("ClusterQueue", None, "cq")
        seen.append((seconds(simulation.clock.now), found is not None))

    simulation = Simulation(
        manifests(*QUEUE, job("runs", cpu=4, run_time="1m"), job("waits", cpu=4, arrival="5s")),
        SimulationOptions(events=True),
    )
    simulation.clock.schedule(START + 30 * SECOND, lambda _: delete("ClusterQueue", "cq")(simulation))
    for at in (40, 59, 61):
        simulation.clock.schedule(START + at * SECOND, lambda _: look(simulation))
    simulation.run()
    result = simulation.result()
    assert seen == [(40, True), (59, True), (61, False)]
    got = rows(result)
    assert (got["runs"].state, seconds(got["runs"].finished_ns)) == (State.FINISHED, 60)
    assert (got["waits"].state, got["waits"].waiting_reason) == (State.PENDING, "Inadmissible")
    assert got["waits"].waiting_message == "ClusterQueue cq doesn't exist"
    assert result.queues == []


def test_a_cluster_queue_that_is_being_deleted_admits_nothing() -> None:
    result, _ = run_with(
        *QUEUE,
        job("runs", cpu=1, run_time=None),
        job("late", cpu=1, arrival="40s"),
        at=30,
        do=delete("ClusterQueue", "cq"),
    )
    got = rows(result)
    assert (got["runs"].state, got["late"].state) == (State.RUNNING, State.PENDING)
    (queue,) = result.queues
    assert (queue.active, queue.reason) == (False, "Terminating")
    assert got["late"].waiting_message == (
        "ClusterQueue cq is inactive: Can't admit new workloads; clusterQueue is terminating"
    )


def test_victims_of_a_cluster_queue_that_is_being_deleted_still_stop() -> None:
    result, simulation = run_with(
        *QUEUE,
        job("low", cpu=4, run_time=None, grace="30s"),
        job("high", cpu=4, arrival="20s", labels=HIGH),
        at=30,
        do=delete("ClusterQueue", "cq"),
    )
    assert [row.state for row in result.workloads] == [State.PENDING, State.PENDING]
    assert result.queues == []
    assert simulation.cluster.get("ClusterQueue", None, "cq") is None
    assert {row.waiting_message for row in result.workloads} == {"ClusterQueue cq doesn't exist"}


def test_what_is_only_reserved_loses_its_place_with_the_cluster_queue() -> None:
    check = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "AdmissionCheck",
        "metadata": {"name": "prov"},
        "spec": {"controllerName": "example.com/check"},
    }
    queue = one_queue(1, admissionChecksStrategy={"admissionChecks": [{"name": "prov"}]})
    result, simulation = run_with(*queue, check, job("a"), at=30, do=delete("ClusterQueue", "cq"))
    assert rows(result)["a"].state is State.PENDING
    assert simulation.cluster.get("ClusterQueue", None, "cq") is None


def test_a_lender_that_is_deleted_takes_its_quota_along() -> None:
    """Its neighbour in the cohort keeps what it borrowed, and preempts nobody for more."""
    reclaim = {"preemption": {"reclaimWithinCohort": "Any"}}
    result, simulation = run_with(
        flavor("default"),
        cluster_queue("cq", {"default": {"cpu": 2}}, cohortName="team", **reclaim),
        cluster_queue("lender", {"default": {"cpu": 2}}, cohortName="team", **reclaim),
        local_queue(),
        job("borrows", cpu=4, run_time=None),
        job("more", cpu=1, arrival="60s"),
        at=30,
        do=delete("ClusterQueue", "lender"),
    )
    assert rows(result)["borrows"].state is State.RUNNING
    assert rows(result)["more"].state is State.PENDING
    assert used(simulation) == {"cq": 4000}
    assert result.preemptions == []


# ---- it came before the run ----


def test_a_manifest_of_a_workload_that_was_being_evicted() -> None:
    """From a live cluster: it holds its quota, and stops here after its grace period."""
    true = {"status": "True", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {
        "admission": {
            "clusterQueue": "cq",
            "podSetAssignments": [
                {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "4"}, "count": 1}
            ],
        },
        "conditions": [
            {"type": "QuotaReserved", "reason": "QuotaReserved", **true},
            {"type": "Admitted", "reason": "Admitted", **true},
            {"type": "Evicted", "reason": "Preempted", **true},
        ],
    }
    low = workload("low", cpu=4, grace="10s", run_time="1m", status=status)
    result, simulation = run(*QUEUE, low, workload("high", cpu=4, priority=9))
    got = rows(result)
    assert (seconds(got["high"].admitted_ns), seconds(got["low"].admitted_ns)) == (10, 71)
    assert result.preemptions == []
    assert used(simulation) == {"cq": 0}
    assert msgspec.json.encode(simulation.cluster.get("Workload", "ns", "low"))
