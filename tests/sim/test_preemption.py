"""Preemption in the simulator: who stops for whom, when, and what comes after."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from kueue_fast.api.batch import Job
from kueue_fast.api.configuration import load_configuration
from kueue_fast.api.kueue import Workload
from kueue_fast.jobs.pod_set_info import decode
from kueue_fast.model import conditions
from kueue_fast.sim.manifests import load
from kueue_fast.sim.options import SimulationOptions
from kueue_fast.sim.result import SimulationResult, State
from kueue_fast.sim.simulate import Simulation
from tests.sim.world import (
    SECOND,
    cluster_queue,
    cohort,
    flavor,
    job,
    local_queue,
    one_queue,
    output,
    priority_class,
    rows,
    run,
    seconds,
    workload,
)

ROOT = Path(__file__).parents[2]
WITHIN = {"preemption": {"withinClusterQueue": "LowerPriority"}}
RECLAIM = {"preemption": {"reclaimWithinCohort": "Any"}}
HIGH = {"kueue.x-k8s.io/priority-class": "high"}


def urgent(cpu: Any = 4) -> tuple[dict[str, Any], ...]:
    return *one_queue(cpu, **WITHIN), priority_class("high", 100)


def times_of(result: SimulationResult, name: str) -> tuple[float | None, float | None]:
    row = rows(result)[name]
    return seconds(row.admitted_ns), seconds(row.finished_ns)


def get_job(simulation: Simulation, name: str) -> Job:
    found: Job | None = simulation.cluster.get("Job", "ns", name)
    assert found is not None
    return found


def get_workload(simulation: Simulation, name: str) -> Workload:
    found: Workload | None = simulation.cluster.get("Workload", "ns", name)
    assert found is not None
    return found


# ---- the way of a victim ----


def test_a_victim_starts_from_scratch_when_there_is_room_again() -> None:
    result, simulation = run(
        *urgent(),
        job("low", cpu=4, run_time="1m"),
        job("urgent", cpu=4, arrival="30s", run_time="20s", labels=HIGH),
    )
    assert times_of(result, "urgent") == (30, 50)
    # Parked workloads come back in batches of a second; half a minute of the first run is lost.
    assert times_of(result, "low") == (51, 111)
    low = rows(result)["low"]
    assert (low.preemptions, low.lost_ns, low.waited_ns) == (1, 30 * SECOND, 21 * SECOND)
    assert low.last_preemption is not None
    assert (low.last_preemption.preemptor, low.last_preemption.reason) == (
        rows(result)["urgent"].key,
        "InClusterQueue",
    )
    assert result.preemptions == [low.last_preemption]
    assert result.queues[0].resources[0].peak == 4000
    status = get_workload(simulation, low.name).status
    assert status is not None
    known = {each.type: (each.status, each.reason) for each in status.conditions or ()}
    assert known["Evicted"] == ("False", "QuotaReserved")
    assert known["Preempted"] == ("False", "QuotaReserved")
    assert known["Requeued"] == ("True", "Preempted")
    assert known["Finished"] == ("True", "Succeeded")
    assert status.accumulated_past_execution_time_seconds == 30
    assert simulation.engine.queue_state()["cq"].usage == {"default/cpu": 0}


def test_a_stopped_job_is_as_it_was_before_it_started() -> None:
    spot = flavor("default", nodeLabels={"type": "spot"}, tolerations=[{"key": "spot", "operator": "Exists"}])
    partial = {"kueue.x-k8s.io/job-min-parallelism": "1"}
    objects = (spot, *urgent(2)[1:])
    low = job(
        "low",
        parallelism=3,
        run_time=None,
        more_annotations=partial,
        pod_spec={"nodeSelector": {"zone": "z"}},
    )
    result, simulation = run(*objects, low, until_ns=5 * SECOND)
    running = get_job(simulation, "low")
    assert running.status is not None
    assert (running.spec.suspend, running.spec.parallelism, running.status.active) == (False, 2, 2)
    assert decode(running.spec.template.spec)["nodeSelector"] == {"zone": "z", "type": "spot"}

    high = job("urgent", cpu=2, arrival="10s", run_time=None, labels=HIGH)
    result, simulation = run(*objects, low, high, until_ns=20 * SECOND)
    stopped = get_job(simulation, "low")
    assert stopped.status is not None
    assert (stopped.spec.suspend, stopped.spec.parallelism, stopped.spec.completions) == (True, 3, 3)
    assert (stopped.status.active, stopped.status.ready, stopped.status.start_time) == (None, 0, None)
    template = decode(stopped.spec.template.spec)
    assert (template["nodeSelector"], template.get("tolerations")) == ({"zone": "z"}, None)
    assert (decode(stopped.spec.template.metadata).get("labels") or {}) == {}
    assert rows(result)["low"].state is State.PENDING
    assert "insufficient quota for cpu" in rows(result)["low"].waiting_message


def test_events_tell_who_preempted_whom_and_where() -> None:
    result, _ = run(
        *urgent(),
        job("low", cpu=4),
        job("urgent", cpu=4, arrival="30s", run_time="20s", labels=HIGH),
        events=True,
    )
    victim, winner = rows(result)["low"], rows(result)["urgent"]
    at_30 = [event for event in result.events if seconds(event.time_ns) == 30]
    got = [(event.reason, event.name) for event in at_30]
    assert got == [
        ("CreatedWorkload", "urgent"),
        ("EvictedDueToPreempted", victim.name),
        ("Preempted", victim.name),
        ("PreemptedWorkload", winner.name),
        ("Stopped", "low"),
        ("Pending", winner.name),
        ("QuotaReserved", winner.name),
        ("Admitted", winner.name),
        ("Started", "urgent"),
        # The victim queues again, in the same second.
        ("Pending", victim.name),
    ]
    messages = {event.reason: event.message for event in at_30}
    assert messages["EvictedDueToPreempted"] == messages["Stopped"]
    assert messages["Stopped"].endswith("preemptor path: /cq; preemptee path: /cq")
    assert f"Preempted workload {victim.key} (UID: " in messages["PreemptedWorkload"]
    assert "preemptor effective priority: 100 (base: 100, boost: 0)" in messages["Preempted"]
    assert messages["QuotaReserved"].endswith("wait time since queued was 0s")
    again = [event for event in result.events if event.name == victim.name][-2]
    assert again.message == "Quota reserved in ClusterQueue cq, wait time since queued was 21s"


# ---- grace periods ----


def test_victims_stop_at_their_own_times() -> None:
    objects = (
        *urgent(),
        job("slow", cpu=2, run_time=None, grace="30s"),
        job("quick", cpu=2, run_time=None, grace="10s"),
        job("urgent", cpu=4, arrival="60s", labels=HIGH),
    )
    result, simulation = run(*objects, until_ns=65 * SECOND)
    got = rows(result)
    assert (got["slow"].state, got["slow"].evicting, got["quick"].evicting) == (State.RUNNING, True, True)
    assert got["urgent"].waits_for == (got["quick"].key, got["slow"].key)
    assert got["urgent"].waiting_message.endswith("Pending the preemption of 2 workload(s)")
    assert simulation.engine.queue_state()["cq"].usage == {"default/cpu": 4000}
    running = get_job(simulation, "slow")
    assert running.status is not None
    assert (running.spec.suspend, running.status.active) == (True, 1)

    result, simulation = run(*objects, until_ns=75 * SECOND)
    got = rows(result)
    assert (got["quick"].state, got["urgent"].waits_for) == (State.PENDING, (got["slow"].key,))
    assert simulation.engine.queue_state()["cq"].usage == {"default/cpu": 2000}
    document, text = output(*objects, until_ns=75 * SECOND)
    entries = {each["name"]: each for each in json.loads(document)["workloads"]}
    assert entries[got["urgent"].name]["waiting"]["evictions"] == [got["slow"].key]
    assert f"    until these have stopped: {got['slow'].key}\n" in text
    assert " stopping " in text

    result, _ = run(*objects, until_ns=200 * SECOND)
    assert times_of(result, "urgent") == (90, 150)
    assert rows(result)["slow"].lost_ns == 90 * SECOND
    assert len(result.preemptions) == 2


def test_an_eviction_is_issued_once() -> None:
    """While the victim stops, other preemptors come and cycles go on."""
    objects = (
        *urgent(),
        job("low", cpu=4, run_time=None, grace="30s"),
        job("first", cpu=4, arrival="10s", labels=HIGH),
        job("second", cpu=4, arrival="15s", labels=HIGH),
        *(job(f"other{n}", cpu=1, arrival=f"{20 + n}s") for n in range(5)),
    )
    result, simulation = run(*objects, until_ns=600 * SECOND, events=True)
    assert [row.preemptor for row in result.preemptions] == [rows(result)["first"].key]
    assert times_of(result, "first") == (40, 100)
    assert times_of(result, "second") == (101, 161)
    assert sum(event.reason == "Preempted" for event in result.events) == 1
    assert simulation.restless_ns is None


def test_workloads_without_a_job_stop_after_their_grace_period() -> None:
    result, simulation = run(
        *urgent(),
        workload("low", cpu=4, run_time="1m", grace="5s"),
        workload("high", cpu=4, arrival="30s", run_time="10s", priority=100),
    )
    assert times_of(result, "high") == (35, 45)
    assert times_of(result, "low") == (46, 106)
    assert result.end_ns - result.start_ns == 106 * SECOND
    assert simulation.restless_ns is None


def test_a_workload_that_only_has_a_reservation_stops_at_once() -> None:
    check = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "AdmissionCheck",
        "metadata": {"name": "prov"},
        "spec": {"controllerName": "example.com/check"},
    }
    queue = one_queue(1, **WITHIN, admissionChecksStrategy={"admissionChecks": [{"name": "prov"}]})
    low = [job("low", grace="1h"), workload("plain", grace="1h")]
    for victim in low:
        objects = (*queue, check, victim, workload("high", arrival="5s", priority=9))
        result, _ = run(*objects, until_ns=6 * SECOND)
        states = [row.state for row in result.workloads]
        assert states == [State.PENDING, State.RESERVED]
        assert (result.workloads[0].preemptions, result.workloads[0].lost_ns) == (1, 0)


# ---- order ----


def test_a_victim_keeps_its_place_by_creation() -> None:
    result, _ = run(
        *urgent(1),
        job("first", run_time="1m"),
        job("second", arrival="5s", run_time="1m"),
        job("urgent", arrival="10s", run_time="10s", labels=HIGH),
        job("third", arrival="12s", run_time="1m"),
    )
    started = {name: seconds(row.admitted_ns) for name, row in rows(result).items()}
    assert started == {"urgent": 10, "first": 21, "second": 82, "third": 143}


def test_reclaim_takes_only_what_was_lent() -> None:
    """By priority nobody stops: reclaim counts who borrowed, and the latest reservation goes first."""
    result, _ = run(
        cohort("company"),
        cohort("team", "company"),
        flavor("default"),
        cluster_queue("prod", {"default": {"cpu": 4}}, cohortName="team", **RECLAIM),
        cluster_queue("dev", {"default": {"cpu": 2}}, cohortName="team"),
        local_queue("lq-prod", "prod"),
        local_queue("lq-dev", "dev"),
        priority_class("high", 100),
        *(job(f"dev{n}", cpu=2, arrival=f"{n}s", queue="lq-dev", labels=HIGH) for n in range(3)),
        job("prod", cpu=2, arrival="30s", queue="lq-prod"),
        events=True,
    )
    (row,) = result.preemptions
    got = rows(result)
    assert (row.workload, row.reason) == (got["dev2"].key, "InCohortReclamation")
    assert (row.path, row.preemptor_path) == ("/company/team/dev", "/company/team/prod")
    assert times_of(result, "prod") == (30, 90)
    told = next(event.message for event in result.events if event.reason == "EvictedDueToPreempted")
    assert told.endswith(
        "due to reclamation within the cohort; preemptor path: /company/team/prod; "
        "preemptee path: /company/team/dev"
    )


# ---- the whole ----


def busy() -> tuple[dict[str, Any], ...]:
    """Two queues of a cohort and jobs of three priorities, which preempt within and across."""
    both = {"preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerOrNewerEqualPriority"}}
    return (
        flavor("default"),
        cluster_queue("a", {"default": {"cpu": 6}}, cohortName="team", **both),
        cluster_queue("b", {"default": {"cpu": 4}}, cohortName="team", **both),
        local_queue("lq-a", "a"),
        local_queue("lq-b", "b"),
        *(
            workload(
                f"w{n}",
                cpu=1 + n * 5 % 4,
                queue=f"lq-{'ab'[n * 7 % 2]}",
                arrival=f"{n * 3 % 41}s",
                run_time=f"{5 + n * 7 % 23}s",
                grace=f"{n % 4}s",
                priority=n * 11 % 3 * 50,
            )
            for n in range(60)
        ),
    )


def test_a_busy_cluster_comes_to_an_end_with_nothing_in_use() -> None:
    result, simulation = run(*busy())
    assert {row.state for row in result.workloads} == {State.FINISHED}
    assert len(result.preemptions) > 10
    assert simulation.restless_ns is None
    for state in simulation.engine.queue_state().values():
        assert set(state.usage.values()) == {0}
    for row in result.workloads:
        assert row.preemptions == sum(each.workload == row.key for each in result.preemptions)
        assert row.admitted_ns is not None
        assert row.waited_ns is not None
        # From arrival to the last start it waited or ran for nothing.
        assert row.waited_ns + row.lost_ns == row.admitted_ns - row.arrived_ns


def test_the_engine_agrees_at_any_time() -> None:
    for until in range(0, 200 * SECOND, 13 * SECOND):
        result, simulation = run(*busy(), until_ns=until)
        for queue, state in zip(result.queues, simulation.engine.queue_state().values(), strict=True):
            assert state.usage == {"default/cpu": queue.resources[0].reserved}
            assert (state.admitted, len(state.active) + len(state.parked)) == (queue.admitted, queue.pending)


def test_the_same_input_gives_the_same_bytes() -> None:
    first = output(*busy(), events=True)
    assert first == output(*busy(), events=True)
    assert b'"reason": "PreemptedWorkload"' in first[0]
    plain, _ = run(*busy())
    with_events, _ = run(*busy(), events=True)
    assert (plain.workloads, plain.cycles) == (with_events.workloads, with_events.cycles)


def test_a_small_generator_with_preemption_runs_to_the_end() -> None:
    simulation = Simulation(load([str(ROOT / "tests/sim/preempting-generator.yaml")]), SimulationOptions())
    simulation.run()
    result = simulation.result()
    assert {row.state for row in result.workloads} == {State.FINISHED}
    assert result.preemptions
    assert all(set(state.usage.values()) == {0} for state in simulation.engine.queue_state().values())
    by_time = [row.time_ns for row in result.preemptions]
    assert all(before <= after for before, after in pairwise(by_time))
    assert conditions.is_true(get_conditions(simulation, result.preemptions[0].workload), conditions.FINISHED)


def get_conditions(simulation: Simulation, key: str) -> Any:
    found = simulation.cluster.get("Workload", *key.split("/"))
    return found.status.conditions


def test_a_head_that_tries_its_flavors_in_turns_comes_to_rest() -> None:
    """Its answer alternates between two; nothing else happens until the next event."""
    either = {"preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}}
    quotas = {"f0": {"cpu": 1}, "f1": {"cpu": 2}}
    result, simulation = run(
        flavor("f0"),
        flavor("f1"),
        *(cluster_queue(name, quotas, cohortName="team", **either) for name in "abc"),
        *(local_queue(f"lq-{name}", name) for name in "abc"),
        *(
            workload(
                f"w{n}",
                cpu=1 + n % 4,
                queue=f"lq-{'abc'[n % 3]}",
                arrival=f"{n}s",
                run_time="20s",
                grace=f"{n % 5}s",
                priority=n % 3,
            )
            for n in range(30)
        ),
    )
    assert simulation.restless_ns is None
    assert {row.state for row in result.workloads} == {State.FINISHED}
    assert result.cycles < 500


def test_the_examples_tell_their_stories() -> None:
    simulation = Simulation(load([str(ROOT / "examples/preemption")]), SimulationOptions())
    simulation.run()
    result = simulation.result()
    got = {name: row.preemptions for name, row in rows(result).items()}
    want = {"notebook-tests": 0, "load-test": 1, "fuzzing": 1, "nightly-report": 1, "checkout": 0}
    assert got == want
    assert {row.state for row in result.workloads} == {State.FINISHED}

    file = ROOT / "examples/fair-sharing/configuration.yaml"
    configuration = load_configuration(file.read_bytes(), file.name)
    options = SimulationOptions(configuration=configuration, until_ns=1800 * SECOND)
    simulation = Simulation(load([str(ROOT / "examples/fair-sharing/manifests")]), options)
    simulation.run()
    shares = {queue.name: queue.resources[0].reserved for queue in simulation.result().queues}
    assert shares == {"vision": 12_000, "language": 6000, "robotics": 6000}
