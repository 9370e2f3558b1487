"""Pieces of an HTML page: elements, escaped text, colours, tables.

The page is XML as well, so that any reader can check it: every element is closed, no entity but XML's own is used, and
characters that XML does not have are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from rich.table import Table
from rich.text import Text

from kueue_fast.model import times

__all__ = [
    "OTHER_COLOUR",
    "Markup",
    "colour",
    "element",
    "number",
    "short_time",
    "table_element",
    "text",
]

OTHER_COLOUR: Final = "#8a8f98"
FIRST_HUE: Final = 210
GOLDEN_ANGLE: Final = 137.508
LIGHTNESS: Final = (46, 62, 36)
STYLES: Final = {"red": "bad", "green": "good", "yellow": "waits", "cyan": "waits", "magenta": "bad"}
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Markup(NamedTuple):
    """Text that is markup already."""

    text: str


def text(value: str) -> Markup:
    """Plain text, escaped."""
    return Markup(escape(_NOT_XML.sub("\ufffd", value)))


def element(name: str, /, *children: Markup | str | None, **attributes: str | float | None) -> Markup:
    """An element. Strings among the children are escaped, None is left out.

    `class_` stands for class, and underscores for hyphens; an attribute that is None is left out.
    """
    written = []
    for key, value in attributes.items():
        if value is not None:
            shown = value if isinstance(value, str) else number(value)
            quoted = quoteattr(_NOT_XML.sub("\ufffd", shown))
            written.append(f" {key.rstrip('_').replace('_', '-')}={quoted}")
    inner = "".join(
        (text(child) if isinstance(child, str) else child).text for child in children if child is not None
    )
    if inner or name not in ("rect", "path", "line", "col", "meta", "br"):
        return Markup(f"<{name}{''.join(written)}>{inner}</{name}>")
    return Markup(f"<{name}{''.join(written)}/>")


def joined(parts: Iterable[Markup]) -> Markup:
    """Pieces one after the other, each on a line of its own."""
    return Markup("\n".join(part.text for part in parts))


def number(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    shown = f"{value:.1f}"
    return shown.removesuffix(".0")


def colour(index: int) -> str:
    """The n-th colour of a row in which neighbours differ well."""
    hue = int(FIRST_HUE + index * GOLDEN_ANGLE) % 360
    return f"hsl({hue} 58% {LIGHTNESS[index // 7 % len(LIGHTNESS)]}%)"


def short_time(nanoseconds: int) -> str:
    """A duration without zero parts at its end: `10m`, `1h30m`, `2.5s`."""
    written = times.format_duration(nanoseconds)
    for unit in ("0s", "0m"):
        longer = written.removesuffix(unit)
        if longer and longer != written and longer[-1] in "mh":
            written = longer
    return written


def table_element(table: Table) -> Markup:
    """A table of the text report as one of the page, numbers to the right."""
    alignment = ["number" if column.justify == "right" else None for column in table.columns]
    head = element(
        "tr",
        *(
            element("th", str(column.header), class_=side, scope="col")
            for column, side in zip(table.columns, alignment, strict=True)
        ),
    )
    rows = [
        element(
            "tr",
            *(
                element("td", str(cell), class_=" ".join(filter(None, (side, _style(cell)))) or None)
                for cell, side in zip(cells, alignment, strict=True)
            ),
        )
        for cells in zip(*(column.cells for column in table.columns), strict=True)
    ]
    return element(
        "div",
        element("table", element("thead", head), element("tbody", joined(rows))),
        class_="wide",
    )


def _style(cell: object) -> str | None:
    return STYLES.get(str(cell.style)) if isinstance(cell, Text) else None
