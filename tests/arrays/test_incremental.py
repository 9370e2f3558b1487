"""Random events fed one by one, against a new engine that is fed the final objects: the same tables by name."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from kueue_fast import Engine
from kueue_fast.api.decode import decode_object
from tests.arrays import objects as o
from tests.arrays.dump import differences, dump, shapes

SEEDS = int(os.environ.get("KUEUE_FAST_INCREMENTAL_SEEDS", "25"))
EVENTS = 120
CHECK_EVERY = 12

FLAVORS = ["f0", "f1", "f2", "f3"]
COHORTS = ["c0", "c1", "c2", "c3", "implicit"]
QUEUES = ["q0", "q1", "q2", "q3"]
LOCAL = ["l0", "l1", "l2", "l3"]
NAMESPACES = ["n0", "n1"]
RESOURCES = ["cpu", "memory", "example.com/gpu", "pods"]
TAINT = {"key": "t", "value": "v", "effect": "NoSchedule"}


class Cluster:
    """Objects that exist, and an engine that saw every event."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.engine = Engine()
        self.objects: dict[tuple[str, str, str], Any] = {}
        self.workloads: dict[str, o.Json] = {}
        self.now = 0
        for name in NAMESPACES:
            self.put(o.namespace(name, team="a"))
        for name in FLAVORS:
            self.put(o.flavor(name))
        for name in ("k0", "k1"):
            self.put(o.check(name))
        for number, name in enumerate(QUEUES):
            self.put(self.cluster_queue(name))
            for namespace in NAMESPACES:
                self.put(o.local_queue(f"l{number}", name, in_namespace=namespace))

    # --- random objects

    def quotas(self, *, limits: bool) -> list[o.Json]:
        rng = self.rng
        groups = []
        flavors = rng.sample(FLAVORS, rng.randrange(1, 4))
        resources = rng.sample(RESOURCES, rng.choice([2, 3, 4, 4]))
        cut = rng.randrange(1, len(flavors) + 1)
        for names, covered in ((flavors[:cut], resources[:2]), (flavors[cut:], resources[2:])):
            if not names or not covered:
                continue

            def one(resource: str) -> o.Json:
                amount = rng.choice(["0", "3", "10", "100", "10E", "1500m"] if limits else ["10", "100"])
                borrow = rng.choice([None, None, "0", "5", "20E"]) if limits else None
                lend = rng.choice([None, None, "0", "2", "20E"]) if limits else None
                return o.quota(resource, amount, borrow, lend)

            groups.append(o.group(**{name: [one(resource) for resource in covered] for name in names}))
        return groups

    def cluster_queue(self, name: str) -> Any:
        rng = self.rng
        spec: o.Json = {"queueingStrategy": rng.choice(["StrictFIFO", "BestEffortFIFO"])}
        spec["namespaceSelector"] = rng.choice([{}, {}, None, {"matchLabels": {"team": "a"}}])
        if rng.random() < 0.15:
            spec["stopPolicy"] = rng.choice(["Hold", "None"])
        if rng.random() < 0.15:
            rule = {"name": rng.choice(["k0", "k1"])}
            spec["admissionChecksStrategy"] = {"admissionChecks": [rule]}
        if rng.random() < 0.4:
            spec["flavorFungibility"] = {
                "whenCanBorrow": rng.choice(["TryNextFlavor", "MayStopSearch"]),
                "whenCanPreempt": rng.choice(["TryNextFlavor", "MayStopSearch"]),
            }
        cohort = rng.choice([None, *COHORTS])
        return o.cluster_queue(name, *self.quotas(limits=cohort is not None), cohort=cohort, **spec)

    def flavor(self, name: str) -> Any:
        rng = self.rng
        spec: o.Json = {}
        if rng.random() < 0.5:
            spec["nodeLabels"] = {"zone": rng.choice("ab")}
        if rng.random() < 0.3:
            spec["nodeTaints"] = [TAINT]
        return o.flavor(name, **spec)

    def limit_range(self, name: str, namespace: str) -> Any:
        rng = self.rng
        item = rng.choice(
            [
                {"type": "Container", "defaultRequest": {"cpu": rng.choice(["1", "2"])}},
                {"type": "Container", "max": {"cpu": "2"}},
                {"type": "Pod", "min": {"memory": "1Mi"}},
            ]
        )
        return o.limit_range(name, item, in_namespace=namespace)

    def pod(self) -> o.Json:
        rng = self.rng
        pod: o.Json = {}
        if rng.random() < 0.15:
            pod["nodeSelector"] = {"zone": rng.choice("ab")}
        if rng.random() < 0.3:
            pod["tolerations"] = [{"key": "t", "operator": "Exists"}]
        if rng.random() < 0.2:
            pod["runtimeClassName"] = "r0"
        return pod

    def workload(self, name: str, namespace: str) -> o.Json:
        rng = self.rng
        sets = []
        for number in range(rng.randrange(1, 4)):
            requests = {
                rng.choice(["cpu", "memory", "gpu"]): rng.choice(["1", "2", "500m", "0"]) for _ in range(2)
            }
            count = rng.randrange(5)
            sets.append(
                o.pod_set(
                    count,
                    name=f"s{number}",
                    minimum=1 if count > 1 and rng.random() < 0.2 else None,
                    together="g" if rng.random() < 0.1 else None,
                    pod=self.pod(),
                    **requests,
                )
            )
        status: o.Json = {}
        if rng.random() < 0.1:
            status["requeueState"] = {"count": 1, "requeueAt": "2026-01-01T00:01:00Z"}
        if rng.random() < 0.1:
            status["conditions"] = [o.condition("Requeued", rng.choice(["True", "False"]))]
        if rng.random() < 0.1:
            status["admissionChecks"] = [{"name": "k0", "state": rng.choice(["Retry", "Ready"])}]
        if rng.random() < 0.1:
            status["reclaimablePods"] = [{"name": "s0", "count": 1}]
        return o.workload_json(
            name, rng.choice(LOCAL), *sets, in_namespace=namespace, priority=rng.randrange(3),
            created=rng.randrange(60), active=rng.random() < 0.9, status=status,
            metadata={"generation": rng.randrange(1, 9)},
        )  # fmt: skip

    # --- events

    def put(self, made: Any) -> None:
        self.objects[made.KIND, made.metadata.namespace or "", made.metadata.name] = made
        self.engine.upsert(made, self.time())

    def drop(self, kind: str, namespace: str, name: str) -> None:
        self.objects.pop((kind, namespace, name), None)
        self.engine.delete(kind, namespace, name, self.time())

    def put_workload(self, made: o.Json) -> None:
        self.workloads[f"{made['metadata']['namespace']}/{made['metadata']['name']}"] = made
        self.engine.upsert(decode_object(made), self.time())

    def time(self) -> int:
        return o.START + self.now * o.SECOND

    def event(self) -> None:
        rng = self.rng
        self.now += 1
        namespace = rng.choice(NAMESPACES)
        remove = rng.random() < 0.15
        kinds = {
            "ClusterQueue": (5, rng.choice(QUEUES), "", self.cluster_queue),
            "Cohort": (3, rng.choice(COHORTS[:4]), "", self.cohort),
            "LocalQueue": (4, rng.choice(LOCAL), namespace, self.local_queue),
            "ResourceFlavor": (3, rng.choice(FLAVORS), "", self.flavor),
            "AdmissionCheck": (
                2,
                rng.choice(["k0", "k1"]),
                "",
                lambda name: o.check(name, active=rng.choice(["True", "False", None])),
            ),
            "Namespace": (
                2,
                namespace,
                "",
                lambda name: o.namespace(name, **rng.choice([{}, {"team": "a"}])),
            ),
            "LimitRange": (1, rng.choice(["x", "y"]), namespace, self.limit_range),
            "RuntimeClass": (1, "r0", "", lambda name: o.runtime_class(name, cpu=rng.choice(["100m", "1"]))),
            "Workload": (14, f"w{rng.randrange(12)}", namespace, self.workload),
            "cycle": (9, "", "", None),
            "finish": (2, "", "", None),
            "evict": (2, "", "", None),
            "reclaim": (1, "", "", None),
        }
        kind = rng.choices(list(kinds), [weight for weight, *_ in kinds.values()])[0]
        _, name, in_namespace, make = kinds[kind]
        if kind == "cycle":
            self.run_cycle()
        elif kind in ("finish", "evict", "reclaim"):
            self.change_status(kind)
        elif kind == "Workload":
            key = f"{namespace}/{name}"
            if remove:
                self.workloads.pop(key, None)
                self.engine.delete("Workload", namespace, name, self.time())
            elif "admission" not in self.workloads.get(key, {}).get("status", {}):
                self.put_workload(self.workload(name, namespace))
        elif remove:
            self.drop(kind, in_namespace, name)
        else:
            self.put(make(name, in_namespace) if in_namespace else make(name))

    def cohort(self, name: str) -> Any:
        parent = self.rng.choice([None, None, *COHORTS])
        return o.cohort(name, *self.quotas(limits=parent is not None), parent=parent)

    def local_queue(self, name: str, namespace: str) -> Any:
        stop = self.rng.choice([None, None, None, "Hold"])
        return o.local_queue(name, self.rng.choice(QUEUES), in_namespace=namespace, stop=stop)

    def run_cycle(self) -> None:
        self.engine.flush(self.time())
        for admission in self.engine.cycle(self.time()).admitted:
            made = o.observed(self.workloads[admission.workload], admission)
            self.workloads[admission.workload] = made
            if self.rng.random() < 0.3:
                self.engine.forget(admission.workload)  # the write failed at first
            self.engine.upsert(decode_object(made), self.time())

    def change_status(self, what: str) -> None:
        held = sorted(key for key, made in self.workloads.items() if "admission" in made.get("status", {}))
        if not held:
            return
        key = self.rng.choice(held)
        made = self.workloads[key]
        if what == "finish":
            made = o.finished(made)
        elif what == "reclaim":
            sets = made["spec"]["podSets"]
            made = {
                **made,
                "status": {**made["status"], "reclaimablePods": [{"name": sets[0]["name"], "count": 1}]},
            }
        else:
            status = {key: value for key, value in made["status"].items() if key != "admission"}
            others = [one for one in status["conditions"] if one["type"] not in ("QuotaReserved", "Admitted")]
            status["conditions"] = [*others, o.condition("QuotaReserved", "False", "Pending")]
            made = {**made, "status": status}
        self.put_workload(made)

    def rebuilt(self) -> Engine:
        """A new engine that sees the objects of now, in any order."""
        engine = Engine()
        final = [*self.objects.values(), *(decode_object(made) for made in self.workloads.values())]
        self.rng.shuffle(final)
        for one in final:
            engine.upsert(one, self.time())
        return engine


@pytest.mark.parametrize("seed", range(SEEDS))
def test_changed_rows_equal_a_full_rebuild(seed: int) -> None:
    cluster = Cluster(seed)
    for number in range(EVENTS):
        cluster.event()
        if number % CHECK_EVERY == CHECK_EVERY - 1:
            fresh = cluster.rebuilt()
            assert differences(dump(cluster.engine), dump(fresh)) == [], f"after {number + 1} events"
            assert shapes(cluster.engine) == shapes(fresh)


def test_deleting_everything_leaves_nothing() -> None:
    cluster = Cluster(1)
    for _ in range(EVENTS):
        cluster.event()
    for key in list(cluster.workloads):
        cluster.engine.delete("Workload", *key.split("/"))
    for kind, namespace, name in list(cluster.objects):
        cluster.engine.delete(kind, namespace, name)
    left = dump(cluster.engine)
    assert left == {"nodes": {}, "queues": {}, "workloads": {}, "order": {"names": []}}
    assert cluster.engine.queue_state() == {}
    assert not cluster.engine.has_heads()
