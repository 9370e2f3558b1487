"""Who preempted whom, as a table."""

from __future__ import annotations

from typing import Final

from rich.table import Table

from kueue_fast.lifecycle.eviction import reason_words
from kueue_fast.sim.report_cells import NAME, NUMBER, add_row, new_table, since
from kueue_fast.sim.result import SimulationResult

__all__ = ["MOST_PREEMPTIONS", "preemption_table"]

MOST_PREEMPTIONS: Final = 40


def preemption_table(result: SimulationResult) -> Table:
    """One row a preemption, in order; paths lead from the root of the cohort tree to the ClusterQueue."""
    table = new_table(
        "Preemptions",
        [
            ("Time", NUMBER),
            ("Preempted", NAME),
            ("In", NAME),
            ("By", NAME),
            ("For", NAME),
            ("Reason", NAME),
        ],
    )
    for row in result.preemptions[:MOST_PREEMPTIONS]:
        add_row(
            table,
            since(result, row.time_ns),
            row.workload,
            row.path,
            row.preemptor,
            row.preemptor_path,
            reason_words(row.reason),
        )
    return table
