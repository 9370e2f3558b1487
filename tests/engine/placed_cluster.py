"""A small cluster with a topology: racks of hosts with 4 cpu each, and one ClusterQueue with ample quota."""

from __future__ import annotations

from typing import Any

import msgspec

from kueue_fast import Engine
from kueue_fast.api.topology_assignment import encode
from tests.arrays import objects as o

RACK, HOST = "cloud/rack", "kubernetes.io/hostname"
PLENTY = {"tas": [o.quota("cpu", 100)]}
Json = dict[str, Any]


def topology(*levels: str) -> Json:
    return {
        "apiVersion": o.V1BETA2,
        "kind": "Topology",
        "metadata": {"name": "t"},
        "spec": {"levels": [{"nodeLabel": level} for level in levels or (RACK, HOST)]},
    }


def flavor(name: str = "tas") -> Any:
    return o.flavor(name, nodeLabels={"pool": "tas"}, topologyName="t")


def node(name: str, rack: str = "r1", *, cpu: int | str = 4, ready: bool = True, **spec: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"pool": "tas", RACK: rack, HOST: name}},
        "spec": spec,
        "status": {
            "allocatable": {"cpu": str(cpu), "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def gang(count: int = 1, *, cpu: int | str = 2, name: str = "main", **request: Any) -> Json:
    """A pod set of `count` pods; `request` is its topologyRequest."""
    made = o.pod_set(count, name=name, cpu=cpu)
    if request:
        made["topologyRequest"] = request
    return made


def cluster(*extra: Any, config: Any = None, gates: dict[str, bool] | None = None, **queue: Any) -> Engine:
    """ClusterQueue `q` with 100 cpu of flavor `tas`, LocalQueue `lq`, hosts x1 and x2 in rack r1, x3 in r2."""
    return o.feed(
        Engine(config, gates),
        o.namespace(),
        topology(),
        flavor(),
        *(node(name, rack) for name, rack in (("x1", "r1"), ("x2", "r1"), ("x3", "r2"))),
        o.cluster_queue("q", o.group(**PLENTY), **queue),
        o.local_queue("lq", "q"),
        *extra,
    )


def on(made: Json, *hosts: tuple[str, int], failed: tuple[str, ...] = (), cpu: int = 2) -> Json:
    """The workload as it runs: its pods on these hosts, and the failed nodes that its status names."""
    count = sum(pods for _, pods in hosts)
    running = o.reserved(made, "q", ("main", count, {"cpu": "tas"}, {"cpu": count * cpu}))
    places = encode((HOST,), [((host,), pods) for host, pods in hosts])
    running["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"] = msgspec.json.decode(places)
    if failed:
        running["status"]["unhealthyNodes"] = [{"name": name} for name in failed]
    return running


def places(admission: Any, pod_set: int = 0) -> dict[str, int] | None:
    """Pods by host, None without places."""
    placement = admission.pod_sets[pod_set].placement
    return None if placement is None else {values[-1]: pods for values, pods in placement.domains}
