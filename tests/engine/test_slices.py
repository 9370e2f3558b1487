"""Workload slices through the engine: the newer takes the older's place. Source: JS-603, QP-905."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast import Engine
from tests.arrays import objects as o
from tests.engine.placed_cluster import HOST, gang, on, places
from tests.engine.placed_cluster import cluster as placed_cluster

GATE = {"ElasticJobsViaWorkloadSlices": True}
REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for"
ELASTIC = "kueue.x-k8s.io/elastic-job"


def slice_of(name: str, count: int, old: str | None = None, **rest: Any) -> dict[str, Any]:
    annotations = {ELASTIC: "true"} | ({} if old is None else {REPLACES: f"default/{old}"})
    made = o.workload_json(name, "lq", o.pod_set(count, cpu=1), **rest)
    made["metadata"]["annotations"] = annotations
    return made


def cluster(*extra: Any, gates: dict[str, bool] = GATE) -> Engine:
    """6 cpu of `spot` before 6 of `other`; slice `a` holds 4 of `other`."""
    old = o.reserved(slice_of("a", 4), "q", ("main", 4, {"cpu": "other"}, {"cpu": 4}))
    return o.feed(
        Engine(None, gates),
        o.namespace(),
        o.flavor("spot"),
        o.flavor("other"),
        o.cluster_queue("q", o.group(spot=[o.quota("cpu", 6)], other=[o.quota("cpu", 6)])),
        o.local_queue("lq", "q"),
        old,
        *extra,
    )


def test_a_slice_asks_for_what_it_adds_and_keeps_the_flavor() -> None:
    engine = cluster(slice_of("b", 6, "a", created=1))
    cycle = o.cycle(engine)
    (one,) = cycle.admitted
    assert (one.pod_sets[0].flavors, one.pod_sets[0].usage) == ({"cpu": "other"}, {"cpu": 6000})
    assert [(each.workload, each.replaced_by) for each in cycle.replaced] == [("default/a", "default/b")]
    assert cycle.preempted == []
    # both hold theirs until the older one is seen as finished
    assert engine.queue_state()["q"].usage["other/cpu"] == 10_000
    o.feed(engine, o.finished(o.reserved(slice_of("a", 4), "q", ("main", 4, {"cpu": "other"}, {"cpu": 4}))))
    assert engine.queue_state()["q"].usage["other/cpu"] == 6000


def test_another_flavor_would_have_room_but_is_not_taken() -> None:
    engine = cluster(slice_of("b", 7, "a", created=1))
    (refused,) = o.cycle(engine).requeued
    assert "could not assign spot flavor since the original workload is assigned: other" in refused.message()


# What the annotation names, and what the new workload gets then.
NO_SLICE = {
    "a slice that is not there": ("nobody", GATE),
    "a slice of another namespace": ("../elsewhere/a", GATE),
    "the gate is off": ("a", {"ElasticJobsViaWorkloadSlices": False}),
}


@pytest.mark.parametrize("case", NO_SLICE)
def test_what_replaces_nothing_is_an_ordinary_workload(case: str) -> None:
    old, gates = NO_SLICE[case]
    made = slice_of("b", 6, "a", created=1)
    made["metadata"]["annotations"][REPLACES] = "elsewhere/a" if "/" in old else f"default/{old}"
    cycle = o.cycle(cluster(made, gates=gates))
    (one,) = cycle.admitted
    assert (one.pod_sets[0].flavors, list(cycle.replaced)) == ({"cpu": "spot"}, [])


def test_a_slice_may_come_before_the_one_that_it_replaces() -> None:
    engine = cluster()
    engine.delete("Workload", "default", "a")
    o.feed(engine, slice_of("b", 6, "a", created=1))
    o.feed(engine, o.reserved(slice_of("a", 4), "q", ("main", 4, {"cpu": "other"}, {"cpu": 4})))
    assert [each.workload for each in o.cycle(engine).replaced] == ["default/a"]


def test_a_row_that_is_used_again_is_no_slice() -> None:
    engine = cluster(slice_of("b", 2, "a", created=1))
    engine.delete("Workload", "default", "a")
    o.feed(engine, o.reserved(slice_of("c", 1), "q", ("main", 1, {"cpu": "other"}, {"cpu": 1})))
    cycle = o.cycle(engine)
    assert (o.admitted_names(cycle), list(cycle.replaced)) == (["b"], [])


def test_a_slice_with_a_topology_keeps_its_places_and_adds_to_them() -> None:
    """TP-1302, TP-1303: only the pods that are new are placed."""
    gates = {**GATE, "ElasticJobsViaWorkloadSlicesWithTAS": True}
    old = o.workload_json("a", "lq", gang(2, unconstrained=True))
    old["metadata"]["annotations"] = {ELASTIC: "true"}
    new = o.workload_json("b", "lq", gang(3, unconstrained=True), created=1)
    new["metadata"]["annotations"] = {ELASTIC: "true", REPLACES: "default/a"}
    engine = placed_cluster(on(old, ("x2", 2)), new, gates=gates)
    (one,) = o.cycle(engine).admitted
    assert places(one) == {"x1": 1, "x2": 2}


REFUSED = {
    "required": "required topology is not supported with ElasticJobsViaWorkloadSlices",
    "preferred": "preferred topology is not supported with ElasticJobsViaWorkloadSlices",
}


@pytest.mark.parametrize("asks", REFUSED)
def test_an_elastic_job_asks_for_no_level(asks: str) -> None:
    made = o.workload_json("a", "lq", gang(2, **{asks: HOST}))
    made["metadata"]["annotations"] = {ELASTIC: "true"}
    engine = placed_cluster(made, gates={**GATE, "ElasticJobsViaWorkloadSlicesWithTAS": True})
    (refused,) = o.cycle(engine).requeued
    assert refused.message() == f"failed to assign flavors to pod set main: {REFUSED[asks]}"
