"""Growth curves as an SVG picture: both axes logarithmic, so that a power of the size is a straight line."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 1000
HEIGHT = 420  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 80, 300, 50, 60  # around a panel's plot
GAP = 17  # between two labels
COLORS = ("#1b6ca8", "#c8553d", "#3c8d40", "#8e44ad", "#b8860b", "#2f4f4f")


@dataclass(frozen=True)
class Line:
    """A measured curve: (size, milliseconds) from the smallest on. Lines of the same color belong together."""

    label: str
    points: list[tuple[float, float]]
    color: int
    is_peer: bool = False


@dataclass(frozen=True)
class Panel:
    """Curves over the same unit, which is the horizontal axis."""

    unit: str
    lines: list[Line]


def draw(panels: Sequence[Panel]) -> str:
    """The picture, panels one below the other. Raises ValueError for sizes or times that are not positive."""
    height = HEIGHT * len(panels) + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="sans-serif" font-size="13">',
        "<title>Cost of a scheduling cycle by size</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        text(LEFT, 26, "Milliseconds a scheduling cycle, by size (both axes logarithmic)", size=17),
        text(
            LEFT,
            45,
            "grey: slope 1 from a curve's first point; below it, growth is less than linear",
            fill="#666",
        ),
    ]
    for number, panel in enumerate(panels):
        parts.append(f'<g transform="translate(0 {50 + number * HEIGHT})">')
        parts += _panel(panel)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def ticks(low: float, high: float) -> list[float]:
    """Round values (1, 2, 5 of each power of ten) from the last one up to `low` to the first one from `high` on."""
    if not 0 < low <= high or not math.isfinite(high):
        raise ValueError(f"range {low} to {high}: expected positive numbers")
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    # Written as text and read back: 10.0**-3 * 5 is not 0.005.
    steps = [float(f"{step}e{power}") for power in range(first, last + 1) for step in (1, 2, 5)]
    begin = max(i for i, step in enumerate(steps) if step <= low)
    end = min(i for i, step in enumerate(steps) if step >= high)
    return steps[begin : end + 1]


def spread(wanted: Sequence[float], gap: float, high: float) -> list[float]:
    """Places for labels as near to the wanted ones as a distance of `gap` allows, none beyond `high`."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = list(wanted)
    last = -math.inf
    for i in order:
        placed[i] = last = max(placed[i], last + gap)
    limit = high
    for i in reversed(order):
        placed[i] = min(placed[i], limit)
        limit = placed[i] - gap
    return placed


def text(x: float, y: float, words: str, *, size: int = 13, fill: str = "#222", anchor: str = "start") -> str:
    """A text element."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )


def scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """From a value to its place on a logarithmic axis that shows `low` at `start` and `high` at `end`."""
    span = math.log(high / low)

    def place(value: float) -> float:
        return start + (end - start) * (math.log(value / low) / span if span else 0.0)

    return place


def _panel(panel: Panel) -> list[str]:
    sizes = [x for line in panel.lines for x, _ in line.points]
    costs = [y for line in panel.lines for _, y in line.points]
    across, up = ticks(min(sizes), max(sizes)), ticks(min(costs), max(costs))
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    x = scale(across[0], across[-1], LEFT, right)
    y = scale(up[0], up[-1], bottom, TOP)
    parts = []
    for value in across:
        parts.append(_segment(x(value), TOP, x(value), bottom, 'stroke="#eee"'))
        parts.append(text(x(value), bottom + 18, _number(value), anchor="middle"))
    for value in up:
        parts.append(_segment(LEFT, y(value), right, y(value), 'stroke="#eee"'))
        parts.append(text(LEFT - 8, y(value) + 4, _number(value), anchor="end"))
    parts.append(text((LEFT + right) / 2, bottom + 40, panel.unit, anchor="middle"))
    parts.append(text(LEFT - 8, TOP - 14, "ms", anchor="end"))
    for line in panel.lines:
        parts.append(_reference(line, x, y, up[-1]))
    ends = [y(line.points[-1][1]) for line in panel.lines]
    for line, end, place in zip(panel.lines, ends, spread(ends, GAP, bottom), strict=True):
        color = COLORS[line.color % len(COLORS)]
        parts += _curve(line, x, y, color)
        last = x(line.points[-1][0])
        parts.append(_segment(last + 6, end, right + 14, place, f'stroke="{color}" stroke-width="0.7"'))
        parts.append(
            text(right + 18, place + 4, f"{line.label}: {_number(line.points[-1][1])} ms", fill=color)
        )
    return parts


def _curve(line: Line, x: Callable[[float], float], y: Callable[[float], float], color: str) -> list[str]:
    places = " ".join(f"{x(size):.1f},{y(cost):.1f}" for size, cost in line.points)
    dashes = ' stroke-dasharray="2 3"' if line.is_peer else ""
    parts = [f'<polyline points="{places}" fill="none" stroke="{color}" stroke-width="2"{dashes}/>']
    for size, cost in line.points:
        fill = "white" if line.is_peer else color
        parts.append(
            f'<circle cx="{x(size):.1f}" cy="{y(cost):.1f}" r="3.5" fill="{fill}" stroke="{color}">'
            f"<title>{escape(line.label)}: {_number(size)}: {_number(cost)} ms</title></circle>"
        )
    return parts


def _reference(line: Line, x: Callable[[float], float], y: Callable[[float], float], top: float) -> str:
    """Slope 1 from the first point on, as far as the panel goes."""
    size, cost = line.points[0]
    last = min(line.points[-1][0], size * top / cost)
    return _segment(
        x(size),
        y(cost),
        x(last),
        y(cost * last / size),
        'class="linear" stroke="#999" stroke-dasharray="6 4"',
    )


def _segment(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def _number(value: float) -> str:
    """Three digits, thousands parted."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
