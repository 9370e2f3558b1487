"""A scheduling cycle as numbered steps: events in, heads, decisions, requeue, words."""

from kueue_fast.engine.engine import Admission, Cycle, Engine, QueueState, Requeued

__all__ = ["Admission", "Cycle", "Engine", "QueueState", "Requeued"]
