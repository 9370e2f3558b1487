"""The SparkApplication integration; it needs the gate SparkApplicationIntegration. Source: JS-288, JS-444."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from kueue_fast.api.core import PodTemplateSpec, Toleration
from kueue_fast.api.spark import SparkApplication, SparkPodSpec
from kueue_fast.jobs.integration import Finished, Stopped
from kueue_fast.jobs.pod_set_info import PodSetInfo, StartError, as_json, decode
from kueue_fast.jobs.ray_clusters import updates_are_checked
from kueue_fast.jobs.roles import Role, RoleIntegration
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.spark_pods import DRIVER_CONTAINER, EXECUTOR_CONTAINER, spark_template, with_gates
from kueue_fast.jobs.validation import is_elastic
from kueue_fast.jobs.workload import is_managed
from kueue_fast.model.validation.field_error import FieldError, invalid

__all__ = ["SparkApplications"]

RUNNING: Final = "RUNNING"
CLUSTER_MODE: Final = "cluster"
PARTS: Final = 2


class SparkApplications(RoleIntegration[SparkApplication]):
    """sparkoperator.k8s.io/v1beta2 SparkApplication: `driver` and `executor`."""

    framework = "sparkoperator.k8s.io/sparkapplication"
    api_version = "sparkoperator.k8s.io/v1beta2"
    group = "sparkoperator.k8s.io"
    kind = "SparkApplication"
    prebuilt = False

    def roles(self, job: SparkApplication) -> list[Role]:
        """Driver and executors. Raises InputError for an amount that is none."""
        driver, executor = job.spec.driver, job.spec.executor
        return [
            Role(
                "driver",
                1,
                spark_template(driver, DRIVER_CONTAINER, "spec.driver"),
                "spec.driver",
                metadata_at="spec.driver",
            ),
            Role(
                "executor",
                executor.instances or 0,
                spark_template(executor, EXECUTOR_CONTAINER, "spec.executor"),
                "spec.executor",
                metadata_at="spec.executor",
            ),
        ]

    def replace(
        self, job: SparkApplication, templates: Sequence[PodTemplateSpec] | None, *, suspended: bool
    ) -> SparkApplication:
        """Templates are not written as such: see `start` and `stop`."""
        return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, suspend=suspended))

    def start(self, job: SparkApplication, infos: list[PodSetInfo]) -> SparkApplication:
        """The job released; a node selector for all moves to driver and executors. Raises StartError."""
        if len(infos) != PARTS:
            raise StartError(f"invalid podset infos: expecting {PARTS} podset, got {len(infos)}")
        common = job.spec.node_selector
        driver = _merged(job.spec.driver, infos[0], common, DRIVER_CONTAINER)
        executor = _merged(job.spec.executor, infos[1], common, EXECUTOR_CONTAINER)
        spec = msgspec.structs.replace(
            job.spec, suspend=False, driver=driver, executor=executor, node_selector=None
        )
        return msgspec.structs.replace(job, spec=spec)

    def stop(self, job: SparkApplication, infos: list[PodSetInfo]) -> Stopped[SparkApplication]:
        """The job held, driver and executors as the Workload has them; a node selector for all does not come back."""
        if self.suspended(job):
            return Stopped(job, False)
        if len(infos) != PARTS:
            return Stopped(self.suspend(job), True)
        driver = _restored(job.spec.driver, infos[0], DRIVER_CONTAINER)
        executor = _restored(job.spec.executor, infos[1], EXECUTOR_CONTAINER)
        executor.instances = infos[1].count
        spec = msgspec.structs.replace(
            job.spec, suspend=True, driver=driver, executor=executor, node_selector=None
        )
        return Stopped(msgspec.structs.replace(job, spec=spec), True)

    def validate_kind(self, job: SparkApplication, settings: JobSettings) -> list[FieldError]:
        """Checks of a managed application. Source: JS-444."""
        if not is_managed(job.metadata, settings):
            return []
        errors = []
        if job.spec.mode != CLUSTER_MODE:
            message = f"must be {CLUSTER_MODE}: Kueue manages no other mode"
            errors.append(invalid("spec.mode", job.spec.mode or "", message))
        dynamic = job.spec.dynamic_allocation
        if dynamic is not None and dynamic.enabled and not is_elastic(job.metadata, settings):
            message = "needs workload slices: a job that Kueue manages must be elastic for it"
            errors.append(invalid("spec.dynamicAllocation.enabled", True, message))
        return errors

    def validate_update(
        self, old: SparkApplication, new: SparkApplication, settings: JobSettings, default_queue_exists: bool
    ) -> list[FieldError]:
        """Source: JS-288."""
        if not updates_are_checked(old.metadata, new.metadata, settings):
            return []
        return super().validate_update(old, new, settings, default_queue_exists)

    def suspended(self, job: SparkApplication) -> bool:
        """Whether the job is held."""
        return bool(job.spec.suspend)

    def active(self, job: SparkApplication) -> bool:
        """The application runs."""
        return state_of(job) == RUNNING

    def pods_ready(self, job: SparkApplication) -> bool:
        """The driver runs, and the executors that were asked for run or ran."""
        known = (job.status.executor_state if job.status is not None else None) or {}
        there = sum(state in (RUNNING, "COMPLETED") for state in known.values())
        return self.active(job) and there >= (job.spec.executor.instances or 0)

    def finished(self, job: SparkApplication) -> Finished | None:
        """Completed, failed, or never submitted."""
        state = job.status.application_state if job.status is not None else None
        if state is None or state.state not in ("COMPLETED", "FAILED", "SUBMISSION_FAILED"):
            return None
        return Finished(state.error_message or "", state.state == "COMPLETED")


def state_of(job: SparkApplication) -> str:
    """State of the application, empty for a new one."""
    state = job.status.application_state if job.status is not None else None
    return (state.state if state is not None else None) or ""


def _merged(
    pod: SparkPodSpec, info: PodSetInfo, common: dict[str, str] | None, container: str
) -> SparkPodSpec:
    template = with_gates(pod, _gates(pod), container)
    mine = PodSetInfo(
        name=info.name,
        count=info.count,
        annotations=dict(pod.annotations or {}),
        labels=dict(pod.labels or {}),
        node_selector=dict((pod.node_selector if common is None else common) or {}),
        tolerations=as_json(pod.tolerations),
        scheduling_gates=_gates(pod),
    )
    mine.merge(
        annotations=info.annotations,
        labels=info.labels,
        node_selector=info.node_selector,
        tolerations=info.tolerations,
        scheduling_gates=info.scheduling_gates,
    )
    return _written(msgspec.structs.replace(pod, template=template), mine, container)


def _restored(pod: SparkPodSpec, info: PodSetInfo, container: str) -> SparkPodSpec:
    return _written(pod, info, container)


def _written(pod: SparkPodSpec, info: PodSetInfo, container: str) -> SparkPodSpec:
    return msgspec.structs.replace(
        pod,
        annotations=info.annotations or None,
        labels=info.labels or None,
        node_selector=info.node_selector or None,
        tolerations=msgspec.convert(info.tolerations, list[Toleration]) or None,
        template=with_gates(pod, info.scheduling_gates, container),
    )


def _gates(pod: SparkPodSpec) -> list[dict[str, str]]:
    return list(decode(pod.template.spec).get("schedulingGates") or ()) if pod.template is not None else []
