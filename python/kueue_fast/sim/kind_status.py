"""What the controllers of the kinds would write into a status: that a job runs, was stopped, or ended.

Only fields that Kueue reads are written. Functions give a changed copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from kueue_fast.api.appwrapper import AppWrapper, AppWrapperStatus
from kueue_fast.api.jobset import JobSet, JobSetStatus, ReplicatedJobStatus
from kueue_fast.api.kubeflow import ReplicaStatus, TrainingJob, TrainingJobStatus
from kueue_fast.api.meta import Condition, KubernetesObject
from kueue_fast.api.ray import (
    ActiveServiceStatus,
    RayCluster,
    RayClusterStatus,
    RayJob,
    RayJobStatus,
    RayService,
    RayServiceStatuses,
)
from kueue_fast.api.spark import ApplicationState, SparkApplication, SparkApplicationStatus
from kueue_fast.api.trainer import TrainJob, TrainJobJobStatus, TrainJobStatus
from kueue_fast.jobs.ray_clusters import READY
from kueue_fast.jobs.roles import Role
from kueue_fast.lifecycle.status import timestamp
from kueue_fast.sim.kind_pod_template import suffix
from kueue_fast.sim.pod_limits import check_pods

__all__ = ["ended", "halted", "partly_done", "running", "with_readiness"]

FAILED_WORDS: Final = "The simulated run failed"
DONE_WORDS: Final = "The simulated run is over"
REASON: Final = "SimulatedRun"


def running(job: KubernetesObject, roles: Sequence[Role], now_ns: int) -> Any:
    """The job just after it was released: all of its pods run. `roles` are its pod sets.

    Raises InputError for a status that would name more pods than can be made.
    """
    match job:
        case JobSet():
            known = [
                ReplicatedJobStatus(name=each.name, active=each.replicas, ready=each.replicas)
                for each in job.spec.replicated_jobs or ()
            ]
            return _with(job, JobSetStatus(), replicated_jobs_status=known)
        case TrainJob():
            jobs = [(role.name, role.indexes.sub_group_count or 1) for role in roles]
            status = [TrainJobJobStatus(name=name, active=count, ready=count) for name, count in jobs]
            return _with(job, TrainJobStatus(), jobs_status=status)
        case TrainingJob():
            replicas = {
                type_: ReplicaStatus(active=1 if each.replicas is None else each.replicas)
                for type_, each in (job.spec.replica_specs or {}).items()
                if each is not None
            }
            return _with(
                job,
                TrainingJobStatus(),
                replica_statuses=replicas,
                conditions=_conditions(job, now_ns, Running=True),
            )
        case RayCluster():
            return _with(job, RayClusterStatus(), state=READY)
        case RayJob():
            return _with(
                job,
                RayJobStatus(),
                job_status="RUNNING",
                job_deployment_status="Running",
                ray_cluster_name=_cluster_name(job),
                ray_cluster_status=RayClusterStatus(state=READY),
            )
        case RayService():
            return _with(
                job,
                RayServiceStatuses(),
                conditions=_conditions(job, now_ns, Ready=True),
                active_service_status=ActiveServiceStatus(ray_cluster_name=_cluster_name(job)),
            )
        case SparkApplication():
            instances = job.spec.executor.instances or 0
            check_pods(job, instances)  # Its status names each of them.
            executors = {f"{job.metadata.name}-exec-{number + 1}": "RUNNING" for number in range(instances)}
            return _with(
                job,
                SparkApplicationStatus(),
                application_state=ApplicationState(state="RUNNING"),
                executor_state=executors,
            )
        case AppWrapper():
            deployed = _conditions(job, now_ns, QuotaReserved=True, ResourcesDeployed=True, PodsReady=True)
            return _with(job, AppWrapperStatus(), phase="Running", conditions=deployed)
    raise TypeError(f"no kind that is played: {job.KIND}")


def with_readiness(job: KubernetesObject, ready: bool, now_ns: int) -> Any:
    """A job that runs, with all of its pods ready, or not."""
    match job:
        case JobSet():
            known = [_ready(each, ready) for each in (job.status and job.status.replicated_jobs_status) or ()]
            return _with(job, JobSetStatus(), replicated_jobs_status=known)
        case TrainJob():
            status = [_ready(each, ready) for each in (job.status and job.status.jobs_status) or ()]
            return _with(job, TrainJobStatus(), jobs_status=status)
        case TrainingJob():
            return _with(job, TrainingJobStatus(), conditions=_conditions(job, now_ns, Running=ready))
        case RayCluster():
            return _with(job, RayClusterStatus(), state=READY if ready else "")
        case RayJob():
            return _with(
                job,
                RayJobStatus(),
                job_status="RUNNING" if ready else None,
                job_deployment_status="Running" if ready else "Initializing",
                ray_cluster_status=RayClusterStatus(state=READY) if ready else None,
            )
        case RayService():
            return _with(job, RayServiceStatuses(), conditions=_conditions(job, now_ns, Ready=ready))
        case SparkApplication():
            state = ApplicationState(state="RUNNING" if ready else "SUBMITTED")
            return _with(job, SparkApplicationStatus(), application_state=state)
        case AppWrapper():
            return _with(job, AppWrapperStatus(), conditions=_conditions(job, now_ns, PodsReady=ready))
    raise TypeError(f"no kind that is played: {job.KIND}")


def halted(job: KubernetesObject, now_ns: int) -> Any:
    """The job whose pods are gone since it was suspended."""
    match job:
        case JobSet() | TrainJob():
            return _inactive(job)
        case TrainingJob():
            return _with(
                job,
                TrainingJobStatus(),
                replica_statuses=None,
                conditions=_conditions(job, now_ns, Running=False),
            )
        case RayCluster():
            return _with(job, RayClusterStatus(), state="suspended")
        case RayJob():
            return _with(
                job,
                RayJobStatus(),
                job_status=None,
                job_deployment_status="Suspended",
                ray_cluster_name=None,
                ray_cluster_status=None,
            )
        case RayService():
            known = _conditions(job, now_ns, Ready=False)
            return _with(job, RayServiceStatuses(), conditions=known, active_service_status=None)
        case SparkApplication():
            state = ApplicationState(state="SUSPENDED")
            return _with(job, SparkApplicationStatus(), application_state=state, executor_state=None)
        case AppWrapper():
            known = _conditions(job, now_ns, QuotaReserved=False, ResourcesDeployed=False, PodsReady=False)
            return _with(job, AppWrapperStatus(), phase="Suspended", conditions=known)
    raise TypeError(f"no kind that is played: {job.KIND}")


def ended(job: KubernetesObject, now_ns: int, *, success: bool) -> Any:
    """The job after its run. Kinds that serve do not end."""
    words = DONE_WORDS if success else FAILED_WORDS
    match job:
        case JobSet() | TrainJob():
            done = _inactive(job, succeeded=success)
            complete = "Completed" if isinstance(job, JobSet) else "Complete"
            known = _conditions(job, now_ns, words, **{complete if success else "Failed": True})
            return msgspec.structs.replace(
                done, status=msgspec.structs.replace(done.status, conditions=known)
            )
        case TrainingJob():
            outcome = {"Running": False, "Succeeded" if success else "Failed": True}
            known = _conditions(job, now_ns, words, **outcome)
            return _with(job, TrainingJobStatus(), replica_statuses=None, conditions=known)
        case RayJob():
            return _with(
                job,
                RayJobStatus(),
                job_status="SUCCEEDED" if success else "FAILED",
                job_deployment_status="Complete" if success else "Failed",
                message=words,
                ray_cluster_status=None,
            )
        case SparkApplication():
            state = ApplicationState(
                state="COMPLETED" if success else "FAILED", error_message=None if success else words
            )
            return _with(job, SparkApplicationStatus(), application_state=state)
        case AppWrapper():
            known = _conditions(job, now_ns, QuotaReserved=False, ResourcesDeployed=False)
            phase = "Succeeded" if success else "Failed"
            return _with(job, AppWrapperStatus(), phase=phase, conditions=known)
    raise TypeError(f"no kind that ends: {job.KIND}")


def partly_done(job: JobSet, name: str) -> JobSet:
    """The JobSet of which the Jobs of one replicated job succeeded, while others run on."""
    known = (job.status.replicated_jobs_status if job.status is not None else None) or ()
    changed = [_settled(each, succeeded=True) if each.name == name else each for each in known]
    result: JobSet = _with(job, JobSetStatus(), replicated_jobs_status=changed)
    return result


def _inactive(job: JobSet | TrainJob, *, succeeded: bool = False) -> Any:
    if isinstance(job, JobSet):
        known: Iterable[Any] = (job.status.replicated_jobs_status if job.status is not None else None) or ()
        settled = [_settled(each, succeeded=succeeded) for each in known]
        return _with(job, JobSetStatus(), replicated_jobs_status=settled)
    known = (job.status.jobs_status if job.status is not None else None) or ()
    return _with(job, TrainJobStatus(), jobs_status=[_settled(each, succeeded=succeeded) for each in known])


def _ready(status: Any, ready: bool) -> Any:
    return msgspec.structs.replace(status, ready=status.active if ready else 0)


def _settled(status: Any, *, succeeded: bool) -> Any:
    """Jobs of one replicated job that have no pods any more; a stopped one starts anew, also what had succeeded."""
    done = max(status.succeeded, status.active) if succeeded else 0
    return msgspec.structs.replace(status, active=0, ready=0, succeeded=done)


def _cluster_name(job: KubernetesObject) -> str:
    """Another one for each start, as KubeRay draws it."""
    return f"{job.metadata.name}-{suffix(job.metadata.uid, job.metadata.generation)}"


def _conditions(job: Any, now_ns: int, message: str = DONE_WORDS, **wanted: bool) -> list[Condition]:
    """The conditions of the job with these set."""
    known = (job.status.conditions if job.status is not None else None) or ()
    kept = [each for each in known if each.type not in wanted]
    now = timestamp(now_ns)
    return kept + [
        Condition(
            type=type_,
            status="True" if value else "False",
            reason=REASON,
            message=message if value and type_ in ("Completed", "Complete", "Succeeded", "Failed") else "",
            last_transition_time=now,
        )
        for type_, value in wanted.items()
    ]


def _with(job: Any, empty: Any, **fields: Any) -> Any:
    status = job.status if job.status is not None else empty
    return msgspec.structs.replace(job, status=msgspec.structs.replace(status, **fields))
