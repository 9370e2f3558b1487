"""Stands in for KubeRay: RayJobs and RayServices make RayClusters, RayJobs their submitter, RayClusters their pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from kueue_fast.api.batch import Job, JobSpec, JobStatus
from kueue_fast.api.meta import Condition, KubernetesObject, ObjectMeta
from kueue_fast.api.ray import RayCluster, RayClusterSpec, RayJob, RayService
from kueue_fast.cluster.memory import AlreadyExistsError, Change, MemoryCluster, WatchEvent
from kueue_fast.errors import InputError
from kueue_fast.jobs.ray_cluster import RayClusters
from kueue_fast.jobs.ray_job import BY_JOB, RayJobs, submitter_template
from kueue_fast.jobs.topology_indexes import NO_INDEXES
from kueue_fast.lifecycle.status import timestamp
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.kind_made_pods import MadePods, PodsOfOneTemplate
from kueue_fast.sim.kind_pod_template import controlled_by
from kueue_fast.sim.manifest import describe

__all__ = ["RayOperator"]

CLUSTERS: Final = RayClusters()
JOBS: Final = RayJobs()
ORIGIN_NAME: Final = "ray.io/originated-from-cr-name"
ORIGIN_KIND: Final = "ray.io/originated-from-crd"


class RayOperator:
    """Makes what the status of a job or service names, and deletes what it does not name any more.

    A cluster carries labels and annotations of its job, the queue's too; `admit` is what Kueue's webhook makes of a new
    one.
    """

    def __init__(
        self,
        cluster: MemoryCluster,
        clock: VirtualClock,
        pods: MadePods,
        admit: Callable[[RayCluster], RayCluster],
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._pods = pods
        self._admit = admit
        cluster.watch(RayJob.KIND, self.on_ray_job)
        cluster.watch(RayService.KIND, self.on_ray_service)
        cluster.watch(RayCluster.KIND, self.on_ray_cluster)

    def on_ray_job(self, event: WatchEvent) -> None:
        """A RayJob runs, was stopped, or ended: its cluster goes with it, the Job that submits is over."""
        job: RayJob | None = self._current(event)
        if job is None or job.spec.cluster_selector or job.spec.ray_cluster_spec is None:
            return
        ended = JOBS.finished(job)
        status = job.status
        named = status.ray_cluster_name if status is not None and ended is None else None
        if ended is not None and not job.spec.shutdown_after_job_finishes and status is not None:
            named = status.ray_cluster_name
        self._keep(job, job.spec.ray_cluster_spec, named)
        if job.spec.submission_mode != BY_JOB:
            return
        submitter = next((each for each in self._of(job, Job.KIND)), None)
        if ended is not None and submitter is not None:
            self._end_submitter(submitter, success=ended.success)
        elif ended is None and named is not None and submitter is None:
            self._create(job, _submitter(job))
        elif ended is None and named is None and submitter is not None:
            self._cluster.delete(Job.KIND, submitter.metadata.namespace, submitter.metadata.name)

    def on_ray_service(self, event: WatchEvent) -> None:
        """A RayService runs or was stopped: its cluster goes with it."""
        service: RayService | None = self._current(event)
        if service is not None:
            active = service.status.active_service_status if service.status is not None else None
            named = active.ray_cluster_name if active is not None else None
            self._keep(service, service.spec.ray_cluster_config, named)

    def on_ray_cluster(self, event: WatchEvent) -> None:
        """A RayCluster was released: head and workers start. Workers come and go with their replicas."""
        found: RayCluster | None = self._current(event)
        if found is None or CLUSTERS.suspended(found):
            return
        name = found.metadata.name
        self._pods.keep(
            found,
            [
                PodsOfOneTemplate(
                    f"{name}-{role.name}", role.counted or role.template, role.count, NO_INDEXES
                )
                for role in CLUSTERS.roles(found)
            ],
        )

    def _keep(self, owner: KubernetesObject, spec: RayClusterSpec, named: str | None) -> None:
        """The cluster called `named` and no other; it is made when it is not there."""
        there = self._of(owner, RayCluster.KIND)
        for each in there:
            if each.metadata.name != named:
                self._cluster.delete(RayCluster.KIND, each.metadata.namespace, each.metadata.name)
        if named is not None and all(each.metadata.name != named for each in there):
            labels = {
                **(owner.metadata.labels or {}),
                ORIGIN_NAME: owner.metadata.name,
                ORIGIN_KIND: owner.KIND,
            }
            metadata = ObjectMeta(
                name=named,
                namespace=owner.metadata.namespace,
                labels=labels,
                annotations=owner.metadata.annotations,
                owner_references=[controlled_by(owner)],
            )
            released = msgspec.structs.replace(spec, suspend=None)
            self._create(owner, self._admit(RayCluster(metadata=metadata, spec=released)))

    def _create(self, owner: KubernetesObject, made: Any) -> None:
        """Raises InputError where the name is taken: KubeRay would try again and again, and the job never start."""
        try:
            self._cluster.create(made)
        except AlreadyExistsError as error:
            what = f"makes a {made.KIND} {made.metadata.name}, and there is another one of that name"
            raise InputError(what, object=describe(owner), expected="another name for one of them") from error

    def _of(self, owner: KubernetesObject, kind: str) -> list[Any]:
        return list(self._cluster.dependents(owner.metadata.uid or "", kind))

    def _current(self, event: WatchEvent) -> Any:
        """The object as it is by now, None if it is gone or goes."""
        obj = event.object
        if event.change is Change.DELETED:
            return None
        current = self._cluster.get(obj.KIND, obj.metadata.namespace, obj.metadata.name)
        return None if current is None or current.metadata.deletion_timestamp else current

    def _end_submitter(self, submitter: Job, *, success: bool) -> None:
        status = submitter.status or JobStatus()
        if any(each.type in ("Complete", "Failed") for each in status.conditions or ()):
            return
        condition = Condition(
            type="Complete" if success else "Failed",
            status="True",
            reason="CompletionsReached" if success else "BackoffLimitExceeded",
            last_transition_time=timestamp(self._clock.now),
        )
        status = msgspec.structs.replace(
            status,
            active=None,
            ready=0,
            succeeded=1 if success else None,
            failed=None if success else 1,
            conditions=[*(status.conditions or ()), condition],
        )
        self._cluster.update_status(msgspec.structs.replace(submitter, status=status))


def _submitter(job: RayJob) -> Job:
    """The Job that submits, called like the RayJob."""
    metadata = ObjectMeta(
        name=job.metadata.name,
        namespace=job.metadata.namespace,
        labels={ORIGIN_NAME: job.metadata.name, ORIGIN_KIND: job.KIND},
        owner_references=[controlled_by(job)],
    )
    template = submitter_template(job)
    return Job(
        metadata=metadata, spec=JobSpec(template=template, parallelism=1, completions=1, backoff_limit=2)
    )
