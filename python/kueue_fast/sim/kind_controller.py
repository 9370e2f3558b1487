"""Runs the job reconciler on the kinds of one object that is suspended and released, and has their runs played."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import KubernetesObject, ObjectMeta
from kueue_fast.api.ray import RayCluster, RayJob, RayService
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.jobs import elastic, reconciler
from kueue_fast.jobs.ancestors import controller_of
from kueue_fast.jobs.children import hold_child
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.reconciler import View
from kueue_fast.jobs.roles import Role
from kueue_fast.jobs.validation import is_elastic
from kueue_fast.sim.check_words import CheckWords
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.housekeeping import Housekeeping
from kueue_fast.sim.kind_actions import Actions
from kueue_fast.sim.kind_ancestors import Ancestors, own_workloads
from kueue_fast.sim.kind_later import Later
from kueue_fast.sim.kind_made_pods import MadePods, placed_pods
from kueue_fast.sim.kind_runner import KindRunner
from kueue_fast.sim.prebuilt import Prebuilt

__all__ = ["KindController", "PlayedKind"]

# Their pods are those of a RayCluster, which makes them itself.
RAY_KINDS = (RayCluster.KIND, RayJob.KIND, RayService.KIND)


class PlayedKind(Integration[Any], Protocol):
    """An integration whose pod sets are roles of a job."""

    def roles(self, job: Any) -> list[Role]:
        """The roles, in the order of the pod sets. Raises InputError for a job that makes none."""
        ...


class KindController:
    """One for all kinds: `integrations` by kind say what is special."""

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        integrations: dict[str, PlayedKind],
        view: View,
        ancestors: Ancestors,
        runner: KindRunner,
        actions: Actions,
        pods: MadePods,
        housekeeping: Housekeeping,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._integrations = integrations
        self._view = view
        self._ancestors = ancestors
        self._runner = runner
        self._actions = actions
        self._pods = pods
        self._housekeeping = housekeeping
        self._later = Later(clock, self._again)
        for kind, integration in integrations.items():
            cluster.watch(kind, partial(self.on_job, integration))
        cluster.watch(Workload.KIND, self.on_workload)
        self._check_words = CheckWords(actions.record)
        self._prebuilt = Prebuilt(cluster, clock, view, actions, self._again)

    def on_job(self, integration: PlayedKind, event: WatchEvent) -> None:
        """A job changed: play its run, then take the next step."""
        job: Any = event.object
        uid = job.metadata.uid or ""
        if event.change is Change.DELETED:
            self._runner.stopped(uid)
            self._pods.end(uid)
            return
        was_held = event.old is None or integration.suspended(event.old)
        held = integration.suspended(job)
        if held and not was_held:
            self._runner.stopping(job)
        elif was_held and not held and integration.finished(job) is None:
            # What the event carries may be older than what is stored by now.
            current = self._cluster.get(job.KIND, job.metadata.namespace, job.metadata.name)
            if current is not None and not integration.suspended(current):
                self._start(current, integration)
        if (held or integration.finished(job) is not None) and not integration.active(job):
            self._pods.end(uid)
        self._reconcile(job, integration)
        if job.KIND == RayCluster.KIND:
            self._tell_owner(job)

    def restart(self) -> None:
        """Every job takes its next step; what runs goes on meanwhile."""
        self._prebuilt.restart()
        for kind, integration in self._integrations.items():
            for job in list(self._cluster.list(kind)):
                self._reconcile(job, integration)

    def on_workload(self, event: WatchEvent) -> None:
        """A Workload changed: its job takes the next step."""
        for owner in event.object.metadata.owner_references or ():
            integration = self._integrations.get(owner.kind)
            job = self._cluster.by_uid(owner.uid) if owner.controller and integration is not None else None
            if job is not None and integration is not None:
                self._reconcile(job, integration)

    def _tell_owner(self, cluster: RayCluster) -> None:
        """The size of a RayJob or RayService is that of its cluster. Source: JS-026."""
        owner = controller_of(cluster.metadata)
        integration = None if owner is None else self._integrations.get(owner.kind)
        job = None if owner is None or integration is None else self._cluster.by_uid(owner.uid)
        if job is not None and integration is not None:
            self._reconcile(job, integration)

    def _start(self, job: Any, integration: PlayedKind) -> None:
        if integration.skip(job, self._view.settings):
            return
        self._runner.started(job, integration.roles(job))
        workload = next(iter(own_workloads(self._cluster, job.metadata)), None)
        if workload is not None and job.KIND not in RAY_KINDS:
            view = self._view
            self._pods.make(job, placed_pods(job.metadata.name, workload, view.flavor, view.settings))

    def _again(self, key: tuple[str, str, str]) -> None:
        job = self._cluster.get(*key)
        if job is not None and job.KIND in self._integrations:
            self._reconcile(job, self._integrations[job.KIND])

    def _reconcile(self, job: KubernetesObject, integration: Integration[Any]) -> None:
        key = job.KIND, job.metadata.namespace or "", job.metadata.name
        current = self._cluster.get(*key)
        if current is None:
            return
        action: Any
        above = self._ancestors.of(current.metadata)
        if above is not None:
            action = self._hold_child(current, integration, above)
        elif elastic.is_elastic_job(current, integration, self._view):
            action = self._next_slice_step(current, integration)
        else:
            workload, written = self._prebuilt.find(current, integration)
            if written:
                return
            later = reconciler.next_look(workload, self._view.settings, self._clock.now)
            if later is not None:
                self._housekeeping.schedule(later, self._again, key)
            action = reconciler.reconcile(current, integration, workload, self._view, self._clock.now)
            if action is None:
                self._check_words.tell(current, integration, workload, self._clock.now)
        if action is not None and not self._actions.carry_out((action,)):
            self._later.ask(key)

    def _hold_child(self, job: Any, integration: Integration[Any], above: ObjectMeta) -> Any:
        sliced = any(is_elastic(each, self._view.settings) for each in (job.metadata, above))
        workloads = own_workloads(self._cluster, above)
        return hold_child(job, integration, workloads, self._clock.now, elastic=sliced)

    def _next_slice_step(self, job: Any, integration: Integration[Any]) -> Any:
        workloads = own_workloads(self._cluster, job.metadata)
        try:
            action = elastic.reconcile(job, integration, workloads, self._view, self._clock.now)
        except elastic.TooManySlicesError:
            return None  # The end of one of them brings the job back.
        if isinstance(action, reconciler.CreateWorkload):
            # The name of a slice is taken when one of the same generation of the job has ended: Kueue tries again and
            # again until the job changes.
            metadata = action.workload.metadata
            if self._cluster.get(Workload.KIND, metadata.namespace, metadata.name) is not None:
                return None
        return action
