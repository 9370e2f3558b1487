"""What a pending Workload costs: resident memory after ingest, and the time of ingest from JSON.

    python -m bench.memory [--count 100000] [--rounds 3] [--json]

Ingest is compared with `json.loads` of the same bytes, which can be read in two ways; both are measured:

by line: one Workload a line. `decode` and upsert of each, against `json.loads` of each with the result dropped.
as one document: all Workloads in one `kind: List`. `decode_list` and upsert of each object in it, against one
`json.loads` of the document, whose result is kept.

Every run is a fresh process with the garbage collector as Python sets it. Reading the file counts in no time, and
neither does freeing a kept result. What is resident after minus before the first Workload of a run by line, over
their number, is what each costs, everything included.
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from bench import memory_shapes
from bench.peer_build import ROOT

if TYPE_CHECKING:
    from kueue_fast import Engine

CHUNK = 1000  # lines held at a time
COLUMNS = (
    "shape",
    "count",
    "json_bytes",
    "resident_bytes",
    "ingest_us",
    "json_loads_us",
    "ratio",
    "list_ingest_us",
    "list_json_loads_us",
    "list_ratio",
)
Timed = dict[str, int]  # of a child: "ns" in all, "resident" bytes


@dataclass(frozen=True)
class Cost:
    """A shape's row. Bytes and microseconds are a Workload's, medians over the rounds; a ratio is ingest over
    json.loads. Fields that begin with `list` are of the one document, the others of the lines.
    """

    shape: str
    count: int
    json_bytes: int
    resident_bytes: int
    ingest_us: float
    json_loads_us: float
    ratio: float
    list_ingest_us: float
    list_json_loads_us: float
    list_ratio: float


def resident_bytes() -> int:
    """Resident memory of this process (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def feed(path: Path, take: Callable[[bytes], object]) -> int:
    """Calls `take` with each line of the file; nanoseconds spent so, reading left out."""
    spent = 0
    with path.open("rb") as file:
        while lines := list(islice(file, CHUNK)):
            start = time.perf_counter_ns()
            for line in lines:
                take(line)
            spent += time.perf_counter_ns() - start
    return spent


def engine_with_queues() -> "Engine":
    """An engine that has all but the Workloads."""
    from kueue_fast import Engine
    from kueue_fast.api.decode import decode_object

    engine = Engine()
    for manifest in memory_shapes.queues():
        engine.upsert(decode_object(manifest))
    gc.collect()
    return engine


def run_ingest(path: Path) -> Timed:
    """In the child: an engine that has the queues takes every Workload."""
    from kueue_fast.api.decode import decode

    engine = engine_with_queues()
    before = resident_bytes()
    spent = feed(path, lambda line: engine.upsert(decode(line)))
    return {"ns": spent, "resident": resident_bytes() - before}


def run_loads(path: Path) -> Timed:
    """In the child: json.loads on every Workload."""
    return {"ns": feed(path, json.loads), "resident": 0}


def run_list_ingest(path: Path) -> Timed:
    """In the child: an engine that has the queues takes the List of all Workloads."""
    from kueue_fast.api.decode import decode_list

    engine = engine_with_queues()
    document = path.read_bytes()
    before = resident_bytes()
    start = time.perf_counter_ns()
    objects = decode_list(document)
    for obj in objects:
        engine.upsert(obj)
    spent = time.perf_counter_ns() - start
    return {"ns": spent, "resident": resident_bytes() - before}


def run_list_loads(path: Path) -> Timed:
    """In the child: json.loads on the List of all Workloads, kept until the clock has stopped."""
    document = path.read_bytes()
    before = resident_bytes()
    start = time.perf_counter_ns()
    parsed = json.loads(document)
    spent = time.perf_counter_ns() - start
    resident = resident_bytes() - before
    del parsed
    return {"ns": spent, "resident": resident}


RUNS: dict[str, Callable[[Path], Timed]] = {
    "ingest": run_ingest,
    "loads": run_loads,
    "list-ingest": run_list_ingest,
    "list-loads": run_list_loads,
}


def write_list(lines: Path, document: Path) -> None:
    """Writes the objects of a file of JSON lines as one document, a `kind: List`."""
    with lines.open("rb") as source, document.open("wb") as target:
        target.write(b'{"apiVersion":"v1","kind":"List","items":[')
        for number, line in enumerate(source):
            target.write((b"," if number else b"") + line.rstrip(b"\n"))
        target.write(b"]}\n")


def cost(shape: str, count: int, size: int, runs: Mapping[str, Sequence[Timed]]) -> Cost:
    """The row of a shape: `size` bytes of lines in all, and for each of RUNS what its rounds gave."""
    spent = {name: statistics.median(run["ns"] for run in rounds) for name, rounds in runs.items()}
    each = {name: round(ns / count / 1000, 2) for name, ns in spent.items()}
    return Cost(
        shape=shape,
        count=count,
        json_bytes=size // count,
        resident_bytes=round(statistics.median(run["resident"] for run in runs["ingest"]) / count),
        ingest_us=each["ingest"],
        json_loads_us=each["loads"],
        ratio=round(spent["ingest"] / spent["loads"], 3),
        list_ingest_us=each["list-ingest"],
        list_json_loads_us=each["list-loads"],
        list_ratio=round(spent["list-ingest"] / spent["list-loads"], 3),
    )


def measure(shape: str, count: int, rounds: int) -> Cost:
    """Writes `count` Workloads of the shape to files, and makes all RUNS in turn, `rounds` times."""
    with tempfile.TemporaryDirectory() as folder:
        lines, document = Path(folder) / "workloads.jsonl", Path(folder) / "workloads.json"
        with lines.open("wb") as file:
            for workload in memory_shapes.SHAPES[shape](count):
                file.write(memory_shapes.encode(workload))
        write_list(lines, document)
        runs: dict[str, list[Timed]] = {name: [] for name in RUNS}
        for _ in range(rounds):
            for name, done in runs.items():
                done.append(_child(name, document if name.startswith("list") else lines))
        return cost(shape, count, lines.stat().st_size, runs)


def _child(mode: str, path: Path) -> Timed:
    command = [sys.executable, "-m", "bench.memory", f"--run={mode}", f"--file={path}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=True)
    result: Timed = json.loads(done.stdout)
    return result


def table_line(cells: Sequence[str]) -> str:
    """A line of the table."""
    return "  ".join(cell.rjust(len(column) + 1) for column, cell in zip(COLUMNS, cells, strict=True))


def main(arguments: Sequence[str]) -> int:
    """Prints a row a shape. Exit code 0, or 2 for bad arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.memory", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--count", type=int, default=100_000, help="Workloads (default 100000)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (default 3)")
    parser.add_argument("--json", action="store_true", help="one object a shape, a line each")
    parser.add_argument("--shape", choices=memory_shapes.SHAPES, action="append", help="default: all")
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run:
        print(json.dumps(RUNS[options.run](options.file)))
        return 0
    for name in ("count", "rounds"):
        if getattr(options, name) < 1:
            parser.error(f"argument --{name}: expected 1 or more, got {getattr(options, name)}")
    if not options.json:
        print(table_line([column.replace("_", " ") for column in COLUMNS]))
    for shape in options.shape or memory_shapes.SHAPES:
        row = asdict(measure(shape, options.count, options.rounds))
        text = json.dumps(row) if options.json else table_line([str(row[column]) for column in COLUMNS])
        print(text, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
