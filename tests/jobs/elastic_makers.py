"""Makers of elastic Jobs and of their slices."""

from __future__ import annotations

from typing import Any

import msgspec

from kueue_fast.api.batch import Job
from kueue_fast.api.kueue import Workload
from kueue_fast.jobs import elastic, reconciler
from kueue_fast.jobs.defaults import defaulted
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.lifecycle import slices
from kueue_fast.model.elastic import ELASTIC_JOB
from tests.jobs.makers import BATCH, NOW, View, job

ELASTIC = {ELASTIC_JOB: "true"}


def elastic_job(pods: int = 3, *, held: bool = True, generation: int = 1, **more: Any) -> Job:
    made = job({"parallelism": pods, "suspend": held}, annotations=ELASTIC, **more)
    made.metadata.generation = generation
    return defaulted(made, BATCH, JobSettings(), False) if held else made


def step(a_job: Job, *workloads: Workload, view: View | None = None) -> Any:
    return elastic.reconcile(a_job, BATCH, workloads, view or View(), NOW)


def stored(workload: Workload, uid: str, minute: int) -> Workload:
    """A Workload as the API server gives it back."""
    metadata = msgspec.structs.replace(
        workload.metadata, uid=uid, creation_timestamp=f"2026-01-01T00:{minute:02}:00Z"
    )
    return msgspec.structs.replace(workload, metadata=metadata)


def first_slice(pods: int = 3, **more: Any) -> Workload:
    action = step(elastic_job(pods, **more))
    assert isinstance(action, reconciler.CreateWorkload)
    return stored(action.workload, "1", 1)


def running(pods: int, workload: Workload, *, generation: int = 2) -> Job:
    """The Job of an admitted slice, started."""
    action = step(elastic_job(slices.pod_counts(workload.spec.pod_sets)["main"]), workload)
    assert isinstance(action, reconciler.UpdateJob)
    started = msgspec.structs.replace(
        action.job, status=msgspec.convert({"active": 1}, type(job(status={}).status))
    )
    assert isinstance(started, Job)
    started = msgspec.structs.replace(
        started,
        spec=msgspec.structs.replace(started.spec, parallelism=pods),
        metadata=msgspec.structs.replace(started.metadata, generation=generation),
    )
    return started


def second_slice(pods: int, old: Workload, *, view: View | None = None) -> Workload:
    action = step(running(pods, old, generation=3), old, view=view)
    assert isinstance(action, reconciler.CreateWorkload)
    return stored(action.workload, "2", 2)
