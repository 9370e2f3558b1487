"""Stands in for the controller of LeaderWorkerSets, and runs Kueue's: one Workload a group of leader and workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

import msgspec

from kueue_fast.api.apps import StatefulSet, StatefulSetSpec
from kueue_fast.api.core import Pod, PodTemplateSpec
from kueue_fast.api.leaderworkerset import LeaderWorkerSet, LeaderWorkerSetStatus
from kueue_fast.api.meta import KubernetesObject, ObjectMeta
from kueue_fast.jobs.leader_worker_set import NAME_LABEL, PREFIX, size, spec_replicas
from kueue_fast.jobs.leader_worker_set_reconciler import (
    GROUP_INDEX_LABEL,
    LEADER_NAME_ANNOTATION,
    reconcile_pod,
    reconcile_workloads,
)
from kueue_fast.jobs.workload import is_managed
from kueue_fast.sim.kind_ancestors import workloads_of
from kueue_fast.sim.kind_pod_template import controlled_by, made_pod, opened
from kueue_fast.sim.kind_serving import ServingController

__all__ = ["LeaderWorkerSetController"]

WORKER_INDEX: Final = f"{PREFIX}/worker-index"


class LeaderWorkerSetController(ServingController):
    """Leaders belong to a StatefulSet of the set, the workers of a group to one of its leader.

    So a group whose leader goes comes back as a whole.
    """

    kind: ClassVar[type[KubernetesObject]] = LeaderWorkerSet

    def reconcile(self, obj: Any) -> bool:
        """Kueue's part first, as pods wait for the Workload of their group."""
        job: LeaderWorkerSet = obj
        view = self._around.view
        if is_managed(job.metadata, view.settings):
            known = workloads_of(self._cluster, job.metadata)
            actions = reconcile_workloads(job, known, view, self._around.clock.now)
            if not self._around.actions.carry_out(actions):
                return False
        name, count = job.metadata.name, spec_replicas(job)
        template = job.spec.leader_worker_template
        leaders = self._stateful_set(name, job, count, template.leader_template or template.worker_template)
        for pod in list(self._pods_of(leaders)):
            # Workers follow their leader.
            if int(pod.metadata.name.rpartition("-")[2]) >= count:
                self._cluster.delete(Pod.KIND, pod.metadata.namespace, pod.metadata.name)
        for group in range(count):
            self._group(job, leaders, group)
        running = [
            leader
            for leader in self._pods_of(leaders)
            if leader.status is not None and leader.status.phase == "Running"
        ]
        self._tell(job, count, len(running))
        return True

    def _group(self, job: LeaderWorkerSet, leaders: StatefulSet, group: int) -> None:
        """Leader and workers of one group; what is missing is made."""
        name = f"{job.metadata.name}-{group}"
        namespace = job.metadata.namespace
        shared = {NAME_LABEL: job.metadata.name, GROUP_INDEX_LABEL: str(group)}
        template = job.spec.leader_worker_template
        if name not in self.live_pods(namespace, [name]):
            made = made_pod(
                opened(template.leader_template or template.worker_template),
                name,
                leaders,
                labels={**shared, WORKER_INDEX: "0"},
            )
            self._create(job, leaders, made)
        leader: Pod | None = self._cluster.get(Pod.KIND, namespace, name)
        if leader is None or leader.metadata.deletion_timestamp or size(job) == 1:
            return
        workers = self._stateful_set(name, leader, size(job) - 1, template.worker_template)
        wanted = [f"{name}-{number}" for number in range(1, size(job))]
        there = self.live_pods(namespace, wanted)
        for number, each in enumerate(wanted, 1):
            if each not in there and self._cluster.get(Pod.KIND, namespace, each) is None:
                labels = {**shared, WORKER_INDEX: str(number)}
                said = {LEADER_NAME_ANNOTATION: name}
                made = made_pod(
                    opened(template.worker_template), each, workers, labels=labels, annotations=said
                )
                self._create(job, workers, made)

    def _create(self, job: LeaderWorkerSet, owner: StatefulSet, pod: Pod) -> None:
        settings = self._around.view.settings
        self.create_pod(pod, lambda made: reconcile_pod(job, owner, made, settings))

    def _stateful_set(
        self, name: str, owner: KubernetesObject, replicas: int, template: PodTemplateSpec
    ) -> StatefulSet:
        """The StatefulSet of that name and owner, made or scaled if need be."""
        there: StatefulSet | None = self._cluster.get(StatefulSet.KIND, owner.metadata.namespace, name)
        if there is None:
            metadata = ObjectMeta(
                name=name, namespace=owner.metadata.namespace, owner_references=[controlled_by(owner)]
            )
            spec = StatefulSetSpec(template=template, replicas=replicas)
            made: StatefulSet = self._cluster.create(StatefulSet(metadata=metadata, spec=spec))
            return made
        if there.spec.replicas != replicas:
            spec = msgspec.structs.replace(there.spec, replicas=replicas)
            scaled: StatefulSet = self._cluster.update(msgspec.structs.replace(there, spec=spec))
            return scaled
        return there

    def _pods_of(self, stateful_set: StatefulSet) -> Iterator[Pod]:
        dependents = list(self._cluster.dependents(stateful_set.metadata.uid or ""))
        return (each for each in dependents if isinstance(each, Pod))

    def _tell(self, job: LeaderWorkerSet, replicas: int, ready: int) -> None:
        current: LeaderWorkerSet | None = self._cluster.get(
            LeaderWorkerSet.KIND, job.metadata.namespace, job.metadata.name
        )
        status = msgspec.structs.replace(
            job.status or LeaderWorkerSetStatus(),
            replicas=replicas or None,
            ready_replicas=ready or None,
            updated_replicas=replicas or None,
        )
        if current is not None and status != current.status:
            self._cluster.update_status(msgspec.structs.replace(current, status=status))
