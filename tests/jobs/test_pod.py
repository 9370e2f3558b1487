"""What the webhook of pods writes and refuses."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.jobs.pod import Pods
from kueue_fast.jobs.role_hash import role_hash
from kueue_fast.jobs.settings import JobSettings
from tests.jobs.kinds import ELASTIC, PREBUILT, PREFERRED, QUEUE, REQUIRED, told
from tests.jobs.pod_makers import (
    GATE,
    GROUP_NAME,
    INDEX,
    MANAGED,
    PARENT,
    RETRIABLE,
    ROLE,
    TOPOLOGY,
    TOTAL,
    member,
    pod,
)

PODS = Pods()
DEFAULTS = JobSettings()
MANAGE_ALL = JobSettings(manage_jobs_without_queue_name=True)
BY_LABEL = JobSettings(workload_identifier_annotations=False)


def new(**fields: Any) -> Any:
    return pod(gates=(), finalizer=False, **fields)


HELD: dict[str, tuple[dict[str, Any], JobSettings, dict[str, bool], bool]] = {
    "a queue": ({"labels": {QUEUE: "lq"}}, DEFAULTS, {}, True),
    "no queue": ({"labels": {}}, DEFAULTS, {}, False),
    "no queue, all managed": ({"labels": {}}, MANAGE_ALL, {}, True),
    "no queue, but a default": ({"labels": {}}, DEFAULTS, {"default_queue_exists": True}, True),
    "a queue in another's namespace": ({"labels": {QUEUE: "lq"}}, DEFAULTS, {"foreign": True}, False),
    "held by its parent wherever it is": (
        {"labels": {}, "annotations": {PARENT: "statefulset"}},
        DEFAULTS,
        {"foreign": True},
        True,
    ),
}


@pytest.mark.parametrize("case", HELD)
def test_which_pods_are_held(case: str) -> None:
    fields, settings, facts, want = HELD[case]
    got = PODS.default(new(**fields), settings, **{"default_queue_exists": False, **facts})
    gates = [gate.name for gate in got.spec.scheduling_gates or ()]
    assert gates == ([GATE, TOPOLOGY] if want else [])
    assert (ROLE in (got.metadata.annotations or {})) is want


def test_a_held_pod() -> None:
    a_pod = new(labels={}, annotations={})
    got = PODS.default(a_pod, DEFAULTS, default_queue_exists=True)
    assert got.metadata.labels == {QUEUE: "default", MANAGED: "true"}
    assert got.metadata.annotations == {ROLE: role_hash(a_pod.spec)}
    assert got.metadata.finalizers == [MANAGED]


def test_a_parent_keeps_the_pod_itself() -> None:
    got = PODS.default(
        new(labels={}, annotations={PARENT: "x", ROLE: "leader"}), DEFAULTS, default_queue_exists=True
    )
    assert (got.metadata.labels, got.metadata.finalizers) == ({}, None)
    assert (got.metadata.annotations or {})[ROLE] == "leader"


@pytest.mark.parametrize(("labels", "want"), [({"l": "3"}, "3"), ({}, "")])
def test_the_index_is_copied_from_the_label_that_is_named(labels: dict[str, str], want: str) -> None:
    a_pod = new(labels={QUEUE: "lq", **labels}, annotations={"kueue.x-k8s.io/pod-group-pod-index-label": "l"})
    got = PODS.default(a_pod, DEFAULTS, default_queue_exists=False)
    assert (got.metadata.labels or {})[INDEX] == want
    off = JobSettings(topology_aware_scheduling=False)
    got = PODS.default(a_pod, off, default_queue_exists=False)
    assert INDEX not in (got.metadata.labels or {})
    assert [gate.name for gate in got.spec.scheduling_gates or ()] == [GATE]


AT = "metadata.annotations"
BOTH = f"the name and the total count ({TOTAL}) of a group must be set together"
REFUSED: dict[str, tuple[dict[str, Any], JobSettings, list[str]]] = {
    "nothing wrong": ({}, DEFAULTS, []),
    "a good group": ({"annotations": {GROUP_NAME: "g", TOTAL: "3"}}, DEFAULTS, []),
    "managed in other words": (
        {"labels": {MANAGED: "yes"}},
        DEFAULTS,
        [f"metadata.labels[{MANAGED}]: Forbidden: must be 'true' where it is set"],
    ),
    "a name without count": (
        {"annotations": {GROUP_NAME: "g"}},
        DEFAULTS,
        [f"{AT}[{TOTAL}]: Required value: {BOTH}"],
    ),
    "a count without name": (
        {"annotations": {TOTAL: "3"}},
        DEFAULTS,
        [f"metadata.labels[{GROUP_NAME}]: Required value: {BOTH}"],
    ),
    "a name by annotation that does not count": (
        {"annotations": {GROUP_NAME: "g", TOTAL: "3"}},
        BY_LABEL,
        [f"metadata.labels[{GROUP_NAME}]: Required value: {BOTH}"],
    ),
    "a count that is no number": (
        {"annotations": {GROUP_NAME: "g", TOTAL: "x"}},
        DEFAULTS,
        [f'{AT}[{TOTAL}]: Invalid value: "x": must be an integer of at least 1'],
    ),
    "no pods": (
        {"annotations": {GROUP_NAME: "g", TOTAL: "0"}},
        DEFAULTS,
        [f'{AT}[{TOTAL}]: Invalid value: "0": must be an integer of at least 1'],
    ),
    "another prebuilt Workload": (
        {"annotations": {GROUP_NAME: "g", TOTAL: "3", PREBUILT: "w"}},
        DEFAULTS,
        [f'{AT}[{PREBUILT}]: Invalid value: "w": must be the name of the pod\'s group'],
    ),
    "the group's prebuilt Workload": (
        {"annotations": {GROUP_NAME: "g", TOTAL: "3", PREBUILT: "g"}},
        DEFAULTS,
        [],
    ),
    "elastic": (
        {"annotations": {ELASTIC: "true"}},
        DEFAULTS,
        [f'{AT}[{ELASTIC}]: Forbidden: elastic job is not supported for "/v1, Kind=Pod"'],
    ),
    "two levels": (
        {"annotations": {REQUIRED: "a", PREFERRED: "b"}},
        JobSettings(topology_aware_scheduling=False),
        [
            f"{AT}: Invalid value: must not contain more than one topology annotation: "
            f'["{REQUIRED}", "{PREFERRED}", "kueue.x-k8s.io/podset-unconstrained-topology"]'
        ],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    fields, settings, want = REFUSED[case]
    assert told(PODS.validate(new(**fields), settings)) == want


def test_a_group_that_no_object_is_called() -> None:
    (error,) = PODS.validate(new(annotations={GROUP_NAME: "G", TOTAL: "1"}), DEFAULTS)
    assert (error.path, error.value) == (f"{AT}[{GROUP_NAME}]", "G")


UPDATES: dict[str, tuple[Any, Any, list[str]]] = {
    "nothing": (member("a"), member("a"), []),
    "another group": (
        member("a"),
        member("a", annotations={GROUP_NAME: "h"}),
        [f"{AT}[{GROUP_NAME}]"],
    ),
    "no group any more": (member("a"), pod("a"), [f"metadata.labels[{GROUP_NAME}]"]),
    "a group": (pod("a"), member("a"), []),
    "retriable again": (
        member("a", annotations={RETRIABLE: "false"}),
        member("a"),
        [f"{AT}[{RETRIABLE}]"],
    ),
    "retriable no more": (member("a"), member("a", annotations={RETRIABLE: "false"}), []),
    "another queue while gated": (pod(), pod(labels={QUEUE: "b"}), []),
    "another queue while it runs": (
        pod(gates=()),
        pod(labels={QUEUE: "b"}, gates=()),
        [f"metadata.labels[{QUEUE}]"],
    ),
}


@pytest.mark.parametrize("case", UPDATES)
def test_updates(case: str) -> None:
    old, changed, want = UPDATES[case]
    assert [error.path for error in PODS.validate_update(old, changed, DEFAULTS, False)] == want


def test_warnings() -> None:
    assert PODS.warnings(pod(), owner_managed=True)
    assert not PODS.warnings(pod(), owner_managed=False)
    assert not PODS.warnings(pod(labels={}), owner_managed=True)
    held = pod(annotations={PARENT: "deployment"})
    assert PODS.warnings(held, owner_managed=True)
    assert not PODS.warnings(held, owner_managed=True, update=True)
