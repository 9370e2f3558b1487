"""Pods of Jobs that were placed by topology: made gated, replaced when they are lost, gone with the run.

An elastic Job has more or fewer of them while it runs: those of the highest indices come and go.

Other Jobs count their pods in their status alone (`runner`): thousands of them cost no objects.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from kueue_fast.api.batch import Job
from kueue_fast.api.core import Pod, PodSpec, PodStatus, PodTemplateSpec
from kueue_fast.api.meta import ObjectMeta, OwnerReference
from kueue_fast.cluster.memory import Change, MemoryCluster, WatchEvent
from kueue_fast.jobs.job import BatchJob, pods_count
from kueue_fast.lifecycle.pods import is_terminal
from kueue_fast.model.topology_names import TOPOLOGY_GATE
from kueue_fast.sim.pod_limits import check_pods

__all__ = ["JobPods"]

INDEXED: Final = "Indexed"
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
BATCH_JOB: Final = BatchJob()
_GATE: Final = f'"{TOPOLOGY_GATE}"'.encode()


class _Template(NamedTuple):
    """A pod template, opened once a Job."""

    metadata: ObjectMeta
    spec: PodSpec


class _Run(NamedTuple):
    """Pods of a Job at present: their names by index, and the template they were made of."""

    template: _Template
    names: dict[int, str]
    attempts: dict[int, int]


class JobPods:
    """Stands in for the Job controller, as far as pods are concerned."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        self._runs: dict[str, _Run] = {}
        cluster.watch(Job.KIND, self.on_job)
        cluster.watch(Pod.KIND, self.on_pod)

    def on_job(self, event: WatchEvent) -> None:
        """A Job started, stopped or ended."""
        job: Job = event.object
        uid = job.metadata.uid or ""
        if event.change is Change.DELETED:
            # Its pods follow it by their owner reference.
            self._runs.pop(uid, None)
            return
        run = self._runs.get(uid)
        if job.spec.suspend or BATCH_JOB.finished(job) is not None:
            if run is not None and not BATCH_JOB.active(job):
                self._end(job, uid, run)
        elif run is None and _is_placed(job):
            run = self._runs[uid] = _Run(_opened(job.spec.template), {}, {})
            self._resize(job, run)
        elif run is not None:
            self._resize(job, run)

    def _resize(self, job: Job, run: _Run) -> None:
        """As many pods as the Job has now."""
        count = pods_count(job.spec)
        check_pods(job, count)
        for index in sorted(run.names.keys() - range(count), reverse=True):
            # First forgotten, so that it is not replaced.
            self._cluster.delete(Pod.KIND, job.metadata.namespace, run.names.pop(index))
            run.attempts[index] = run.attempts.get(index, 0) + 1
        for index in range(count):
            if index not in run.names:
                self._make(job, run, index)

    def on_pod(self, event: WatchEvent) -> None:
        """A pod that was lost is replaced by one of the same index, which is gated again."""
        pod: Pod = event.object
        gone = event.change is Change.DELETED
        if not gone and not is_terminal(pod):
            return
        owner = next((each for each in pod.metadata.owner_references or () if each.controller), None)
        run = self._runs.get(owner.uid) if owner is not None else None
        if owner is None or run is None:
            return
        index = next((at for at, name in run.names.items() if name == pod.metadata.name), None)
        job = self._cluster.by_uid(owner.uid)
        if index is None or job is None:
            return
        del run.names[index]
        run.attempts[index] = run.attempts.get(index, 0) + 1
        if not gone:
            self._cluster.delete(Pod.KIND, pod.metadata.namespace, pod.metadata.name)
        self._make(job, run, index)

    def _end(self, job: Job, uid: str, run: _Run) -> None:
        # First forgotten, so that no pod is replaced.
        del self._runs[uid]
        for name in run.names.values():
            self._cluster.delete(Pod.KIND, job.metadata.namespace, name)

    def _make(self, job: Job, run: _Run, index: int) -> None:
        attempt = run.attempts.get(index, 0)
        name = f"{job.metadata.name}-{index}" + (f"-r{attempt}" if attempt else "")
        while self._cluster.get(Pod.KIND, job.metadata.namespace, name) is not None:
            name += "-x"
        run.names[index] = name
        self._cluster.create(_pod(job, run.template, index, name))


def _is_placed(job: Job) -> bool:
    """Whether the Job was started with the topology gate. Source: TP-1801."""
    return _GATE in bytes(job.spec.template.spec)


def _opened(template: PodTemplateSpec) -> _Template:
    metadata = ObjectMeta()
    if template.metadata:
        metadata = msgspec.json.decode(template.metadata, type=ObjectMeta)
    return _Template(metadata, msgspec.json.decode(template.spec, type=PodSpec))


def _pod(job: Job, template: _Template, index: int, name: str) -> Pod:
    uid = job.metadata.uid or ""
    labels = {
        **(template.metadata.labels or {}),
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": job.metadata.name,
        "controller-uid": uid,
        "job-name": job.metadata.name,
    }
    annotations = dict(template.metadata.annotations or {})
    if job.spec.completion_mode == INDEXED:
        labels[COMPLETION_INDEX] = annotations[COMPLETION_INDEX] = str(index)
    owner = OwnerReference(
        api_version=Job.API_VERSION,
        kind=Job.KIND,
        name=job.metadata.name,
        uid=uid,
        controller=True,
        block_owner_deletion=True,
    )
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=job.metadata.namespace,
            labels=labels,
            annotations=annotations or None,
            owner_references=[owner],
        ),
        spec=template.spec,
        status=PodStatus(phase="Pending"),
    )
