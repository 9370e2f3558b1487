"""Pods, played: what is admitted runs for its time and ends.

The embedded cluster has no kubelet and no Job controller. A Job that was released counts its pods as running
and ready at once and ends after its run time; a Workload without a job is admitted, runs, and ends itself. What
has no run time runs for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from kueue_fast.api.batch import Job, JobStatus
from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import Condition, KubernetesObject
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.jobs.job import or_one, pods_count
from kueue_fast.lifecycle import finish
from kueue_fast.lifecycle.status import timestamp
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.manifest import SimulationFacts

__all__ = ["PodRunner"]

SECOND: Final = 1_000_000_000


class _Run(NamedTuple):
    """One start of one object."""

    kind: str
    namespace: str | None
    name: str
    uid: str
    number: int


class PodRunner:
    """Starts and ends what was admitted. `facts(kind, namespace, name)` tells how long something runs and how
    it ends.
    """

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        facts: Callable[[str, str, str], SimulationFacts],
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._facts = facts
        self._started = 0
        # Number of the present run by uid: an end that was scheduled for an earlier run counts for nothing.
        self._runs: dict[str, int] = {}

    def job_started(self, job: Job) -> None:
        """A Job was released: its pods run from now on."""
        namespace = job.metadata.namespace or ""
        facts = self._facts(job.KIND, namespace, job.metadata.name)
        count = pods_count(job.spec)
        status = msgspec.structs.replace(
            job.status or JobStatus(), start_time=timestamp(self._clock.now), active=count, ready=count
        )
        self._cluster.update_status(msgspec.structs.replace(job, status=status))
        run = self._begin(job)
        deadline = job.spec.active_deadline_seconds
        run_time = facts.run_time_ns
        if deadline is not None and (run_time is None or run_time > deadline * SECOND):
            self._clock.schedule(self._clock.now + deadline * SECOND, self._job_overdue, run)
        elif run_time is not None:
            action = self._job_failed if facts.fails else self._job_completed
            self._clock.schedule(self._clock.now + run_time, action, run)

    def workload_admitted(self, workload: Workload) -> None:
        """A Workload without a job was admitted: it runs from now on."""
        facts = self._facts(workload.KIND, workload.metadata.namespace or "", workload.metadata.name)
        run = self._begin(workload)
        if facts.run_time_ns is not None:
            action = self._workload_failed if facts.fails else self._workload_succeeded
            self._clock.schedule(self._clock.now + facts.run_time_ns, action, run)

    def stopped(self, uid: str) -> None:
        """An object was stopped or deleted: the end of its present run will not come."""
        self._runs.pop(uid, None)

    def _begin(self, obj: KubernetesObject) -> _Run:
        self._started += 1
        uid = obj.metadata.uid or ""
        self._runs[uid] = self._started
        return _Run(obj.KIND, obj.metadata.namespace, obj.metadata.name, uid, self._started)

    def _running(self, run: _Run) -> Any | None:
        """The object as it is now, None when this run of it is not the present one."""
        if self._runs.get(run.uid) != run.number:
            return None
        del self._runs[run.uid]
        return self._cluster.get(run.kind, run.namespace, run.name)

    def _job_completed(self, run: _Run) -> None:
        job: Job | None = self._running(run)
        if job is not None:
            spec = job.spec
            done = or_one(spec.parallelism) if spec.completions is None else spec.completions
            self._end_job(
                job,
                "Complete",
                "CompletionsReached",
                "Reached expected number of succeeded pods",
                succeeded=done,
            )

    def _job_failed(self, run: _Run) -> None:
        job: Job | None = self._running(run)
        if job is not None:
            message = "Job has reached the specified backoff limit"
            self._end_job(job, "Failed", "BackoffLimitExceeded", message)

    def _job_overdue(self, run: _Run) -> None:
        job: Job | None = self._running(run)
        if job is not None:
            message = "Job was active longer than specified deadline"
            self._end_job(job, "Failed", "DeadlineExceeded", message)

    def _end_job(
        self, job: Job, type_: str, reason: str, message: str, *, succeeded: int | None = None
    ) -> None:
        now = timestamp(self._clock.now)
        before = job.status or JobStatus()
        condition = Condition(
            type=type_, status="True", reason=reason, message=message, last_transition_time=now
        )
        status = msgspec.structs.replace(
            before,
            active=None,
            ready=0,
            succeeded=succeeded,
            failed=before.active if succeeded is None else None,
            completion_time=None if succeeded is None else now,
            conditions=[*(before.conditions or ()), condition],
        )
        self._cluster.update_status(msgspec.structs.replace(job, status=status))

    def _workload_succeeded(self, run: _Run) -> None:
        self._end_workload(run, finish.SUCCEEDED, "The simulated run is over")

    def _workload_failed(self, run: _Run) -> None:
        self._end_workload(run, finish.FAILED, "The simulated run failed")

    def _end_workload(self, run: _Run, reason: str, message: str) -> None:
        workload: Workload | None = self._running(run)
        done = None if workload is None else finish.finished(workload, reason, message, self._clock.now)
        if done is not None:
            self._cluster.update_status(done)
