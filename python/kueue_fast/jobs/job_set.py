"""The JobSet integration. Source: section 11.2 of the job rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.jobset import JobSet, ReplicatedJob
from kueue_fast.api.kueue import ReclaimablePod
from kueue_fast.jobs.integration import Finished
from kueue_fast.jobs.roles import Role, RoleIntegration
from kueue_fast.jobs.topology_indexes import INDEXES
from kueue_fast.model import conditions

__all__ = ["JobSets", "pods_of_a_replica", "reclaimable", "replicated_roles"]


class JobSets(RoleIntegration[JobSet]):
    """jobset.x-k8s.io/v1alpha2 JobSet: one pod set a replicated job."""

    framework = "jobset.x-k8s.io/jobset"
    api_version = "jobset.x-k8s.io/v1alpha2"
    group = "jobset.x-k8s.io"
    kind = "JobSet"
    grouped = True

    def roles(self, job: JobSet) -> list[Role]:
        """The replicated jobs, in order."""
        return replicated_roles(job.spec.replicated_jobs or ())

    def replace(self, job: JobSet, templates: Sequence[PodTemplateSpec] | None, *, suspended: bool) -> JobSet:
        """Only the pods' templates are written."""
        replace = msgspec.structs.replace
        jobs = job.spec.replicated_jobs
        if templates is not None and jobs:
            jobs = [_with_template(each, template) for each, template in zip(jobs, templates, strict=True)]
        return replace(job, spec=replace(job.spec, replicated_jobs=jobs, suspend=suspended))

    def suspended(self, job: JobSet) -> bool:
        """Whether the JobSet is held."""
        return bool(job.spec.suspend)

    def active(self, job: JobSet) -> bool:
        """Whether a Job of it has running pods."""
        known = (job.status.replicated_jobs_status if job.status is not None else None) or ()
        return any(each.active > 0 for each in known)

    def pods_ready(self, job: JobSet) -> bool:
        """Whether all Jobs, not pods, are ready or succeeded."""
        known = (job.status.replicated_jobs_status if job.status is not None else None) or ()
        wanted = sum(each.replicas for each in job.spec.replicated_jobs or ())
        return wanted == sum(each.ready + each.succeeded for each in known)

    def finished(self, job: JobSet) -> Finished | None:
        """Completed, or failed."""
        known = job.status.conditions if job.status is not None else None
        for type_, success in (("Completed", True), ("Failed", False)):
            found = conditions.find(known, type_)
            if found is not None and found.status == "True":
                return Finished(found.message, success)
        return None

    def reclaimable_pods(self, job: JobSet) -> list[ReclaimablePod] | None:
        """The pods of Jobs that succeeded."""
        known = (job.status.replicated_jobs_status if job.status is not None else None) or ()
        return reclaimable(job.spec.replicated_jobs or (), {each.name: each.succeeded for each in known})


def replicated_roles(jobs: Sequence[ReplicatedJob]) -> list[Role]:
    """One role a replicated job; its Jobs are the sub groups of its pods."""
    return [
        Role(
            job.name.lower(),
            job.replicas * pods_of_a_replica(job),
            job.template.spec.template,
            f"spec.replicatedJobs[{number}].template.spec.template",
            INDEXES[JobSets.framework]._replace(sub_group_count=job.replicas),
        )
        for number, job in enumerate(jobs)
    ]


def pods_of_a_replica(job: ReplicatedJob) -> int:
    """Pods of one Job: parallelism (none: 1), or completions when these are fewer."""
    spec = job.template.spec
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    return parallelism if spec.completions is None else min(parallelism, spec.completions)


def reclaimable(jobs: Sequence[ReplicatedJob], succeeded: Mapping[str, int]) -> list[ReclaimablePod]:
    """Pods of the replicated jobs of which so many Jobs succeeded; more than there are say nothing."""
    return [
        ReclaimablePod(name=job.name.lower(), count=done * pods_of_a_replica(job))
        for job in jobs
        if 0 < (done := succeeded.get(job.name, 0)) <= job.replicas
    ]


def _with_template(job: ReplicatedJob, template: PodTemplateSpec) -> ReplicatedJob:
    replace = msgspec.structs.replace
    spec = replace(job.template.spec, template=template)
    return replace(job, template=replace(job.template, spec=spec))
