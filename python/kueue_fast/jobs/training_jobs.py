"""Kubeflow's training jobs and MPIJob, from one table of facts.

Source: JS-117, JS-441, section 11.10 of the job rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.kubeflow import MPIJob, ReplicaSpec, RunPolicy, TrainingJob
from kueue_fast.jobs.integration import Finished
from kueue_fast.jobs.pod_set_info import annotations_of, decode
from kueue_fast.jobs.pod_templates import marked
from kueue_fast.jobs.roles import Role, RoleIntegration
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.topology_indexes import INDEXES, launcher_shifts_workers
from kueue_fast.model.topology_names import POD_INDEX_OFFSET

__all__ = ["TRAINING_KINDS", "TrainingJobs", "TrainingKind"]

WORKER: Final = "Worker"
LAUNCHER: Final = "Launcher"


class TrainingKind(NamedTuple):
    """What tells one kind from another."""

    framework: str
    api_version: str
    kind: str
    field: str
    """Field of the spec that holds the replicas."""
    replica_types: tuple[str, ...]
    """Types in the order of the pod sets; only those that a job has count."""
    prebuilt: bool = True
    grouped: bool = False
    repeats_create_checks: bool = False
    """Whether a changed job is checked as a new one too. Source: JS-210, JS-211."""


V1: Final = "kubeflow.org/v1"
MASTER_AND_WORKER: Final = ("Master", WORKER)

TRAINING_KINDS: Final = (
    TrainingKind("kubeflow.org/pytorchjob", V1, "PyTorchJob", "pytorchReplicaSpecs", MASTER_AND_WORKER),
    TrainingKind(
        "kubeflow.org/tfjob", V1, "TFJob", "tfReplicaSpecs", ("Chief", "Master", "PS", WORKER, "Evaluator")
    ),
    TrainingKind("kubeflow.org/xgboostjob", V1, "XGBoostJob", "xgbReplicaSpecs", MASTER_AND_WORKER),
    TrainingKind("kubeflow.org/paddlejob", V1, "PaddleJob", "paddleReplicaSpecs", MASTER_AND_WORKER),
    TrainingKind("kubeflow.org/jaxjob", V1, "JAXJob", "jaxReplicaSpecs", (WORKER,), prebuilt=False),
    TrainingKind(
        "kubeflow.org/mpijob",
        "kubeflow.org/v2beta1",
        "MPIJob",
        "mpiReplicaSpecs",
        (LAUNCHER, WORKER),
        grouped=True,
        repeats_create_checks=True,
    ),
)


class TrainingJobs(RoleIntegration[TrainingJob]):
    """One kind of the table: a pod set for each type of replica that a job has."""

    group = "kubeflow.org"

    def __init__(self, facts: TrainingKind) -> None:
        self.framework = facts.framework
        self.api_version = facts.api_version
        self.kind = facts.kind
        self.prebuilt = facts.prebuilt
        self.grouped = facts.grouped
        self.repeats_create_checks = facts.repeats_create_checks
        self.facts = facts

    def roles(self, job: TrainingJob) -> list[Role]:
        """The types of replica that the job has."""
        return [
            Role(
                type_.lower(),
                1 if replica.replicas is None else replica.replicas,
                replica.template,
                f"spec.{self.facts.field}[{type_}].template",
                INDEXES[self.framework],
            )
            for type_, replica in self._replicas(job)
        ]

    def replace(
        self, job: TrainingJob, templates: Sequence[PodTemplateSpec] | None, *, suspended: bool
    ) -> TrainingJob:
        """Replica counts are never changed."""
        replace = msgspec.structs.replace
        replicas = job.spec.replica_specs
        if templates is not None:
            pairs = zip(self._replicas(job), templates, strict=True)
            written = {type_: replace(replica, template=template) for (type_, replica), template in pairs}
            replicas = {**(replicas or {}), **written}
        policy = replace(job.spec.run_policy or RunPolicy(), suspend=suspended)
        return replace(job, spec=replace(job.spec, run_policy=policy, replica_specs=replicas))

    def default(self, job: TrainingJob, settings: JobSettings) -> TrainingJob:
        """Workers of an MPIJob count from 1 where the launcher is number 0. Source: JS-441."""
        if not isinstance(job, MPIJob) or not settings.topology_aware_scheduling:
            return job
        replicas = dict(self._replicas(job))
        launcher, worker = (
            None if (replica := replicas.get(type_)) is None else annotations_of(replica.template)
            for type_ in (LAUNCHER, WORKER)
        )
        if not launcher_shifts_workers(bool(job.spec.run_launcher_as_worker), launcher, worker):
            return job
        template = marked(replicas[WORKER].template, annotations={POD_INDEX_OFFSET: "1"})
        replaced = msgspec.structs.replace(replicas[WORKER], template=template)
        written = {**(job.spec.replica_specs or {}), WORKER: replaced}
        return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, replica_specs=written))

    def priority_class(self, job: TrainingJob) -> str | None:
        """The class of the run policy, or the first of the templates; a job without any says so. Source: JS-117."""
        policy = job.spec.run_policy.scheduling_policy if job.spec.run_policy is not None else None
        if policy is not None and policy.priority_class:
            return policy.priority_class
        for _, replica in self._replicas(job):
            name = decode(replica.template.spec).get("priorityClassName")
            if name:
                return str(name)
        return ""

    def suspended(self, job: TrainingJob) -> bool:
        """Whether the job is held."""
        return job.spec.run_policy is not None and bool(job.spec.run_policy.suspend)

    def active(self, job: TrainingJob) -> bool:
        """Whether a pod of any type runs."""
        known = (job.status.replica_statuses if job.status is not None else None) or {}
        return any(each is not None and each.active for each in known.values())

    def pods_ready(self, job: TrainingJob) -> bool:
        """The job runs."""
        known = (job.status.conditions if job.status is not None else None) or ()
        return any(each.type == "Running" and each.status == "True" for each in known)

    def finished(self, job: TrainingJob) -> Finished | None:
        """The first condition Succeeded or Failed that is True decides."""
        for each in (job.status.conditions if job.status is not None else None) or ():
            if each.type in ("Succeeded", "Failed") and each.status == "True":
                return Finished(each.message, each.type == "Succeeded")
        return None

    def _replicas(self, job: TrainingJob) -> list[tuple[str, ReplicaSpec]]:
        specs = job.spec.replica_specs or {}
        found = ((type_, specs.get(type_)) for type_ in self.facts.replica_types)
        return [(type_, replica) for type_, replica in found if replica is not None]
