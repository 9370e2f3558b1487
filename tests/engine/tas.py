"""Small clusters with a topology, for the tests of the engine: a block of racks of hosts."""

from __future__ import annotations

import json
from typing import Any

from kueue_fast import Engine
from kueue_fast.api import topology_assignment
from kueue_fast.api.topology_assignment import Domain
from tests.arrays import objects as o
from tests.placed import HOSTNAME

Json = dict[str, Any]

LEVELS = ("block", "rack", HOSTNAME)


def topology(*levels: str, name: str = "t") -> Any:
    return o.obj("Topology", name, {"levels": [{"nodeLabel": level} for level in levels]})


def node(
    name: str,
    rack: str | None = "r1",
    *,
    cpu: Any = 4,
    pods: Any = 10,
    ready: bool = True,
    unschedulable: bool = False,
    taints: list[Json] | None = None,
    **labels: str,
) -> Any:
    """A node of block b1; `host="x"` is its host name where that is another one, a rack of None is no label."""
    labels = {"block": "b1", HOSTNAME: labels.pop("host", name), **labels}
    if rack is not None:
        labels["rack"] = rack
    return o.obj(
        "Node",
        name,
        {"unschedulable": unschedulable, "taints": taints or []},
        api="v1",
        metadata={"labels": labels},
        status={
            "allocatable": {"cpu": cpu, "pods": pods},
            "conditions": [{"type": "Ready", "status": str(ready)}],
        },
    )


def flavor(name: str = "f", **spec: Any) -> Any:
    return o.flavor(name, **{"topologyName": "t", "nodeLabels": {}, **spec})


def engine(
    *objects: Any, levels: tuple[str, ...] = LEVELS, quota: Any = 100, gates: dict[str, bool] | None = None
) -> Engine:
    """ClusterQueue `q` with flavor `f` of Topology `t`, LocalQueue `lq`, and these objects, by default x1 and x2."""
    return o.feed(
        Engine(None, gates),
        o.namespace(),
        topology(*levels),
        flavor(),
        o.cluster_queue("q", o.group(f=[o.quota("cpu", quota)])),
        o.local_queue("lq", "q"),
        *(objects or (node("x1"), node("x2", "r2"))),
    )


def pod_set(count: int = 1, *, name: str = "main", cpu: Any = 1, **request: Any) -> Json:
    """Pods that ask for a topology; without a request they ask for none."""
    made = o.pod_set(count, name=name, cpu=cpu)
    return {**made, "topologyRequest": request} if request else made


def workload(name: str, count: int = 1, *, cpu: Any = 1, created: int = 0, **request: Any) -> Json:
    return o.workload_json(name, "lq", pod_set(count, cpu=cpu, **request), created=created)


def written(*domains: Domain, levels: tuple[str, ...] = (HOSTNAME,)) -> Json:
    """The topologyAssignment of a status."""
    made: Json = json.loads(topology_assignment.encode(levels, list(domains)))
    return made


def placed(
    made: Json, assignment: Any, *, flavor: str = "f", queue: str = "q", admitted: bool = True
) -> Json:
    """A workload of one pod set that holds its quota, with this topologyAssignment."""
    (one,) = made["spec"]["podSets"]
    usage = {"cpu": str(one["count"])}
    made = o.reserved(made, queue, (one["name"], one["count"], {"cpu": flavor}, usage), admitted=admitted)
    made["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"] = assignment
    return made


def used(engine: Engine, flavor: str = "f") -> dict[str, int]:
    """Pods by leaf, of the leaves that have some; of what admitted workloads use."""
    topology, tables = engine._state.topology, engine._state.tables
    topology.refresh()
    tree = tables.flavor(flavor)
    paths = topology._trees[flavor].paths
    pods = tables.resource("pods")
    rows = [tables.topologies.leaf_used(tree, leaf)[pods] for leaf in range(len(paths))]
    return {"/".join(path): int(row) for path, row in zip(paths, rows, strict=True) if row}


def places(cycle: Any) -> dict[str, dict[str, int]]:
    """By admitted workload, pods by the lowest value of their domain."""
    return {
        one.workload.partition("/")[2]: {
            values[-1]: count
            for pod_set in one.pod_sets
            for values, count in (pod_set.placement.domains if pod_set.placement else ())
        }
        for one in cycle.admitted
    }


def reason(cycle: Any) -> str:
    """Why the only head was not admitted."""
    assert not cycle.admitted
    (refused,) = cycle.requeued
    words: str = refused.message()
    return words.removeprefix("couldn't assign flavors to pod set main: ")
