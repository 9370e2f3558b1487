"""Our engine and Kueue's own scheduler on the same load cases: time a cycle, and whether they decide the same.

    python -m bench.side_by_side CASE... [--json] [--rounds 3]

Each round runs both in turn, each in a fresh process. What counts is the time inside scheduling cycles: all
of Kueue's `schedule`, and all of our `Engine.cycle`, the decision objects and requeueing included. Decisions are
compared with the peer's, and in the cases of bench/expected with those of v0.19, from which the peer's version
(v0.17) differs there.
"""

import argparse
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from bench import load_cases
from bench.peer_build import ROOT, BenchError, build_peer
from kueue_fast.sim.conformance_compare import first_difference

EXPECTED = ROOT / "bench" / "expected"
NS_PER_MS = 1_000_000

Steps = list[dict[str, Any]]
COLUMNS = ("case", "peer_ms", "our_ms", "peer_cycles", "our_cycles", "ratio", "same_decisions")


class NotMeasuredError(Exception):
    """A case that our engine does not support yet; the text says why."""


COLD_CYCLES = 5
"""A case of fewer cycles is replayed twice in each process, on both sides, and the second time counts.

Else a single cycle would measure how a fresh process faults its code in, which no scheduler that runs does.
"""


@dataclass(frozen=True)
class Run:
    """One process' decisions and its time inside cycles."""

    steps: Steps
    cycle_ns: int
    cycles: int

    @property
    def ms_a_cycle(self) -> float:
        """Mean wall time of a cycle in milliseconds; 0 if there was none."""
        return self.cycle_ns / NS_PER_MS / self.cycles if self.cycles else 0.0


@dataclass(frozen=True)
class Comparison:
    """A case's row. Times are milliseconds a cycle, medians over the rounds; `ratio` is peer's over ours."""

    case: str
    peer_ms: float
    our_ms: float
    peer_cycles: int
    our_cycles: int
    ratio: float
    same_decisions: bool


def parse_last_run(output: str) -> Run:
    """The run in the last line of an output. Raises BenchError, NotMeasuredError."""
    return parse_run(output.rstrip("\n").rpartition("\n")[2])


def parse_run(output: str) -> Run:
    """The run in a line of the peer's or our output. Raises BenchError, NotMeasuredError."""
    try:
        result = json.loads(output)
    except json.JSONDecodeError as error:
        raise BenchError(f"the output is not JSON: {error}") from None
    if result.get("error"):
        raise BenchError(f"{result.get('name')}: {result['error']}")
    if "unsupported" in result:
        raise NotMeasuredError(result["unsupported"])
    return Run(result["steps"], result.get("cycleNs", 0), result.get("cycles", 0))


def compare(case: str, peers: Sequence[Run], ours: Sequence[Run], want: Steps | None = None) -> Comparison:
    """The row of a case from its rounds. `want`: decisions to be held to, None for the peer's first."""
    reference = peers[0].steps if want is None else want
    peer_ms = statistics.median(run.ms_a_cycle for run in peers)
    our_ms = statistics.median(run.ms_a_cycle for run in ours)
    return Comparison(
        case=case,
        peer_ms=round(peer_ms, 4),
        our_ms=round(our_ms, 4),
        peer_cycles=peers[0].cycles,
        our_cycles=ours[0].cycles,
        ratio=round(peer_ms / our_ms, 2) if our_ms else 0.0,
        same_decisions=all(first_difference(reference, run.steps) is None for run in ours),
    )


def measure(case: str, rounds: int, peer: Path, say: Callable[[str], None]) -> Comparison:
    """Runs both `rounds` times on `case`. Raises BenchError, NotMeasuredError."""
    want = expected_decisions(case)
    peers, ours = [], []
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "scenario.jsonl"
        line = load_cases.build(case).line() + "\n"
        scenario.write_text(line)
        if run_process([sys.executable, "-m", "bench.ours"], scenario).cycles < COLD_CYCLES:
            scenario.write_text(line * 2)
        for number in range(1, rounds + 1):
            # Ours first: a case that it does not support need not wait for the peer.
            ours.append(run_process([sys.executable, "-m", "bench.ours"], scenario))
            say(f"{case}: round {number} of {rounds}: ours {ours[-1].ms_a_cycle:.3f} ms a cycle")
            peers.append(run_process([str(peer), "-time"], scenario))
            say(f"{case}: round {number} of {rounds}: peer {peers[-1].ms_a_cycle:.3f} ms a cycle")
    row = compare(case, peers, ours, want)
    if not row.same_decisions:
        reference = peers[0].steps if want is None else want
        found = (first_difference(reference, run.steps) for run in ours)
        say(f"{case}: first difference: {next(filter(None, found))}")
    return row


def expected_decisions(case: str) -> Steps | None:
    """v0.19's decisions, for the cases in which the peer's version decides otherwise."""
    path = EXPECTED / f"{case}.json.gz"
    if not path.exists():
        return None
    with gzip.open(path) as file:
        steps: Steps = json.load(file)["steps"]
    return steps


def run_process(command: Sequence[str], scenario: Path, timeout: float | None = None) -> Run:
    """Runs a side on a file of one scenario. Raises BenchError, NotMeasuredError, subprocess.TimeoutExpired."""
    with scenario.open() as lines:
        done = subprocess.run(
            command, stdin=lines, capture_output=True, text=True, cwd=ROOT, timeout=timeout, check=False
        )
    if done.returncode:
        said = "\n".join(done.stderr.splitlines()[-20:])
        raise BenchError(f"{' '.join(command)} ended with code {done.returncode}:\n{said}")
    return parse_last_run(done.stdout)


def write_row(row: Comparison | Mapping[str, str], as_json: bool, out: TextIO) -> None:
    """A row as JSON on a line, or as a line of the table. A mapping has `case` and why it is `unsupported`."""
    values = asdict(row) if isinstance(row, Comparison) else dict(row)
    if as_json:
        print(json.dumps(values), file=out, flush=True)
    elif "unsupported" in values:
        print(f"{values['case']:<22}  unsupported: {values['unsupported']}", file=out, flush=True)
    else:
        print(_table_line([_cell(values[column]) for column in COLUMNS]), file=out, flush=True)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _table_line(cells: Iterable[str]) -> str:
    widths = (22, 10, 10, 12, 11, 9, 14)
    first, *rest = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)])


def main(arguments: Sequence[str]) -> int:
    """Exit code: 0 if all cases were measured and decided the same, 1 if not, 2 if they could not be run."""
    parser = argparse.ArgumentParser(prog="python -m bench.side_by_side", description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="+", metavar="CASE", help=", ".join(load_cases.CASES))
    parser.add_argument("--json", action="store_true", help="one object a case, a line each")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each side (default 3)")
    options = parser.parse_args(arguments)
    unknown = [case for case in options.cases if case not in load_cases.CASES]
    if unknown:
        parser.error(f"unknown case {unknown[0]!r}: expected one of {', '.join(load_cases.CASES)}")
    if options.rounds < 1:
        parser.error(f"argument --rounds: {options.rounds} is too few: expected 1 or more")
    return _compare_cases(options.cases, options.rounds, options.json)


def _compare_cases(cases: Sequence[str], rounds: int, as_json: bool) -> int:
    code = 0
    try:
        peer = build_peer()
        if not as_json:
            print(_table_line(column.replace("_", " ") for column in COLUMNS), flush=True)
        for case in cases:
            try:
                row = measure(case, rounds, peer, _say)
            except NotMeasuredError as error:
                write_row({"case": case, "unsupported": str(error)}, as_json, sys.stdout)
                code = 1
                continue
            write_row(row, as_json, sys.stdout)
            code = code if row.same_decisions else 1
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return code


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
