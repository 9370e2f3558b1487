"""What a Workload with a reservation, and a slice in particular, may change. Source: JS-501, JS-502, JS-505."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.kueue import Workload
from kueue_fast.model.validation.workload_slices import validate_slice_update

ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}
REPLACES = {"kueue.x-k8s.io/workload-slice-replacement-for": "ns/old"}


def workload(
    counts: dict[str, int],
    *,
    reserved: bool = True,
    admitted: dict[str, int] | None = None,
    annotations: dict[str, str] | None = None,
    image: str = "a",
    **status: Any,
) -> Workload:
    """`admitted` are the counts of its admission, those of its spec by default."""
    template = {"spec": {"containers": [{"name": "c", "image": image}]}}
    known = [{"type": "QuotaReserved", "status": "True"}] if reserved else []
    assignments = [{"name": name, "count": count} for name, count in (admitted or counts).items()]
    made = {
        "metadata": {"name": "w", "annotations": annotations},
        "spec": {
            "podSets": [
                {"name": name, "count": count, "template": template} for name, count in counts.items()
            ]
        },
        "status": {
            "conditions": known,
            "admission": {"clusterQueue": "cq", "podSetAssignments": assignments} if reserved else None,
            **status,
        },
    }
    return msgspec.json.decode(msgspec.json.encode(made), type=Workload)


def back(**counts: int) -> dict[str, Any]:
    """Reclaimable pods."""
    return {"reclaimablePods": [{"name": name, "count": count} for name, count in counts.items()]}


NOT_NOMINATED = (
    'status.clusterName: Invalid value: "c": '
    "when setting clusterName it must be one of the nominatedClusterNames"
)
CASES: dict[str, tuple[Workload, Workload, bool, list[str]]] = {
    "nothing": (workload({"a": 3}), workload({"a": 3}), True, []),
    "fewer pods": (workload({"a": 3, "b": 2}), workload({"a": 1, "b": 2}), True, []),
    "fewer pods while elastic jobs are off": (
        workload({"a": 3}),
        workload({"a": 1}),
        False,
        ['spec.podSets.0: Invalid value: {"name": "a", "count": 1}: field is immutable'],
    ),
    "more pods": (
        workload({"a": 3, "b": 2}),
        workload({"a": 3, "b": 4}),
        True,
        ['spec.podSets.1: Invalid value: {"name": "b", "count": 4}: field is immutable'],
    ),
    "more pods while nothing is reserved": (
        workload({"a": 3}, reserved=False),
        workload({"a": 4}, reserved=False),
        True,
        [],
    ),
    "fewer pods with another template": (
        workload({"a": 3}),
        workload({"a": 1}, image="b"),
        True,
        ['spec.podSets.0: Invalid value: {"name": "a", "count": 1}: field is immutable'],
    ),
    "a pod set less": (
        workload({"a": 3, "b": 2}),
        workload({"a": 3}),
        True,
        ['spec.podSets: Invalid value: ["a"]: field is immutable'],
    ),
    "a cluster that was not nominated": (
        workload({"a": 3}),
        workload({"a": 3}, clusterName="c"),
        True,
        [NOT_NOMINATED],
    ),
    "a cluster that was nominated": (
        workload({"a": 3}, nominatedClusterNames=["c"]),
        workload({"a": 3}, clusterName="c"),
        True,
        [],
    ),
    "a slice gets the cluster of the one before": (
        workload({"a": 3}, annotations=REPLACES),
        workload({"a": 3}, annotations=REPLACES, clusterName="c"),
        True,
        [],
    ),
    "not while elastic jobs are off": (
        workload({"a": 3}, annotations=REPLACES),
        workload({"a": 3}, annotations=REPLACES, clusterName="c"),
        False,
        [NOT_NOMINATED],
    ),
    "more pods are given back": (workload({"a": 3}, **back(a=1)), workload({"a": 3}, **back(a=2)), True, []),
    "fewer pods are given back": (
        workload({"a": 3}, **back(a=2)),
        workload({"a": 3}, **back(a=1)),
        True,
        ["status.reclaimablePods[a].count: Invalid value: 1: cannot be less than 2"],
    ),
    "none is given back any more": (
        workload({"a": 3}, **back(a=2)),
        workload({"a": 3}),
        True,
        ["status.reclaimablePods[a]: Required value: cannot be removed"],
    ),
    "fewer are given back with the reservation": (
        workload({"a": 3}, **back(a=2)),
        workload({"a": 3}, reserved=False, **back(a=1)),
        True,
        [],
    ),
    "fewer are given back by a slice that shrank": (
        workload({"a": 2, "b": 2}, admitted={"a": 3, "b": 2}, annotations=ELASTIC, **back(a=2, b=1)),
        workload({"a": 2, "b": 2}, admitted={"a": 3, "b": 2}, annotations=ELASTIC, **back(a=1)),
        True,
        ["status.reclaimablePods[b]: Required value: cannot be removed"],
    ),
    "fewer are given back by one that is not elastic": (
        workload({"a": 2}, admitted={"a": 3}, **back(a=2)),
        workload({"a": 2}, admitted={"a": 3}),
        True,
        ["status.reclaimablePods[a]: Required value: cannot be removed"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_changes(case: str) -> None:
    old, new, slices, want = CASES[case]
    assert [str(error) for error in validate_slice_update(old, new, slices=slices)] == want
