"""A cluster with topologies that changes at random, and the engine that followed every change.

The objects are kept as an API server would hold them, so that another engine can be built from them alone.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from kueue_fast import Engine
from kueue_fast.api.decode import decode_object
from kueue_fast.api.kueue import UnhealthyNode, Workload, WorkloadStatus
from kueue_fast.api.meta import Condition, KubernetesObject
from kueue_fast.api.topology_assignment import Domain
from kueue_fast.engine.decisions import Cycle
from kueue_fast.lifecycle.admission import admitted, topologies_of
from kueue_fast.lifecycle.eviction import evicted, preempted, stopped
from kueue_fast.model import conditions, times
from kueue_fast.model.placements import assignments, placements
from tests.arrays import objects as o
from tests.engine import tas
from tests.placed import HOSTNAME

SECOND = 10**9
# Two levels above the hosts, racks alone, hosts alone.
SHAPES = (tas.LEVELS, ("block", "rack"), (HOSTNAME,))
FLAVORS = {"f": "t", "g": "u", "h": "t"}
QUEUES: dict[str, tuple[str, ...]] = {"q": ("f",), "p": ("g",), "r": ("h",)}
GATES: tuple[dict[str, bool], ...] = (
    {},
    {},
    {"TASHandleOverlappingFlavors": False},
    {"TASBalancedPlacement": True},
    {"TASProfileMixed": False},
    {"TASRecomputeAssignmentWithinSchedulingCycle": False},
)
PREEMPTION = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}


class TopologyWorld:
    """`objects` by kind, namespace and name; `shape` is what Topology `t` is made of when it comes again."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.gates = self.random.choice(GATES)
        self.engine = Engine(None, self.gates)
        self.objects: dict[tuple[str, str, str], KubernetesObject] = {}
        self.now = o.START
        self._made = 0
        self._preemptors: set[str] = set()
        self.put(o.namespace())
        for name in "tu":
            self.put(self._topology(name))
        for name in FLAVORS:
            self.put(self._flavor(name))
        for name in QUEUES:
            self.put(self._cluster_queue(name))
            self.put(o.local_queue(name, name))
        for number in range(self.random.randint(2, 6)):
            self.put(self._node(f"n{number}"))

    # --- objects

    def put(self, obj: KubernetesObject) -> None:
        """The object is there, and the engine sees it."""
        self.objects[obj.KIND, obj.metadata.namespace or "", obj.metadata.name] = obj
        self.engine.upsert(obj, self.now)

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """It is gone, if it was there."""
        if self.objects.pop((kind, namespace, name), None) is not None:
            self.engine.delete(kind, namespace, name, self.now)

    def rebuilt(self) -> Engine:
        """An engine that sees the objects of now, in any order."""
        engine = Engine(None, self.gates)
        objects = list(self.objects.values())
        self.random.shuffle(objects)
        for obj in objects:
            engine.upsert(obj, self.now)
        return engine

    def workloads(self, *, held: bool) -> list[Workload]:
        """Those that hold quota, or those that wait."""
        return [
            each
            for (kind, _, _), each in self.objects.items()
            if kind == Workload.KIND
            and isinstance(each, Workload)
            and conditions.workload_status(each) not in (("pending", "finished") if held else ("finished",))
            and (held or conditions.workload_status(each) == "pending")
        ]

    def _topology(self, name: str) -> Any:
        return tas.topology(*self.random.choice(SHAPES), name=name)

    def _flavor(self, name: str) -> Any:
        labels = self.random.choice([{}, {}, {"pool": "a"}])
        tolerations = self.random.choice([[], [{"operator": "Exists"}]])
        return tas.flavor(name, topologyName=FLAVORS[name], nodeLabels=labels, tolerations=tolerations)

    def _cluster_queue(self, name: str) -> Any:
        quota = self.random.choice([4, 12, 40])
        groups = [o.group(**{flavor: [o.quota("cpu", quota)] for flavor in QUEUES[name]})]
        cohort = self.random.choice([None, "c"])
        strategy = self.random.choice(["BestEffortFIFO", "StrictFIFO"])
        return o.cluster_queue(name, *groups, cohort=cohort, queueingStrategy=strategy, preemption=PREEMPTION)

    def _node(self, name: str) -> Any:
        pick = self.random.choice
        return tas.node(
            name,
            pick(["r1", "r1", "r2", "r10", None]),
            cpu=pick([0, 2, 4, "4500m", 8, 8, -1]),
            pods=pick([3, 10]),
            ready=pick([True, True, True, True, False]),
            taints=pick([None, None, [{"key": "k", "effect": "NoSchedule"}]]),
            host=pick([name, name, name, "shared"]),
            block=pick(["b1", "b2"]),
            pool=pick("aab"),
        )

    def _request(self) -> dict[str, Any]:
        pick = self.random.choice
        made: dict[str, Any] = {}
        kind = pick(["required", "preferred", "unconstrained", "slices", "implied"])
        if kind in ("required", "preferred"):
            made[kind] = pick([*tas.LEVELS, "rack"])
        elif kind == "unconstrained":
            made[kind] = True
        if kind == "slices" or (kind == "required" and pick([0, 0, 1])):
            made["podSetSliceRequiredTopology"] = pick(["rack", HOSTNAME])
            made["podSetSliceSize"] = pick([1, 2, 3])
        return made

    def _workload(self) -> dict[str, Any]:
        self._made += 1
        pick = self.random.choice
        request, queue = self._request(), pick(list(QUEUES))
        pod_sets = [tas.pod_set(pick([1, 2, 3, 6]), cpu=pick([1, 1, 2, "500m"]), **request)]
        if pick([0, 0, 0, 1]):
            together = {"podSetGroupName": "g"} if pick([0, 1]) and len(request) == 1 else {}
            pod_sets.append(tas.pod_set(1, name="leader", **request, **together))
            if together and "topologyRequest" in pod_sets[0]:
                pod_sets[0]["topologyRequest"]["podSetGroupName"] = "g"
        return o.workload_json(
            f"w{self._made}", queue, *pod_sets, priority=pick([0, 0, 1, 2]), created=self._made % 5
        )

    # --- events

    def step(self) -> None:
        """One event."""
        self.now += self.random.randrange(SECOND)
        pick = self.random.choice
        name = f"n{self.random.randrange(8)}"
        draw = self.random.random()
        if draw < 0.25:
            self.put(self._node(name))
        elif draw < 0.27:
            self.remove("Node", "", name)
        elif draw < 0.4:
            phase = pick(["Running", "Failed"])
            made = {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{pick('abcd')}", "namespace": "ns"},
                "spec": {"nodeName": name, **o.pod_set(cpu=pick([1, 2]))["template"]["spec"]},
                "status": {"phase": phase},
            }  # fmt: skip
            self.put(decode_object(made))
        elif draw < 0.43:
            self.remove("Pod", "ns", f"p{pick('abcd')}")
        elif draw < 0.66:
            self.put(decode_object(self._workload()))
        elif draw < 0.72:
            self._change_topology(pick("tu"))
        elif draw < 0.78:
            self._change_flavor(pick(list(FLAVORS)))
        elif draw < 0.81:
            self.put(self._cluster_queue(pick(list(QUEUES))))
        else:
            self._change_workload(draw)

    def _change_topology(self, name: str) -> None:
        there = ("Topology", "", name) in self.objects
        self.remove("Topology", "", name)
        if not there or self.random.random() < 0.7:
            self.put(self._topology(name))

    def _change_flavor(self, name: str) -> None:
        there = ("ResourceFlavor", "", name) in self.objects
        self.remove("ResourceFlavor", "", name)
        if not there or self.random.random() < 0.7:
            self.put(self._flavor(name))

    def _change_workload(self, draw: float) -> None:
        held, waiting = self.workloads(held=True), self.workloads(held=False)
        pick = self.random.choice
        if draw < 0.84 and held:
            self.put(self._finished(pick(held)))
        elif draw < 0.86 and held:
            victim = preempted(pick(held), "InClusterQueue", "Preempted", self.now)
            self.put(victim)
            self.put(stopped(victim, self.now))
        elif draw < 0.94 and held:
            self._fail_node(pick(held))
        elif draw < 0.97 and waiting:
            changed = pick(waiting)
            spec = msgspec.structs.replace(changed.spec, queue_name=pick(list(QUEUES)))
            self.put(msgspec.structs.replace(changed, spec=spec))
        elif held or waiting:
            gone = pick(held + waiting)
            self.remove(Workload.KIND, gone.metadata.namespace or "", gone.metadata.name)

    def _finished(self, workload: Workload) -> Workload:
        status = workload.status or WorkloadStatus()
        known = list(status.conditions or ())
        done = Condition(type=conditions.FINISHED, status="True", reason="Succeeded", message="done")
        conditions.set_condition(known, done, times.format(self.now))
        return msgspec.structs.replace(workload, status=msgspec.structs.replace(status, conditions=known))

    def _fail_node(self, workload: Workload) -> None:
        """A node is gone under a workload, which says so."""
        hosts = [
            values[-1]
            for one in placements(workload).values()
            if one.levels[-1] == HOSTNAME
            for values, _ in one.domains
        ]
        status = workload.status
        if not hosts or status is None or status.unhealthy_nodes:
            return
        host = self.random.choice(hosts)
        self.remove("Node", "", host)
        marked = msgspec.structs.replace(status, unhealthy_nodes=[UnhealthyNode(name=host)])
        self.put(msgspec.structs.replace(workload, status=marked))

    # --- what decisions make of the objects

    def key(self, workload: str) -> tuple[str, str, str]:
        """The key of a workload of a decision."""
        namespace, _, name = workload.partition("/")
        return Workload.KIND, namespace, name

    def follow(self, cycle: Cycle) -> list[Workload]:
        """What controllers make of the decisions, seen by the engine; returns the workloads as they are now."""
        changed = []
        for one in [*cycle.admitted, *cycle.moved]:
            workload: Any = self.objects[self.key(one.workload)]
            made = admitted(workload, one, self.now, topologies=topologies_of(one.pod_sets))
            changed.append(made)
        victims = {one.workload for one in cycle.preempted}
        self._preemptors |= {one.preemptor for one in cycle.preempted}
        self.now += SECOND
        for eviction in cycle.evicted:
            if eviction.workload not in victims:
                workload = self.objects[self.key(eviction.workload)]
                made = evicted(workload, eviction.reason, eviction.message, self.now)
                changed.append(stopped(made, self.now))
        for preemption in cycle.preempted:
            workload = self.objects[self.key(preemption.workload)]
            made = preempted(workload, preemption.reason, "Preempted", self.now)
            changed.append(stopped(made, self.now))
        for made in changed:
            self.put(made)
        return changed

    def forget_preemptors(self) -> None:
        """Who preempted goes first in its queue until it is deactivated (QC-18), which no object says: let it be so."""
        for each in self.workloads(held=False):
            if f"{each.metadata.namespace}/{each.metadata.name}" in self._preemptors:
                stopped_for_now = msgspec.structs.replace(each.spec, active=False)
                self.put(msgspec.structs.replace(each, spec=stopped_for_now))
                self.put(each)
        self._preemptors.clear()

    # --- what must be

    def use(self, cycle: Cycle | None = None) -> dict[str, Counter[str]]:
        """Pods and milli-cpu of each domain by flavor, as `pods ID` and `cpu ID`: the sum over what holds quota.

        Of a hostname topology it is that of all flavors with one. `cycle`: decisions that are not objects yet.
        """
        topologies = self.engine._state.topology
        overlapping = self.gates.get("TASHandleOverlappingFlavors", True)
        hosts: Counter[str] = Counter()
        found = {
            flavor: hosts if overlapping and topologies.levels_of(flavor)[-1] == HOSTNAME else Counter()
            for flavor in topologies.flavors()
        }
        for cpu, flavors, domains in self._held(cycle):
            for flavor in flavors & found.keys():
                for values, pods in domains:
                    domain = ",".join(values)
                    found[flavor][f"pods {domain}"] += pods
                    found[flavor][f"cpu {domain}"] += pods * cpu
        return found

    def _held(self, cycle: Cycle | None) -> Iterator[tuple[int, set[str], Sequence[Domain]]]:
        """Of each pod set that has places: milli-cpu of a pod, flavors, domains."""
        decided = {} if cycle is None else {one.workload: one for one in [*cycle.admitted, *cycle.moved]}
        for each in self.objects.values():
            if not isinstance(each, Workload):
                continue
            cpu = {one.name: _cpu(one.template.spec) for one in each.spec.pod_sets or ()}
            decision = decided.get(f"{each.metadata.namespace}/{each.metadata.name}")
            if decision is not None:
                for one in decision.pod_sets:
                    if one.placement is not None:
                        yield cpu[one.name], set(one.flavors.values()), one.placement.domains
            elif conditions.workload_status(each) not in ("pending", "finished"):
                where = placements(each)
                for written in assignments(each):
                    if written.name in where:
                        flavors = set((written.flavors or {}).values())
                        yield cpu[written.name], flavors, where[written.name].domains


def _cpu(spec: Any) -> int:
    """Milli-cpu of one pod."""
    (container,) = json.loads(bytes(spec))["containers"]
    text = str(container["resources"]["requests"]["cpu"])
    return int(text[:-1]) if text.endswith("m") else 1000 * int(text)
