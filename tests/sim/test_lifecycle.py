"""The life of workloads around scheduling, played: late pods, limits, checks, stopped queues, and what is kept."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.configuration import Configuration, RequeuingStrategy, WaitForPodsReady
from kueue_fast.api.configuration_types import ObjectRetentionPolicies, WorkloadRetentionPolicy
from kueue_fast.api.kueue import ClusterQueue, LocalQueue, Workload
from kueue_fast.sim.manifest import PREFIX
from kueue_fast.sim.result import Outcome, SimulationResult, State
from kueue_fast.sim.simulate import Simulation
from tests.sim.kind_makers import ray_job, template
from tests.sim.world import (
    KUEUE,
    MINUTE,
    cluster_queue,
    flavor,
    job,
    local_queue,
    meta,
    one_queue,
    rows,
    run,
    seconds,
    workload,
)

MAX_TIME = "kueue.x-k8s.io/max-exec-time-seconds"


def waiting(block: bool = False, **strategy: Any) -> Configuration:
    """Pods get five minutes to start, and three to recover."""
    return Configuration(
        wait_for_pods_ready=WaitForPodsReady(
            timeout="5m",
            recovery_timeout="3m",
            block_admission=block,
            requeuing_strategy=RequeuingStrategy(**{"backoff_base_seconds": 60, **strategy}),
        )
    )


def said(**values: str) -> dict[str, str]:
    """Annotations of the simulator, with `_` for `-`."""
    return {PREFIX + name.replace("_", "-"): value for name, value in values.items()}


def annotated(obj: dict[str, Any], **values: str) -> dict[str, Any]:
    known = obj["metadata"].get("annotations") or {}
    return {**obj, "metadata": {**obj["metadata"], "annotations": {**known, **said(**values)}}}


def check(name: str = "check", **values: str) -> dict[str, Any]:
    spec = {"controllerName": "example.com/check"}
    metadata = meta(name, annotations=said(**values))
    return {"apiVersion": KUEUE, "kind": "AdmissionCheck", "metadata": metadata, "spec": spec}


def checked_queue(*names: str) -> tuple[dict[str, Any], ...]:
    return one_queue(4, admissionChecksStrategy={"admissionChecks": [{"name": name} for name in names]})


def told(result: SimulationResult, name: str | None = None) -> list[tuple[float | None, str]]:
    """When and what was said about workloads and jobs, but for queues that took them."""
    return [
        (seconds(each.time_ns), each.reason)
        for each in result.events
        if each.reason not in ("CreatedWorkload", "QuotaReserved", "Pending", "FinishedWorkload")
        and (name is None or name in each.name)
    ]


def conditions(simulation: Simulation, name: str | None = None) -> dict[str, tuple[str, str]]:
    """Status and reason by type, of the only Workload or of the one that is called so."""
    [found] = [
        each
        for each in simulation.cluster.list(Workload.KIND)
        if name is None or each.metadata.name.startswith(name)
    ]
    return {each.type: (each.status, each.reason) for each in found.status.conditions}


def only(simulation: Simulation) -> Workload:
    [found] = simulation.cluster.list(Workload.KIND)
    assert isinstance(found, Workload)
    return found


# ---- pods that are not ready in time ----


def test_late_pods_are_evicted_come_back_after_the_backoff_and_may_be_ready_then() -> None:
    late = job("late", more_annotations=said(ready_after="never,never,30s"))
    result, simulation = run(*one_queue(), late, configuration=waiting(), events=True)
    assert told(result) == [
        (0, "Admitted"),
        (0, "Started"),
        (300, "EvictedDueToPodsReadyTimeout"),
        (300, "Stopped"),
        (360, "Admitted"),
        (360, "Started"),
        (660, "EvictedDueToPodsReadyTimeout"),
        (660, "Stopped"),
        (780, "Admitted"),
        (780, "Started"),
    ]
    assert seconds(result.workloads[0].finished_ns) == 780 + 30 + 60
    assert conditions(simulation) == {
        "PodsReady": ("True", "Started"),
        "QuotaReserved": ("True", "QuotaReserved"),
        "Admitted": ("True", "Admitted"),
        "Evicted": ("False", "QuotaReserved"),
        "Requeued": ("True", "BackoffFinished"),
        "Finished": ("True", "Succeeded"),
    }
    status = only(simulation).status
    assert status is not None
    assert status.requeue_state is not None
    assert status.scheduling_stats is not None
    assert (status.requeue_state.count, status.requeue_state.requeue_at) == (2, None)
    [evictions] = status.scheduling_stats.evictions or []
    assert (evictions.reason, evictions.underlying_cause, evictions.count) == (
        "PodsReadyTimeout",
        "WaitForStart",
        2,
    )


def test_a_workload_without_a_job_waits_for_its_pods_too() -> None:
    late = annotated(workload("late"), ready_after="never,1m")
    result, simulation = run(*one_queue(), late, configuration=waiting(), events=True)
    assert told(result) == [(0, "Admitted"), (300, "EvictedDueToPodsReadyTimeout"), (360, "Admitted")]
    assert seconds(result.workloads[0].finished_ns) == 360 + 60 + 60
    assert conditions(simulation)["PodsReady"] == ("True", "Started")


def test_at_the_limit_of_requeues_it_is_switched_off() -> None:
    late = job("late", more_annotations=said(ready_after="never"))
    result, simulation = run(*one_queue(), late, configuration=waiting(backoff_limit_count=1), events=True)
    assert told(result)[-2:] == [
        (660, "EvictedDueToDeactivatedDueToRequeuingLimitExceeded"),
        (660, "Stopped"),
    ]
    found = only(simulation)
    assert found.spec.active is False
    assert found.status is not None
    assert found.status.requeue_state is None
    assert conditions(simulation) == {
        "PodsReady": ("False", "WaitForStart"),
        "QuotaReserved": ("False", "Pending"),
        "Admitted": ("False", "NoReservation"),
        "Evicted": ("True", "DeactivatedDueToRequeuingLimitExceeded"),
        "Requeued": ("False", "DeactivatedDueToRequeuingLimitExceeded"),
    }
    assert result.workloads[0].waiting_reason == "Deactivated"
    assert result.queues[0].resources[0].reserved == 0


LOST: dict[str, tuple[str, list[tuple[float, str]], tuple[str, str]]] = {
    "a pod that is back in time": ("10m=2m", [], ("True", "Recovered")),
    "a pod that is not": (
        "10m=never",
        [(780, "EvictedDueToPodsReadyTimeout"), (780, "Stopped")],
        ("False", "WaitForStart"),
    ),
}


@pytest.mark.parametrize("case", LOST)
def test_lost_pods_have_to_recover(case: str) -> None:
    loss, want_events, want_ready = LOST[case]
    lossy = job("lossy", run_time="30m", more_annotations=said(pod_loss=loss))
    result, simulation = run(
        *one_queue(), lossy, configuration=waiting(), events=True, until_ns=14 * MINUTE - MINUTE
    )
    assert told(result)[2:] == want_events
    assert conditions(simulation)["PodsReady"] == want_ready


def test_without_a_configuration_pods_have_half_an_hour() -> None:
    late = job("late", more_annotations=said(ready_after="never,0s"))
    result, _ = run(*one_queue(), late, events=True)
    assert told(result)[2] == (1800, "EvictedDueToPodsReadyTimeout")


def test_the_gate_turns_it_off() -> None:
    late = job("late", more_annotations=said(ready_after="50m"))
    result, simulation = run(*one_queue(), late, feature_gates={"DisableWaitForPodsReady": True})
    assert seconds(result.workloads[0].finished_ns) == 3060
    assert "PodsReady" not in conditions(simulation)


def test_who_was_evicted_queues_behind_those_that_came_meanwhile() -> None:
    objects = (
        *one_queue(1),
        job("late", more_annotations=said(ready_after="never,0s")),
        job("other", arrival="1m", run_time="10m"),
    )
    by_eviction, _ = run(*objects, configuration=waiting(timestamp="Eviction"))
    assert seconds(rows(by_eviction)["other"].admitted_ns) == 301
    assert seconds(rows(by_eviction)["late"].admitted_ns) == 902


def test_a_backoff_of_the_input_is_waited_for() -> None:
    late = {"status": "False", "reason": "PodsReadyTimeout", "message": "late"}
    known = [{"type": "Requeued", **late}, {"type": "Evicted", **late, "status": "True"}]
    state = {"count": 2, "requeueAt": "2026-01-01T00:05:00Z"}
    backed_off = workload("w", status={"requeueState": state, "conditions": known})
    result, simulation = run(*one_queue(), backed_off)
    assert (seconds(result.workloads[0].admitted_ns), result.workloads[0].state) == (300, State.FINISHED)
    status = only(simulation).status
    assert status is not None
    assert status.requeue_state is not None
    assert (status.requeue_state.count, status.requeue_state.requeue_at) == (2, None)


# ---- one at a time ----


def test_nobody_is_admitted_while_pods_are_not_ready() -> None:
    result, simulation = run(
        *one_queue(),
        job("slow", run_time="10m", more_annotations=said(ready_after="2m")),
        job("next"),
        workload("third"),
        job("never", arrival="1m", more_annotations=said(ready_after="never")),
        job("last", arrival="4m"),
        configuration=waiting(block=True),
        until_ns=8 * MINUTE - 1,
    )
    found = {name: seconds(row.admitted_ns) for name, row in rows(result).items()}
    assert found == {"slow": 0, "next": 120, "third": 120, "never": None, "last": 420}
    assert conditions(simulation, "job-never")["Requeued"] == ("False", "PodsReadyTimeout")


def test_who_waits_for_the_pods_of_others_says_so() -> None:
    result, simulation = run(
        *one_queue(),
        job("slow", more_annotations=said(ready_after="2m")),
        job("next"),
        configuration=waiting(block=True),
        until_ns=MINUTE,
    )
    row = rows(result)["next"]
    assert (row.waiting_reason, row.waiting_message) == (
        "Waiting",
        "waiting for all admitted workloads to be in PodsReady condition",
    )
    assert conditions(simulation, "job-next")["QuotaReserved"] == ("False", "Waiting")


def test_who_is_switched_off_while_it_waits_for_others_gives_its_quota_back() -> None:
    result, _ = run(
        *one_queue(2),
        job("slow", run_time="10m", more_annotations=said(ready_after="2m")),
        job("next", run_time="10m", more_annotations=said(active="1m=false")),
        job("later", arrival="90s"),
        configuration=waiting(block=True),
    )
    assert rows(result)["next"].state is State.PENDING
    assert seconds(rows(result)["later"].admitted_ns) == 120


# ---- maximum execution time, and switching off and on ----


def test_what_runs_too_long_is_switched_off() -> None:
    result, simulation = run(*one_queue(), job("long", run_time="30m", labels={MAX_TIME: "600"}), events=True)
    assert told(result)[2:] == [
        (600, "MaximumExecutionTimeExceeded"),
        (600, "EvictedDueToDeactivatedDueToMaximumExecutionTimeExceeded"),
        (600, "Stopped"),
    ]
    [event] = [each for each in result.events if each.reason == "MaximumExecutionTimeExceeded"]
    assert (event.type, event.message) == ("Warning", "The maximum execution time (600s) exceeded")
    [eviction] = result.evictions
    want_words = "The workload is deactivated due to exceeding the maximum execution time"
    assert eviction.message == want_words
    found = conditions(simulation)
    assert "DeactivationTarget" not in found
    assert found["Evicted"] == ("True", "DeactivatedDueToMaximumExecutionTimeExceeded")


def test_time_before_an_eviction_counts() -> None:
    queue = cluster_queue("cq", {"default": {"cpu": 4}})
    result, _ = run(
        flavor("default"),
        annotated(queue, stop_policy="4m=HoldAndDrain,5m=None"),
        local_queue(),
        job("long", run_time="30m", labels={MAX_TIME: "600"}),
        events=True,
    )
    assert (660, "MaximumExecutionTimeExceeded") in told(result)


def test_a_run_within_the_limit_ends_as_usual() -> None:
    result, _ = run(*one_queue(), workload("w", maximumExecutionTimeSeconds=61))
    assert result.workloads[0].outcome is Outcome.SUCCEEDED


def test_a_user_switches_off_and_on() -> None:
    switched = job("a", run_time="10m", more_annotations=said(active="2m=false,5m=true"))
    result, simulation = run(*one_queue(), switched, events=True)
    assert told(result) == [
        (0, "Admitted"),
        (0, "Started"),
        (120, "EvictedDueToDeactivated"),
        (120, "Stopped"),
        (300, "Admitted"),
        (300, "Started"),
    ]
    assert conditions(simulation)["Requeued"] == ("True", "Reactivated")
    assert seconds(result.workloads[0].finished_ns) == 900


def test_what_kueue_switched_off_comes_back() -> None:
    """As after a user's own deactivation, with all its attempts. Upstream leaves it out of its queue (LC-908)."""
    late = job("late", more_annotations=said(ready_after="never,never,1m", active="20m=true"))
    result, simulation = run(*one_queue(), late, configuration=waiting(backoff_limit_count=1), events=True)
    assert told(result)[-4:] == [
        (660, "EvictedDueToDeactivatedDueToRequeuingLimitExceeded"),
        (660, "Stopped"),
        (1200, "Admitted"),
        (1200, "Started"),
    ]
    assert conditions(simulation)["Requeued"] == ("True", "Reactivated")
    assert result.workloads[0].outcome is Outcome.SUCCEEDED


def test_the_time_that_was_over_is_still_over_when_a_user_switches_on_what_kueue_switched_off() -> None:
    long = job("a", run_time="30m", labels={MAX_TIME: "60"}, more_annotations=said(active="5m=true"))
    result, _ = run(*one_queue(), long, events=True)
    assert told(result)[-2:] == [
        (300, "MaximumExecutionTimeExceeded"),
        (300, "EvictedDueToDeactivatedDueToMaximumExecutionTimeExceeded"),
    ]


def test_the_quota_of_a_workload_that_was_switched_off_is_free_while_its_pods_stop() -> None:
    slow = job("slow", run_time="10m", grace="1m", more_annotations=said(active="2m=false"))
    result, _ = run(*one_queue(1), slow, job("next", arrival="1m"))
    assert seconds(rows(result)["next"].admitted_ns) == 121
    assert result.queues[0].resources[0].peak == 1000


# ---- stopped queues ----

STOPS: dict[str, tuple[str, str, list[tuple[float, str]], float]] = {
    "a ClusterQueue that is held": ("ClusterQueue", "Hold", [], 480),
    "a LocalQueue that is held": ("LocalQueue", "Hold", [], 480),
    "a ClusterQueue that is drained": (
        "ClusterQueue",
        "HoldAndDrain",
        [(120, "EvictedDueToClusterQueueStopped"), (120, "Stopped"), (480, "Admitted"), (480, "Started")],
        480,
    ),
    "a LocalQueue that is drained": (
        "LocalQueue",
        "HoldAndDrain",
        [(120, "EvictedDueToLocalQueueStopped"), (120, "Stopped"), (480, "Admitted"), (480, "Started")],
        480,
    ),
}


@pytest.mark.parametrize("case", STOPS)
def test_stopped_queues(case: str) -> None:
    kind, policy, want_told, want_admitted = STOPS[case]
    objects = list(one_queue())
    place = next(number for number, each in enumerate(objects) if each["kind"] == kind)
    objects[place] = annotated(objects[place], stop_policy=f"2m={policy},8m=None")
    result, simulation = run(*objects, job("running", run_time="10m"), job("new", arrival="3m"), events=True)
    assert told(result, "running")[2:] == want_told
    assert seconds(rows(result)["new"].admitted_ns) == want_admitted
    if want_told:
        assert conditions(simulation, "job-running")["Requeued"] == ("True", f"{kind}Restarted")
    [stopped] = simulation.cluster.list(kind)
    assert isinstance(stopped, ClusterQueue | LocalQueue)
    assert stopped.spec is not None
    assert stopped.spec.stop_policy == "None"


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
def test_what_only_reserved_its_quota_waits_again_when_a_queue_is_held(kind: str) -> None:
    objects = list(checked_queue("check"))
    place = next(number for number, each in enumerate(objects) if each["kind"] == kind)
    objects[place] = annotated(objects[place], stop_policy="2m=Hold")
    result, simulation = run(*objects, check(answers="10m=Ready"), job("a"), events=True)
    print(told(result))
    assert [each for each in told(result) if each[1] == "Admitted" or "Evicted" in each[1]] == []
    found = only(simulation).status
    assert found is not None
    assert found.admission is None
    assert conditions(simulation)["QuotaReserved"] == ("False", "Inadmissible")
    assert "Requeued" not in conditions(simulation)


# ---- admission checks ----


def test_a_check_that_wants_a_retry_gives_the_quota_back_after_its_delay() -> None:
    answers = check(answers="1m=Retry/5m; 30s=Ready", pod_set_updates='{"nodeSelector": {"zone": "b"}}')
    result, simulation = run(*checked_queue("check"), answers, job("a"), events=True)
    assert told(result) == [
        (360, "EvictedDueToAdmissionCheck"),
        (360, "UpdatedAdmissionCheck"),
        (390, "Admitted"),
        (390, "Started"),
    ]
    [eviction] = result.evictions
    assert eviction.message == (
        'Evicted due to AdmissionCheck in Retry state: "check" (The simulated check asks for another try)'
    )
    [state] = only(simulation).status.admission_checks  # type: ignore[union-attr, misc]
    assert (state.state, state.retry_count) == ("Ready", 1)
    [started] = simulation.cluster.list("Job")
    assert msgspec.json.decode(started.spec.template.spec)["nodeSelector"] == {"zone": "b"}


def test_a_job_is_told_what_its_checks_say() -> None:
    result, _ = run(
        *checked_queue("check"),
        check(answers="1m=Pending,2m=Ready"),
        job("a"),
        ray_job(2, template(0)),
        events=True,
    )
    assert [
        (seconds(each.time_ns), each.kind, each.message)
        for each in result.events
        if each.reason == "UpdatedAdmissionCheck"
    ] == [(60, kind, "check: The simulated check is not ready yet") for kind in ("Job", "RayJob")]


REJECTIONS = {
    "before it is admitted": ("1m=Rejected", 60, []),
    "while it runs": ("1m=Ready,3m=Rejected", 180, [1]),
}


@pytest.mark.parametrize("case", REJECTIONS)
def test_a_check_rejects(case: str) -> None:
    answers, want_time, started = REJECTIONS[case]
    result, simulation = run(
        *checked_queue("check"), check(answers=answers), job("a", run_time="10m"), events=True
    )
    stopped = [(want_time, "Stopped")] if started else []
    assert told(result)[2 * len(started) :] == [
        (want_time, "AdmissionCheckRejected"),
        (want_time, "EvictedDueToDeactivatedDueToAdmissionCheck"),
        *stopped,
    ]
    assert only(simulation).spec.active is False


def test_checks_of_some_flavors_are_asked_for_those_alone() -> None:
    strategy = {"admissionChecks": [{"name": "check", "onFlavors": ["spot"]}]}
    queue = cluster_queue("cq", {"base": {"cpu": 1}, "spot": {"cpu": 1}}, admissionChecksStrategy=strategy)
    result, _ = run(
        flavor("base"), flavor("spot"), queue, local_queue(), check(answers="1m=Ready"), job("a"), job("b")
    )
    assert {name: seconds(row.admitted_ns) for name, row in rows(result).items()} == {"a": 0, "b": 60}


def test_a_job_may_have_its_own_answers() -> None:
    result, _ = run(
        *checked_queue("check"),
        check(answers="1m=Ready"),
        job("a", more_annotations=said(answers="3m=Ready")),
        annotated(workload("w"), answers="2m=Ready"),
    )
    assert {name: seconds(row.admitted_ns) for name, row in rows(result).items()} == {"a": 180, "w": 120}


def test_a_queue_whose_check_is_not_active_admits_nobody() -> None:
    result, simulation = run(
        *checked_queue("check"),
        check(answers="1m=Ready", active="2m=false,10m=true"),
        job("a", run_time="20m"),
        job("b", arrival="3m"),
    )
    assert {name: seconds(row.admitted_ns) for name, row in rows(result).items()} == {"a": 60, "b": 660}
    half_way, stopped = run(
        *checked_queue("check"), check(active="2m=false"), job("b", arrival="3m"), until_ns=5 * MINUTE
    )
    [queue] = stopped.cluster.list(ClusterQueue.KIND)
    [active] = queue.status.conditions
    assert (active.status, active.reason) == ("False", "AdmissionCheckInactive")
    assert half_way.workloads[0].waiting_reason == "Inadmissible"
    assert len(list(simulation.cluster.list(ClusterQueue.KIND))) == 1


# ---- what is kept ----

KEEP_FOR_A_WHILE = Configuration(
    object_retention_policies=ObjectRetentionPolicies(
        workloads=WorkloadRetentionPolicy(after_finished="2m", after_deactivated_by_kueue="1m")
    )
)


def test_finished_workloads_and_jobs_that_kueue_switched_off_are_deleted() -> None:
    result, simulation = run(
        *one_queue(),
        job("a"),
        workload("w"),
        job("long", run_time="30m", labels={MAX_TIME: "30"}),
        job("last", arrival="10m"),
        configuration=KEEP_FOR_A_WHILE,
        events=True,
    )
    deleted = [
        (seconds(each.time_ns), each.kind, each.name) for each in result.events if each.reason == "Deleted"
    ]
    names = {row.owner_name: row.name for row in result.workloads}
    assert deleted == [(90, "Job", "long"), (180, "Workload", names["a"]), (180, "Workload", "w")]
    assert [each.metadata.name for each in simulation.cluster.list("Job")] == ["a", "last"]
    assert rows(result)["a"].state is State.FINISHED


def test_what_is_to_be_deleted_later_keeps_no_run_going() -> None:
    result, _ = run(*one_queue(), job("a"), configuration=KEEP_FOR_A_WHILE)
    assert seconds(result.end_ns) == 60
