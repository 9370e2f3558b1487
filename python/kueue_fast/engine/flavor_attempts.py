"""Which flavors an admission was weighed against, in the words of the event that tells of it.

Source: QP-465.
"""

from __future__ import annotations

from collections.abc import Sequence

from kueue_fast.arrays.decisions import Attempt
from kueue_fast.arrays.layouts import Layout
from kueue_fast.engine import messages
from kueue_fast.engine.state import State

__all__ = ["words"]

PLAIN = ("Fit", "NoFit")
"""What is told by its name; of anything else it is said what preemption could do."""


def words(state: State, layout: Layout, attempts: Sequence[Attempt]) -> str:
    """What the event says: pod sets in order, of each the flavors that did not simply fit, by name."""
    told: dict[int, list[str]] = {}
    for one in sorted(attempts, key=lambda each: each.flavor):
        if one.possibility != "Fit" or one.borrow > 0:
            told.setdefault(one.leader, []).append(_text(state, layout, one))
    return " | ".join(
        f"{name}: {', '.join(told[group])}"
        for name, group in zip(layout.names, layout.groups, strict=True)
        if group in told
    )


def _text(state: State, layout: Layout, attempt: Attempt) -> str:
    mode = attempt.possibility if attempt.possibility in PLAIN else f"preemptionMode={attempt.possibility}"
    borrow = (f"borrow={attempt.borrow}",) if attempt.borrow > 0 else ()
    reasons = sorted({messages.reason_text(reason, layout, state.classes) for reason in attempt.reasons})
    return f"{attempt.flavor}({';'.join((mode, *borrow, *reasons))})"
