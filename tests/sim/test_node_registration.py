"""What the simulator adds to a Node of the input."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.api.decode import decode_object
from kueue_fast.sim.node_registration import registered, with_readiness
from tests.placed import HOSTNAME, NOW

CASES: dict[str, tuple[dict[str, Any], dict[str, str], dict[str, Any], str]] = {
    "everything that is missing": ({}, {HOSTNAME: "n1"}, {"pods": "110"}, "True"),
    "capacity stands for allocatable": (
        {"status": {"capacity": {"cpu": 4}}},
        {HOSTNAME: "n1"},
        {"cpu": 4, "pods": "110"},
        "True",
    ),
    "nothing that is there": (
        {
            "metadata": {"name": "n1", "labels": {HOSTNAME: "other"}},
            "status": {
                "capacity": {"cpu": 9},
                "allocatable": {"cpu": 8, "pods": 3},
                "conditions": [{"type": "Ready", "status": "False"}],
            },
        },
        {HOSTNAME: "other"},
        {"cpu": 8, "pods": 3},
        "False",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_registered(case: str) -> None:
    manifest, want_labels, want_allocatable, want_ready = CASES[case]
    made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, **manifest}
    node = registered(decode_object(made), NOW)  # type: ignore[arg-type]
    assert node.metadata.labels == want_labels
    assert node.status is not None
    assert node.status.allocatable == want_allocatable
    assert [(each.type, each.status) for each in node.status.conditions or ()] == [("Ready", want_ready)]


def test_readiness_changes_once_and_keeps_other_conditions() -> None:
    pressure = {"type": "DiskPressure", "status": "False"}
    made = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1"},
        "status": {"conditions": [pressure]},
    }
    node = registered(decode_object(made), NOW)  # type: ignore[arg-type]
    assert with_readiness(node, True, NOW + 5) is node
    failed = with_readiness(node, False, NOW)
    assert failed.status is not None
    conditions = failed.status.conditions or []
    assert [(each.type, each.status) for each in conditions] == [
        ("DiskPressure", "False"),
        ("Ready", "False"),
    ]
    assert conditions[1].last_transition_time == "2026-01-01T01:00:00Z"
