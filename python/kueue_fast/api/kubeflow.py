"""Training jobs of Kubeflow (kubeflow.org), with the fields that Kueue reads or writes.

The kinds differ in the name of one field, which their structs give the same name.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kueue_fast.api.core import PodTemplateSpec
from kueue_fast.api.meta import Condition, Int32, KubernetesObject, Wire

V1 = "kubeflow.org/v1"


class SchedulingPolicy(Wire, kw_only=True):
    priority_class: str | None = None


class RunPolicy(Wire, kw_only=True):
    suspend: bool | None = None
    managed_by: str | None = None
    scheduling_policy: SchedulingPolicy | None = None


class ReplicaSpec(Wire, kw_only=True):
    template: PodTemplateSpec
    replicas: Int32 | None = None


class TrainingJobSpec(Wire, kw_only=True):
    """Base of the specs; each kind adds `replica_specs`, by type of replica, under a name of its own."""

    run_policy: RunPolicy | None = None
    replica_specs: dict[str, ReplicaSpec | None] | None = None


class ReplicaStatus(Wire, kw_only=True):
    active: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0


class TrainingJobStatus(Wire, kw_only=True):
    conditions: list[Condition] | None = None
    replica_statuses: dict[str, ReplicaStatus | None] | None = None


class TrainingJob(KubernetesObject, kw_only=True):
    """Base of the kinds."""

    NAMESPACED: ClassVar[bool] = True

    spec: TrainingJobSpec
    status: TrainingJobStatus | None = None


class PyTorchJobSpec(TrainingJobSpec, kw_only=True):
    replica_specs: dict[str, ReplicaSpec | None] | None = msgspec.field(
        name="pytorchReplicaSpecs", default=None
    )


class PyTorchJob(TrainingJob, kw_only=True):
    API_VERSION: ClassVar[str] = V1
    KIND: ClassVar[str] = "PyTorchJob"

    spec: PyTorchJobSpec


class TFJobSpec(TrainingJobSpec, kw_only=True):
    replica_specs: dict[str, ReplicaSpec | None] | None = msgspec.field(name="tfReplicaSpecs", default=None)


class TFJob(TrainingJob, kw_only=True):
    API_VERSION: ClassVar[str] = V1
    KIND: ClassVar[str] = "TFJob"

    spec: TFJobSpec


class XGBoostJobSpec(TrainingJobSpec, kw_only=True):
    replica_specs: dict[str, ReplicaSpec | None] | None = msgspec.field(name="xgbReplicaSpecs", default=None)


class XGBoostJob(TrainingJob, kw_only=True):
    API_VERSION: ClassVar[str] = V1
    KIND: ClassVar[str] = "XGBoostJob"

    spec: XGBoostJobSpec


class PaddleJobSpec(TrainingJobSpec, kw_only=True):
    replica_specs: dict[str, ReplicaSpec | None] | None = msgspec.field(
        name="paddleReplicaSpecs", default=None
    )


class PaddleJob(TrainingJob, kw_only=True):
    API_VERSION: ClassVar[str] = V1
    KIND: ClassVar[str] = "PaddleJob"

    spec: PaddleJobSpec


class JAXJobSpec(TrainingJobSpec, kw_only=True):
    replica_specs: dict[str, ReplicaSpec | None] | None = msgspec.field(name="jaxReplicaSpecs", default=None)


class JAXJob(TrainingJob, kw_only=True):
    API_VERSION: ClassVar[str] = V1
    KIND: ClassVar[str] = "JAXJob"

    spec: JAXJobSpec


class MPIJobSpec(TrainingJobSpec, kw_only=True):
    replica_specs: dict[str, ReplicaSpec | None] | None = msgspec.field(name="mpiReplicaSpecs", default=None)
    run_launcher_as_worker: bool | None = None


class MPIJob(TrainingJob, kw_only=True):
    API_VERSION: ClassVar[str] = "kubeflow.org/v2beta1"
    KIND: ClassVar[str] = "MPIJob"

    spec: MPIJobSpec
