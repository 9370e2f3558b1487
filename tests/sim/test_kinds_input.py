"""What is refused of kinds of jobs before a run starts, and which of them are on."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.api.configuration_types import Configuration, Integrations
from kueue_fast.errors import InputError
from kueue_fast.model.features import FeatureGates
from kueue_fast.sim.kinds import settings_of
from kueue_fast.sim.manifest import read_facts
from tests.sim.kind_makers import (
    PRIORITY,
    RUNNING_KINDS,
    SERVING_KINDS,
    SPARK,
    TOTAL,
    job_set,
    leader_worker_set,
    made,
    member,
    plain_pod,
    ray_cluster,
    ray_job,
    required,
    serving,
    topology,
)
from tests.sim.world import job, one_queue, run

ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}


def without_shutdown() -> dict[str, Any]:
    obj = ray_job()
    return {**obj, "spec": {**obj["spec"], "shutdownAfterJobFinishes": False}}


def autoscaling(**more: Any) -> dict[str, Any]:
    return made("ray.io/v1", "RayCluster", {**ray_cluster(), "enableInTreeAutoscaling": True}, **more)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a cluster that scales itself and is not elastic": (
        autoscaling(),
        "k.yaml:4: RayCluster ns/k: $.spec.enableInTreeAutoscaling: Invalid value",
    ),
    "a kind that cannot be elastic": (
        serving("StatefulSet", 2, annotations=ELASTIC),
        "StatefulSet ns/k: $.metadata.annotations[kueue.x-k8s.io/elastic-job]: Forbidden (expected elastic job is "
        'not supported for "apps/v1, Kind=StatefulSet")',
    ),
    "a RayJob that leaves its cluster": (without_shutdown(), "$.spec.shutdownAfterJobFinishes"),
    "a class that does not exist": (
        ray_job(labels={PRIORITY: "none"}),
        "k.yaml:4: RayJob ns/k: WorkloadPriorityClass 'none' not found",
    ),
    "a class of a pod that does not exist": (
        plain_pod("solo", labels={PRIORITY: "none"}),
        "solo.yaml:4: Pod ns/solo: WorkloadPriorityClass 'none' not found",
    ),
    "a class of a Deployment that does not exist": (
        serving("Deployment", labels={PRIORITY: "none"}),
        "Deployment ns/k: WorkloadPriorityClass 'none' not found",
    ),
    "a runtime that does not exist": (
        RUNNING_KINDS["TrainJob"][1],
        "TrainJob ns/k: $.spec.runtimeRef: Invalid value (expected runtime 'torch' not found",
    ),
    "a group without total": (
        made("v1", "Pod", {"containers": []}, labels={"kueue.x-k8s.io/pod-group-name": "g"}),
        f"$.metadata.annotations[{TOTAL}]",
    ),
    "a StatefulSet that grows": (
        serving("StatefulSet", 2, replicas="5m=3"),
        '$.metadata.annotations["sim.kueue-fast.dev/replicas"]: goes from 2 to 3 replicas (expected 0 between',
    ),
    "a StatefulSet of more pods than can be made": (
        serving("StatefulSet", 2**31 - 1),
        "StatefulSet ns/k: $.spec.replicas: asks for 2147483647 pods (expected at most 100000: each is an object of",
    ),
    "a Deployment that is scaled to more pods than can be made": (
        serving("Deployment", 2, replicas="5m=2,6m=100001"),
        '$.metadata.annotations["sim.kueue-fast.dev/replicas"]: asks for 100001 pods (expected at most 100000',
    ),
    "groups that have more pods together than can be made": (
        leader_worker_set(1000, 101),
        "LeaderWorkerSet ns/k: $.spec.replicas: asks for 101000 pods (expected at most 100000",
    ),
    "a StatefulSet that comes back larger": (
        serving("StatefulSet", 2, replicas="5m=0,10m=3"),
        "goes from 0 to 3 replicas (expected at most 2: its Workload keeps its size)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    obj, want = REFUSED[case]
    with pytest.raises(InputError) as raised:
        run(*one_queue(4), obj)
    assert want in str(raised.value)


ENOUGH = "1e15"
RACK = required("rack", 0)
PARALLEL = {"parallelism": 10**6, "completions": 10**6}
STARTING: dict[str, dict[str, Any]] = {
    "a RayCluster": made("ray.io/v1", "RayCluster", ray_cluster(2**31 - 1)),
    "a RayJob, whose cluster makes them": ray_job(10**6),
    "a Job that is placed": job("k", parallelism=10**6, pod_spec={}, template={"spec": RACK["spec"], **RACK}),
    "a JobSet that is placed": job_set(
        {"name": "a", "replicas": 1, "template": {"spec": {**PARALLEL, "template": RACK}}}
    ),
}


@pytest.mark.parametrize("case", STARTING)
def test_a_job_that_starts_with_more_pods_than_can_be_made_ends_the_run(case: str) -> None:
    obj = STARTING[case]
    world = [
        {**each, "status": {"capacity": {"cpu": ENOUGH, "pods": 2**31 - 1}}}
        if each["kind"] == "Node"
        else each
        for each in topology(ENOUGH)
    ]
    with pytest.raises(InputError) as raised:
        run(*world, obj)
    error = raised.value
    assert (error.object, error.file) == (f"{obj['kind']} ns/k", "k.yaml:10")
    assert error.message.startswith("starts with ")
    assert error.expected == "at most 100000: each is an object of the simulated cluster"


def test_a_spark_application_whose_executors_cannot_all_be_told_ends_the_run() -> None:
    [obj] = RUNNING_KINDS["SparkApplication"]
    spec = {**obj["spec"], "executor": {"coreRequest": "1", "instances": 2**31 - 1}}
    with pytest.raises(InputError, match="SparkApplication ns/k: starts with 2147483647 pods"):
        run(*one_queue(ENOUGH), {**obj, "spec": spec}, **SPARK)


def test_a_job_of_many_pods_that_never_starts_is_no_mistake() -> None:
    result, _ = run(*one_queue(4), STARTING["a RayCluster"])
    [row] = result.workloads
    assert row.state.value == "Pending"
    assert (
        "previously considered podsets requests (1) + current podset request (2147483647)"
        in row.waiting_message
    )


def test_two_objects_of_one_uid_are_refused() -> None:
    """What one of them owns would be the other's, too."""
    first, second = (
        {**obj, "metadata": {**obj["metadata"], "uid": "u"}}
        for obj in (ray_job(), serving("StatefulSet", name="s"))
    )
    with pytest.raises(InputError) as raised:
        run(*one_queue(4), first, second)
    assert str(raised.value) == (
        "s.yaml:5: StatefulSet ns/s: $.metadata.uid: is 'u', as that of RayJob ns/k (k.yaml:4) "
        "(expected another uid for each object, or none)"
    )


def owned(*objects: dict[str, Any], circle: bool) -> list[dict[str, Any]]:
    """Each object controlled by the one before it, and the first by the last if they go in a circle."""
    made = []
    for number, obj in enumerate(objects):
        before = objects[number - 1]
        name = before["metadata"]["name"]
        owner = {"apiVersion": before["apiVersion"], "kind": before["kind"], "name": name, "uid": f"u-{name}"}
        metadata = {**obj["metadata"], "uid": f"u-{obj['metadata']['name']}"}
        if number or circle:
            metadata["ownerReferences"] = [{**owner, "controller": True}]
        made.append({**obj, "metadata": metadata})
    return made


TAKEN: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a Job called like the one that submits for a RayJob": (
        [ray_job(), job("k", queue=None)],
        "k.yaml:4: RayJob ns/k: makes a Job k, and there is another one of that name "
        "(expected another name for one of them)",
    ),
    "a cluster called like that of a RayJob": (
        [ray_job(), made("ray.io/v1", "RayCluster", ray_cluster(), name="k-48e74", queue=None)],
        "k.yaml:4: RayJob ns/k: makes a RayCluster k-48e74, and there is another one of that name "
        "(expected another name for one of them)",
    ),
    "a Job that comes when the RayJob has made its own": (
        [ray_job(), job("k", arrival="1m")],
        "k.yaml:5: Job ns/k: is already defined (expected another name: RayJob k made one of this name)",
    ),
    "a pod that comes when the cluster has made its own": (
        [ray_job(), plain_pod("k-48e74-gpu-0", arrival="1m")],
        "k-48e74-gpu-0.yaml:5: Pod ns/k-48e74-gpu-0: is already defined (expected another name: RayCluster k-48e74 "
        "made one of this name)",
    ),
}


@pytest.mark.parametrize("case", TAKEN)
def test_a_name_that_a_job_needs_for_what_it_makes(case: str) -> None:
    objects, want = TAKEN[case]
    with pytest.raises(InputError) as raised:
        run(*one_queue(4), *objects)
    assert str(raised.value) == want


ENDLESS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a job that owns itself": (
        owned(ray_job(), circle=True),
        "k.yaml:4: RayJob ns/k: $.metadata.ownerReferences: cyclic ownership",
    ),
    "two that own each other": (
        owned(serving("StatefulSet", name="s"), plain_pod("p"), circle=True),
        "s.yaml:4: StatefulSet ns/s: $.metadata.ownerReferences: cyclic ownership",
    ),
    "a job and a Job": (
        owned(leader_worker_set(name="l"), job("j"), ray_job(), circle=True),
        "j.yaml:5: Job ns/j: $.metadata.ownerReferences: cyclic ownership",
    ),
    "more owners than Kueue looks at": (
        owned(*(job(f"j{number}") for number in range(12)), circle=False),
        "j11.yaml:15: Job ns/j11: $.metadata.ownerReferences: the chain of owners has more than 10 objects",
    ),
}


@pytest.mark.parametrize("case", ENDLESS)
def test_owners_that_do_not_come_to_an_end_are_refused(case: str) -> None:
    objects, want = ENDLESS[case]
    with pytest.raises(InputError) as raised:
        run(*one_queue(4), *objects)
    assert f"{want} (expected a way up that comes to an end)" in str(raised.value).splitlines()


@pytest.mark.parametrize("kind", {**RUNNING_KINDS, **SERVING_KINDS})
def test_an_integration_that_is_off_is_refused_by_name(kind: str) -> None:
    configuration = Configuration(integrations=Integrations(frameworks=["batch/job"]))
    objects = {**RUNNING_KINDS, **SERVING_KINDS}[kind]
    with pytest.raises(InputError) as raised:
        run(*one_queue(4), *objects, configuration=configuration, **SPARK)
    text = str(raised.value)
    assert f'{kind} ns/k: the integration "' in text
    assert "is off (expected it in integrations.frameworks of the configuration)" in text


def test_a_pod_with_a_queue_needs_its_integration_and_one_without_does_not() -> None:
    configuration = Configuration(integrations=Integrations(frameworks=["batch/job"]))
    with pytest.raises(InputError, match='Pod ns/solo: the integration "pod" is off'):
        run(*one_queue(4), plain_pod("solo"), configuration=configuration)
    result, _ = run(*one_queue(4), plain_pod("solo", queue=None), configuration=configuration)
    assert result.workloads == []


def test_a_pod_of_its_own_is_not_managed_where_pods_are_on_for_others_only() -> None:
    configuration = Configuration(integrations=Integrations(frameworks=["statefulset"]))
    objects = (*one_queue(4), plain_pod("solo"), serving("StatefulSet", 1))
    result, simulation = run(*objects, configuration=configuration, until_ns=10**9)
    assert [row.owner_kind for row in result.workloads] == ["StatefulSet"]
    solo = simulation.cluster.get("Pod", "ns", "solo")
    assert solo is not None
    assert not solo.spec.scheduling_gates


def test_what_is_on_without_a_configuration() -> None:
    settings = settings_of(None, FeatureGates({}))
    assert {"batch/job", "ray.io/rayjob", "pod", "statefulset"} <= set(settings.frameworks)
    assert "sparkoperator.k8s.io/sparkapplication" not in settings.frameworks
    gated = settings_of(None, FeatureGates({"SparkApplicationIntegration": True}))
    assert "sparkoperator.k8s.io/sparkapplication" in gated.frameworks


def test_a_configuration_that_lists_no_integration_has_jobs_alone() -> None:
    assert settings_of(Configuration(), FeatureGates({})).frameworks == ("batch/job",)


# ---- annotations ----

REPLICAS = "sim.kueue-fast.dev/replicas"
ANNOTATIONS: dict[str, tuple[str, dict[str, str], str]] = {
    "scaling a Job": ("Job", {REPLICAS: "1m=2"}, "has no meaning on a Job"),
    "no number": ("Deployment", {REPLICAS: "1m"}, "is '1m' (expected a time and a number of replicas"),
    "no time": ("Deployment", {REPLICAS: "x=2"}, "is 'x'"),
    "a negative number": ("Deployment", {REPLICAS: "1m=-2"}, "is '1m=-2'"),
    "a number that is none": ("LeaderWorkerSet", {REPLICAS: "1m=2,2m=many"}, "is '2m=many'"),
    "the failure of what never ends": (
        "RayService",
        {"sim.kueue-fast.dev/failure": "true"},
        "has no meaning on a RayService",
    ),
}


@pytest.mark.parametrize("case", ANNOTATIONS)
def test_annotations_that_cannot_be_used(case: str) -> None:
    kind, annotations, want = ANNOTATIONS[case]
    _, [error] = read_facts(kind, annotations)
    assert want in str(error)


def test_steps_of_scaling_are_read_in_order() -> None:
    said = {REPLICAS: "10m=4, 2026-01-01T01:00:00Z=1"}
    facts, errors = read_facts("LeaderWorkerSet", said)
    assert errors == []
    assert [(moment.absolute, count) for moment, count in facts.replicas_at] == [(False, 4), (True, 1)]


def test_a_job_of_an_owner_that_the_input_leaves_out_is_played() -> None:
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "gone", "uid": "u", "controller": True}
    obj = leader_worker_set(1, 1)
    child = {**obj, "metadata": {**obj["metadata"], "ownerReferences": [owner]}}
    other = member("g-0", 1)
    pod = {**other, "metadata": {**other["metadata"], "ownerReferences": [owner]}}
    result, _ = run(*one_queue(4), child, pod, until_ns=10**9)
    assert len(result.workloads) == 2
