"""Which kinds of jobs Kueue manages: integrations that the configuration turns on, and frameworks of others.

Source: JS-020..025, JS-444.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from kueue_fast.api.meta import KubernetesObject, OwnerReference
from kueue_fast.errors import InputError
from kueue_fast.jobs.app_wrapper import AppWrappers
from kueue_fast.jobs.deployment import Deployments
from kueue_fast.jobs.integration import Integration
from kueue_fast.jobs.job import BatchJob
from kueue_fast.jobs.job_set import JobSets
from kueue_fast.jobs.leader_worker_set import LeaderWorkerSets
from kueue_fast.jobs.pod import Pods
from kueue_fast.jobs.ray_cluster import RayClusters
from kueue_fast.jobs.ray_clusters import ClusterReader, no_cluster
from kueue_fast.jobs.ray_job import RayJobs
from kueue_fast.jobs.ray_service import RayServices
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.spark_application import SparkApplications
from kueue_fast.jobs.stateful_set import StatefulSets
from kueue_fast.jobs.train_job import Runtimes, TrainJobs
from kueue_fast.jobs.training_jobs import TRAINING_KINDS, TrainingJobs

__all__ = ["Kind", "Registry"]

Kind: TypeAlias = Deployments | LeaderWorkerSets | Pods | StatefulSets | Integration[Any]
"""One kind of job: of one object, or one of the kinds whose pods are admitted as groups."""

POD: Final = "pod"
SPARK: Final = "sparkoperator.k8s.io/sparkapplication"
# Frameworks whose pods Kueue holds: they need `pod`, which then looks at such pods only. Source: JS-023.
PODS_OF: Final = frozenset(("statefulset", "deployment", "leaderworkerset.x-k8s.io/leaderworkerset"))
# Between a Pod and its Deployment, and no job of its own. Source: JS-025.
REPLICA_SET: Final = ("apps/v1", "ReplicaSet")
EXTERNAL_PARTS: Final = 3


class Registry:
    """The kinds that are known, and which of them are on."""

    def __init__(
        self,
        settings: JobSettings,
        runtimes: Runtimes = lambda _kind, _namespace, _name: None,
        clusters: ClusterReader = no_cluster,
    ) -> None:
        """`runtimes` finds the runtime of a TrainJob, `clusters` the RayCluster of a RayJob or RayService.

        Raises InputError for a framework that is not known, one that its feature gate keeps off, and an external one
        that is not written `Kind.version.group`.
        """
        self._kinds: dict[str, Kind] = {each.framework: each for each in _kinds(runtimes, clusters)}
        self._by_kind = {(each.api_version, each.kind): each for each in self._kinds.values()}
        for framework in settings.frameworks:
            _check(framework, self._kinds, settings)
        self._listed = frozenset(settings.frameworks)
        self._external = frozenset(map(_external_kind, settings.external_frameworks))

    @property
    def frameworks(self) -> tuple[str, ...]:
        """Names of all frameworks that are known, on or off."""
        return tuple(self._kinds)

    def find(self, api_version: str, kind: str) -> Kind | None:
        """The integration of a kind, on or off; None for a kind that is not a job to Kueue."""
        return self._by_kind.get((api_version, kind))

    def enabled(self, framework: str) -> bool:
        """Whether a framework is on: listed, or needed by one that is."""
        return framework in self._listed or self.implicit(framework)

    def implicit(self, framework: str) -> bool:
        """Whether a framework is on only since others need it. Source: JS-023."""
        return framework == POD and POD not in self._listed and bool(PODS_OF & self._listed)

    def refusal(self, obj: KubernetesObject) -> InputError | None:
        """Why an object is not managed although it is a job: its integration is off. None for all others."""
        found = self.find(obj.API_VERSION, obj.KIND)
        if found is None or self.enabled(found.framework):
            return None
        return InputError(
            f'the integration "{found.framework}" is off',
            expected="it in integrations.frameworks of the configuration",
        )

    def known(self, owner: OwnerReference) -> bool:
        """Whether an owner may be a job, so that its own owners matter. Source: JS-025."""
        header = (owner.api_version, owner.kind)
        return header in self._by_kind or header in self._external or header == REPLICA_SET

    def manages(self, owner: OwnerReference) -> bool:
        """Whether an owner is of a kind that is on, or of an external framework. Source: JS-025."""
        header = (owner.api_version, owner.kind)
        found = self._by_kind.get(header)
        return header in self._external or (found is not None and self.enabled(found.framework))


def _kinds(runtimes: Runtimes, clusters: ClusterReader) -> tuple[Kind, ...]:
    return (
        BatchJob(),
        JobSets(),
        RayClusters(),
        RayJobs(clusters),
        RayServices(clusters),
        Pods(),
        StatefulSets(),
        Deployments(),
        LeaderWorkerSets(),
        *(TrainingJobs(facts) for facts in TRAINING_KINDS),
        TrainJobs(runtimes),
        AppWrappers(),
        SparkApplications(),
    )


def _check(framework: str, known: dict[str, Kind], settings: JobSettings) -> None:
    if framework not in known:
        raise InputError(
            f'the integration "{framework}" is not known',
            field="$.integrations.frameworks",
            expected="one of " + ", ".join(sorted(known)),
        )
    if framework == SPARK and not settings.spark_applications:
        raise InputError(
            f'the integration "{framework}" is alpha',
            field="$.integrations.frameworks",
            expected="the feature gate SparkApplicationIntegration on",
        )


def _external_kind(text: str) -> tuple[str, str]:
    """(apiVersion, kind) of `Kind.version.group`."""
    parts = text.split(".", EXTERNAL_PARTS - 1)
    if len(parts) != EXTERNAL_PARTS or not all(parts):
        raise InputError(
            f"has {text!r}", field="$.integrations.externalFrameworks", expected="Kind.version.group"
        )
    kind, version, group = parts
    return f"{group}/{version}", kind
