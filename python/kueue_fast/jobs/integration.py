"""What an integration supplies: a table of facts and the few functions that are special to its kind.

All of them are pure: an object goes in, a changed copy or a fact comes out. The reconciler is written against
this alone, so that a further kind is a further module and no change here.

Source: JS-004, JS-005, JS-446.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from kueue_fast.api.kueue import PodSet, ReclaimablePod
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.jobs.pod_set_info import PodSetInfo
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.model.validation import FieldError

__all__ = ["Capabilities", "Finished", "Integration", "Stopped"]

JobType = TypeVar("JobType", bound=KubernetesObject)


class Finished(NamedTuple):
    """How a job ended: its own message, and whether it succeeded."""

    message: str
    success: bool


class Stopped(NamedTuple, Generic[JobType]):
    """A job after it was told to stop; `now` is False when it was suspended before."""

    job: JobType
    now: bool


class Capabilities(Generic[JobType]):
    """What most kinds do not have: an integration inherits the answers of one that has none of it. Source: JS-005."""

    prebuilt = True
    elastic = False

    def default(self, job: JobType, settings: JobSettings) -> JobType:
        """Nothing is added."""
        return job

    def skip(self, job: JobType, settings: JobSettings) -> bool:
        """No job is passed over."""
        return False

    def on_hold(self, job: JobType) -> bool:
        """No job is on hold."""
        return False

    def priority_class(self, job: JobType) -> str | None:
        """The templates are asked."""
        return None

    def slice_mark(self, job: JobType) -> str:
        """Each change of the job's spec makes another one."""
        return str(job.metadata.generation or 0)

    def slice_annotations(self, job: JobType, pod_sets: Sequence[PodSet]) -> Mapping[str, str]:
        """Nothing is noted."""
        return {}

    def reclaimable_pods(self, job: JobType) -> list[ReclaimablePod] | None:
        """The kind cannot tell which pods are done with."""
        return None

    def left_behind(self, job: JobType, children: Iterable[Any]) -> Sequence[KubernetesObject]:
        """Nothing that the job's own controller made keeps a released job from running."""
        return ()

    def stopped_children(self, job: JobType, children: Iterable[Any]) -> Sequence[KubernetesObject]:
        """The job's own controller stops what it made."""
        return ()


class Integration(Protocol[JobType]):
    """One kind of job."""

    framework: str
    """Name in `integrations.frameworks` of the configuration."""
    api_version: str
    group: str
    kind: str
    prebuilt: bool
    """Whether a job may adopt a Workload made beforehand."""
    elastic: bool
    """Whether a job may grow and shrink while it runs."""

    def default(self, job: JobType, settings: JobSettings) -> JobType:
        """What the kind's webhook writes into a new job besides queue and suspension."""
        ...

    def validate(self, job: JobType, settings: JobSettings) -> list[FieldError]:
        """What Kueue's webhook for the kind refuses, with path and words."""
        ...

    def validate_update(
        self, old: JobType, new: JobType, settings: JobSettings, default_queue_exists: bool
    ) -> list[FieldError]:
        """What the webhook refuses of a change; `default_queue_exists`: whether the namespace has a queue `default`."""
        ...

    def skip(self, job: JobType, settings: JobSettings) -> bool:
        """Whether the job is not Kueue's business, or not now."""
        ...

    def on_hold(self, job: JobType) -> bool:
        """Whether the kind's own controller refuses to run the job as it is."""
        ...

    def priority_class(self, job: JobType) -> str | None:
        """The PriorityClass that the job names itself, empty for none; None: the templates are asked."""
        ...

    def slice_mark(self, job: JobType) -> str:
        """What tells the slices of an elastic job apart: it goes into the hash of their names. Source: JS-104."""
        ...

    def slice_annotations(self, job: JobType, pod_sets: Sequence[PodSet]) -> Mapping[str, str]:
        """What an elastic job notes of these pod sets in its own annotations, empty for nothing. Source: JS-482."""
        ...

    def pod_sets(self, job: JobType, settings: JobSettings) -> list[PodSet]:
        """Pod sets of the job's Workload, in order. Raises InputError for templates that make none."""
        ...

    def suspended(self, job: JobType) -> bool:
        """Whether the job is held; what counts as that is the kind's own predicate."""
        ...

    def suspend(self, job: JobType) -> JobType:
        """The job held, nothing else changed."""
        ...

    def start(self, job: JobType, infos: list[PodSetInfo]) -> JobType:
        """The job released, with what admission adds. Raises StartError."""
        ...

    def stop(self, job: JobType, infos: list[PodSetInfo]) -> Stopped[JobType]:
        """The job held and its templates as before admission; no infos, nothing restored."""
        ...

    def active(self, job: JobType) -> bool:
        """Whether a pod of the job still runs."""
        ...

    def pods_ready(self, job: JobType) -> bool:
        """Whether all pods of the job are ready or done."""
        ...

    def finished(self, job: JobType) -> Finished | None:
        """How the job ended, None while it has not."""
        ...

    def reclaimable_pods(self, job: JobType) -> list[ReclaimablePod] | None:
        """Pods whose quota is free again while the job runs on; None for a kind that cannot tell."""
        ...

    def left_behind(self, job: JobType, children: Iterable[Any]) -> Sequence[KubernetesObject]:
        """What the job's own controller made while the job was held, and does not release with it.

        `children` are objects with an owner reference to the job.
        """
        ...

    def stopped_children(self, job: JobType, children: Iterable[Any]) -> Sequence[KubernetesObject]:
        """What the job's own controller lets run on although the job is held: held, as it is to be written."""
        ...
