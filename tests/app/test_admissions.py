"""Which new places of a running Workload are written. Source: TP-1510."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.api.kueue import Workload
from kueue_fast.app.admissions import may_move
from kueue_fast.arrays.decisions import PodSetAssignment
from kueue_fast.engine import Admission
from tests.placed import as_struct

LEVELS = ("rack", "kubernetes.io/hostname")


def workload(
    *unhealthy: str, queue: str = "q", generation: int = 1, evicted: bool = False, **spec: Any
) -> Any:
    types = ["QuotaReserved", "Admitted", *(["Evicted"] if evicted else [])]
    made = {
        "metadata": {"name": "w", "namespace": "ns", "uid": "u", "generation": generation},
        "spec": spec,
        "status": {
            "admission": {"clusterQueue": queue, "podSetAssignments": []},
            "conditions": [{"type": each, "status": "True", "reason": "R", "message": ""} for each in types],
            "unhealthyNodes": [{"name": each} for each in unhealthy],
        },
    }
    return as_struct(made, Workload)


def to(*hosts: str) -> Admission:
    domains = tuple((("r", host), 1) for host in hosts)
    pod_set = PodSetAssignment("main", len(hosts), {"cpu": "f"}, {"cpu": 1}, placement=(LEVELS, domains))
    return Admission("ns/w", "q", (pod_set,), ())


WRITTEN = {
    "the failed node was replaced": (workload("a"), to("b")),
    "it is well again": (workload(), to("b")),
    "another node failed that it has not been on": (workload("c"), to("b")),
    "a pod alone keeps its place": (workload("a"), to("a")),
}
NOT_WRITTEN = {
    "a node failed that it goes to": (workload("b"), to("b")),
    "it was evicted": (workload("a", evicted=True), to("b")),
    "it asks for something else": (workload("a", generation=2), to("b")),
    "it was switched off": (workload("a", active=False), to("b")),
    "it has its quota elsewhere": (workload("a", queue="other"), to("b")),
}


@pytest.mark.parametrize("case", [*WRITTEN, *NOT_WRITTEN])
def test_may_move(case: str) -> None:
    current, decision = {**WRITTEN, **NOT_WRITTEN}[case]
    assert may_move(current, workload("a"), decision) is (case in WRITTEN)
