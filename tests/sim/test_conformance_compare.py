"""Differences between two replays, in words."""

import copy
from typing import Any

import pytest

from kueue_fast.sim.conformance_compare import first_difference


def admission(name: str, cpu: str, **parts: Any) -> dict[str, Any]:
    pod_set = {"name": "main", "count": 1, "flavors": {"cpu": "default"}, "usage": {"cpu": cpu}}
    return {
        "workload": f"ns/{name}",
        "clusterQueue": "cq",
        "podSets": [{**pod_set, **parts}],
        "admitted": True,
    }


WANT = [
    {
        "cycles": [{"admitted": [admission("a", "1500m")]}],
        "inadmissible": {"cq": ["ns/b"]},
        "usage": {"cq": {"default/cpu": 1500}},
    },
    {"cycles": [{"admitted": [admission("b", "1")]}], "usage": {"cq": {"default/cpu": 1000}}},
]


def changed(*path: Any, to: Any) -> list[dict[str, Any]]:
    """WANT with one value replaced."""
    steps = copy.deepcopy(WANT)
    place: Any = steps
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return steps


A_SET = (0, "cycles", 0, "admitted", 0)
DIFFERENCES = {
    "quantities are compared by value": (changed(*A_SET, "podSets", 0, "usage", to={"cpu": "1.5"}), None),
    "messages are not compared": (changed(0, "messages", to={"ns/b": "anything"}), None),
    "an empty mapping is none": (changed(1, "inadmissible", to={}), None),
    "a zero is left out or not": (changed(1, "usage", "cq", "default/memory", to=0), None),
    "another amount": (
        changed(*A_SET, "podSets", 0, "usage", to={"cpu": "2"}),
        "step 1, cycle 1: admitted ns/a: pod set main: want usage of cpu 1500m, got 2",
    ),
    "another flavor": (
        changed(*A_SET, "podSets", 0, "flavors", to={"cpu": "spot"}),
        "step 1, cycle 1: admitted ns/a: pod set main: want flavor of cpu default, got spot",
    ),
    "no flavor": (
        changed(*A_SET, "podSets", 0, "flavors", to={}),
        "step 1, cycle 1: admitted ns/a: pod set main: want flavor of cpu default, got none",
    ),
    "another count": (
        changed(*A_SET, "podSets", 0, "count", to=2),
        "step 1, cycle 1: admitted ns/a: pod set main: want count 1, got 2",
    ),
    "another queue": (
        changed(*A_SET, "clusterQueue", to="dq"),
        "step 1, cycle 1: admitted ns/a: want clusterQueue cq, got dq",
    ),
    "reserved only": (
        changed(*A_SET, "admitted", to=False),
        "step 1, cycle 1: admitted ns/a: want admitted True, got False",
    ),
    "other pod sets": (
        changed(*A_SET, "podSets", to=[]),
        "step 1, cycle 1: admitted ns/a: want pod sets main, got none",
    ),
    "a topology": (
        changed(*A_SET, "podSets", 0, "levels", to=["rack"]),
        "step 1, cycle 1: admitted ns/a: pod set main: want levels [], got ['rack']",
    ),
    "a workload that is missing": (
        changed(0, "cycles", 0, to={}),
        "step 1, cycle 1: want admitted ns/a, got none",
    ),
    "a workload too many": (
        changed(1, "cycles", 0, "admitted", to=[admission("b", "1"), admission("c", "1")]),
        "step 2, cycle 1: got admitted ns/c, want none",
    ),
    "a preemption": (
        changed(1, "cycles", 0, "preempted", to=[{"workload": "ns/a", "reason": "InClusterQueue"}]),
        "step 2, cycle 1: got preempted ns/a, want none",
    ),
    "a replaced slice": (
        changed(1, "cycles", 0, "replaced", to=["ns/a"]),
        "step 2, cycle 1: want replaced none, got ns/a",
    ),
    "a cycle that is missing": (
        changed(1, "cycles", to=[]),
        "step 2: want 1 cycle, got 0; the first of the rest did: admitted ns/b",
    ),
    "a cycle too many": (
        changed(1, "cycles", to=[{"admitted": [admission("b", "1")]}, {"replaced": ["ns/x"]}]),
        "step 2: want 1 cycle, got 2; the first of the rest did: replaced ns/x",
    ),
    "another workload is parked": (
        changed(0, "inadmissible", "cq", to=["ns/c"]),
        "step 1: ClusterQueue cq: parked lacks ns/b, parked has ns/c besides",
    ),
    "a workload listed twice": (
        changed(0, "inadmissible", "cq", to=["ns/b", "ns/b"]),
        "step 1: ClusterQueue cq: parked has ns/b besides",
    ),
    "pending instead of parked": (
        changed(0, "active", to={"cq": ["ns/b"]}),
        "step 1: ClusterQueue cq: pending has ns/b besides",
    ),
    "other usage": (
        changed(1, "usage", "cq", "default/cpu", to=999),
        "step 2: ClusterQueue cq: want usage of default/cpu 1000, got 999",
    ),
    "no usage": (
        changed(1, "usage", to={}),
        "step 2: ClusterQueue cq: want usage of default/cpu 1000, got 0",
    ),
    "a share": (
        changed(1, "weightedShare", to={"cq": "inf"}),
        "step 2: ClusterQueue cq: want weighted share none, got inf",
    ),
    "cut short": (changed(1, "truncated", to=True), "step 2: want truncated False, got True"),
    "a step that is missing": (WANT[:1], "want 2 steps, got 1"),
}


@pytest.mark.parametrize(("got", "want"), DIFFERENCES.values(), ids=DIFFERENCES.keys())
def test_first_difference(got: list[dict[str, Any]], want: str | None) -> None:
    assert first_difference(WANT, got) == want
