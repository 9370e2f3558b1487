"""The AppWrapper integration. Source: JS-443, section 11.10 of the job rules."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

import msgspec

from kueue_fast.api.appwrapper import AppWrapper, AppWrapperPodSetInfo
from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.jobs.app_wrapper_pod_sets import component_pod_sets, pod_template
from kueue_fast.jobs.integration import Finished, Stopped
from kueue_fast.jobs.pod_set_info import PodSetInfo, StartError
from kueue_fast.jobs.roles import Role, RoleIntegration
from kueue_fast.jobs.topology_indexes import app_wrapper_indexes
from kueue_fast.model import conditions

__all__ = ["AppWrappers"]

QUOTA_RESERVED: Final = "QuotaReserved"
RESOURCES_DEPLOYED: Final = "ResourcesDeployed"
PODS_READY: Final = "PodsReady"


class AppWrappers(RoleIntegration[AppWrapper]):
    """workload.codeflare.dev/v1beta2 AppWrapper: pod sets `<name>-0`, ... of the objects that it wraps."""

    framework = "workload.codeflare.dev/appwrapper"
    api_version = "workload.codeflare.dev/v1beta2"
    group = "workload.codeflare.dev"
    kind = "AppWrapper"
    repeats_create_checks = False
    checks_topology = False

    def roles(self, job: AppWrapper) -> list[Role]:
        """The pod sets of all components; one whose path leads to no pod template is left out."""
        found: list[Role] = []
        components = zip(job.spec.components or (), component_pod_sets(job), strict=True)
        for number, (component, pod_sets) in enumerate(components):
            for pod_set in pod_sets:
                template = pod_template(component.template, pod_set.path)
                if template is not None:
                    found.append(
                        Role(
                            f"{job.metadata.name}-{len(found)}".lower(),
                            1 if pod_set.replicas is None else pod_set.replicas,
                            template,
                            f"spec.components[{number}].{pod_set.path}",
                            app_wrapper_indexes(pod_set.annotations or {}),
                        )
                    )
        return found

    def replace(
        self, job: AppWrapper, templates: Sequence[PodTemplateSpec] | None, *, suspended: bool
    ) -> AppWrapper:
        """The wrapped objects are never changed."""
        return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, suspend=suspended or None))

    def start(self, job: AppWrapper, infos: list[PodSetInfo]) -> AppWrapper:
        """The job released; what admission adds is handed to its operator. Raises StartError. Source: JS-443."""
        wanted = component_pod_sets(job)
        count = sum(map(len, wanted))
        if count != len(infos):
            raise StartError(f"invalid podset infos: expecting {count} podsets, got {len(infos)}")
        rest = (_handed_over(info) for info in infos)
        components = [
            msgspec.structs.replace(component, pod_set_infos=list(islice(rest, len(pod_sets))))
            for component, pod_sets in zip(job.spec.components or (), wanted, strict=True)
        ]
        # The API leaves it out of one that is not held.
        spec = msgspec.structs.replace(job.spec, suspend=None, components=components)
        return msgspec.structs.replace(job, spec=spec)

    def stop(self, job: AppWrapper, infos: list[PodSetInfo]) -> Stopped[AppWrapper]:
        """The job held, and what was handed over taken back."""
        if self.suspended(job):
            return Stopped(job, False)
        components = job.spec.components
        if infos and components:
            components = [msgspec.structs.replace(each, pod_set_infos=None) for each in components]
        spec = msgspec.structs.replace(job.spec, suspend=True, components=components)
        return Stopped(msgspec.structs.replace(job, spec=spec), True)

    def suspended(self, job: AppWrapper) -> bool:
        """Whether the job is held."""
        return bool(job.spec.suspend)

    def active(self, job: AppWrapper) -> bool:
        """The operator holds on to the quota while it has objects."""
        return self._is_true(job, QUOTA_RESERVED)

    def pods_ready(self, job: AppWrapper) -> bool:
        """The condition says it."""
        return self._is_true(job, PODS_READY)

    def finished(self, job: AppWrapper) -> Finished | None:
        """Succeeded, or failed once its objects are gone."""
        match job.status.phase if job.status is not None else None:
            case "Succeeded":
                return Finished("AppWrapper finished successfully", True)
            case "Failed" if not self._is_true(job, RESOURCES_DEPLOYED):
                return Finished("AppWrapper failed", False)
        return None

    def _is_true(self, job: AppWrapper, type_: str) -> bool:
        return conditions.is_true(job.status.conditions if job.status is not None else None, type_)


def _handed_over(info: PodSetInfo) -> AppWrapperPodSetInfo:
    parts = {
        "annotations": info.annotations or None,
        "labels": info.labels or None,
        "nodeSelector": info.node_selector or None,
        "tolerations": info.tolerations or None,
        "schedulingGates": info.scheduling_gates or None,
    }
    return msgspec.convert(parts, AppWrapperPodSetInfo)
