"""The picture of a topology: domains as nested boxes, and in each leaf who sits there.

A leaf is filled from below, each workload in its colour, to the share of the resource of which most is used in that
leaf. Where there are too many leaves to see, the lowest level that can be seen is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kueue_fast.model.quantities import format_amount
from kueue_fast.sim.html_parts import OTHER_COLOUR, Markup, element, joined, number
from kueue_fast.sim.topology_result import TopologyLeaf, TopologyMoment

__all__ = ["MOST_LEAVES", "picture"]

WIDTH: Final = 1160
MOST_LEAVES: Final = 10_000
# Side of a leaf in pixels, for up to so many of them.
SIDES: Final = ((36, 54), (150, 34), (700, 20), (3_000, 12), (MOST_LEAVES, 7))
GAP: Final = 2
MARGIN: Final = 5
HEADER: Final = 14
ASPECT: Final = 2.0
"""Domains are drawn about so much wider than high."""
LETTER: Final = 6
"""About the width of a letter of a header."""
MOST_NAMED: Final = 8


class _Box(NamedTuple):
    """Something drawn, with its size; it is placed by whoever contains it."""

    width: float
    height: float
    drawing: Markup


def picture(moment: TopologyMoment, levels: Sequence[str], colours: Mapping[str, str], name: str) -> Markup:
    """The SVG of a moment. `colours` are those of the workloads, `name` says what is shown."""
    depth = len(levels)
    leaves = list(moment.leaves)
    while len(leaves) > MOST_LEAVES and depth > 1:
        depth -= 1
        leaves = merged(leaves, depth)
    side = next((side for most, side in SIDES if len(leaves) <= most), SIDES[-1][1])
    whole = _domain((), leaves, depth, side, colours)
    return element(
        "svg",
        element("title", name),
        whole.drawing,
        viewBox=f"0 0 {number(whole.width)} {number(whole.height)}",
        width=min(whole.width, WIDTH),
        role="img",
        class_="topology",
        xmlns="http://www.w3.org/2000/svg",
    )


def merged(leaves: Sequence[TopologyLeaf], depth: int) -> list[TopologyLeaf]:
    """Domains of a higher level, as if they were leaves."""
    found: dict[tuple[str, ...], TopologyLeaf] = {}
    for leaf in leaves:
        one = found.setdefault(leaf.values[:depth], TopologyLeaf(leaf.values[:depth]))
        one.nodes += leaf.nodes
        one.ready += leaf.ready
        one.occupants += leaf.occupants
        for total, more in ((one.capacity, leaf.capacity), (one.other, leaf.other)):
            for name, amount in more.items():
                total[name] = total.get(name, 0) + amount
    return list(found.values())


def _domain(
    values: tuple[str, ...],
    leaves: Sequence[TopologyLeaf],
    depth: int,
    side: int,
    colours: Mapping[str, str],
) -> _Box:
    """A domain and all that is in it."""
    at = len(values)
    if at == depth:
        return _leaf(leaves[0], side, colours)
    groups: dict[str, list[TopologyLeaf]] = {}
    for leaf in leaves:
        groups.setdefault(leaf.values[at], []).append(leaf)
    boxes = [_domain((*values, value), group, depth, side, colours) for value, group in groups.items()]
    inner = _grid(boxes, top=not values)
    if not values:
        return inner
    header = HEADER if inner.width >= 3 * LETTER else 0
    width, height = inner.width + 2 * MARGIN, inner.height + MARGIN + max(header, MARGIN)
    shown = values[-1]
    most = int(inner.width / LETTER)
    parts = [
        element("title", "/".join(values)),
        element("rect", width=width, height=height, rx=3, class_="domain"),
    ]
    if header:
        cut = shown if len(shown) <= most else "…" + shown[len(shown) - most + 1 :]
        parts.append(element("text", cut, x=MARGIN, y=HEADER - 4))
    parts.append(_moved(inner.drawing, MARGIN, max(header, MARGIN)))
    return _Box(width, height, element("g", joined(parts)))


def _grid(boxes: Sequence[_Box], *, top: bool) -> _Box:
    """Boxes in rows of equal cells: as wide as the page at the top."""
    width = max(box.width for box in boxes) + GAP
    height = max(box.height for box in boxes) + GAP
    columns = math.ceil(math.sqrt(ASPECT * len(boxes) * height / width))
    if top:
        columns = max(1, int(WIDTH / width))
    columns = min(columns, len(boxes))
    # As few in the last row as must be.
    columns = math.ceil(len(boxes) / math.ceil(len(boxes) / columns))
    parts = [
        _moved(box.drawing, index % columns * width, index // columns * height)
        for index, box in enumerate(boxes)
    ]
    rows = math.ceil(len(boxes) / columns)
    return _Box(columns * width - GAP, rows * height - GAP, joined(parts))


def _leaf(leaf: TopologyLeaf, side: int, colours: Mapping[str, str]) -> _Box:
    parts = [
        element("title", _words(leaf)),
        element("rect", width=side, height=side, class_="leaf" if leaf.ready else "leaf down"),
    ]
    y = float(side)
    for share, fill in _shares(leaf, colours):
        height = min(share * side, y)
        y -= height
        if height > 0:
            parts.append(element("rect", y=y, width=side, height=height, fill=fill))
    if not leaf.ready:
        parts.append(element("path", d=f"M0 0L{side} {side}M0 {side}L{side} 0", class_="cross"))
    if side >= SIDES[1][1]:
        name = leaf.values[-1]
        most = side // LETTER
        shown = name if len(name) <= most else "…" + name[len(name) - most + 1 :]
        parts.append(element("text", shown, x=2, y=10, class_="name"))
    return _Box(side, side, element("g", *parts))


def _shares(leaf: TopologyLeaf, colours: Mapping[str, str]) -> list[tuple[float, str]]:
    """How much of the leaf each workload fills, and other pods, with the colours."""
    names = [name for name in sorted(leaf.capacity) if leaf.capacity[name] > 0]
    if not names:
        # Its capacity does not count while it is not ready; its pods may still be there.
        return [(1 / len(leaf.occupants), colours[each.workload]) for each in leaf.occupants]
    resource = max(names, key=lambda name: leaf.used(name) / leaf.capacity[name])
    capacity = leaf.capacity[resource]
    found = [(each.amounts.get(resource, 0) / capacity, colours[each.workload]) for each in leaf.occupants]
    return [(leaf.other.get(resource, 0) / capacity, OTHER_COLOUR), *found]


def _words(leaf: TopologyLeaf) -> str:
    lines = ["/".join(leaf.values)]
    if leaf.ready < leaf.nodes:
        lines.append("not ready" if not leaf.ready else f"{leaf.ready} of {leaf.nodes} nodes ready")
    pods: dict[str, int] = {}
    for each in leaf.occupants:
        pods[each.workload] = pods.get(each.workload, 0) + each.pods
    lines += [f"{workload}: {count} pods" for workload, count in list(pods.items())[:MOST_NAMED]]
    if len(pods) > MOST_NAMED:
        lines.append(f"and {len(pods) - MOST_NAMED} more workloads")
    if leaf.other.get("pods"):
        lines.append(f"other pods: {leaf.other['pods']}")
    for name in sorted(leaf.capacity):
        used, capacity = format_amount(name, leaf.used(name)), format_amount(name, leaf.capacity[name])
        lines.append(f"{name}: {used} of {capacity}")
    return "\n".join(lines)


def _moved(drawing: Markup, x: float, y: float) -> Markup:
    if not x and not y:
        return drawing
    return element("g", drawing, transform=f"translate({number(x)} {number(y)})")
