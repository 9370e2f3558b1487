"""How the cost of a scheduling cycle grows: with candidates, with ClusterQueues, with leaves, with flavors.

    python -m bench.curves [CURVE...] [--out bench/curves.svg] [--json] [--rounds 3] [--peer]

Each curve is one load case at growing sizes. A point is the time of a cycle inside `Engine.cycle`, the decision
objects included, median over the rounds. CPU time of the thread is what counts, since a busy machine does not
change it much; wall time stands beside it. `slope` is the growth exponent from the point before, log over log:
1 is linear, 2 quadratic, 0 none. `--peer` runs Kueue's own scheduler on the same input (wall time; needs Go).
"""

import argparse
import gc
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.curves_picture import Line, Panel, draw
from bench.engines import NOW, blocked, filled_engine
from bench.load_cases import LoadCase, drain, preempt, topology
from bench.peer_build import BenchError, build_peer
from bench.side_by_side import NS_PER_MS, run_process

CANDIDATES = (1000, 2000, 5000, 10_000)
QUEUES = (1000, 2000, 3500, 5000)
FLAVORS = (1, 2, 4, 8, 16)
LEAVES = (1024, 5120, 20_480, 51_200, 102_400)
CYCLES = 3  # of a case with more than one
COHORT = 100  # ClusterQueues in a cohort, where there are many cohorts
PEER_SECONDS = 60  # a run of the peer that takes longer is left out, and larger ones with it
NEAR_LINEAR = 1.1  # a slope up to here is called linear: what medians of a few rounds can tell apart


@dataclass(frozen=True)
class Curve:
    """One load case at growing sizes. `decides` gives how many admissions and preemptions a cycle brings."""

    unit: str
    sizes: tuple[int, ...]
    cycles: int
    build: Callable[[int], LoadCase]
    decides: Callable[[int], int]


CURVES: dict[str, Curve] = {
    "preempt": Curve("candidates", CANDIDATES, 1, lambda size: preempt("", size), lambda size: size // 2),
    "preempt-wide": Curve(
        "candidates",
        CANDIDATES,
        1,
        lambda size: preempt("", size, queues=size // 20),
        lambda size: size // 2,
    ),
    "preempt-fair": Curve(
        "candidates",
        CANDIDATES,
        1,
        lambda size: preempt("", size, queues=50, fair=True),
        lambda size: size // 2,
    ),
    "preempt-fair-wide": Curve(
        "candidates",
        CANDIDATES,
        1,
        lambda size: preempt("", size, queues=size // 20, fair=True),
        lambda size: size // 2,
    ),
    "drain": Curve(
        "ClusterQueues",
        QUEUES,
        CYCLES,
        lambda size: drain("", size // COHORT, COHORT, CYCLES),
        lambda size: size,
    ),
    "drain-flat": Curve(
        "ClusterQueues", QUEUES, CYCLES, lambda size: drain("", 1, size, CYCLES), lambda size: size
    ),
    "drain-fair": Curve(
        "ClusterQueues",
        QUEUES,
        CYCLES,
        lambda size: drain("", size // COHORT, COHORT, CYCLES, fair=True),
        lambda size: size,
    ),
    "drain-fair-flat": Curve(
        "ClusterQueues", QUEUES, CYCLES, lambda size: drain("", 1, size, CYCLES, fair=True), lambda size: size
    ),
    "topology": Curve(
        "leaves",
        LEAVES,
        CYCLES,
        lambda size: topology("", size // 1024, 32, 32, CYCLES, 256),
        lambda size: 1,
    ),
    "flavors": Curve("flavors", FLAVORS, CYCLES, lambda size: blocked(100, size), lambda size: 0),
}


@dataclass(frozen=True)
class Times:
    """Milliseconds a cycle."""

    cpu: float
    wall: float


@dataclass(frozen=True)
class Point:
    """A row of the table: milliseconds a cycle, medians over the rounds; slopes from the row before."""

    curve: str
    unit: str
    size: int
    cpu_ms: float
    wall_ms: float
    slope: float | None
    peer_ms: float | None
    peer_slope: float | None


def slopes(sizes: Sequence[float], costs: Sequence[float | None]) -> list[float | None]:
    """Growth exponents between consecutive points; None for the first, and where a cost is missing or 0.

    Raises ValueError if sizes do not grow or the lengths differ.
    """
    if len(sizes) != len(costs):
        raise ValueError(f"costs: expected {len(sizes)}, one a size, got {len(costs)}")
    found: list[float | None] = [None] * len(sizes)
    for i in range(1, len(sizes)):
        if not 0 < sizes[i - 1] < sizes[i]:
            raise ValueError(f"sizes: expected positive, growing ones, got {sizes[i - 1]} before {sizes[i]}")
        before, after = costs[i - 1], costs[i]
        if before and after:
            found[i] = math.log(after / before) / math.log(sizes[i] / sizes[i - 1])
    return found


def overall_slope(sizes: Sequence[float], costs: Sequence[float | None]) -> float | None:
    """The growth exponent of the line through all points that fits best (least squares); None for fewer than two."""
    points = [(math.log(x), math.log(y)) for x, y in zip(sizes, costs, strict=True) if y]
    if len(points) < 2:
        return None
    mean_x = statistics.fmean(x for x, _ in points)
    mean_y = statistics.fmean(y for _, y in points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def points(
    name: str,
    unit: str,
    sizes: Sequence[int],
    rounds: Sequence[Sequence[Times]],
    peer: Sequence[float | None],
) -> list[Point]:
    """The rows of a curve. `rounds`: for each size its runs; `peer`: milliseconds of the other side, if any."""
    cpu = [statistics.median(run.cpu for run in runs) for runs in rounds]
    wall = [statistics.median(run.wall for run in runs) for runs in rounds]
    ours, theirs = slopes(sizes, cpu), slopes(sizes, peer)
    return [
        Point(
            curve=name,
            unit=unit,
            size=size,
            cpu_ms=round(cpu[i], 4),
            wall_ms=round(wall[i], 4),
            slope=_rounded(ours[i], 2),
            peer_ms=_rounded(peer[i], 4),
            peer_slope=_rounded(theirs[i], 2),
        )
        for i, size in enumerate(sizes)
    ]


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


# ---- measuring


def measure(name: str, rounds: int, peer: Path | None) -> list[Point]:
    """Runs a curve. The rounds go over all sizes in turn, so that a busy moment does not hit one size only."""
    curve = CURVES[name]
    cases = [curve.build(size) for size in curve.sizes]
    runs: list[list[Times]] = [[] for _ in cases]
    for number in range(1, rounds + 1):
        for case, size, done in zip(cases, curve.sizes, runs, strict=True):
            done.append(run_ours(case, curve.cycles, curve.decides(size)))
            _say(f"{name}: {size} {curve.unit}: round {number} of {rounds}: {done[-1].cpu:.3f} ms a cycle")
    theirs: list[float | None] = [None] * len(cases)
    for i, case in enumerate(cases if peer else ()):
        assert peer is not None
        theirs[i] = run_peer(case, peer, rounds)
        if theirs[i] is None:
            _say(f"{name}: the peer takes over {PEER_SECONDS} s for {curve.sizes[i]} {curve.unit}: left out")
            break
        _say(f"{name}: {curve.sizes[i]} {curve.unit}: peer {theirs[i]:.3f} ms a cycle")
    return points(name, curve.unit, curve.sizes, runs, theirs)


def run_ours(case: LoadCase, cycles: int, want: int) -> Times:
    """`cycles` cycles on a fresh engine that holds the case.

    Raises BenchError if a cycle does not decide `want` admissions and preemptions: then what was timed is not
    what the curve is about.
    """
    engine = filled_engine(case)
    gc.collect()
    cpu = wall = 0
    for _ in range(cycles):
        cpu_start, wall_start = time.thread_time_ns(), time.perf_counter_ns()
        cycle = engine.cycle(NOW)
        wall += time.perf_counter_ns() - wall_start
        cpu += time.thread_time_ns() - cpu_start
        decided = len(cycle.admitted) + len(cycle.preempted)
        if decided != want:
            raise BenchError(f"a cycle decided {decided} admissions and preemptions: expected {want}")
    return Times(cpu / NS_PER_MS / cycles, wall / NS_PER_MS / cycles)


def run_peer(case: LoadCase, peer: Path, rounds: int) -> float | None:
    """The peer's milliseconds a cycle, None if a run takes too long."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "scenario.jsonl"
        scenario.write_text(case.line() + "\n")
        try:
            runs = [run_process([str(peer), "-time"], scenario, PEER_SECONDS) for _ in range(rounds)]
        except subprocess.TimeoutExpired:
            return None
    return statistics.median(run.ms_a_cycle for run in runs)


# ---- output

COLUMNS = ("curve", "size", "cpu ms", "wall ms", "slope", "peer ms", "peer slope")
WIDTHS = (18, 20, 10, 10, 7, 10, 11)


def table_line(cells: Sequence[str]) -> str:
    """A line of the table: the first cell to the left, the others to the right."""
    first, *rest = zip(cells, WIDTHS, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]).rstrip()


def table(rows: Sequence[Point]) -> list[str]:
    """The lines of one curve, and in the last the slope over all its points with a word on it."""
    lines = [
        table_line(
            (
                row.curve,
                f"{row.size} {row.unit}",
                f"{row.cpu_ms:.3f}",
                f"{row.wall_ms:.3f}",
                _cell(row.slope, 2),
                _cell(row.peer_ms, 3),
                _cell(row.peer_slope, 2),
            )
        )
        for row in rows
    ]
    sizes = [row.size for row in rows]
    ours = overall_slope(sizes, [row.cpu_ms for row in rows])
    theirs = overall_slope(sizes, [row.peer_ms for row in rows])
    verdict = "" if ours is None else f"  {verdict_of(ours)}"
    total = table_line((f"{rows[0].curve}: all", "", "", "", _cell(ours, 2), "", _cell(theirs, 2)))
    return [*lines, total + verdict]


def verdict_of(slope: float) -> str:
    """A slope in words."""
    return "no worse than linear" if slope <= NEAR_LINEAR else "worse than linear"


def _cell(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def panels(rows: Sequence[Point]) -> list[Panel]:
    """What the picture shows: a panel for each unit, in it a line a curve and a side."""
    found: dict[str, list[Line]] = {}
    curves: dict[str, list[Point]] = {}
    for row in rows:
        curves.setdefault(row.curve, []).append(row)
    for name, own in curves.items():
        lines = found.setdefault(own[0].unit, [])
        color = len([line for line in lines if not line.is_peer])
        sides = (
            (name, False, [row.cpu_ms for row in own]),
            (f"Kueue {name}", True, [row.peer_ms for row in own]),
        )
        for label, is_peer, costs in sides:
            slope = overall_slope([row.size for row in own], costs)
            if slope is None:
                continue
            measured = [(float(row.size), cost) for row, cost in zip(own, costs, strict=True) if cost]
            lines.append(Line(f"{label}, slope {slope:.2f}", measured, color, is_peer))
    return [Panel(unit, lines) for unit, lines in found.items() if lines]


def main(arguments: Sequence[str]) -> int:
    """Exit code: 0 if all was measured, 2 if not. Whether slopes are good is for the reader of the table."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.curves", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("curves", nargs="*", metavar="CURVE", help=f"{', '.join(CURVES)} (default: all)")
    parser.add_argument("--out", type=Path, metavar="FILE.svg", help="also draw a picture")
    parser.add_argument("--json", action="store_true", help="one object a point, a line each")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each point (default 3)")
    parser.add_argument(
        "--peer", action="store_true", help="Kueue's own scheduler too (needs Go, takes minutes)"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.curves if name not in CURVES]
    if unknown:
        parser.error(f"unknown curve {unknown[0]!r}: expected one of {', '.join(CURVES)}")
    if options.rounds < 1:
        parser.error(f"argument --rounds: {options.rounds} is too few: expected 1 or more")
    if options.out and not options.out.absolute().parent.is_dir():
        parser.error(f"argument --out: {options.out}: expected a file in a folder that exists")
    rows: list[Point] = []
    try:
        peer = build_peer() if options.peer else None
        if not options.json:
            print(table_line(COLUMNS), flush=True)
        for name in options.curves or CURVES:
            own = measure(name, options.rounds, peer)
            lines = [json.dumps(asdict(row)) for row in own] if options.json else table(own)
            print("\n".join(lines), flush=True)
            rows += own
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.out:
        options.out.write_text(draw(panels(rows)))
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
