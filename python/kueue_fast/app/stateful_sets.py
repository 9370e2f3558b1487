"""Runs the reconciler of StatefulSets: one Workload for all pods, which join its group.

Source: JS-391, JS-393..395, JS-397.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from kueue_fast.api.apps import StatefulSet
from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.app.events import Events, recorder_name
from kueue_fast.app.steps import Steps
from kueue_fast.app.view import LiveView
from kueue_fast.cluster.changes import Change, Key, WatchEvent, key_of
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.writer import Writer
from kueue_fast.jobs import pod_names
from kueue_fast.jobs.actions import GroupAction, UpdatePod
from kueue_fast.jobs.ancestors import controller_of
from kueue_fast.jobs.pod_facts import group_name
from kueue_fast.jobs.stateful_set import StatefulSets
from kueue_fast.jobs.stateful_set_reconciler import reconcile

__all__ = ["StatefulSetController"]

KIND: Final = StatefulSets()


class StatefulSetController:
    """Keys are StatefulSets and their pods. What happens to a Workload is no reason to look: the pods' group does."""

    def __init__(
        self,
        cluster: KubeCluster,
        writer: Writer,
        recorder: Events,
        view: LiveView,
        now: Callable[[], int],
    ) -> None:
        self._cluster = cluster
        self._view = view
        self._now = now
        self._steps = Steps(
            cluster, writer, recorder, lambda _: recorder_name(KIND.framework), self._decide, now
        )

    def start(self) -> None:
        """Look at every StatefulSet and pod there is, and from now on at those that change."""
        self._cluster.watch(StatefulSet.KIND, self._on_set)
        self._cluster.watch(Pod.KIND, self._on_pod)
        for job in list(self._cluster.list(StatefulSet.KIND)):
            self._steps.ask(key_of(job))
        for pod in list(self._cluster.list(Pod.KIND)):
            self._on_pod(WatchEvent(Change.ADDED, pod, None))

    def stop(self) -> None:
        """Take no more steps."""
        self._steps.stop()

    def _on_set(self, event: WatchEvent) -> None:
        self._steps.ask(key_of(event.object))

    def _on_pod(self, event: WatchEvent) -> None:
        pod: Pod = event.object
        parent = (pod.metadata.annotations or {}).get(pod_names.SUSPENDING_PARENT)
        if event.change is Change.DELETED or parent != KIND.framework:
            return
        self._steps.ask(key_of(pod))
        owner = self._owner(pod)
        if event.change is Change.ADDED and owner is not None:
            self._steps.ask(key_of(owner))

    def _decide(self, key: Key) -> Sequence[GroupAction]:
        found = self._cluster.get(*key)
        if found is None or not self._view.manages(key[1]):
            return ()
        if isinstance(found, Pod):
            return self._pod(found)
        if found.metadata.deletion_timestamp or KIND.skip(found):
            return ()
        name, workload = self._workload(found)
        pods = [
            each
            for each in self._cluster.dependents(found.metadata.uid or "", Pod.KIND)
            if group_name(each.metadata, self._view.settings) == name
        ]
        return reconcile(found, workload, pods, self._view, self._now())

    def _pod(self, pod: Pod) -> Sequence[GroupAction]:
        job = self._owner(pod)
        name = self._workload(job)[0] if job is not None else ""
        changed = KIND.default_pod(job, pod, name, self._view.settings)
        return () if changed is pod else (UpdatePod(changed, None),)

    def _owner(self, pod: Pod) -> StatefulSet | None:
        owner = controller_of(pod.metadata)
        if owner is None or (owner.api_version, owner.kind) != (KIND.api_version, KIND.kind):
            return None
        found: StatefulSet | None = self._cluster.get(StatefulSet.KIND, pod.metadata.namespace, owner.name)
        return found

    def _workload(self, job: StatefulSet) -> tuple[str, Workload | None]:
        """Name of its Workload and the Workload: the one that an earlier version made while there is only that one.

        Source: JS-393.
        """
        settings = self._view.settings
        name = KIND.workload_name(job, settings)
        for each in (name, KIND.legacy_workload_name(job, settings)):
            found: Workload | None = self._cluster.get(Workload.KIND, job.metadata.namespace, each)
            if found is not None:
                return each, found
        return name, None
