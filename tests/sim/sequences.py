"""Random sequences of events on a small cluster, and the play of one with or without restarts of Kueue.

To look into a sequence: `python -m tests.sim.sequences SEED`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import msgspec

from kueue_fast.api.apps import StatefulSet
from kueue_fast.api.batch import Job
from kueue_fast.api.configuration import Configuration
from kueue_fast.api.configuration_types import Integrations
from kueue_fast.api.core import Node
from kueue_fast.api.kueue import ClusterQueue, LocalQueue, Workload
from kueue_fast.arrays.tables import NONE
from kueue_fast.arrays.workloads import PENDING
from kueue_fast.engine.second_pass import SecondPassQueue
from kueue_fast.jobs.stateful_set import StatefulSets, replicas
from kueue_fast.lifecycle import eviction, finish, slices
from kueue_fast.model import conditions
from kueue_fast.sim.kind_ancestors import workloads_of
from kueue_fast.sim.kind_serving import root_of
from kueue_fast.sim.node_registration import with_readiness
from kueue_fast.sim.options import SimulationOptions
from kueue_fast.sim.resizes import resized
from kueue_fast.sim.simulate import Simulation
from tests.sim.sequence_makers import one_job, places, quota
from tests.sim.test_lifecycle import annotated, waiting
from tests.sim.test_lifecycle_kinds import FRAMEWORKS
from tests.sim.world import (
    MINUTE,
    SECOND,
    manifests,
)

Json = dict[str, Any]

LONGEST_GRACE_NS = 30 * SECOND
LONGEST_NS = 12 * 60 * MINUTE
GAPS = (0, 0, 300_000_000, SECOND, SECOND, 2 * SECOND, 7 * SECOND, 20 * SECOND, 60 * SECOND)
ON = [name for name in FRAMEWORKS if "spark" not in name]
OFFSET = 37_000_000
SCALABLE = ("Deployment", "StatefulSet", "LeaderWorkerSet")


class Happening(NamedTuple):
    """What happens, how long after the start in ns, and a number that chooses to whom."""

    at_ns: int
    what: str
    number: int


class Drawn(NamedTuple):
    """A cluster with jobs that arrive, what happens to it, and when Kueue restarts, in ns after the start."""

    objects: list[Json]
    configuration: Configuration | None
    happenings: list[Happening]
    restarts: list[int]


def drawn(seed: int) -> Drawn:
    """The sequence of a seed: 1 to 4 jobs, 8 to 20 events with their arrivals."""
    dice = Random(seed)
    placed = dice.random() < 0.3
    bounded = dice.random() < 0.4  # Whether Workloads whose pods are never ready are given up at last.
    objects = list(places(dice) if placed else quota(dice))
    jobs = [
        each
        for number in range(dice.randint(1, 4))
        for each in one_job(dice, f"j{number}", placed=placed, bounded=bounded)
    ]
    arrivals = {each["metadata"]["name"][:2]: 0 for each in jobs}
    count = dice.randint(8, 20)
    times: list[int] = [0]
    while len(times) < count:
        gap = dice.choice(GAPS)
        # An offset of its own, so that what happens meets no timer by chance: which of the two is first says nothing.
        times.append(times[-1] + gap + (OFFSET if gap else 0))
    arrivals = {name: dice.choice(times) for name in arrivals}
    for each in jobs:
        seconds = arrivals[each["metadata"]["name"][:2]] / SECOND
        objects.append(annotated(each, arrival=f"{seconds}s"))
    whats = [name for name, (weight, _) in EVENTS.items() for _ in range(weight)]
    if placed:
        whats += ["lose a node"] * 4 + ["bring nodes back"] * 3
    happenings = [Happening(at, dice.choice(whats), dice.randrange(1000)) for at in times[len(arrivals) :]]
    if dice.random() < 0.7:
        happenings.append(Happening(times[-1] + 10 * SECOND, "release", 0))
    configuration = None
    if bounded:
        configuration = waiting(block=dice.random() < 0.3, backoff_limit_count=dice.randint(0, 2))
        configuration.integrations = Integrations(frameworks=ON)
    end = times[-1] + 60 * SECOND
    restarts = [
        dice.choice((dice.choice(times), dice.choice(times) + 1, dice.randrange(end)))
        for _ in range(dice.randint(1, 3))
    ]
    return Drawn(objects, configuration, happenings, sorted(restarts))


# ---- what happens ----


class Played(Simulation):
    """A simulation of a sequence. `watch(self)` is called when an instant is over."""

    def __init__(self, sequence: Drawn, watch: Callable[[Played], None] | None = None) -> None:
        options = SimulationOptions(configuration=sequence.configuration, until_ns=LONGEST_NS)
        super().__init__(manifests(*sequence.objects), options)
        self._watch = watch
        self._stops: dict[str, int] = {}
        # uids of Workloads that were activated while they stopped.
        self.activated: set[str] = set()
        start = self.clock.now
        for at, what, number in sequence.happenings:
            self.clock.schedule(start + at, self._happen, (what, number))

    def restart_at(self, after_ns: int) -> None:
        """Have Kueue restart so long after the start."""
        self.clock.schedule(self.recorder.start_ns + after_ns, lambda _: self.restart())

    def wake_at(self, after_ns: int) -> None:
        """Have all that waits looked at so long after the start, as it would be after a restart."""
        self.clock.schedule(self.recorder.start_ns + after_ns, self._wake)

    def _wake(self, _: Any) -> None:
        """All that Kueue keeps in memory alone, upstream too, is lost."""
        # What was decided and waits to be written.
        for decision in self.undecided():
            self.engine.forget(decision.workload)
        self._admitter.restart(self.engine)
        # What was parked, and which head goes first since it preempts.
        intake = self.engine._intake
        self.engine.flush(self.clock.now)
        self.engine.retry_all()
        self.engine.flush(self.clock.now, all=True)
        pending = self.engine._state.tables.pending
        for record in self.engine._state.rows.records.values():
            if record.state == PENDING and record.queueable:
                pending.remove(record.row)
                if self.engine._state.tables.workloads.queue[record.row] != NONE:
                    pending.put(record.row, self.clock.now, True)
        # Second passes under way.
        intake.second_pass = SecondPassQueue()
        for each in self.cluster.list(Workload.KIND):
            if each.status is not None and each.status.admission is not None:
                intake.second_pass.offer(slices.key_of(each), each, 0, self.clock.now)
        # The second that gated pods wait for others of their Workload.
        self._pods.ungater.restart()
        self.engine.retry_all()  # As objects that are seen for the first time ask for.

    @property
    def stopped(self) -> bool:
        """Whether the run was cut off, since something went on happening."""
        return self._stopped

    def undecided(self) -> list[Any]:
        """Admissions that wait for the pods of others before they are written: what the engine assumes."""
        found = []
        for decision, _, uid in self._admitter._waiting:
            workload: Workload | None = self.cluster.get(Workload.KIND, *decision.workload.split("/"))
            if workload is not None and workload.metadata.uid == uid:
                found.append(decision)
        return found

    def _instant(self) -> None:
        super()._instant()
        if self._watch is not None:
            self._watch(self)

    def _happen(self, argument: Any) -> None:
        what, number = argument
        EVENTS[what][1](self, number)

    def size_of(self, stateful_set: StatefulSet) -> int:
        """Replicas of the manifest."""
        manifest: Any = self._by_key[StatefulSet.KIND, "ns", stateful_set.metadata.name].object
        return replicas(manifest)

    def told_to_stop(self, workload: Workload) -> None:
        """A user deletes a Workload: its quota is free at once, while pods stop for as long as they may (JS-067)."""
        for owner in workload.metadata.owner_references or ():
            found = self.cluster.by_uid(owner.uid)
            if found is not None:
                self._stops[root_of(self.cluster, found).metadata.uid] = self.clock.now + LONGEST_GRACE_NS

    def stops_without_quota(self, uid: str) -> bool:
        """Whether a Workload of the object was deleted so short ago that pods may still be stopping."""
        return self.clock.now <= self._stops.get(uid, -1)

    def jobs(self) -> list[Any]:
        """Objects that users made, by name."""
        found = [
            each
            for kind in self.cluster.kinds()
            for each in self.cluster.list(kind)
            if each.metadata.name.startswith("j")
            and not each.metadata.owner_references
            and each.KIND != Workload.KIND
        ]
        return sorted(found, key=lambda each: (each.metadata.name, each.KIND))

    def workloads(self, *, held: bool = False) -> list[Workload]:
        """Workloads that have not ended, by name; those that hold quota and go on."""
        return sorted(
            (
                each
                for each in self.cluster.list(Workload.KIND)
                if not finish.is_finished(each)
                and (not held or (is_reserved(each) and not eviction.is_evicted(each)))
            ),
            key=lambda each: each.metadata.name,
        )


def is_reserved(found: Workload) -> bool:
    known = found.status.conditions if found.status is not None else None
    return conditions.is_true(known, conditions.QUOTA_RESERVED)


def resize(play: Played, number: int) -> None:
    found = [
        each
        for each in play.jobs()
        if each.KIND in SCALABLE or "kueue.x-k8s.io/elastic-job" in (each.metadata.annotations or {})
    ]
    if not found:
        return
    chosen, size = found[number % len(found)], number // 7 % 6
    spec = chosen.spec
    match chosen.KIND:
        case Job.KIND:
            if not (chosen.status and chosen.status.conditions):
                play.cluster.update(resized(chosen, size))
            return
        case "RayCluster":
            spec = grown(spec, size)
        case "RayJob" | "RayService":
            below = [
                each for each in play.cluster.dependents(chosen.metadata.uid) if each.KIND == "RayCluster"
            ]
            if not below:
                return
            chosen = below[0]
            spec = grown(chosen.spec, size)
        case "StatefulSet":
            # Its webhook lets it go to none and come back alone; with more pods than before it never rests (JS-396).
            spec = msgspec.structs.replace(spec, replicas=0 if spec.replicas else play.size_of(chosen))
            wrong = StatefulSets().validate_update(
                chosen, msgspec.structs.replace(chosen, spec=spec), workload_of(play, chosen), play.settings
            )
            if wrong:
                return
        case _:
            spec = msgspec.structs.replace(spec, replicas=size % 4)
    play.cluster.update(msgspec.structs.replace(chosen, spec=spec))


def workload_of(play: Played, owner: Any) -> Workload | None:
    return next(iter(workloads_of(play.cluster, owner.metadata)), None)


def grown(spec: Any, size: int) -> Any:
    groups = [msgspec.structs.replace(each, replicas=size) for each in spec.worker_group_specs]
    return msgspec.structs.replace(spec, worker_group_specs=groups)


def evict(play: Played, number: int) -> None:
    held = play.workloads(held=True)
    if held:
        chosen = held[number % len(held)]
        play.cluster.update_status(eviction.preempted(chosen, "InClusterQueue", "make way", play.clock.now))


def delete_job(play: Played, number: int) -> None:
    found = play.jobs()
    if found:
        chosen = found[number % len(found)]
        play.cluster.delete(chosen.KIND, "ns", chosen.metadata.name)


def delete_workload(play: Played, number: int) -> None:
    found = play.workloads()
    if found:
        chosen = found[number % len(found)]
        play.told_to_stop(chosen)
        play.cluster.delete(Workload.KIND, "ns", chosen.metadata.name)


def stop(play: Played, policy: str | None, kind: str = ClusterQueue.KIND) -> None:
    queue = play.cluster.get(*((kind, None, "cq") if kind == ClusterQueue.KIND else (kind, "ns", "lq")))
    if queue is not None and queue.spec is not None:
        spec = msgspec.structs.replace(queue.spec, stop_policy=policy)
        play.cluster.update(msgspec.structs.replace(queue, spec=spec))


def hold(play: Played, number: int) -> None:
    kind = ClusterQueue.KIND if number % 2 else LocalQueue.KIND
    stop(play, ("Hold", "HoldAndDrain", "None")[number // 2 % 3], kind)


def activate(play: Played, workload: Workload, active: bool) -> None:
    if active and eviction.is_evicted(workload):
        play.activated.add(workload.metadata.uid or "")
    spec = msgspec.structs.replace(workload.spec, active=active)
    play.cluster.update(msgspec.structs.replace(workload, spec=spec))


def switch(play: Played, number: int) -> None:
    found = play.workloads()
    if found:
        chosen = found[number % len(found)]
        activate(play, chosen, chosen.spec.active is False)


def release(play: Played, number: int) -> None:
    del number
    stop(play, "None")
    stop(play, "None", LocalQueue.KIND)
    for each in play.workloads():
        if each.spec.active is False:
            activate(play, each, True)
    bring_back(play, 0)


def lose_node(play: Played, number: int) -> None:
    nodes: list[Node] = list(play.cluster.list(Node.KIND))
    if nodes:
        play.cluster.update_status(with_readiness(nodes[number % len(nodes)], False, play.clock.now))


def bring_back(play: Played, number: int) -> None:
    del number
    for node in list(play.cluster.list(Node.KIND)):
        play.cluster.update_status(with_readiness(node, True, play.clock.now))


EVENTS: dict[str, tuple[int, Callable[[Played, int], None]]] = {
    "resize": (6, resize),
    "evict": (4, evict),
    "delete a job": (1, delete_job),
    "delete a Workload": (1, delete_workload),
    "hold": (3, hold),
    "release": (2, release),
    "switch": (1, switch),
    "lose a node": (0, lose_node),
    "bring nodes back": (0, bring_back),
}


def end_of(simulation: Simulation) -> dict[str, Any]:
    """Every object of the cluster, without what tells in which order things came within one instant: numbers of
    versions and uids.

    Nor with the generation of its cluster that a RayJob notes: a cluster below a job that stops is suspended, too, when
    somebody looks at it, which a restart does before its pods are gone.
    """
    found = {}
    for kind in simulation.cluster.kinds():
        for each in simulation.cluster.list(kind):
            annotations = {**(each.metadata.annotations or {})}
            annotations.pop("kueue.x-k8s.io/raycluster-generation", None)
            owners = [
                msgspec.structs.replace(owner, uid="") for owner in each.metadata.owner_references or ()
            ]
            metadata = msgspec.structs.replace(
                each.metadata,
                resource_version=None,
                uid=None,
                annotations=annotations,
                owner_references=owners,
            )
            key = f"{kind} {each.metadata.namespace or ''}/{each.metadata.name}"
            found[key] = msgspec.structs.replace(each, metadata=metadata)
    return found


if __name__ == "__main__":
    sequence = drawn(int(sys.argv[1]))
    for each in sequence.objects:
        print(
            each["kind"],
            each["metadata"]["name"],
            each["metadata"].get("annotations"),
            each["metadata"].get("labels"),
        )
    for each in sequence.happenings:
        print(each.at_ns / SECOND, each.what, each.number)
    print("restarts", [each / SECOND for each in sequence.restarts], sequence.configuration)
