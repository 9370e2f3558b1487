"""Engines to measure on."""

from bench import load_cases
from kueue_fast import Engine
from kueue_fast.api.decode import decode_object
from kueue_fast.model import times

NOW = times.parse("2026-01-01T02:00:00Z")


def filled_engine(name: str) -> Engine:
    """An engine with all objects and workloads of a load case, no cycle run yet."""
    case = load_cases.build(name)
    engine = Engine()
    for manifest in case.objects:
        engine.upsert(decode_object(manifest))
    for step in case.steps:
        for manifest in step["create"]:
            engine.upsert(decode_object(manifest))
    engine.flush(NOW, all=True)
    return engine
