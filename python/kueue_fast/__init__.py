"""kueue_fast: Kueue's scheduling decisions, exactly, in a compiled kernel: `from kueue_fast import Engine`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    **dict.fromkeys(("Admission", "Cycle", "Engine"), "kueue_fast.engine"),
    **dict.fromkeys(("Preemption", "QueueState", "Requeued"), "kueue_fast.engine"),
    **dict.fromkeys(("InputError", "KueueFastError", "Unsupported"), "kueue_fast.errors"),
}


def __getattr__(name: str) -> Any:
    """Load the engine and its kernel when they are asked for: `--help` needs neither. Types stand in `__init__.pyi`."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(_HOME)
