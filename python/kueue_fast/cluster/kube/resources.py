"""Where the objects of a kind are found on the API server."""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import quote

from kueue_fast.api import (
    apps,
    appwrapper,
    batch,
    core,
    jobset,
    kubeflow,
    kueue,
    leaderworkerset,
    ray,
    spark,
    trainer,
)
from kueue_fast.api.meta import KubernetesObject

__all__ = ["CORE_EVENTS", "EVENTS", "LEASES", "RESOURCES", "Resource", "resource_of"]


class Resource(NamedTuple):
    """One resource: its version, kind, the plural in its path, and whether it has namespaces."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str = "") -> str:
        """The path of a collection, of one object, or of its subresource.

        Without a namespace the collection is that of the whole cluster.
        """
        parts = ["/api" if "/" not in self.api_version else "/apis", self.api_version]
        if self.namespaced and namespace is not None:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        if name is not None:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


def _resource(cls: type[KubernetesObject], plural: str) -> Resource:
    return Resource(cls.API_VERSION, cls.KIND, plural, cls.NAMESPACED)


RESOURCES: Final = {
    resource.kind: resource
    for resource in (
        _resource(core.Namespace, "namespaces"),
        _resource(core.LimitRange, "limitranges"),
        _resource(core.PriorityClass, "priorityclasses"),
        _resource(core.RuntimeClass, "runtimeclasses"),
        _resource(core.Node, "nodes"),
        _resource(core.Pod, "pods"),
        _resource(batch.Job, "jobs"),
        _resource(apps.Deployment, "deployments"),
        _resource(apps.StatefulSet, "statefulsets"),
        _resource(appwrapper.AppWrapper, "appwrappers"),
        _resource(jobset.JobSet, "jobsets"),
        _resource(kubeflow.JAXJob, "jaxjobs"),
        _resource(kubeflow.MPIJob, "mpijobs"),
        _resource(kubeflow.PaddleJob, "paddlejobs"),
        _resource(kubeflow.PyTorchJob, "pytorchjobs"),
        _resource(kubeflow.TFJob, "tfjobs"),
        _resource(kubeflow.XGBoostJob, "xgboostjobs"),
        _resource(leaderworkerset.LeaderWorkerSet, "leaderworkersets"),
        _resource(ray.RayCluster, "rayclusters"),
        _resource(ray.RayJob, "rayjobs"),
        _resource(ray.RayService, "rayservices"),
        _resource(spark.SparkApplication, "sparkapplications"),
        _resource(trainer.TrainJob, "trainjobs"),
        _resource(trainer.TrainingRuntime, "trainingruntimes"),
        _resource(trainer.ClusterTrainingRuntime, "clustertrainingruntimes"),
        _resource(kueue.ResourceFlavor, "resourceflavors"),
        _resource(kueue.ClusterQueue, "clusterqueues"),
        _resource(kueue.LocalQueue, "localqueues"),
        _resource(kueue.Cohort, "cohorts"),
        _resource(kueue.Workload, "workloads"),
        _resource(kueue.WorkloadPriorityClass, "workloadpriorityclasses"),
        _resource(kueue.AdmissionCheck, "admissionchecks"),
        _resource(kueue.Topology, "topologies"),
        _resource(kueue.ProvisioningRequestConfig, "provisioningrequestconfigs"),
        _resource(kueue.MultiKueueConfig, "multikueueconfigs"),
        _resource(kueue.MultiKueueCluster, "multikueueclusters"),
    )
}
"""Every kind that is watched or written, by its name."""

LEASES: Final = Resource("coordination.k8s.io/v1", "Lease", "leases", namespaced=True)
EVENTS: Final = Resource("events.k8s.io/v1", "Event", "events", namespaced=True)
CORE_EVENTS: Final = Resource("v1", "Event", "events", namespaced=True)
"""The same objects under their old name."""


def resource_of(obj: KubernetesObject) -> Resource:
    """The resource of an object."""
    return RESOURCES[obj.KIND]
