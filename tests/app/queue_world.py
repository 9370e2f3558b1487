"""A few queues as the engine and a cache know them."""

from __future__ import annotations

from typing import Any

import msgspec

from kueue_fast.api.configuration import Configuration
from kueue_fast.api.decode import decode_object
from kueue_fast.cluster.kube.cache import ObjectCache
from kueue_fast.engine import Engine
from kueue_fast.model import times
from tests.arrays import objects as o

NOW = times.parse("2026-01-01T00:00:00Z")
FAIR = msgspec.convert({"fairSharing": {}}, Configuration)


def held(name: str, cpu: int) -> Any:
    made = o.workload_json(name, "lq", o.pod_set())
    return decode_object(o.reserved(made, "q", ("main", 1, {"cpu": "spot"}, {"cpu": cpu})))


def world(*extra: Any, config: Configuration | None = None, **spec: Any) -> tuple[Engine, ObjectCache]:
    """ClusterQueue `q` with 4 cpu in cohort `team` under `root`, LocalQueue `lq`; two workloads hold 3 cpu."""
    cache = ObjectCache()
    engine = Engine(config)
    objects = (
        o.namespace(),
        o.flavor("spot"),
        o.cohort("root"),
        o.cohort("team", parent="root"),
        o.cluster_queue("q", o.group(spot=[o.quota("cpu", 4, borrow=1)]), cohort="team", **spec),
        o.local_queue("lq", "q"),
        held("a", 1),
        held("b", 2),
        o.workload("waits", "lq", o.pod_set(cpu=2)),
        decode_object(o.finished(o.workload_json("done", "lq", o.pod_set()))),
        *extra,
    )
    for number, obj in enumerate(objects):
        obj.metadata.uid = f"uid-{number}"
        cache.put(obj)
        engine.upsert(obj, NOW)
    return engine, cache
