"""Elastic Jobs on nodes: their pods are objects, held by two gates."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.api.core import Pod
from kueue_fast.sim.result import Outcome
from tests.placed import HOSTNAME
from tests.sim.test_simulate_topology import node, placed_job, queue
from tests.sim.world import MINUTE, job, run, seconds

ELASTIC = "kueue.x-k8s.io/elastic-job"
NODES = [node(f"n{number}", f"r{number // 2}") for number in range(4)]


def elastic(resize: str, pods: int) -> dict[str, Any]:
    said = {ELASTIC: "true", "sim.kueue-fast.dev/resize": resize}
    return placed_job(
        "e",
        pods,
        "unconstrained",
        "true",
        cpu=1,
        run_time="60m",
        more_annotations=said,
        completions=100,
    )


def pods_after(minutes: int, *objects: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Nodes of the Job's pods that run, and the gates of those that wait, so many minutes after the start."""
    _, simulation = run(*objects, until_ns=minutes * MINUTE)
    found: list[Pod] = [
        each for each in simulation.cluster.list("Pod") if (each.metadata.labels or {}).get("job-name") == "e"
    ]
    gates = [gate.name for each in found for gate in each.spec.scheduling_gates or ()]
    for each in found:
        if each.spec.node_name:
            assert (each.spec.node_selector or {}).get(HOSTNAME) == each.spec.node_name
    return sorted(each.spec.node_name for each in found if each.spec.node_name), gates


def test_pods_come_and_go_with_the_size() -> None:
    objects = (*NODES, *queue(), elastic("10m=8, 30m=3", 2))
    counts = {at: len(pods_after(at, *objects)[0]) for at in (5, 15, 35)}
    assert counts == {5: 2, 15: 8, 35: 3}
    result, simulation = run(*objects)
    assert [row.outcome for row in result.workloads] == [Outcome.REPLACED, Outcome.SUCCEEDED]
    assert list(simulation.cluster.list("Pod")) == []


def test_further_pods_wait_with_both_gates_until_their_slice_is_admitted() -> None:
    other = job("other", cpu=12, run_time="20m", labels={})
    objects = (*NODES, *queue(cpu=18), other, elastic("10m=8", 2))
    other["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = 4
    other["spec"]["parallelism"] = other["spec"]["completions"] = 3
    run_now, gates = pods_after(15, *objects)
    assert len(run_now) == 2
    assert sorted(gates) == sorted([ELASTIC, "kueue.x-k8s.io/topology"] * 6)
    run_now, gates = pods_after(25, *objects)
    assert (len(run_now), gates) == (8, [])


@pytest.mark.parametrize("mode", ["Indexed", "NonIndexed"])
def test_pods_that_run_stay_on_their_nodes(mode: str) -> None:
    objects = (*NODES, *queue(), elastic("10m=6", 2))
    objects[-1]["spec"]["completionMode"] = mode
    before, _ = pods_after(5, *objects)
    after, _ = pods_after(15, *objects)
    assert len(after) == 6
    for name in set(before):
        assert after.count(name) >= before.count(name)


def test_a_pod_that_is_lost_is_made_again_and_let_go() -> None:
    failing = [node("n0", "r0", fails_at="12m"), *NODES[1:]]
    objects = (*failing, *queue(), elastic("10m=6, 40m=3", 2))
    result, _ = run(*objects)
    assert result.workloads[-1].outcome is Outcome.SUCCEEDED
    run_now, gates = pods_after(30, *objects)
    assert (len(run_now), gates, "n0" in run_now) == (6, [], False)
    assert seconds(result.workloads[-1].finished_ns) == 3600
