"""Carries out what reconcilers decide, one step at a time, and records the events of what was written.

Source: OP-720, JS-164, JS-346.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from kueue_fast.api.batch import Job
from kueue_fast.api.kueue import Workload, WorkloadStatus
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.app.events import Events
from kueue_fast.app.looks import Looks
from kueue_fast.cluster.changes import Key
from kueue_fast.cluster.kube import patches, workload_status
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.writer import Write, Writer
from kueue_fast.errors import KueueFastError
from kueue_fast.jobs import reconciler
from kueue_fast.jobs.actions import (
    DeletePod,
    DeleteWorkload,
    GroupAction,
    RecordEvent,
    ReleaseWorkload,
    UpdatePod,
)
from kueue_fast.jobs.job_writes import next_write
from kueue_fast.lifecycle.events import Event
from kueue_fast.lifecycle.retention import FINALIZER, without_finalizer
from kueue_fast.model import conditions

__all__ = ["Steps"]

OF_PODS: Final = (DeletePod, UpdatePod)
OF_WORKLOADS: Final = (ReleaseWorkload, reconciler.UpdateWorkload, reconciler.UpdateWorkloadStatus)

log = logging.getLogger("jobs")


class Steps:
    """`decide` says what to do for a key; `controller` names who records the events.

    Errors of the input, and flavors that are not there, are retried with growing waits.
    """

    def __init__(
        self,
        cluster: KubeCluster,
        writer: Writer,
        recorder: Events,
        controller: Callable[[Key], str],
        decide: Callable[[Key], Sequence[GroupAction]],
        now: Callable[[], int],
    ) -> None:
        self._cluster = cluster
        self._writer = writer
        self._events = recorder
        self._controller = controller
        self._decide = decide
        self._looks = Looks(self._look, now)

    def stop(self) -> None:
        """Take no more steps."""
        self._looks.stop()

    def ask(self, key: Key) -> None:
        """Have the key looked at."""
        self._looks.ask(key)

    def at(self, key: Key, time_ns: int) -> None:
        """Have the key looked at when it is time."""
        self._looks.at(key, time_ns)

    def record(self, key: Key, event: Event) -> None:
        """Record an event that comes with no write."""
        self._events.record(self._controller(key), event)

    def _look(self, key: Key) -> None:
        try:
            actions = self._decide(key)
        except (KueueFastError, LookupError) as error:
            log.warning("%s: %s", "/".join(filter(None, key)), error)
            return self._looks.again(key)
        futures: list[asyncio.Future[Any]] = []
        for number, action in enumerate(actions):
            if futures and isinstance(action, OF_WORKLOADS) and isinstance(actions[number - 1], OF_PODS):
                futures = [self._then(key, futures, actions[number:])]
                break
            written = self._carry_out(key, action)
            futures += written
            if isinstance(action, reconciler.UpdateJob) and (written or self._waits_for_pods(action.job)):
                futures += self._after(key, action.job, written, actions[number + 1 :])
                break
        if futures:
            self._looks.until(key, futures)

    def _after(
        self, key: Key, job: Any, written: Sequence[asyncio.Future[Any]], actions: Sequence[GroupAction]
    ) -> list[asyncio.Future[Any]]:
        """Carry out the rest once the job is written: a Workload must not go before the job is restored from it.

        A Job that takes more writes is brought back for them by the watch, and for the rest with the last one.
        """
        known = self._known(job)
        if not actions or (isinstance(known, Job) and next_write(known, job) is not job):
            return []

        async def rest() -> None:
            await asyncio.gather(*written)
            await asyncio.gather(*(future for action in actions for future in self._carry_out(key, action)))

        return [asyncio.ensure_future(rest())]

    def _waits_for_pods(self, job: Any) -> bool:
        """Whether the next write of a Job has to wait until its pods are gone; the watch brings it back then."""
        known = self._known(job)
        return isinstance(known, Job) and known != job and next_write(known, job) is known

    def _then(
        self, key: Key, written: Sequence[asyncio.Future[Any]], actions: Sequence[GroupAction]
    ) -> asyncio.Future[None]:
        """Carry out the rest once the pods are written, and only then: without its Workload a group begins anew.

        Source: JS-067, JS-074.
        """
        # Made now, so that it is a conflict if anything changes meanwhile.
        writes = [self._writes(action) for action in actions]

        async def rest() -> None:
            await asyncio.gather(*written)
            pairs = zip(actions, writes, strict=True)
            await asyncio.gather(*(future for pair in pairs for future in self._submit(key, *pair)))

        return asyncio.ensure_future(rest())

    def _carry_out(self, key: Key, action: GroupAction) -> list[asyncio.Future[bytes | None]]:
        return self._submit(key, action, self._writes(action))

    def _submit(
        self, key: Key, action: GroupAction, made: tuple[Sequence[Write | None], Event | None]
    ) -> list[asyncio.Future[bytes | None]]:
        writes, event = made
        futures = [self._writer.submit(write) for write in writes if write is not None]
        if event is None:
            return futures
        told = event
        if not futures:
            if isinstance(action, RecordEvent):
                self.record(key, told)
            return futures

        def done(last: asyncio.Future[bytes | None]) -> None:
            if not last.cancelled() and last.exception() is None:
                self.record(key, told)

        futures[-1].add_done_callback(done)
        return futures

    def _writes(self, action: Any) -> tuple[Sequence[Write | None], Event | None]:
        """What an action writes, and the event that follows. Written is what differs from what is known by now."""
        match action:
            case reconciler.CreateWorkload(new, event):
                return [patches.create(new)], event
            case reconciler.UpdateJob(job, event):
                return self._job_writes(job, event)
            case reconciler.DeleteJob(gone, event):
                return [patches.delete(gone)], event
            case reconciler.UpdateWorkload(changed, event) | UpdatePod(changed, event):
                known = self._known(changed)
                return [patches.update(known, changed) if known is not None else None], event
            case reconciler.UpdateWorkloadStatus(changed, event):
                return _status_writes(self._known(changed), changed), event
            case DeleteWorkload(gone, event):
                released = without_finalizer(gone)
                first = patches.update(gone, released) if released is not None else None
                return [first, None if gone.metadata.deletion_timestamp else patches.delete(gone)], event
            case ReleaseWorkload(workload):
                return [patches.remove_finalizer(workload, FINALIZER)], None
            case DeletePod(pod, event):
                known = self._known(pod)
                if known is None:
                    return [], event
                # The status says why, before the pod is gone.
                status = patches.update_status(known, pod, strict=False)
                return [patches.update(known, pod), status, patches.delete(pod)], event
            case RecordEvent(event):
                return [], event
        raise AssertionError(action)

    def _job_writes(self, job: Any, event: Event | None) -> tuple[Sequence[Write | None], Event | None]:
        known = self._known(job)
        if known is None:
            return [], None
        if isinstance(known, Job):
            # The watch brings the job back for what is left.
            changed = next_write(known, job)
            # That it was stopped has been told when it was.
            told = None if known.spec.suspend and changed.spec.suspend else event
            return [patches.update(known, changed) or patches.update_status(known, changed)], told
        return [patches.update(known, job), patches.update_status(known, job, strict=False)], event

    def _known(self, obj: KubernetesObject) -> Any | None:
        return self._cluster.get(obj.KIND, obj.metadata.namespace, obj.metadata.name)


def _status_writes(known: Workload | None, changed: Workload) -> list[Write | None]:
    """Statuses by the managers they belong to: reclaimable pods and replacements have their own."""
    before = known.status if known is not None and known.status is not None else WorkloadStatus()
    after = changed.status or WorkloadStatus()
    if (before.reclaimable_pods or []) != (after.reclaimable_pods or []):
        return [workload_status.reclaimable_pods(changed)]
    waiting = conditions.find(after.conditions, conditions.WAITING_FOR_REPLACEMENT_PODS)
    if waiting is not None and waiting != conditions.find(before.conditions, waiting.type):
        return [workload_status.condition(changed, waiting, workload_status.PODS)]
    return [workload_status.admission(changed)]
