"""Pods that Kueue manages in a simulation: alone, in groups, and below kinds that serve."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.api.core import Pod
from kueue_fast.sim.result import Outcome, State
from tests.sim.kind_makers import (
    group,
    leader_worker_set,
    member,
    plain_pod,
    queues,
    serving,
    urgent,
)
from tests.sim.world import MINUTE, job, one_queue, rows, run, seconds

UNRETRIABLE = {"kueue.x-k8s.io/retriable-in-group": "false"}


def names(simulation: Any, kind: str = "Pod") -> list[str]:
    return [each.metadata.name for each in simulation.cluster.list(kind)]


def phases(simulation: Any) -> dict[str, str | None]:
    pods: list[Pod] = list(simulation.cluster.list("Pod"))
    return {pod.metadata.name: pod.status and pod.status.phase for pod in pods}


def test_a_single_pod_runs_and_ends() -> None:
    result, simulation = run(*one_queue(4), plain_pod("solo"), events=True)
    [row] = result.workloads
    assert row.name.startswith("pod-solo-")
    assert (row.owner_kind, row.owner_name) == ("Pod", "solo")
    assert (row.outcome, seconds(row.finished_ns)) == (Outcome.SUCCEEDED, 600)
    assert phases(simulation) == {"solo": "Succeeded"}
    told = [each.reason for each in result.events if each.kind == "Pod"]
    assert told == ["CreatedWorkload", "Started", "FinishedWorkload"]


def test_a_pod_is_gated_until_it_is_admitted() -> None:
    blocker = job("blocker", cpu=4, run_time="5m")
    objects = (*one_queue(4), blocker, plain_pod("solo", arrival="1m"))
    _, early = run(*objects, until_ns=2 * MINUTE)
    gates = {gate.name for pod in early.cluster.list("Pod") for gate in pod.spec.scheduling_gates or ()}
    assert gates == {"kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology"}
    result, late = run(*objects, until_ns=6 * MINUTE)
    assert seconds(rows(result)["solo"].admitted_ns) == 301
    assert phases(late) == {"solo": "Running"}
    assert all(not pod.spec.scheduling_gates for pod in late.cluster.list("Pod"))


def test_an_evicted_pod_has_failed_and_does_not_come_back() -> None:
    result, simulation = run(*queues(4), plain_pod("solo"), urgent())
    row = rows(result)["solo"]
    assert (row.state, row.outcome, seconds(row.finished_ns)) == (State.FINISHED, Outcome.FAILED, 120)
    assert names(simulation) == []


def test_a_pod_without_queue_is_not_kueues() -> None:
    result, _ = run(*one_queue(4), plain_pod("free", queue=None))
    assert result.workloads == []


def test_a_default_queue_takes_pods_that_name_none() -> None:
    flavor, queue, lq = one_queue(4)
    default = {**lq, "metadata": {**lq["metadata"], "name": "default"}}
    result, _ = run(flavor, queue, default, plain_pod("solo", queue=None))
    assert [(row.owner_name, row.queue) for row in result.workloads] == [("solo", "default")]


# ---- groups ----


def test_a_group_waits_for_its_members_and_is_admitted_as_a_whole() -> None:
    late = member("g-2", 3, arrival="3m")
    result, simulation = run(*one_queue(4), *group(2, arrival="1m"), events=True, until_ns=2 * MINUTE)
    assert result.workloads[0].name == "g"
    members = [member(f"g-{number}", 3) for number in range(2)]
    result, simulation = run(*one_queue(4), *members, late)
    [row] = result.workloads
    assert (row.name, row.owner_kind, row.owner_name) == ("g", "Pod", "g")
    assert [each.count for each in row.pod_sets] == [3]
    assert (seconds(row.arrived_ns), seconds(row.admitted_ns), seconds(row.finished_ns)) == (180, 180, 780)
    assert phases(simulation) == {"g-0": "Succeeded", "g-1": "Succeeded", "g-2": "Succeeded"}


def test_a_group_that_lacks_a_member_has_no_workload() -> None:
    result, simulation = run(*one_queue(4), *[member(f"g-{number}", 3) for number in range(2)], events=True)
    assert result.workloads == []
    assert {each.message for each in result.events if each.reason == "ErrWorkloadCompose"} == {
        "'g' group has fewer runnable pods than expected"
    }
    assert all(pod.spec.scheduling_gates for pod in simulation.cluster.list("Pod"))


def test_roles_of_a_group_are_pod_sets() -> None:
    members = [member("driver", 3, cpu=2), member("a", 3), member("b", 3)]
    result, _ = run(*one_queue(4), *members)
    [row] = result.workloads
    assert sorted(each.count for each in row.pod_sets) == [1, 2]


def test_what_a_member_that_is_done_held_is_free() -> None:
    members = [member("a", 2, run_time="3m"), member("b", 2, run_time="10m")]
    result, _ = run(*one_queue(2), *members, job("next", cpu=1, arrival="1m"))
    assert seconds(rows(result)["next"].admitted_ns) == 181
    assert seconds(rows(result)["g"].finished_ns) == 600
    assert result.queues[0].resources[0].peak == 2000


def test_an_evicted_group_is_made_anew_and_runs_again() -> None:
    result, simulation = run(*queues(4), *group(4), urgent())
    row = rows(result)["g"]
    assert (row.preemptions, row.outcome) == (1, Outcome.SUCCEEDED)
    assert (seconds(row.admitted_ns), seconds(row.finished_ns)) == (181, 781)
    assert names(simulation) == ["g-0-r1", "g-1-r1", "g-2-r1", "g-3-r1"]


def test_a_group_is_made_anew_as_often_as_it_is_evicted() -> None:
    again = {**urgent(), "metadata": {**urgent()["metadata"], "name": "again"}}
    again["metadata"]["annotations"] = {
        **again["metadata"]["annotations"],
        "sim.kueue-fast.dev/arrival": "5m",
    }
    result, simulation = run(*queues(4), *group(2), urgent(), again)
    assert rows(result)["g"].preemptions == 2
    assert names(simulation) == ["g-0-r2", "g-1-r2"]


def test_only_members_that_have_not_ended_are_made_anew() -> None:
    members = [member("a", 2, run_time="1m"), member("b", 2)]
    result, simulation = run(*queues(4), *members, urgent())
    assert rows(result)["g"].outcome is Outcome.SUCCEEDED
    assert phases(simulation) == {"a": "Succeeded", "b-r1": "Succeeded"}


def test_members_go_on_for_their_grace_period() -> None:
    result, _ = run(*queues(4), *group(4, grace_period="30s"), urgent())
    assert seconds(rows(result)["urgent"].admitted_ns) == 150


def test_a_group_that_is_not_retriable_ends_with_its_eviction() -> None:
    result, simulation = run(*queues(4), *group(4, annotations=UNRETRIABLE), urgent())
    row = rows(result)["g"]
    assert (row.state, seconds(row.finished_ns)) == (State.FINISHED, 120)
    assert names(simulation) == []


def test_a_failed_member_keeps_the_group_waiting() -> None:
    members = [member("a", 2, failure="true"), member("b", 2)]
    result, simulation = run(*one_queue(4), *members, until_ns=30 * MINUTE)
    assert rows(result)["g"].state is State.RUNNING
    assert phases(simulation) == {"a": "Failed", "b": "Succeeded"}


def test_a_failed_member_of_a_group_that_is_not_retriable_ends_it() -> None:
    members = [
        member("a", 2, failure="true", annotations=UNRETRIABLE),
        member("b", 2, annotations=UNRETRIABLE),
    ]
    result, _ = run(*one_queue(4), *members)
    assert rows(result)["g"].state is State.FINISHED


# ---- pods of kinds that serve ----


def test_pods_of_a_stateful_set() -> None:
    result, simulation = run(*one_queue(4), serving("StatefulSet", 3), until_ns=MINUTE)
    [row] = result.workloads
    assert [(each.name, each.count) for each in row.pod_sets] == [("main", 3)]
    assert phases(simulation) == {"k-0": "Running", "k-1": "Running", "k-2": "Running"}
    [stateful_set] = simulation.cluster.list("StatefulSet")
    assert (stateful_set.status.replicas, stateful_set.status.ready_replicas) == (3, 3)
    [workload] = simulation.cluster.list("Workload")
    owners = [(owner.kind, owner.name) for owner in workload.metadata.owner_references]
    assert owners == [("StatefulSet", "k"), ("Pod", "k-0"), ("Pod", "k-1"), ("Pod", "k-2")]


def test_pods_of_a_deployment_are_admitted_one_by_one() -> None:
    result, simulation = run(*one_queue(2), serving("Deployment", 3), until_ns=MINUTE)
    assert [row.state for row in result.workloads] == [State.RUNNING, State.RUNNING, State.PENDING]
    assert {row.owner_kind for row in result.workloads} == {"Pod"}
    [replica_set] = simulation.cluster.list("ReplicaSet")
    [deployment] = simulation.cluster.list("Deployment")
    assert replica_set.metadata.owner_references[0].name == "k"
    assert (deployment.status.replicas, deployment.status.ready_replicas) == (3, 2)
    assert all(name.startswith(f"{replica_set.metadata.name}-") for name in names(simulation))


def test_an_evicted_pod_of_a_deployment_is_another_pod_later() -> None:
    result, _ = run(*queues(4), serving("Deployment", 2), urgent(3), until_ns=10 * MINUTE)
    first, second, preemptor, third = result.workloads
    assert sorted((first.state, second.state), key=lambda state: state.value) == [
        State.DELETED,
        State.RUNNING,
    ]
    assert seconds(preemptor.admitted_ns) == 120
    assert (third.state, seconds(third.arrived_ns), seconds(third.admitted_ns)) == (State.RUNNING, 120, 181)


def test_pods_of_a_leader_worker_set() -> None:
    result, simulation = run(*one_queue(8), leader_worker_set(2, 3), until_ns=MINUTE)
    assert [row.name[: len("leaderworkerset-k-0-")] for row in result.workloads] == [
        "leaderworkerset-k-0-",
        "leaderworkerset-k-1-",
    ]
    for row in result.workloads:
        assert [(each.name, each.count) for each in row.pod_sets] == [("leader", 1), ("worker", 2)]
    assert names(simulation) == ["k-0", "k-0-1", "k-0-2", "k-1", "k-1-1", "k-1-2"]
    assert set(phases(simulation).values()) == {"Running"}
    assert names(simulation, "StatefulSet") == ["k", "k-0", "k-1"]
    pods = {pod.metadata.name: pod for pod in simulation.cluster.list("Pod")}
    owners = {name: pod.metadata.owner_references[0].name for name, pod in pods.items()}
    assert owners == {
        "k-0": "k",
        "k-0-1": "k-0",
        "k-0-2": "k-0",
        "k-1": "k",
        "k-1-1": "k-1",
        "k-1-2": "k-1",
    }


def test_a_group_of_a_leader_worker_set_is_evicted_alone() -> None:
    result, simulation = run(*queues(6), leader_worker_set(2, 3), urgent(3), until_ns=10 * MINUTE)
    evicted = [row for row in result.workloads if row.preemptions]
    assert [row.owner_kind for row in evicted] == ["LeaderWorkerSet"]
    assert seconds(evicted[0].admitted_ns) == 181
    assert sorted(names(simulation)) == ["k-0", "k-0-1", "k-0-2", "k-1", "k-1-1", "k-1-2"]
    assert set(phases(simulation).values()) == {"Running"}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_priority_of_serving_kinds_is_their_label(kind: str) -> None:
    obj = serving(kind, 1, labels={"kueue.x-k8s.io/priority-class": "high"})
    result, _ = run(*queues(4), obj, until_ns=MINUTE)
    assert [row.priority for row in result.workloads] == [100]
