"""Makers for tests of admission fair sharing: a ClusterQueue that orders by use, and LocalQueues with a past.

A request is of cpus, of flavor `spot`. With the half life as the sampling interval, a penalty is half of the request.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kueue_fast import Engine
from kueue_fast.api.configuration import Configuration
from tests.arrays import objects as o
from tests.engine.small_cluster import Json, held, waits

MODE = {"admissionMode": "UsageBasedAdmissionFairSharing"}
SECOND = o.SECOND
MINUTE = 60 * SECOND
GPU = "example.com/gpu"
SAMPLED = {"usageHalfLifeTime": "5m", "usageSamplingInterval": "5m"}
A1 = waits("a1", "a", 4, created=5)


def local(
    name: str, *, weight: Any = None, target: str = "q", stop: str | None = None, **consumed: str
) -> Any:
    """A LocalQueue whose status remembers this consumption; `gpu="1"` is of `example.com/gpu`."""
    spec: Json = {"clusterQueue": target}
    if weight is not None:
        spec["fairSharing"] = {"weight": weight}
    if stop is not None:
        spec["stopPolicy"] = stop
    rest: Json = {}
    if consumed:
        written = {{"gpu": GPU}.get(name, name): amount for name, amount in consumed.items()}
        rest["status"] = {"fairSharing": {"weightedShare": 0, "admissionFairSharingStatus": {
            "consumedResources": written, "lastUpdate": "2025-12-31T00:00:00Z"}}}  # fmt: skip
    return o.obj("LocalQueue", name, spec, namespace="default", **rest)


def queue(cpu: int = 0, name: str = "q", *, scope: Json | None = MODE, **spec: Any) -> Any:
    """A ClusterQueue of some cpus that orders by use."""
    if scope is not None:
        spec["admissionScope"] = scope
    return o.cluster_queue(name, o.group(spot=[o.quota("cpu", cpu)]), **spec)


def started(*objects: Any, sharing: Json | None = SAMPLED, gates: Json | None = None, **more: Any) -> Engine:
    """An engine where equal workloads are looked at one by one."""
    written = {**more, **({} if sharing is None else {"admissionFairSharing": sharing})}
    all_gates = {"SchedulingEquivalenceHashing": False, **(gates or {})}
    engine = Engine(msgspec.convert(written, Configuration), all_gates)
    return o.feed(engine, o.namespace(), o.flavor("spot"), *objects)


def heads(engine: Engine, at: int = 0) -> list[str]:
    """Names of the heads of successive cycles, until nothing is in the heap."""
    found = []
    while engine.has_heads():
        one = o.cycle(engine, at)
        found += [row.workload.partition("/")[2] for row in [*one.admitted, *one.requeued]]
    return found


def consumed(engine: Engine, at: int) -> dict[str, dict[str, str]]:
    """What a sample writes, by LocalQueue, without zeros."""
    return {
        use.name: {name: amount for name, amount in use.quantities().items() if amount != "0"}
        for use in engine.sample(o.START + at * SECOND)
    }


def in_local(name: str, local_queue: str, cluster_queue: str = "q", **rest: Any) -> Json:
    """A workload of a LocalQueue that holds 1 cpu."""
    made = held(name, cluster_queue, flavor="spot", **rest)
    made["spec"]["queueName"] = local_queue
    return made


def charged(*more: Any, **options: Any) -> tuple[Engine, Any]:
    """`a1` (4 cpus) of LocalQueue `a` was just assumed."""
    engine = started(queue(4), local("a"), local("b"), A1, *more, **options)
    return engine, o.cycle(engine).admitted[0]


def show(engine: Engine, admission: Any, *, admitted: bool = False, **spec: Any) -> Engine:
    """The cluster shows the reservation of `a1`, with changes of its spec."""
    made = o.observed(A1, admission, admitted=admitted)
    return o.feed(engine, {**made, "spec": {**made["spec"], **spec}})


def evict(engine: Engine, admission: Any, **spec: Any) -> Engine:
    """`a1` has lost its reservation, with changes of its spec."""
    show(engine, admission)
    return o.feed(engine, {**A1, "spec": {**A1["spec"], **spec}})


def running() -> tuple[Engine, Json]:
    """`a1` of LocalQueue `a` runs on 4 cpus, and what it was charged (2) is settled."""
    engine, admission = charged()
    engine.sample(o.START)
    made = o.observed(A1, admission)
    o.feed(engine, made)
    return engine, made
