"""A cluster on a virtual clock with the controllers of nodes and pods, and no scheduler of Kueue."""

from __future__ import annotations

from typing import Any

import msgspec

from kueue_fast.api.batch import Job
from kueue_fast.api.core import Node, Pod
from kueue_fast.api.decode import decode_object
from kueue_fast.api.kueue import Workload
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.model.features import FeatureGates
from kueue_fast.model.times import SECOND
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.manifest import SimulationFacts
from kueue_fast.sim.node_registration import registered, schedule_changes, with_readiness
from kueue_fast.sim.placed_pods import PlacedPods
from kueue_fast.sim.recorder import Recorder
from tests.placed import HOSTNAME, NOW, assignment, placed

RACK = "rack"
INDEX = "batch.kubernetes.io/job-completion-index"
KUEUE_ANNOTATIONS = {"kueue.x-k8s.io/workload": "w", "kueue.x-k8s.io/podset-required-topology": RACK}


class World:
    """`facts` by (kind, namespace, name); everything starts at `NOW`."""

    def __init__(
        self, facts: dict[tuple[str, str, str], SimulationFacts] | None = None, **gates: bool
    ) -> None:
        self.clock = VirtualClock(NOW)
        self.cluster = MemoryCluster(lambda: self.clock.now)
        self.recorder = Recorder(NOW, keep_events=True)
        self.retries: list[tuple[int, set[str]]] = []
        self._facts = facts or {}
        self.pods = PlacedPods(
            self.cluster,
            self.clock,
            FeatureGates(gates),
            lambda *key: self._facts.get(key, SimulationFacts()),
            self.recorder,
            lambda queues: self.retries.append((self.clock.now - NOW, queues)),
        )

    def node(self, name: str, *, rack: str = "r0", cpu: Any = 8, **more: Any) -> None:
        made = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {RACK: rack, **more.pop("labels", {})}},
            "spec": more.pop("spec", {}),
            "status": {"capacity": {"cpu": cpu, **more.pop("capacity", {})}},
        }
        assert not more
        obj: Any = decode_object(made)
        self.cluster.create(registered(obj, self.clock.now))
        facts = self._facts.get(("Node", "", name), SimulationFacts())
        schedule_changes(self.cluster, self.clock, name, facts, NOW)

    def ready(self, name: str, ready: bool) -> None:
        node: Node | None = self.cluster.get(Node.KIND, None, name)
        assert node is not None
        self.cluster.update_status(with_readiness(node, ready, self.clock.now))

    def workload(self, *domains: tuple[tuple[str, ...], int], levels: tuple[str, ...] = (HOSTNAME,)) -> None:
        """Workload `w` with these places for its pod set `main`; a second one replaces the first."""
        count = sum(number for _, number in domains)
        pod_set = {
            "name": "main",
            "count": count,
            "template": {},
            "topologyRequest": {"required": RACK, "podIndexLabel": INDEX},
        }
        made = placed(assignment("main", levels, *domains), pod_sets=[pod_set])
        if self.cluster.get(Workload.KIND, "ns", "w") is None:
            self.cluster.create(made)
        else:
            self.cluster.update_status(made)

    def job(self, parallelism: int, *, cpu: Any = 1, indexed: bool = True, **spec: Any) -> None:
        """Job `j` as it is when it was started for Workload `w`."""
        made = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "j", "namespace": "ns"},
            "spec": {
                "parallelism": parallelism,
                "completions": parallelism,
                "completionMode": "Indexed" if indexed else "NonIndexed",
                "template": {
                    "metadata": {
                        "annotations": KUEUE_ANNOTATIONS,
                        "labels": {"kueue.x-k8s.io/podset": "main"},
                    },
                    "spec": {
                        "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
                        "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}],
                        **spec,
                    },
                },
            },
            "status": {"active": parallelism},
        }
        self.cluster.create(decode_object(made))

    def change_job(self, *, active: int | None, **spec: Any) -> None:
        """Spec and status of Job `j`, each in its own write."""
        job: Job = self.cluster.get(Job.KIND, "ns", "j")  # type: ignore[assignment]
        job = self.cluster.update(
            msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, **spec))
        )
        assert job.status is not None
        self.cluster.update_status(
            msgspec.structs.replace(job, status=msgspec.structs.replace(job.status, active=active))
        )

    def run(self, seconds: float = 0) -> None:
        """Everything up to so many seconds from now."""
        end = self.clock.now + int(seconds * SECOND)
        while (following := self.clock.next_time()) is not None and following <= end:
            self.clock.advance(following)
            self.clock.run_due()
        self.clock.advance(end)

    def where(self) -> dict[str, str | None]:
        """The node of each pod, by the pod's name."""
        pods: list[Pod] = list(self.cluster.list(Pod.KIND))
        return {pod.metadata.name: pod.spec.node_name for pod in pods}

    def unhealthy(self) -> list[str]:
        workload: Workload | None = self.cluster.get(Workload.KIND, "ns", "w")
        assert workload is not None
        assert workload.status is not None
        return [node.name for node in workload.status.unhealthy_nodes or ()]
