"""RayCluster, RayJob and RayService: their pod sets, their life, and what is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.encode import to_manifest
from kueue_fast.api.kueue import WorkloadStatus
from kueue_fast.errors import InputError
from kueue_fast.jobs import pod_set_info, reconciler
from kueue_fast.jobs.defaults import defaulted
from kueue_fast.jobs.pod_set_info import StartError
from kueue_fast.jobs.ray_cluster import RayClusters
from kueue_fast.jobs.ray_clusters import with_live_counts
from kueue_fast.jobs.ray_job import RayJobs
from kueue_fast.jobs.ray_service import RayServices
from kueue_fast.jobs.settings import JobSettings
from tests.jobs.kinds import (
    ELASTIC,
    GROUP,
    PREFERRED,
    QUEUE,
    REQUIRED,
    SLICE,
    SLICE_SIZE,
    admitted,
    amended,
    changed,
    made,
    paths,
    read,
    requests_of,
    same,
    shape,
    started,
    stopped,
    told,
)
from tests.jobs.makers import NOW, View

CLUSTER_SPEC = """
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:
          containers:
          - name: ray-head
            image: rayproject/ray:2.46.0
            resources: {requests: {cpu: "1", memory: 2Gi}}
    workerGroupSpecs:
    - groupName: Small
      replicas: 3
      template:
        spec:
          containers:
          - {name: worker, resources: {requests: {cpu: "2"}}}
    - groupName: tpu
      replicas: 2
      numOfHosts: 4
      template:
        spec:
          containers:
          - {name: worker, resources: {requests: {google.com/tpu: "4"}}}
"""
CLUSTER = read(f"""
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: c, namespace: ns, uid: u, labels: {{{QUEUE}: lq}}}}
spec:
    suspend: true
{CLUSTER_SPEC}
""")
JOB = read(f"""
apiVersion: ray.io/v1
kind: RayJob
metadata: {{name: j, namespace: ns, uid: u, labels: {{{QUEUE}: lq}}}}
spec:
  suspend: true
  entrypoint: python main.py
  shutdownAfterJobFinishes: true
  rayClusterSpec:
{CLUSTER_SPEC}
""")
SERVICE = read(f"""
apiVersion: ray.io/v1
kind: RayService
metadata: {{name: s, namespace: ns, uid: u, labels: {{{QUEUE}: lq}}}}
spec:
  serveConfigV2: "applications: []"
  rayClusterConfig:
    suspend: true
{CLUSTER_SPEC}
""")
HEAD = ("head", 1, {"ray-head": {"cpu": "1", "memory": "2Gi"}})
WORKERS = [("small", 3, {"worker": {"cpu": "2"}}), ("tpu", 8, {"worker": {"google.com/tpu": "4"}})]
SUBMITTER = ("submitter", 1, {"ray-job-submitter": {"cpu": "500m", "memory": "200Mi"}})
KINDS: dict[str, tuple[Any, Any, str]] = {
    "RayCluster": (CLUSTER, RayClusters(), "spec"),
    "RayJob": (JOB, RayJobs(), "spec/rayClusterSpec"),
    "RayService": (SERVICE, RayServices(), "spec/rayClusterConfig"),
}
DEFAULTS = JobSettings()


# ---- pod sets ----


@pytest.mark.parametrize("kind", KINDS)
def test_head_workers_and_submitter(kind: str) -> None:
    job, integration, _ = KINDS[kind]
    want = [HEAD, *WORKERS] + ([SUBMITTER] if kind == "RayJob" else [])
    assert shape(integration.pod_sets(job, DEFAULTS)) == want


HEADS: dict[str, tuple[dict[str, Any], dict[str, str], dict[str, Any]]] = {
    "nothing added": ({}, {}, HEAD[2]),
    "the autoscaler": (
        {"enableInTreeAutoscaling": True},
        {},
        {**HEAD[2], "autoscaler": {"cpu": "500m", "memory": "512Mi"}},
    ),
    "the autoscaler's own resources": (
        {"enableInTreeAutoscaling": True, "autoscalerOptions": {"resources": {"requests": {"cpu": "2"}}}},
        {},
        {**HEAD[2], "autoscaler": {"cpu": "2"}},
    ),
    "options without resources": (
        {"enableInTreeAutoscaling": True, "autoscalerOptions": {"idleTimeoutSeconds": 60}},
        {},
        {**HEAD[2], "autoscaler": {"cpu": "500m", "memory": "512Mi"}},
    ),
    "a clean-up of less": ({"gcsFaultToleranceOptions": {}}, {}, HEAD[2]),
    "no fault tolerance by annotation": ({}, {"ray.io/ft-enabled": "false"}, HEAD[2]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", HEADS)
def test_what_kuberay_adds_to_the_head(case: str, kind: str) -> None:
    spec, annotations, want = HEADS[case]
    job, integration, at = KINDS[kind]
    job = amended(job, {f"{at}/{key}": value for key, value in spec.items()})
    job.metadata.annotations = annotations
    assert shape(integration.pod_sets(job, DEFAULTS))[0] == ("head", 1, want)


@pytest.mark.parametrize(
    ("annotations", "want"),
    [({}, {"cpu": "100m"}), ({"ray.io/ft-enabled": "True"}, {"cpu": "200m", "memory": "256Mi"})],
)
def test_the_clean_up_of_redis_needs_its_room(annotations: dict[str, str], want: dict[str, str]) -> None:
    at = "spec/headGroupSpec/template/spec/containers/0/resources/requests"
    job = changed(CLUSTER, at, {"cpu": "100m"})
    job.metadata.annotations = annotations
    assert shape(RayClusters().pod_sets(job, DEFAULTS))[0] == ("head", 1, {"ray-head": want})


def test_a_clean_up_without_container_makes_no_pod_sets() -> None:
    job = amended(
        CLUSTER,
        {"spec/headGroupSpec/template/spec/containers": [], "spec/gcsFaultToleranceOptions": {"x": 1}},
    )
    with pytest.raises(InputError, match="Redis"):
        RayClusters().pod_sets(job, DEFAULTS)
    assert paths(RayClusters().validate(job, DEFAULTS)) == ["spec.headGroupSpec.template.spec.containers"]


COUNTS: dict[str, tuple[Any, Any, int]] = {
    "replicas and hosts": (2, 4, 8),
    "one host": (2, 1, 2),
    "hosts unset": (2, None, 2),
    "no replicas": (0, 4, 0),
    "replicas unset: the CRD says 0": (None, 4, 0),
}


@pytest.mark.parametrize("case", COUNTS)
def test_worker_counts(case: str) -> None:
    replicas, hosts, want = COUNTS[case]
    at = "spec/workerGroupSpecs/1"
    job = amended(CLUSTER, {f"{at}/replicas": replicas, f"{at}/numOfHosts": hosts})
    assert RayClusters().pod_sets(job, DEFAULTS)[2].count == want


MODES: dict[str, tuple[str | None, list[str]]] = {
    "a Job submits": ("K8sJobMode", ["head", "small", "tpu", "submitter"]),
    "a Job submits where nothing is said": (None, ["head", "small", "tpu", "submitter"]),
    "over HTTP": ("HTTPMode", ["head", "small", "tpu"]),
    "by hand": ("InteractiveMode", ["head", "small", "tpu"]),
}


@pytest.mark.parametrize("case", MODES)
def test_submission_modes(case: str) -> None:
    mode, want = MODES[case]
    job = changed(JOB, "spec/submissionMode", mode)
    assert [pod_set.name for pod_set in RayJobs().pod_sets(job, DEFAULTS)] == want


def test_a_sidecar_submits_from_the_head_after_the_autoscaler() -> None:
    template = {"spec": {"containers": [{"name": "mine"}]}}
    job = amended(
        JOB,
        {
            "spec/submissionMode": "SidecarMode",
            "spec/submitterPodTemplate": template,
            "spec/rayClusterSpec/enableInTreeAutoscaling": True,
        },
    )
    (_, _, containers), *_ = shape(RayJobs().pod_sets(job, DEFAULTS))
    assert list(containers) == ["ray-head", "autoscaler", "ray-job-submitter"]
    assert containers["ray-job-submitter"] == {"cpu": "500m", "memory": "200Mi"}


def test_a_submitter_of_the_users_own() -> None:
    job = changed(JOB, "spec/submitterPodTemplate", {"spec": {"containers": [{"name": "mine"}]}})
    assert shape(RayJobs().pod_sets(job, DEFAULTS))[-1] == ("submitter", 1, {"mine": {}})


def test_the_default_submitter_takes_the_image_of_the_head() -> None:
    *_, submitter = RayJobs().pod_sets(JOB, DEFAULTS)
    opened = pod_set_info.decode(submitter.template.spec)
    assert opened["restartPolicy"] == "Never"
    assert opened["containers"][0]["image"] == "rayproject/ray:2.46.0"
    assert opened["containers"][0]["resources"]["limits"] == {"cpu": "1", "memory": "1Gi"}


def test_topology_requests_have_no_index_labels() -> None:
    at = "spec/workerGroupSpecs/0/template/metadata"
    job = changed(CLUSTER, at, {"annotations": {REQUIRED: "rack"}})
    assert requests_of(RayClusters().pod_sets(job, DEFAULTS)) == [None, {"required": "rack"}, None]
    assert (
        requests_of(RayClusters().pod_sets(job, JobSettings(topology_aware_scheduling=False))) == [None] * 3
    )


# ---- the counts of an autoscaler ----


def test_live_counts_replace_those_of_the_spec() -> None:
    cluster = amended(CLUSTER, {"spec/workerGroupSpecs/0/replicas": 7, "spec/workerGroupSpecs/1/replicas": 5})
    got = with_live_counts(RayJobs().pod_sets(JOB, DEFAULTS), JOB, cluster)
    assert [pod_set.count for pod_set in got] == [1, 7, 20, 1]
    unchanged = with_live_counts(RayJobs().pod_sets(JOB, DEFAULTS), JOB, None)
    assert [pod_set.count for pod_set in unchanged] == [1, 3, 8, 1]


def test_a_live_cluster_with_another_group_is_an_error() -> None:
    cluster = changed(CLUSTER, "spec/workerGroupSpecs/0/groupName", "other")
    with pytest.raises(InputError, match="RayCluster c has a worker group other that RayJob j"):
        with_live_counts(RayJobs().pod_sets(JOB, DEFAULTS), JOB, cluster)


# ---- life ----


@pytest.mark.parametrize("kind", KINDS)
def test_workloads_are_named_and_owned(kind: str) -> None:
    job, integration, _ = KINDS[kind]
    workload = made(job, integration)
    assert workload.metadata.name.startswith(f"{kind.lower()}-{job.metadata.name}-")
    (owner,) = workload.metadata.owner_references or ()
    assert (owner.api_version, owner.kind, owner.name, owner.controller) == (
        "ray.io/v1",
        kind,
        job.metadata.name,
        True,
    )
    assert workload.spec.queue_name == "lq"


RELEASED: dict[str, tuple[str, bool | None]] = {
    "RayCluster": ("spec/suspend", False),
    "RayJob": ("spec/suspend", None),
    "RayService": ("spec/rayClusterConfig/suspend", False),
}


@pytest.mark.parametrize("kind", KINDS)
def test_how_a_released_job_is_written(kind: str) -> None:
    path, want = RELEASED[kind]
    running, _ = started(*KINDS[kind][:2])
    at = to_manifest(running)
    *parents, last = path.split("/")
    for each in parents:
        at = at[each]
    assert at.get(last) is want


@pytest.mark.parametrize("kind", KINDS)
def test_start_and_stop(kind: str) -> None:
    job, integration, _ = KINDS[kind]
    running, workload = started(job, integration)
    assert not integration.suspended(running)
    for role in integration.roles(running):
        spec = pod_set_info.decode(role.template.spec)
        assert spec["nodeSelector"] == {"type": "spot", "shared": "spot"}
        labels = pod_set_info.decode(role.template.metadata)["labels"]
        assert labels["kueue.x-k8s.io/podset"] == role.name
    assert [role.count for role in integration.roles(running)][:3] == [1, 3, 8]
    held = stopped(running, integration, workload)
    if kind == "RayJob":  # the submitter's template stays, as it was before admission
        assert held.spec.submitter_pod_template is not None
        held = changed(held, "spec/submitterPodTemplate", None)
    assert same(held, job)


def test_a_held_job_is_left_alone_by_stop() -> None:
    for job, integration, _ in KINDS.values():
        infos = pod_set_info.from_workload(made(job, integration))
        assert integration.stop(job, infos) == (job, False)


def test_other_pod_sets_than_those_of_the_job_are_not_restored() -> None:
    running, workload = started(CLUSTER, RayClusters())
    infos = pod_set_info.from_workload(workload)[:2]
    held = RayClusters().stop(running, infos).job
    assert same(held, changed(running, "spec/suspend", True))


def test_other_pod_sets_than_those_of_the_job_cannot_be_started() -> None:
    infos = pod_set_info.from_workload(made(CLUSTER, RayClusters()))
    with pytest.raises(StartError, match="invalid podset infos: expecting 3 podset, got 2"):
        RayClusters().start(CLUSTER, infos[:2])
    with pytest.raises(StartError, match="expecting 4 podset, got 3"):
        RayJobs().start(JOB, infos)


STATES: dict[str, tuple[str, dict[str, Any] | None, tuple[bool, bool, Any]]] = {
    "a new cluster": ("RayCluster", None, (False, False, None)),
    "a ready cluster": ("RayCluster", {"state": "ready"}, (True, True, None)),
    "a failed cluster": ("RayCluster", {"state": "failed", "reason": "r"}, (False, False, None)),
    "a suspended cluster": ("RayCluster", {"state": "suspended"}, (False, False, None)),
    "a new job": ("RayJob", {}, (False, False, None)),
    "a suspended job": ("RayJob", {"jobDeploymentStatus": "Suspended"}, (False, False, None)),
    "a job that is suspending": ("RayJob", {"jobDeploymentStatus": "Suspending"}, (True, False, None)),
    "a running job": (
        "RayJob",
        {"jobDeploymentStatus": "Running", "rayClusterStatus": {"state": "ready"}},
        (True, True, None),
    ),
    "a job that succeeded": (
        "RayJob",
        {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "message": "m"},
        (True, False, ("m", True)),
    ),
    "a job that was stopped": (
        "RayJob",
        {"jobDeploymentStatus": "Complete", "jobStatus": "STOPPED", "message": "m"},
        (True, False, ("m", False)),
    ),
    "a job that failed": (
        "RayJob",
        {"jobDeploymentStatus": "Failed", "jobStatus": "FAILED"},
        (True, False, ("", False)),
    ),
    "a new service": ("RayService", None, (False, False, None)),
    "a held service that is called ready and has no clusters": (
        "RayService",
        {"conditions": [{"type": "Ready", "status": "True"}]},
        (False, True, None),
    ),
    "a service that is not ready": (
        "RayService",
        {"conditions": [{"type": "Ready", "status": "False"}]},
        (False, False, None),
    ),
}


@pytest.mark.parametrize("case", STATES)
def test_states(case: str) -> None:
    kind, status, want = STATES[case]
    job, integration, _ = KINDS[kind]
    job = changed(job, "status", status)
    assert (integration.active(job), integration.pods_ready(job), integration.finished(job)) == want
    assert integration.reclaimable_pods(job) is None


def test_a_job_in_a_cluster_that_exists_is_passed_over() -> None:
    job = changed(JOB, "spec/clusterSelector", {"ray.io/cluster": "c"})
    assert RayJobs().skip(job, DEFAULTS)
    assert not RayJobs().skip(JOB, DEFAULTS)
    assert reconciler.reconcile(job, RayJobs(), None, View(), NOW) is None


def test_a_job_that_kuberay_refuses_gives_its_quota_back() -> None:
    workload = admitted(made(JOB, RayJobs()))
    job = changed(JOB, "status", {"jobDeploymentStatus": "ValidationFailed"})
    action = reconciler.reconcile(job, RayJobs(), workload, View(), NOW)
    assert isinstance(action, reconciler.UpdateWorkloadStatus)
    status = action.workload.status
    assert status is not None
    assert status.admission is None
    reserved = next(each for each in status.conditions or () if each.type == "QuotaReserved")
    assert (reserved.status, reserved.reason) == ("False", "OnHold")
    assert reconciler.reconcile(job, RayJobs(), action.workload, View(), NOW) is None
    assert reconciler.reconcile(job, RayJobs(), None, View(), NOW) is None


SKIPPED: dict[str, tuple[bool, bool, bool, bool]] = {
    "deleted, with Redis": (True, True, True, True),
    "deleted, without Redis": (True, False, True, False),
    "not deleted": (False, True, True, False),
    "the gate is off": (True, True, False, False),
}


@pytest.mark.parametrize("case", SKIPPED)
def test_a_service_waits_for_the_clean_up_of_its_redis(case: str) -> None:
    deleted, redis, gate, want = SKIPPED[case]
    service = changed(
        SERVICE, "spec/rayClusterConfig/gcsFaultToleranceOptions", {"redisAddress": "x"} if redis else None
    )
    service.metadata.deletion_timestamp = "2026-01-01T00:00:00Z" if deleted else None
    assert RayServices().skip(service, JobSettings(defer_ray_service_finalization=gate)) is want


def test_a_cluster_never_finishes_its_workload() -> None:
    running, workload = started(CLUSTER, RayClusters())
    failed = changed(running, "status", {"state": "failed"})
    assert reconciler.reconcile(failed, RayClusters(), workload, View(), NOW) is None


def test_eviction_waits_for_the_cluster_to_go() -> None:
    running, workload = started(CLUSTER, RayClusters())
    status = msgspec.to_builtins(workload.status)
    status["conditions"].append(
        {"type": "Evicted", "status": "True", "reason": "Preempted", "message": "why"}
    )
    workload = msgspec.structs.replace(workload, status=msgspec.convert(status, WorkloadStatus))
    running = changed(running, "status", {"state": "ready"})
    action = reconciler.reconcile(running, RayClusters(), workload, View(), NOW)
    assert isinstance(action, reconciler.UpdateJob)
    assert action.event is not None
    assert (action.event.reason, action.event.message) == ("Stopped", "why")
    assert reconciler.reconcile(action.job, RayClusters(), workload, View(), NOW) is None
    gone = changed(action.job, "status", {"state": "suspended"})
    freed = reconciler.reconcile(gone, RayClusters(), workload, View(), NOW)
    assert isinstance(freed, reconciler.UpdateWorkloadStatus)


# ---- webhooks ----


@pytest.mark.parametrize("kind", KINDS)
def test_new_jobs_are_held(kind: str) -> None:
    job, integration, _ = KINDS[kind]
    new = integration.replace(job, None, suspended=False)
    assert integration.suspended(defaulted(new, integration, DEFAULTS, False))
    new.metadata = msgspec.structs.replace(new.metadata, labels=None)
    assert not integration.suspended(defaulted(new, integration, DEFAULTS, False))


GATED = {"RayCluster": True, "RayJob": False, "RayService": True}


@pytest.mark.parametrize("kind", KINDS)
def test_pods_of_elastic_clusters_are_gated(kind: str) -> None:
    job, integration, _ = KINDS[kind]
    job = changed(job, "metadata/annotations", {ELASTIC: "true"})
    got = defaulted(job, integration, DEFAULTS, False)
    gates = [
        pod_set_info.decode(role.template.spec).get("schedulingGates") for role in integration.roles(got)[:3]
    ]
    assert gates == [[{"name": ELASTIC}] if GATED[kind] else None] * 3
    assert same(defaulted(got, integration, DEFAULTS, False), got)
    assert same(defaulted(job, integration, JobSettings(elastic_jobs=False), False), job)


MANY = [{"groupName": f"g{number}", "template": {"spec": {"containers": []}}} for number in range(18)]
AUTOSCALED = "a kueue managed job should only use autoscaling when workload slicing is enabled"
STAND_ALONE = (
    "a kueue-managed RayCluster can use autoscaling only as an elastic job: enable the "
    'ElasticJobsViaWorkloadSlices feature gate and set the "kueue.x-k8s.io/elastic-job": "true" annotation'
)
WRITTEN = {"RayCluster": "spec", "RayJob": "spec.rayClusterSpec", "RayService": "spec.rayClusterSpec"}
REFUSED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing wrong": ({}, []),
    "autoscaling": (
        {"enableInTreeAutoscaling": True},
        ["{}.enableInTreeAutoscaling: Invalid value: true: {autoscaling}"],
    ),
    "too many worker groups": (
        {"workerGroupSpecs": MANY},
        ["{}.workerGroupSpecs: Too many: 19: must have at most 18 items"],
    ),
    "as many worker groups as there may be": ({"workerGroupSpecs": MANY[:17]}, []),
    "a worker group named head": (
        {"workerGroupSpecs/1/groupName": "head"},
        ['{}.workerGroupSpecs[1].groupName: Forbidden: "head" is reserved for the head group'],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, kind: str) -> None:
    changes, want = REFUSED[case]
    job, integration, at = KINDS[kind]
    job = amended(job, {f"{at}/{path}": value for path, value in changes.items()})
    words = STAND_ALONE if kind == "RayCluster" else AUTOSCALED
    assert told(integration.validate(job, DEFAULTS)) == [
        text.replace("{autoscaling}", words).replace("{}", WRITTEN[kind]) for text in want
    ]
    job = changed(job, "metadata/labels", {})
    assert integration.validate(job, DEFAULTS) == []
    everything = JobSettings(manage_jobs_without_queue_name=True)
    assert len(integration.validate(job, everything)) == len(want)


def test_only_elastic_jobs_scale_themselves() -> None:
    for kind, (job, integration, at) in KINDS.items():
        elastic = amended(
            job, {f"{at}/enableInTreeAutoscaling": True, "metadata/annotations": {ELASTIC: "true"}}
        )
        elastic = defaulted(elastic, integration, DEFAULTS, False)
        assert integration.validate(elastic, DEFAULTS) == [], kind
        off = JobSettings(elastic_jobs=False)
        assert paths(integration.validate(elastic, off)) == [f"{WRITTEN[kind]}.enableInTreeAutoscaling"]


def test_an_elastic_cluster_without_gates_is_refused() -> None:
    job = changed(CLUSTER, "metadata/annotations", {ELASTIC: "true"})
    assert told(RayClusters().validate(job, DEFAULTS))[0] == (
        "spec.workerGroupSpecs[0].template.spec.schedulingGates: Invalid value: "
        "an elastic job must have the ElasticJobSchedulingGate"
    )
    assert paths(RayClusters().validate(job, DEFAULTS)) == [
        "spec.workerGroupSpecs[0].template.spec.schedulingGates",
        "spec.workerGroupSpecs[1].template.spec.schedulingGates",
        "spec.headGroupSpec.template.spec.schedulingGates",
    ]


def test_an_elastic_cluster_of_multikueue_does_not_scale_itself() -> None:
    job = amended(
        CLUSTER,
        {
            "metadata/annotations": {ELASTIC: "true"},
            "spec/enableInTreeAutoscaling": True,
            "spec/managedBy": "kueue.x-k8s.io/multikueue",
        },
    )
    job = defaulted(job, RayClusters(), DEFAULTS, False)
    assert told(RayClusters().validate(job, DEFAULTS)) == [
        "spec.enableInTreeAutoscaling: Forbidden: in-tree autoscaling is not supported for a "
        "MultiKueue-managed elastic RayCluster"
    ]


SELECTOR = {"ray.io/cluster": "c"}
CLUSTERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a cluster of its own": ({}, []),
    "both": (
        {"spec/clusterSelector": SELECTOR, "spec/shutdownAfterJobFinishes": False},
        ["spec.clusterSelector"],
    ),
    "a selector only": (
        {
            "spec/clusterSelector": SELECTOR,
            "spec/rayClusterSpec": None,
            "spec/shutdownAfterJobFinishes": False,
        },
        [],
    ),
    "neither": ({"spec/rayClusterSpec": None}, ["spec.rayClusterSpec"]),
    "an empty selector": ({"spec/clusterSelector": {}}, []),
    "the cluster stays": ({"spec/shutdownAfterJobFinishes": False}, ["spec.shutdownAfterJobFinishes"]),
    "the cluster stays where nothing is said": (
        {"spec/shutdownAfterJobFinishes": None},
        ["spec.shutdownAfterJobFinishes"],
    ),
}


@pytest.mark.parametrize("case", CLUSTERS)
def test_clusters_of_jobs(case: str) -> None:
    changes, want = CLUSTERS[case]
    job = amended(JOB, changes)
    assert paths(RayJobs().validate(job, DEFAULTS)) == want
    assert RayJobs().validate(changed(job, "metadata/labels", {}), DEFAULTS) == []


def test_words_of_the_checks_of_jobs() -> None:
    both = changed(JOB, "spec/clusterSelector", SELECTOR)
    neither = changed(JOB, "spec/rayClusterSpec", None)
    stays = changed(JOB, "spec/shutdownAfterJobFinishes", None)
    got = [told(RayJobs().validate(job, DEFAULTS)) for job in (both, neither, stays)]
    assert got == [
        [
            'spec.clusterSelector: Invalid value: {"ray.io/cluster": "c"}: a kueue managed '
            "job should not use an existing cluster"
        ],
        [
            "spec.rayClusterSpec: Required value: rayClusterSpec is required for Kueue-managed jobs "
            "that don't use clusterSelector"
        ],
        [
            "spec.shutdownAfterJobFinishes: Invalid value: false: a kueue managed job should delete "
            "the cluster after finishing"
        ],
    ]


TOPOLOGIES: dict[str, tuple[dict[str, dict[str, str]], list[str]]] = {
    "head and workers in a group": (
        {"head": {REQUIRED: "rack", GROUP: "g"}, "0": {REQUIRED: "rack", GROUP: "g"}},
        [],
    ),
    "a group of two levels": (
        {"head": {REQUIRED: "rack", GROUP: "g"}, "0": {PREFERRED: "rack", GROUP: "g"}},
        [
            "{}.headGroupSpec.template.metadata.annotations",
            "{}.workerGroupSpecs[0].template.metadata.annotations",
        ],
    ),
    "no label": ({"1": {REQUIRED: "a b"}}, ["{}.workerGroupSpecs[1].template.metadata.annotations[req]"]),
    "slices beyond the pods": (
        {"1": {REQUIRED: "b", SLICE: "r", SLICE_SIZE: "9"}},
        ["{}.workerGroupSpecs[1].template.metadata.annotations[size]"],
    ),
    "slices of all pods": ({"1": {REQUIRED: "b", SLICE: "r", SLICE_SIZE: "8"}}, []),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", TOPOLOGIES)
def test_topologies(case: str, kind: str) -> None:
    templates, want = TOPOLOGIES[case]
    job, integration, at = KINDS[kind]
    for where, asked in templates.items():
        part = "headGroupSpec" if where == "head" else f"workerGroupSpecs/{where}"
        job = changed(job, f"{at}/{part}/template/metadata", {"annotations": asked})
    got = [
        path.replace(REQUIRED, "req").replace(SLICE_SIZE, "size")
        for path in paths(integration.validate(job, DEFAULTS))
    ]
    assert got == [path.replace("{}", WRITTEN[kind]) for path in want]
    assert integration.validate(job, JobSettings(topology_aware_scheduling=False)) == []


def test_the_topology_of_a_submitter_is_not_looked_at() -> None:
    template = {"metadata": {"annotations": {REQUIRED: "a b"}}, "spec": {"containers": []}}
    assert RayJobs().validate(changed(JOB, "spec/submitterPodTemplate", template), DEFAULTS) == []


# ---- updates ----

UPDATES: dict[str, tuple[dict[str, Any], dict[str, Any], JobSettings, list[str]]] = {
    "a queue of a held job": ({}, {QUEUE: "other"}, DEFAULTS, []),
    "a queue taken from a running job": (
        {"suspend": False},
        {},
        DEFAULTS,
        [f"metadata.labels[{QUEUE}]"],
    ),
    "the same, unchecked": (
        {"suspend": False},
        {},
        JobSettings(validate_ray_and_spark_updates=False),
        [],
    ),
    "autoscaling turned on": (
        {"enableInTreeAutoscaling": True},
        {QUEUE: "lq"},
        DEFAULTS,
        ["{}.enableInTreeAutoscaling"],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", UPDATES)
def test_updates(case: str, kind: str) -> None:
    changes, labels, settings, want = UPDATES[case]
    job, integration, at = KINDS[kind]
    where = {"suspend": "spec"} if kind != "RayService" else {}
    new = amended(job, {f"{where.get(key, at)}/{key}": value for key, value in changes.items()})
    new = changed(new, "metadata/labels", labels)
    got = paths(integration.validate_update(job, new, settings, False))
    assert got == [path.replace("{}", WRITTEN[kind]) for path in want]


def test_what_never_was_kueues_is_not_looked_at() -> None:
    for job, integration, at in KINDS.values():
        unmanaged = changed(job, "metadata/labels", {})
        new = changed(unmanaged, f"{at}/enableInTreeAutoscaling", True)
        assert integration.validate_update(unmanaged, new, DEFAULTS, True) == []
