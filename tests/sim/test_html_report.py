"""The page: read as XML, and looked through for what a reader wants to see."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kueue_fast.lifecycle import events
from kueue_fast.sim.html_chart import column_means
from kueue_fast.sim.html_parts import element, short_time, text
from kueue_fast.sim.html_report import to_html
from kueue_fast.sim.html_topology import merged, picture
from kueue_fast.sim.result import FlavorRow, QueueRow, ResourceUse, SimulationResult
from kueue_fast.sim.topology_numbers import measure
from kueue_fast.sim.topology_result import Occupant, TopologyLeaf, TopologyRow
from tests.sim.test_report import SECOND, START, result
from tests.sim.test_topology_numbers import CAPACITY, LEVELS, gang, leaf

XHTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"


def read(page: bytes) -> ElementTree.Element:
    assert page.startswith(b"<!DOCTYPE html>\n<html ")
    return ElementTree.fromstring(page)


def words(root: ElementTree.Element) -> str:
    return " ".join(" ".join(root.itertext()).split())


def titles(root: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in root.iter(f"{SVG}title")]


def headings(root: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in root.iter(f"{XHTML}h2")]


def with_history(nominal: int = 8000) -> SimulationResult:
    """Two queues that use a flavor for 100 s."""
    made = []
    for name, history in (("a", [(START, 2000), (START + 50 * SECOND, 0)]), ("b", [(START, 4000)])):
        use = ResourceUse("default", "cpu", nominal, peak=4000, integral=1, history=history)
        made.append(QueueRow(name, None, True, "Ready", "", [use]))
    flavor = FlavorRow("default", "cpu", nominal, peak=6000)
    return replace(result(), queues=made, flavors=[flavor])


def with_topology(leaves: list[TopologyLeaf] | None = None) -> SimulationResult:
    """A flavor with a busy moment 10 s after the start, and an idle end."""
    busy = leaves or [
        leaf("a/r0/h0", 4),
        leaf("a/r0/h1", 1, other={"cpu": 1000, "pods": 1}),
        TopologyLeaf(("b", "r1", "h2"), {}, 1, 0, [Occupant("ns/x<&>", 2, {"pods": 2})]),
    ]
    idle = [TopologyLeaf(each.values, CAPACITY, 1, 1) for each in busy]
    gangs = [gang(2, gpu=2)]
    row = TopologyRow(
        "gpu",
        "site",
        LEVELS,
        measure(START + 100 * SECOND, LEVELS, idle, gangs),
        measure(START + 10 * SECOND, LEVELS, busy, gangs),
    )
    return replace(result(), topologies=[row])


# ---- the page ----


def test_the_page_shows_what_the_text_report_shows() -> None:
    root = read(to_html(result()))
    assert headings(root) == [
        "Workloads",
        "Why they wait",
        "Preemptions",
        "ClusterQueues",
        "Use over the run",
        "Events",
    ]
    shown = words(root)
    for want in (
        "6 workloads, 2 finished (1 failed)",
        "team-a/job-waits-eeeee",
        "insufficient unused quota for nvidia.com/gpu",
        "until these have stopped: team-a/job-runs-ccccc",
        "held is not active (Stopped)",
        "/company/cohort/cq",
    ):
        assert want in shown
    [workloads] = [each for each in root.iter(f"{XHTML}table") if "Arrived" in words(each)]
    assert len(list(workloads.iter(f"{XHTML}tr"))) == 1 + 6


def test_the_page_needs_nothing_else() -> None:
    page = to_html(with_topology())
    assert not re.search(rb"<script|<link|<img|@import|url\(|src=", page)
    assert set(re.findall(rb'https?://[^"\s]+', page)) == {
        b"http://www.w3.org/1999/xhtml",
        b"http://www.w3.org/2000/svg",
    }


def test_the_same_result_gives_the_same_bytes() -> None:
    assert to_html(with_topology()) == to_html(with_topology())


def test_text_is_never_markup() -> None:
    odd = events.started("Job", "ns", "<b>&amp;</b>", "cq\x00\x1b\uffff", START)
    root = read(to_html(replace(result(), events=[odd])))
    assert "Job ns/<b>&amp;</b>" in words(root)
    assert "cq\ufffd\ufffd\ufffd" in words(root)


def test_an_empty_run() -> None:
    empty = SimulationResult(START, START, False, 0, [], [], [], [], [])
    assert headings(read(to_html(empty))) == ["Workloads", "ClusterQueues", "Use over the run"]


# ---- use over time ----


def figures(root: ElementTree.Element) -> Iterator[tuple[str, ElementTree.Element]]:
    for figure in root.iter(f"{XHTML}figure"):
        caption = figure.find(f"{XHTML}figcaption")
        assert caption is not None
        yield caption.text or "", figure


def test_a_chart_stacks_the_queues() -> None:
    [(caption, figure)] = figures(read(to_html(with_history())))
    assert caption == "default/cpu"
    assert titles(figure) == ["default/cpu over time, by ClusterQueue", "a", "b", "nominal 8", "peak 6"]
    assert words(figure).endswith("a b")
    first, second = (each.get("d") or "" for each in figure.iter(f"{SVG}path"))
    # 152 px are 8 cpu: 2 of them are 38 px above the base at 166, 4 more another 76.
    assert first.startswith("M8 128V128H249V166H")
    assert second.startswith("M8 52V52H249V90H")


def test_a_chart_without_a_quota_reaches_its_peak() -> None:
    [(_, figure)] = figures(read(to_html(with_history(2**63 - 1))))
    assert titles(figure)[-1] == "peak 6"


def test_a_chart_with_many_queues_puts_the_small_ones_together() -> None:
    uses = [
        ResourceUse("default", "cpu", 0, peak=1, integral=number, history=[(START, 1)])
        for number in range(20)
    ]
    queues = [QueueRow(f"q{number:02}", None, True, "Ready", "", [use]) for number, use in enumerate(uses)]
    many = replace(with_history(), queues=queues)
    [(_, figure)] = figures(read(to_html(many)))
    [legend] = figure.iter(f"{XHTML}ul")
    assert [words(each) for each in legend] == [*(f"q{number:02}" for number in range(9, 20)), "9 others"]


MEANS: dict[str, tuple[list[tuple[int, int]], list[float]]] = {
    "nothing": ([], [0, 0, 0, 0]),
    "all the time": ([(0, 3)], [3, 3, 3, 3]),
    "half a column": ([(5, 4), (10, 0)], [2, 0, 0, 0]),
    "over columns": ([(5, 4), (25, 8)], [2, 4, 6, 8]),
    "at the end": ([(40, 9)], [0, 0, 0, 0]),
}


@pytest.mark.parametrize("case", MEANS)
def test_column_means(case: str) -> None:
    history, want = MEANS[case]
    assert column_means(history, 0, 40, 4) == want


TIMES = {0: "0s", 90 * SECOND: "1m30s", 600 * SECOND: "10m", 5400 * SECOND: "1h30m", 36000 * SECOND: "10h"}


@pytest.mark.parametrize("time", TIMES)
def test_short_times(time: int) -> None:
    assert short_time(time) == TIMES[time]


# ---- topologies ----


def test_a_topology_is_drawn_at_its_highest_use_and_at_the_end() -> None:
    root = read(to_html(with_topology()))
    assert "Topology of flavor gpu" in headings(root)
    found = dict(figures(root))
    peak = "At its highest use, 10s after the start: 7 pods of 2 workloads on 3 nodes, 1 not ready"
    assert list(found) == [peak, "At the end, 1m40s after the start: 0 pods of 0 workloads on 3 nodes"]
    shown = titles(found[peak])
    assert shown[:4] == [
        "Flavor gpu at its highest use",
        "a",
        "a/r0",
        "a/r0/h0\nns/w: 4 pods\ncpu: 4 of 8\ngpu: 4 of 4\npods: 4 of 10",
    ]
    assert "a/r0/h1\nns/w: 1 pods\nother pods: 1\ncpu: 2 of 8\ngpu: 1 of 4\npods: 2 of 10" in shown
    assert "b/r1/h2\nnot ready\nns/x<&>: 2 pods" in shown
    [legend] = [each for each in root.iter(f"{XHTML}ul") if each.get("class") == "legend"]
    assert [words(each) for each in legend] == ["ns/w", "ns/x<&>", "other pods"]


def test_the_numbers_of_a_topology_stand_in_tables() -> None:
    root = read(to_html(with_topology()))
    peak = next(figure for caption, figure in figures(root) if caption.startswith("At its"))
    levels, gangs = peak.iter(f"{XHTML}table")
    assert "Least used (gpu)" in words(levels)
    assert words(levels).endswith("host 3 0 2 25.0% 100.0%")
    # One of the three free gpus of h1 is left over.
    assert "ns/g main (gpu 2) 2 block 1 a 0 100.0% gpu" in words(gangs)


def test_a_workload_has_one_colour() -> None:
    root = read(to_html(with_topology()))
    entry = next(each for each in root.iter(f"{XHTML}li") if words(each) == "ns/w")
    [swatch] = entry
    colour = (swatch.get("style") or "").removeprefix("background:")
    peak = next(figure for caption, figure in figures(root) if caption.startswith("At its"))
    heights = [each.get("height") for each in peak.iter(f"{SVG}rect") if each.get("fill") == colour]
    # All of the first host, and an eighth of the second one, where another pod takes as much cpu.
    assert heights == ["54", "6.8"]


def boxes(drawing: Any) -> ElementTree.Element:
    return ElementTree.fromstring(drawing.text)


def test_domains_hold_their_leaves() -> None:
    """Every box lies within the one around it, and no two leaves overlap."""
    leaves = [leaf(f"b{b}/r{r}/h{h}", h % 5) for b in range(3) for r in range(b + 2) for h in range(7 + r)]
    moment = measure(0, LEVELS, leaves, [])
    root = boxes(picture(moment, LEVELS, {"ns/w": "red"}, "all"))
    found: list[tuple[float, float, float, str]] = []

    def walk(node: ElementTree.Element, x: float, y: float, limit: tuple[float, float]) -> None:
        moved = re.fullmatch(r"translate\(([\d.]+) ([\d.]+)\)", node.get("transform") or "")
        if moved:
            x, y = x + float(moved[1]), y + float(moved[2])
        for child in node:
            kind = child.get("class")
            if child.tag == f"{SVG}rect" and kind in ("domain", "leaf"):
                width, height = float(child.get("width") or 0), float(child.get("height") or 0)
                assert x + width <= limit[0] + 0.2
                assert y + height <= limit[1] + 0.2
                if kind == "domain":
                    limit = (x + width, y + height)
                else:
                    found.append((x, y, width, ""))
        for child in node:
            if child.tag == f"{SVG}g":
                walk(child, x, y, limit)

    size = [float(each) for each in (root.get("viewBox") or "").split()]
    walk(root, 0, 0, (size[2], size[3]))
    assert len(found) == len(leaves)
    assert len({(round(x), round(y)) for x, y, _, _ in found}) == len(leaves)


def test_too_many_leaves_are_drawn_as_their_racks() -> None:
    leaves = [leaf(f"b/r{r}/h{h}", 4 if h == 0 else 0) for r in range(101) for h in range(100)]
    root = boxes(picture(measure(0, LEVELS, leaves, []), LEVELS, {"ns/w": "red"}, "all"))
    drawn = [each for each in root.iter(f"{SVG}rect") if each.get("class") == "leaf"]
    assert len(drawn) == 101
    assert "b/r0\nns/w: 4 pods\ncpu: 4 of 800\ngpu: 4 of 400\npods: 4 of 1k" in titles(root)


def test_merged_leaves_add_up() -> None:
    [one] = merged([leaf("a/r/h0", 1), leaf("a/r/h1", 2, other={"cpu": 5})], 2)
    assert (one.values, one.nodes, one.ready, one.capacity["cpu"]) == (("a", "r"), 2, 2, 16000)
    assert (one.used("gpu"), one.other) == (3, {"cpu": 5})


# ---- elements ----


def test_elements() -> None:
    assert (
        element("a", "<", class_="x", data_y="\"'", skipped=None).text
        == '<a class="x" data-y="&quot;\'">&lt;</a>'
    )
    assert element("rect", x=1.26).text == '<rect x="1.3"/>'
    assert element("td").text == "<td></td>"
    assert text("a\x07b").text == "a\ufffdb"
