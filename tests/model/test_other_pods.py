"""Pods that use up room without being placed by topology."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import Pod, PodSpec
from kueue_fast.model.other_pods import is_topology_pod, occupied, occupied_node, pod_amounts


def pod(annotations: dict[str, str] | None = None, phase: str | None = "Running", **fields: Any) -> Pod:
    spec = {"nodeName": "n1", **fields.pop("spec", {})}
    metadata = {"name": "p", "annotations": annotations, **fields}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"phase": phase}}, Pod)


KUEUE = "kueue.x-k8s.io/podset-"

OF_TOPOLOGY: dict[str, tuple[dict[str, str] | None, bool]] = {
    "no annotations": (None, False),
    "required": ({f"{KUEUE}required-topology": "rack"}, True),
    "preferred": ({f"{KUEUE}preferred-topology": "rack"}, True),
    "unconstrained, whatever the value": ({f"{KUEUE}unconstrained-topology": "false"}, True),
    "slices": ({f"{KUEUE}slice-required-topology": "rack"}, True),
    "slice constraints": ({f"{KUEUE}slice-required-topology-constraints": "[]"}, True),
    "a slice size alone": ({f"{KUEUE}slice-size": "2"}, False),
    "a group alone": ({f"{KUEUE}group-name": "g"}, False),
}


@pytest.mark.parametrize(("annotations", "want"), OF_TOPOLOGY.values(), ids=OF_TOPOLOGY)
def test_pods_placed_by_topology_do_not_count_as_others(
    annotations: dict[str, str] | None, want: bool
) -> None:
    assert is_topology_pod(pod(annotations)) is want
    assert occupied_node(pod(annotations)) == (None if want else "n1")


COUNTS: dict[str, tuple[Pod, str | None]] = {
    "running": (pod(), "n1"),
    "scheduled and pending": (pod(phase="Pending"), "n1"),
    "without a phase": (pod(phase=None), "n1"),
    "being deleted": (pod(deletionTimestamp="2026-01-01T00:00:00Z"), "n1"),
    "not scheduled": (pod(spec={"nodeName": ""}), None),
    "succeeded": (pod(phase="Succeeded"), None),
    "failed": (pod(phase="Failed"), None),
}


@pytest.mark.parametrize(("one", "want"), COUNTS.values(), ids=COUNTS)
def test_a_pod_counts_where_it_stands_until_it_ends(one: Pod, want: str | None) -> None:
    assert occupied_node(one) == want


AMOUNTS: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "nothing asked": ({}, {}),
    "rounded up, in order of names": (
        {"containers": [{"resources": {"requests": {"memory": "0.5", "cpu": "0.0001", "Zoo": "1"}}}]},
        {"Zoo": 1, "cpu": 1, "memory": 1},
    ),
    "sums are rounded, not parts": (
        {"containers": [{"resources": {"requests": {"cpu": "0.0005"}}}] * 2},
        {"cpu": 1},
    ),
    "overhead and pod-level requests": (
        {"overhead": {"cpu": "1"}, "resources": {"requests": {"cpu": "2"}}},
        {"cpu": 3000},
    ),
    "never negative": ({"containers": [{"resources": {"requests": {"cpu": "-1"}}}]}, {"cpu": 0}),
}


@pytest.mark.parametrize(("fields", "want"), AMOUNTS.values(), ids=AMOUNTS)
def test_amounts_of_one_pod(fields: dict[str, Any], want: dict[str, int]) -> None:
    spec = msgspec.convert(fields, PodSpec)
    assert list(pod_amounts(spec).items()) == list(want.items())
    assert occupied(spec) == want | {"pods": 1}


def test_requests_of_the_resource_pods_add_to_the_pod_itself() -> None:
    spec = msgspec.convert({"containers": [{"resources": {"requests": {"pods": "2"}}}]}, PodSpec)
    assert occupied(spec) == {"pods": 3}
