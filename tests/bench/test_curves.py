"""Growth curves: slopes, rows, table and picture. No Go, no engine run."""

import json
import math
from dataclasses import asdict
from xml.etree import ElementTree

import pytest

from bench import curves
from bench.curves import CURVES, Point, Times, overall_slope, panels, points, slopes, table, verdict_of
from bench.curves_picture import Line, Panel, draw, scale, spread, ticks

SVG = "{http://www.w3.org/2000/svg}"


class TestSlopes:
    COSTS = {
        "linear": ([1000, 2000, 10_000], [1.0, 2.0, 10.0], [None, 1.0, 1.0]),
        "quadratic, then flat": ([10, 20, 40], [1.0, 4.0, 4.0], [None, 2.0, 0.0]),
        "falling": ([10, 100], [100.0, 10.0], [None, -1.0]),
        "a cost is missing": ([1, 2, 4, 8], [1.0, None, 4.0, 8.0], [None, None, None, 1.0]),
        "a cost of 0 has no logarithm": ([1, 2, 4], [0.0, 1.0, 2.0], [None, None, 1.0]),
        "one point": ([1000], [5.0], [None]),
        "none": ([], [], []),
    }

    @pytest.mark.parametrize(("sizes", "costs", "want"), COSTS.values(), ids=COSTS.keys())
    def test_slopes(self, sizes: list[int], costs: list[float | None], want: list[float | None]) -> None:
        assert slopes(sizes, costs) == [value if value is None else pytest.approx(value) for value in want]

    REFUSED = {
        "sizes that stand still": ([10, 10], [1.0, 1.0], "growing ones, got 10 before 10"),
        "sizes that shrink": ([10, 5], [1.0, 1.0], "growing ones, got 10 before 5"),
        "a size of 0": ([0, 5], [1.0, 1.0], "growing ones, got 0 before 5"),
        "a cost too few": ([1, 2], [1.0], "expected 2, one a size, got 1"),
    }

    @pytest.mark.parametrize(("sizes", "costs", "want"), REFUSED.values(), ids=REFUSED.keys())
    def test_refused(self, sizes: list[int], costs: list[float | None], want: str) -> None:
        with pytest.raises(ValueError, match=want):
            slopes(sizes, costs)

    OVERALL = {
        "a power of the size": ([1, 2, 4, 8], [3.0, 3 * 2**1.5, 3 * 4**1.5, 3 * 8**1.5], 1.5),
        "a point that is off pulls by its share": ([1, 10, 100], [1.0, 100.0, 100.0], 1.0),
        "what is missing does not count": ([1, 2, 4], [1.0, None, 4.0], 1.0),
        "constant": ([1, 2, 4], [7.0, 7.0, 7.0], 0.0),
    }

    @pytest.mark.parametrize(("sizes", "costs", "want"), OVERALL.values(), ids=OVERALL.keys())
    def test_overall(self, sizes: list[int], costs: list[float | None], want: float) -> None:
        assert overall_slope(sizes, costs) == pytest.approx(want)

    @pytest.mark.parametrize("costs", [[None, None], [1.0, None], [None, 0.0]])
    def test_no_overall_slope_without_two_points(self, costs: list[float | None]) -> None:
        assert overall_slope([1, 2], costs) is None

    @pytest.mark.parametrize(
        ("slope", "want"),
        [(-0.5, "no worse than linear"), (1.1, "no worse than linear"), (1.11, "worse than linear")],
    )
    def test_verdict(self, slope: float, want: str) -> None:
        assert verdict_of(slope) == want


ROUNDS = [
    [Times(1.0, 9.0), Times(50.0, 2.0), Times(2.0, 3.0)],
    [Times(8.0, 12.0), Times(7.0, 14.0), Times(9.0, 11.0)],
]
ROWS = [
    Point("preempt", "candidates", 1000, 2.0, 3.0, None, 60.0, None),
    Point("preempt", "candidates", 2000, 8.0, 12.0, 2.0, None, None),
]


class TestRows:
    def test_medians_and_slopes(self) -> None:
        assert points("preempt", "candidates", [1000, 2000], ROUNDS, [60.0, None]) == ROWS

    def test_table_ends_with_the_slope_over_all(self) -> None:
        assert [line.split() for line in table(ROWS)] == [
            ["preempt", "1000", "candidates", "2.000", "3.000", "60.000"],
            ["preempt", "2000", "candidates", "8.000", "12.000", "2.00"],
            ["preempt:", "all", "2.00", "worse", "than", "linear"],
        ]

    def test_columns_stand_below_their_names(self) -> None:
        header = curves.table_line(curves.COLUMNS)
        line = table(ROWS)[0]
        for name, cell in (("cpu ms", "2.000"), ("wall ms", "3.000"), ("peer ms", "60.000")):
            assert header.index(name) + len(name) == line.index(cell) + len(cell)

    def test_json_keys(self) -> None:
        assert json.dumps(asdict(ROWS[1])) == (
            '{"curve": "preempt", "unit": "candidates", "size": 2000, "cpu_ms": 8.0, "wall_ms": 12.0, '
            '"slope": 2.0, "peer_ms": null, "peer_slope": null}'
        )


class TestCurves:
    """The inputs, at their smallest size."""

    @pytest.mark.parametrize("name", CURVES)
    def test_sizes_grow_and_the_case_is_what_the_unit_says(self, name: str) -> None:
        curve = CURVES[name]
        assert list(curve.sizes) == sorted(set(curve.sizes))
        size = curve.sizes[0]
        case = curve.build(size)
        kinds = [manifest["kind"] for manifest in case.objects]
        kind = {
            "candidates": "Workload",
            "ClusterQueues": "ClusterQueue",
            "flavors": "ResourceFlavor",
            "leaves": "Node",
        }[curve.unit]
        assert kinds.count(kind) == size

    COHORTS = {"drain": 10, "drain-flat": 1, "drain-fair": 10, "drain-fair-flat": 1}

    @pytest.mark.parametrize(("name", "want"), COHORTS.items(), ids=COHORTS.keys())
    def test_cohorts(self, name: str, want: int) -> None:
        case = CURVES[name].build(1000)
        queues = [manifest for manifest in case.objects if manifest["kind"] == "ClusterQueue"]
        assert len({queue["spec"]["cohortName"] for queue in queues}) == want
        assert ("fairSharing" in case.config) == ("fair" in name)


class TestTicks:
    RANGES = {
        "round ends": (1000, 10_000, [1000, 2000, 5000, 10_000]),
        "ends between": (1.3, 47, [1, 2, 5, 10, 20, 50]),
        "below one": (0.004, 0.011, [0.002, 0.005, 0.01, 0.02]),
        "one value, round": (5, 5, [5]),
        "one value, between": (3, 3, [2, 5]),
    }

    @pytest.mark.parametrize(("low", "high", "want"), RANGES.values(), ids=RANGES.keys())
    def test_ticks(self, low: float, high: float, want: list[float]) -> None:
        assert ticks(low, high) == want

    @pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 1), (2, 1), (1, math.inf), (math.nan, 1)])
    def test_refused(self, low: float, high: float) -> None:
        with pytest.raises(ValueError, match="expected positive numbers"):
            ticks(low, high)


class TestScale:
    VALUES = {
        "lower end": (1000, 80.0),
        "upper end": (100_000, 700.0),
        "half of the decades": (10_000, 390.0),
    }

    @pytest.mark.parametrize(("value", "want"), VALUES.values(), ids=VALUES.keys())
    def test_scale(self, value: float, want: float) -> None:
        assert scale(1000, 100_000, 80, 700)(value) == pytest.approx(want)

    def test_an_axis_of_one_value(self) -> None:
        assert scale(5, 5, 80, 700)(5) == 80


class TestSpread:
    PLACES = {
        "far apart: as wanted": ([10, 50, 30], 100, [10, 50, 30]),
        "too near: moved down, order kept": ([12, 10, 11], 100, [30, 10, 20]),
        "at the bottom: moved up": ([95, 96], 100, [90, 100]),
        "beyond the bottom": ([120], 100, [100]),
        "none": ([], 100, []),
    }

    @pytest.mark.parametrize(("wanted", "high", "want"), PLACES.values(), ids=PLACES.keys())
    def test_spread(self, wanted: list[float], high: float, want: list[float]) -> None:
        assert spread(wanted, 10, high) == want


class TestPicture:
    def test_is_well_formed_with_a_line_a_curve_and_one_of_slope_1_for_each(self) -> None:
        lines = [
            Line("preempt, slope 1.00", [(1000, 2.0), (10_000, 20.0)], 0),
            Line("Kueue <preempt> & co", [(1000, 60.0), (2000, 240.0)], 0, is_peer=True),
        ]
        root = ElementTree.fromstring(draw([Panel("candidates", lines), Panel("flavors", lines[:1])]))
        assert root.tag == f"{SVG}svg"
        assert len(root.findall(f"{SVG}g")) == 2
        assert len(list(root.iter(f"{SVG}polyline"))) == 3
        assert len([line for line in root.iter(f"{SVG}line") if line.get("class") == "linear"]) == 3
        words = [element.text for element in root.iter(f"{SVG}text")]
        assert "preempt, slope 1.00: 20 ms" in words
        assert "Kueue <preempt> & co: 240 ms" in words
        assert "candidates" in words

    def test_a_linear_curve_lies_on_its_line_of_slope_1(self) -> None:
        root = ElementTree.fromstring(
            draw([Panel("candidates", [Line("x", [(1000, 2.0), (10_000, 20.0)], 0)])])
        )
        (curve,) = root.iter(f"{SVG}polyline")
        (linear,) = (line for line in root.iter(f"{SVG}line") if line.get("class") == "linear")
        ends = [f"{linear.get('x1')},{linear.get('y1')}", f"{linear.get('x2')},{linear.get('y2')}"]
        assert (curve.get("points") or "").split() == ends

    def test_all_stays_inside(self) -> None:
        steep = Line("steep", [(1000, 0.01), (2000, 1.0), (10_000, 900.0)], 0)
        flat = Line("flat", [(1000, 3.0), (10_000, 3.0)], 1)
        root = ElementTree.fromstring(draw([Panel("candidates", [steep, flat])]))
        for line in root.iter(f"{SVG}line"):
            for across, up in (("x1", "y1"), ("x2", "y2")):
                assert 0 <= float(line.get(across) or "nan") <= 1000
                assert 0 <= float(line.get(up) or "nan") <= 420

    def test_no_panel(self) -> None:
        assert ElementTree.fromstring(draw([])).tag == f"{SVG}svg"

    def test_panels_by_unit_with_the_peer_beside_ours(self) -> None:
        drain = [
            Point("drain", "ClusterQueues", 1000, 1.0, 1.0, None, 30.0, None),
            Point("drain", "ClusterQueues", 2000, 2.0, 2.0, 1.0, 90.0, 1.58),
        ]
        other = [Point("drain-fair", row.unit, row.size, row.cpu_ms, 1.0, None, None, None) for row in drain]
        assert panels([*ROWS, *drain, *other]) == [
            Panel("candidates", [Line("preempt, slope 2.00", [(1000, 2.0), (2000, 8.0)], 0)]),
            Panel(
                "ClusterQueues",
                [
                    Line("drain, slope 1.00", [(1000, 1.0), (2000, 2.0)], 0),
                    Line("Kueue drain, slope 1.58", [(1000, 30.0), (2000, 90.0)], 0, is_peer=True),
                    Line("drain-fair, slope 1.00", [(1000, 1.0), (2000, 2.0)], 1),
                ],
            ),
        ]


class TestArguments:
    ARGUMENTS = {
        "unknown curve": (["drains"], "unknown curve 'drains': expected one of preempt"),
        "no round": (["--rounds", "0"], "argument --rounds: 0 is too few"),
        "a folder that does not exist": (
            ["--out", "no/such/folder.svg"],
            "expected a file in a folder that exists",
        ),
    }

    @pytest.mark.parametrize(("arguments", "want"), ARGUMENTS.values(), ids=ARGUMENTS.keys())
    def test_bad_arguments(self, arguments: list[str], want: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as stop:
            curves.main(arguments)
        assert stop.value.code == 2
        assert want in capsys.readouterr().err
