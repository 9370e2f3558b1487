"""Parts that all Kubernetes objects share: metadata, conditions, label selectors."""

from __future__ import annotations

from typing import Annotated, ClassVar, TypeAlias

import msgspec

QuantityValue: TypeAlias = str | int | float
"""A Kubernetes quantity as written; `kueuecore._quantity` gives it a value."""

Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Wire(msgspec.Struct, rename="camel", kw_only=True, gc=False, omit_defaults=True):
    """Base of all wire structs: camelCase names, unknown fields ignored, defaults not written."""


class OwnerReference(Wire, kw_only=True):
    api_version: str
    kind: str
    name: str
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Wire, kw_only=True):
    name: str = ""
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    generation: Int64 | None = None
    resource_version: str | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: Int64 | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None
    finalizers: list[str] | None = None


class KubernetesObject(Wire, kw_only=True):
    """Base of what has a kind of its own; kind and version belong to the class, not to each object."""

    API_VERSION: ClassVar[str]
    KIND: ClassVar[str]
    NAMESPACED: ClassVar[bool] = False

    metadata: ObjectMeta


class Condition(Wire, kw_only=True):
    """A metav1.Condition, or the like of Job, Node and Pod, whose further fields are left out."""

    type: str
    status: str
    # A default made by a factory is written even if empty: the API server insists on both.
    reason: str = msgspec.field(default_factory=str)
    message: str = msgspec.field(default_factory=str)
    last_transition_time: str | None = None
    observed_generation: Int64 | None = None


class LabelSelectorRequirement(Wire, kw_only=True):
    key: str
    operator: str
    values: list[str] | None = None


class LabelSelector(Wire, kw_only=True):
    """Selects by labels. An absent selector selects nothing, an empty one everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[LabelSelectorRequirement] | None = None
