"""The kinds of jobs that a simulation plays besides batch/v1 Job, and which of their integrations are on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from kueue_fast.api.apps import Deployment, ReplicaSet, StatefulSet
from kueue_fast.api.appwrapper import AppWrapper
from kueue_fast.api.batch import Job
from kueue_fast.api.configuration import Configuration
from kueue_fast.api.core import Pod
from kueue_fast.api.jobset import JobSet
from kueue_fast.api.kubeflow import JAXJob, MPIJob, PaddleJob, PyTorchJob, TFJob, XGBoostJob
from kueue_fast.api.leaderworkerset import LeaderWorkerSet
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.api.ray import RayCluster, RayJob, RayService
from kueue_fast.api.spark import SparkApplication
from kueue_fast.api.trainer import ClusterTrainingRuntime, TrainingRuntime, TrainingRuntimeSpec, TrainJob
from kueue_fast.jobs.registry import Registry
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.model.features import FeatureGates

__all__ = [
    "JOB_KINDS",
    "OUTSIDE_THE_ENGINE",
    "PLAYED",
    "SCALABLE",
    "SERVING",
    "is_played",
    "registry_of",
    "settings_of",
]

PLAYED: Final[tuple[type[KubernetesObject], ...]] = (
    AppWrapper,
    JAXJob,
    JobSet,
    MPIJob,
    PaddleJob,
    PyTorchJob,
    RayCluster,
    RayJob,
    RayService,
    SparkApplication,
    TFJob,
    TrainJob,
    XGBoostJob,
)
"""Kinds of one object that is suspended and released, played alike."""
PODS_ADMITTED: Final[tuple[type[KubernetesObject], ...]] = (Deployment, LeaderWorkerSet, StatefulSet)
SERVING: Final = frozenset(("RayCluster", "RayService", *(each.KIND for each in PODS_ADMITTED)))
"""Kinds that never end by themselves: a run time is how long their user keeps them once they run."""
SCALABLE: Final = tuple(each.KIND for each in PODS_ADMITTED)
JOB_KINDS: Final = frozenset((Job.KIND, *(each.KIND for each in (*PLAYED, *PODS_ADMITTED))))
"""Kinds of objects that Workloads are made for, or whose pods are: all but pods themselves."""
OUTSIDE_THE_ENGINE: Final = JOB_KINDS | {
    ReplicaSet.KIND,
    TrainingRuntime.KIND,
    ClusterTrainingRuntime.KIND,
}
"""Kinds of which the scheduler knows nothing."""
ALPHA: Final = "sparkoperator.k8s.io/sparkapplication"

RuntimeReader = Callable[[str, str, str], KubernetesObject | None]
"""An object by kind, namespace and name."""


def is_played(obj: KubernetesObject) -> bool:
    """Whether a Workload may come of the object, so that it has to be looked at as a job."""
    return obj.KIND in JOB_KINDS or isinstance(obj, Pod)


def settings_of(configuration: Configuration | None, gates: FeatureGates) -> JobSettings:
    """Settings of a run: without a Configuration the integrations that Kueue's own manifests turn on, all but alpha.

    A Configuration that does not list any has `batch/job` alone, as for Kueue. Source: JS-021.
    """
    settings = JobSettings.read(configuration, gates)
    if configuration is not None:
        return settings
    known = Registry(JobSettings(frameworks=())).frameworks
    frameworks = tuple(name for name in known if name != ALPHA or settings.spark_applications)
    return msgspec.structs.replace(settings, frameworks=frameworks)


def registry_of(settings: JobSettings, read: RuntimeReader) -> Registry:
    """The kinds that are known, with the runtimes of TrainJobs and the clusters of Ray's kinds as `read` finds
    them. Raises InputError.
    """

    def runtime(kind: str, namespace: str, name: str) -> TrainingRuntimeSpec | None:
        found: Any = read(kind, namespace, name)
        return None if found is None else found.spec

    def ray_cluster(namespace: str, name: str) -> RayCluster | None:
        found = read(RayCluster.KIND, namespace, name)
        return found if isinstance(found, RayCluster) else None

    return Registry(settings, runtime, ray_cluster)
