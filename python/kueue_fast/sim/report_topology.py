"""Topologies in the text report and on the page: levels and gangs as tables."""

from __future__ import annotations

from rich.table import Table

from kueue_fast.model.quantities import format_amount
from kueue_fast.sim.report_cells import DASH, NAME, NUMBER, add_row, new_table
from kueue_fast.sim.topology_result import Gang, TopologyMoment

__all__ = ["gang_table", "gang_words", "level_table", "short_level"]


def level_table(moment: TopologyMoment, title: str) -> Table:
    """One row a level: domains, and how much of them is used."""
    table = new_table(
        title,
        [
            ("Level", NAME),
            ("Domains", NUMBER),
            ("Empty", NUMBER),
            ("Full", NUMBER),
            (f"Least used ({moment.resource})", NUMBER),
            ("Most used", NUMBER),
        ],
    )
    for level in moment.levels:
        add_row(
            table,
            level.level,
            str(level.domains),
            str(level.empty),
            DASH if level.full is None else str(level.full),
            percent(level.least_used),
            percent(level.most_used),
        )
    return table


def gang_table(moment: TopologyMoment, title: str, most: int | None = None) -> Table:
    """One row a gang and level, of the `most` largest gangs: how it would fit into what is free."""
    table = new_table(
        title,
        [
            ("Gang", NAME),
            ("Pods", NUMBER),
            ("In one", NAME),
            ("Largest room", NUMBER),
            ("In", NAME),
            ("Gangs", NUMBER),
            ("Unusable", NUMBER),
        ],
    )
    for row in moment.gangs[:most]:
        head = gang_words(row.gang), str(row.gang.pods)
        for fit in row.fits:
            add_row(
                table,
                *head,
                short_level(fit.level),
                str(fit.largest),
                "/".join(fit.domain) if fit.largest else DASH,
                str(fit.gangs),
                f"{percent(fit.unusable)} {row.resource}" if fit.unusable is not None else DASH,
            )
            # What belongs to the gang as a whole stands in its first line only.
            head = "", ""
    return table


def gang_words(gang: Gang) -> str:
    """A gang by its first workload, with the request of a pod."""
    request = ", ".join(
        f"{name} {format_amount(name, gang.request[name])}" for name in sorted(gang.request) if name != "pods"
    )
    return f"{gang.workload} {gang.pod_set}" + (f" ({request})" if request else "")


def short_level(level: str) -> str:
    """The last part of a level's label."""
    return level.rpartition("/")[2]


def percent(share: float | None) -> str:
    """A share in percent."""
    return DASH if share is None else f"{100 * share:.1f}%"
