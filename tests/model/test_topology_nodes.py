"""What topologies read of a Node."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import Node, Taint
from kueue_fast.errors import InputError
from kueue_fast.model.topology_nodes import belongs, blocking_taints, capacity, is_usable, taint_text

READY = {"type": "Ready", "status": "True"}


def node(**fields: Any) -> Node:
    return msgspec.convert({"metadata": {"name": "n"}, **fields}, Node)


USABLE: dict[str, tuple[dict[str, Any], bool]] = {
    "ready": ({"status": {"conditions": [READY]}}, True),
    "ready among others": (
        {"status": {"conditions": [{"type": "MemoryPressure", "status": "False"}, READY]}},
        True,
    ),
    "no status": ({}, False),
    "no conditions": ({"status": {}}, False),
    "not ready": ({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, False),
    "unknown": ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, False),
    "unschedulable": ({"spec": {"unschedulable": True}, "status": {"conditions": [READY]}}, False),
    "schedulable": ({"spec": {"unschedulable": False}, "status": {"conditions": [READY]}}, True),
    "tainted": (
        {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}, "status": {"conditions": [READY]}},
        True,
    ),
}


@pytest.mark.parametrize(("fields", "want"), USABLE.values(), ids=USABLE)
def test_a_node_counts_if_it_is_schedulable_and_ready(fields: dict[str, Any], want: bool) -> None:
    assert is_usable(node(**fields)) is want


LABELS = {"pool": "a", "rack": "", "host": "h"}

BELONGS: dict[str, tuple[dict[str, str], list[str], bool]] = {
    "no demands": ({}, [], True),
    "label and levels": ({"pool": "a"}, ["rack", "host"], True),
    "another value": ({"pool": "b"}, ["host"], False),
    "a label that is not there": ({"zone": "a"}, ["host"], False),
    "an empty value asked, label not there": ({"zone": ""}, ["host"], True),
    "an empty value asked, label has one": ({"pool": ""}, ["host"], False),
    "a level that is not there": ({"pool": "a"}, ["block", "host"], False),
    "an empty level value will do": ({}, ["rack"], True),
}


@pytest.mark.parametrize(("node_labels", "levels", "want"), BELONGS.values(), ids=BELONGS)
def test_membership_in_a_flavor(node_labels: dict[str, str], levels: list[str], want: bool) -> None:
    assert belongs(LABELS, node_labels, levels) is want


CAPACITY: dict[str, tuple[Any, dict[str, int]]] = {
    "nothing": (None, {}),
    "cpu in milli, rounded up": ({"cpu": "1.0001"}, {"cpu": 1001}),
    "others whole, rounded up": (
        {"memory": "1.5", "pods": "110", "example.com/gpu": 8},
        {"memory": 2, "pods": 110, "example.com/gpu": 8},
    ),
    "negative and zero": ({"cpu": "-1", "memory": "0"}, {"cpu": -1000, "memory": 0}),
    "clamped": ({"memory": "99E"}, {"memory": 2**63 - 1}),
}


@pytest.mark.parametrize(("allocatable", "want"), CAPACITY.values(), ids=CAPACITY)
def test_allocatable_as_integers(allocatable: Any, want: dict[str, int]) -> None:
    assert capacity(allocatable) == want


def test_an_allocatable_that_is_no_quantity_is_named() -> None:
    with pytest.raises(InputError) as caught:
        capacity({"cpu": "1", "memory": "lots"})
    assert caught.value.field == "$.status.allocatable.memory"


TAINTS: dict[str, tuple[Taint, str, bool]] = {
    "key, value and effect": (Taint(key="k", value="v", effect="NoSchedule"), "k=v:NoSchedule", True),
    "without a value": (Taint(key="k", effect="NoExecute"), "k:NoExecute", True),
    "that only discourages": (Taint(key="k", effect="PreferNoSchedule"), "k:PreferNoSchedule", False),
    "without an effect": (Taint(key="k", value="v", effect=""), "k=v:", False),
    "with a key only": (Taint(key="k", effect=""), "k", False),
}


@pytest.mark.parametrize(("taint", "want", "want_blocks"), TAINTS.values(), ids=TAINTS)
def test_taints(taint: Taint, want: str, want_blocks: bool) -> None:
    assert taint_text(taint) == want
    assert blocking_taints([taint]) == ((taint,) if want_blocks else ())
