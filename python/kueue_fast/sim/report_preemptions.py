"""Who preempted whom, and who was evicted otherwise, as tables."""

from __future__ import annotations

from typing import Final

from rich.table import Table

from kueue_fast.lifecycle.events import Event
from kueue_fast.lifecycle.eviction import reason_words
from kueue_fast.sim.report_cells import NAME, NUMBER, Kind, add_row, new_table, since
from kueue_fast.sim.result import SimulationResult

__all__ = ["MOST_PREEMPTIONS", "eviction_reason", "eviction_table", "preemption_table"]

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


def eviction_table(result: SimulationResult) -> Table:
    """One row an eviction for another reason than preemption, in the order in which they happened."""
    columns: list[tuple[str, Kind]] = [
        ("Time", NUMBER),
        ("Workload", NAME),
        ("Reason", NAME),
        ("Message", NAME),
    ]
    table = new_table("Evictions", columns)
    for event in result.evictions[:MOST_PREEMPTIONS]:
        workload = f"{event.namespace}/{event.name}"
        add_row(table, since(result, event.time_ns), workload, eviction_reason(event), event.message)
    return table


def eviction_reason(event: Event) -> str:
    """The reason of an eviction, from that of its event."""
    return event.reason.removeprefix("EvictedDueTo")
