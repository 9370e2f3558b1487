"""Simulations with topologies: placement, pods, failing nodes, and what the result says of them."""

from __future__ import annotations

import io
import json
from typing import Any

from kueue_fast.api.core import Pod
from kueue_fast.sim.html_report import to_html
from kueue_fast.sim.json_report import to_json
from kueue_fast.sim.report import print_report
from kueue_fast.sim.result import SimulationResult, State
from kueue_fast.sim.simulate import Simulation
from tests.placed import HOSTNAME
from tests.sim.test_topology_ledger import RACK
from tests.sim.world import (
    KUEUE,
    MINUTE,
    START,
    cluster_queue,
    flavor,
    job,
    local_queue,
    meta,
    output,
    pod,
    rows,
    run,
    seconds,
)

TOPOLOGY = {
    "apiVersion": KUEUE,
    "kind": "Topology",
    "metadata": meta("t"),
    "spec": {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOSTNAME}]},
}


def node(name: str, rack: str, *, cpu: int = 4, **facts: str) -> dict[str, Any]:
    annotations = {f"sim.kueue-fast.dev/{fact.replace('_', '-')}": value for fact, value in facts.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta(name, labels={RACK: rack}, annotations=annotations),
        "status": {"capacity": {"cpu": cpu}},
    }


def queue(cpu: int = 100) -> tuple[dict[str, Any], ...]:
    return (
        TOPOLOGY,
        flavor("tas", topologyName="t"),
        cluster_queue("cq", {"tas": {"cpu": cpu}}),
        local_queue(),
    )


def placed_job(name: str, pods: int, kind: str, value: str, *, cpu: int = 4, **more: Any) -> dict[str, Any]:
    """A Job whose pods ask for a topology."""
    made = job(name, cpu=cpu, parallelism=pods, completionMode="Indexed", **more)
    made["spec"]["template"]["metadata"] = {"annotations": {f"kueue.x-k8s.io/podset-{kind}-topology": value}}
    return made


def where(simulation: Simulation) -> dict[str, str | None]:
    pods: list[Pod] = list(simulation.cluster.list(Pod.KIND))
    return {each.metadata.name: each.spec.node_name for each in pods}


def seats(result: SimulationResult) -> dict[str, int]:
    """Pods by node at the peak."""
    [row] = result.topologies
    assert row.peak is not None
    return {
        leaf.values[-1]: sum(each.pods for each in leaf.occupants)
        for leaf in row.peak.leaves
        if leaf.occupants
    }


def test_pods_run_where_their_workload_was_placed() -> None:
    nodes = [node(f"n{number}", f"r{number // 2}") for number in range(4)]
    result, simulation = run(
        *queue(), *nodes, placed_job("a", 2, "required", RACK, run_time=None), until_ns=MINUTE
    )
    assert rows(result)["a"].state is State.RUNNING
    assert where(simulation) == {"a-0": "n0", "a-1": "n1"}
    assert seats(result) == {"n0": 1, "n1": 1}


def test_a_gang_waits_for_a_rack_of_its_own_although_there_is_quota() -> None:
    nodes = [node(f"n{number}", f"r{number // 2}") for number in range(4)]
    result, _ = run(
        *queue(),
        *nodes,
        placed_job("a", 3, "preferred", RACK, run_time="5m"),
        placed_job("b", 2, "required", RACK, arrival="1m"),
    )
    assert seconds(rows(result)["a"].admitted_ns) == 0
    assert seconds(rows(result)["b"].admitted_ns) == 301
    assert all(row.state is State.FINISHED for row in result.workloads)


def test_other_pods_take_room() -> None:
    other = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta("other", "ns", annotations={"sim.kueue-fast.dev/run-time": "3m"}),
        "spec": pod(cpu=1, nodeName="n0"),
    }
    result, _ = run(*queue(), node("n0", "r0"), other, placed_job("a", 1, "required", RACK))
    admitted = seconds(rows(result)["a"].admitted_ns)
    assert admitted is not None
    # Kueue goes through the nodes that were freed every ten seconds at most.
    assert 180 <= admitted <= 191


def test_a_failed_node_is_replaced() -> None:
    nodes = [node("n0", "r0", fails_at="1m"), node("n1", "r0"), node("n2", "r0")]
    result, simulation = run(
        *queue(), *nodes, placed_job("a", 2, "required", RACK, run_time=None), until_ns=10 * MINUTE
    )
    assert rows(result)["a"].state is State.RUNNING
    assert where(simulation) == {"a-1": "n1", "a-0-r1": "n2"}
    assert seats(result) == {"n0": 1, "n1": 1}
    [row] = result.topologies
    assert [leaf.ready for leaf in row.end.leaves] == [0, 1, 1]
    assert [sum(each.pods for each in leaf.occupants) for leaf in row.end.leaves] == [0, 1, 1]


def test_without_another_node_the_workload_is_evicted_and_comes_back() -> None:
    nodes = [node("n0", "r0", fails_at="1m", recovers_at="20m"), node("n1", "r0")]
    result, simulation = run(*queue(), *nodes, placed_job("a", 2, "required", RACK, run_time="10m"))
    [event] = result.evictions
    assert (event.reason, event.name) == ("EvictedDueToNodeFailures", result.workloads[0].name)
    evicted = seconds(event.time_ns)
    assert evicted is not None
    # One minute to the failure, five until the pods are lost, then a moment.
    assert 360 < evicted < 365
    row = rows(result)["a"]
    assert (row.state, row.preemptions) == (State.FINISHED, 0)
    assert seconds(START + row.lost_ns) == evicted
    admitted = seconds(row.admitted_ns)
    assert admitted is not None
    assert 1200 <= admitted < 1203
    assert where(simulation) == {}
    [told] = json.loads(to_json(result))["evictions"]
    assert (told["reason"], told["message"]) == ("NodeFailures", event.message)
    assert "no replacement for unhealthy node(s): n0" in event.message
    out = io.StringIO()
    print_report(result, out, width=200)
    assert "NodeFailures  Workload was evicted as there was no replacement" in out.getvalue()
    assert b"<h2>Evictions</h2>" in to_html(result)


def test_the_json_and_the_tables_tell_of_topologies() -> None:
    data, text = output(
        *queue(), node("n0", "r0"), node("n1", "r1"), placed_job("a", 1, "required", RACK, cpu=2)
    )
    [topology] = json.loads(data)["topologies"]
    assert (topology["flavor"], topology["topology"], topology["levels"]) == ("tas", "t", [RACK, HOSTNAME])
    peak = topology["peak"]
    assert (peak["time"], peak["nodes"], peak["readyNodes"], peak["workloads"], peak["pods"]) == (
        0,
        2,
        2,
        1,
        1,
    )
    assert peak["resources"] == [
        {"resource": "cpu", "capacity": "8", "placed": "2", "other": "0", "free": "6"},
        {"resource": "pods", "capacity": "220", "placed": "1", "other": "0", "free": "219"},
    ]
    assert peak["levels"][0] == {
        "level": RACK,
        "domains": 2,
        "empty": 1,
        "full": 0,
        "leastUsed": 0,
        "mostUsed": 0.5,
    }
    [gang] = peak["gangs"]
    assert (gang["podSet"], gang["pods"], gang["request"]) == ("main", 1, {"cpu": "2", "pods": "1"})
    assert gang["levels"][0] == {
        "level": RACK,
        "largest": 2,
        "domain": ["r1"],
        "gangs": 3,
        "unusable": 0,
    }
    assert topology["end"]["pods"] == 0
    for want in ("Topology t of flavor tas", "Room for gangs in flavor tas", "(cpu 2)"):
        assert want in text


def test_without_topologies_nothing_is_told_of_them() -> None:
    result, simulation = run(
        flavor("default"), cluster_queue("cq", {"default": {"cpu": 4}}), local_queue(), job("a")
    )
    assert result.topologies == []
    assert json.loads(to_json(result))["topologies"] == []
    assert where(simulation) == {}
