"""What a pending Workload costs: resident memory after ingest, and the time of ingest from JSON.

    python -m bench.memory [--count 100000] [--rounds 3] [--json]

Each round runs twice, each time in a fresh process with the garbage collector as Python sets it: one process
feeds all Workloads to an engine, the other only calls `json.loads` on the same bytes and drops the result. What
is resident after minus before the first Workload, over their number, is what each costs, everything included.
Reading the file counts in neither time.
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
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from bench import memory_shapes
from bench.peer_build import ROOT

CHUNK = 1000  # lines held at a time
COLUMNS = ("shape", "count", "json_bytes", "resident_bytes", "ingest_us", "json_loads_us", "ratio")


@dataclass(frozen=True)
class Cost:
    """A shape's row. Bytes and microseconds are a Workload's, medians over the rounds; `ratio` is ingest over
    json.loads.
    """

    shape: str
    count: int
    json_bytes: int
    resident_bytes: int
    ingest_us: float
    json_loads_us: float
    ratio: float


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


def run_ingest(path: Path) -> dict[str, int]:
    """In the child: an engine that has the queues takes every Workload."""
    from kueue_fast import Engine
    from kueue_fast.api.decode import decode, decode_object

    engine = Engine()
    for manifest in memory_shapes.queues():
        engine.upsert(decode_object(manifest))
    gc.collect()
    before = resident_bytes()
    spent = feed(path, lambda line: engine.upsert(decode(line)))
    return {"ns": spent, "resident": resident_bytes() - before}


def run_loads(path: Path) -> dict[str, int]:
    """In the child: json.loads on every Workload."""
    return {"ns": feed(path, json.loads), "resident": 0}


def measure(shape: str, count: int, rounds: int) -> Cost:
    """Writes `count` Workloads of the shape to a file and runs both on it, `rounds` times."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "workloads.jsonl"
        with path.open("wb") as file:
            for workload in memory_shapes.SHAPES[shape](count):
                file.write(memory_shapes.encode(workload))
        runs = [(_child("ingest", path), _child("loads", path)) for _ in range(rounds)]
        size = path.stat().st_size
    ingest = statistics.median(run["ns"] for run, _ in runs)
    loads = statistics.median(run["ns"] for _, run in runs)
    return Cost(
        shape=shape,
        count=count,
        json_bytes=size // count,
        resident_bytes=round(statistics.median(run["resident"] for run, _ in runs) / count),
        ingest_us=round(ingest / count / 1000, 2),
        json_loads_us=round(loads / count / 1000, 2),
        ratio=round(ingest / loads, 3),
    )


def _child(mode: str, path: Path) -> dict[str, int]:
    command = [sys.executable, "-m", "bench.memory", f"--run={mode}", f"--file={path}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=True)
    result: dict[str, int] = json.loads(done.stdout)
    return result


def main(arguments: Sequence[str]) -> int:
    """Prints a row a shape. Exit code 0, or 2 for bad arguments."""
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000, help="Workloads (default 100000)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (default 3)")
    parser.add_argument("--json", action="store_true", help="one object a shape, a line each")
    parser.add_argument("--shape", choices=memory_shapes.SHAPES, action="append", help="default: all")
    parser.add_argument("--run", choices=["ingest", "loads"], help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run:
        print(json.dumps((run_ingest if options.run == "ingest" else run_loads)(options.file)))
        return 0
    for name in ("count", "rounds"):
        if getattr(options, name) < 1:
            parser.error(f"argument --{name}: expected 1 or more, got {getattr(options, name)}")
    if not options.json:
        print("  ".join(f"{column.replace('_', ' '):>14}" for column in COLUMNS))
    for shape in options.shape or memory_shapes.SHAPES:
        row = asdict(measure(shape, options.count, options.rounds))
        text = json.dumps(row) if options.json else "  ".join(f"{row[column]:>14}" for column in COLUMNS)
        print(text, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
