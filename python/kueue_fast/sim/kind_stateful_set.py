"""Stands in for the controller of StatefulSets, and runs Kueue's: one Workload for all pods."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from kueue_fast.api.apps import StatefulSet, StatefulSetStatus
from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.jobs import pod_names, stateful_set_reconciler
from kueue_fast.jobs.stateful_set import POD_INDEX, StatefulSets, replicas
from kueue_fast.jobs.workload import is_managed
from kueue_fast.sim.kind_pod_template import made_pod, opened
from kueue_fast.sim.kind_serving import ServingController

__all__ = ["StatefulSetController"]

KIND: Final = StatefulSets()
POD_NAME: Final = "statefulset.kubernetes.io/pod-name"


class StatefulSetController(ServingController):
    """Keeps the pods `<name>-0`, ...: a lost one comes back under its name. All come at once, in whatever policy.

    StatefulSets of another kind, such as a LeaderWorkerSet's, are left to that one.
    """

    kind: ClassVar[type[KubernetesObject]] = StatefulSet

    def reconcile(self, obj: Any) -> bool:
        """Kueue's part first, as pods wait for the Workload."""
        job: StatefulSet = obj
        if KIND.skip(job):
            return True
        namespace = job.metadata.namespace
        view = self._around.view
        wanted = [f"{job.metadata.name}-{number}" for number in range(replicas(job))]
        pods = self.live_pods(namespace, wanted)
        name = KIND.workload_name(job, view.settings)
        workload: Workload | None = self._cluster.get(Workload.KIND, namespace, name)
        actions: list[Any] = []
        if is_managed(job.metadata, view.settings):
            actions = stateful_set_reconciler.reconcile(
                job, workload, pods.values(), view, self._around.clock.now
            )
        if not self._around.actions.carry_out(actions):
            return False
        for pod in list(self._cluster.dependents(job.metadata.uid or "")):
            if isinstance(pod, Pod) and pod.metadata.name not in wanted:
                self._cluster.delete(Pod.KIND, namespace, pod.metadata.name)
        template = opened(job.spec.template)
        for number, each in enumerate(wanted):
            if each not in pods:
                labels = {POD_INDEX: str(number), POD_NAME: each, pod_names.REVISION_LABEL: job.metadata.name}
                made = made_pod(template, each, job, labels=labels)
                self.create_pod(made, lambda pod: KIND.default_pod(job, pod, name, view.settings))
        self.tell_status(job, StatefulSetStatus(), pods.values())
        return True
