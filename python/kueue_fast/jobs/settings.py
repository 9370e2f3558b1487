"""The part of the configuration and of the feature gates that the job side reads, as plain fields."""

from __future__ import annotations

import msgspec

from kueue_fast.api.configuration import Configuration
from kueue_fast.lifecycle.settings import LifecycleSettings
from kueue_fast.lifecycle.status import Reasons
from kueue_fast.model.features import FeatureGates

__all__ = ["JobSettings"]

DEFAULT_FRAMEWORKS = ("batch/job",)


class JobSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What every integration needs to know of the configuration. Source: JS-002, JS-021, JS-046, JS-106."""

    frameworks: tuple[str, ...] = DEFAULT_FRAMEWORKS
    external_frameworks: tuple[str, ...] = ()
    manage_jobs_without_queue_name: bool = False
    label_keys_to_copy: tuple[str, ...] = ()
    short_workload_names: bool = False
    partial_admission: bool = True
    reclaimable_pods: bool = True
    topology_aware_scheduling: bool = True
    multi_layer_topology: bool = True
    elastic_jobs: bool = True
    skip_reassignment_for_pod_owned: bool = True
    assign_queue_labels: bool = True
    admission_gated_by: bool = True
    workload_identifier_annotations: bool = True
    validate_ray_and_spark_updates: bool = True
    defer_ray_service_finalization: bool = True
    immutable_group_size: bool = True
    validate_group_owner: bool = True
    fast_quota_release: bool = False
    spark_applications: bool = False
    finish_orphaned: bool = True
    default_priority_class: bool = False
    """Whether jobs follow the WorkloadPriorityClass `default`: gate WorkloadPriorityClassDefaulting. Source: JS-048."""
    wait_for_pods_ready: bool = False
    after_deactivated_ns: int | None = None
    """How long the job of a Workload that Kueue switched off is kept, in ns; None: for ever. Source: JS-076."""
    reasons: Reasons = Reasons()

    @classmethod
    def read(cls, configuration: Configuration | None, gates: FeatureGates) -> JobSettings:
        """Settings of a Configuration (None: the defaults) and the gates."""
        frameworks: tuple[str, ...] = DEFAULT_FRAMEWORKS
        external: tuple[str, ...] = ()
        label_keys: tuple[str, ...] = ()
        manage_all = False
        if configuration is not None:
            manage_all = bool(configuration.manage_jobs_without_queue_name)
            integrations = configuration.integrations
            if integrations is not None:
                frameworks = tuple(integrations.frameworks or DEFAULT_FRAMEWORKS)
                external = tuple(integrations.external_frameworks or ())
                label_keys = tuple(integrations.label_keys_to_copy or ())
        lifecycle = LifecycleSettings.read(configuration, gates)
        return cls(
            frameworks=frameworks,
            external_frameworks=external,
            manage_jobs_without_queue_name=manage_all,
            label_keys_to_copy=label_keys,
            short_workload_names=gates.enabled("ShortWorkloadNames"),
            partial_admission=gates.enabled("PartialAdmission"),
            reclaimable_pods=gates.enabled("ReclaimablePods"),
            topology_aware_scheduling=gates.enabled("TopologyAwareScheduling"),
            multi_layer_topology=gates.enabled("TASMultiLayerTopology"),
            elastic_jobs=gates.enabled("ElasticJobsViaWorkloadSlices"),
            skip_reassignment_for_pod_owned=gates.enabled("SkipReassignmentForPodOwnedWorkloads"),
            assign_queue_labels=gates.enabled("AssignQueueLabelsForPods"),
            admission_gated_by=gates.enabled("AdmissionGatedBy"),
            workload_identifier_annotations=gates.enabled("WorkloadIdentifierAnnotations"),
            validate_ray_and_spark_updates=gates.enabled("ValidateRayAndSparkJobUpdates"),
            defer_ray_service_finalization=gates.enabled("DeferRayServiceFinalizationForRedisCleanup"),
            immutable_group_size=gates.enabled("LWSImmutableGroupSize"),
            validate_group_owner=gates.enabled("PodIntegrationValidateGroupOwner"),
            fast_quota_release=gates.enabled("FastQuotaReleaseInPodIntegration"),
            spark_applications=gates.enabled("SparkApplicationIntegration"),
            finish_orphaned=gates.enabled("FinishOrphanedWorkloads"),
            default_priority_class=gates.enabled("WorkloadPriorityClassDefaulting"),
            wait_for_pods_ready=lifecycle.pods_ready is not None,
            after_deactivated_ns=lifecycle.after_deactivated_ns,
            reasons=Reasons.read(gates),
        )
