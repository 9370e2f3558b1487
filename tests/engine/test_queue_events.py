"""Events of LocalQueues, ClusterQueues, namespaces and cohorts, and bad input.

Source: QC-5..9, QC-29..34, QP-201..206.
"""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast import Engine, InputError
from tests.arrays import objects as o
from tests.engine.simple import SPOT, cluster, usage, waiting

# --- LocalQueues


def test_a_local_queue_that_comes_late_brings_its_workloads() -> None:
    engine = cluster(o.workload("w", "late", o.pod_set(cpu=1)))
    assert not engine.has_heads()
    o.feed(engine, o.local_queue("late", "q"))
    assert o.admitted_names(o.cycle(engine)) == ["w"]


def test_a_held_local_queue_keeps_its_workloads_away() -> None:
    engine = cluster(o.workload("w", "lq", o.pod_set(cpu=1)))
    o.feed(engine, o.local_queue("lq", "q", stop="Hold"))
    assert waiting(engine) == ([], [])
    o.feed(engine, o.workload("new", "lq", o.pod_set(cpu=1)))
    assert o.cycle(engine).heads == 0
    o.feed(engine, o.local_queue("lq", "q", stop="None"))
    assert waiting(engine) == (["new", "w"], [])


def test_a_local_queue_that_leads_elsewhere_takes_its_workloads_along() -> None:
    engine = cluster(o.cluster_queue("other", o.group(**SPOT)), o.workload("w", "lq", o.pod_set(9, cpu=1)))
    o.cycle(engine)
    assert waiting(engine) == ([], ["w"])
    o.feed(engine, o.local_queue("lq", "other"))
    assert (waiting(engine), waiting(engine, "other")) == (([], []), (["w"], []))
    o.feed(engine, o.local_queue("lq", "missing"))
    assert (waiting(engine), waiting(engine, "other")) == (([], []), ([], []))
    engine.delete("LocalQueue", "default", "lq")
    o.feed(engine, o.local_queue("lq", "q"))
    assert waiting(engine) == (["w"], [])


def test_a_workload_that_names_another_queue_moves() -> None:
    engine = cluster(
        o.cluster_queue("other", o.group(**SPOT)),
        o.local_queue("lo", "other"),
        o.workload("w", "lq", o.pod_set(cpu=1)),
    )
    o.feed(engine, o.workload("w", "lo", o.pod_set(cpu=1), metadata={"generation": 2}))
    assert (waiting(engine), waiting(engine, "other")) == (([], []), (["w"], []))


def test_the_same_name_in_another_namespace_is_another_queue() -> None:
    engine = cluster(o.namespace("two"), o.workload("w", "lq", o.pod_set(cpu=1), in_namespace="two"))
    assert not engine.has_heads()


# --- ClusterQueues


def test_a_cluster_queue_that_is_recreated_gets_its_workloads_back() -> None:
    engine = cluster(o.workload("w", "lq", o.pod_set(cpu=1)))
    engine.delete("ClusterQueue", "", "q")
    assert (engine.queue_state(), engine.has_heads(), o.cycle(engine).heads) == ({}, False, 0)
    o.feed(engine, o.cluster_queue("q", o.group(**SPOT)))
    assert o.admitted_names(o.cycle(engine)) == ["w"]


def test_a_cluster_queue_that_is_recreated_books_its_workloads_again() -> None:
    made = o.workload_json("w", "lq", o.pod_set(cpu=3))
    engine = cluster(o.reserved(made, "q", ("main", 1, {"cpu": "spot"}, {"cpu": "3"})))
    engine.delete("ClusterQueue", "", "q")
    o.feed(engine, o.cluster_queue("q", o.group(**SPOT)))
    assert usage(engine) == 3000
    assert engine.queue_state()["q"].admitted == 1


def test_a_new_cluster_queue_does_not_match_namespaces_of_the_one_before_it() -> None:
    engine = cluster()
    engine.delete("ClusterQueue", "", "q")
    engine.delete("Namespace", "", "default")
    o.feed(
        engine,
        o.cluster_queue("new", o.group(**SPOT)),
        o.local_queue("lq", "new"),
        o.workload("w", "lq", o.pod_set(cpu=1)),
    )
    (refused,) = o.cycle(engine).requeued
    assert refused.outcome == "NamespaceMissing"


def test_a_changed_quota_counts_from_the_next_cycle() -> None:
    engine = cluster(o.workload("w", "lq", o.pod_set(cpu=6)))
    assert o.cycle(engine).admitted == []
    o.feed(engine, o.cluster_queue("q", o.group(spot=[o.quota("cpu", 6)])))
    assert engine.flush(o.START, all=True) == 1
    assert o.admitted_names(o.cycle(engine)) == ["w"]


def test_another_order_of_flavors_advances_the_generation() -> None:
    groups = [
        o.group(a=[o.quota("cpu", 1)], b=[o.quota("cpu", 2)]),
        o.group(b=[o.quota("cpu", 2)], a=[o.quota("cpu", 1)]),
    ]
    engine = o.feed(Engine(), o.flavor("a"), o.flavor("b"), o.cluster_queue("q", groups[0]))
    o.cycle(engine)
    before = engine._state.tables.forest.generation[0]
    o.feed(engine, o.cluster_queue("q", groups[1]))
    o.cycle(engine)
    assert engine._state.tables.forest.generation[0] > before


def test_a_missing_flavor_makes_the_queue_inactive_until_it_comes() -> None:
    engine = cluster(o.workload("w", "lq", o.pod_set(cpu=1)))
    engine.delete("ResourceFlavor", "", "spot")
    state = engine.queue_state()["q"]
    assert (state.status, state.inactive_reason) == ("pending", "FlavorNotFound")
    assert state.inactive_message == "Can't admit new workloads: references missing ResourceFlavor(s): spot."
    assert (engine.has_heads(), o.cycle(engine).heads, waiting(engine)) == (False, 0, (["w"], []))
    o.feed(engine, o.flavor("spot"))
    assert o.admitted_names(o.cycle(engine)) == ["w"]


RULES = {"admissionChecksStrategy": {"admissionChecks": [{"name": "k"}]}}


def test_a_check_makes_the_queue_inactive_until_it_is_active() -> None:
    engine = cluster(o.workload("w", "lq", o.pod_set(cpu=1)), **RULES)
    assert engine.queue_state()["q"].inactive_reason == "AdmissionCheckNotFound"
    o.feed(engine, o.check("k", active="False"))
    assert engine.queue_state()["q"].inactive_reason == "AdmissionCheckInactive"
    o.feed(engine, o.check("k"))
    (admission,) = o.cycle(engine).admitted
    assert admission.checks == ("k",)
    engine.delete("AdmissionCheck", "", "k")
    assert engine.queue_state()["q"].status == "pending"


def test_checks_of_other_flavors_are_not_required() -> None:
    rules = [{"name": "k", "onFlavors": ["other"]}, {"name": "mine", "onFlavors": ["spot"]}]
    engine = cluster(
        o.check("k"),
        o.check("mine"),
        o.workload("w", "lq", o.pod_set(cpu=1)),
        admissionChecksStrategy={"admissionChecks": rules},
    )
    assert o.cycle(engine).admitted[0].checks == ("mine",)


def test_a_stopped_queue_is_inactive() -> None:
    engine = cluster(o.workload("w", "lq", o.pod_set(cpu=1)), stopPolicy="HoldAndDrain")
    assert engine.queue_state()["q"].inactive_reason == "Stopped"
    o.feed(engine, o.cluster_queue("q", o.group(**SPOT), stopPolicy="None"))
    assert o.admitted_names(o.cycle(engine)) == ["w"]


def test_namespace_labels_decide_who_may_use_a_queue() -> None:
    selector = {"matchLabels": {"team": "a"}}
    engine = cluster(o.workload("w", "lq", o.pod_set(cpu=1)), namespaceSelector=selector)
    (refused,) = o.cycle(engine).requeued
    assert (refused.reason, refused.outcome) == ("NamespaceMismatch", "NamespaceMismatch")
    o.feed(engine, o.namespace(team="a"), at=1)
    assert engine.flush(o.START + 2 * o.SECOND) == 1
    assert o.admitted_names(o.cycle(engine, 2)) == ["w"]


def test_a_queue_without_a_selector_takes_nobody() -> None:
    engine = cluster(o.workload("w", "lq", o.pod_set(cpu=1)), namespaceSelector=None)
    assert o.cycle(engine).requeued[0].outcome == "NamespaceMismatch"


# --- cohort cycles


def test_a_cohort_cycle_stops_its_queues_until_it_is_repaired() -> None:
    made = o.workload_json("held", "lq", o.pod_set(cpu=1))
    engine = cluster(
        o.cohort("b"),
        o.cohort("a", parent="b"),
        o.reserved(made, "q", ("main", 1, {"cpu": "spot"}, {"cpu": "1"})),
        o.workload("w", "lq", o.pod_set(cpu=1)),
        cohort="a",
    )
    o.feed(engine, o.cohort("b", parent="a"), at=5)
    (refused,) = o.cycle(engine, 6).requeued
    assert (refused.outcome, waiting(engine)) == ("Inactive", ([], ["w"]))
    assert engine.flush(o.START + 60 * o.SECOND) == 0  # nothing moves below a cycle (QC-32)
    engine.delete("Workload", "default", "held")
    assert usage(engine) == 0
    o.feed(engine, o.cohort("b"), at=70)
    assert engine.flush(o.START + 71 * o.SECOND) == 1
    assert o.admitted_names(o.cycle(engine, 71)) == ["w"]


def test_a_cycle_that_closes_after_a_request_is_no_endless_walk() -> None:
    engine = o.feed(Engine(), o.cohort("a"), o.cohort("a", parent="a"))
    assert engine.next_flush() is not None
    assert engine.flush(o.START, all=True) == 0


def test_a_cohort_that_is_its_own_parent_can_be_deleted() -> None:
    engine = o.feed(Engine(), o.cohort("a", parent="a"))
    engine.delete("Cohort", "", "a")
    assert o.cycle(engine).heads == 0


# --- bad input: a message, and nothing half done

BAD: dict[str, tuple[Any, str]] = {
    "a quota that is no quantity": (
        lambda: o.cluster_queue("q", o.group(spot=[o.quota("cpu", "1x")])),
        "ClusterQueue q: \\$.spec.resourceGroups: .*1x",
    ),
    "a cohort's quota that is no quantity": (
        lambda: o.cohort("team", o.group(spot=[o.quota("cpu", "1x")])),
        "Cohort team: \\$.spec.resourceGroups: .*1x",
    ),
    "a selector that is none": (
        lambda: o.cluster_queue(
            "q", namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Near"}]}
        ),
        "ClusterQueue q: \\$.spec.namespaceSelector",
    ),
    "a reserved amount that is no quantity": (
        lambda: o.reserved(
            o.workload_json("w", "lq", o.pod_set(cpu=1)), "q", ("main", 1, {"cpu": "spot"}, {"cpu": "1x"})
        ),
        "resourceUsage.*1x",
    ),
    "a pod template that is none": (
        lambda: o.workload("w", "lq", o.pod_set(pod={"containers": 3})),
        "podSets\\[0\\].template.spec",
    ),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad_input_changes_nothing(case: tuple[Any, str]) -> None:
    make, want = case
    engine = cluster(o.cohort("team"), o.workload("w", "lq", o.pod_set(cpu=1)))
    before = engine.queue_state()
    with pytest.raises(InputError, match=want):
        o.feed(engine, make())
    assert engine.queue_state() == before
    assert o.admitted_names(o.cycle(engine)) == ["w"]


def test_a_bad_selector_is_refused_without_any_namespace_too() -> None:
    bad = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
    with pytest.raises(InputError, match="namespaceSelector"):
        o.feed(Engine(), o.cluster_queue("q", namespaceSelector=bad))


def test_the_tables_of_an_engine_are_valid() -> None:
    engine = cluster(o.workload("w", "lq", o.pod_set(cpu=1, gpu=1)))
    o.cycle(engine)
    engine._state.tables.scheduler.validate()


def test_the_order_of_objects_does_not_matter() -> None:
    objects = [
        o.workload("w", "lq", o.pod_set(cpu=1)),
        o.local_queue("lq", "q"),
        o.cluster_queue("q", o.group(**SPOT), cohort="team"),
        o.cohort("team"),
        o.flavor("spot"),
        o.namespace(),
    ]
    for given in (objects, objects[::-1], objects[3:] + objects[:3]):
        assert o.admitted_names(o.cycle(o.feed(Engine(), *given))) == ["w"]
