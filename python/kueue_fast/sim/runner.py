"""Pods, played: what is admitted runs for its time and ends.

The embedded cluster has no kubelet and no Job controller. A Job that was released counts its pods as running
and ready at once and ends after its run time; a Workload without a job is admitted, runs, and ends itself. What
has no run time runs for ever. Pods that take time to be ready run from then on.

What is told to stop goes on for its grace period. If its run ends before, it has ended; else its pods are gone
then, and the next start runs for the whole time again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from kueue_fast.api.batch import Job, JobStatus
from kueue_fast.api.kueue import Workload
from kueue_fast.api.meta import Condition, KubernetesObject
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.jobs.job import or_one, pods_count
from kueue_fast.lifecycle import eviction, finish, pods_ready
from kueue_fast.lifecycle.status import Reasons, timestamp
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.manifest import SimulationFacts
from kueue_fast.sim.readiness import Readiness

__all__ = ["PodRunner"]

SECOND: Final = 1_000_000_000


class PodRunner:
    """Starts and ends what was admitted. `facts(kind, namespace, name)` tells how long something runs and how
    it ends.
    """

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        facts: Callable[[str, str, str], SimulationFacts],
        reasons: Reasons = Reasons(),
        *,
        tells_readiness: bool = False,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._facts = facts
        self._reasons = reasons
        # Whether Workloads without a job say that their pods are ready, as their own controller would have them say.
        self._tells_readiness = tells_readiness
        self._readiness = Readiness(clock)
        # Entries of the clock by uid: the end of what runs (None: it runs for ever), and the stop of what was told to.
        self._ends: dict[str, int | None] = {}
        self._stops: dict[str, int] = {}

    def job_started(self, job: Job) -> None:
        """A Job was released: its pods run from now on."""
        namespace = job.metadata.namespace or ""
        facts = self._facts(job.KIND, namespace, job.metadata.name)
        count = pods_count(job.spec)
        delay = self._readiness.begin(job.metadata.uid or "", facts.lifecycle, self._job_ready)
        status = msgspec.structs.replace(
            job.status or JobStatus(),
            start_time=timestamp(self._clock.now),
            active=count,
            ready=count if delay == 0 else 0,
        )
        self._cluster.update_status(msgspec.structs.replace(job, status=status))
        deadline = job.spec.active_deadline_seconds
        run_time = later(facts.run_time_ns, delay)
        if deadline is not None and (run_time is None or run_time > deadline * SECOND):
            self._begin(job, deadline * SECOND, self._job_overdue)
        else:
            self._begin(job, run_time, self._job_failed if facts.fails else self._job_completed)

    def _job_ready(self, uid: str, ready: bool) -> None:
        """All pods of a Job are ready, or one was lost."""
        job: Job | None = self._cluster.by_uid(uid)
        if job is not None and job.status is not None:
            count = pods_count(job.spec)
            status = msgspec.structs.replace(job.status, ready=count if ready else max(count - 1, 0))
            self._cluster.update_status(msgspec.structs.replace(job, status=status))

    def job_pods(self, job: Job, granted: int) -> bool:
        """An elastic Job runs: so many of its pods may go to nodes; those beyond are there, and held by their gates.

        What went stays, unless the Job has fewer pods now. Returns whether the status of the Job was written.
        """
        status = job.status or JobStatus()
        count = pods_count(job.spec)
        ready = min(count, max(status.ready or 0, granted))
        if (status.active, status.ready) == (count, ready):
            return False
        status = msgspec.structs.replace(status, active=count, ready=ready)
        self._cluster.update_status(msgspec.structs.replace(job, status=status))
        return True

    def workload_admitted(self, workload: Workload) -> None:
        """A Workload without a job was admitted: it runs from now on."""
        facts = self._facts(workload.KIND, workload.metadata.namespace or "", workload.metadata.name)
        action = self._workload_failed if facts.fails else self._workload_succeeded
        uid = workload.metadata.uid or ""
        delay = self._readiness.begin(uid, facts.lifecycle, self._workload_ready)
        self._begin(workload, later(facts.run_time_ns, delay), action)
        if delay == 0:
            self._workload_ready(uid, True)

    def _workload_ready(self, uid: str, ready: bool) -> None:
        workload: Workload | None = self._cluster.by_uid(uid)
        if workload is not None and self._tells_readiness:
            changed = pods_ready.ready_condition(workload, ready, self._clock.now)
            if changed is not None:
                self._cluster.update_status(changed)

    def job_stopping(self, job: Job) -> None:
        """A Job was suspended: its pods go on until its grace period is over."""
        self._stop(job, self._job_stopped)

    def workload_stopping(self, workload: Workload) -> None:
        """A Workload without a job was evicted: it stops after its grace period, at once if nothing runs."""
        self._stop(workload, self._workload_stopped)

    def stopped(self, uid: str) -> None:
        """An object ended or was deleted: the end of its present run will not come."""
        self._readiness.end(uid)
        self._cancel(uid)

    def _cancel(self, uid: str) -> None:
        for entry in (self._ends.pop(uid, None), self._stops.pop(uid, None)):
            if entry is not None:
                self._clock.cancel(entry)

    def _begin(self, obj: KubernetesObject, run_time: int | None, action: Callable[[str], None]) -> None:
        uid = obj.metadata.uid or ""
        self._cancel(uid)
        self._ends[uid] = (
            None if run_time is None else self._clock.schedule(self._clock.now + run_time, action, uid)
        )

    def _stop(self, obj: KubernetesObject, action: Callable[[str], None]) -> None:
        uid = obj.metadata.uid or ""
        if uid in self._stops:
            return
        grace = 0
        if uid in self._ends:
            facts = self._facts(obj.KIND, obj.metadata.namespace or "", obj.metadata.name)
            grace = facts.grace_period_ns
        self._stops[uid] = self._clock.schedule(self._clock.now + grace, action, uid)

    def _over(self, uid: str) -> Any | None:
        """The object whose end or stop has come; what else was to come of this run will not."""
        # One of the two is the entry at hand: cancelling it is in vain.
        self.stopped(uid)
        return self._cluster.by_uid(uid)

    def _job_stopped(self, uid: str) -> None:
        job: Job | None = self._over(uid)
        if job is not None and job.status is not None:
            status = msgspec.structs.replace(job.status, active=None, ready=0)
            self._cluster.update_status(msgspec.structs.replace(job, status=status))

    def _workload_stopped(self, uid: str) -> None:
        workload: Workload | None = self._over(uid)
        if workload is not None and not finish.is_finished(workload):
            free = eviction.stopped(workload, self._clock.now, self._reasons)
            if self._tells_readiness:
                free = pods_ready.ready_condition(free, False, self._clock.now) or free
            self._cluster.update_status(free)

    def _job_completed(self, uid: str) -> None:
        job: Job | None = self._over(uid)
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

    def _job_failed(self, uid: str) -> None:
        job: Job | None = self._over(uid)
        if job is not None:
            message = "Job has reached the specified backoff limit"
            self._end_job(job, "Failed", "BackoffLimitExceeded", message)

    def _job_overdue(self, uid: str) -> None:
        job: Job | None = self._over(uid)
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

    def _workload_succeeded(self, uid: str) -> None:
        self._end_workload(uid, finish.SUCCEEDED, "The simulated run is over")

    def _workload_failed(self, uid: str) -> None:
        self._end_workload(uid, finish.FAILED, "The simulated run failed")

    def _end_workload(self, uid: str, reason: str, message: str) -> None:
        workload: Workload | None = self._over(uid)
        done = None if workload is None else finish.finished(workload, reason, message, self._clock.now)
        if done is not None:
            self._cluster.update_status(done)


def later(run_time: int | None, delay: int | None) -> int | None:
    """A run time in ns that begins after a delay; None: it does not end, or does not begin."""
    return None if run_time is None or delay is None else run_time + delay
