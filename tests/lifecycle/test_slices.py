"""Which slice stands for an elastic job. Source: JS-460..466, JS-480, JS-481, JS-496."""

from typing import NamedTuple

import msgspec
import pytest

from kueue_fast.api.kueue import Workload
from kueue_fast.lifecycle import slices
from kueue_fast.lifecycle.finish import is_finished
from kueue_fast.model import conditions, times
from kueue_fast.model.elastic import is_elastic
from tests.lifecycle.slice_makers import JOB_UID, make_slice

NOW = times.parse("2026-01-01T01:00:00Z")
REPLACED, OUT_OF_SYNC = slices.SLICE_REPLACED, slices.OUT_OF_SYNC


@pytest.mark.parametrize(
    ("annotations", "slices_on", "want"),
    [
        pytest.param(None, True, False, id="no annotations"),
        pytest.param({}, True, False, id="empty annotations"),
        pytest.param({"kueue.x-k8s.io/elastic-job": "true"}, True, True, id="the annotation is true"),
        pytest.param({"kueue.x-k8s.io/elastic-job": "True"}, True, False, id="only this spelling counts"),
        pytest.param({"kueue.x-k8s.io/elastic-job": "false"}, True, False, id="the annotation is false"),
        pytest.param({"kueue.x-k8s.io/elastic-job": "true"}, False, False, id="the gate is off"),
    ],
)
def test_elastic(annotations: dict[str, str] | None, slices_on: bool, want: bool) -> None:
    assert is_elastic(annotations, slices=slices_on) is want


SCALED_DOWN: dict[str, tuple[dict[str, int], dict[str, int], bool]] = {
    "nothing at all": ({}, {}, False),
    "the same counts": ({"a": 1}, {"a": 1}, False),
    "one has fewer": ({"a": 3, "b": 2}, {"a": 1, "b": 2}, True),
    "all have fewer": ({"a": 3, "b": 2}, {"a": 1, "b": 1}, True),
    "one has fewer, one has more": ({"a": 3, "b": 2}, {"a": 1, "b": 3}, False),
    "a further one does not count": ({"a": 3}, {"a": 1, "b": 7}, True),
    "one that is gone does not count": ({"a": 3, "b": 7}, {"a": 3}, False),
    "down to no pod": ({"a": 1}, {"a": 0}, True),
}


@pytest.mark.parametrize("case", SCALED_DOWN)
def test_scaled_down(case: str) -> None:
    old, new, want = SCALED_DOWN[case]
    assert slices.scaled_down(old, new) is want


def test_live_slices_are_sorted_by_age_and_uid_and_have_not_ended() -> None:
    made = [
        make_slice("young"),
        make_slice("twin-2", age=5, uid="b"),
        make_slice("ended", age=9, finished=True),
        make_slice("twin-1", age=5, uid="a"),
        make_slice("old", age=7),
    ]
    want = ["old", "twin-1", "twin-2", "young"]
    assert [each.metadata.name for each in slices.live_slices(made)] == want


def test_a_slice_without_creation_time_is_the_oldest() -> None:
    unstored = make_slice("unstored", creationTimestamp=None)
    assert slices.live_slices([make_slice("stored", age=59), unstored])[0] is unstored


ACTIVE: dict[str, tuple[list[Workload], str | None]] = {
    "there is none": ([], None),
    "the only one with a reservation": ([make_slice("only", reserved=True)], "only"),
    "the newest with a reservation": (
        [make_slice("older", age=1, reserved=True), make_slice("newer", reserved=True)],
        "newer",
    ),
    "one that waits for its admission checks": ([make_slice("reserved", reserved=True)], "reserved"),
    "one that waits for quota is none": (
        [make_slice("older", age=1, admitted=True), make_slice("newer", replaces="older")],
        "older",
    ),
    "one that is being evicted is none": (
        [make_slice("older", age=1, reserved=True), make_slice("newer", reserved=True, evicted=True)],
        "older",
    ),
    "all are being evicted": (
        [
            make_slice("one", age=1, reserved=True, evicted=True),
            make_slice("two", reserved=True, evicted=True),
        ],
        None,
    ),
}


@pytest.mark.parametrize("case", ACTIVE)
def test_active_slice(case: str) -> None:
    live, want = ACTIVE[case]
    got = slices.active_slice(live)
    assert (None if got is None else got.metadata.name) == want


class Want(NamedTuple):
    """Names; `ended` with reasons."""

    selected: str | None
    holding: str | None = None
    ended: dict[str, str] = {}


NORMALIZED: dict[str, tuple[list[Workload], Want]] = {
    "of two with quota the newest stays": (
        [make_slice("a", age=1, reserved=True), make_slice("b", pods=2, reserved=True)],
        Want("b", "b", {"a": OUT_OF_SYNC}),
    ),
    "a slice with quota stays behind its waiting replacement": (
        [make_slice("a", age=1, reserved=True), make_slice("b", pods=2, replaces="a")],
        Want("b", "a"),
    ),
    "an evicted slice ends, the waiting one stays": (
        [make_slice("a", age=1, reserved=True, evicted=True), make_slice("b", pods=2)],
        Want("b", None, {"a": OUT_OF_SYNC}),
    ),
    "an evicted slice whose replacement waits counts as replaced": (
        [make_slice("a", age=1, reserved=True, evicted=True), make_slice("b", pods=2, replaces="a")],
        Want("b", None, {"a": REPLACED}),
    ),
    "two that took the same place: the newest stays": (
        [
            make_slice("a", age=1, pods=2, reserved=True, replaces="old"),
            make_slice("b", pods=3, reserved=True, replaces="old"),
        ],
        Want("b", "b", {"a": OUT_OF_SYNC}),
    ),
    "without quota the newest stays": (
        [make_slice("a", age=1), make_slice("b", pods=2)],
        Want("b", None, {"a": OUT_OF_SYNC}),
    ),
    "all are evicted: none stays": (
        [
            make_slice("a", age=1, reserved=True, evicted=True),
            make_slice("b", reserved=True, evicted=True),
        ],
        Want(None, None, {"a": OUT_OF_SYNC, "b": OUT_OF_SYNC}),
    ),
    "a waiting slice that replaces nothing ends beside one with quota": (
        [make_slice("a", age=1, reserved=True), make_slice("b", pods=2)],
        Want("a", "a", {"b": OUT_OF_SYNC}),
    ),
    "of two waiting ones that which replaces the slice with quota stays": (
        [
            make_slice("a", age=2, reserved=True),
            make_slice("b", age=1, pods=2, replaces="old"),
            make_slice("c", pods=3, replaces="a"),
        ],
        Want("c", "a", {"b": OUT_OF_SYNC}),
    ),
    "four of one second in a chain: the admitted replacement keeps its quota": (
        [
            make_slice("a", reserved=True),
            make_slice("b", pods=2, replaces="a"),
            make_slice("c", pods=3, reserved=True, replaces="a"),
            make_slice("d", pods=4, replaces="c"),
        ],
        Want("d", "c", {"a": REPLACED, "b": OUT_OF_SYNC}),
    ),
    "the same in another order": (
        [
            make_slice("c", pods=3, reserved=True, replaces="a"),
            make_slice("b", pods=2, replaces="a"),
            make_slice("a", reserved=True),
            make_slice("d", pods=4, replaces="c"),
        ],
        Want("d", "c", {"a": REPLACED, "b": OUT_OF_SYNC}),
    ),
    "two waiting ones of one second": (
        [make_slice("a"), make_slice("b")],
        Want("b", None, {"a": OUT_OF_SYNC}),
    ),
    "an evicted replacement replaces nothing": (
        [make_slice("a", age=1, reserved=True), make_slice("b", pods=2, replaces="a", evicted=True)],
        Want("a", "a", {"b": OUT_OF_SYNC}),
    ),
    "a slice with quota whose replacement got quota ends": (
        [make_slice("a", age=1, reserved=True), make_slice("b", pods=2, replaces="a", reserved=True)],
        Want("b", "b", {"a": REPLACED}),
    ),
}


@pytest.mark.parametrize("case", NORMALIZED)
def test_normalized(case: str) -> None:
    live, want = NORMALIZED[case]
    selected, holding, ended = slices.normalized(live)
    got = Want(
        None if selected is None else selected.metadata.name,
        None if holding is None else holding.metadata.name,
        {each.workload.metadata.name: each.reason for each in ended},
    )
    assert got == want


def test_words_of_slices_that_end() -> None:
    _, _, ended = slices.normalized(
        [
            make_slice("a", age=2, reserved=True, evicted=True),
            make_slice("x", age=1),
            make_slice("b", replaces="a"),
        ]
    )
    assert {each.workload.metadata.name: each.message for each in ended} == {
        "a": "Replaced to accommodate a new workload slice",
        "x": "The workload slice is out of sync with its parent job",
    }


class Chosen(NamedTuple):
    """The slice's name and counts after the choice; which slices end."""

    name: str | None
    counts: dict[str, int] | None = None
    resized: bool = False
    compatible: bool = True
    ended: tuple[str, ...] = ()


TWO = [make_slice("a", age=5, reserved=True), make_slice("b", pods=3, replaces="a")]
CHOICES: dict[str, tuple[list[Workload], dict[str, int], Chosen]] = {
    "no slice: one is to be made": ([], {"main": 3}, Chosen(None)),
    "pod sets of other names": ([make_slice("a")], {"other": 1}, Chosen(None, compatible=False)),
    "a further pod set": ([make_slice("a")], {"main": 1, "more": 1}, Chosen(None, compatible=False)),
    "the slice has the size of the job": ([make_slice("a", pods=3)], {"main": 3}, Chosen("a", {"main": 3})),
    "with quota, the job grew": ([make_slice("a", reserved=True)], {"main": 3}, Chosen(None)),
    "with quota, one pod set grew and another shrank": (
        [make_slice("a", pods={"up": 3, "down": 3, "same": 3}, reserved=True)],
        {"up": 4, "same": 3, "down": 1},
        Chosen(None),
    ),
    "with quota, the job shrank": (
        [make_slice("a", pods=3, reserved=True)],
        {"main": 1},
        Chosen("a", {"main": 1}, resized=True),
    ),
    "with quota, one pod set shrank": (
        [make_slice("a", pods={"down": 3, "same": 3}, reserved=True)],
        {"down": 1, "same": 3},
        Chosen("a", {"down": 1, "same": 3}, resized=True),
    ),
    "waiting, the job grew": ([make_slice("a")], {"main": 3}, Chosen("a", {"main": 3}, resized=True)),
    "waiting, the job shrank": (
        [make_slice("a", pods=3)],
        {"main": 1},
        Chosen("a", {"main": 1}, resized=True),
    ),
    "waiting after an eviction, the job grew": (
        [make_slice("a", evicted=True)],
        {"main": 3},
        Chosen("a", {"main": 3}, resized=True),
    ),
    "evicted and still holding quota, the job grew": (
        [make_slice("a", reserved=True, evicted=True)],
        {"main": 3},
        Chosen(None),
    ),
    "two waiting ones, the newest has the size": (
        [make_slice("a", age=5), make_slice("b", pods=3)],
        {"main": 3},
        Chosen("b", {"main": 3}, ended=("a",)),
    ),
    "a waiting replacement has the size": (TWO, {"main": 3}, Chosen("b", {"main": 3})),
    "a waiting replacement follows upwards": (TWO, {"main": 5}, Chosen("b", {"main": 5}, resized=True)),
    "a waiting replacement follows downwards": (TWO, {"main": 2}, Chosen("b", {"main": 2}, resized=True)),
    "back to the size of the slice with quota: the replacement still goes on": (
        TWO,
        {"main": 1},
        Chosen("b", {"main": 1}, resized=True),
    ),
    "a replacement of other names": (TWO, {"other": 1}, Chosen(None, compatible=False)),
    "two with quota and a third size": (
        [make_slice("a", age=5, reserved=True), make_slice("b", pods=3, reserved=True)],
        {"main": 5},
        Chosen(None, ended=("a",)),
    ),
    "both have quota, the newer one took the place": (
        [make_slice("a", age=5, reserved=True), make_slice("b", pods=3, reserved=True, replaces="a")],
        {"main": 3},
        Chosen("b", {"main": 3}, ended=("a",)),
    ),
    "three slices: the one between ends": (
        [
            make_slice("a", age=5, reserved=True),
            make_slice("b", age=3, pods=2),
            make_slice("c", pods=3, replaces="a"),
        ],
        {"main": 3},
        Chosen("c", {"main": 3}, ended=("b",)),
    ),
    "an evicted one and its waiting replacement": (
        [make_slice("a", age=5, reserved=True, evicted=True), make_slice("b", pods=3, replaces="a")],
        {"main": 3},
        Chosen("b", {"main": 3}, ended=("a",)),
    ),
    "all evicted: one is to be made when they have ended": (
        [
            make_slice("a", age=5, reserved=True, evicted=True),
            make_slice("b", reserved=True, evicted=True),
        ],
        {"main": 3},
        Chosen(None, ended=("a", "b")),
    ),
}


@pytest.mark.parametrize("case", CHOICES)
def test_choose(case: str) -> None:
    live, counts, want = CHOICES[case]
    before = msgspec.json.encode(live)
    choice = slices.choose(counts, live)
    workload = choice.workload
    got = Chosen(
        None if workload is None else workload.metadata.name,
        None if workload is None else slices.pod_counts(workload.spec.pod_sets),
        choice.resized,
        choice.compatible,
        tuple(each.workload.metadata.name for each in choice.ended),
    )
    assert got == want
    assert msgspec.json.encode(live) == before


def test_a_change_of_counts_leaves_admission_and_templates() -> None:
    before = make_slice("a", pods={"head": 1, "workers": 4}, reserved=True)
    after = slices.with_counts(before, {"workers": 2})
    assert slices.pod_counts(after.spec.pod_sets) == {"head": 1, "workers": 2}
    assert after.status is before.status
    assert [each.template for each in after.spec.pod_sets or ()] == [
        each.template for each in before.spec.pod_sets or ()
    ]


def test_the_replaced_slice_ends_with_words_that_name_the_new_one() -> None:
    done = slices.replaced(make_slice("a", admitted=True), make_slice("b", replaces="a", uid="new-uid"), NOW)
    assert done is not None
    assert is_finished(done)
    found = conditions.find(done.status.conditions if done.status else None, conditions.FINISHED)
    assert found is not None
    assert (found.reason, found.message) == (
        "WorkloadSliceReplaced",
        f"Replaced to accommodate a workload (UID: new-uid, JobUID: {JOB_UID}) due to workload slice aggregation",
    )
    assert slices.replaced(done, make_slice("c"), NOW) is None


def test_a_slice_goes_to_the_cluster_of_the_one_before() -> None:
    old, new = make_slice("a", admitted=True), make_slice("b", replaces="a")
    assert slices.with_cluster_of(new, old) is new
    assert old.status is not None
    old.status.cluster_name = "worker"
    moved = slices.with_cluster_of(new, old)
    assert moved.status is not None
    assert (moved.status.cluster_name, new.status is not None and new.status.cluster_name) == ("worker", None)
