"""A scheduling cycle as numbered steps: events in, heads, decisions, requeue, words."""

from kueue_fast.engine.decisions import Admission, Cycle, Preemption, Requeued
from kueue_fast.engine.engine import Engine, QueueState, Standing

__all__ = ["Admission", "Cycle", "Engine", "Preemption", "QueueState", "Requeued", "Standing"]
