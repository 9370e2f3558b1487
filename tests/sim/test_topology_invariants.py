"""Random clusters whose nodes fail and recover: whatever happens, pods are where they may be."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import Counter
from random import Random
from typing import Any

import pytest

from kueue_fast.api.core import Node, Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.lifecycle.pods import is_terminal
from kueue_fast.model.placements import placements
from kueue_fast.model.quantities import request_value
from kueue_fast.sim.html_report import to_html
from kueue_fast.sim.result import SimulationResult, State
from kueue_fast.sim.simulate import Simulation
from tests.placed import HOSTNAME
from tests.sim.test_simulate_topology import RACK, node, placed_job, queue
from tests.sim.world import SECOND, meta, pod, run

SEEDS = 60


def random_node(random: Random, number: int) -> dict[str, Any]:
    facts = {}
    if random.random() < 0.4:
        facts["fails_at"] = f"{random.randint(1, 900)}s"
        if random.random() < 0.6:
            facts["recovers_at"] = f"{random.randint(1, 1800)}s"
    return node(f"n{number:02}", f"r{number // 3}", cpu=random.randint(1, 8), **facts)


def random_job(random: Random, number: int) -> dict[str, Any]:
    kind = random.choice(["required", "preferred", "unconstrained"])
    made = placed_job(
        f"j{number}",
        random.randint(1, 6),
        kind,
        "true" if kind == "unconstrained" else random.choice([RACK, HOSTNAME]),
        cpu=random.randint(1, 4),
        arrival=f"{random.randint(0, 600)}s",
        run_time=f"{random.randint(1, 1200)}s" if random.random() < 0.9 else None,
        grace=f"{random.randint(1, 60)}s" if random.random() < 0.3 else None,
    )
    if random.random() < 0.2:
        made["spec"]["completionMode"] = "NonIndexed"
    return made


def random_pod(random: Random, number: int) -> dict[str, Any]:
    facts = {"run-time": f"{random.randint(1, 900)}s", "arrival": f"{random.randint(0, 300)}s"}
    annotations = {f"sim.kueue-fast.dev/{fact}": value for fact, value in facts.items()}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(f"p{number}", "ns", annotations=annotations),
        "spec": pod(random.randint(1, 3)),
    }


def random_run(seed: int) -> tuple[SimulationResult, Simulation]:
    random = Random(seed)
    nodes = [random_node(random, number) for number in range(random.randint(2, 12))]
    jobs = [random_job(random, number) for number in range(random.randint(1, 10))]
    pods = [random_pod(random, number) for number in range(random.randint(0, 3))]
    until = random.choice([None, None, random.randint(1, 1500) * SECOND])
    return run(*queue(random.choice([8, 100])), *nodes, *jobs, *pods, until_ns=until)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_pods_are_where_they_may_be(seed: int) -> None:
    result, simulation = random_run(seed)
    pods: list[Pod] = [each for each in simulation.cluster.list(Pod.KIND) if not is_terminal(each)]
    used: Counter[str] = Counter()
    by_workload: dict[str, list[Pod]] = {}
    for each in pods:
        container = (each.spec.containers or [])[0]
        assert container.resources is not None
        cpu = (container.resources.requests or {})["cpu"]
        used[each.spec.node_name or ""] += request_value("cpu", cpu)
        owner = (each.metadata.annotations or {}).get("kueue.x-k8s.io/workload", "")
        by_workload.setdefault(owner, []).append(each)
    for each_node in simulation.cluster.list(Node.KIND):
        held = request_value("cpu", each_node.status.allocatable["cpu"])
        assert used[each_node.metadata.name] <= held
    for row in result.workloads:
        own = by_workload.get(row.name, [])
        if row.state is not State.RUNNING:
            assert own == []
            continue
        if row.evicting:
            continue
        assert len(own) == row.pod_sets[0].count
        if result.stopped:
            continue  # In the middle of a move pods may still be where they were.
        workload: Workload | None = simulation.cluster.get(Workload.KIND, row.namespace, row.name)
        assert workload is not None
        given = Counter({values[-1]: count for values, count in placements(workload)["main"].domains})
        assert Counter(each.spec.node_name for each in own) == given


def test_the_page_of_any_run_can_be_read() -> None:
    for seed in range(5):
        result, _ = random_run(seed)
        ElementTree.fromstring(to_html(result))
