"""kueue_fast: Kueue's scheduling decisions, exactly, in a compiled kernel.

    from kueue_fast import Engine
"""

from kueue_fast.engine import Admission, Cycle, Engine, QueueState, Requeued
from kueue_fast.errors import InputError, KueueFastError, Unsupported

__all__ = ["Admission", "Cycle", "Engine", "InputError", "KueueFastError", "QueueState", "Requeued", "Unsupported"]
