"""Does the scheduler come to rest? Busy clusters that run for long, and the endless loops that upstream has too.

KUEUE_FAST_BULK_CYCLES scales `-m bulk`: at its default of 20,000 each family runs for 10,000 cycles.
"""

import itertools
from collections.abc import Hashable
from typing import Any

import pytest

from kueue_fast.engine.decisions import Cycle
from tests.invariants.endless import ENDLESS
from tests.invariants.live import LiveCluster
from tests.oracle.generate_contended import Contended
from tests.oracle.scenario import EPOCH, IDLE_LIMIT, run_step
from tests.oracle.settings import Settings
from tests.oracle.world import World

Json = dict[str, Any]

EVERYDAY_CYCLES = 100
FAMILIES = ("preempt", "trees", "fair", "fairtrees", "stopping", "fairstopping")
MOST_CYCLES = 40  # of one step; what has not come to rest then goes round in a circle
MOST_ALIVE = 25
MOST_STOPS = 6  # how often the victims of a step stop, and what they make room for preempts in turn


def state_of(cluster: LiveCluster) -> Hashable:
    """Queues, usage, and who holds quota or stops."""
    queues = [
        (name, tuple(queue.active), tuple(queue.parked), tuple(sorted(queue.usage.items())))
        for name, queue in sorted(cluster.engine.queue_state().items())
    ]
    return tuple(queues), tuple(sorted(cluster.admissions)), tuple(sorted(cluster.stopping))


def decided(cycle: Cycle) -> Json:
    found = {
        "admitted": sorted(one.workload for one in cycle.admitted),
        "preempted": sorted((one.workload, one.reason) for one in cycle.preempted),
    }
    return {key: value for key, value in found.items() if value}


def settle(cluster: LiveCluster, most: int) -> tuple[list[Json], bool]:
    """Cycles until nothing moves; what they decide, and whether a state came back with decisions in between."""
    cycles: list[Json] = []
    seen: dict[Hashable, int] = {}  # state to the number of cycles before it that decided something
    idle = active = 0
    loops = False
    while len(cycles) < most and idle < IDLE_LIMIT:
        before = cluster.places()
        if not cluster.is_due():
            break
        state = state_of(cluster)
        loops = loops or seen.get(state, active) < active
        seen[state] = active
        cycle = cluster.cycle()
        cluster.follow(cycle)
        cycles.append(decided(cycle))
        active += bool(cycles[-1])
        idle = 0 if cycles[-1] or cluster.places() != before else idle + 1
    rests = len(cycles) < most
    while cycles and not cycles[-1]:
        cycles.pop()
    return cycles, loops and not rests


def by_name(step: Json) -> list[Json]:
    """The oracle's decisions in the same form."""
    cycles = []
    for cycle in step["cycles"]:
        found = {
            "admitted": sorted(one["workload"] for one in cycle.get("admitted", ())),
            "preempted": sorted((one["workload"], one["reason"]) for one in cycle.get("preempted", ())),
        }
        cycles.append({key: value for key, value in found.items() if value})
    return cycles


class Busy(Contended):
    """Steps without end: the oldest workloads finish where too many are alive."""

    def step(self, index: int) -> Json:
        step = {"maxCycles": MOST_CYCLES, **super().step(index)}
        while len(self.alive) > MOST_ALIVE:
            oldest = self.alive.pop(0)["metadata"]
            step.setdefault("finish", []).append(f"{oldest['namespace']}/{oldest['name']}")
        created = {f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in step["create"]}
        step["finish"] = [key for key in step.get("finish", []) if key not in created]
        return {**step, "maxCycles": MOST_CYCLES}


def both(scenario: Json) -> tuple[LiveCluster, World]:
    """The engine and the oracle with the same objects."""
    world = World(Settings.of(scenario["config"]), EPOCH)
    for manifest in scenario["objects"]:
        world.create(manifest)
    return LiveCluster(scenario), world


def run_busy(family: str, cycles: int) -> int:
    """Run clusters of a family beside the oracle, and count how often the same state came back for ever.

    Engine and oracle see the same events and must decide alike in every cycle: where one loops the other does.
    """
    loops = seen = 0
    for seed in itertools.count():
        builder = Busy(family, seed)
        scenario = builder.build(f"busy-{family}-{seed}")
        cluster, world = both(scenario)
        steps = itertools.chain(scenario["steps"], (builder.step(index) for index in itertools.count(9)))
        for number, step in enumerate(itertools.islice(steps, 60)):
            stopped: set[Hashable] = set()  # states in which all that moved waited for victims to stop
            while True:
                cluster.apply(step)
                got, looped = settle(cluster, MOST_CYCLES)
                assert got == by_name(run_step(world, step)), f"{family}, seed {seed}, step {number}"
                loops += looped
                seen += len(got)
                if seen >= cycles:
                    return loops
                state = state_of(cluster)
                loops += state in stopped
                if looped or not cluster.stopping or state in stopped or len(stopped) == MOST_STOPS:
                    break
                stopped.add(state)
                step = {"at": step["at"], "stopped": -1, "maxCycles": MOST_CYCLES}
    raise AssertionError("there are seeds without end")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_busy_cluster_decides_as_the_oracle(family: str) -> None:
    run_busy(family, EVERYDAY_CYCLES)


@pytest.mark.bulk
@pytest.mark.parametrize("family", FAMILIES)
def test_a_busy_cluster_decides_as_the_oracle_for_long(family: str, bulk_cycles: int) -> None:
    loops = run_busy(family, bulk_cycles // 2)
    print(f"{family}: {loops} endless loops in {bulk_cycles // 2} cycles")


@pytest.mark.parametrize("scenario", ENDLESS.values(), ids=ENDLESS)
def test_an_endless_loop_that_upstream_has_too(scenario: Json) -> None:
    """docs/parity.md names it. Should upstream mend one, this fails when kueue_fast does as well."""
    cluster, world = both(scenario)
    for step in scenario["steps"]:
        cluster.apply(step)
        cycles, loops = settle(cluster, MOST_CYCLES)
        assert by_name(run_step(world, {**step, "maxCycles": MOST_CYCLES})) == cycles
    assert loops
    preempted = {key for cycle in cycles for key, _ in cycle.get("preempted", ())}
    admitted = [key for cycle in cycles for key in cycle.get("admitted", ())]
    assert "default/victim" in preempted
    assert admitted.count("default/victim") > 2
    assert "default/preemptor" not in admitted
