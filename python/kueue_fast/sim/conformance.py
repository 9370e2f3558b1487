"""Replay of one scenario of the conformance corpus through the engine.

A scenario holds a configuration, manifests, and steps that create, change, finish or delete objects at
given seconds. After each step's changes, scheduling cycles run until nothing moves. What they decided, and
the state that each step ends with, come out in the form of the corpus' `expect`.

Between two cycles this module plays the controllers: it writes the status that an admission brings, and lets
the engine see it. The rules, rule by rule, stand in the corpus' own README.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from kueue_fast.api.configuration import Configuration, load_configuration
from kueue_fast.api.core import NodeStatus
from kueue_fast.api.decode import decode_object
from kueue_fast.api.kueue import PodSetAssignment, UnhealthyNode, Workload, WorkloadStatus
from kueue_fast.api.meta import Condition
from kueue_fast.api.topology_assignment import decode
from kueue_fast.engine import Engine
from kueue_fast.engine.decisions import Admission, Eviction, Preemption
from kueue_fast.errors import InputError, Unsupported
from kueue_fast.lifecycle.admission import admitted, topologies_of
from kueue_fast.lifecycle.eviction import evicted, preempted, stopped
from kueue_fast.model import conditions, times
from kueue_fast.model.placements import has_placement_on, placements
from kueue_fast.sim.conformance_scope import unsupported_part

__all__ = ["CycleTimer", "replay"]

EPOCH: Final = "2026-01-01T00:00:00Z"
SECOND: Final = 1_000_000_000
MOST_CYCLES: Final = 400  # of a step that names no limit
MOST_IDLE: Final = 3  # cycles in a row that change nothing

# A created, updated or deleted object of these kinds brings parked workloads of all queues back.
_SIGNALLING: Final = frozenset(("ClusterQueue", "Cohort", "ResourceFlavor", "Topology", "Node"))

# Of `config`, what is not part of Kueue's Configuration.
_CORPUS_ONLY: Final = ("featureGates", "slowEvictions", "requeuingTimestamp")


@dataclass
class CycleTimer:
    """Wall time inside scheduling cycles: nomination to requeueing, and the decision objects."""

    clock: Callable[[], int] = time.perf_counter_ns
    spent_ns: int = field(default=0, init=False)
    cycles: int = field(default=0, init=False)


def replay(
    scenario: Mapping[str, Any],
    timer: CycleTimer | None = None,
    *,
    messages: bool = False,
    considered: bool = False,
) -> list[dict[str, Any]]:
    """What the engine decides on `scenario`, one entry a step, in the form of the corpus' `expect`.

    Usage of pod sets is given as Kubernetes quantities, as it stands in the Workload's status; usage of
    ClusterQueues as integers (cpu in milli). `timer`, if given, adds up what the cycles take. `messages`
    adds the words for why workloads wait, `considered` to each admission those for the flavors that it was weighed
    against (QP-465).

    Raises Unsupported where the scenario needs what is not built yet, InputError where it is malformed.
    """
    why = unsupported_part(scenario)
    if why:
        raise Unsupported(why)
    world = _World(scenario, timer, messages, considered)
    for manifest in scenario.get("objects") or ():
        world.create(manifest)
    return [world.run(step) for step in scenario["steps"]]


class _World:
    """The engine, the objects as the API server would hold them, and the clock."""

    def __init__(
        self, scenario: Mapping[str, Any], timer: CycleTimer | None, messages: bool, considered: bool
    ) -> None:
        config = scenario.get("config") or {}
        self._engine = Engine(
            configuration=_configuration(config),
            feature_gates=config.get("featureGates") or {},
            attempts=considered,
        )
        self._considered = considered
        self._fair = config.get("fairSharing") is not None
        self._slow = bool(config.get("slowEvictions"))
        self._stopping: set[str] = set()  # evicted, and still holding their quota
        self._objects: dict[str, Any] = {}
        self._now = times.parse(EPOCH)
        self._timer = timer
        self._messages = messages

    # ---- changes of a step ----

    def create(self, manifest: Mapping[str, Any]) -> None:
        new = decode_object(manifest)
        self._put(_reference(new), new)

    def _update(self, manifest: Mapping[str, Any]) -> None:
        """A new spec; the status stays, and so do labels and annotations but for a Node."""
        new = decode_object(manifest)
        reference = _reference(new)
        old = self._existing(reference, "update")
        if not hasattr(new, "spec"):
            raise InputError(f"update of {reference} is not possible", expected="an object with a spec")
        if new.KIND == "Node":
            self._put(reference, new)
            return
        metadata = msgspec.structs.replace(old.metadata, generation=(old.metadata.generation or 0) + 1)
        self._put(reference, msgspec.structs.replace(old, spec=new.spec, metadata=metadata))

    def _delete(self, reference: str) -> None:
        old = self._existing(reference, "delete")
        del self._objects[reference]
        self._stopping.discard(reference.removeprefix("Workload/"))
        self._engine.delete(old.KIND, old.metadata.namespace or "", old.metadata.name, self._now)
        self._signal(old.KIND)

    def _finish(self, name: str, reason: str = "Succeeded") -> None:
        workload = self._existing(f"Workload/{name}", "finish")
        status = workload.status or WorkloadStatus()
        changed = list(status.conditions or ())
        finished = Condition(type=conditions.FINISHED, status="True", reason=reason, message="done")
        conditions.set_condition(changed, finished, times.format(self._now))
        status = msgspec.structs.replace(status, conditions=changed)
        self._put(f"Workload/{name}", msgspec.structs.replace(workload, status=status))

    def _existing(self, reference: str, verb: str) -> Any:
        try:
            return self._objects[reference]
        except KeyError:
            raise InputError(f"{verb} of {reference}, which does not exist") from None

    def _put(self, reference: str, new: Any) -> None:
        self._objects[reference] = new
        self._engine.upsert(new, self._now)
        self._signal(new.KIND)

    def _signal(self, kind: str) -> None:
        """Has every ClusterQueue look at its parked workloads again, where the corpus does so."""
        if kind in _SIGNALLING:
            self._engine.retry_all()

    # ---- cycles ----

    def run(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """Carries out the changes of `step`, then cycles until nothing moves."""
        self._now = max(self._now, times.parse(EPOCH) + step["at"] * SECOND)
        self._let_stop(step.get("stopped") or 0)
        failed = step.get("failed") or ()
        for name in failed:
            self._fail(name)
        for name in step.get("finish") or ():
            self._stopping.discard(name)
            self._finish(name)
        for reference in step.get("delete") or ():
            self._delete(reference)
        for manifest in step.get("update") or ():
            self._update(manifest)
        for manifest in step.get("create") or ():
            self.create(manifest)

        if failed:
            self._now += 2 * SECOND  # the second pass is due then
        limit = step.get("maxCycles") or MOST_CYCLES
        cycles: list[dict[str, Any]] = []
        idle = 0
        while len(cycles) < limit and idle < MOST_IDLE:
            before = self._fingerprint()
            self._engine.flush(self._now, all=True)
            if not self._engine.has_heads(self._now):
                break
            cycle = self._cycle()
            cycles.append(cycle)
            idle = 0 if cycle or self._fingerprint() != before else idle + 1
        truncated = len(cycles) >= limit
        while cycles and not cycles[-1]:
            cycles.pop()
        state = {"cycles": cycles, **self._state()}
        if truncated:
            state["truncated"] = True
        return state

    def _cycle(self) -> dict[str, Any]:
        """One scheduling cycle, after which the engine sees the new status of what it admitted."""
        timer = self._timer
        start = timer.clock() if timer else 0
        cycle = self._engine.cycle(self._now)
        if timer:
            timer.spent_ns += timer.clock() - start
            timer.cycles += 1
        decided = []
        for admission in sorted(cycle.admitted, key=lambda admission: admission.workload):
            told = {"considered": admission.considered} if self._considered else {}
            decided.append({**self._admit(admission), **told})
        moved = []
        for one in sorted(cycle.moved, key=lambda one: one.workload):
            moved.append(self._admit(one))
            # as for evictions: whatever is seen with the reservation that it had signals
            self._engine.retry(one.workload)
        replaced = sorted(one.workload for one in cycle.replaced)
        for name in replaced:
            self._finish(name, "WorkloadSliceReplaced")
        preemptions, evictions = self._evict(cycle.preempted, cycle.evicted)
        result = {
            "admitted": decided,
            "moved": moved,
            "replaced": replaced,
            "preempted": preemptions,
            "evicted": evictions,
        }
        return {key: value for key, value in result.items() if value}

    def _admit(self, admission: Admission) -> dict[str, Any]:
        reference = f"Workload/{admission.workload}"
        workload = admitted(
            self._objects[reference], admission, self._now, topologies=topologies_of(admission.pod_sets)
        )
        workload = _keep_unhealthy(self._objects[reference], workload)
        self._put(reference, workload)
        return _admission(workload)

    def _evict(
        self, preemptions: Sequence[Preemption], evictions: Sequence[Eviction]
    ) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
        """Victims stop a second apart, by name, or are only seen as evicted where they take their time."""
        decided_at = self._now
        self._now += SECOND
        victims = {one.workload for one in preemptions}
        # one that both befell is preempted: that is written last
        others = [one for one in evictions if one.workload not in victims]
        by_name: list[Preemption | Eviction] = sorted(
            [*preemptions, *others], key=lambda eviction: eviction.workload
        )
        for number, preemption in enumerate(by_name):
            if number:
                self._now += SECOND
            reference = f"Workload/{preemption.workload}"
            before = self._objects[reference]
            if isinstance(preemption, Eviction):
                workload = evicted(before, preemption.reason, preemption.message, decided_at)
            else:
                workload = preempted(before, preemption.reason, "Preempted", decided_at)
            workload = _keep_unhealthy(before, workload)
            _date_eviction(workload, self._now)
            if self._slow:
                self._stopping.add(preemption.workload)
            else:
                workload = stopped(workload, self._now)
            self._put(reference, workload)
            # the corpus lets every workload that is seen with its reservation signal, not only those that lose it
            self._engine.retry(preemption.workload)
        return (
            [
                {"workload": one.workload, "reason": one.reason}
                for one in by_name
                if isinstance(one, Preemption)
            ],
            [
                {"workload": one.workload, "reason": one.reason}
                for one in by_name
                if isinstance(one, Eviction)
            ],
        )

    def _fail(self, name: str) -> None:
        """A Node is not ready any more, and the workloads that have pods on it say so."""
        node = self._existing(f"Node/{name}", "failure")
        status = node.status or NodeStatus()
        changed = [
            msgspec.structs.replace(one, status="False") if one.type == "Ready" else one
            for one in status.conditions or ()
        ]
        self._put(
            f"Node/{name}",
            msgspec.structs.replace(node, status=msgspec.structs.replace(status, conditions=changed)),
        )
        for reference in sorted(self._objects):
            workload = self._objects[reference]
            if isinstance(workload, Workload) and has_placement_on(placements(workload), name):
                self._mark_unhealthy(reference, workload, name)

    def _mark_unhealthy(self, reference: str, workload: Workload, node: str) -> None:
        status = workload.status
        if status is None or not conditions.is_true(status.conditions, conditions.QUOTA_RESERVED):
            return
        if conditions.is_true(status.conditions, conditions.FINISHED):
            return
        nodes = [*(status.unhealthy_nodes or ()), UnhealthyNode(name=node)]
        self._objects[reference] = msgspec.structs.replace(
            workload, status=msgspec.structs.replace(status, unhealthy_nodes=nodes)
        )
        self._engine.upsert(self._objects[reference], self._now)

    def _let_stop(self, number: int) -> None:
        """The first `number` evicted workloads by name have stopped; all of them for -1."""
        for name in sorted(self._stopping)[: None if number < 0 else number]:
            self._stopping.discard(name)
            reference = f"Workload/{name}"
            self._put(reference, stopped(self._objects[reference], self._now))

    def _fingerprint(self) -> list[Any]:
        return [
            (name, sorted(queue.active), sorted(queue.parked))
            for name, queue in sorted(self._engine.queue_state().items())
        ]

    def _state(self) -> dict[str, Any]:
        """Queues and usage after a step; what is empty or zero is left out."""
        queues = self._engine.queue_state()
        state: dict[str, Any] = {
            "active": {name: sorted(queue.active) for name, queue in queues.items() if queue.active},
            "inadmissible": {name: sorted(queue.parked) for name, queue in queues.items() if queue.parked},
            "usage": {},
        }
        for name, queue in queues.items():
            usage = {pair: amount for pair, amount in queue.usage.items() if amount}
            if usage:
                state["usage"][name] = usage
        if self._fair:
            state["weightedShare"] = {
                name: "inf" if math.isinf(queue.weighted_share) else queue.weighted_share
                for name, queue in queues.items()
            }
        if self._messages:
            state["messages"] = self._pending_messages()
        return {key: dict(sorted(value.items())) for key, value in state.items() if value}

    def _pending_messages(self) -> dict[str, str]:
        texts = {}
        for reference, workload in self._objects.items():
            if not isinstance(workload, Workload):
                continue
            if conditions.workload_status(workload) != "pending":
                continue
            name = reference.removeprefix("Workload/")
            text = self._engine.pending_message(name)
            if text is not None:
                texts[name] = text
        return texts


def _keep_unhealthy(before: Workload, after: Workload) -> Workload:
    """The corpus' API server keeps a list that server-side apply leaves out: unhealthy nodes are never taken away."""
    nodes = before.status.unhealthy_nodes if before.status is not None else None
    if not nodes or after.status is None:
        return after
    return msgspec.structs.replace(after, status=msgspec.structs.replace(after.status, unhealthy_nodes=nodes))


def _date_eviction(workload: Workload, now_ns: int) -> None:
    """Of an eviction's conditions, Evicted alone carries the time at which the victim is made to stop."""
    status = workload.status
    eviction = conditions.find(status.conditions if status else None, conditions.EVICTED)
    if eviction is not None:
        eviction.last_transition_time = times.format(now_ns)


def _configuration(config: Mapping[str, Any]) -> Configuration:
    kueue = {key: value for key, value in config.items() if key not in _CORPUS_ONLY}
    if config.get("requeuingTimestamp"):
        kueue["waitForPodsReady"] = {"requeuingStrategy": {"timestamp": config["requeuingTimestamp"]}}
    document = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **kueue}
    return load_configuration(json.dumps(document).encode(), "config")


def _reference(obj: Any) -> str:
    """`Kind/namespace/name`, or `Kind/name` where there is no namespace: the form of a step's `delete`."""
    metadata = obj.metadata
    return "/".join(part for part in (obj.KIND, metadata.namespace, metadata.name) if part)


def _admission(workload: Workload) -> dict[str, Any]:
    """An entry of `admitted` from the status that the workload has now."""
    status = workload.status
    assert status is not None
    assert status.admission is not None
    pod_sets = [_pod_set(pod_set) for pod_set in status.admission.pod_set_assignments or ()]
    return {
        "workload": f"{workload.metadata.namespace}/{workload.metadata.name}",
        "clusterQueue": status.admission.cluster_queue,
        "podSets": pod_sets,
        "admitted": conditions.is_true(status.conditions, conditions.ADMITTED),
    }


def _pod_set(assignment: PodSetAssignment) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": assignment.name,
        "count": assignment.count or 0,
        "flavors": dict(sorted((assignment.flavors or {}).items())),
        "usage": dict(sorted((assignment.resource_usage or {}).items())),
    }
    if assignment.delayed_topology_request == "Pending":
        entry["delayedTopology"] = True
    if assignment.topology_assignment:
        levels, domains = decode(assignment.topology_assignment)
        entry["levels"] = list(levels)
        if domains:
            entry["topology"] = [{"values": list(values), "count": count} for values, count in domains]
    return entry
