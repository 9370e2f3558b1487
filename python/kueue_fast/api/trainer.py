"""TrainJob and its runtimes (trainer.kubeflow.org/v1alpha1), with the fields that Kueue reads or writes."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from kueue_fast.api.jobset import JobSetSpec
from kueue_fast.api.meta import Condition, Int32, KubernetesObject, Wire

API_VERSION = "trainer.kubeflow.org/v1alpha1"


class RuntimeRef(Wire, kw_only=True):
    name: str
    api_group: str = "trainer.kubeflow.org"
    kind: str = "ClusterTrainingRuntime"


class Trainer(Wire, kw_only=True):
    num_nodes: Int32 | None = None
    # JSON text of the resources of each node, empty if there are none.
    resources_per_node: msgspec.Raw = msgspec.Raw()


class TrainJobSpec(Wire, kw_only=True):
    """`runtime_patches` are kept as they are: they are merged into JSON."""

    runtime_ref: RuntimeRef
    trainer: Trainer | None = None
    runtime_patches: list[dict[str, Any]] | None = None
    suspend: bool | None = None
    managed_by: str | None = None


class TrainJobJobStatus(Wire, kw_only=True):
    name: str
    ready: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0
    active: Int32 = 0


class TrainJobStatus(Wire, kw_only=True):
    conditions: list[Condition] | None = None
    jobs_status: list[TrainJobJobStatus] | None = None


class TrainJob(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = API_VERSION
    KIND: ClassVar[str] = "TrainJob"
    NAMESPACED: ClassVar[bool] = True

    spec: TrainJobSpec
    status: TrainJobStatus | None = None


class MPIPolicy(Wire, kw_only=True):
    run_launcher_as_node: bool | None = None


class MLPolicy(Wire, kw_only=True):
    num_nodes: Int32 | None = None
    mpi: MPIPolicy | None = None


class JobSetTemplateSpec(Wire, kw_only=True):
    spec: JobSetSpec


class TrainingRuntimeSpec(Wire, kw_only=True):
    template: JobSetTemplateSpec
    ml_policy: MLPolicy | None = None


class TrainingRuntime(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = API_VERSION
    KIND: ClassVar[str] = "TrainingRuntime"
    NAMESPACED: ClassVar[bool] = True

    spec: TrainingRuntimeSpec


class ClusterTrainingRuntime(KubernetesObject, kw_only=True):
    API_VERSION: ClassVar[str] = API_VERSION
    KIND: ClassVar[str] = "ClusterTrainingRuntime"

    spec: TrainingRuntimeSpec
