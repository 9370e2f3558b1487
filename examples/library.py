"""Schedule with kueue_fast as a library: `python examples/library.py`.

One ClusterQueue with 4 cpu and two Workloads of 3 cpu: the first is admitted, the second one waits.
"""

import time

from kueue_fast import Engine
from kueue_fast.api.decode import decode_object
from kueue_fast.api.meta import KubernetesObject

VERSION = "kueue.x-k8s.io/v1beta2"
CPU = {"name": "default", "resources": [{"name": "cpu", "nominalQuota": 4}]}
GROUP = {"coveredResources": ["cpu"], "flavors": [CPU]}


def workload(name: str, cpu: int) -> KubernetesObject:
    """A Workload with one pod, as the manifest that would be read from YAML or JSON."""
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    return decode_object(
        {
            "apiVersion": VERSION,
            "kind": "Workload",
            "metadata": {"namespace": "team", "name": name, "uid": name},
            "spec": {"queueName": "main", "podSets": [pod_set]},
        }
    )


QUEUES = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
    {"apiVersion": VERSION, "kind": "ResourceFlavor", "metadata": {"name": "default"}},
    {
        "apiVersion": VERSION,
        "kind": "ClusterQueue",
        "metadata": {"name": "shared"},
        "spec": {"namespaceSelector": {}, "resourceGroups": [GROUP]},
    },
    {
        "apiVersion": VERSION,
        "kind": "LocalQueue",
        "metadata": {"namespace": "team", "name": "main"},
        "spec": {"clusterQueue": "shared"},
    },
]


def main() -> None:
    engine = Engine()
    for obj in [*map(decode_object, QUEUES), workload("first", 3), workload("second", 3)]:
        engine.upsert(obj)
    while engine.has_heads():
        cycle = engine.cycle(now_ns=time.time_ns())
        for admission in cycle.admitted:
            print("admitted", admission.workload, "in", admission.cluster_queue, admission.pod_sets)
        for requeued in cycle.requeued:
            print("waiting", requeued.workload, "because", requeued.message())
        if not cycle.changed:
            break


if __name__ == "__main__":
    main()
