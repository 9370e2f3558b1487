"""Backoffs, the condition PodsReady, and what the configuration says of both."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.configuration import Configuration, RequeuingStrategy, WaitForPodsReady
from kueue_fast.api.configuration_types import ObjectRetentionPolicies, WorkloadRetentionPolicy
from kueue_fast.api.kueue import ClusterQueue, RequeueState, Workload, WorkloadStatus
from kueue_fast.lifecycle.deactivation import job_deadline
from kueue_fast.lifecycle.pods_ready import NotReady, ready_condition, waiting
from kueue_fast.lifecycle.requeue import backoff_ns, raised
from kueue_fast.lifecycle.retention import FINALIZER, kept_while_used
from kueue_fast.lifecycle.settings import LifecycleSettings, PodsReadySettings
from kueue_fast.lifecycle.status import Reasons
from kueue_fast.model import times
from kueue_fast.model.features import FeatureGates
from tests.lifecycle.test_workload_controller import (
    AT,
    NOW,
    SECOND,
    admitted,
    before,
    condition,
    held,
    workload,
)

BACKOFFS: dict[str, tuple[tuple[int, int, int], int]] = {
    "the first": ((1, 60, 3600), 60),
    "the second is twice as long": ((2, 60, 3600), 120),
    "the fourth of ten seconds": ((4, 10, 7200), 80),
    "at the maximum": ((11, 10, 7200), 7200),
    "the base alone may be more than the maximum": ((1, 60, 30), 60),
    "and then it is cut": ((2, 60, 30), 30),
    "no maximum": ((8, 60, 0), 60 * 2**7),
    "no base": ((5, 0, 3600), 0),
}


@pytest.mark.parametrize("case", BACKOFFS)
def test_backoff(case: str) -> None:
    arguments, want = BACKOFFS[case]
    assert backoff_ns(*arguments) == want * SECOND


def test_without_a_maximum_the_wait_stays_a_duration() -> None:
    assert backoff_ns(200, 60, 0) == (2**63 - 1) // 2


def test_a_little_chance_lengthens_the_wait() -> None:
    assert backoff_ns(1, 60, 3600, 0.5) == 60 * SECOND + 3_000_000


RAISED: dict[str, tuple[RequeueState | None, int, bool, RequeueState]] = {
    "the first": (None, 60, True, RequeueState(count=1, requeue_at=before(-60))),
    "a later time stays": (
        RequeueState(count=2, requeue_at=before(-90)),
        60,
        True,
        RequeueState(count=3, requeue_at=before(-90)),
    ),
    "without counting": (
        RequeueState(count=2, requeue_at=before(-30)),
        60,
        False,
        RequeueState(count=2, requeue_at=before(-60)),
    ),
}


@pytest.mark.parametrize("case", RAISED)
def test_the_time_to_queue_again_is_only_put_off(case: str) -> None:
    state, seconds, count, want = RAISED[case]
    status = WorkloadStatus(requeue_state=state)
    assert raised(status, NOW + seconds * SECOND, count=count).requeue_state == want


NOT_ALL = "Not all pods are ready or succeeded"
LOST = "At least one pod has failed, waiting for recovery"
READY = "All pods reached readiness and the workload is running"
CONDITIONS: dict[str, tuple[Workload, bool, tuple[str, str, str] | None]] = {
    "before admission": (workload(), True, ("False", "WaitForStart", NOT_ALL)),
    "before admission, told already": (workload(condition("PodsReady", "False", "WaitForStart")), True, None),
    "admitted, not ready": (held(admitted()), False, ("False", "WaitForStart", NOT_ALL)),
    "ready": (
        held(admitted(), condition("PodsReady", "False", "WaitForStart")),
        True,
        ("True", "Started", READY),
    ),
    "ready, told already": (held(admitted(), condition("PodsReady", "True", "Started")), True, None),
    "a pod was lost": (
        held(admitted(), condition("PodsReady", "True", "Started")),
        False,
        ("False", "WaitForRecovery", LOST),
    ),
    "still lost": (held(admitted(), condition("PodsReady", "False", "WaitForRecovery")), False, None),
    "back again": (
        held(admitted(), condition("PodsReady", "False", "WaitForRecovery")),
        True,
        ("True", "Recovered", READY),
    ),
    "back for long": (held(admitted(), condition("PodsReady", "True", "Recovered")), True, None),
    "lost a second time": (
        held(admitted(), condition("PodsReady", "True", "Recovered")),
        False,
        ("False", "WaitForRecovery", LOST),
    ),
    "the reason of older versions": (
        held(admitted(), condition("PodsReady", "False", "PodsReady")),
        False,
        ("False", "WaitForStart", NOT_ALL),
    ),
    "its quota was taken": (
        workload(condition("PodsReady", "True", "Started")),
        True,
        ("False", "WaitForStart", NOT_ALL),
    ),
}


@pytest.mark.parametrize("case", CONDITIONS)
def test_pods_ready(case: str) -> None:
    old, ready, want = CONDITIONS[case]
    new = ready_condition(old, ready, NOW)
    if want is None:
        assert new is None
        return
    assert new is not None
    assert new.status is not None
    [found] = [each for each in new.status.conditions or () if each.type == "PodsReady"]
    assert (found.status, found.reason, found.message) == want


def test_a_workload_that_waits_for_the_pods_of_others() -> None:
    first = waiting(workload(), NOW)
    assert first is not None
    assert first.status is not None
    [found] = first.status.conditions or []
    want_words = "waiting for all admitted workloads to be in PodsReady condition"
    assert (found.type, found.status, found.reason, found.message) == (
        "QuotaReserved",
        "False",
        "Waiting",
        want_words,
    )
    assert waiting(first, NOW + SECOND) is None
    granular = waiting(workload(), NOW, Reasons(granular=True))
    assert granular is not None
    assert granular.status is not None
    assert (granular.status.conditions or [])[0].reason == "WaitingForPodsReady"


BLOCKING: dict[str, tuple[Workload, bool]] = {
    "pending": (workload(), False),
    "reserved": (held(), True),
    "admitted": (held(admitted()), True),
    "ready": (held(admitted(), condition("PodsReady", "True", "Started")), False),
    "told to stop": (held(admitted(), condition("Evicted", "True", "Preempted")), True),
    "finished": (held(admitted(), condition("Finished", "True", "Failed")), False),
    "switched off": (held(admitted(), spec={"active": False}), False),
}


@pytest.mark.parametrize("case", BLOCKING)
def test_whose_pods_others_wait_for(case: str) -> None:
    found, want = BLOCKING[case]
    not_ready = NotReady()
    not_ready.put("ns/w")
    not_ready.update(found)
    assert bool(not_ready) is want
    not_ready.delete("ns/w")
    assert not not_ready


def configuration(**fields: Any) -> Configuration:
    return Configuration(wait_for_pods_ready=WaitForPodsReady(**fields))


MINUTE = 60 * SECOND
SETTINGS: dict[str, tuple[Configuration | None, dict[str, bool], PodsReadySettings | None]] = {
    "no configuration: Kueue's defaults": (None, {}, PodsReadySettings()),
    "off by its gate": (None, {"DisableWaitForPodsReady": True}, None),
    "not in the configuration": (Configuration(), {}, None),
    "recovery as long as the start": (
        configuration(timeout="2m"),
        {},
        PodsReadySettings(timeout_ns=2 * MINUTE, recovery_timeout_ns=2 * MINUTE),
    ),
    "no limit on recovery": (
        configuration(timeout="2m", recovery_timeout="0s"),
        {},
        PodsReadySettings(timeout_ns=2 * MINUTE, recovery_timeout_ns=None),
    ),
    "all of it": (
        configuration(
            timeout="2m",
            recovery_timeout="1m",
            block_admission=True,
            requeuing_strategy=RequeuingStrategy(
                backoff_limit_count=3, backoff_base_seconds=10, backoff_max_seconds=20
            ),
        ),
        {},
        PodsReadySettings(
            timeout_ns=2 * MINUTE,
            recovery_timeout_ns=MINUTE,
            block_admission=True,
            backoff_limit=3,
            backoff_base_seconds=10,
            backoff_max_seconds=20,
        ),
    ),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings(case: str) -> None:
    given, gates, want = SETTINGS[case]
    assert PodsReadySettings.read(given, FeatureGates(gates)) == want


def test_retention_is_read_too() -> None:
    workloads = WorkloadRetentionPolicy(after_finished="0s", after_deactivated_by_kueue="1h")
    given = Configuration(object_retention_policies=ObjectRetentionPolicies(workloads=workloads))
    found = LifecycleSettings.read(given, FeatureGates())
    assert (found.after_finished_ns, found.after_deactivated_ns) == (0, 60 * MINUTE)
    assert LifecycleSettings.read(None, FeatureGates()).after_finished_ns is None


OFF = {"active": False}
DEADLINES: dict[str, tuple[Workload, int | None, int | None]] = {
    "switched off by Kueue": (
        workload(condition("Evicted", "True", "DeactivatedDueToAdmissionCheck"), spec=OFF),
        100,
        40,
    ),
    "switched off by a user": (workload(condition("Evicted", "True", "Deactivated"), spec=OFF), 100, None),
    "switched on again": (
        workload(condition("Evicted", "True", "DeactivatedDueToAdmissionCheck")),
        100,
        None,
    ),
    "kept for ever": (
        workload(condition("Evicted", "True", "DeactivatedDueToAdmissionCheck"), spec=OFF),
        None,
        None,
    ),
}


@pytest.mark.parametrize("case", DEADLINES)
def test_when_jobs_that_were_switched_off_go(case: str) -> None:
    found, retention, want = DEADLINES[case]
    deadline = job_deadline(found, None if retention is None else retention * SECOND)
    assert deadline == (None if want is None else NOW + want * SECOND)


FINALIZERS: dict[str, tuple[list[str], str | None, bool, list[str] | None]] = {
    "new": ([], None, False, [FINALIZER]),
    "in use": ([FINALIZER], None, True, None),
    "being deleted, in use": ([FINALIZER], AT, True, None),
    "being deleted, not in use": (["x", FINALIZER], AT, False, ["x"]),
    "being deleted, and let go": (["x"], AT, False, None),
}


@pytest.mark.parametrize("case", FINALIZERS)
def test_objects_stay_while_they_are_used(case: str) -> None:
    finalizers, deleted, in_use, want = FINALIZERS[case]
    metadata = {"name": "cq", "finalizers": finalizers, "deletionTimestamp": deleted}
    queue = msgspec.convert({"metadata": metadata, "spec": {}}, ClusterQueue)
    found = kept_while_used(queue, in_use=in_use)
    assert (None if found is None else found.metadata.finalizers) == want


def test_times_of_the_status_are_whole_seconds() -> None:
    at = raised(WorkloadStatus(), NOW + SECOND // 2, count=False).requeue_state
    assert at is not None
    assert at.requeue_at == times.format(NOW)
