"""Runs the reconciler of LeaderWorkerSets: a Workload for each group, and pods that join them.

Source: JS-416..422.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from kueue_fast.api.apps import StatefulSet
from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.api.leaderworkerset import LeaderWorkerSet
from kueue_fast.app.events import Events, recorder_name
from kueue_fast.app.steps import Steps
from kueue_fast.app.view import LiveView
from kueue_fast.cluster.changes import Change, Key, WatchEvent, key_of
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.writer import Writer
from kueue_fast.jobs.actions import GroupAction, UpdatePod
from kueue_fast.jobs.ancestors import controller_of
from kueue_fast.jobs.leader_worker_set import NAME_LABEL, LeaderWorkerSets
from kueue_fast.jobs.leader_worker_set_reconciler import is_own_pod, reconcile_pod, reconcile_workloads
from kueue_fast.jobs.workload import is_managed

__all__ = ["LeaderWorkerSetController"]

FRAMEWORK: Final = LeaderWorkerSets.framework


class LeaderWorkerSetController:
    """Keys are sets and their pods. Workloads of a set that is gone are let go with their pods."""

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
        self._steps = Steps(cluster, writer, recorder, lambda _: recorder_name(FRAMEWORK), self._decide, now)

    def start(self) -> None:
        """Look at every set and pod there is, and from now on at those that change."""
        self._cluster.watch(LeaderWorkerSet.KIND, self._on_set)
        self._cluster.watch(Pod.KIND, self._on_pod)
        self._cluster.watch(Workload.KIND, self._on_workload)
        for job in list(self._cluster.list(LeaderWorkerSet.KIND)):
            self._steps.ask(key_of(job))
        for pod in list(self._cluster.list(Pod.KIND)):
            self._on_pod(WatchEvent(Change.ADDED, pod, None))

    def stop(self) -> None:
        """Take no more steps."""
        self._steps.stop()

    def _on_set(self, event: WatchEvent) -> None:
        job: LeaderWorkerSet = event.object
        self._steps.ask(key_of(job))
        for pod in self._cluster.list(Pod.KIND, job.metadata.namespace):
            if is_own_pod(pod) and (pod.metadata.labels or {}).get(NAME_LABEL) == job.metadata.name:
                self._steps.ask(key_of(pod))

    def _on_pod(self, event: WatchEvent) -> None:
        if event.change is not Change.DELETED and is_own_pod(event.object):
            self._steps.ask(key_of(event.object))

    def _on_workload(self, event: WatchEvent) -> None:
        for owner in event.object.metadata.owner_references or ():
            if owner.kind == LeaderWorkerSet.KIND and self._cluster.by_uid(owner.uid) is not None:
                self._steps.ask((owner.kind, event.object.metadata.namespace or "", owner.name))

    def _decide(self, key: Key) -> Sequence[GroupAction]:
        found = self._cluster.get(*key)
        if found is None or not self._view.manages(key[1]):
            return ()
        if isinstance(found, Pod):
            return self._pod(found)
        if found.metadata.deletion_timestamp or not is_managed(found.metadata, self._view.settings):
            return ()
        # It owns its Workloads without controlling them.
        workloads = list(self._cluster.dependents(found.metadata.uid or "", Workload.KIND))
        return reconcile_workloads(found, workloads, self._view, self._now())

    def _pod(self, pod: Pod) -> Sequence[GroupAction]:
        name = (pod.metadata.labels or {}).get(NAME_LABEL, "")
        job: LeaderWorkerSet | None = self._cluster.get(LeaderWorkerSet.KIND, pod.metadata.namespace, name)
        owner = controller_of(pod.metadata)
        stateful_set: StatefulSet | None = None
        if owner is not None and owner.kind == StatefulSet.KIND:
            stateful_set = self._cluster.get(StatefulSet.KIND, pod.metadata.namespace, owner.name)
        changed = reconcile_pod(job, stateful_set, pod, self._view.settings)
        return () if changed is pod else (UpdatePod(changed, None),)
