"""Restarts of Kueue in the middle of a run, and what random sequences of events found."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.configuration_types import Integrations
from kueue_fast.api.decode import decode_object
from kueue_fast.api.kueue import Workload
from kueue_fast.sim.node_registration import with_readiness
from kueue_fast.sim.observer import held_usage
from kueue_fast.sim.options import SimulationOptions
from kueue_fast.sim.resizes import resized
from kueue_fast.sim.simulate import Simulation
from tests.sim.kind_makers import group, leader_worker_set, queues, ray_job, serving, topology, urgent
from tests.sim.sequences import ON, end_of
from tests.sim.test_elastic_ray import ELASTIC
from tests.sim.test_lifecycle import annotated, said, waiting
from tests.sim.world import SECOND, START, job, manifests, one_queue, workload


def simulation(*objects: dict[str, Any]) -> Simulation:
    return Simulation(manifests(*objects), SimulationOptions())


@pytest.mark.parametrize("seconds", [0, 30.5, 60, 120, 130.5, 200])
def test_a_restart_changes_nothing(seconds: float) -> None:
    objects = (*queues(6), job("a", parallelism=2), ray_job(name="r"), urgent(), *group(4))
    without = simulation(*objects)
    without.run()
    played = simulation(*objects)
    before = played.engine
    played.clock.schedule(START + int(seconds * SECOND), lambda _: played.restart())
    played.run()
    assert played.engine is not before
    assert end_of(played) == end_of(without)


def test_a_workload_that_was_being_deleted_goes_with_its_owner() -> None:
    """Nothing changes in it when the owner goes, so that nobody looked: it held its quota for ever."""
    played = simulation(*one_queue(), leader_worker_set(1, 2, name="served"))
    clock, cluster = played.clock, played.cluster

    def delete_workload(_: Any) -> None:
        [found] = cluster.list(Workload.KIND)
        cluster.delete(Workload.KIND, "ns", found.metadata.name)

    clock.schedule(START + SECOND, delete_workload)
    clock.schedule(START + 2 * SECOND, lambda _: cluster.delete("LeaderWorkerSet", "ns", "served"))
    played.run()
    assert list(cluster.list(Workload.KIND)) == []
    assert played.recorder.holding == {}


def test_a_workload_that_is_activated_again_while_it_stops_counts_again() -> None:
    played = simulation(*one_queue(), job("a", cpu=2, grace="10s"))

    def switch(active: Any) -> None:
        [found] = played.cluster.list(Workload.KIND)
        spec = msgspec.structs.replace(found.spec, active=active)
        played.cluster.update(msgspec.structs.replace(found, spec=spec))

    told = []
    meters = played.recorder.queue_meters
    for second, active in ((1, False), (2, True)):
        played.clock.schedule(START + second * SECOND, switch, active)
        at = START + second * SECOND + 1
        played.clock.schedule(at, lambda _: told.append(meters["cq", "default", "cpu"].current))
    played.run()
    assert told == [0, 2000]


def test_a_decision_that_waited_is_not_written_into_another_workload_of_the_name() -> None:
    """The first job's pods are late, so the second one's admission waits; its Workload is made anew and larger."""
    late = job("late", more_annotations=said(ready_after="20s"))
    objects = (*one_queue(4), late, job("next", cpu=2, arrival="1s", completions=2))
    options = SimulationOptions(configuration=waiting(block=True))
    played = Simulation(manifests(*objects), options)

    def make_anew(_: Any) -> None:
        played.cluster.update(resized(played.cluster.get("Job", "ns", "next"), 2))
        [found] = [each for each in played.cluster.list(Workload.KIND) if "next" in each.metadata.name]
        played.cluster.delete(Workload.KIND, "ns", found.metadata.name)

    held = []
    played.clock.schedule(START + 5 * SECOND, make_anew)
    played.clock.schedule(START + 21 * SECOND, lambda _: held.append(dict(played.recorder.holding)))
    played.run()
    [at_once] = held
    assert [key.split("-")[1] for key in at_once] == ["late"]
    assert played.recorder.queue_meters["cq", "default", "cpu"].peak == 4000


def test_a_slice_that_shrinks_while_it_is_deactivated_holds_nothing() -> None:
    elastic = job("a", parallelism=4, completions=100, grace="10s", more_annotations=ELASTIC)
    played = simulation(*one_queue(), elastic)

    def switch_off(_: Any) -> None:
        [found] = played.cluster.list(Workload.KIND)
        spec = msgspec.structs.replace(found.spec, active=False)
        played.cluster.update(msgspec.structs.replace(found, spec=spec))

    def shrink(_: Any) -> None:
        played.cluster.update(resized(played.cluster.get("Job", "ns", "a"), 2))

    told = []
    meters = played.recorder.queue_meters
    for second, action in ((1, switch_off), (2, shrink)):
        played.clock.schedule(START + second * SECOND, action)
        at = START + second * SECOND + 1
        played.clock.schedule(at, lambda _: told.append(meters["cq", "default", "cpu"].current))
    played.run()
    assert told == [0, 0]


def test_who_waits_for_the_pods_of_others_in_a_queue_that_is_held_says_so_once() -> None:
    """The scheduler said that it waits, the controller that its queue is held, and so on without end."""
    late = job("late", more_annotations=said(ready_after="20s"))
    objects = (*one_queue(4), late, serving("Deployment", 1, name="next", arrival="1s"))
    configuration = waiting(block=True)
    configuration.integrations = Integrations(frameworks=ON)
    played = Simulation(manifests(*objects), SimulationOptions(configuration=configuration))
    writes = []
    played.cluster.watch(Workload.KIND, lambda event: writes.append(played.clock.now))

    def hold(_: Any) -> None:
        queue: Any = played.cluster.get("ClusterQueue", None, "cq")
        spec = msgspec.structs.replace(queue.spec, stop_policy="Hold")
        played.cluster.update(msgspec.structs.replace(queue, spec=spec))

    played.clock.schedule(START + 5 * SECOND, hold)
    played.run()
    assert writes.count(START + 5 * SECOND) <= 2


class Counted(Simulation):
    """Fails instead of standing still."""

    instants = 0

    def _instant(self) -> None:
        self.instants += 1
        assert self.instants < 1000
        super()._instant()


def test_a_second_pass_waits_while_the_scheduler_waits_for_pods() -> None:
    """The clock stood still: a second pass was due, and no cycle could take it."""
    lost = annotated(workload("lost", run_time="90s"), pod_loss="10s=never")
    objects = (*topology(), lost, job("next", arrival="20s"))
    played = Counted(manifests(*objects), SimulationOptions(configuration=waiting(block=True)))

    def lose(_: Any) -> None:
        node: Any = played.cluster.get("Node", None, "r0h0")
        played.cluster.update_status(with_readiness(node, False, played.clock.now))

    passes = []
    played.clock.schedule(START + 30 * SECOND, lose)
    played.clock.schedule(START + 60 * SECOND, lambda _: passes.append(played.engine.next_second_pass()))
    played.run()
    assert passes == [START + 31 * SECOND]
    assert played.recorder.ended == 2


def test_pods_that_were_done_before_an_admission_are_not_counted_out_twice() -> None:
    """Of two pods one is done; the other one was admitted again, as one pod."""
    known = decode_object(
        {
            **workload("w", count=2),
            "status": {
                "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved"}],
                "admission": {
                    "clusterQueue": "cq",
                    "podSetAssignments": [
                        {
                            "name": "main",
                            "count": 1,
                            "flavors": {"cpu": "default"},
                            "resourceUsage": {"cpu": "1"},
                        }
                    ],
                },
                "reclaimablePods": [{"name": "main", "count": 1}],
            },
        }
    )
    assert isinstance(known, Workload)
    assert held_usage(known) == {("default", "cpu"): 1000}
