"""KubeRay's kinds (ray.io/v1): RayCluster, RayJob, RayService, with the fields that Kueue reads or writes.

Defaults are those that the CRDs set, so that a manifest reads as what the API server would store.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.meta import Condition, Int32, KubernetesObject, Wire

API_VERSION = "ray.io/v1"


class AutoscalerOptions(Wire, kw_only=True):
    # JSON text of the sidecar's resources, empty if there are none.
    resources: msgspec.Raw = msgspec.Raw()


class HeadGroupSpec(Wire, kw_only=True):
    template: PodTemplateSpec


class WorkerGroupSpec(Wire, kw_only=True):
    template: PodTemplateSpec
    group_name: str = ""
    replicas: Int32 | None = 0
    min_replicas: Int32 | None = None
    max_replicas: Int32 | None = None
    num_of_hosts: Int32 | None = None


class RayClusterSpec(Wire, kw_only=True):
    head_group_spec: HeadGroupSpec
    worker_group_specs: list[WorkerGroupSpec] | None = None
    suspend: bool | None = None
    managed_by: str | None = None
    enable_in_tree_autoscaling: bool | None = None
    autoscaler_options: AutoscalerOptions | None = None
    # Only whether it is there counts; the text is kept.
    gcs_fault_tolerance_options: msgspec.Raw = msgspec.Raw()


class RayClusterStatus(Wire, kw_only=True):
    state: str | None = None
    reason: str | None = None


class RayCluster(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = API_VERSION
    KIND: ClassVar[str] = "RayCluster"
    NAMESPACED: ClassVar[bool] = True

    spec: RayClusterSpec
    status: RayClusterStatus | None = None


class RayJobSpec(Wire, kw_only=True):
    ray_cluster_spec: RayClusterSpec | None = None
    cluster_selector: dict[str, str] | None = None
    submission_mode: str = "K8sJobMode"
    submitter_pod_template: PodTemplateSpec | None = None
    shutdown_after_job_finishes: bool | None = None
    suspend: bool | None = None
    managed_by: str | None = None


class RayJobStatus(Wire, kw_only=True):
    job_status: str | None = None
    job_deployment_status: str | None = None
    message: str | None = None
    ray_cluster_name: str | None = None
    ray_cluster_status: RayClusterStatus | None = None


class RayJob(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = API_VERSION
    KIND: ClassVar[str] = "RayJob"
    NAMESPACED: ClassVar[bool] = True

    spec: RayJobSpec
    status: RayJobStatus | None = None


class RayServiceSpec(Wire, kw_only=True):
    ray_cluster_config: RayClusterSpec
    managed_by: str | None = None


class ActiveServiceStatus(Wire, kw_only=True):
    ray_cluster_name: str | None = None


class RayServiceStatuses(Wire, kw_only=True):
    conditions: list[Condition] | None = None
    active_service_status: ActiveServiceStatus | None = None
    # The cluster that is to take the active one's place, or the first one until it serves.
    pending_service_status: ActiveServiceStatus | None = None


class RayService(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = API_VERSION
    KIND: ClassVar[str] = "RayService"
    NAMESPACED: ClassVar[bool] = True

    spec: RayServiceSpec
    status: RayServiceStatuses | None = None
