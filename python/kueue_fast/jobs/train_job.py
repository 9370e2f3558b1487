"""The TrainJob integration. Source: JS-442, JS-445, section 11.10 of the job rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.jobset import ReplicatedJob
from kueue_fast.api.kueue import ReclaimablePod
from kueue_fast.api.trainer import TrainingRuntimeSpec, TrainJob
from kueue_fast.errors import InputError
from kueue_fast.jobs.integration import Finished, Stopped
from kueue_fast.jobs.job_set import reclaimable, replicated_roles
from kueue_fast.jobs.pod_set_info import PodSetInfo, StartError
from kueue_fast.jobs.roles import Role, RoleIntegration
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.train_runtime import rendered
from kueue_fast.model import conditions
from kueue_fast.model.validation.field_error import FieldError

__all__ = ["Runtimes", "TrainJobs"]

MANAGER: Final = "kueue.x-k8s.io/manager"
RUNTIMES: Final = ("ClusterTrainingRuntime", "TrainingRuntime")
GROUP: Final = "trainer.kubeflow.org"
ADVICE: Final = "; see spec.runtimePatches of the TrainJob and the template of its runtime"

Runtimes = Callable[[str, str, str], TrainingRuntimeSpec | None]
"""A runtime by kind, namespace (empty for one of the cluster) and name."""


class TrainJobs(RoleIntegration[TrainJob]):
    """trainer.kubeflow.org/v1alpha1 TrainJob: the pod sets of the JobSet that its runtime makes."""

    framework = "trainer.kubeflow.org/trainjob"
    api_version = "trainer.kubeflow.org/v1alpha1"
    group = GROUP
    kind = "TrainJob"

    def __init__(self, runtimes: Runtimes) -> None:
        self._runtimes = runtimes

    def roles(self, job: TrainJob) -> list[Role]:
        """The replicated jobs. Raises InputError without a runtime that is known."""
        return [
            dataclasses.replace(role, metadata_at=f"job[{role.name}]")
            for role in replicated_roles(self._jobs(job))
        ]

    def replace(
        self, job: TrainJob, templates: Sequence[PodTemplateSpec] | None, *, suspended: bool
    ) -> TrainJob:
        """Templates are the runtime's: see `start` and `stop`."""
        return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, suspend=suspended))

    def default(self, job: TrainJob, settings: JobSettings) -> TrainJob:
        """A patch of Kueue's own, empty, which `start` fills; every TrainJob gets it. Source: JS-442."""
        if _own_patch(job) is not None:
            return job
        patch = {"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {}}}}
        patches = [*(job.spec.runtime_patches or ()), patch]
        return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, runtime_patches=patches))

    def validate_topology(self, job: TrainJob, settings: JobSettings) -> list[FieldError]:
        """Errors say where the annotations may come from."""
        errors = super().validate_topology(job, settings)
        return [dataclasses.replace(error, message=error.message + ADVICE) for error in errors]

    def start(self, job: TrainJob, infos: list[PodSetInfo]) -> TrainJob:
        """The job released, with Kueue's patch for each replicated job: one write, where the reference needs two.

        Raises StartError, and InputError without that patch. Source: JS-442.
        """
        count = len(self._jobs(job))
        if len(infos) != count:
            raise StartError(f"invalid podset infos: expecting {count} podset, got {len(infos)}")
        if _own_patch(job) is None:
            raise InputError(
                "Kueue's patch is missing",
                field="$.spec.runtimePatches",
                expected=f"one of the manager {MANAGER}",
            )
        return self.replace(_with_own_patch(job, [_patch_of(info) for info in infos]), None, suspended=False)

    def stop(self, job: TrainJob, infos: list[PodSetInfo]) -> Stopped[TrainJob]:
        """First held, and once no Job is active the patch emptied: then it has stopped. Source: JS-442."""
        if not self.suspended(job):
            return Stopped(self.suspend(job), False)
        patch = _own_patch(job)
        if self.active(job) or patch is None or not _replicated_jobs(patch):
            return Stopped(job, False)
        return Stopped(_with_own_patch(job, None), True)

    def suspended(self, job: TrainJob) -> bool:
        """Whether the job is held."""
        return bool(job.spec.suspend)

    def active(self, job: TrainJob) -> bool:
        """Whether a Job of it has running pods."""
        known = (job.status.jobs_status if job.status is not None else None) or ()
        return any(each.active > 0 for each in known)

    def pods_ready(self, job: TrainJob) -> bool:
        """Whether all Jobs are ready or succeeded; not while its runtime is unknown."""
        try:
            wanted = sum(each.replicas for each in self._jobs(job))
        except InputError:
            return False
        known = (job.status.jobs_status if job.status is not None else None) or ()
        return wanted == sum(each.ready + each.succeeded for each in known)

    def finished(self, job: TrainJob) -> Finished | None:
        """Complete, or failed."""
        known = job.status.conditions if job.status is not None else None
        for type_, success in (("Complete", True), ("Failed", False)):
            found = conditions.find(known, type_)
            if found is not None and found.status == "True":
                return Finished(found.message, success)
        return None

    def reclaimable_pods(self, job: TrainJob) -> list[ReclaimablePod] | None:
        """The pods of Jobs that succeeded. Raises InputError without a runtime that is known."""
        known = (job.status.jobs_status if job.status is not None else None) or ()
        if not known:
            return []
        return reclaimable(self._jobs(job), {each.name: each.succeeded for each in known})

    def _jobs(self, job: TrainJob) -> list[ReplicatedJob]:
        ref = job.spec.runtime_ref
        if ref.api_group != GROUP or ref.kind not in RUNTIMES:
            raise InputError(
                f"unsupported runtime: {ref.kind}.{ref.api_group}",
                field="$.spec.runtimeRef",
                expected=" or ".join(f"{kind}.{GROUP}" for kind in RUNTIMES),
            )
        namespace = (job.metadata.namespace or "") if ref.kind == "TrainingRuntime" else ""
        runtime = self._runtimes(ref.kind, namespace, ref.name)
        if runtime is None:
            raise InputError(f"runtime '{ref.name}' not found", field="$.spec.runtimeRef")
        return rendered(job, runtime)


def _own_patch(job: TrainJob) -> dict[str, Any] | None:
    return next((patch for patch in job.spec.runtime_patches or () if patch.get("manager") == MANAGER), None)


def _replicated_jobs(patch: dict[str, Any]) -> Any:
    template = (patch.get("trainingRuntimeSpec") or {}).get("template") or {}
    return (template.get("spec") or {}).get("replicatedJobs")


def _with_own_patch(job: TrainJob, jobs: list[dict[str, Any]] | None) -> TrainJob:
    spec = {} if jobs is None else {"replicatedJobs": jobs}
    patches = [
        {**patch, "trainingRuntimeSpec": {"template": {"spec": spec}}}
        if patch.get("manager") == MANAGER
        else patch
        for patch in job.spec.runtime_patches or ()
    ]
    return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, runtime_patches=patches))


def _patch_of(info: PodSetInfo) -> dict[str, Any]:
    """What admission adds, as a patch of one replicated job."""
    metadata = {"annotations": info.annotations, "labels": info.labels}
    spec = {
        "nodeSelector": info.node_selector,
        "tolerations": info.tolerations,
        "schedulingGates": info.scheduling_gates,
    }
    template = {
        "metadata": {key: value for key, value in metadata.items() if value},
        "spec": {key: value for key, value in spec.items() if value},
    }
    return {"name": info.name, "template": {"spec": {"template": template}}}
