"""The engine as a library: objects in, cycles, decisions out."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast import Engine, InputError
from kueue_fast.api.decode import decode_object
from tests.arrays import objects as o
from tests.engine.simple import SPOT, cluster, usage, waiting


def test_six_lines() -> None:
    engine = Engine()
    for one in (
        o.namespace(),
        o.flavor("spot"),
        o.cluster_queue("q", o.group(**SPOT)),
        o.local_queue("lq", "q"),
    ):
        engine.upsert(one)
    engine.upsert(o.workload("w", "lq", o.pod_set(2, cpu="1500m")))
    cycle = engine.cycle(now_ns=o.START)
    (admission,) = cycle.admitted
    assert (admission.workload, admission.cluster_queue, admission.checks) == ("default/w", "q", ())
    assert admission.pod_sets == (("main", 2, {"cpu": "spot"}, {"cpu": 3000}, None, None),)
    assert (cycle.number, cycle.heads, cycle.changed, list(cycle.requeued)) == (1, 1, True, [])


def test_an_empty_engine_has_nothing_to_do() -> None:
    engine = Engine()
    cycle = engine.cycle(0)
    assert (cycle.number, cycle.heads, cycle.changed) == (1, 0, False)
    assert (engine.has_heads(), engine.queue_state(), engine.next_flush()) == (False, {}, None)
    engine.delete("Workload", "default", "unknown")
    engine.delete("ClusterQueue", "", "unknown")
    engine.delete("Cohort", "", "unknown")
    engine.delete("LocalQueue", "default", "unknown")
    engine.delete("ResourceFlavor", "", "unknown")
    engine.delete("Pod", "default", "unknown")
    engine.forget("default/unknown")
    assert engine.pending_message("default/unknown") is None


def test_queue_state_tells_who_waits_and_what_is_reserved() -> None:
    engine = cluster(
        o.workload("a", "lq", o.pod_set(cpu=3)),
        o.workload("b", "lq", o.pod_set(cpu=3), created=1),
        o.workload("c", "lq", o.pod_set(cpu=1), created=2),
    )
    assert engine.has_heads()
    o.cycle(engine)
    o.cycle(engine)
    state = engine.queue_state()["q"]
    assert state.active == ["default/c"]
    assert state.parked == ["default/b"]
    assert (state.usage, state.nominal, state.borrowing) == ({"spot/cpu": 3000}, {"spot/cpu": 4000}, {})
    assert (state.reserving, state.admitted, state.status, state.inactive_reason) == (1, 0, "active", "")


def test_borrowing_is_what_goes_beyond_nominal_quota() -> None:
    engine = o.feed(
        Engine(),
        o.namespace(),
        o.flavor("spot"),
        o.cluster_queue("q", o.group(**SPOT), cohort="team"),
        o.cluster_queue("other", o.group(**SPOT), cohort="team"),
        o.local_queue("lq", "q"),
        o.workload("w", "lq", o.pod_set(cpu=6)),
    )
    assert o.admitted_names(o.cycle(engine)) == ["w"]
    assert engine.queue_state()["q"].borrowing == {"spot/cpu": 2000}
    assert engine.queue_state()["other"].borrowing == {"spot/cpu": 0}


# --- assumed admissions


def assumed(cpu: int = 3) -> tuple[Engine, o.Json, Any]:
    made = o.workload_json("w", "lq", o.pod_set(cpu=cpu))
    engine = cluster(made)
    (admission,) = o.cycle(engine).admitted
    return engine, made, admission


def test_an_assumed_workload_holds_its_quota_at_once() -> None:
    engine, _, _ = assumed()
    o.feed(engine, o.workload("next", "lq", o.pod_set(cpu=2)))
    assert o.cycle(engine).admitted == []
    assert usage(engine) == 3000


def test_observing_what_was_assumed_changes_nothing() -> None:
    engine, made, admission = assumed()
    before = engine.queue_state()
    o.feed(engine, o.observed(made, admission, admitted=False))
    assert engine.queue_state() == before
    o.feed(engine, o.observed(made, admission))
    after = engine.queue_state()["q"]
    assert (after.usage, after.reserving, after.admitted) == ({"spot/cpu": 3000}, 1, 1)
    o.feed(engine, o.observed(made, admission))
    assert engine.queue_state()["q"] == after
    assert o.cycle(engine).heads == 0


def test_an_older_version_of_an_assumed_workload_is_ignored() -> None:
    engine, made, _ = assumed()
    o.feed(engine, {**made, "metadata": {**made["metadata"], "labels": {"new": "label"}}})
    assert usage(engine) == 3000
    assert o.cycle(engine).heads == 0


def test_another_admission_than_the_assumed_one_is_booked_instead() -> None:
    engine, made, _ = assumed()
    o.feed(engine, o.reserved(made, "q", ("main", 1, {"cpu": "spot"}, {"cpu": "1"})))
    assert usage(engine) == 1000


def test_forgetting_an_assumed_workload_frees_its_quota_and_queues_it() -> None:
    engine, made, admission = assumed()
    engine.forget("default/w")
    assert (usage(engine), waiting(engine)) == (0, (["w"], []))
    assert o.admitted_names(o.cycle(engine)) == ["w"]
    o.feed(engine, o.observed(made, admission))
    engine.forget("default/w")  # seen with its reservation: nothing to forget
    assert usage(engine) == 3000


def test_a_forgotten_workload_does_not_wait_with_the_parked_ones_of_its_class() -> None:
    engine, made, _ = assumed()
    o.feed(engine, {**made, "metadata": {**made["metadata"], "name": "v", "uid": "v"}})
    o.cycle(engine)
    assert waiting(engine) == ([], ["v"])
    engine.forget("default/w")
    assert waiting(engine) == (["w"], ["v"])


# What came of a workload while its admission was on its way: whether it waits once that could not be written.
LATE: dict[str, tuple[dict[str, Any], bool]] = {
    "deactivated": ({"active": False}, False),
    "moved to a queue that does not exist": ({"queueName": "elsewhere"}, False),
    "another priority": ({"priority": 7}, True),
}


@pytest.mark.parametrize("case", LATE.values(), ids=LATE)
def test_an_update_that_came_while_assumed_counts_when_the_admission_is_forgotten(case: Any) -> None:
    change, want_waits = case
    engine, made, _ = assumed()
    o.feed(engine, {**made, "spec": {**made["spec"], **change}})
    engine.forget("default/w")
    assert usage(engine) == 0
    assert waiting(engine) == ((["w"], []) if want_waits else ([], []))


def test_a_workload_recreated_under_another_uid_is_another_one() -> None:
    engine, made, _ = assumed()
    o.feed(engine, {**made, "metadata": {**made["metadata"], "uid": "another"}})
    assert (usage(engine), waiting(engine)) == (0, (["w"], []))


# What happens to an admitted workload of 3 cpu: usage after it, and whether it waits.
ENDS: dict[str, tuple[Any, int, bool]] = {
    "finished": (lambda made: o.finished(made), 0, False),
    "deactivated": (lambda made: {**made, "spec": {**made["spec"], "active": False}}, 0, False),
    "evicted": (
        lambda made: {
            **made,
            "status": {
                "conditions": [o.condition("QuotaReserved", "False", "Pending"), o.condition("Evicted")]
            },
        },
        0,
        True,
    ),
    "still there": (lambda made: made, 3000, False),
    "scaled down by reclaimed pods": (
        lambda made: {
            **made,
            "status": {**made["status"], "reclaimablePods": [{"name": "main", "count": 2}]},
        },
        1000,
        False,
    ),
}


@pytest.mark.parametrize("case", ENDS.values(), ids=ENDS)
def test_what_becomes_of_an_admitted_workload(case: tuple[Any, int, bool]) -> None:
    change, want_usage, want_waits = case
    made = o.workload_json("w", "lq", o.pod_set(3, cpu=1))
    engine = cluster(made)
    (admission,) = o.cycle(engine).admitted
    made = o.observed(made, admission)
    o.feed(engine, made)
    o.feed(engine, change(made))
    assert usage(engine) == want_usage
    assert waiting(engine) == (["w"] if want_waits else [], [])


def test_a_held_workload_takes_a_new_priority() -> None:
    """Victims are ordered by it (QP-611), and whoever is parked is looked at again (QC-34)."""
    engine, made, admission = assumed()
    made = o.observed(made, admission)
    o.feed(engine, made)
    engine.flush(o.START, all=True)
    metadata = {**made["metadata"], "generation": 2}
    o.feed(engine, {**made, "metadata": metadata, "spec": {**made["spec"], "priority": 7}})
    row = engine._state.rows.records["default/w"].row
    assert engine._state.tables.workloads.priority[row] == 7
    assert engine.next_flush() is not None


def test_deleting_a_workload_frees_its_quota_or_its_place() -> None:
    engine, _, _ = assumed()
    o.feed(engine, o.workload("next", "lq", o.pod_set(cpu=2)))
    engine.delete("Workload", "default", "w")
    assert usage(engine) == 0
    engine.delete("Workload", "default", "next")
    assert not engine.has_heads()


def test_a_workload_that_came_with_its_reservation_is_booked() -> None:
    made = o.workload_json("w", "lq", o.pod_set(2, cpu=1, memory=1))
    engine = cluster(o.reserved(made, "q", ("main", 2, {"cpu": "spot"}, {"cpu": "2", "memory": "2"})))
    assert usage(engine) == 2000
    assert (engine.queue_state()["q"].reserving, engine.queue_state()["q"].admitted) == (1, 1)


def test_a_reservation_in_an_unknown_queue_is_booked_when_the_queue_comes() -> None:
    made = o.workload_json("w", "lq", o.pod_set(cpu=2))
    engine = cluster(o.reserved(made, "late", ("main", 1, {"cpu": "spot"}, {"cpu": "2"})))
    o.feed(engine, o.cluster_queue("late", o.group(**SPOT)))
    assert (usage(engine), usage(engine, "late")) == (0, 2000)


# --- who may wait

NOT_QUEUED = {
    "deactivated": {"active": False},
    "gated by an annotation": {"metadata": {"annotations": {"kueue.x-k8s.io/admission-gated-by": "x"}}},
    "on hold": {"status": {"conditions": [o.condition("QuotaReserved", "False", "OnHold")]}},
    "finished": {"status": {"conditions": [o.condition("Finished")]}},
    "waiting for replacement pods": {"status": {"conditions": [o.condition("WaitingForReplacementPods")]}},
}


@pytest.mark.parametrize("case", NOT_QUEUED.values(), ids=NOT_QUEUED)
def test_who_is_not_queued_until_that_changes(case: dict[str, Any]) -> None:
    engine = cluster(o.workload("w", "lq", o.pod_set(cpu=1), **case))
    assert (engine.has_heads(), o.cycle(engine).heads) == (False, 0)
    o.feed(engine, o.workload("w", "lq", o.pod_set(cpu=1)))
    assert o.admitted_names(o.cycle(engine)) == ["w"]


def test_a_waiting_workload_that_is_deactivated_leaves_its_queue() -> None:
    engine = cluster(o.workload("w", "lq", o.pod_set(cpu=1)))
    o.feed(engine, o.workload("w", "lq", o.pod_set(cpu=1), active=False))
    assert not engine.has_heads()


def test_an_annotation_without_a_value_gates_nothing() -> None:
    gate = {"annotations": {"kueue.x-k8s.io/admission-gated-by": ""}}
    assert cluster(o.workload("w", "lq", o.pod_set(cpu=1), metadata=gate)).has_heads()


# Without classes of scheduling equivalence, which would park it again whatever changed.
NO_CLASSES = {"SchedulingEquivalenceHashing": False}

# What of a parked workload changes, and whether it goes back to the heap (QC-27).
UPDATES: dict[str, tuple[dict[str, Any], bool]] = {
    "nothing": ({}, False),
    "labels": ({"metadata": {"labels": {"a": "b"}}}, False),
    "the generation": ({"metadata": {"generation": 2}}, True),
    "the condition Evicted": ({"status": {"conditions": [o.condition("Evicted")]}}, True),
    "the condition Requeued": ({"status": {"conditions": [o.condition("Requeued")]}}, True),
    "another condition": ({"status": {"conditions": [o.condition("PodsReady", "False")]}}, False),
    "its own status": ({"status": {"conditions": [o.condition("QuotaReserved", "False", "Pending")]}}, False),
    "reclaimed pods": ({"status": {"reclaimablePods": [{"name": "main", "count": 1}]}}, True),
}


@pytest.mark.parametrize("case", UPDATES.values(), ids=UPDATES)
def test_updates_of_a_parked_workload(case: tuple[dict[str, Any], bool]) -> None:
    change, want = case
    engine = cluster(o.workload("w", "lq", o.pod_set(9, cpu=1)), gates=NO_CLASSES)
    o.cycle(engine)
    assert waiting(engine) == ([], ["w"])
    o.feed(engine, o.workload("w", "lq", o.pod_set(9, cpu=1), **change))
    assert waiting(engine) == ((["w"], []) if want else ([], ["w"]))


def test_admission_checks_do_not_bring_a_parked_workload_back() -> None:
    engine = cluster(o.workload("w", "lq", o.pod_set(9, cpu=1)), gates=NO_CLASSES)
    o.cycle(engine)
    checks = {"admissionChecks": [{"name": "k", "state": "Retry"}]}
    o.feed(engine, o.workload("w", "lq", o.pod_set(9, cpu=1), status=checks))
    assert waiting(engine) == ([], ["w"])


@pytest.mark.parametrize(
    "elsewhere",
    [
        o.limit_range("x", {"type": "Container", "max": {"cpu": "2"}}, in_namespace="elsewhere"),
        o.runtime_class("unused", cpu=1),
    ],
    ids=["LimitRange of another namespace", "RuntimeClass that nobody names"],
)
def test_what_concerns_others_does_not_bring_a_parked_workload_back(elsewhere: Any) -> None:
    engine = cluster(o.workload("w", "lq", o.pod_set(9, cpu=1)), gates=NO_CLASSES)
    o.cycle(engine)
    o.feed(engine, elsewhere, o.workload("w", "lq", o.pod_set(9, cpu=1)))
    assert waiting(engine) == ([], ["w"])


def test_a_limit_range_that_changes_requests_brings_parked_workloads_back() -> None:
    """QC-154: here what is filled in no longer exceeds the quota."""
    big = o.limit_range("x", {"type": "Container", "defaultRequest": {"cpu": "9"}})
    engine = cluster(big, o.workload("w", "lq", {**o.pod_set(memory=0), "name": "main"}))
    o.cycle(engine)
    assert waiting(engine) == ([], ["w"])
    o.feed(engine, o.limit_range("x", {"type": "Container", "defaultRequest": {"cpu": "1"}}))
    assert o.admitted_names(o.cycle(engine)) == ["w"]


def test_backoff_ends_with_the_update_that_clears_it() -> None:
    state = {"requeueState": {"count": 1, "requeueAt": "2026-01-01T00:01:00Z"}}
    engine = cluster(o.workload("w", "lq", o.pod_set(cpu=1), status=state))
    assert waiting(engine) == ([], ["w"])
    o.feed(
        engine,
        o.workload("w", "lq", o.pod_set(cpu=1), status={"conditions": [o.condition("Requeued")]}),
        at=60,
    )
    assert o.admitted_names(o.cycle(engine, 60)) == ["w"]


BAD_TIMES = {
    "a creation time that is no time": {"metadata": {"creationTimestamp": "noon"}},
    "a reservation time that is no time": {"condition_time": "noon"},
}


@pytest.mark.parametrize("change", BAD_TIMES.values(), ids=BAD_TIMES)
def test_a_bad_time_is_refused_and_nothing_is_applied(change: dict[str, Any]) -> None:
    engine = Engine()
    manifest: dict[str, Any] = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "n", "uid": "u", **change.get("metadata", {})},
        "spec": {
            "queueName": "q",
            "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": []}}}],
        },
    }
    if "condition_time" in change:
        manifest["status"] = {
            "admission": {"clusterQueue": "q", "podSetAssignments": [{"name": "main", "count": 1}]},
            "conditions": [
                {
                    "type": "QuotaReserved",
                    "status": "True",
                    "reason": "QuotaReserved",
                    "message": "",
                    "lastTransitionTime": change["condition_time"],
                }
            ],
        }
    with pytest.raises(InputError, match="Workload n/w: 'noon' is not a time"):
        engine.upsert(decode_object(manifest))
    assert engine._state.rows.records == {}
