"""A progress bar on stderr, shown on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from kueue_fast.sim import options

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(description: str = "simulating") -> Iterator[options.Progress | None]:
    """Gives a callback for `SimulationOptions.progress`, None where stderr is no terminal. Nothing stays on the
    screen.
    """
    if not sys.stderr.isatty():
        yield None
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("workloads ended"),
        TimeElapsedColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )
    with bar:
        task = bar.add_task(description, total=None)

        def update(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield update
