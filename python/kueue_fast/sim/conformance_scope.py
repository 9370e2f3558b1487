"""What of a corpus scenario is not built yet.

Only what the engine cannot refuse by itself, or only late: parts of the scenario's form, and objects whose
meaning other parts of the engine would have to know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["unsupported_part"]

_BUILT: Final = frozenset(("at", "create", "update", "delete", "finish", "maxCycles", "stopped", "failed"))


def unsupported_part(scenario: Mapping[str, Any]) -> str | None:
    """The first part of `scenario` that cannot be replayed yet, in words, or None."""
    for step in scenario["steps"]:
        for key in step.keys() - _BUILT:
            if step[key]:
                return f"{key!r} in a step"
    return None
