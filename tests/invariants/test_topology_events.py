"""Events of clusters with topologies in any order: the engine ends where one ends that sees the objects alone.

To look into a failure: the seed stands in the note of the error.
"""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast import Engine
from kueue_fast.engine.decisions import Cycle
from tests.invariants.topology_world import TopologyWorld

SEEDS = 12
BURSTS = 8
MOST_CYCLES = 30
LONG = 100 * 10**9


def tree_of(engine: Engine, view: int = 0) -> dict[str, dict[str, tuple[int, int]]]:
    """By flavor and leaf with nodes, pods and milli-cpu in use."""
    state = engine._state
    state.topology.refresh()
    tables, found = state.tables, {}
    pods, cpu = tables.resource("pods"), tables.resource("cpu")
    for flavor in state.topology.flavors():
        row, tree = tables.flavor(flavor), state.topology._trees[flavor]
        depth = len(tree.spec.levels)
        nodes = tables.topologies.nodes_of(row, depth - 1)
        used = [tables.topologies.leaf_used(row, leaf, view) for leaf in range(len(tree.paths))]
        found[flavor] = {
            ",".join(path[-1:] if tree.spec.by_host else path): (int(use[pods]), int(use[cpu]))
            for path, use, count in zip(tree.paths, used, nodes, strict=True)
            if count
        }
    return found


def room_of(engine: Engine) -> dict[str, list[list[int]]]:
    """By flavor, what each leaf with nodes has free of pods and cpu before workloads."""
    state = engine._state
    state.topology.refresh()
    tables, found = state.tables, {}
    columns = [tables.resource(name) for name in ("pods", "cpu")]
    for flavor in state.topology.flavors():
        row, tree = tables.flavor(flavor), state.topology._trees[flavor]
        nodes = tables.topologies.nodes_of(row, len(tree.spec.levels) - 1)
        found[flavor] = [
            [*tree.paths[leaf], *tables.topologies.leaf_free(row, leaf)[columns].tolist()]
            for leaf in range(len(tree.paths))
            if nodes[leaf]
        ]
    return found


def check_books(world: TopologyWorld, engine: Engine, cycle: Cycle | None = None) -> None:
    """Use is the sum of what holds quota; searches leave nothing behind. Source: TP-501 to TP-511."""
    want = world.use(cycle)
    for flavor, leaves in tree_of(engine).items():
        for domain, used in leaves.items():
            assert used == (want[flavor][f"pods {domain}"], want[flavor][f"cpu {domain}"]), (flavor, domain)
    for leaves in tree_of(engine, view=1).values():
        assert set(leaves.values()) <= {(0, 0)}
    assert len(engine._state.tables.scheduler.journal) == 0


def told(cycle: Cycle) -> dict[str, Any]:
    """Decisions, apart from what rows are."""
    return {
        "admitted": cycle.admitted,
        "moved": cycle.moved,
        "preempted": [(one.workload, one.reason) for one in cycle.preempted],
        "evicted": list(cycle.evicted),
        "requeued": [(one.workload, one.reason, one.outcome, one.message()) for one in cycle.requeued],
    }


def compare(world: TopologyWorld) -> None:
    """The engine of the world against one that is built from the objects."""
    world.now += LONG
    world.forget_preemptors()
    fresh = world.rebuilt()
    assert room_of(world.engine) == room_of(fresh)
    check_books(world, world.engine)
    check_books(world, fresh)
    world.now += LONG  # second passes are due
    for engine in (world.engine, fresh):
        engine.retry_all()
    last: dict[str, Any] = {}
    for _ in range(MOST_CYCLES):
        heads = []
        for engine in (world.engine, fresh):
            engine.flush(world.now, all=True)
            heads.append(engine.has_heads(world.now))
        # What was evicted while it waited for other places has a cycle that finds nothing to do.
        if not any(heads):
            break
        before = tree_of(world.engine)
        cycle, want = world.engine.cycle(world.now), fresh.cycle(world.now)
        before_last, last = last, told(cycle)
        assert last == told(want)
        if not cycle.admitted and not cycle.moved:
            assert tree_of(world.engine) == before
        check_books(world, world.engine, cycle)
        for made in world.follow(cycle):
            fresh.upsert(made, world.now)
        check_books(world, world.engine)
        check_books(world, fresh)
        if last == before_last:
            break  # with StrictFIFO the same head comes again and again
        if any(one.again for one in cycle.requeued):
            break  # the engine of the world has waited for places before, and waits longer


def watch(seed: int, bursts: int = BURSTS) -> None:
    world = TopologyWorld(seed)
    for burst in range(bursts):
        try:
            for _ in range(world.random.choice([1, 5, 20])):
                world.step()
                if world.random.random() < 0.1:
                    world.engine.flush(world.now)
            compare(world)
        except Exception as error:
            error.add_note(f"seed {seed}, burst {burst}")
            raise


@pytest.mark.parametrize("seed", range(SEEDS))
def test_events_in_some_orders_end_where_objects_alone_end(seed: int) -> None:
    watch(seed)


@pytest.mark.bulk
def test_events_in_many_orders_end_where_objects_alone_end(bulk_cycles: int) -> None:
    for seed in range(1000, 1000 + 1 + bulk_cycles // 40):
        watch(seed)


def test_a_world_sees_what_it_is_there_for() -> None:
    """Admissions, other places, evictions and preemptions: a world without them would show nothing."""
    seen = dict.fromkeys(("admitted", "moved", "preempted", "evicted", "requeued"), 0)
    for seed in range(6):
        world = TopologyWorld(seed)
        for _ in range(BURSTS):
            for _ in range(10):
                world.step()
            world.now += LONG
            for _ in range(MOST_CYCLES):
                world.engine.flush(world.now, all=True)
                if not world.engine.has_heads(world.now):
                    break
                cycle = world.engine.cycle(world.now)
                for name in seen:
                    seen[name] += len(getattr(cycle, name))
                world.follow(cycle)
    assert all(seen.values()), seen
