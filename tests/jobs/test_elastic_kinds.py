"""Slices of kinds with several pod sets. Source: JS-104, JS-480, JS-482, JS-484."""

from __future__ import annotations

from typing import Any

import msgspec

from kueue_fast.jobs import elastic, reconciler
from kueue_fast.jobs.ray_cluster import RayClusters
from kueue_fast.jobs.ray_clusters import slice_annotations
from kueue_fast.jobs.ray_job import RayJobs
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.lifecycle import slices
from kueue_fast.model.elastic import REPLACEMENT_FOR
from tests.jobs.elastic_makers import stored
from tests.jobs.kinds import changed, read
from tests.jobs.makers import NOW, View, admitted

RAY = """
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: ray
  namespace: ns
  uid: ray-uid
  generation: 4
  labels: {kueue.x-k8s.io/queue-name: lq}
  annotations: {kueue.x-k8s.io/elastic-job: "true"}
spec:
  enableInTreeAutoscaling: true
  suspend: true
  headGroupSpec: {template: {spec: {containers: [{name: head}]}}}
  workerGroupSpecs:
    - {groupName: small, replicas: 2, template: {spec: {containers: [{name: c}]}}}
    - {groupName: large, replicas: 3, template: {spec: {containers: [{name: c}]}}}
"""


def test_a_ray_cluster_has_slices_as_well() -> None:
    view, kind = View(), RayClusters()
    cluster = read(RAY)
    assert elastic.is_elastic_job(cluster, kind, view)
    made = elastic.reconcile(cluster, kind, [], view, NOW)
    assert isinstance(made, reconciler.CreateWorkload)
    assert slices.pod_counts(made.workload.spec.pod_sets) == {"head": 1, "small": 2, "large": 3}
    held = stored(made.workload, "1", 1)
    one = {"name": "head", "count": 1}, {"name": "small", "count": 2}, {"name": "large", "count": 3}
    status: Any = {
        "admission": {"clusterQueue": "cq", "podSetAssignments": list(one)},
        "conditions": [{"type": name, "status": "True"} for name in ("QuotaReserved", "Admitted")],
    }
    held = msgspec.structs.replace(held, status=msgspec.convert(status, type(admitted(held).status)))
    shrunk = changed(changed(cluster, "spec/suspend", False), "spec/workerGroupSpecs/0/replicas", 1)
    action = elastic.reconcile(shrunk, kind, [held], view, NOW)
    assert isinstance(action, reconciler.UpdateWorkload)
    assert slices.pod_counts(action.workload.spec.pod_sets) == {"head": 1, "small": 1, "large": 3}
    mixed = changed(changed(shrunk, "spec/workerGroupSpecs/1/replicas", 4), "metadata/generation", 6)
    action = elastic.reconcile(mixed, kind, [held], view, NOW)
    assert isinstance(action, reconciler.CreateWorkload)
    assert (action.workload.metadata.annotations or {})[REPLACEMENT_FOR] == f"ns/{held.metadata.name}"


def test_a_ray_job_whose_cluster_was_resized_gets_a_slice_of_another_name() -> None:
    cluster = read(RAY)
    made = read(
        """
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: j, namespace: ns, generation: 2}
spec: {rayClusterSpec: {headGroupSpec: {template: {spec: {containers: [{name: head}]}}}}}
"""
    )
    assert RayJobs().slice_mark(made) == "2"
    pod_sets = RayClusters().pod_sets(cluster, JobSettings())
    notes = slice_annotations(pod_sets, cluster)
    assert notes == {
        "kueue.x-k8s.io/raycluster-generation": "4",
        "kueue.x-k8s.io/raycluster-podset-replica-sizes": (
            '[{"name":"head","count":1},{"name":"small","count":2},{"name":"large","count":3}]'
        ),
    }
    assert RayJobs().slice_mark(changed(made, "metadata/annotations", notes)) == "2_4"
    assert slice_annotations(pod_sets, None)["kueue.x-k8s.io/raycluster-generation"] == ""


def test_a_job_whose_pod_sets_have_other_names_is_treated_as_one_that_is_not_elastic() -> None:
    view, kind = View(), RayClusters()
    cluster = read(RAY)
    made = elastic.reconcile(cluster, kind, [], view, NOW)
    assert isinstance(made, reconciler.CreateWorkload)
    renamed = changed(changed(cluster, "spec/workerGroupSpecs/0/groupName", "tiny"), "spec/suspend", False)
    # It runs without an admitted Workload, so it is stopped.
    action = elastic.reconcile(renamed, kind, [stored(made.workload, "1", 1)], view, NOW)
    assert isinstance(action, reconciler.UpdateJob)
