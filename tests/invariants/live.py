"""A cluster around `kueue_fast.Engine`, driven a cycle at a time: steps and controllers as the corpus plays them."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from kueue_fast import Engine
from kueue_fast.api.configuration import load_configuration
from kueue_fast.api.decode import decode_object
from kueue_fast.api.kueue import Workload, WorkloadStatus
from kueue_fast.api.meta import Condition
from kueue_fast.engine.decisions import Admission, Cycle
from kueue_fast.lifecycle.admission import admitted
from kueue_fast.lifecycle.eviction import preempted, stopped
from kueue_fast.model import conditions, times

Json = dict[str, Any]

SECOND = 1_000_000_000
START = times.parse("2026-01-01T00:00:00Z")
SIGNALLING = ("ClusterQueue", "Cohort", "ResourceFlavor")


class LiveCluster:
    """`manifests` and `admissions` are kept from what came in and was decided, not from the engine's tables."""

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        config = dict(scenario.get("config") or {})
        gates = config.pop("featureGates", {})
        self.is_slow = bool(config.pop("slowEvictions", False))
        document = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **config}
        self.engine = Engine(load_configuration(json.dumps(document).encode(), "config"), gates)
        self.now = START
        self.manifests: dict[str, Json] = {}  # all but workloads
        self.workloads: dict[str, Workload] = {}
        self.admissions: dict[str, Admission] = {}
        self.stopping: set[str] = set()  # evicted, and still holding quota
        for manifest in scenario["objects"]:
            self.put(manifest)

    # --- events

    def apply(self, step: Mapping[str, Any]) -> None:
        """The changes of a step of the corpus."""
        self.now = max(self.now, START + step["at"] * SECOND)
        self.stop(step.get("stopped") or 0)
        for key in step.get("finish") or ():
            self.finish(key)
        for reference in step.get("delete") or ():
            self.delete(reference.removeprefix("Workload/"))
        for manifest in [*(step.get("update") or ()), *(step.get("create") or ())]:
            self.put(manifest)

    def put(self, manifest: Json) -> None:
        kind, metadata = manifest["kind"], manifest["metadata"]
        made = decode_object(manifest)
        if isinstance(made, Workload):
            self._see(made)
            return
        self.manifests[f"{kind}/{metadata.get('namespace') or ''}/{metadata['name']}"] = manifest
        self.engine.upsert(made, self.now)
        if kind in SIGNALLING:
            self.engine.retry_all()

    def finish(self, key: str) -> None:
        workload = self.workloads[key]
        status = workload.status or WorkloadStatus()
        known = list(status.conditions or ())
        done = Condition(type=conditions.FINISHED, status="True", reason="Succeeded", message="done")
        conditions.set_condition(known, done, times.format(self.now))
        changed = msgspec.structs.replace(status, conditions=known)
        self._see(msgspec.structs.replace(workload, status=changed))
        self._forget(key)

    def delete(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        del self.workloads[key]
        self.engine.delete("Workload", namespace, name, self.now)
        self._forget(key)

    def stop(self, count: int) -> None:
        """The first `count` evicted workloads by name have stopped, all if negative."""
        for key in sorted(self.stopping)[: None if count < 0 else count]:
            self._forget(key)
            self._see(stopped(self.workloads[key], self.now))

    def _forget(self, key: str) -> None:
        self.admissions.pop(key, None)
        self.stopping.discard(key)

    def _see(self, workload: Workload) -> None:
        """The engine gets to know a Workload as it is stored now."""
        self.workloads[f"{workload.metadata.namespace}/{workload.metadata.name}"] = workload
        self.engine.upsert(workload, self.now)

    # --- cycles

    def is_due(self) -> bool:
        """Carry out what is asked of parked workloads; whether a cycle has anything to look at then."""
        self.engine.flush(self.now, all=True)
        return self.engine.has_heads()

    def cycle(self) -> Cycle:
        """One cycle of the scheduler alone."""
        return self.engine.cycle(self.now)

    def follow(self, cycle: Cycle) -> None:
        """What the controllers do about the decisions; victims stop a second apart, or when they are told to."""
        for admission in sorted(cycle.admitted, key=lambda one: one.workload):
            self.admissions[admission.workload] = admission
            self._see(admitted(self.workloads[admission.workload], admission, self.now))
        decided_at = self.now
        self.now += SECOND
        for number, one in enumerate(sorted(cycle.preempted, key=lambda one: one.workload)):
            self.now += SECOND if number else 0
            victim = preempted(self.workloads[one.workload], one.reason, "Preempted", decided_at)
            status = victim.status
            eviction = conditions.find(status.conditions if status else None, conditions.EVICTED)
            assert eviction is not None
            eviction.last_transition_time = times.format(self.now)
            self.stopping.add(one.workload)
            self._see(victim)
            if not self.is_slow:
                self._forget(one.workload)
                self._see(stopped(victim, self.now))
            self.engine.retry(one.workload)

    def places(self) -> list[tuple[str, list[str], list[str]]]:
        """Per ClusterQueue what is in its heap and what is parked."""
        return [
            (name, queue.active, queue.parked) for name, queue in sorted(self.engine.queue_state().items())
        ]
