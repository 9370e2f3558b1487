"""The side-by-side benchmark: parsing of runs, comparison and output. No Go, no engine run."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from bench import load_cases, side_by_side
from bench.peer_build import BenchError, source_hash
from bench.side_by_side import Comparison, NotMeasuredError, Run, compare, parse_run, write_row

ADMITTED = {"workload": "load/a", "clusterQueue": "cq", "podSets": [], "admitted": True}
STEPS: list[dict[str, Any]] = [{"cycles": [{"admitted": [ADMITTED]}], "messages": {"load/b": "words"}}]
OTHER: list[dict[str, Any]] = [{"cycles": []}]


def run(steps: list[dict[str, Any]], ms: float, cycles: int = 10) -> Run:
    return Run(steps, int(ms * 1e6 * cycles), cycles)


class TestCompare:
    ROUNDS = {
        "medians of the rounds": (
            [run(STEPS, 4), run(STEPS, 100), run(STEPS, 6)],
            [run(STEPS, 1), run(STEPS, 0.5), run(STEPS, 0.25)],
            None,
            Comparison("drain", 6.0, 0.5, 10, 10, 12.0, True),
        ),
        "messages may differ": (
            [run(STEPS, 1)],
            [run([{"cycles": STEPS[0]["cycles"]}], 1)],
            None,
            Comparison("drain", 1.0, 1.0, 10, 10, 1.0, True),
        ),
        "one round that decides otherwise is enough": (
            [run(STEPS, 1)] * 2,
            [run(STEPS, 1), run(OTHER, 1)],
            None,
            Comparison("drain", 1.0, 1.0, 10, 10, 1.0, False),
        ),
        "expected decisions count, not the peer's": (
            [run(OTHER, 1, cycles=7)],
            [run(STEPS, 1)],
            STEPS,
            Comparison("drain", 1.0, 1.0, 7, 10, 1.0, True),
        ),
        "no cycle at all": (
            [run([], 0, 0)],
            [run([], 0, 0)],
            None,
            Comparison("drain", 0.0, 0.0, 0, 0, 0.0, True),
        ),
    }

    @pytest.mark.parametrize(("peers", "ours", "expected", "want"), ROUNDS.values(), ids=ROUNDS.keys())
    def test_compare(
        self, peers: list[Run], ours: list[Run], expected: list[dict[str, Any]] | None, want: Comparison
    ) -> None:
        assert compare("drain", peers, ours, expected) == want


class TestParseRun:
    def test_time_and_decisions(self) -> None:
        got = parse_run(json.dumps({"name": "x", "steps": STEPS, "cycleNs": 3_000_000, "cycles": 2}))
        assert got == Run(STEPS, 3_000_000, 2)
        assert got.ms_a_cycle == 1.5

    FAILURES = {
        "the peer's error": ('{"name":"x","error":"no such kind"}', BenchError, "x: no such kind"),
        "not JSON": ("panic:", BenchError, "the output is not JSON"),
        "unsupported": ('{"name":"x","unsupported":"fair sharing"}', NotMeasuredError, "fair sharing"),
    }

    @pytest.mark.parametrize(("output", "error", "want"), FAILURES.values(), ids=FAILURES.keys())
    def test_failures(self, output: str, error: type[Exception], want: str) -> None:
        with pytest.raises(error, match=want):
            parse_run(output)


class TestOutput:
    ROW = Comparison("drain-30x500", 4.4753, 0.1501, 500, 500, 29.82, True)

    def test_json_is_one_line_with_these_keys(self) -> None:
        out = io.StringIO()
        write_row(self.ROW, True, out)
        assert out.getvalue() == (
            '{"case": "drain-30x500", "peer_ms": 4.4753, "our_ms": 0.1501, "peer_cycles": 500, '
            '"our_cycles": 500, "ratio": 29.82, "same_decisions": true}\n'
        )

    def test_table_line(self) -> None:
        out = io.StringIO()
        write_row(self.ROW, False, out)
        assert out.getvalue().split() == ["drain-30x500", "4.475", "0.150", "500", "500", "29.820", "yes"]

    @pytest.mark.parametrize(
        ("as_json", "want"),
        [
            (True, '{"case": "tas-5k", "unsupported": "topology"}\n'),
            (False, f"{'tas-5k':<22}  unsupported: topology\n"),
        ],
    )
    def test_unsupported(self, as_json: bool, want: str) -> None:
        out = io.StringIO()
        write_row({"case": "tas-5k", "unsupported": "topology"}, as_json, out)
        assert out.getvalue() == want


class TestArguments:
    ARGUMENTS = {
        "unknown case": (["drain-1x1"], "unknown case 'drain-1x1': expected one of drain-30x500"),
        "no round": (["drain-30x500", "--rounds", "0"], "argument --rounds: 0 is too few"),
        "no case": ([], "the following arguments are required: CASE"),
    }

    @pytest.mark.parametrize(("arguments", "want"), ARGUMENTS.values(), ids=ARGUMENTS.keys())
    def test_bad_arguments(self, arguments: list[str], want: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as stop:
            side_by_side.main(arguments)
        assert stop.value.code == 2
        assert want in capsys.readouterr().err


class TestInputs:
    def test_same_load_case_same_bytes(self) -> None:
        assert load_cases.build("preempt-1000").line() == load_cases.build("preempt-1000").line()

    def test_load_case_has_the_form_of_a_scenario(self) -> None:
        case = json.loads(load_cases.build("tas-preempt-2k").line())
        assert list(case) == ["name", "config", "objects", "steps"]
        assert case["name"] == "tas-preempt-2k"
        assert case["steps"][0]["maxCycles"] == 1

    def test_expected_decisions_only_for_contended_cases(self) -> None:
        have = {case for case in load_cases.CASES if side_by_side.expected_decisions(case) is not None}
        assert have == {"contended-30x300", "contended-fair-30x300"}

    def test_source_hash_follows_the_sources(self, tmp_path: Path) -> None:
        (tmp_path / "main.go").write_text("package main")
        before = source_hash(tmp_path)
        (tmp_path / "README.md").write_text("words")
        assert source_hash(tmp_path) == before
        (tmp_path / "main.go").write_text("package other")
        assert source_hash(tmp_path) != before
