"""Layouts: rows shared by workloads that ask for the same, and given back with the last one.

Source: QC-42, QC-61, QP-410.
"""

from __future__ import annotations

import pytest

from kueue_fast.arrays.layouts import Layout, Layouts
from kueue_fast.arrays.tables import Tables
from kueue_fast.arrays.templates import PodClasses
from kueue_fast.errors import InputError
from tests.arrays import objects as o


@pytest.fixture
def layouts() -> Layouts:
    tables = Tables()
    return Layouts(tables, PodClasses(tables, None))


def find(layouts: Layouts, *pod_sets: o.Json, namespace: str = "default", **rest: object) -> Layout:
    made = o.workload("w", "q", *pod_sets, in_namespace=namespace, **rest)
    layout = layouts.find(made, namespace)
    layouts.use(layout)
    return layout


def rows(layouts: Layouts, layout: Layout) -> list[dict[str, object]]:
    kernel = layouts.tables.workloads
    names = ("group", "count", "full_count", "min_count", "pod_set_slot", "pod_set_slots")
    return [
        {name: getattr(kernel, name)[row] for name in names}
        | {"name": layouts.tables.pod_set_names[kernel.pod_set_name[row]]}
        for row in range(layout.start, layout.start + layout.length)
    ]


SAME = {
    "equal pod sets": ([o.pod_set(2, cpu=1)], [o.pod_set(2, cpu=1)], True),
    "equal amounts written otherwise, of another shape in the text": (
        [o.pod_set(cpu=1)],
        [o.pod_set(cpu="1000m")],
        False,
    ),
    "another count": ([o.pod_set(2, cpu=1)], [o.pod_set(3, cpu=1)], False),
    "another name": ([o.pod_set(name="a")], [o.pod_set(name="b")], False),
    "another request": ([o.pod_set(cpu=1)], [o.pod_set(cpu=2)], False),
    "another least count": ([o.pod_set(3, minimum=1)], [o.pod_set(3, minimum=2)], False),
    "another group": ([o.pod_set(together="g")], [o.pod_set(together="h")], False),
    "no group": ([o.pod_set(together="g")], [o.pod_set()], False),
    "the order of pod sets": (
        [o.pod_set(name="a", cpu=1), o.pod_set(name="b")],
        [o.pod_set(name="b"), o.pod_set(name="a", cpu=1)],
        False,
    ),
    "another image": (
        [o.pod_set(pod={"containers": [{"name": "x", "image": "one"}]})],
        [o.pod_set(pod={"containers": [{"name": "y", "image": "two"}]})],
        True,
    ),
}


@pytest.mark.parametrize("case", SAME.values(), ids=SAME)
def test_sharing(layouts: Layouts, case: tuple) -> None:
    one, other, want = case
    assert (find(layouts, *one) is find(layouts, *other)) is want


def test_pod_sets_are_written_as_the_workload_states_them(layouts: Layouts) -> None:
    layout = find(
        layouts,
        o.pod_set(4, name="a", minimum=2, together="g", cpu=1, memory=1),
        o.pod_set(1, name="b", cpu=1),
        o.pod_set(3, name="c", together="g"),
        status={"reclaimablePods": [{"name": "a", "count": 1}, {"name": "c", "count": 9}]},
    )
    assert rows(layouts, layout) == [
        {
            "name": "a",
            "group": 0,
            "count": 3,
            "full_count": 4,
            "min_count": 2,
            "pod_set_slot": 0,
            "pod_set_slots": 3,
        },
        {
            "name": "b",
            "group": 1,
            "count": 1,
            "full_count": 1,
            "min_count": -1,
            "pod_set_slot": 3,
            "pod_set_slots": 2,
        },
        {
            "name": "c",
            "group": 0,
            "count": 0,
            "full_count": 3,
            "min_count": -1,
            "pod_set_slot": 5,
            "pod_set_slots": 1,
        },
    ]
    assert (layout.slots, layout.groups) == (6, [0, 1, 0])


def test_a_group_named_like_a_number_is_no_other_pod_sets(layouts: Layouts) -> None:
    """QP-903."""
    layout = find(layouts, o.pod_set(name="a"), o.pod_set(name="b", together="0"))
    assert layout.groups == [0, 1]


def test_without_the_gate_reclaimed_pods_still_count() -> None:
    tables = Tables()
    layouts = Layouts(tables, PodClasses(tables, None), reclaimable_pods=False)
    layout = find(layouts, o.pod_set(4), status={"reclaimablePods": [{"name": "main", "count": 1}]})
    assert rows(layouts, layout)[0]["count"] == 4


def test_the_last_user_gives_the_rows_back(layouts: Layouts) -> None:
    one = find(layouts, o.pod_set(cpu=1))
    assert find(layouts, o.pod_set(cpu=1)) is one
    layouts.release(one)
    kept = find(layouts, o.pod_set(cpu=2))
    assert kept.start != one.start
    layouts.release(one)
    reused = find(layouts, o.pod_set(cpu=3))
    assert reused.start == one.start
    again = find(layouts, o.pod_set(cpu=1))
    assert again is not one
    assert {again.start, kept.start, reused.start} == {0, 1, 2}
    assert rows(layouts, again)[0]["count"] == 1


def test_a_thousand_layouts_that_come_and_go_take_a_row(layouts: Layouts) -> None:
    for number in range(1_000):
        layout = find(layouts, o.pod_set(number + 1, cpu=1))
        assert layout.start == 0
        layouts.release(layout)


def test_limit_ranges_concern_their_namespace_only(layouts: Layouts) -> None:
    """QC-64, QC-79."""
    default = o.limit_range("x", {"type": "Container", "defaultRequest": {"cpu": "3"}})
    plain = find(layouts, o.pod_set(memory=1))
    layouts.set_limit_range("default", "x", default)
    adjusted = find(layouts, o.pod_set(memory=1))
    other = find(layouts, o.pod_set(memory=1), namespace="other")
    assert adjusted.classes[0].request_class != plain.classes[0].request_class
    assert other.classes[0].request_class == plain.classes[0].request_class
    assert (other.shape == plain.shape, adjusted.shape == plain.shape) == (True, False)
    renewed = layouts.renew(plain, "default")
    assert renewed is adjusted
    layouts.set_limit_range("default", "x", None)
    assert layouts.renew(plain, "default").shape == plain.shape


def test_a_violated_limit_range_is_remembered_in_words(layouts: Layouts) -> None:
    layouts.set_limit_range("default", "x", o.limit_range("x", {"type": "Container", "max": {"cpu": "2"}}))
    assert find(layouts, o.pod_set(cpu=2)).violation is None
    violation = find(layouts, o.pod_set(cpu=3)).violation
    assert violation is not None
    assert "cpu" in violation


def test_a_runtime_class_adds_its_overhead(layouts: Layouts) -> None:
    pod = {"runtimeClassName": "r"}
    before = find(layouts, o.pod_set(pod=pod, cpu=1))
    layouts.set_runtime_class("r", o.runtime_class("r", cpu="250m"))
    after = find(layouts, o.pod_set(pod=pod, cpu=1))
    kernel = layouts.tables.workloads
    amounts = [
        kernel.request_amount[kernel.request_start[one.classes[0].request_class]] for one in (before, after)
    ]
    assert amounts == [1000, 1250]


def test_an_unreadable_template_names_its_pod_set(layouts: Layouts) -> None:
    bad = o.pod_set(name="b", pod={"containers": 3})
    with pytest.raises(InputError) as error:
        find(layouts, o.pod_set(name="a"), bad)
    assert error.value.field is not None
    assert error.value.field.startswith("$.spec.podSets[1].template.spec")
