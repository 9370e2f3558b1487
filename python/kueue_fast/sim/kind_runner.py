"""Runs of the kinds that are suspended and released: they run for their time and end, or serve until they are told to
stop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from kueue_fast.api.jobset import JobSet
from kueue_fast.api.meta import KubernetesObject, ObjectMeta
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.jobs.roles import Role
from kueue_fast.sim import kind_status
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.kinds import SERVING
from kueue_fast.sim.manifest import SimulationFacts, run_time_of
from kueue_fast.sim.runner import PodRunner, later

__all__ = ["KindRunner", "replicated_run_times"]


class KindRunner(PodRunner):
    """Starts and ends such jobs; what it does shows in their status."""

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        facts: Callable[[str, str, str], SimulationFacts],
    ) -> None:
        super().__init__(cluster, clock, facts)
        self._parts: dict[str, list[int]] = {}

    def started(self, job: KubernetesObject, roles: list[Role]) -> None:
        """A job was released: its pods run from now on."""
        now = self._clock.now
        facts = self._facts(job.KIND, job.metadata.namespace or "", job.metadata.name)
        uid = job.metadata.uid or ""
        delay = self._readiness.begin(uid, facts.lifecycle, self._ready)
        running = kind_status.running(job, roles, now)
        self._cluster.update_status(
            running if delay == 0 else kind_status.with_readiness(running, False, now)
        )
        if job.KIND in SERVING or delay is None:
            self._begin(job, None, self._succeeded)
            return
        parts = replicated_run_times(job)
        run_time = facts.run_time_ns
        if run_time is None and parts and None not in parts.values():
            run_time = max(filter(None, parts.values()), default=0)
        self._begin(job, later(run_time, delay), self._failed if facts.fails else self._succeeded)
        self._parts[uid] = [
            self._clock.schedule(now + delay + time, partial(self._partly, name), uid)
            for name, time in parts.items()
            if time is not None and (run_time is None or time < run_time)
        ]

    def _ready(self, uid: str, ready: bool) -> None:
        """All pods of a job are ready, or one was lost."""
        job: Any = self._cluster.by_uid(uid)
        if job is not None:
            self._cluster.update_status(kind_status.with_readiness(job, ready, self._clock.now))

    def stopping(self, job: KubernetesObject) -> None:
        """A job was suspended: its pods go on until its grace period is over."""
        self._stop(job, self._halted)

    def stopped(self, uid: str) -> None:
        """An object ended or was deleted: nothing more of its present run will come."""
        super().stopped(uid)
        for entry in self._parts.pop(uid, ()):
            self._clock.cancel(entry)

    def _halted(self, uid: str) -> None:
        job: Any = self._over(uid)
        if job is not None:
            self._cluster.update_status(kind_status.halted(job, self._clock.now))

    def _succeeded(self, uid: str) -> None:
        self._end(uid, success=True)

    def _failed(self, uid: str) -> None:
        self._end(uid, success=False)

    def _end(self, uid: str, *, success: bool) -> None:
        job: Any = self._over(uid)
        if job is not None:
            self._cluster.update_status(kind_status.ended(job, self._clock.now, success=success))

    def _partly(self, name: str, uid: str) -> None:
        job: Any = self._cluster.by_uid(uid)
        if job is not None:
            self._cluster.update_status(kind_status.partly_done(job, name))


def replicated_run_times(job: KubernetesObject) -> Mapping[str, int | None]:
    """Run times of the replicated jobs of a JobSet, None for one that says none; nothing for another kind."""
    if not isinstance(job, JobSet):
        return {}
    times = {}
    for each in job.spec.replicated_jobs or ():
        metadata = each.template.metadata
        opened = msgspec.json.decode(metadata, type=ObjectMeta) if metadata else ObjectMeta()
        times[each.name] = run_time_of(opened.annotations)
    return times
