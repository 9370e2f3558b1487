"""kueue_fast: Kueue's scheduling decisions, exactly, in a compiled kernel.

    from kueue_fast import Engine
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kueue_fast.engine import Admission, Cycle, Engine, Preemption, QueueState, Requeued
    from kueue_fast.errors import InputError, KueueFastError, Unsupported

__all__ = [
    "Admission",
    "Cycle",
    "Engine",
    "InputError",
    "KueueFastError",
    "Preemption",
    "QueueState",
    "Requeued",
    "Unsupported",
]

_ERRORS = ("InputError", "KueueFastError", "Unsupported")


def __getattr__(name: str) -> Any:
    """Load the engine and its kernel when they are asked for: `--help` needs neither."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "kueue_fast.errors" if name in _ERRORS else "kueue_fast.engine"
    return getattr(import_module(module), name)
