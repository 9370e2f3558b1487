"""Elastic Jobs get another parallelism when their manifests say so, as if a user or an autoscaler had written it."""

from __future__ import annotations

from typing import Any

import msgspec

from kueue_fast.api.batch import Job
from kueue_fast.cluster.memory import MemoryCluster
from kueue_fast.jobs.job import BatchJob, set_parallelism
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.manifest import SimulationFacts

__all__ = ["resized", "schedule_resizes"]

BATCH_JOB = BatchJob()


def resized(job: Job, parallelism: int) -> Job:
    """The Job with this parallelism, and with completions that equal it where an annotation ties them."""
    spec = msgspec.structs.replace(job.spec)
    set_parallelism(spec, parallelism, job.metadata)
    return msgspec.structs.replace(job, spec=spec)


def schedule_resizes(
    cluster: MemoryCluster, clock: VirtualClock, job: Job, facts: SimulationFacts, start_ns: int
) -> None:
    """Resize a Job that was just created at the times that its manifest names; a time that has passed is now.

    A Job that has ended by then, or is gone, stays as it is.
    """
    namespace, name = job.metadata.namespace, job.metadata.name

    def resize(parallelism: Any) -> None:
        current: Job | None = cluster.get(Job.KIND, namespace, name)
        if current is not None and BATCH_JOB.finished(current) is None:
            cluster.update(resized(current, parallelism))

    for moment, parallelism in facts.resizes:
        clock.schedule(max(moment.at(start_ns), clock.now), resize, parallelism)
