"""Pods and groups of pods as one job: state, pod sets, start, stop, and their Workload."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.kueue import Workload, WorkloadStatus
from kueue_fast.errors import InputError
from kueue_fast.jobs import pod_set_info
from kueue_fast.jobs.actions import DeletePod, DeleteWorkload, RecordEvent, UpdatePod
from kueue_fast.jobs.pod_facts import is_runnable
from kueue_fast.jobs.pod_group import PodGroup, stop_reason
from kueue_fast.jobs.pod_group_conditions import waiting_for_replacement
from kueue_fast.jobs.pod_group_order import keep_first_active, keep_first_inactive
from kueue_fast.jobs.pod_group_workload import compose, is_of_another_controller, match
from kueue_fast.jobs.pod_set_info import PodSetInfo, StartError
from kueue_fast.jobs.reconciler import CreateWorkload, UpdateWorkload
from kueue_fast.jobs.settings import JobSettings
from kueue_fast.model import times
from tests.jobs.kinds import GATED_BY, MAX_EXEC, PREBUILT, QUEUE, REQUIRED, requests_of, shape
from tests.jobs.makers import NOW, View
from tests.jobs.pod_makers import (
    DELETED,
    FAST,
    GATE,
    INDEX,
    MANAGED,
    PARENT,
    RETRIABLE,
    SERVING,
    TOPOLOGY,
    alone,
    ended,
    group,
    member,
    pod,
    running,
)

DEFAULTS = JobSettings()
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}

# ---- state ----

SUSPENDED: dict[str, tuple[PodGroup, bool]] = {
    "a gated pod": (alone(pod()), True),
    "a pod that runs": (alone(pod(gates=())), False),
    "a pod that is done": (alone(pod(gates=(), status={"phase": "Failed"})), True),
    "a group that runs": (group(running("a"), running("b")), False),
    "a group with a new pod": (group(running("a"), member("b")), True),
    "a group with a pod that is done": (group(running("a"), ended("b")), True),
}


@pytest.mark.parametrize("case", SUSPENDED)
def test_suspended(case: str) -> None:
    job, want = SUSPENDED[case]
    assert job.suspended() is want


AN_HOUR_AGO = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
JUST_NOW = {"deletionTimestamp": "2026-01-01T00:59:45Z", "deletionGracePeriodSeconds": 30}
ACTIVE: dict[str, tuple[PodGroup, bool, bool]] = {
    "a pod alone": (alone(pod(gates=(), status={"phase": "Running"})), False, False),
    "a group that runs": (group(running("a")), True, True),
    "a group that waits": (group(member("a")), False, False),
    "a group that is done": (group(ended("a")), False, False),
    "a pod that is going": (group(running("a", **JUST_NOW)), True, False),
    "a pod that should be gone": (group(running("a", **AN_HOUR_AGO)), False, False),
    "a pod that goes in its own time": (group(running("a", deletionTimestamp=DELETED)), True, False),
}


@pytest.mark.parametrize("case", ACTIVE)
def test_active(case: str) -> None:
    job, want, want_fast = ACTIVE[case]
    assert job.active(DEFAULTS, NOW) is want
    assert job.active(JobSettings(fast_quota_release=True), NOW) is want_fast


ARE_READY: dict[str, tuple[PodGroup, bool]] = {
    "a ready pod": (alone(pod(status=READY)), True),
    "a pod that is not ready": (alone(pod()), False),
    "a ready group": (group(running("a"), running("b")), False),
    "all ready": (group(member("a", status=READY), member("b", status=READY)), True),
    "one missing": (group(member("a", status=READY)), False),
    "no count": (group(member("a", total="x", status=READY)), False),
}


@pytest.mark.parametrize("case", ARE_READY)
def test_ready(case: str) -> None:
    job, want = ARE_READY[case]
    assert job.ready() is want


LAST = {"annotations": {RETRIABLE: "false"}}
FINISHED: dict[str, tuple[PodGroup, tuple[str, bool] | None]] = {
    "a pod that runs": (alone(pod(gates=(), status={"phase": "Running"})), None),
    "a pod that succeeded": (
        alone(pod(gates=(), status={"phase": "Succeeded", "message": "m"})),
        ("m", True),
    ),
    "a pod that failed": (alone(pod(gates=(), status={"phase": "Failed"})), ("", False)),
    "a group of which one succeeded": (group(ended("a"), running("b")), None),
    "a group that succeeded": (group(ended("a"), ended("b")), ("Pods succeeded: 2/2.", True)),
    "a group that waits for a replacement": (group(ended("a"), ended("b", "Failed")), None),
    "a group that ends as it is": (
        group(ended("a"), ended("b", "Failed", **LAST)),
        ("Pods succeeded: 1/2.", True),
    ),
    "a group that still runs": (group(running("a"), ended("b", "Failed", **LAST)), None),
    "a group that serves": (
        group(
            ended("a", total="1", annotations={SERVING: "true"}),
        ),
        None,
    ),
    "no count": (group(ended("a", total="0")), None),
}


@pytest.mark.parametrize("case", FINISHED)
def test_finished(case: str) -> None:
    job, want = FINISHED[case]
    assert job.finished() == want


def test_reclaimable_pods() -> None:
    job = group(ended("a"), running("b", role="s"), ended("c", role="s"), ended("d"))
    assert [(each.name, each.count) for each in job.reclaimable_pods()] == [("r", 2), ("s", 1)]
    assert group(ended("a", annotations={SERVING: "true"})).reclaimable_pods() == []
    assert alone(pod(status={"phase": "Succeeded"})).reclaimable_pods() == []


SKIPPED: dict[str, tuple[Any, bool, bool]] = {
    "managed": (pod(), False, False),
    "not managed": (pod(labels={QUEUE: "lq"}), False, True),
    "managed in other words": (pod(labels={MANAGED: "yes"}), False, True),
    "managed, but pods are not on": (pod(), True, True),
    "held by a kind that is on": (pod(annotations={PARENT: "deployment"}), True, False),
}


@pytest.mark.parametrize("case", SKIPPED)
def test_skipped(case: str) -> None:
    a_pod, implicit, want = SKIPPED[case]
    assert alone(a_pod).skip(implicit=implicit) is want


RUNNABLE: dict[str, tuple[Any, bool]] = {
    "it waits": (member("a"), True),
    "it succeeded": (ended("a"), True),
    "it failed": (ended("a", "Failed"), False),
    "deleted before it had a node": (member("a", deletionTimestamp=DELETED), False),
    "deleted while it runs": (running("a", deletionTimestamp=DELETED), True),
}


@pytest.mark.parametrize("case", RUNNABLE)
def test_runnable(case: str) -> None:
    a_pod, want = RUNNABLE[case]
    assert is_runnable(a_pod) is want


# ---- pod sets ----


def test_a_pod_alone_is_one_pod_set() -> None:
    (main,) = alone(pod(annotations={REQUIRED: "rack"})).pod_sets(DEFAULTS)
    assert shape([main]) == [("main", 1, {"c": {"cpu": "1"}})]
    assert requests_of([main]) == [{"required": "rack", "podIndexLabel": INDEX}]
    assert not main.template.metadata


def test_a_bad_annotation_is_told_where_it_stands() -> None:
    name = "kueue.x-k8s.io/podset-unconstrained-topology"
    with pytest.raises(InputError) as caught:
        alone(pod(annotations={name: "x"})).pod_sets(DEFAULTS)
    assert caught.value.field == f"$.metadata.annotations[{name}]"


def test_a_group_has_a_pod_set_for_each_role() -> None:
    job = group(
        member("a", role=None, cpu="2"),
        member("b", role="z"),
        member("c", role="a"),
        member("d", role="z"),
        ended("e", "Failed", role="a"),
    )
    got = [(name, count) for name, count, _ in shape(job.pod_sets(DEFAULTS))]
    hashed = next(name for name, _ in got if name not in ("a", "z"))
    assert len(hashed) == 8
    assert sorted(got) == got == sorted([("a", 1), (hashed, 1), ("z", 2)])


def test_fast_admission_counts_pods_that_are_not_there() -> None:
    fast = {FAST: "true"}
    job = group(
        ended("a", "Failed", total="5", role="x", annotations=fast),
        member("b", total="5", annotations=fast),
    )
    assert [(name, count) for name, count, _ in shape(job.pod_sets(DEFAULTS))] == [("r", 5)]
    with pytest.raises(InputError, match="no pod of the group can run"):
        group(ended("a", "Failed", annotations=fast)).pod_sets(DEFAULTS)
    with pytest.raises(InputError, match="how many pods"):
        group(member("a", total="x", annotations=fast)).pod_sets(DEFAULTS)


# ---- start and stop ----


def info(name: str, *gates: str) -> PodSetInfo:
    return PodSetInfo(
        name=name,
        count=1,
        annotations={"a": "1"},
        labels={"kueue.x-k8s.io/podset": name},
        node_selector={"type": "spot"},
        tolerations=[{"key": "spot", "operator": "Exists"}],
        scheduling_gates=[{"name": gate} for gate in gates],
    )


@pytest.mark.parametrize(("gates", "want"), [((), []), ((TOPOLOGY,), [TOPOLOGY])])
def test_start(gates: tuple[str, ...], want: list[str]) -> None:
    (action,) = alone(pod(gates=(GATE, TOPOLOGY))).start([info("main", *gates)], "go", NOW)
    assert isinstance(action, UpdatePod)
    assert [gate.name for gate in action.pod.spec.scheduling_gates or ()] == want
    assert action.pod.spec.node_selector == {"type": "spot"}
    assert (action.pod.metadata.labels or {})["kueue.x-k8s.io/podset"] == "main"
    assert action.event is not None
    assert (action.event.kind, action.event.reason, action.event.message) == ("Pod", "Started", "go")
    assert alone(action.pod).start([info("main")], "go", NOW) == []


def test_each_role_starts_with_its_own() -> None:
    job = group(member("a", role="x"), running("b", role="y"), member("c", role="y"))
    actions = job.start([info("x"), info("y")], "go", NOW)
    started = [
        (each.pod.metadata.name, each.pod.metadata.labels) for each in actions if isinstance(each, UpdatePod)
    ]
    assert [(name, (labels or {})["kueue.x-k8s.io/podset"]) for name, labels in started] == [
        ("a", "x"),
        ("c", "y"),
    ]


def test_what_cannot_start() -> None:
    with pytest.raises(StartError, match="invalid podset infos: expecting 1 pod set got 2"):
        alone(pod()).start([info("a"), info("b")], "go", NOW)
    with pytest.raises(StartError, match="podSetInfo with the name 'r' is not found"):
        group(member("a")).start([info("x")], "go", NOW)
    other = info("main")
    other.labels = {QUEUE: "other"}
    with pytest.raises(StartError, match="conflict for labels"):
        alone(pod()).start([other], "go", NOW)


STOPS: dict[str, tuple[str, list[tuple[str, type]]]] = {
    "evicted": ("WorkloadEvictedDueToPreempted", [("runs", DeletePod)]),
    "not admitted": ("NotAdmitted", [("runs", DeletePod)]),
    "its Workload goes": (
        "WorkloadDeleted",
        [("runs", DeletePod), ("waits", DeletePod), ("done", DeletePod), ("goes", UpdatePod)],
    ),
}


@pytest.mark.parametrize("case", STOPS)
def test_stop(case: str) -> None:
    reason, want = STOPS[case]
    job = group(running("runs"), member("waits"), ended("done"), running("goes", deletionTimestamp=DELETED))
    actions: list[Any] = job.stop(reason, "why", NOW)
    assert [(action.pod.metadata.name, type(action)) for action in actions] == want
    status = actions[0].pod.status
    assert msgspec.to_builtins(status.conditions) == [
        {
            "type": "TerminationTarget",
            "status": "True",
            "reason": reason,
            "message": "why",
            "lastTransitionTime": "2026-01-01T01:00:00Z",
        }
    ]
    assert (actions[0].event.reason, actions[0].event.message) == ("Stopped", "why")
    assert bool(actions[0].pod.metadata.finalizers) is (reason != "WorkloadDeleted")


def test_reasons_to_stop() -> None:
    assert stop_reason("WorkloadEvicted", "Preempted") == "WorkloadEvictedDueToPreempted"
    assert stop_reason("WorkloadEvicted") == "WorkloadEvicted"
    assert stop_reason("NotAdmitted", "Preempted") == "NotAdmitted"


def test_pods_are_let_go_at_the_end() -> None:
    actions: list[Any] = group(ended("a"), ended("b", finalizer=False)).finalize()
    assert [(action.pod.metadata.name, action.pod.metadata.finalizers) for action in actions] == [("a", [])]


# ---- which pods stay ----


def test_which_active_pods_stay() -> None:
    pods = [
        member("newer", creationTimestamp="2026-01-01T00:10:00Z"),
        member("older"),
        member("unfinalized", finalizer=False),
        running("runs", creationTimestamp="2026-01-01T00:20:00Z"),
    ]
    kept, rest = keep_first_active(pods, 2)
    assert [each.metadata.name for each in kept] == ["runs", "older"]
    assert [each.metadata.name for each in rest] == ["newer", "unfinalized"]
    assert keep_first_active(pods, 4) == (pods, [])


def failed(name: str, at: str, **fields: Any) -> Any:
    condition = {
        "type": "ContainersReady",
        "status": "False",
        "reason": "Failed",
        "lastTransitionTime": f"2026-01-01T{at}Z",
    }
    return ended(name, "Failed", status={"conditions": [condition]}, **fields)


def test_which_inactive_pods_stay() -> None:
    pods = [
        failed("early", "00:10:00"),
        failed("late", "00:40:00"),
        failed("deleted", "00:50:00", deletionTimestamp=DELETED),
        failed("gone", "00:59:00", finalizer=False),
        member("unknown", deletionTimestamp="2026-01-01T00:45:00Z"),
    ]
    kept, rest = keep_first_inactive(pods, 3, NOW)
    assert [each.metadata.name for each in kept] == ["unknown", "late", "deleted"]
    assert [each.metadata.name for each in rest] == ["early", "gone"]


# ---- the Workload ----


def composed(job: PodGroup, settings: JobSettings = DEFAULTS) -> Any:
    view = View()
    return compose(job, settings, view.workload_classes, view.pod_classes, NOW)


def made(job: PodGroup) -> Workload:
    action = composed(job).actions[-1]
    assert isinstance(action, CreateWorkload)
    return action.workload


def test_the_workload_is_called_as_the_group_and_owned_by_all() -> None:
    a = member("a", annotations={GATED_BY: "example.com/g", "provreq.kueue.x-k8s.io/x": "1"})
    a.metadata.labels = {**(a.metadata.labels or {}), "team": "x", MAX_EXEC: "60"}
    b = member("b", role="s")
    b.metadata.labels = {**(b.metadata.labels or {}), "tier": "y"}
    got = composed(group(a, b), JobSettings(label_keys_to_copy=("team", "tier")))
    (action,) = got.actions
    workload = action.workload
    assert workload.metadata.name == "g"
    assert workload.metadata.labels == {"team": "x", "tier": "y"}
    assert workload.metadata.annotations == {
        GATED_BY: "example.com/g",
        "provreq.kueue.x-k8s.io/x": "1",
        "kueue.x-k8s.io/is-group-workload": "true",
    }
    assert msgspec.to_builtins(workload.metadata.owner_references) == [
        {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": f"uid-{name}"} for name in "ab"
    ]
    assert (workload.spec.queue_name, workload.spec.maximum_execution_time_seconds) == ("lq", 60)
    assert [pod_set.name for pod_set in workload.spec.pod_sets or ()] == ["r", "s"]
    assert action.event.message == "Created Workload: ns/g"


def with_label(a_pod: Any, key: str, value: str) -> Any:
    a_pod.metadata.labels = {**(a_pod.metadata.labels or {}), key: value}
    return a_pod


PROBLEMS: dict[str, tuple[PodGroup, bool, str]] = {
    "no count": (group(member("a", total="x")), True, "pod-group-total-count='x' is not an integer"),
    "an index beyond the pods": (
        group(with_label(member("a"), INDEX, "2"), member("b")),
        True,
        "pod-group-pod-index='2' is not a number below 2",
    ),
    "too few pods": (group(member("a")), False, "'g' group has fewer runnable pods than expected"),
    "a failed pod does not count": (
        group(member("a"), ended("b", "Failed")),
        False,
        "'g' group has fewer runnable pods than expected",
    ),
    "another queue": (
        group(member("a"), with_label(member("b"), QUEUE, "other")),
        False,
        "pods 'a' and 'b' has different queue names: lq!=other",
    ),
    "another count": (
        group(member("a"), member("b", total="3")),
        False,
        "pods 'a' and 'b' has different 'kueue.x-k8s.io/pod-group-total-count' values: 2!=3",
    ),
    "a member without count": (
        group(member("a"), member("b", total="x")),
        True,
        "pod 'b' has no number as kueue.x-k8s.io/pod-group-total-count",
    ),
    "too many roles": (
        group(*(member(f"p{n}", total="19", role=f"r{n}") for n in range(19))),
        False,
        "pod group can't include more than 18 roles",
    ),
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_what_stands_in_the_way(case: str) -> None:
    job, want_retry, want_words = PROBLEMS[case]
    got = composed(job)
    assert not any(isinstance(action, CreateWorkload) for action in got.actions)
    assert want_words in got.problem.message
    assert got.problem.retry is want_retry
    events = [action.event for action in got.actions if isinstance(action, RecordEvent)]
    assert [(event.type, event.reason, event.message) for event in events] == (
        [("Warning", "ErrWorkloadCompose", got.problem.message)] if "fewer" in want_words else []
    )


def test_labels_that_differ() -> None:
    job = group(with_label(member("a"), "team", "x"), with_label(member("b"), "team", "y"))
    got = composed(job, JobSettings(label_keys_to_copy=("team",)))
    assert got.problem.message == "constructing workload: pods have different label values"
    assert composed(job).problem is None


def test_pods_that_are_too_many_go() -> None:
    job = group(member("new", creationTimestamp="2026-01-01T00:10:00Z"), member("a"), member("b"))
    excess, create = composed(job).actions
    assert isinstance(excess, DeletePod)
    assert (excess.pod.metadata.name, excess.pod.metadata.finalizers) == ("new", [])
    assert excess.event is not None
    assert (excess.event.reason, excess.event.message) == ("ExcessPodDeleted", "Excess pod deleted")
    assert [owner.name for owner in create.workload.metadata.owner_references] == ["a", "b"]


def test_a_group_that_is_not_complete_may_be_admitted_fast() -> None:
    (action,) = composed(group(member("a", total="5", annotations={FAST: "true"}))).actions
    assert [pod_set.count for pod_set in action.workload.spec.pod_sets] == [5]


def test_a_prebuilt_workload_names_itself() -> None:
    job = group(member("a", total="1", annotations={PREBUILT: "g"}))
    assert made(job).metadata.name == "g"


# ---- a group and its Workload ----


def matched(job: PodGroup, workload: Workload, *, observed: bool = True) -> Any:
    return match(job, workload, DEFAULTS, observed=observed, now_ns=NOW)


PAIR = group(member("a"), member("b"))


def test_nothing_to_do() -> None:
    got = matched(PAIR, made(PAIR))
    assert (got.actions, got.absent, got.problem) == ([], 0, None)
    assert [each.metadata.name for each in got.group.pods] == ["a", "b"]


def test_new_members_own_the_workload() -> None:
    workload = made(PAIR)
    got = matched(group(ended("a", "Failed"), member("b"), member("c")), workload)
    update, finalize = got.actions
    assert isinstance(update, UpdateWorkload)
    assert [owner.name for owner in update.workload.metadata.owner_references or ()] == ["a", "b", "c"]
    assert update.event is not None
    assert (update.event.kind, update.event.reason, update.event.message) == (
        "Workload",
        "OwnerReferencesAdded",
        "Added 1 owner reference(s)",
    )
    assert isinstance(finalize, UpdatePod)
    assert (finalize.pod.metadata.name, finalize.pod.metadata.finalizers) == ("a", [])
    assert got.absent == 0


def test_a_failed_pod_stays_until_it_is_replaced() -> None:
    got = matched(group(ended("a", "Failed"), member("b")), made(PAIR))
    assert got.actions == []
    assert got.absent == 1
    assert len(got.group.pods) == 2


def test_too_many_pods_of_a_role_go() -> None:
    new = member("c", creationTimestamp="2026-01-01T00:10:00Z")
    got = matched(group(new, member("a"), member("b")), made(PAIR))
    (delete,) = got.actions
    assert isinstance(delete, DeletePod)
    assert delete.pod.metadata.name == "c"
    waiting = matched(group(new, member("a"), member("b")), made(PAIR), observed=False)
    assert waiting.actions == []
    assert (waiting.problem.retry, waiting.problem.message) == (
        False,
        "waiting to observe previous operations on pods",
    )


UNFIT: dict[str, tuple[PodGroup, bool]] = {
    "another role": (group(member("a", role="x"), member("b", role="x")), True),
    "only some of the pods": (group(member("a")), False),
    "another time": (group(with_label(member("a"), MAX_EXEC, "5"), member("b")), True),
}


@pytest.mark.parametrize("case", UNFIT)
def test_a_workload_that_does_not_fit_goes(case: str) -> None:
    job, want = UNFIT[case]
    got = matched(job, made(PAIR))
    assert ([type(action) for action in got.actions] == [DeleteWorkload]) is want
    assert (got.group is None) is want


def test_roles_come_in_the_workloads_order() -> None:
    workload = made(group(member("a", role="x"), member("b", role="y")))
    assert matched(group(member("b", role="y"), member("a", role="x")), workload).group is not None
    workload.spec.pod_sets = list(reversed(workload.spec.pod_sets or []))
    assert matched(group(member("b", role="y"), member("a", role="x")), workload).group is None


def test_a_workload_that_only_has_the_name_is_left_alone() -> None:
    workload = made(PAIR)
    workload.metadata.annotations = None
    got = matched(group(member("a"), ended("b", "Failed")), workload)
    event, finalize = got.actions
    assert (event.event.type, event.event.reason) == ("Warning", "WorkloadNameConflict")
    assert finalize.pod.metadata.name == "b"
    assert (got.group, got.problem.retry) == (None, False)
    unchecked = JobSettings(validate_group_owner=False)
    adopted = match(PAIR, workload, unchecked, observed=True, now_ns=NOW)
    assert adopted.group is not None


def test_whose_workload_is_finished_with_the_group() -> None:
    workload = made(PAIR)
    assert not is_of_another_controller(workload, DEFAULTS)
    workload.metadata.annotations = None
    assert not is_of_another_controller(workload, DEFAULTS)
    (workload.metadata.owner_references or [])[0].controller = True
    assert is_of_another_controller(workload, DEFAULTS)


# ---- waiting for replacements ----

Known = tuple[str, str, str, str]
WAITING = "WaitingForReplacementPods"
EVICTED: Known = ("Evicted", "True", "Preempted", "why")
REPLACEMENTS: dict[str, tuple[list[Known], int, tuple[str, str, str] | None]] = {
    "nothing missing": ([], 0, None),
    "a pod is missing": ([], 1, ("True", "PodsFailed", "Some Failed pods need replacement")),
    "it is missing still": ([(WAITING, "True", "PodsFailed", "m")], 1, None),
    "it is there": (
        [(WAITING, "True", "PodsFailed", "m")],
        0,
        ("False", "PodsReady", "No pods need replacement"),
    ),
    "it is there still": ([(WAITING, "False", "PodsReady", "m")], 0, None),
    "missing again": (
        [(WAITING, "False", "PodsReady", "m")],
        1,
        ("True", "PodsFailed", "Some Failed pods need replacement"),
    ),
    "evicted": ([EVICTED], 2, ("True", "Preempted", "why")),
    "evicted later": ([(WAITING, "True", "PodsFailed", "m"), EVICTED], 2, ("True", "Preempted", "why")),
    "evicted before": ([(WAITING, "True", "Preempted", "why"), EVICTED], 2, None),
}


@pytest.mark.parametrize("case", REPLACEMENTS)
def test_waiting_for_replacements(case: str) -> None:
    known, absent, want = REPLACEMENTS[case]
    names = ("type", "status", "reason", "message")
    conditions = [dict(zip(names, each, strict=True)) for each in known]
    workload = msgspec.structs.replace(
        made(PAIR), status=msgspec.convert({"conditions": conditions}, WorkloadStatus)
    )
    got = waiting_for_replacement(workload, absent, NOW)
    if want is None:
        assert got is None
        return
    assert got is not None
    assert got.status is not None
    (found,) = [each for each in got.status.conditions or () if each.type == WAITING]
    assert (found.status, found.reason, found.message) == want
    assert times.parse(found.last_transition_time or "") == NOW or found.status == known[0][1]


def test_pods_of_a_workload_keep_their_gates() -> None:
    (main,) = alone(pod()).pod_sets(DEFAULTS)
    assert pod_set_info.decode(main.template.spec)["schedulingGates"] == [{"name": GATE}]
