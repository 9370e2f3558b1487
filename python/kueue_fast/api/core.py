"""Core objects (v1, scheduling.k8s.io/v1, node.k8s.io/v1), with the fields that scheduling reads."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kueue_fast.api.meta import (
    Condition,
    Int32,
    Int64,
    KubernetesObject,
    LabelSelector,
    QuantityValue,
    Wire,
)


class Toleration(Wire, kw_only=True):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: Int64 | None = None


class Taint(Wire, kw_only=True):
    key: str
    effect: str
    value: str | None = None
    time_added: str | None = None


class NodeSelectorRequirement(Wire, kw_only=True):
    key: str
    operator: str
    values: list[str] | None = None


class NodeSelectorTerm(Wire, kw_only=True):
    """All expressions and fields must hold; a term with neither matches nothing."""

    match_expressions: list[NodeSelectorRequirement] | None = None
    match_fields: list[NodeSelectorRequirement] | None = None


class NodeSelector(Wire, kw_only=True):
    """At least one of the terms must hold."""

    node_selector_terms: list[NodeSelectorTerm] | None = None


class PreferredSchedulingTerm(Wire, kw_only=True):
    weight: Int32
    preference: NodeSelectorTerm


class NodeAffinity(Wire, kw_only=True):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: list[PreferredSchedulingTerm] | None = None


class PodAffinityTerm(Wire, kw_only=True):
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    topology_key: str
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WeightedPodAffinityTerm(Wire, kw_only=True):
    weight: Int32
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Wire, kw_only=True):
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None


class Affinity(Wire, kw_only=True):
    """Kueue looks at nodes only; the rest tells the pods of one group apart."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Wire, kw_only=True):
    max_skew: Int32
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class ResourceClaim(Wire, kw_only=True):
    name: str
    request: str | None = None


class ResourceRequirements(Wire, kw_only=True):
    limits: dict[str, QuantityValue] | None = None
    requests: dict[str, QuantityValue] | None = None
    claims: list[ResourceClaim] | None = None


class ContainerPort(Wire, kw_only=True):
    name: str | None = None
    host_port: Int32 | None = None
    container_port: Int32
    protocol: str | None = None
    host_ip: str | None = msgspec.field(name="hostIP", default=None)


class Container(Wire, kw_only=True):
    name: str = ""
    image: str | None = None
    ports: list[ContainerPort] | None = None
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None


class PodSchedulingGate(Wire, kw_only=True):
    name: str


class PodResourceClaim(Wire, kw_only=True):
    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(Wire, kw_only=True):
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    resources: ResourceRequirements | None = None
    overhead: dict[str, QuantityValue] | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    runtime_class_name: str | None = None
    priority_class_name: str | None = None
    priority: Int32 | None = None
    restart_policy: str | None = None
    scheduling_gates: list[PodSchedulingGate] | None = None
    resource_claims: list[PodResourceClaim] | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    node_name: str | None = None
    scheduler_name: str | None = None
    active_deadline_seconds: Int64 | None = None
    termination_grace_period_seconds: Int64 | None = None


class PodTemplateSpec(Wire, kw_only=True):
    """A pod template, kept as JSON text: the bytes of `spec` are the key under which it is interned.

    An absent part is an empty Raw (false in a condition), as msgspec allows no `Raw | None`.
    A Raw is a view that keeps the whole decoded message alive: copy what outlives it.
    """

    metadata: msgspec.Raw = msgspec.Raw()
    spec: msgspec.Raw = msgspec.Raw()


class PodStatus(Wire, kw_only=True):
    phase: str | None = None
    conditions: list[Condition] | None = None
    reason: str | None = None
    message: str | None = None
    start_time: str | None = None


class Pod(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "Pod"
    NAMESPACED: ClassVar[bool] = True

    spec: PodSpec
    status: PodStatus | None = None


class Namespace(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "Namespace"


class LimitRangeItem(Wire, kw_only=True):
    type: str
    max: dict[str, QuantityValue] | None = None
    min: dict[str, QuantityValue] | None = None
    default: dict[str, QuantityValue] | None = None
    default_request: dict[str, QuantityValue] | None = None
    max_limit_request_ratio: dict[str, QuantityValue] | None = None


class LimitRangeSpec(Wire, kw_only=True):
    limits: list[LimitRangeItem] | None = None


class LimitRange(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "LimitRange"
    NAMESPACED: ClassVar[bool] = True

    spec: LimitRangeSpec | None = None


class NodeSpec(Wire, kw_only=True):
    unschedulable: bool | None = None
    taints: list[Taint] | None = None


class NodeStatus(Wire, kw_only=True):
    allocatable: dict[str, QuantityValue] | None = None
    capacity: dict[str, QuantityValue] | None = None
    conditions: list[Condition] | None = None


class Node(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "Node"

    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class PriorityClass(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = "scheduling.k8s.io/v1"
    KIND: ClassVar[str] = "PriorityClass"

    value: Int32
    global_default: bool | None = None
    description: str | None = None
    preemption_policy: str | None = None


class Overhead(Wire, kw_only=True):
    pod_fixed: dict[str, QuantityValue] | None = None


class RuntimeClassScheduling(Wire, kw_only=True):
    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None


class RuntimeClass(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = "node.k8s.io/v1"
    KIND: ClassVar[str] = "RuntimeClass"

    handler: str = ""
    overhead: Overhead | None = None
    scheduling: RuntimeClassScheduling | None = None
