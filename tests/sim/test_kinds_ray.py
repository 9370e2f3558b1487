"""Ray's kinds make one another: only the topmost has a Workload."""

from __future__ import annotations

from typing import Any

from kueue_fast.api.batch import Job
from kueue_fast.api.configuration_types import Configuration, Integrations
from kueue_fast.api.ray import RayCluster
from kueue_fast.sim.result import State
from kueue_fast.sim.simulate import Simulation
from tests.sim.kind_makers import made, queues, ray_cluster, ray_job, template, urgent
from tests.sim.world import MINUTE, one_queue, rows, run, seconds


def clusters(simulation: Simulation) -> list[RayCluster]:
    return list(simulation.cluster.list("RayCluster"))


def pods(simulation: Simulation) -> dict[str, str]:
    """The owner of each pod by its name."""
    return {
        pod.metadata.name: pod.metadata.owner_references[0].kind for pod in simulation.cluster.list("Pod")
    }


def controller(obj: Any) -> tuple[str, str]:
    [owner] = obj.metadata.owner_references
    assert owner.controller
    return owner.kind, owner.name


def test_a_ray_job_makes_a_cluster_and_its_submitter() -> None:
    result, simulation = run(*one_queue(4), ray_job(), until_ns=MINUTE)
    [row] = result.workloads
    assert [(each.name, each.count) for each in row.pod_sets] == [("head", 1), ("gpu", 2), ("submitter", 1)]
    [cluster] = clusters(simulation)
    assert controller(cluster) == ("RayJob", "k")
    assert cluster.metadata.name.startswith("k-")
    assert (cluster.metadata.labels or {})["kueue.x-k8s.io/queue-name"] == "lq"
    assert cluster.status is not None
    assert cluster.status.state == "ready"
    name = cluster.metadata.name
    assert pods(simulation) == dict.fromkeys(
        (f"{name}-head-0", f"{name}-gpu-0", f"{name}-gpu-1"), "RayCluster"
    )
    [submitter] = simulation.cluster.list("Job")
    assert (submitter.metadata.name, controller(submitter)) == ("k", ("RayJob", "k"))
    assert not submitter.spec.suspend


def test_at_its_end_the_cluster_is_gone_and_the_submitter_complete() -> None:
    result, simulation = run(*one_queue(4), ray_job())
    assert seconds(rows(result)["k"].finished_ns) == 600
    assert clusters(simulation) == []
    assert pods(simulation) == {}
    [submitter] = simulation.cluster.list("Job")
    assert [each.type for each in submitter.status.conditions] == ["Complete"]
    [job] = simulation.cluster.list("RayJob")
    assert (job.status.job_status, job.status.job_deployment_status) == ("SUCCEEDED", "Complete")


def test_a_failed_ray_job_has_a_failed_submitter() -> None:
    _, simulation = run(*one_queue(4), ray_job(failure="true"))
    [submitter] = simulation.cluster.list("Job")
    assert [each.type for each in submitter.status.conditions] == ["Failed"]


def test_an_evicted_ray_job_gives_up_cluster_and_submitter_and_makes_others() -> None:
    objects = (*queues(4), ray_job(), urgent())
    _, before = run(*objects, until_ns=MINUTE)
    _, evicted = run(*objects, until_ns=150 * 10**9)
    _, after = run(*objects, until_ns=4 * MINUTE)
    assert clusters(evicted) == []
    assert pods(evicted) == {}
    assert [job.metadata.name for job in evicted.cluster.list(Job.KIND)] == ["urgent"]
    [first], [second] = clusters(before), clusters(after)
    assert first.metadata.name != second.metadata.name


def test_a_submitter_in_the_head_needs_no_job() -> None:
    obj = ray_job(3)
    obj["spec"] = {**obj["spec"], "submissionMode": "HTTPMode"}
    result, simulation = run(*one_queue(4), obj, until_ns=MINUTE)
    assert [each.name for each in result.workloads[0].pod_sets] == ["head", "gpu"]
    assert list(simulation.cluster.list("Job")) == []


def test_a_service_makes_a_cluster_that_has_no_workload_of_its_own() -> None:
    service = made("ray.io/v1", "RayService", {"rayClusterConfig": ray_cluster()})
    result, simulation = run(*one_queue(8), service, until_ns=MINUTE)
    assert [(row.owner_kind, row.state) for row in result.workloads] == [("RayService", State.RUNNING)]
    [cluster] = clusters(simulation)
    assert controller(cluster) == ("RayService", "k")
    [stored] = simulation.cluster.list("RayService")
    assert stored.status.active_service_status.ray_cluster_name == cluster.metadata.name


def test_hosts_of_a_worker_are_pods_each() -> None:
    spec = ray_cluster(2)
    spec["workerGroupSpecs"][0]["numOfHosts"] = 2
    result, simulation = run(*one_queue(8), made("ray.io/v1", "RayCluster", spec), until_ns=MINUTE)
    assert [each.count for each in result.workloads[0].pod_sets] == [1, 4]
    assert len(pods(simulation)) == 5


def test_children_have_no_workloads_where_jobs_without_queue_are_kueues_too() -> None:
    frameworks = ["batch/job", "ray.io/rayjob", "ray.io/raycluster", "pod"]
    configuration = Configuration(
        manage_jobs_without_queue_name=True, integrations=Integrations(frameworks=frameworks)
    )
    objects = (*one_queue(8), ray_job())
    result, simulation = run(*objects, configuration=configuration, until_ns=MINUTE)
    assert [row.owner_kind for row in result.workloads] == ["RayJob"]
    assert len(clusters(simulation)) == 1
    assert len(pods(simulation)) == 3


def test_a_job_in_a_cluster_that_is_there_is_not_kueues() -> None:
    spec = {"clusterSelector": {"ray.io/cluster": "k"}, "submitterPodTemplate": template()}
    result, _ = run(*one_queue(4), made("ray.io/v1", "RayJob", spec), until_ns=MINUTE)
    assert result.workloads == []
