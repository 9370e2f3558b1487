"""Where a workload's priority comes from."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import PodSpec, PriorityClass
from kueue_fast.api.kueue import PriorityClassRef, Workload, WorkloadPriorityClass
from kueue_fast.errors import InputError
from kueue_fast.model.priority import pod_priority_class, priority_changed, resolve_priority

WORKLOAD_CLASSES = {"gold": 1000, "shared": 1}
POD_CLASSES = {"high": (500, False), "shared": (2, False)}
DEFAULTS = {"d1": (30, True), "d2": (20, True), "d0": (20, True), "low": (-5, False)}


def workload_classes(values: dict[str, int]) -> dict[str, WorkloadPriorityClass]:
    return {
        name: msgspec.convert({"metadata": {"name": name}, "value": value}, WorkloadPriorityClass)
        for name, value in values.items()
    }


def pod_classes(values: dict[str, tuple[int, bool]]) -> dict[str, PriorityClass]:
    return {
        name: msgspec.convert(
            {"metadata": {"name": name}, "value": value, "globalDefault": default}, PriorityClass
        )
        for name, (value, default) in values.items()
    }


def workload_ref(name: str) -> PriorityClassRef:
    return PriorityClassRef(group="kueue.x-k8s.io", kind="WorkloadPriorityClass", name=name)


def pod_ref(name: str) -> PriorityClassRef:
    return PriorityClassRef(group="scheduling.k8s.io", kind="PriorityClass", name=name)


Case = tuple[str | None, str | None, dict[str, tuple[int, bool]], PriorityClassRef | None, int]
CASES: dict[str, Case] = {
    "no class": (None, None, POD_CLASSES, None, 0),
    "empty names are no classes": ("", "", POD_CLASSES, None, 0),
    "the workload's class": ("gold", None, POD_CLASSES, workload_ref("gold"), 1000),
    "the workload's class before the pods'": ("gold", "high", POD_CLASSES, workload_ref("gold"), 1000),
    "the pods' class": (None, "high", POD_CLASSES, pod_ref("high"), 500),
    "names of both kinds are apart": (None, "shared", POD_CLASSES, pod_ref("shared"), 2),
    "the global default with the lowest value, then the smallest name": (
        None,
        None,
        DEFAULTS,
        pod_ref("d0"),
        20,
    ),
    "a named class before the default": (None, "low", DEFAULTS, pod_ref("low"), -5),
}


@pytest.mark.parametrize(
    ("workload_class", "pod_class", "classes", "want_ref", "want_value"), CASES.values(), ids=CASES
)
def test_resolve_priority(
    workload_class: str | None,
    pod_class: str | None,
    classes: dict[str, tuple[int, bool]],
    want_ref: PriorityClassRef | None,
    want_value: int,
) -> None:
    got = resolve_priority(
        workload_class, pod_class, workload_classes(WORKLOAD_CLASSES), pod_classes(classes)
    )
    assert got == (want_ref, want_value)


@pytest.mark.parametrize(
    ("workload_class", "pod_class", "want"),
    [
        ("none", "high", "WorkloadPriorityClass 'none' not found"),
        ("high", None, "WorkloadPriorityClass 'high' not found"),
        (None, "gold", "PriorityClass 'gold' not found"),
    ],
)
def test_missing_class(workload_class: str | None, pod_class: str | None, want: str) -> None:
    with pytest.raises(InputError, match=want):
        resolve_priority(
            workload_class, pod_class, workload_classes(WORKLOAD_CLASSES), pod_classes(POD_CLASSES)
        )


def test_the_first_pod_set_that_names_a_class_decides() -> None:
    pods = [
        PodSpec(),
        PodSpec(priority_class_name=""),
        PodSpec(priority_class_name="b"),
        PodSpec(priority_class_name="c"),
    ]
    assert pod_priority_class(pods) == "b"
    assert pod_priority_class(pods[:2]) is None
    assert pod_priority_class([]) is None


def workload(ref: PriorityClassRef | None, priority: int, boost: str | None = None) -> Workload:
    metadata: dict[str, Any] = {"name": "w"}
    if boost is not None:
        metadata["annotations"] = {"kueue.x-k8s.io/priority-boost": boost}
    made = msgspec.convert({"metadata": metadata, "spec": {"priority": priority}}, Workload)
    made.spec.priority_class_ref = ref
    return made


GOLD, SILVER, POD = workload_ref("gold"), workload_ref("silver"), pod_ref("gold")

CHANGES: dict[str, tuple[Workload, Workload, bool]] = {
    "nothing": (workload(GOLD, 1), workload(GOLD, 1), False),
    "another class": (workload(GOLD, 1), workload(SILVER, 1), True),
    "another value": (workload(GOLD, 1), workload(GOLD, 2), True),
    "a class where there was none": (workload(None, 1), workload(GOLD, 1), True),
    "no class any more": (workload(GOLD, 1), workload(None, 0), False),
    "from a PriorityClass": (workload(POD, 1), workload(GOLD, 2), False),
    "to a PriorityClass": (workload(GOLD, 1), workload(POD, 2), False),
    "the value of a PriorityClass": (workload(POD, 1), workload(POD, 2), False),
    "the value without a class": (workload(None, 1), workload(None, 2), False),
    "the boost": (workload(GOLD, 1), workload(GOLD, 1, "4"), True),
    "an unreadable boost": (workload(GOLD, 1), workload(GOLD, 1, "x"), False),
}


@pytest.mark.parametrize(("old", "new", "want"), CHANGES.values(), ids=CHANGES)
def test_priority_changed(old: Workload, new: Workload, want: bool) -> None:
    assert priority_changed(old, new, priority_boost=True) is want


def test_a_boost_without_the_gate_changes_nothing() -> None:
    assert not priority_changed(workload(GOLD, 1), workload(GOLD, 1, "4"))
