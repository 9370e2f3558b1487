"""Cells and tables that all parts of a report are made of."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from typing import Final, Literal, TextIO, TypeAlias

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kueue_fast.model import times
from kueue_fast.model.quantities import UNLIMITED, format_amount
from kueue_fast.sim.result import SimulationResult

__all__ = [
    "DASH",
    "NAME",
    "NUMBER",
    "Kind",
    "add_row",
    "amount",
    "decimals",
    "mean",
    "new_table",
    "print_parts",
    "print_table",
    "short_duration",
    "since",
]

BYTES: Final = ("memory", "ephemeral-storage", "hugepages-")
BYTE_UNITS: Final = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
DASH: Final = "-"
DEFAULT_WIDTH: Final = 120
Kind: TypeAlias = Literal["name", "number"]
NAME: Final = "name"
NUMBER: Final = "number"


def print_parts(write: Callable[[Console], None], file: TextIO, width: int | None = None) -> None:
    """Have `write` print to `file`, in colour on a terminal only.

    Without `width` a terminal's own is used; elsewhere the variable COLUMNS, or 120.
    """
    if file.isatty():
        write(Console(file=file, width=width, highlight=False, markup=False, emoji=False))
        return
    if width is None:
        columns = os.environ.get("COLUMNS", "")
        width = (
            int(columns) if columns.isascii() and columns.isdigit() and int(columns) > 0 else DEFAULT_WIDTH
        )
    plain = io.StringIO()
    write(Console(file=plain, width=width, color_system=None, highlight=False, markup=False, emoji=False))
    text = plain.getvalue()
    encoding = file.encoding or "utf-8"
    if not encoding.lower().replace("-", "").startswith("utf"):
        text = text.replace("─", "-").encode(encoding, "replace").decode(encoding)
    # Tables are filled up with spaces, which a file or a pipe has no use for.
    for line in text.splitlines():
        file.write(line.rstrip() + "\n")


def print_table(console: Console, table: Table) -> None:
    """A table with an empty line before it."""
    console.print()
    console.print(table)


def new_table(title: str, columns: Sequence[tuple[str, Kind]]) -> Table:
    """An empty table. Names and texts give way where a line is too long; numbers never do."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1),
        collapse_padding=True,
    )
    for header, kind in columns:
        table.add_column(
            header,
            justify="right" if kind == NUMBER else "left",
            overflow="fold",
            no_wrap=kind != NAME,
            min_width=len(header),
        )
    return table


def add_row(table: Table, *cells: str | Text) -> None:
    """Add a row of plain text: names may hold what rich takes for markup."""
    table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in cells))


def since(result: SimulationResult, time_ns: int | None) -> str:
    """A time as the duration after the start."""
    return DASH if time_ns is None else times.format_duration(time_ns - result.start_ns)


def short_duration(nanoseconds: int) -> str:
    """A duration to the millisecond."""
    return times.format_duration(nanoseconds - nanoseconds % times.MILLISECOND)


def amount(resource: str, value: int) -> str:
    """An amount as a quantity."""
    return "unlimited" if value == UNLIMITED else format_amount(resource, value)


def mean(resource: str, value: float) -> str:
    """A mean amount with up to two decimals, in the unit that the quantity of its size would have."""
    if resource == "cpu":
        return decimals(value / 1000)
    if resource.startswith(BYTES):
        unit = ""
        for larger in BYTE_UNITS:
            if value < 1024:
                break
            value /= 1024
            unit = larger
        return decimals(value) + unit
    return decimals(value)


def decimals(value: float) -> str:
    """Up to two decimals, no zeros at the end."""
    text = f"{value:.2f}"
    return text.rstrip("0").rstrip(".")
