"""AdmissionCheck, WorkloadPriorityClass, ProvisioningRequestConfig, MultiKueueConfig, MultiKueueCluster.

They have schemas and no webhooks. Source: LC-115..118.
"""

import re
from collections.abc import Iterator

from kueue_fast.api.kueue import (
    AdmissionCheck,
    MultiKueueCluster,
    MultiKueueConfig,
    ProvisioningRequestConfig,
    WorkloadPriorityClass,
)
from kueue_fast.model.validation import names
from kueue_fast.model.validation.common import conditions, each, items, length, one_of, unique
from kueue_fast.model.validation.field_error import FieldError, invalid, required, too_many

DESCRIPTION_MAX = 2048
KIND = re.compile(r"[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?")
MERGE_POLICIES = ("IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements")


def validate_workload_priority_class(priority: WorkloadPriorityClass, v1beta2: bool) -> Iterator[FieldError]:
    """What is wrong with a WorkloadPriorityClass. Source: LC-116."""
    if v1beta2:
        yield from length("description", priority.description, DESCRIPTION_MAX)


def validate_admission_check(check: AdmissionCheck, v1beta2: bool) -> Iterator[FieldError]:
    """What is wrong with an AdmissionCheck. Source: LC-115."""
    least = 1 if v1beta2 else 0
    if v1beta2:
        yield from length("spec.controllerName", check.spec.controller_name, 253, least)
    parameters = check.spec.parameters
    if parameters is not None:
        path = "spec.parameters"
        yield from each(f"{path}.apiGroup", parameters.api_group, names.subdomain(parameters.api_group))
        yield from length(f"{path}.kind", parameters.kind, 63)
        if KIND.fullmatch(parameters.kind) is None:
            message = "must hold letters, digits and '-', beginning with a letter"
            yield invalid(f"{path}.kind", parameters.kind, message)
        yield from each(f"{path}.name", parameters.name, names.label(parameters.name))
    if check.status is not None:
        yield from conditions("status.conditions", check.status.conditions, bounded=v1beta2)


def validate_provisioning_request_config(config: ProvisioningRequestConfig) -> Iterator[FieldError]:
    """What is wrong with a ProvisioningRequestConfig. Source: LC-117."""
    spec = config.spec
    name = spec.provisioning_class_name
    yield from each("spec.provisioningClassName", name, names.subdomain(name))
    parameters = spec.parameters or {}
    if len(parameters) > 100:
        yield too_many("spec.parameters", len(parameters), 100)
    for key, value in parameters.items():
        yield from length(f"spec.parameters[{key}]", value, 255)
    yield from items("spec.managedResources", spec.managed_resources, 100)
    yield from unique("spec.managedResources", spec.managed_resources or ())
    yield from one_of("spec.podSetMergePolicy", spec.pod_set_merge_policy, MERGE_POLICIES)
    if spec.pod_set_updates is not None:
        path = "spec.podSetUpdates.nodeSelector"
        selector = spec.pod_set_updates.node_selector or []
        yield from items(path, selector, 8)
        yield from unique(path, (entry.key for entry in selector), ".key")
        for index, entry in enumerate(selector):
            at = f"{path}[{index}]"
            yield from length(f"{at}.key", entry.key, 317)
            yield from each(f"{at}.key", entry.key, names.label_key(entry.key))
            detail = entry.value_from_provisioning_class_detail
            yield from length(f"{at}.valueFromProvisioningClassDetail", detail, 32768, least=1)


def validate_multi_kueue_config(config: MultiKueueConfig, v1beta2: bool) -> Iterator[FieldError]:
    """What is wrong with a MultiKueueConfig. Source: LC-118."""
    if config.spec is None:
        return
    clusters = config.spec.clusters or []
    if not clusters:
        yield required("spec.clusters", "must have at least 1 item")
    yield from items("spec.clusters", clusters, 20)
    yield from unique("spec.clusters", clusters)
    if v1beta2:
        for index, cluster in enumerate(clusters):
            yield from length(f"spec.clusters[{index}]", cluster, 256)
        yield from one_of("spec.quotaManagement", config.spec.quota_management, ("Manual", "Automated"))


def validate_multi_kueue_cluster(cluster: MultiKueueCluster, v1beta2: bool) -> Iterator[FieldError]:
    """What is wrong with a MultiKueueCluster. Source: LC-118, LC-205."""
    source = None if cluster.spec is None else cluster.spec.cluster_source
    if source is not None and v1beta2:
        path = "spec.clusterSource"
        if (source.kube_config is None) == (source.cluster_profile_ref is None):
            yield invalid(path, None, "must have exactly one of kubeConfig and clusterProfileRef")
        if source.kube_config is not None:
            yield from length(f"{path}.kubeConfig.location", source.kube_config.location, 256, least=1)
            kind = source.kube_config.location_type
            yield from one_of(f"{path}.kubeConfig.locationType", kind, ("Secret", "Path"))
    if cluster.status is not None:
        yield from conditions("status.conditions", cluster.status.conditions, bounded=v1beta2)
