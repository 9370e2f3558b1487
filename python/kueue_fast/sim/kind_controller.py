"""Runs the job reconciler on the kinds of one object that is suspended and released, and has their runs played."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.api.ray import RayCluster, RayJob, RayService
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.jobs import reconciler
from kueue_fast.jobs.ancestors import controller_of
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.next_step import next_step, owned_workloads
from kueue_fast.jobs.reconciler import View
from kueue_fast.jobs.roles import Role
from kueue_fast.sim.check_words import CheckWords
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.housekeeping import Housekeeping
from kueue_fast.sim.kind_actions import Actions
from kueue_fast.sim.kind_ancestors import Ancestors
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
        self._prebuilt = Prebuilt(cluster, view.settings, self._again)

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
        workload = next(iter(owned_workloads(self._cluster, job.metadata)), None)
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
        self._prebuilt.note(current)
        now = self._clock.now
        step = next_step(current, integration, self._ancestors.of, self._cluster, self._view, now)
        later = reconciler.next_look(step.workload, self._view.settings, now)
        if later is not None:
            self._housekeeping.schedule(later, self._again, key)
        if not step.actions:
            self._check_words.tell(current, integration, step.workload, now)
        elif not self._actions.carry_out(step.actions):
            self._later.ask(key)
