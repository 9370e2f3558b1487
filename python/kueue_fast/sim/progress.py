"""A progress bar on stderr, for long runs on a terminal only."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from kueue_fast.sim import options

__all__ = ["progress_bar"]

# A bar that comes and goes within a second tells nobody anything.
DELAY_S: Final = 1.0


@contextmanager
def progress_bar(description: str = "simulating") -> Iterator[options.Progress | None]:
    """Gives a callback for `SimulationOptions.progress`, None where stderr is no terminal.

    The bar appears once a run has taken a second, and nothing of it stays on the screen.
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
    task = bar.add_task(description, total=None)
    begin = time.monotonic()
    started = False

    def update(done: int, total: int) -> None:
        nonlocal started
        if not started and time.monotonic() - begin > DELAY_S:
            started = True
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield update
    finally:
        if started:
            bar.stop()
