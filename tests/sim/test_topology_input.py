"""Hostile topologies through the command: refused in words with their place, or a run that says why pods wait."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kueue_fast.cli import run
from tests.placed import HOSTNAME
from tests.sim.test_simulate_topology import TOPOLOGY, node, placed_job
from tests.sim.test_topology_ledger import RACK
from tests.sim.world import cluster_queue, flavor, local_queue, workload

Json = dict[str, Any]

POOL = {"pool": "a"}
QUEUE = (
    flavor("tas", topologyName="t", nodeLabels=POOL),
    cluster_queue("cq", {"tas": {"cpu": 100}}),
    local_queue(),
)


def member(name: str = "n0", labels: dict[str, str] | None = None, **allocatable: Any) -> Json:
    """A node of the flavor, by default in rack r0 with room for one pod of 4 cpu."""
    made = node(name, "r0")
    made["metadata"]["labels"] = {**POOL, **({RACK: "r0"} if labels is None else labels)}
    if allocatable:
        made["status"] = {"capacity": allocatable}
    return made


def asking(pods: int = 1, **annotations: str) -> Json:
    """A job of one rack, with further annotations `podset-...`."""
    made = placed_job("a", pods, "required", RACK)
    more = {f"kueue.x-k8s.io/podset-{key.replace('_', '-')}": value for key, value in annotations.items()}
    made["spec"]["template"]["metadata"]["annotations"].update(more)
    return made


def standing(assignment: Any) -> Json:
    """A workload that runs with this topologyAssignment."""
    true = {"status": "True", "reason": "r", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    given = {
        "name": "main",
        "count": 1,
        "flavors": {"cpu": "tas"},
        "resourceUsage": {"cpu": "1"},
        "topologyAssignment": assignment,
    }
    return workload(
        "w",
        status={
            "conditions": [{"type": type_, **true} for type_ in ("QuotaReserved", "Admitted")],
            "admission": {"clusterQueue": "cq", "podSetAssignments": [given]},
        },
    )


def on(host: str, count: int = 1, domains: int = 1) -> Json:
    part = {
        "domainCount": domains,
        "valuesPerLevel": [{"universal": host}],
        "podCounts": {"universal": count},
    }
    return {"levels": [HOSTNAME], "slices": [part]}


def topology(*levels: str) -> Json:
    return {**TOPOLOGY, "spec": {"levels": [{"nodeLabel": level} for level in levels]}}


AT = "Workload ns/w: $.status.admission.podSetAssignments[0].topologyAssignment"
SIZE = "kueue.x-k8s.io/podset-slice-size"
# What is refused, and the words.
REFUSED: dict[str, tuple[list[Json], str]] = {
    "17 levels": (
        [topology(*(f"l{number}" for number in range(17)))],
        "Topology t: $.spec.levels: Too many: 17: must have at most 16 items",
    ),
    "a level twice": ([topology(RACK, RACK)], "Topology t: $.spec.levels[1].nodeLabel: Duplicate value"),
    "hosts above racks": ([topology(HOSTNAME, RACK)], "Topology t: $.spec.levels[0].nodeLabel: Invalid"),
    "a label with a comma": (
        [TOPOLOGY, member(labels={RACK: "r,0"})],
        'Node n0: $.metadata.labels: Invalid value: "r,0"',
    ),
    "less than nothing allocatable": (
        [TOPOLOGY, member(cpu=-1)],
        "Node n0: $.status.capacity[cpu]: Invalid value: -1: must be greater than or equal to 0",
    ),
    "required and preferred": (
        [TOPOLOGY, member(), asking(preferred_topology=RACK)],
        "Job ns/a: $.spec.template.metadata.annotations: Invalid value",
    ),
    "slices of 0": (
        [TOPOLOGY, member(), asking(slice_required_topology=HOSTNAME, slice_size="0")],
        f"Job ns/a: $.spec.template.metadata.annotations[{SIZE}]: Invalid value: '0'",
    ),
    "slices beyond the count": (
        [TOPOLOGY, member(), asking(slice_required_topology=HOSTNAME, slice_size="2")],
        f"Job ns/a: $.spec.template.metadata.annotations[{SIZE}]: Invalid value: '2'",
    ),
    "an assignment that is a text": ([TOPOLOGY, member(), standing("n0")], f"{AT}: Expected `object`"),
    "an assignment without levels": (
        [TOPOLOGY, member(), standing({"levels": []})],
        f"{AT}.levels: Expected `array` of length >= 1",
    ),
    "more domains than memory": (
        [TOPOLOGY, member(), standing(on("n0", domains=2**31 - 1))],
        f"{AT}.slices[0].domainCount: makes more domains than can be kept",
    ),
}


def simulate(tmp_path: Path, objects: list[Json], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*QUEUE, *objects]}))
    code = run(["simulate", "-f", str(file)])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(("objects", "want"), REFUSED.values(), ids=REFUSED)
def test_refused(tmp_path: Path, objects: list[Json], want: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = simulate(tmp_path, objects, capsys)
    assert (code, out) == (2, "")
    assert f"a.json:1: {want}" in err


# What runs, and what stands in the report.
TOLD: dict[str, tuple[list[Json], str]] = {
    "no Topology": ([member(), asking()], 'there is no Topology "t" for TAS flavor "tas"'),
    "no node with the levels": (
        [TOPOLOGY, member(labels={}), asking()],
        "no topology domains at level: " + RACK,
    ),
    "a level that the Topology lacks": (
        [TOPOLOGY, member(), placed_job("a", 1, "required", "zone")],
        'Flavor "tas" does not contain the requested level',
    ),
    "nothing allocatable": (
        [TOPOLOGY, member(cpu=0), asking()],
        'topology "t" doesn\'t allow to fit any of 1 pod(s). Total nodes: 1; excluded: resource "cpu": 1',
    ),
    "the most that there is": ([TOPOLOGY, member(cpu=2**63 - 1, pods=2**63 - 1), asking(3)], "1 finished"),
    "two nodes of one host name": (
        [TOPOLOGY, member(), member("n1", {RACK: "r1", HOSTNAME: "n0"}), asking(2)],
        "1 finished",
    ),
    "pods on a host that is not there": ([TOPOLOGY, member(), standing(on("nowhere", 5))], "1 finished"),
}


@pytest.mark.parametrize(("objects", "want"), TOLD.values(), ids=TOLD)
def test_told(tmp_path: Path, objects: list[Json], want: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = simulate(tmp_path, objects, capsys)
    assert (code, err) == (0, "")
    assert want in out.replace("\n", " ")
