"""StatefulSets and Deployments: their Workload, their pods, and what is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload, WorkloadStatus
from kueue_fast.jobs.actions import UpdatePod
from kueue_fast.jobs.deployment import Deployments
from kueue_fast.jobs.pod_set_info import decode
from kueue_fast.jobs.reconciler import CreateWorkload, UpdateWorkload, UpdateWorkloadStatus
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.jobs.stateful_set import StatefulSets
from kueue_fast.jobs.stateful_set_reconciler import reconcile
from tests.jobs.kinds import (
    ELASTIC,
    GATED_BY,
    PREBUILT,
    PRIORITY,
    QUEUE,
    REQUIRED,
    amended,
    changed,
    paths,
    read,
    requests_of,
    same,
    shape,
    told,
)
from tests.jobs.makers import NOW, View

SETS = StatefulSets()
DEPLOYMENTS = Deployments()
DEFAULTS = JobSettings()
MANAGE_ALL = JobSettings(manage_jobs_without_queue_name=True)
PARENT = "kueue.x-k8s.io/pod-suspending-parent"
SPEC = """
  replicas: 3
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: w, resources: {requests: {cpu: 500m}}}
"""
SET = read(f"""
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: web, namespace: ns, uid: u, labels: {{{QUEUE}: lq}}}}
spec: {SPEC}
""")
DEPLOYMENT = read(f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: ns, uid: u, labels: {{{QUEUE}: lq, {PRIORITY}: high}}}}
spec: {SPEC}
""")
NAME = SETS.workload_name(SET, DEFAULTS)


def acted(job: Any, workload: Workload | None = None, pods: Any = (), view: View | None = None) -> list[Any]:
    return reconcile(job, workload, pods, view or View(), NOW)


def made(job: Any = SET) -> Workload:
    (action,) = acted(job)
    assert isinstance(action, CreateWorkload)
    return action.workload


def with_conditions(workload: Workload, *conditions: tuple[str, str, str]) -> Workload:
    status = {
        "admission": {"clusterQueue": "cq"} if ("QuotaReserved", "True", "") in conditions else None,
        "conditions": [
            {"type": type_, "status": value, "reason": reason} for type_, value, reason in conditions
        ],
    }
    return msgspec.structs.replace(workload, status=msgspec.convert(status, WorkloadStatus))


RESERVED = ("QuotaReserved", "True", "")
ON_HOLD = ("QuotaReserved", "False", "OnHold")

# ---- the Workload ----


def test_one_pod_set_without_the_metadata_of_its_template() -> None:
    (main,) = SETS.pod_sets(SET, DEFAULTS)
    assert shape([main]) == [("main", 3, {"web": {"cpu": "500m"}})]
    assert not main.template.metadata
    assert requests_of([main]) == [{"podIndexLabel": "apps.kubernetes.io/pod-index"}]
    asked = changed(SET, "spec/template/metadata", {"annotations": {REQUIRED: "rack"}})
    assert requests_of(SETS.pod_sets(asked, DEFAULTS)) == [
        {"required": "rack", "podIndexLabel": "apps.kubernetes.io/pod-index"}
    ]


def test_the_workload_is_owned_and_can_be_found_again() -> None:
    job = changed(SET, "metadata/annotations", {GATED_BY: "example.com/g"})
    job.metadata.labels |= {"team": "a"}
    (action,) = acted(job, view=View(JobSettings(label_keys_to_copy=("team",))))
    workload = action.workload
    assert action.event.message == f"Created Workload: ns/{NAME}"
    assert (action.event.kind, action.event.reason) == ("StatefulSet", "CreatedWorkload")
    assert workload.metadata.labels == {"kueue.x-k8s.io/job-uid": "u"}
    assert workload.metadata.annotations == {
        GATED_BY: "example.com/g",
        "kueue.x-k8s.io/is-group-workload": "true",
        "kueue.x-k8s.io/job-owner-gvk": "apps/v1, Kind=StatefulSet",
        "kueue.x-k8s.io/job-owner-name": "web",
    }
    assert msgspec.to_builtins(workload.metadata.owner_references) == [
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u"}
    ]


def test_names() -> None:
    assert NAME.startswith("statefulset-web-")
    assert SETS.legacy_workload_name(SET, DEFAULTS) != NAME
    other = changed(SET, "metadata/uid", "v")
    assert SETS.legacy_workload_name(other, DEFAULTS) == SETS.legacy_workload_name(SET, DEFAULTS)


NONE_MADE: dict[str, tuple[dict[str, Any], JobSettings, bool]] = {
    "a queue": ({}, DEFAULTS, True),
    "no queue": ({"metadata/labels": {}}, DEFAULTS, False),
    "no queue, all managed": ({"metadata/labels": {}}, MANAGE_ALL, True),
    "no replicas": ({"spec/replicas": 0}, DEFAULTS, False),
    "a copy of MultiKueue": (
        {"metadata/labels": {QUEUE: "lq", "kueue.x-k8s.io/multikueue-origin": "m"}},
        DEFAULTS,
        False,
    ),
}


@pytest.mark.parametrize("case", NONE_MADE)
def test_who_gets_a_workload(case: str) -> None:
    changes, settings, want = NONE_MADE[case]
    assert bool(acted(amended(SET, changes), view=View(settings))) is want


def test_the_workload_follows() -> None:
    job = changed(SET, "metadata/annotations", {GATED_BY: "example.com/g"})
    job.metadata.labels |= {QUEUE: "other"}
    workload = made()
    workload.metadata.owner_references = None
    (action,) = acted(job, workload)
    assert isinstance(action, UpdateWorkload)
    assert action.workload.spec.queue_name == "other"
    assert len(action.workload.metadata.owner_references or ()) == 1
    assert action.event is not None
    assert action.event.message == 'Updated workload AdmissionGatedBy to "example.com/g"'
    assert acted(job, action.workload) == []
    asleep = changed(job, "spec/replicas", 0)
    asleep.metadata.labels |= {QUEUE: "third"}
    assert acted(asleep, action.workload) == []


HOLDS: dict[str, tuple[int, list[tuple[str, str, str]], str | None]] = {
    "no replicas, with quota": (0, [RESERVED], "OnHold"),
    "no replicas, without quota": (0, [("QuotaReserved", "False", "Pending")], None),
    "no replicas, on hold": (0, [ON_HOLD], None),
    "no replicas, finished": (0, [RESERVED, ("Finished", "True", "")], None),
    "no replicas, evicted": (0, [RESERVED, ("Evicted", "True", "Preempted")], "OnHold"),
    "replicas again": (3, [ON_HOLD], "Pending"),
    "replicas as before": (3, [RESERVED], None),
}


@pytest.mark.parametrize("case", HOLDS)
def test_a_group_of_none_holds_no_quota(case: str) -> None:
    count, conditions, want = HOLDS[case]
    actions = acted(changed(SET, "spec/replicas", count), with_conditions(made(), *conditions))
    if want is None:
        assert actions == []
        return
    (action,) = actions
    assert isinstance(action, UpdateWorkloadStatus)
    status = action.workload.status
    assert status is not None
    assert status.admission is None
    (reserved,) = [each for each in status.conditions or () if each.type == "QuotaReserved"]
    assert (reserved.status, reserved.reason) == ("False", want)


def test_an_inactive_workload_keeps_its_reservation() -> None:
    workload = with_conditions(made(), RESERVED)
    workload.spec.active = False
    assert acted(changed(SET, "spec/replicas", 0), workload) == []


# ---- pods ----


def pod(**fields: Any) -> Pod:
    metadata = {
        "name": "web-0",
        "namespace": "ns",
        "labels": {"controller-revision-hash": "r1"},
        "finalizers": ["kueue.x-k8s.io/managed"],
        **fields.pop("metadata", {}),
    }
    gates = [{"name": "kueue.x-k8s.io/admission"}]
    made = {"metadata": metadata, "spec": {"containers": [], "schedulingGates": gates}, **fields}
    return msgspec.json.decode(msgspec.json.encode(made), type=Pod)


def test_a_pod_joins_its_group() -> None:
    job = changed(SET, "metadata/labels", {QUEUE: "lq", PRIORITY: "high"})
    got = SETS.default_pod(job, pod(), NAME, DEFAULTS)
    assert got.metadata.labels == {
        "controller-revision-hash": "r1",
        "kueue.x-k8s.io/managed": "true",
        QUEUE: "lq",
        PRIORITY: "high",
    }
    assert got.metadata.annotations == {
        "kueue.x-k8s.io/pod-group-name": NAME,
        PREBUILT: NAME,
        "kueue.x-k8s.io/pod-group-total-count": "3",
        "kueue.x-k8s.io/pod-group-fast-admission": "true",
        "kueue.x-k8s.io/pod-group-serving": "true",
        "kueue.x-k8s.io/pod-group-pod-index-label": "apps.kubernetes.io/pod-index",
        "kueue.x-k8s.io/role-hash": "main",
    }
    assert SETS.default_pod(job, got, NAME, DEFAULTS) is got
    moved = SETS.default_pod(changed(job, "metadata/labels", {QUEUE: "other"}), got, NAME, DEFAULTS)
    assert (moved.metadata.labels or {})[QUEUE] == "other"


LEFT: dict[str, tuple[Any, dict[str, Any], JobSettings, bool, bool]] = {
    "no StatefulSet": (None, {}, DEFAULTS, False, True),
    "a StatefulSet that is not Kueue's": (changed(SET, "metadata/labels", {}), {}, DEFAULTS, False, True),
    "all are Kueue's": (changed(SET, "metadata/labels", {}), {}, MANAGE_ALL, True, True),
    "done": (SET, {"status": {"phase": "Succeeded"}}, DEFAULTS, False, False),
    "being deleted": (
        SET,
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        DEFAULTS,
        False,
        False,
    ),
}


@pytest.mark.parametrize("case", LEFT)
def test_pods_that_do_not_join(case: str) -> None:
    job, fields, settings, want_joined, want_kept = LEFT[case]
    got = SETS.default_pod(job, pod(**fields), NAME, settings)
    assert ("kueue.x-k8s.io/managed" in (got.metadata.labels or {})) is want_joined
    assert bool(got.metadata.finalizers) is want_kept


REVISIONS: dict[str, tuple[str, str, bool]] = {
    "one revision": ("r1", "r1", False),
    "an update replaces it": ("r1", "r2", True),
    "an update made it": ("r0", "r1", False),
}


@pytest.mark.parametrize("case", REVISIONS)
def test_pods_that_an_update_replaces_need_not_wait(case: str) -> None:
    current, update, want = REVISIONS[case]
    job = changed(SET, "status", {"currentRevision": current, "updateRevision": update})
    member = SETS.default_pod(SET, pod(), NAME, DEFAULTS)
    actions = acted(job, made(), [member])
    assert bool(actions) is want
    for action in actions:
        assert isinstance(action, UpdatePod)
        assert (action.pod.spec.scheduling_gates, action.pod.metadata.finalizers) == (None, [])


def test_pods_follow_the_queue() -> None:
    member = SETS.default_pod(SET, pod(), NAME, DEFAULTS)
    job = changed(SET, "metadata/labels", {QUEUE: "other"})
    moved = [action for action in acted(job, made(), [member]) if isinstance(action, UpdatePod)]
    assert [(action.pod.metadata.labels or {})[QUEUE] for action in moved] == ["other"]
    asleep = changed(job, "spec/replicas", 0)
    assert acted(asleep, made(), [member]) == []


# ---- webhooks ----


def test_templates_are_marked() -> None:
    got = SETS.default(SET, DEFAULTS)
    assert decode(got.spec.template.metadata) == {
        "labels": {"app": "web"},
        "annotations": {PARENT: "statefulset"},
    }
    assert same(SETS.default(got, DEFAULTS), got)
    got = DEPLOYMENTS.default(DEPLOYMENT, DEFAULTS)
    assert decode(got.spec.template.metadata) == {
        "labels": {"app": "web", "kueue.x-k8s.io/managed": "true", QUEUE: "lq", PRIORITY: "high"},
        "annotations": {PARENT: "deployment"},
    }
    for kind, job in ((SETS, SET), (DEPLOYMENTS, DEPLOYMENT)):
        unmanaged = changed(job, "metadata/labels", {})
        assert kind.default(unmanaged, DEFAULTS) is unmanaged
        assert kind.default(unmanaged, MANAGE_ALL) is not unmanaged


FOREIGN = changed(
    SET, "spec/template/metadata", {"annotations": {PARENT: "leaderworkerset.x-k8s.io/leaderworkerset"}}
)


def test_a_set_of_another_kind_is_left_alone() -> None:
    assert SETS.skip(FOREIGN)
    assert SETS.default(FOREIGN, DEFAULTS) is FOREIGN
    wrong = changed(FOREIGN, "metadata/labels", {QUEUE: "Q"})
    assert SETS.validate(wrong, DEFAULTS) == []
    assert SETS.validate_update(SET, wrong, None, DEFAULTS) == []
    assert not SETS.skip(SETS.default(SET, DEFAULTS))


@pytest.mark.parametrize("kind", ["StatefulSet", "Deployment"])
def test_refused(kind: str) -> None:
    integration, job = (SETS, SET) if kind == "StatefulSet" else (DEPLOYMENTS, DEPLOYMENT)
    assert integration.validate(job, DEFAULTS) == []
    wrong = amended(
        job, {"metadata/labels": {QUEUE: "Q"}, "metadata/annotations": {ELASTIC: "true", GATED_BY: "x"}}
    )
    got = told(integration.validate(wrong, DEFAULTS))
    assert [text.split(":")[0] for text in got] == [
        f"metadata.labels[{QUEUE}]",
        f"metadata.annotations[{ELASTIC}]",
        f"metadata.annotations[{GATED_BY}]",
    ]
    assert got[1].endswith(f'Forbidden: elastic job is not supported for "apps/v1, Kind={kind}"')


Change = dict[str, Any]
CPU = {"requests": {"cpu": "1"}}
CONTAINER = "spec/template/spec/containers/0"
READY = {"status": {"replicas": 3, "readyReplicas": 1}}
UPDATES: dict[str, tuple[Change, Change, list[str], list[str]]] = {
    "nothing": ({}, {}, [], []),
    "another queue": ({}, {"metadata/labels": {QUEUE: "b"}}, [], []),
    "another queue while a pod is ready": (READY, {"metadata/labels": {QUEUE: "b"}}, [QUEUE], [QUEUE]),
    "no queue any more": ({}, {"metadata/labels": {}}, [QUEUE], [QUEUE]),
    "a class while a pod is ready": (
        READY,
        {"metadata/labels": {QUEUE: "lq", PRIORITY: "p"}},
        [PRIORITY],
        [PRIORITY],
    ),
    "gates": ({}, {"metadata/annotations": {GATED_BY: "example.com/g"}}, [GATED_BY], [GATED_BY]),
    "another image": ({}, {f"{CONTAINER}/image": "new"}, [], []),
    "other requests": (
        {},
        {f"{CONTAINER}/resources": CPU},
        ["spec.template.spec.containers[0].resources.requests"],
        [],
    ),
    "more replicas": ({}, {"spec/replicas": 4}, ["spec.replicas"], []),
    "no replicas": ({}, {"spec/replicas": 0}, [], []),
    "replicas again": ({"spec/replicas": 0}, {}, [], []),
    "replicas again while pods go": (
        {"spec/replicas": 0},
        {"status": {"replicas": 1}},
        ["spec.replicas"],
        [],
    ),
}


@pytest.mark.parametrize("kind", ["StatefulSet", "Deployment"])
@pytest.mark.parametrize("case", UPDATES)
def test_updates(case: str, kind: str) -> None:
    before, after, want_set, want_deployment = UPDATES[case]
    if kind == "StatefulSet":
        got = paths(SETS.validate_update(amended(SET, before), amended(SET, after), None, DEFAULTS))
        want = want_set
    else:
        plain = changed(DEPLOYMENT, "metadata/labels", {QUEUE: "lq"})
        old, new = amended(plain, before), amended(plain, after)
        got, want = paths(DEPLOYMENTS.validate_update(old, new, DEFAULTS)), want_deployment
    parts = {QUEUE: "labels", PRIORITY: "labels", GATED_BY: "annotations"}
    assert got == [f"metadata.{parts[path]}[{path}]" if path in parts else path for path in want]


def test_what_is_not_kueues_may_change() -> None:
    old, new = changed(SET, "metadata/labels", {}), amended(SET, {"metadata/labels": {}, "spec/replicas": 9})
    assert SETS.validate_update(old, new, None, DEFAULTS) == []


def test_a_group_comes_back_once_its_workload_is_on_hold() -> None:
    old = changed(SET, "spec/replicas", 0)
    held, reserved = (with_conditions(made(), each) for each in (ON_HOLD, RESERVED))
    assert SETS.validate_update(old, SET, held, DEFAULTS) == []
    assert told(SETS.validate_update(old, SET, reserved, DEFAULTS)) == [
        "spec.replicas: Forbidden: the Workload from before the scale down is still being deleted"
    ]
