"""Runs the job reconciler on the Jobs of the cluster and on the Workloads that they own.

One step at a time for each job: the next is taken when the last was written and has come back, or has failed.

Source: JS-060..079, OP-720.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from kueue_fast.api.batch import Job
from kueue_fast.api.core import Namespace, PriorityClass
from kueue_fast.api.kueue import ResourceFlavor, Workload, WorkloadPriorityClass
from kueue_fast.api.meta import LabelSelector
from kueue_fast.app.events import JOBS, Events
from kueue_fast.cluster.changes import Change, Key, WatchEvent, describe, key_of
from kueue_fast.cluster.errors import AlreadyExistsError, ClusterError, ConflictError
from kueue_fast.cluster.kube import patches, workload_status
from kueue_fast.cluster.kube.backoff import Backoff
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.writer import Write, Writer
from kueue_fast.errors import InputError
from kueue_fast.jobs import reconciler
from kueue_fast.jobs.job import BatchJob
from kueue_fast.jobs.job_writes import next_write
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.lifecycle.events import Event
from kueue_fast.lifecycle.finish import is_finished
from kueue_fast.model.selectors import selects

__all__ = ["JobController"]

BATCH_JOB: Final = BatchJob()
RETRY: Final = Backoff(0.1, 60.0)

log = logging.getLogger("jobs")


class JobController:
    """`selector` says in which namespaces jobs are managed, by their labels; None: in all."""

    def __init__(
        self,
        cluster: KubeCluster,
        writer: Writer,
        recorder: Events,
        settings: JobSettings,
        selector: LabelSelector | None,
        now: Callable[[], int],
    ) -> None:
        self._cluster = cluster
        self._writer = writer
        self._events = recorder
        self._settings = settings
        self._selector = selector
        self._now = now
        # Jobs whose last step is being written; True: look again when that is done.
        self._writing: dict[Key, bool] = {}
        self._failures: dict[Key, int] = {}
        self._stopped = False

    @property
    def settings(self) -> JobSettings:
        """Configuration and gates."""
        return self._settings

    @property
    def workload_classes(self) -> Mapping[str, WorkloadPriorityClass]:
        """WorkloadPriorityClasses by name."""
        return {each.metadata.name: each for each in self._cluster.list(WorkloadPriorityClass.KIND)}

    @property
    def pod_classes(self) -> Mapping[str, PriorityClass]:
        """PriorityClasses by name."""
        return {each.metadata.name: each for each in self._cluster.list(PriorityClass.KIND)}

    def flavor(self, name: str) -> ResourceFlavor | None:
        """A ResourceFlavor by name."""
        found: ResourceFlavor | None = self._cluster.get(ResourceFlavor.KIND, None, name)
        return found

    def start(self) -> None:
        """Look at every Job there is, and from now on at those that change."""
        self._cluster.watch(Job.KIND, self._on_job)
        self._cluster.watch(Workload.KIND, self._on_workload)
        for job in list(self._cluster.list(Job.KIND)):
            self._look(key_of(job))

    def stop(self) -> None:
        """Take no more steps."""
        self._stopped = True

    def _on_job(self, event: WatchEvent) -> None:
        if event.change is not Change.DELETED:
            self._look(key_of(event.object))
            return
        for workload in list(self._cluster.dependents(event.object.metadata.uid or "")):
            if workload.KIND == Workload.KIND:
                self._finalize(workload)

    def _on_workload(self, event: WatchEvent) -> None:
        workload: Workload = event.object
        for owner in workload.metadata.owner_references or ():
            if owner.controller and owner.kind == Job.KIND and owner.api_version == Job.API_VERSION:
                if self._cluster.by_uid(owner.uid) is not None:
                    self._look((Job.KIND, workload.metadata.namespace or "", owner.name))
                elif event.change is not Change.DELETED:
                    self._finalize(workload)

    def _look(self, key: Key) -> None:
        """The next step of a job."""
        if self._stopped:
            return
        if key in self._writing:
            self._writing[key] = True
            return
        job: Job | None = self._cluster.get(*key)
        if job is None or not self._managed(key[1]):
            return
        owned = [
            each for each in self._cluster.dependents(job.metadata.uid or "") if each.KIND == Workload.KIND
        ]
        # What ended does not count while there is another one.
        workload: Workload | None = min(owned, key=is_finished, default=None)
        try:
            action = reconciler.reconcile(job, BATCH_JOB, workload, self, self._now())
        except (InputError, LookupError) as error:
            log.warning("%s: %s", describe(key), error)
            self._again(key)
            return
        if action is not None:
            self._carry_out(key, job, workload, action)

    def _finalize(self, workload: Workload) -> None:
        key = key_of(workload)
        if self._stopped or key in self._writing or not self._managed(key[1]):
            return
        action = reconciler.finalize(workload, self._now())
        if action is not None:
            self._carry_out(key, None, workload, action)

    def _managed(self, namespace: str) -> bool:
        if self._selector is None:
            return True
        found: Namespace | None = self._cluster.get(Namespace.KIND, None, namespace)
        return found is not None and selects(self._selector, found.metadata.labels)

    def _carry_out(self, key: Key, job: Job | None, workload: Workload | None, action: Any) -> None:
        writes: list[Write | None]
        event: Event | None
        match action:
            case reconciler.CreateWorkload(new, event):
                writes = [patches.create(new)]
            case reconciler.UpdateJob(changed, event):
                assert job is not None
                # The watch brings the job back for what is left.
                changed = next_write(job, changed)
                writes = [patches.update(job, changed) or patches.update_status(job, changed)]
                if job.spec.suspend and changed.spec.suspend:
                    # That it was stopped has been told when it was.
                    event = None
            case reconciler.UpdateWorkload(changed, event):
                assert workload is not None
                writes = [patches.update(workload, changed)]
            case reconciler.UpdateWorkloadStatus(changed, event):
                writes = status_writes(workload, changed)
            case _:
                raise AssertionError(action)
        futures = [self._writer.submit(write) for write in writes if write is not None]
        if not futures:
            return
        self._writing[key] = False
        whole = asyncio.gather(*futures)
        whole.add_done_callback(lambda done: self._written(key, done, event))

    def _written(self, key: Key, done: asyncio.Future[list[bytes | None]], event: Event | None) -> None:
        again = self._writing.pop(key)
        error = None if done.cancelled() else done.exception()
        if error is None and not done.cancelled():
            self._failures.pop(key, None)
            if event is not None:
                self._events.record(JOBS[Job.KIND], event)
            if again and key[0] == Job.KIND:
                self._look(key)
            return
        # What was looked at was old, or the object is there: its watch brings the job back.
        if isinstance(error, (ConflictError, AlreadyExistsError)) and not again:
            return
        if isinstance(error, ClusterError) and key[0] == Job.KIND:
            self._again(key)
        elif error is not None and not isinstance(error, ClusterError):
            raise error

    def _again(self, key: Key) -> None:
        if self._stopped:
            return
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        asyncio.get_running_loop().call_later(RETRY.wait_s(failures), self._look, key)


def status_writes(workload: Workload | None, changed: Workload) -> list[Write | None]:
    """Statuses by the managers they belong to: reclaimable pods have one of their own."""
    before = (
        workload.status.reclaimable_pods if workload is not None and workload.status is not None else None
    )
    after = changed.status.reclaimable_pods if changed.status is not None else None
    if (before or []) != (after or []):
        return [workload_status.reclaimable_pods(changed)]
    return [workload_status.admission(changed)]
