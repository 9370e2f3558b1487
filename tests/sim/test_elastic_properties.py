"""Elastic Jobs under random resizes, evictions, ends, deletions and held queues: what must hold at every instant."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from kueue_fast.api.batch import Job
from kueue_fast.api.kueue import ClusterQueue, Workload
from kueue_fast.jobs.job import BatchJob, pods_count
from kueue_fast.lifecycle import eviction, finish, slices
from kueue_fast.lifecycle.pods import slice_name
from kueue_fast.model import conditions, times
from kueue_fast.sim.options import SimulationOptions
from kueue_fast.sim.resizes import resized
from kueue_fast.sim.simulate import Simulation
from tests.invariants.accounts import booked
from tests.sim.world import SECOND, cluster_queue, flavor, job, local_queue, manifests, priority_class

ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}
JOBS = ("a", "b", "c")
QUOTA = 12
SEEDS = range(60)
BATCH_JOB = BatchJob()


class Play:
    """A simulation into whose cluster a random user, and whoever evicts, write."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        made: list[dict[str, Any]] = [
            flavor("default"),
            priority_class("high", 100),
            cluster_queue(
                "cq", {"default": {"cpu": QUOTA}}, preemption={"withinClusterQueue": "LowerPriority"}
            ),
            local_queue(),
        ]
        for name in JOBS:
            more: dict[str, Any] = {"grace": self.dice.choice((None, "3s"))}
            if self.dice.random() < 0.3:
                more["labels"] = {"kueue.x-k8s.io/priority-class": "high"}
            made.append(
                job(
                    name,
                    parallelism=self.dice.randint(1, 6),
                    completions=1000,
                    arrival=f"{self.dice.randint(0, 5)}s",
                    run_time=f"{self.dice.choice((20, 60, 600))}s",
                    more_annotations=ELASTIC,
                    **more,
                )
            )
        self.plain_cpu = self.dice.randint(2, QUOTA)
        made.append(job("plain", cpu=self.plain_cpu, arrival="15s", run_time="20s"))
        self.simulation = Simulation(manifests(*made), SimulationOptions())
        self.cluster = self.simulation.cluster
        clock = self.simulation.clock
        for at in range(1, 80):
            if self.dice.random() < 0.6:
                # Several changes may come in one second.
                for _ in range(self.dice.randint(1, 3)):
                    clock.schedule(clock.now + at * SECOND, self.change)
        for at in range(1, 120):
            clock.schedule(clock.now + at * SECOND + 1, self.check)

    def change(self, _: Any) -> None:
        what = self.dice.choice(
            (self.resize,) * 6 + (self.evict, self.delete_slice, self.hold, self.delete_job)
        )
        what()

    def resize(self) -> None:
        found: Job | None = self.cluster.get("Job", "ns", self.dice.choice(JOBS))
        if found is not None and BATCH_JOB.finished(found) is None:
            self.cluster.update(resized(found, self.dice.randint(0, 10)))

    def evict(self) -> None:
        held = [each for each in self.of_jobs() if is_reserved(each) and not eviction.is_evicted(each)]
        if held:
            chosen = self.dice.choice(held)
            told = eviction.preempted(chosen, "InClusterQueue", "make way", self.simulation.clock.now)
            self.cluster.update_status(told)

    def delete_slice(self) -> None:
        live = [each for each in self.of_jobs() if not finish.is_finished(each)]
        if live and self.dice.random() < 0.3:
            chosen = self.dice.choice(live)
            self.cluster.delete("Workload", "ns", chosen.metadata.name)

    def delete_job(self) -> None:
        name = self.dice.choice(JOBS)
        if self.dice.random() < 0.1 and self.cluster.get("Job", "ns", name) is not None:
            self.cluster.delete("Job", "ns", name)

    def hold(self) -> None:
        queue: ClusterQueue | None = self.cluster.get("ClusterQueue", None, "cq")
        assert queue is not None
        assert queue.spec is not None
        policy = self.dice.choice(("None", "Hold"))
        self.cluster.update(
            msgspec.structs.replace(queue, spec=msgspec.structs.replace(queue.spec, stop_policy=policy))
        )

    def of_jobs(self) -> list[Workload]:
        return list(self.cluster.list("Workload"))

    def check(self, _: Any) -> None:
        """Cycles have come to rest a nanosecond ago."""
        by_owner: dict[str, list[Workload]] = {}
        for workload in self.of_jobs():
            for owner in workload.metadata.owner_references or ():
                by_owner.setdefault(owner.uid, []).append(workload)
        holding = self.simulation.recorder.holding
        used = 0
        for uid, workloads in by_owner.items():
            job_object: Job | None = self.cluster.by_uid(uid)
            live = slices.live_slices(workloads)
            held = [each for each in live if is_reserved(each)]
            # One slice of a job holds quota, and the one that waits takes its place.
            assert len(held) <= 1
            assert len(live) <= 2
            if len(live) == 2:
                assert held == live[:1]
                assert slices.replacement_for(live[1]) == slices.key_of(live[0])
                assert slice_name(live[1]) == slice_name(live[0])
            # What ended, or lost its job, holds nothing.
            if job_object is None or BATCH_JOB.finished(job_object) is not None:
                assert not live
            elif live and not any(each.metadata.deletion_timestamp for each in live):
                assert slices.pod_counts(live[-1].spec.pod_sets) == {"main": pods_count(job_object.spec)}
            assert [key for key in map(slices.key_of, workloads) if key in holding] == list(
                map(slices.key_of, held)
            )
            # What was told to stop has stopped when its grace period is over.
            for each in held:
                told = conditions.find(each.status.conditions if each.status else None, conditions.EVICTED)
                if told is not None and told.status == "True":
                    assert (
                        self.simulation.clock.now - times.parse(told.last_transition_time or "") <= 4 * SECOND
                    )
            pods = sum(sum(slices.pod_counts(each.spec.pod_sets).values()) for each in held)
            used += pods * (self.plain_cpu if "plain" in workloads[0].metadata.name else 1)
        assert used <= QUOTA
        # The engine counts the same, and so does the report.
        books: Any = self.simulation
        amount = booked(books)["ClusterQueue cq"].get(("default", "cpu"), 0)
        meter = self.simulation.recorder.queue_meters.get(("cq", "default", "cpu"))
        assert amount == (0 if meter is None else meter.current) == used * 1000


def is_reserved(workload: Workload) -> bool:
    known = workload.status.conditions if workload.status is not None else None
    return conditions.is_true(known, conditions.QUOTA_RESERVED) and not finish.is_finished(workload)


@pytest.mark.parametrize("seed", SEEDS)
def test_slices_never_hold_quota_twice_and_nothing_that_ended_holds_any(seed: int) -> None:
    play = Play(seed)
    play.simulation.run()
    play.simulation.result()
    play.check(None)
