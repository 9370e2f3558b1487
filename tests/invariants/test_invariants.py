"""What must hold in every cycle, whatever it decides; the oracle's decisions are not asked.

KUEUE_FAST_BULK_CYCLES scales `-m bulk`: at its default of 20,000 these tests see 50,000 cycles. To look into a failure:
`python -m tests.oracle.generate FAMILY SEED 1 --preemption` prints the scenario.
"""

import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from kueue_fast.engine.decisions import Cycle
from kueue_fast.sim.conformance import replay
from tests.invariants.accounts import booked, expected, forest_of, overdrawn
from tests.invariants.live import LiveCluster
from tests.oracle import generate

Json = dict[str, Any]

EVERYDAY_CYCLES = 400
FAMILIES = (*generate.CONTENDED_FAMILIES, "cohort", "partial", "hierarchy")


def scenarios(family: str) -> Iterator[tuple[str, Json]]:
    """All scenarios of a family, each with the command that prints it."""
    for seed in itertools.count():
        command = f"python -m tests.oracle.generate {family} {seed} 1 --preemption"
        yield command, generate.scenario(family, seed, preemption=True)


def tables_of(cluster: LiveCluster) -> dict[str, bytes]:
    """Everything a search might touch, bit by bit."""
    scheduler = cluster.engine._state.tables.scheduler
    forest, workloads = scheduler.forest, scheduler.workloads
    names = [(forest, name) for name in (*forest.MATRICES, *forest.VECTORS)] + [(workloads, "reserved_in")]
    return {name: np.asarray(getattr(owner, name)).tobytes() for owner, name in names}


def check_books(cluster: LiveCluster) -> None:
    """Usage is the sum of what is admitted, in every ClusterQueue and every cohort. Source: QP-213, QP-303."""
    want = {name: amounts for name, amounts in expected(forest_of(cluster)).items() if amounts}
    assert {name: amounts for name, amounts in booked(cluster).items() if amounts} == want


def check_trace(cluster: LiveCluster, before: dict[str, bytes], cycle: Cycle) -> None:
    """Searches and reservations leave nothing behind; an admission leaves its usage alone. Source: QP-235, QP-909."""
    assert len(cluster.engine._state.tables.scheduler.journal) == 0
    after = tables_of(cluster)
    changes = {name for name in before if before[name] != after[name]}
    assert changes <= ({"usage", "reserved_in", "generation"} if cycle.admitted else set())


def check_limits(cluster: LiveCluster, before: set[str]) -> None:
    """No cycle takes more than quotas and limits leave, that is: makes an available amount negative (QP-305).

    Upstream's rules allow two things. Whatever a cycle preempts counts as gone at once, for all its entries (QC-117):
    victims hold their quota until they stop, and until then usage may be above the limits by as much as they use. And
    where a tree is overdrawn already, by a quota cut after admissions, a blocked entry may reserve a negative amount
    (QC-124), which others of that tree are then admitted on: such trees are passed over.
    """
    over = overdrawn(forest_of(cluster, cluster.stopping))
    for name, frs in over.items():
        assert not frs or name in before, f"{name} is overdrawn in {frs}"


def watch(scenario: Json) -> int:
    """Run a scenario with all checks; the number of cycles it had."""
    cluster = LiveCluster(scenario)
    count = 0
    for step in scenario["steps"]:
        cluster.apply(step)
        for _ in range(step.get("maxCycles") or 60):
            if not cluster.is_due():
                break
            cluster.engine.queue_state()  # what waits to be recomputed is, before tables are compared
            before = tables_of(cluster)
            held = set(cluster.admissions)
            cycle = cluster.cycle()
            count += 1
            check_trace(cluster, before, cycle)
            victims = cluster.stopping | {one.workload for one in cycle.preempted}
            overdrawn_before = {name for name, frs in overdrawn(forest_of(cluster, victims)).items() if frs}
            assert held == set(cluster.admissions)
            for admission in cycle.admitted:
                cluster.admissions[admission.workload] = admission
            check_books(cluster)
            cluster.stopping |= {one.workload for one in cycle.preempted}
            check_limits(cluster, overdrawn_before)
            cluster.follow(cycle)
            check_books(cluster)
    return count


def watch_many(family: str, cycles: int) -> None:
    seen = 0
    for command, scenario in scenarios(family):
        if seen >= cycles:
            return
        try:
            seen += watch(scenario)
        except AssertionError as error:
            error.add_note(command)
            raise


def shuffled(scenario: Json, seed: int) -> Json:
    """The same objects, created in another order where order is not said to matter."""
    order = random.Random(seed)
    steps = []
    for step in scenario["steps"]:
        created = list(step.get("create") or ())
        order.shuffle(created)
        steps.append({**step, "create": created})
    objects = list(scenario["objects"])
    order.shuffle(objects)
    return {**scenario, "objects": objects, "steps": steps}


def repeat_many(family: str, cycles: int) -> None:
    """The same input gives the same decisions, and so does the same input in another order."""
    seen = 0
    for seed, (command, scenario) in enumerate(scenarios(family)):
        if seen >= cycles:
            return
        want = replay(scenario)
        assert replay(scenario) == want, command
        assert replay(shuffled(scenario, seed)) == want, command
        seen += sum(len(step["cycles"]) for step in want)


@pytest.mark.parametrize("family", FAMILIES)
def test_invariants_hold_in_some_cycles(family: str) -> None:
    watch_many(family, EVERYDAY_CYCLES // len(FAMILIES))


@pytest.mark.parametrize("family", FAMILIES)
def test_some_scenarios_repeat(family: str) -> None:
    repeat_many(family, EVERYDAY_CYCLES // len(FAMILIES))


@pytest.mark.bulk
@pytest.mark.parametrize("family", FAMILIES)
def test_invariants_hold_in_many_cycles(family: str, bulk_cycles: int) -> None:
    watch_many(family, 1 + 5 * bulk_cycles // 2 // len(FAMILIES))


@pytest.mark.bulk
@pytest.mark.parametrize("family", FAMILIES)
def test_many_scenarios_repeat(family: str, bulk_cycles: int) -> None:
    repeat_many(family, bulk_cycles // 2 // len(FAMILIES))
