"""What Nodes cost: ingest from JSON beside `json.loads`, a changed Node beside building the tree, and memory.

    python -m bench.nodes [--count 40000] [--resources 8] [--rounds 3] [--json]

Nodes stand in a topology of three levels, 32 hosts a rack and 32 racks a block, with so many resources each. Every
round is a fresh process. Ingest is measured in both readings of "the same bytes", like that of Workloads: line by
line with results dropped at once, and as one `kind: List` with everything kept until the clock has stopped. It ends
when the kernel's tree stands. `shape` is `small`, what a test would write, or `live`, as an API server gives a Node
(managedFields, images, addresses, nodeInfo).
"""

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HOSTS, RACKS = 32, 32
LEVELS = ("cloud.provider.com/topology-block", "cloud.provider.com/topology-rack", "kubernetes.io/hostname")
CHANGES = 2000
COLUMNS = (
    "shape",
    "count",
    "json_bytes",
    "ingest_us",
    "json_loads_us",
    "ratio",
    "list_ingest_us",
    "list_json_loads_us",
    "list_ratio",
    "build_ms",
    "change_us",
    "builds_a_change",
    "resident_mb",
)


def node(number: int, resources: int, live: bool) -> dict[str, Any]:
    """One Node; its allocatable is one of a few, as in a cluster of a few machine types."""
    block, rack = number // (HOSTS * RACKS), number // HOSTS % RACKS
    name = f"node-{number:06d}"
    values = (f"b{block:03d}", f"b{block:03d}-r{rack:02d}", name)
    allocatable = {"cpu": str(64 + number % 3 * 32), "memory": "527951196Ki", "pods": "110"}
    allocatable |= {f"example.com/device-{index}": "8" for index in range(resources - 3)}
    labels = {"pool": "gpu", "kubernetes.io/os": "linux", **dict(zip(LEVELS, values, strict=True))}
    made: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"00000000-0000-0000-0000-{number:012d}", "labels": labels},
        "spec": {},
        "status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    if live:
        since = "2026-01-01T00:00:00Z"
        made["metadata"] |= {
            "creationTimestamp": since,
            "resourceVersion": str(1000 + number),
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
            "managedFields": [
                {
                    "manager": "kubelet",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": since,
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:metadata": {"f:labels": {f"f:{label}": {} for label in labels}}},
                }
            ],
        }
        made["spec"] = {"podCIDR": "10.0.0.0/24", "providerID": f"cloud:///zone/{name}"}
        made["status"] |= {
            "capacity": allocatable,
            "addresses": [
                {"type": "InternalIP", "address": "10.0.0.1"},
                {"type": "Hostname", "address": name},
            ],
            "images": [
                {"names": [f"registry.example/image-{index}@sha256:{index:064x}"], "sizeBytes": 104857600}
                for index in range(20)
            ],
            "nodeInfo": {"kubeletVersion": "v1.36.3", "osImage": "Linux", "architecture": "amd64"},
            "conditions": [
                {
                    "type": kind,
                    "status": "True" if kind == "Ready" else "False",
                    "lastHeartbeatTime": since,
                    "lastTransitionTime": since,
                    "reason": "Kubelet",
                    "message": "kubelet is posting ready status",
                }
                for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
            ],
        }
    return made


def resident() -> int:
    """Resident bytes of this process (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def engine() -> Any:
    """An engine with a Topology and a flavor for the nodes."""
    from kueue_fast import Engine
    from kueue_fast.api.decode import decode_object

    made = Engine()
    kueue = "kueue.x-k8s.io/v1beta2"
    levels = [{"nodeLabel": level} for level in LEVELS]
    for manifest in (
        {"apiVersion": kueue, "kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": levels}},
        {
            "apiVersion": kueue,
            "kind": "ResourceFlavor",
            "metadata": {"name": "gpu"},
            "spec": {"nodeLabels": {"pool": "gpu"}, "topologyName": "t"},
        },
    ):
        made.upsert(decode_object(manifest))
    return made


def run(what: str, path: Path) -> dict[str, float]:
    """One measurement of a fresh process."""
    from kueue_fast.api.decode import decode, decode_list

    lines = path.read_bytes().splitlines()
    document = b'{"apiVersion":"v1","kind":"List","items":[' + b",".join(lines) + b"]}"
    made = engine()
    gc.collect()
    before = resident()
    start = time.perf_counter_ns()
    kept: Any = None
    if what == "loads":
        for line in lines:
            json.loads(line)
    elif what == "list-loads":
        kept = json.loads(document)
    elif what == "list":
        kept = decode_list(document)
        for each in kept:
            made.upsert(each)
        made.flush(0)
    else:
        for line in lines:
            made.upsert(decode(line))
        made.flush(0)
    spent = time.perf_counter_ns() - start
    del kept
    found = {"ns": float(spent), "resident": float(resident() - before)}
    if what == "line":
        found["change"] = change(made, [decode(line) for line in lines[:CHANGES]])
        made._state.topology.rebuild("gpu")
        start = time.perf_counter_ns()
        made.flush(0)
        found["build"] = float(time.perf_counter_ns() - start)
    return found


def change(made: Any, nodes: list[Any]) -> float:
    """Nanoseconds for one changed Node: another allocatable, and the tree brought up to date after each."""
    for each in nodes:
        each.status.allocatable = {**each.status.allocatable, "cpu": "17"}
    start = time.perf_counter_ns()
    for each in nodes:
        made.upsert(each)
        made.flush(0)
    return (time.perf_counter_ns() - start) / len(nodes)


def measure(shape: str, count: int, resources: int, rounds: int) -> dict[str, Any]:
    """A row of the table, medians over the rounds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nodes.jsonl"
        with path.open("w") as file:
            for number in range(count):
                file.write(json.dumps(node(number, resources, shape == "live"), separators=(",", ":")) + "\n")
        found: dict[str, list[dict[str, float]]] = {}
        for _ in range(rounds):
            for what in ("line", "loads", "list", "list-loads"):
                command = [sys.executable, "-m", "bench.nodes", "--child", what, "--file", str(path)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                found.setdefault(what, []).append(json.loads(done.stdout))
        size = path.stat().st_size

    def median(what: str, key: str = "ns") -> float:
        return statistics.median(each[key] for each in found[what])

    def micros(what: str) -> float:
        return round(median(what) / count / 1000, 2)

    return {
        "shape": shape,
        "count": count,
        "json_bytes": size // count,
        "ingest_us": micros("line"),
        "json_loads_us": micros("loads"),
        "ratio": round(median("line") / median("loads"), 2),
        "list_ingest_us": micros("list"),
        "list_json_loads_us": micros("list-loads"),
        "list_ratio": round(median("list") / median("list-loads"), 2),
        "build_ms": round(median("line", "build") / 1e6, 1),
        "change_us": round(median("line", "change") / 1000, 1),
        "builds_a_change": round(median("line", "build") / median("line", "change")),
        "resident_mb": round(median("line", "resident") / 1e6, 1),
    }


def main() -> int:
    """Measures both shapes and prints a table, or a line of JSON for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=40_000)
    parser.add_argument("--resources", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(run(options.child, options.file)))
        return 0
    rows = [measure(shape, options.count, options.resources, options.rounds) for shape in ("small", "live")]
    if options.json:
        print("\n".join(map(json.dumps, rows)))
        return 0
    for column in COLUMNS:
        print(f"{column:20}", *(f"{row[column]:>12}" for row in rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
