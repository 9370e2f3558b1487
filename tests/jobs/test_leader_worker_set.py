"""LeaderWorkerSets: a Workload for each group, the pods of the groups, and what is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.apps import StatefulSet
from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import PriorityClassRef, Workload, WorkloadStatus
from kueue_fast.jobs.actions import DeleteWorkload
from kueue_fast.jobs.leader_worker_set import LeaderWorkerSets, wanted_replicas
from kueue_fast.jobs.leader_worker_set_reconciler import is_own_pod, reconcile_pod, reconcile_workloads
from kueue_fast.jobs.pod_set_info import decode
from kueue_fast.jobs.reconciler import CreateWorkload, UpdateWorkload
from kueue_fast.jobs.settings import JobSettings
from tests.jobs.kinds import (
    ELASTIC,
    GATED_BY,
    GROUP,
    PREBUILT,
    PRIORITY,
    QUEUE,
    REQUIRED,
    SLICE,
    SLICE_SIZE,
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

LWS = LeaderWorkerSets()
DEFAULTS = JobSettings()
TEMPLATE = "spec/leaderWorkerTemplate"
ALONE = read(f"""
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: serve, namespace: ns, uid: u, labels: {{{QUEUE}: lq}}}}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 4
    workerTemplate:
      metadata:
        labels:
          app: serve
          leaderworkerset.sigs.k8s.io/name: serve
          leaderworkerset.sigs.k8s.io/group-key: x
        annotations:
          leaderworkerset.sigs.k8s.io/exclusive-topology: rack
          mine: kept
      spec:
        containers:
        - {{name: worker, image: w, resources: {{requests: {{cpu: "2"}}}}}}
""")
LED = changed(
    ALONE,
    f"{TEMPLATE}/leaderTemplate",
    {"spec": {"containers": [{"name": "leader", "resources": {"requests": {"cpu": "1"}}}]}},
)
NAMES = {index: LWS.workload_name(LED, index, DEFAULTS) for index in range(5)}

# ---- pod sets ----


def test_pod_sets() -> None:
    assert shape(LWS.pod_sets(ALONE, DEFAULTS)) == [("main", 4, {"worker": {"cpu": "2"}})]
    assert shape(LWS.pod_sets(LED, DEFAULTS)) == [
        ("leader", 1, {"leader": {"cpu": "1"}}),
        ("worker", 3, {"worker": {"cpu": "2"}}),
    ]


def test_nothing_said_is_one_group_of_one() -> None:
    job = amended(ALONE, {"spec/replicas": None, f"{TEMPLATE}/size": None})
    assert [pod_set.count for pod_set in LWS.pod_sets(job, DEFAULTS)] == [1]
    assert wanted_replicas(job) == 1


def test_keys_that_tell_groups_apart_are_left_out() -> None:
    (main,) = LWS.pod_sets(ALONE, DEFAULTS)
    assert decode(main.template.metadata) == {
        "labels": {"app": "serve", "leaderworkerset.sigs.k8s.io/name": "serve"},
        "annotations": {"mine": "kept"},
    }


def test_topology_requests() -> None:
    index = {"podIndexLabel": "leaderworkerset.sigs.k8s.io/worker-index"}
    assert requests_of(LWS.pod_sets(LED, DEFAULTS)) == [None, index]
    group = {"annotations": {REQUIRED: "rack", GROUP: "g"}}
    job = amended(
        LED,
        {
            f"{TEMPLATE}/leaderTemplate/metadata": group,
            f"{TEMPLATE}/workerTemplate/metadata": group,
        },
    )
    request = {"required": "rack", "podSetGroupName": "g"}
    assert requests_of(LWS.pod_sets(job, DEFAULTS)) == [request, {**request, **index}]
    off = JobSettings(topology_aware_scheduling=False)
    assert requests_of(LWS.pod_sets(job, off)) == [None, None]


# ---- Workloads ----


def acted(job: Any, workloads: list[Workload], view: View | None = None) -> list[Any]:
    return reconcile_workloads(job, workloads, view or View(), NOW)


def made(job: Any = LED, view: View | None = None) -> list[Workload]:
    return [action.workload for action in acted(job, [], view)]


def test_a_workload_for_each_group() -> None:
    job = changed(LED, "metadata/annotations", {GATED_BY: "example.com/g", "provreq.kueue.x-k8s.io/x": "1"})
    job.metadata.labels |= {"team": "a", PRIORITY: "high"}
    actions = acted(job, [], View(JobSettings(label_keys_to_copy=("team",))))
    assert [type(action) for action in actions] == [CreateWorkload, CreateWorkload]
    assert [action.workload.metadata.name for action in actions] == [NAMES[0], NAMES[1]]
    assert actions[1].event.message == f"Created Workload: ns/{NAMES[1]}"
    workload = actions[1].workload
    assert workload.metadata.labels == {"team": "a", "kueue.x-k8s.io/job-uid": "u"}
    assert workload.metadata.annotations == {
        "provreq.kueue.x-k8s.io/x": "1",
        GATED_BY: "example.com/g",
        "kueue.x-k8s.io/is-group-workload": "true",
        "kueue.x-k8s.io/job-owner-gvk": "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet",
        "kueue.x-k8s.io/job-owner-name": "serve",
        "kueue.x-k8s.io/component-workload-index": "1",
    }
    assert msgspec.to_builtins(workload.metadata.owner_references) == [
        {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "name": "serve",
            "uid": "u",
        }
    ]
    assert (workload.spec.queue_name, workload.spec.priority) == ("lq", 1000)
    assert [pod_set.name for pod_set in workload.spec.pod_sets or ()] == ["leader", "worker"]


def test_names_are_those_of_a_job_called_after_the_group() -> None:
    assert NAMES[0].startswith("leaderworkerset-serve-0-")
    copy = changed(LED, "metadata/uid", "another")
    assert LWS.workload_name(copy, 0, DEFAULTS) != NAMES[0]
    copy.metadata.labels |= {"kueue.x-k8s.io/multikueue-origin": "m"}
    copy.metadata.annotations = {"kueue.x-k8s.io/multikueue-origin-uid": "u"}
    assert LWS.workload_name(copy, 0, DEFAULTS) == NAMES[0]
    assert acted(copy, []) == []


REPLICAS: dict[str, tuple[dict[str, Any], int]] = {
    "as asked": ({}, 2),
    "none": ({"spec/replicas": 0}, 0),
    "more than asked, while it shrinks": ({"status": {"replicas": 4}}, 2),
    "a surge": (
        {
            "status": {"replicas": 3, "updatedReplicas": 1},
            "spec/rolloutStrategy": {"rollingUpdateConfiguration": {"maxSurge": 1}},
        },
        3,
    ),
    "a surge that is over": (
        {
            "status": {"replicas": 3, "updatedReplicas": 2},
            "spec/rolloutStrategy": {"rollingUpdateConfiguration": {"maxSurge": 1}},
        },
        2,
    ),
    "a surge by text": (
        {
            "status": {"replicas": 3},
            "spec/rolloutStrategy": {"rollingUpdateConfiguration": {"maxSurge": "1"}},
        },
        3,
    ),
    "a percentage": (
        {
            "status": {"replicas": 3},
            "spec/rolloutStrategy": {"rollingUpdateConfiguration": {"maxSurge": "50%"}},
        },
        2,
    ),
}


@pytest.mark.parametrize("case", REPLICAS)
def test_how_many_groups_need_a_workload(case: str) -> None:
    changes, want = REPLICAS[case]
    assert len(acted(amended(LED, changes), [])) == want


def test_scaling_adds_and_takes_away_at_the_end() -> None:
    more = acted(changed(LED, "spec/replicas", 4), made())
    assert [action.workload.metadata.name for action in more] == [NAMES[2], NAMES[3]]
    fewer = acted(changed(LED, "spec/replicas", 1), made())
    assert [(type(action), action.workload.metadata.name) for action in fewer] == [(DeleteWorkload, NAMES[1])]
    assert acted(LED, made()) == []


def test_workloads_follow_queue_and_gates() -> None:
    job = changed(LED, "metadata/annotations", {GATED_BY: "example.com/g"})
    job.metadata.labels |= {QUEUE: "other"}
    actions = acted(job, made())
    assert [type(action) for action in actions] == [UpdateWorkload, UpdateWorkload]
    assert {action.workload.spec.queue_name for action in actions} == {"other"}
    assert actions[0].workload.metadata.annotations[GATED_BY] == "example.com/g"
    assert (actions[0].event.reason, actions[0].event.message) == (
        "UpdatedWorkload",
        'Updated workload AdmissionGatedBy to "example.com/g"',
    )
    gone = acted(LED, [action.workload for action in actions])
    assert GATED_BY not in gone[0].workload.metadata.annotations


PRIORITIES: dict[str, tuple[str | None, dict[str, Any], bool]] = {
    "another class": ("low", {}, True),
    "the first class": (None, {}, True),
    "the first class after a reservation": (None, {"reserved": True}, False),
    "another class after a reservation": ("low", {"reserved": True}, True),
    "the same class": ("high", {}, False),
    "a class of the pods": ("pods", {"kind": "PriorityClass"}, False),
}


@pytest.mark.parametrize("case", PRIORITIES)
def test_workloads_follow_the_priority_class(case: str) -> None:
    before, facts, want = PRIORITIES[case]
    view = View()
    low = msgspec.structs.replace(view.workload_classes["high"], value=1)
    view.workload_classes["low"] = low
    (workload, *_) = made(LED, view)
    if before is not None:
        kind = facts.get("kind", "WorkloadPriorityClass")
        workload.spec.priority_class_ref = PriorityClassRef(group="g", kind=kind, name=before)
        workload.spec.priority = 7
    if facts.get("reserved"):
        status = {"conditions": [{"type": "QuotaReserved", "status": "True"}]}
        workload.status = msgspec.convert(status, WorkloadStatus)
    job = amended(LED, {"spec/replicas": 1})
    job.metadata.labels |= {PRIORITY: "high"}
    actions = acted(job, [workload], view)
    assert [(action.workload.spec.priority, action.event.message) for action in actions] == (
        [(1000, f"Updated workload priority class: ns/{NAMES[0]}")] if want else []
    )


# ---- pods ----


def pod(**fields: Any) -> Pod:
    metadata = {
        "name": "serve-0-1",
        "namespace": "ns",
        "labels": {
            "leaderworkerset.sigs.k8s.io/name": "serve",
            "leaderworkerset.sigs.k8s.io/group-index": "0",
            "controller-revision-hash": "old",
        },
        "annotations": {"leaderworkerset.sigs.k8s.io/leader-name": "serve-0"},
        "finalizers": ["kueue.x-k8s.io/managed"],
        **fields.pop("metadata", {}),
    }
    gates = [{"name": "kueue.x-k8s.io/admission"}, {"name": "kueue.x-k8s.io/topology"}]
    made = {"metadata": metadata, "spec": {"containers": [], "schedulingGates": gates}, **fields}
    return msgspec.json.decode(msgspec.json.encode(made), type=Pod)


def stateful_set(current: str = "old", update: str = "old") -> StatefulSet:
    made = {
        "metadata": {"name": "serve-0"},
        "spec": {"template": {}},
        "status": {"currentRevision": current, "updateRevision": update},
    }
    return msgspec.json.decode(msgspec.json.encode(made), type=StatefulSet)


def test_a_pod_joins_its_group() -> None:
    got = reconcile_pod(LED, stateful_set(), pod(), DEFAULTS)
    assert got.metadata.labels == {
        **(pod().metadata.labels or {}),
        "kueue.x-k8s.io/managed": "true",
        QUEUE: "lq",
    }
    assert got.metadata.annotations == {
        "leaderworkerset.sigs.k8s.io/leader-name": "serve-0",
        "kueue.x-k8s.io/pod-group-name": NAMES[0],
        PREBUILT: NAMES[0],
        "kueue.x-k8s.io/pod-group-total-count": "4",
        "kueue.x-k8s.io/role-hash": "worker",
    }
    assert got.spec == pod().spec
    assert reconcile_pod(LED, stateful_set(), got, DEFAULTS) is got


def test_a_pod_joins_its_group_by_labels() -> None:
    settings = JobSettings(workload_identifier_annotations=False)
    labels = reconcile_pod(LED, stateful_set(), pod(), settings).metadata.labels or {}
    assert labels["kueue.x-k8s.io/pod-group-name"] == labels[PREBUILT] == NAMES[0]


ROLES: dict[str, tuple[Any, dict[str, str], str]] = {
    "the leader": (LED, {}, "leader"),
    "a worker": (LED, {"leaderworkerset.sigs.k8s.io/leader-name": "x"}, "worker"),
    "no leader template": (ALONE, {"leaderworkerset.sigs.k8s.io/leader-name": "x"}, "main"),
}


@pytest.mark.parametrize("case", ROLES)
def test_roles(case: str) -> None:
    job, annotations, want = ROLES[case]
    got = reconcile_pod(job, stateful_set(), pod(metadata={"annotations": annotations}), DEFAULTS)
    assert (got.metadata.annotations or {})["kueue.x-k8s.io/role-hash"] == want


def test_a_pod_without_the_index_of_its_group_waits() -> None:
    waiting = pod(metadata={"labels": {}})
    assert reconcile_pod(LED, stateful_set(), waiting, DEFAULTS) is waiting


def test_only_a_gated_pod_follows_its_queue() -> None:
    member = reconcile_pod(LED, stateful_set(), pod(), DEFAULTS)
    job = changed(LED, "metadata/labels", {QUEUE: "other"})
    moved = reconcile_pod(job, stateful_set(), member, DEFAULTS)
    assert (moved.metadata.labels or {})[QUEUE] == "other"
    member.spec.scheduling_gates = None
    assert reconcile_pod(job, stateful_set(), member, DEFAULTS) is member


RELEASES: dict[str, tuple[Any, StatefulSet | None, dict[str, Any], tuple[bool, bool]]] = {
    "in its group": (LED, stateful_set(), {}, (True, True)),
    "the LeaderWorkerSet is gone": (None, stateful_set(), {}, (False, False)),
    "the StatefulSet is gone": (LED, None, {}, (False, False)),
    "an update replaces it": (LED, stateful_set("old", "new"), {}, (False, False)),
    "an update made it": (LED, stateful_set("older", "old"), {}, (True, True)),
    "done": (LED, stateful_set(), {"status": {"phase": "Failed"}}, (True, False)),
    "being deleted": (
        LED,
        stateful_set(),
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        (True, False),
    ),
}


@pytest.mark.parametrize("case", RELEASES)
def test_which_pods_are_let_go(case: str) -> None:
    job, controller, fields, want = RELEASES[case]
    got = reconcile_pod(job, controller, pod(**fields), DEFAULTS)
    assert (bool(got.spec.scheduling_gates), bool(got.metadata.finalizers)) == want
    assert reconcile_pod(job, controller, got, DEFAULTS) is got


def test_whose_pods() -> None:
    parent = "kueue.x-k8s.io/pod-suspending-parent"
    assert is_own_pod(pod(metadata={"annotations": {parent: LWS.framework}}))
    assert not is_own_pod(pod(metadata={"annotations": {parent: "statefulset"}}))


# ---- webhooks ----


def test_templates_are_marked() -> None:
    job = changed(LED, "metadata/labels", {QUEUE: "lq", PRIORITY: "high"})
    got = LWS.default(job, DEFAULTS)
    leader, worker = LWS.roles(got)
    marks = {
        "kueue.x-k8s.io/pod-suspending-parent": "leaderworkerset.x-k8s.io/leaderworkerset",
        "kueue.x-k8s.io/pod-group-serving": "true",
    }
    assert decode(leader.template.metadata) == {
        "labels": {QUEUE: "lq", PRIORITY: "high"},
        "annotations": marks,
    }
    worker_metadata = decode(worker.template.metadata)
    assert worker_metadata["labels"] | {QUEUE: "lq", PRIORITY: "high"} == worker_metadata["labels"]
    assert worker_metadata["annotations"]["kueue.x-k8s.io/pod-index-offset"] == "1"
    assert same(LWS.default(got, DEFAULTS), got)


UNSHIFTED: dict[str, tuple[Any, JobSettings]] = {
    "no leader": (ALONE, DEFAULTS),
    "a group": (
        changed(LED, f"{TEMPLATE}/workerTemplate/metadata", {"annotations": {GROUP: "g"}}),
        DEFAULTS,
    ),
    "no topologies": (LED, JobSettings(topology_aware_scheduling=False)),
}


@pytest.mark.parametrize("case", UNSHIFTED)
def test_workers_that_count_from_zero(case: str) -> None:
    job, settings = UNSHIFTED[case]
    *_, worker = LWS.roles(LWS.default(job, settings))
    assert "kueue.x-k8s.io/pod-index-offset" not in decode(worker.template.metadata)["annotations"]


def test_what_is_not_kueues_is_left_alone() -> None:
    for job in (
        changed(LED, "metadata/labels", {}),
        changed(LED, "metadata/deletionTimestamp", "2026-01-01T00:00:00Z"),
    ):
        assert LWS.default(job, DEFAULTS) is job


AT = "spec.leaderWorkerTemplate"
REFUSED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing wrong": ({}, []),
    "a queue that no object is called": ({"metadata/labels": {QUEUE: "Q"}}, [f"metadata.labels[{QUEUE}]"]),
    "elastic": ({"metadata/annotations": {ELASTIC: "true"}}, [f"metadata.annotations[{ELASTIC}]"]),
    "gates": ({"metadata/annotations": {GATED_BY: "x"}}, [f"metadata.annotations[{GATED_BY}]"]),
    "fewer than no groups": ({"spec/replicas": -1}, ["spec.replicas"]),
    "too many groups": ({"spec/replicas": 1_000_001}, ["spec.replicas"]),
    "as many groups as there may be": ({"spec/replicas": 1_000_000}, []),
    "a group of pod sets that is none": (
        {f"{TEMPLATE}/leaderTemplate/metadata": {"annotations": {REQUIRED: "a", GROUP: "g"}}},
        [f"{AT}.leaderTemplate.metadata.annotations[{GROUP}]"],
    ),
    "slices beyond the workers": (
        {
            f"{TEMPLATE}/workerTemplate/metadata": {
                "annotations": {REQUIRED: "a", SLICE: "b", SLICE_SIZE: "4"}
            }
        },
        [f"{AT}.workerTemplate.metadata.annotations[{SLICE_SIZE}]"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    changes, want = REFUSED[case]
    assert paths(LWS.validate(amended(LED, changes), DEFAULTS)) == want


def test_words() -> None:
    job = amended(LED, {"spec/replicas": -1, "metadata/annotations": {ELASTIC: "true"}})
    assert told(LWS.validate(job, DEFAULTS)) == [
        f"metadata.annotations[{ELASTIC}]: Forbidden: elastic job is not supported for "
        '"leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet"',
        "spec.replicas: Invalid value: -1: must be between 0 and 1000000",
    ]


READY = {"status": {"readyReplicas": 1}}
CONTAINER = f"{TEMPLATE}/workerTemplate/spec/containers/0"
UPDATES: dict[str, tuple[dict[str, Any], dict[str, Any], JobSettings, list[str]]] = {
    "another queue": ({}, {"metadata/labels": {QUEUE: "b"}}, DEFAULTS, []),
    "another queue while a group is ready": (
        READY,
        {"metadata/labels": {QUEUE: "b"}},
        DEFAULTS,
        [f"metadata.labels[{QUEUE}]"],
    ),
    "no queue any more": ({}, {"metadata/labels": {}}, DEFAULTS, [f"metadata.labels[{QUEUE}]"]),
    "a class": ({}, {"metadata/labels": {QUEUE: "lq", PRIORITY: "p"}}, DEFAULTS, []),
    "a class while a group is ready": (
        READY,
        {"metadata/labels": {QUEUE: "lq", PRIORITY: "p"}},
        DEFAULTS,
        [f"metadata.labels[{PRIORITY}]"],
    ),
    "gates": (
        {},
        {"metadata/annotations": {GATED_BY: "example.com/g"}},
        DEFAULTS,
        [f"metadata.annotations[{GATED_BY}]"],
    ),
    "another image": ({}, {f"{CONTAINER}/image": "new"}, DEFAULTS, []),
    "more groups": ({}, {"spec/replicas": 9}, DEFAULTS, []),
    "other requests": (
        {},
        {f"{CONTAINER}/resources": {"requests": {"cpu": "3"}}},
        DEFAULTS,
        [f"{AT}.workerTemplate.spec.containers[0].resources.requests"],
    ),
    "the same requests in other words": (
        {},
        {f"{CONTAINER}/resources": {"requests": {"cpu": "2000m"}}},
        DEFAULTS,
        [],
    ),
    "another container": (
        {},
        {f"{TEMPLATE}/workerTemplate/spec/containers": [{"name": "a"}, {"name": "b"}]},
        DEFAULTS,
        [f"{AT}.workerTemplate.spec.containers"],
    ),
    "several things": (
        {},
        {
            f"{CONTAINER}/ports": [{"containerPort": 80}],
            f"{TEMPLATE}/workerTemplate/spec/nodeSelector": {"a": "b"},
            f"{TEMPLATE}/leaderTemplate/spec/priority": 5,
        },
        DEFAULTS,
        [
            f"{AT}.leaderTemplate.spec.priority",
            f"{AT}.workerTemplate.spec.containers[0].ports",
            f"{AT}.workerTemplate.spec.nodeSelector",
        ],
    ),
    "no leader any more": ({}, {f"{TEMPLATE}/leaderTemplate": None}, DEFAULTS, [f"{AT}.leaderTemplate"]),
    "larger groups": ({}, {f"{TEMPLATE}/size": 5}, DEFAULTS, [f"{AT}.size"]),
    "larger groups, unchecked": (
        {},
        {f"{TEMPLATE}/size": 5},
        JobSettings(immutable_group_size=False),
        [],
    ),
    "what is not Kueue's": (
        {"metadata/labels": {}},
        {"metadata/labels": {}, f"{TEMPLATE}/size": 5, f"{TEMPLATE}/leaderTemplate": None},
        DEFAULTS,
        [],
    ),
}


@pytest.mark.parametrize("case", UPDATES)
def test_updates(case: str) -> None:
    before, after, settings, want = UPDATES[case]
    old, new = amended(LED, before), amended(LED, after)
    assert paths(LWS.validate_update(old, new, settings)) == want
