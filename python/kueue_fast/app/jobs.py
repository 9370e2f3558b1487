"""Runs the job reconciler on the jobs of one object, of all kinds that are on, and on the Workloads they own.

Source: JS-041, JS-060..079.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kueue_fast.api.kueue import Workload
from kueue_fast.api.ray import RayCluster
from kueue_fast.app.events import Events, recorder_name
from kueue_fast.app.steps import Steps
from kueue_fast.app.view import LiveView
from kueue_fast.cluster.changes import Change, Key, WatchEvent, key_of
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.writer import Writer
from kueue_fast.jobs import reconciler
from kueue_fast.jobs.actions import GroupAction
from kueue_fast.jobs.ancestors import Ancestors, controller_of
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.next_step import next_step
from kueue_fast.jobs.registry import Registry
from kueue_fast.jobs.validation import prebuilt_name

__all__ = ["JobController"]


class JobController:
    """`integrations` by kind: those that are on, of one object each."""

    def __init__(
        self,
        cluster: KubeCluster,
        writer: Writer,
        recorder: Events,
        view: LiveView,
        registry: Registry,
        integrations: Mapping[str, Integration[Any]],
        now: Callable[[], int],
    ) -> None:
        self._cluster = cluster
        self._view = view
        self._ancestors = Ancestors(cluster.get, registry, view.settings)
        self._integrations = integrations
        self._now = now
        self._steps = Steps(cluster, writer, recorder, self._recorder, self._decide, now)
        # Namespace and name of Workloads that are not there, to the jobs that want them.
        self._wanted: dict[tuple[str, str], set[Key]] = {}
        # What admission checks said last of a job, by its key.
        self._said: dict[Key, str] = {}

    def start(self) -> None:
        """Look at every job there is, and from now on at those that change."""
        for kind in self._integrations:
            self._cluster.watch(kind, self._on_job)
        if RayCluster.KIND not in self._integrations:
            self._cluster.watch(RayCluster.KIND, self._on_ray_cluster)
        self._cluster.watch(Workload.KIND, self._on_workload)
        for kind in self._integrations:
            for job in list(self._cluster.list(kind)):
                self._steps.ask(key_of(job))
        # Jobs may have gone while nobody led.
        for workload in list(self._cluster.list(Workload.KIND)):
            self._on_workload(WatchEvent(Change.ADDED, workload, None))

    def stop(self) -> None:
        """Take no more steps."""
        self._steps.stop()

    def _recorder(self, key: Key) -> str:
        found = self._integrations.get(key[0])
        return recorder_name(found.framework if found is not None else "")

    def _on_job(self, event: WatchEvent) -> None:
        job = event.object
        if event.change is Change.DELETED:
            self._said.pop(key_of(job), None)
            for each in list(self._cluster.dependents(job.metadata.uid or "")):
                if each.KIND == Workload.KIND or each.KIND in self._integrations:
                    self._steps.ask(key_of(each))
            return
        self._steps.ask(key_of(job))
        if job.KIND == RayCluster.KIND:
            self._on_ray_cluster(event)

    def _on_ray_cluster(self, event: WatchEvent) -> None:
        """The size of an elastic RayJob or RayService is that of its cluster (JS-026)."""
        cluster: RayCluster = event.object
        owner = controller_of(cluster.metadata)
        if owner is not None and owner.kind in self._integrations:
            self._steps.ask((owner.kind, cluster.metadata.namespace or "", owner.name))

    def _on_workload(self, event: WatchEvent) -> None:
        workload: Workload = event.object
        namespace = workload.metadata.namespace or ""
        if event.change is Change.ADDED and self._wanted:
            for key in self._wanted.pop((namespace, workload.metadata.name), ()):
                self._steps.ask(key)
        owner = controller_of(workload.metadata)
        found = None if owner is None else self._integrations.get(owner.kind)
        if owner is None or found is None or owner.api_version != found.api_version:
            return
        if not self._cluster.knows(owner.kind):
            # An API server that starts says for a moment that it does not serve what CRDs define.
            return
        if self._cluster.by_uid(owner.uid) is None:
            if event.change is not Change.DELETED:
                self._steps.ask(key_of(workload))
            return
        self._steps.ask((owner.kind, namespace, owner.name))
        # Jobs that the owner has made follow its Workload.
        for each in self._cluster.dependents(owner.uid):
            if each.KIND in self._integrations:
                self._steps.ask(key_of(each))

    def _decide(self, key: Key) -> Sequence[GroupAction]:
        found = self._cluster.get(*key)
        if found is None or not self._view.manages(key[1]):
            return ()
        now = self._now()
        if isinstance(found, Workload):
            owner = controller_of(found.metadata)
            if owner is None or self._cluster.by_uid(owner.uid) is not None:
                return ()
            action = reconciler.finalize(found, self._view.settings, now)
            return () if action is None else (action,)
        integration = self._integrations[key[0]]
        name = prebuilt_name(found.metadata, self._view.settings)
        if name and self._cluster.get(Workload.KIND, key[1], name) is None:
            self._wanted.setdefault((key[1], name), set()).add(key)
        step = next_step(found, integration, self._ancestors.of, self._cluster, self._view, now)
        if not step.actions:
            self._tell_checks(key, found, integration, step.workload, now)
        later = reconciler.next_look(step.workload, self._view.settings, now)
        if later is not None:
            self._steps.at(key, later)
        return step.actions

    def _tell_checks(
        self, key: Key, job: Any, integration: Integration[Any], workload: Workload | None, now: int
    ) -> None:
        """What admission checks say of a job that waits, as long as it is news. Source: JS-089."""
        event = reconciler.checks_event(job, integration, workload, now)
        if event is None:
            self._said.pop(key, None)
        elif self._said.get(key) != event.message:
            self._said[key] = event.message
            self._steps.record(key, event)
