"""Stands in for the controllers of Deployments: a ReplicaSet, and pods that are admitted one by one."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from kueue_fast.api.apps import Deployment, DeploymentStatus, ReplicaSet, ReplicaSetSpec
from kueue_fast.api.core import Pod
from kueue_fast.api.meta import KubernetesObject, ObjectMeta
from kueue_fast.lifecycle.pods import is_terminal
from kueue_fast.sim.kind_pod_template import controlled_by, made_pod, opened, suffix
from kueue_fast.sim.kind_serving import Around, ServingController

__all__ = ["DeploymentController"]

TEMPLATE_HASH: Final = "pod-template-hash"


class DeploymentController(ServingController):
    """Keeps as many pods as the Deployment wants: one that is lost or done is replaced under another name."""

    kind: ClassVar[type[KubernetesObject]] = Deployment

    def __init__(self, around: Around) -> None:
        super().__init__(around)
        self._made: dict[str, int] = {}

    def reconcile(self, obj: Any) -> bool:
        """One ReplicaSet, and its pods; the newest go first when there are too many."""
        job: Deployment = obj
        wanted = 1 if job.spec.replicas is None else job.spec.replicas
        replica_set = self._replica_set(job, wanted)
        pods: list[Pod] = []
        for pod in list(self._cluster.dependents(replica_set.metadata.uid or "")):
            if not isinstance(pod, Pod) or pod.metadata.deletion_timestamp:
                continue
            if is_terminal(pod):
                self._cluster.delete(Pod.KIND, pod.metadata.namespace, pod.metadata.name)
            else:
                pods.append(pod)
        for pod in pods[wanted:]:
            self._cluster.delete(Pod.KIND, pod.metadata.namespace, pod.metadata.name)
        template = opened(job.spec.template)
        uid = replica_set.metadata.uid or ""
        for _ in range(wanted - len(pods)):
            number = self._made[uid] = self._made.get(uid, 0) + 1
            name = f"{replica_set.metadata.name}-{suffix(uid, number)}"
            labels = {TEMPLATE_HASH: replica_set.metadata.name.rpartition("-")[2]}
            self.create_pod(made_pod(template, name, replica_set, labels=labels))
        self.tell_status(job, DeploymentStatus(), pods[:wanted])
        return True

    def _replica_set(self, job: Deployment, replicas: int) -> ReplicaSet:
        for each in self._cluster.dependents(job.metadata.uid or ""):
            if isinstance(each, ReplicaSet):
                if each.spec.replicas == replicas:
                    return each
                spec = msgspec.structs.replace(each.spec, replicas=replicas)
                scaled: ReplicaSet = self._cluster.update(msgspec.structs.replace(each, spec=spec))
                return scaled
        template = job.spec.template
        name = f"{job.metadata.name}-{suffix(bytes(template.spec), bytes(template.metadata))}"
        metadata = ObjectMeta(
            name=name, namespace=job.metadata.namespace, owner_references=[controlled_by(job)]
        )
        spec = ReplicaSetSpec(template=template, replicas=replicas)
        made: ReplicaSet = self._cluster.create(ReplicaSet(metadata=metadata, spec=spec))
        return made
