"""Quota over time: one chart a flavor and resource, the ClusterQueues stacked on each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from kueue_fast.model.quantities import UNLIMITED
from kueue_fast.model.times import SECOND
from kueue_fast.sim.html_parts import OTHER_COLOUR, Markup, colour, element, joined, number, short_time
from kueue_fast.sim.report_cells import amount
from kueue_fast.sim.result import FlavorRow, History, SimulationResult

__all__ = ["charts"]

WIDTH: Final = 560
HEIGHT: Final = 190
LEFT: Final = 8
RIGHT: Final = 70
TOP: Final = 14
BOTTOM: Final = 24
COLUMNS: Final = WIDTH - LEFT - RIGHT
"""A column a pixel: in each stands the mean of its time, so that the area is exact."""
MOST_QUEUES: Final = 12
MOST_TICKS: Final = 6
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
STEPS: Final = (
    *(each * SECOND for each in (1, 2, 5, 10, 15, 30)),
    *(each * MINUTE for each in (1, 2, 5, 10, 15, 30)),
    *(each * HOUR for each in (1, 2, 3, 6, 12)),
    *(each * DAY for each in (1, 2, 5, 10, 30, 100, 365)),
)


class _Series(NamedTuple):
    """One ClusterQueue, or the small ones together: the mean of each column."""

    name: str
    colour: str
    means: list[float]


def charts(result: SimulationResult) -> list[Markup]:
    """A figure for each flavor and resource that was used, in the order of the flavors; none without history."""
    colours = {queue.name: colour(number) for number, queue in enumerate(result.queues)}
    figures = []
    for flavor in result.flavors:
        if not flavor.peak or result.duration_ns <= 0:
            continue
        series = _series(result, flavor, colours)
        if series:
            figures.append(_figure(result, flavor, series))
    return figures


def _series(result: SimulationResult, flavor: FlavorRow, colours: dict[str, str]) -> list[_Series]:
    found = []
    for queue in result.queues:
        for use in queue.resources:
            if (use.flavor, use.resource) == (flavor.flavor, flavor.resource) and use.history:
                means = column_means(use.history, result.start_ns, result.end_ns)
                found.append((use.integral, _Series(queue.name, colours[queue.name], means)))
    if len(found) <= MOST_QUEUES:
        return [series for _, series in found]
    kept = sorted(found, key=lambda each: -each[0])[: MOST_QUEUES - 1]
    names = {series.name for _, series in kept}
    rest = [series.means for _, series in found if series.name not in names]
    others = _Series(f"{len(rest)} others", OTHER_COLOUR, [sum(column) for column in zip(*rest, strict=True)])
    return [*(series for _, series in found if series.name in names), others]


def column_means(history: History, start_ns: int, end_ns: int, columns: int = COLUMNS) -> list[float]:
    """Means of an amount over equal parts of a time. Exact but for the last bit."""
    length = end_ns - start_ns
    sums = [0.0] * columns
    steps = [*(history or ()), (end_ns, 0)]
    for (since, value), (until, _) in pairwise(steps):
        if not value or until <= since:
            continue
        # In units of a column.
        first, last = (since - start_ns) * columns / length, (until - start_ns) * columns / length
        column = int(first)
        while column < min(last, columns):
            sums[column] += value * (min(last, column + 1) - max(first, column))
            column += 1
    return sums


def _figure(result: SimulationResult, flavor: FlavorRow, series: Sequence[_Series]) -> Markup:
    bounded = flavor.nominal not in (0, UNLIMITED)
    top = max(flavor.peak, flavor.nominal if bounded else 0)
    scale = (HEIGHT - TOP - BOTTOM) / top
    base = HEIGHT - BOTTOM
    below = [0.0] * COLUMNS
    areas = []
    for one in series:
        above = [low + mean for low, mean in zip(below, one.means, strict=True)]
        areas.append(
            element(
                "path",
                element("title", one.name),
                d=_area([base - each * scale for each in below], [base - each * scale for each in above]),
                fill=one.colour,
            )
        )
        below = above
    lines = [_axis(result, base)]
    if bounded:
        lines.append(_level("nominal", flavor.resource, flavor.nominal, base - flavor.nominal * scale, "6 3"))
    if not bounded or abs(flavor.peak - flavor.nominal) * scale > TOP:
        lines.append(_level("peak", flavor.resource, flavor.peak, base - flavor.peak * scale, "1 3"))
    name = f"{flavor.flavor}/{flavor.resource}"
    drawing = element(
        "svg",
        element("title", f"{name} over time, by ClusterQueue"),
        *areas,
        *lines,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        xmlns="http://www.w3.org/2000/svg",
    )
    legend = element(
        "ul",
        *(element("li", element("i", style=f"background:{one.colour}"), one.name) for one in series),
        class_="legend",
    )
    return element("figure", element("figcaption", name), drawing, legend)


def _area(low: Sequence[float], high: Sequence[float]) -> str:
    """The outline of a band of steps: along its upper edge, and back along the lower one."""
    ends = [LEFT + column + 1 for column in range(COLUMNS)]
    forward = _steps(high, [LEFT, *ends[:-1]], ends)
    back = _steps(low[::-1], ends[::-1], [*ends[:-1][::-1], LEFT])
    return f"M{number(LEFT)} {number(high[0])}{forward}V{number(low[-1])}{back}Z"


def _steps(heights: Sequence[float], begins: Sequence[int], ends: Sequence[int]) -> str:
    """Vertical and horizontal strokes; equal heights are one stroke."""
    parts = []
    shown = None
    for height, _, end in zip(heights, begins, ends, strict=True):
        written = number(height)
        if written == shown:
            parts[-1] = f"H{end}"
        else:
            parts += [f"V{written}", f"H{end}"]
            shown = written
    return "".join(parts)


def _level(word: str, resource: str, value: int, y: float, dashes: str) -> Markup:
    return element(
        "g",
        element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, stroke_dasharray=dashes, class_="rule"),
        element("text", amount(resource, value), x=WIDTH - RIGHT + 4, y=y + 4),
        element("title", f"{word} {amount(resource, value)}"),
    )


def _axis(result: SimulationResult, base: float) -> Markup:
    length = result.duration_ns
    step = next((each for each in STEPS if length / each <= MOST_TICKS), length)
    ticks = []
    for at in range(0, length + 1, step):
        x = LEFT + at * COLUMNS / length
        ticks.append(element("line", x1=x, x2=x, y1=base, y2=base + 4, class_="rule"))
        anchor = "start" if not at else "middle"
        ticks.append(element("text", short_time(at), x=x, y=base + 17, text_anchor=anchor))
    ticks.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=base, y2=base, class_="rule"))
    return element("g", joined(ticks))
