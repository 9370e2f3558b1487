"""Elastic Ray kinds under random resizes, evictions, deletions and held queues: what must hold at every instant."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from kueue_fast.api.kueue import ClusterQueue, Workload
from kueue_fast.lifecycle import eviction, finish, slices
from kueue_fast.lifecycle.pods import slice_name
from kueue_fast.model import conditions
from kueue_fast.sim.options import SimulationOptions
from kueue_fast.sim.simulate import Simulation
from tests.invariants.accounts import booked
from tests.sim.test_elastic_ray import KINDS, elastic
from tests.sim.world import SECOND, job, manifests, one_queue

QUOTA = 14
SEEDS = range(90)


def is_reserved(workload: Workload) -> bool:
    known = workload.status.conditions if workload.status is not None else None
    return conditions.is_true(known, conditions.QUOTA_RESERVED) and not finish.is_finished(workload)


class Play:
    """A simulation into whose cluster a random user, the autoscalers, and whoever evicts, write.

    Every third seed has nobody who evicts or holds: then as many pods run as hold quota, at every instant.
    """

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.calm = seed % 3 == 0
        made: list[dict[str, Any]] = [*one_queue(QUOTA)]
        for kind in KINDS:
            times = sorted(self.dice.randint(0, 80) for _ in range(self.dice.randint(1, 12)))
            said = {
                "resize": ", ".join(f"{at}s={self.dice.randint(0, 9)}" for at in times),
                "run_time": f"{self.dice.choice((30, 60, 90))}s",
                "arrival": f"{self.dice.randint(0, 9)}s",
            }
            if self.dice.random() < 0.5:
                said["grace_period"] = "3s"
            made.append(elastic(kind, workers=self.dice.randint(0, 6), name=kind.lower(), **said))
        made.append(job("plain", cpu=self.dice.randint(1, 6), arrival="15s", run_time="20s"))
        self.simulation = Simulation(manifests(*made), SimulationOptions())
        self.cluster = self.simulation.cluster
        clock = self.simulation.clock
        for at in range(1, 80):
            if not self.calm and self.dice.random() < 0.3:
                clock.schedule(clock.now + at * SECOND, self.change)
        for at in range(1, 150):
            clock.schedule(clock.now + at * SECOND + 1, self.check)

    def change(self, _: Any) -> None:
        self.dice.choice((self.evict, self.evict, self.hold, self.delete))()

    def evict(self) -> None:
        held = [each for each in self.workloads() if is_reserved(each) and not eviction.is_evicted(each)]
        if held:
            chosen = self.dice.choice(held)
            told = eviction.preempted(chosen, "InClusterQueue", "make way", self.simulation.clock.now)
            self.cluster.update_status(told)

    def hold(self) -> None:
        queue: ClusterQueue | None = self.cluster.get("ClusterQueue", None, "cq")
        assert queue is not None
        assert queue.spec is not None
        spec = msgspec.structs.replace(queue.spec, stop_policy=self.dice.choice(("None", "Hold")))
        self.cluster.update(msgspec.structs.replace(queue, spec=spec))

    def delete(self) -> None:
        kind = self.dice.choice(KINDS)
        if self.dice.random() < 0.1 and self.cluster.get(kind, "ns", kind.lower()) is not None:
            self.cluster.delete(kind, "ns", kind.lower())

    def workloads(self) -> list[Workload]:
        return list(self.cluster.list("Workload"))

    def check(self, _: Any) -> None:
        """Cycles have come to rest a nanosecond ago."""
        by_owner: dict[str, list[Workload]] = {}
        for workload in self.workloads():
            for owner in workload.metadata.owner_references or ():
                by_owner.setdefault(owner.uid, []).append(workload)
        used = pods = 0
        for uid, owned in by_owner.items():
            live = slices.live_slices(owned)
            held = [each for each in live if is_reserved(each)]
            assert len(held) <= 1
            assert len(live) <= 2
            if len(live) == 2:
                assert held == live[:1]
                assert slices.replacement_for(live[1]) == slices.key_of(live[0])
                assert slice_name(live[1]) == slice_name(live[0])
            owner: Any = self.cluster.by_uid(uid)
            if owner is None:
                assert not live
            for each in held:
                counted = sum(slices.pod_counts(each.spec.pod_sets).values())
                if owner.KIND == "Job":
                    used += owner.spec.template.spec and self.plain_cpu()
                else:
                    used += counted
                    pods += counted
        books: Any = self.simulation
        amount = booked(books)["ClusterQueue cq"].get(("default", "cpu"), 0)
        assert amount == used * 1000 <= QUOTA * 1000
        found = list(self.cluster.list("Pod"))
        running = [each for each in found if each.status.phase == "Running"]
        assert not any(each.spec.scheduling_gates for each in running)
        if self.calm:
            assert len(running) == pods

    def plain_cpu(self) -> int:
        (plain,) = self.cluster.list("Job")
        container = msgspec.json.decode(plain.spec.template.spec)["containers"][0]
        return int(container["resources"]["requests"]["cpu"])


@pytest.mark.parametrize("seed", SEEDS)
def test_slices_never_hold_quota_twice_and_nothing_that_ended_holds_any(seed: int) -> None:
    play = Play(seed)
    play.simulation.run()
    play.simulation.result()
    play.check(None)
