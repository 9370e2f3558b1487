"""What Kueue's CRD schemas and webhooks, and lightly Kubernetes itself, refuse on create.

`validate` takes any object that `api.decode` gives. Rules that compare with an older form of the object
(immutable fields) are not among them.
"""

from collections.abc import Callable, Iterable
from typing import Any

from kueue_fast.api import batch, core, kueue
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.model.features import FeatureGates
from kueue_fast.model.validation import builtin_kinds, checks
from kueue_fast.model.validation.cluster_queue import validate_cluster_queue
from kueue_fast.model.validation.cohort import validate_cohort
from kueue_fast.model.validation.field_error import ErrorType, FieldError
from kueue_fast.model.validation.local_queue import validate_local_queue
from kueue_fast.model.validation.metadata import validate_metadata
from kueue_fast.model.validation.resource_flavor import validate_resource_flavor
from kueue_fast.model.validation.topology import validate_topology
from kueue_fast.model.validation.workload import is_plain_workload, validate_workload

__all__ = ["ErrorType", "FieldError", "validate"]

V1BETA2 = "kueue.x-k8s.io/v1beta2"

# (object, gates, whether v1beta2's own bounds apply) -> what is wrong
Rules = Callable[[Any, FeatureGates, bool], Iterable[FieldError]]

RULES: dict[type[KubernetesObject], Rules] = {
    kueue.Workload: validate_workload,
    kueue.ClusterQueue: validate_cluster_queue,
    kueue.Cohort: lambda obj, _gates, _v1beta2: validate_cohort(obj),
    kueue.LocalQueue: lambda obj, _gates, v1beta2: validate_local_queue(obj, v1beta2),
    kueue.ResourceFlavor: lambda obj, _gates, _v1beta2: validate_resource_flavor(obj),
    kueue.Topology: lambda obj, _gates, _v1beta2: validate_topology(obj),
    kueue.WorkloadPriorityClass: lambda obj, _gates, v1beta2: checks.validate_workload_priority_class(
        obj, v1beta2
    ),
    kueue.AdmissionCheck: lambda obj, _gates, v1beta2: checks.validate_admission_check(obj, v1beta2),
    kueue.ProvisioningRequestConfig: lambda obj, _gates, _v1beta2: (
        checks.validate_provisioning_request_config(obj)
    ),
    kueue.MultiKueueConfig: lambda obj, _gates, v1beta2: checks.validate_multi_kueue_config(obj, v1beta2),
    kueue.MultiKueueCluster: lambda obj, _gates, v1beta2: checks.validate_multi_kueue_cluster(obj, v1beta2),
    core.LimitRange: lambda obj, _gates, _v1beta2: builtin_kinds.validate_limit_range(obj),
    core.RuntimeClass: lambda obj, _gates, _v1beta2: builtin_kinds.validate_runtime_class(obj),
    core.PriorityClass: lambda obj, _gates, _v1beta2: builtin_kinds.validate_priority_class(obj),
    core.Node: lambda obj, _gates, _v1beta2: builtin_kinds.validate_node(obj),
    core.Pod: lambda obj, _gates, _v1beta2: builtin_kinds.validate_pod(obj),
    batch.Job: lambda obj, _gates, _v1beta2: builtin_kinds.validate_job(obj),
}


def validate(obj: KubernetesObject, gates: FeatureGates, api_version: str = V1BETA2) -> list[FieldError]:
    """All that is wrong with an object that is to be created, in the order of its fields.

    `api_version` is what the object was written in: bounds that only v1beta2 has do not hold for v1beta1,
    although `obj` has been converted. A kind without rules has its metadata checked.
    Source: LC-102..118, LC-206, LC-302..313.
    """
    if isinstance(obj, kueue.Workload) and is_plain_workload(obj, gates):
        return []
    errors = list(validate_metadata(obj))
    rules = RULES.get(type(obj))
    if rules is not None:
        errors.extend(rules(obj, gates, api_version == V1BETA2))
    return errors
