"""The controller of Jobs of the simulated cluster: it hears of changes, and writes what its pure function says.

In order of registration, so also of hearing: the engine, the Workload controller, the job reconciler. Nothing
is written into the engine by hand: what a cycle decides goes to the cluster, and comes to the engine from
there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kueue_fast.api.batch import Job
from kueue_fast.api.core import PriorityClass
from kueue_fast.api.kueue import ResourceFlavor, Workload, WorkloadPriorityClass
from kueue_fast.api.meta import ObjectMeta
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.jobs import elastic, reconciler
from kueue_fast.jobs.job import BatchJob
from kueue_fast.jobs.next_step import next_step, owned_workloads
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.lifecycle.elastic_gates import releasing_slice
from kueue_fast.lifecycle.events import Event
from kueue_fast.lifecycle.slices import pod_counts
from kueue_fast.sim.check_words import CheckWords
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.housekeeping import Housekeeping
from kueue_fast.sim.kind_actions import Actions
from kueue_fast.sim.kind_ancestors import Ancestors
from kueue_fast.sim.prebuilt import Prebuilt
from kueue_fast.sim.runner import PodRunner

__all__ = ["SYSTEM_PRIORITY_CLASSES", "JobController"]

# Classes that every cluster has.
SYSTEM_PRIORITY_CLASSES: Final = (
    PriorityClass(metadata=ObjectMeta(name="system-cluster-critical"), value=2_000_000_000),
    PriorityClass(metadata=ObjectMeta(name="system-node-critical"), value=2_000_001_000),
)
BATCH_JOB: Final = BatchJob()


class JobController:
    """Runs the job reconciler on Jobs and on the Workloads that they own, and tells the pods to run."""

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        settings: JobSettings,
        runner: PodRunner,
        record: Callable[[Event], None],
        ancestors: Ancestors,
        housekeeping: Housekeeping,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._settings = settings
        self._housekeeping = housekeeping
        self._runner = runner
        self._ancestors = ancestors
        self._workload_classes: dict[str, WorkloadPriorityClass] = {}
        self._pod_classes: dict[str, PriorityClass] = {}
        cluster.watch(WorkloadPriorityClass.KIND, self.on_priority_class)
        cluster.watch(PriorityClass.KIND, self.on_priority_class)
        cluster.watch(Job.KIND, self.on_job)
        cluster.watch(Workload.KIND, self.on_workload)
        self._check_words = CheckWords(record)
        self._actions = Actions(cluster, record)
        self._prebuilt = Prebuilt(cluster, settings, self._again)

    @property
    def settings(self) -> JobSettings:
        """Configuration and gates."""
        return self._settings

    @property
    def workload_classes(self) -> Mapping[str, WorkloadPriorityClass]:
        """WorkloadPriorityClasses by name."""
        return self._workload_classes

    @property
    def pod_classes(self) -> Mapping[str, PriorityClass]:
        """PriorityClasses by name."""
        return self._pod_classes

    def flavor(self, name: str) -> ResourceFlavor | None:
        """A ResourceFlavor by name."""
        found: ResourceFlavor | None = self._cluster.get(ResourceFlavor.KIND, None, name)
        return found

    def on_priority_class(self, event: WatchEvent) -> None:
        """Keep the classes by name."""
        found: Any = event.object
        classes: dict[str, Any] = (
            self._pod_classes if found.KIND == PriorityClass.KIND else self._workload_classes
        )
        if event.change is Change.DELETED:
            classes.pop(found.metadata.name, None)
        else:
            classes[found.metadata.name] = found

    def restart(self) -> None:
        """Every Job takes its next step; their pods go on meanwhile."""
        self._workload_classes.clear()
        self._pod_classes.clear()
        for kind in (WorkloadPriorityClass.KIND, PriorityClass.KIND):
            self._cluster.relist(kind, self.on_priority_class)
        self._prebuilt.restart()
        for job in list(self._cluster.list(Job.KIND)):
            self._reconcile(job.metadata)

    def on_job(self, event: WatchEvent) -> None:
        """A Job changed: play its pods, then take the next step."""
        job: Job = event.object
        if event.change is Change.DELETED:
            self._runner.stopped(job.metadata.uid or "")
            for workload in self._workloads_of(job):
                self._finalize(workload)
            return
        was_held = event.old is None or bool(event.old.spec.suspend)
        if job.spec.suspend and not was_held:
            self._runner.job_stopping(job)
        elif was_held and not job.spec.suspend and BATCH_JOB.finished(job) is None:
            # What the event carries may be older than what is stored by now.
            current: Job | None = self._cluster.get(Job.KIND, job.metadata.namespace, job.metadata.name)
            if current is not None and not current.spec.suspend:
                self._runner.job_started(current)
        self._reconcile(job.metadata)

    def on_workload(self, event: WatchEvent) -> None:
        """A Workload changed: its job takes the next step. Of what has changed since, one hears later."""
        if self._cluster.is_outdated(event.object):
            return
        job = job_of(self._cluster, event.object)
        if job is not None:
            self._reconcile(job.metadata)

    def _again(self, key: Any) -> None:
        job: Job | None = self._cluster.get(*key)
        if job is not None:
            self._reconcile(job.metadata)

    def _reconcile(self, metadata: ObjectMeta) -> None:
        job: Job | None = self._cluster.get(Job.KIND, metadata.namespace, metadata.name)
        if job is None or self._ancestors.has_one(job.metadata):
            return
        if elastic.is_elastic_job(job, BATCH_JOB, self) and self._release_pods(job, self._workloads_of(job)):
            return  # Its own write comes back here.
        self._prebuilt.note(job)
        now = self._clock.now
        step = next_step(job, BATCH_JOB, self._ancestors.of, self._cluster, self, now)
        if step.actions:
            self._actions.carry_out(step.actions)
            return
        self._check_words.tell(job, BATCH_JOB, step.workload, now)
        later = reconciler.next_look(step.workload, self._settings, now)
        if later is not None:
            self._housekeeping.schedule(later, self._again, (job.KIND, metadata.namespace, metadata.name))

    def _release_pods(self, job: Job, workloads: list[Workload]) -> bool:
        """As many pods of a running elastic Job go to nodes as its active slice was given; whether that is news."""
        if (
            job.spec.suspend
            or BATCH_JOB.finished(job) is not None
            or not (job.status and job.status.start_time)
        ):
            return False
        active = releasing_slice(workloads, slices=self._settings.elastic_jobs)
        granted = 0 if active is None else sum(pod_counts(active.spec.pod_sets).values())
        return self._runner.job_pods(job, granted)

    def _workloads_of(self, job: Job) -> list[Workload]:
        return owned_workloads(self._cluster, job.metadata)

    def _finalize(self, workload: Workload) -> None:
        """The job is gone: end its Workload and let it go."""
        current: Workload | None = workload
        while current is not None:
            match reconciler.finalize(current, self._settings, self._clock.now):
                case reconciler.UpdateWorkloadStatus(changed, _):
                    self._cluster.update_status(changed)
                case reconciler.UpdateWorkload(changed, _):
                    self._cluster.update(changed)
                case _:
                    return
            current = self._cluster.get(Workload.KIND, workload.metadata.namespace, workload.metadata.name)


def job_of(cluster: MemoryCluster, workload: Workload) -> Job | None:
    """The Job that a Workload belongs to, None when it has none in this cluster."""
    for owner in workload.metadata.owner_references or ():
        if owner.controller and owner.kind == Job.KIND and owner.api_version == Job.API_VERSION:
            found = cluster.by_uid(owner.uid)
            return found if isinstance(found, Job) else None
    return None
