"""One ClusterQueue with 4 cpu: what several tests of the engine start from."""

from __future__ import annotations

from typing import Any

from kueue_fast import Engine
from tests.arrays import objects as o

SPOT = {"spot": [o.quota("cpu", 4)]}


def cluster(*extra: Any, config: Any = None, gates: dict[str, bool] | None = None, **queue: Any) -> Engine:
    """A ClusterQueue `q` with 4 cpu of flavor `spot`, and LocalQueue `lq`."""
    return o.feed(
        Engine(config, gates),
        o.namespace(),
        o.flavor("spot"),
        o.cluster_queue("q", o.group(**SPOT), **queue),
        o.local_queue("lq", "q"),
        *extra,
    )


def usage(engine: Engine, queue: str = "q") -> int:
    return engine.queue_state()[queue].usage["spot/cpu"]


def waiting(engine: Engine, queue: str = "q") -> tuple[list[str], list[str]]:
    state = engine.queue_state()[queue]
    return [key.partition("/")[2] for key in state.active], [key.partition("/")[2] for key in state.parked]
