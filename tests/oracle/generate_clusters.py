"""Random clusters and what happens to them, small and odd: the form that every family of `generate` starts from."""

import copy
import random
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from tests.oracle.generate_pods import GPU, UNKNOWN, Pods

Json: TypeAlias = dict[str, Any]

API = "kueue.x-k8s.io/v1beta2"
START = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACES = ("team-a", "team-b")
QUOTAS = {
    "cpu": ["0", "1", "2", "4", "6", "8", "1500m", "2500m", "12"],
    "memory": ["0", "1Gi", "2Gi", "4Gi", "8Gi", "512Mi", "3221225472", "1500m"],
}
OTHER_QUOTAS = ["0", "1", "2", "3", "4", "6", "10"]  # gpu, pods
HUGE = ["1P", "10P", "10E", "9223372036854775807", "9223372036854775", "9223372036854775806"]
GATES = [  # on by default
    "FlavorFungibility",
    "FlavorFungibilityPreserveScanProgress",
    "PartialAdmission",
    "PrioritySortingWithinCohort",
    "QuotaCheckStrategy",
    "SchedulingEquivalenceHashing",
]


def stamp(seconds: int) -> str:
    return (START + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


class Builder:
    def __init__(self, family: str, seed: int, *, preemption: bool) -> None:
        self.random = random.Random(f"{family}/{seed}/{preemption}")
        self.family = family
        self.preemption = preemption
        self.has_trees = family == "hierarchy"
        self.objects: list[Json] = []
        self.clock = 0
        self.alive: list[Json] = []
        self.serial = 0
        self.resources = self.random.choice([["cpu"], ["cpu", "memory"], ["memory"], ["cpu", "pods"]])
        self.gpu_flavors: list[str] = []
        self.flavors = [f"flavor-{i}" for i in range(self.random.randint(1, 3))]
        self.cohorts: list[str] = []
        self.held_back: list[Json] = []  # flavors that come in a later step
        self.pods = Pods(self.random, self.flavors, self.resources, rich=family == "requests")

    def maybe(self, probability: float) -> bool:
        return self.random.random() < probability

    def build(self, name: str) -> Json:
        for namespace in NAMESPACES:
            self.add("Namespace", namespace, None, labels={"team": namespace[-1]})
        self.add_flavors()
        if self.family == "requests":
            self.add_defaults()
        if self.family != "flavors":
            self.add_cohorts()
        fewest, most = {"flavors": (1, 2), "hierarchy": (3, 6)}.get(self.family, (2, 4))
        for i in range(self.random.randint(fewest, most)):
            self.add_cluster_queue(f"queue-{i}")
        steps = [self.step(i) for i in range(self.random.randint(2, 5))]
        return {"name": name, "config": self.config(), "objects": self.objects, "steps": steps}

    def config(self) -> Json:
        config: Json = {}
        flipped = self.random.sample(GATES, self.random.choice([0, 0, 1, 2]))
        if flipped:
            config["featureGates"] = dict.fromkeys(flipped, False)
        if self.family in ("flavors", "requests"):
            config["resources"] = self.pods.resources_config()
        return config

    # --- definitions

    def add(self, kind: str, name: str, spec: Json | None, **metadata: Any) -> Json:
        self.serial += 1
        manifest: Json = {"apiVersion": "v1" if kind in ("Namespace", "LimitRange") else API, "kind": kind}
        manifest["metadata"] = {"name": name, "uid": f"uid-{self.serial:04d}", **metadata}
        if spec is not None:
            manifest["spec"] = spec
        self.objects.append(manifest)
        return manifest

    def of_kind(self, kind: str) -> list[Json]:
        return [manifest for manifest in self.objects if manifest["kind"] == kind]

    def add_flavors(self) -> None:
        if self.maybe(0.4):
            self.gpu_flavors = ["gpu-0", "gpu-1"][: self.random.randint(1, 2)]
        for name in [*self.flavors, *self.gpu_flavors]:
            self.add("ResourceFlavor", name, self.pods.flavor_spec(name))
            if self.family == "flavors" and self.maybe(0.05):
                self.held_back.append(self.objects.pop())

    def add_defaults(self) -> None:
        if self.maybe(0.5):
            self.add("LimitRange", "limits", {"limits": self.pods.limits()}, namespace=NAMESPACES[0])
        self.add("RuntimeClass", "heavy", None)
        self.objects[-1].update(
            apiVersion="node.k8s.io/v1", handler="heavy", overhead={"podFixed": {"cpu": "250m"}}
        )
        if self.maybe(0.3):
            self.add("AdmissionCheck", "check", {"controllerName": "example.com/checker"})
            active = {
                "type": "Active",
                "status": self.random.choice(["True", "True", "True", "False"]),
                "reason": "Active",
                "message": "",
            }
            self.objects[-1]["status"] = {"conditions": [{**active, "lastTransitionTime": stamp(0)}]}

    def add_cohorts(self) -> None:
        self.cohorts = ["root"]
        if self.maybe(0.5):
            self.add_cohort("root", None)
        if self.has_trees:
            for i in range(self.random.randint(1, 3)):
                parent = self.random.choice(self.cohorts)
                self.cohorts.append(f"cohort-{i}")
                self.add_cohort(self.cohorts[-1], parent)

    def add_cohort(self, name: str, parent: str | None) -> None:
        spec: Json = {"parentName": parent} if parent else {}
        if self.maybe(0.6):
            spec["resourceGroups"] = [self.group(self.flavors, self.resources, limits=parent is not None)]
        self.add("Cohort", name, spec)

    def group(self, flavors: list[str], resources: list[str], *, limits: bool) -> Json:
        return {
            "coveredResources": list(resources),
            "flavors": [
                {"name": flavor, "resources": [self.quota(resource, limits=limits) for resource in resources]}
                for flavor in flavors
            ],
        }

    def quota(self, resource: str, *, limits: bool) -> Json:
        quota: Json = {"name": resource, "nominalQuota": self.amount(resource)}
        if limits and self.maybe(0.35):
            quota["borrowingLimit"] = self.amount(resource)
        if limits and self.maybe(0.35):
            quota["lendingLimit"] = self.amount(resource)
        return quota

    def amount(self, resource: str) -> str:
        if self.maybe(0.03):
            return self.random.choice(HUGE)
        return self.random.choice(QUOTAS.get(resource, OTHER_QUOTAS))

    def add_cluster_queue(self, name: str) -> None:
        flavors = self.random.sample(self.flavors, self.random.randint(1, len(self.flavors)))
        cohort = self.random.choice(self.cohorts) if self.cohorts and self.maybe(0.93) else None
        groups = [self.group(flavors, self.resources, limits=cohort is not None)]
        if self.gpu_flavors:
            groups.append(self.group(self.gpu_flavors, [GPU], limits=cohort is not None))
        spec: Json = {
            "namespaceSelector": {} if self.maybe(0.9) else {"matchLabels": {"team": "a"}},
            "queueingStrategy": self.random.choice(["BestEffortFIFO", "BestEffortFIFO", "StrictFIFO"]),
            "resourceGroups": groups,
            "flavorFungibility": self.fungibility(),
            "preemption": self.preemption_policy(),
            "stopPolicy": "None",
        }
        if cohort is not None:
            spec["cohortName"] = cohort
        if self.of_kind("AdmissionCheck") and self.maybe(0.5):
            check: Json = {"name": "check"}
            if self.maybe(0.3):
                check["onFlavors"] = [self.random.choice(flavors)]
            spec["admissionChecksStrategy"] = {"admissionChecks": [check]}
        self.add("ClusterQueue", name, spec)
        for namespace in NAMESPACES:
            self.add(
                "LocalQueue", f"to-{name}", {"clusterQueue": name, "stopPolicy": "None"}, namespace=namespace
            )

    def fungibility(self) -> Json:
        choices = ["MayStopSearch", "TryNextFlavor"]
        fungibility = {
            "whenCanBorrow": self.random.choice(choices),
            "whenCanPreempt": self.random.choice(choices),
        }
        if set(fungibility.values()) == {"TryNextFlavor"} and self.maybe(0.5):
            fungibility["preference"] = self.random.choice(
                ["BorrowingOverPreemption", "PreemptionOverBorrowing"]
            )
        return fungibility

    def preemption_policy(self) -> Json:
        policy: Json = {
            "withinClusterQueue": "Never",
            "reclaimWithinCohort": "Never",
            "borrowWithinCohort": {"policy": "Never"},
        }
        if self.preemption:
            policy["withinClusterQueue"] = self.random.choice(
                ["Never", "LowerPriority", "LowerOrNewerEqualPriority"]
            )
            policy["reclaimWithinCohort"] = self.random.choice(["Never", "LowerPriority", "Any", "Any"])
            if policy["reclaimWithinCohort"] != "Never" and self.maybe(0.4):
                policy["borrowWithinCohort"] = {"policy": "LowerPriority"}
                if self.maybe(0.5):
                    policy["borrowWithinCohort"]["maxPriorityThreshold"] = self.random.choice([-1, 0, 5])
        return policy

    # --- steps

    def step(self, index: int) -> Json:
        step: Json = {"at": 10 + 60 * index}
        if index and self.alive:
            done = self.random.sample(self.alive, min(len(self.alive), self.random.randint(0, 3)))
            self.alive = [w for w in self.alive if w not in done]
            step["finish"] = [f"{w['metadata']['namespace']}/{w['metadata']['name']}" for w in done]
        if index and self.alive and self.maybe(0.1):
            gone = self.alive.pop(self.random.randrange(len(self.alive)))
            step["delete"] = [f"Workload/{gone['metadata']['namespace']}/{gone['metadata']['name']}"]
        if index and self.maybe(0.35):
            step["update"] = [self.changed()]
        step["create"] = [*self.held_back, *(self.workload() for _ in range(self.random.randint(2, 7)))]
        self.held_back = []
        return step

    def changed(self) -> Json:
        """A new version of a ClusterQueue, a Cohort, or a LocalQueue."""
        kind = self.random.choice(["ClusterQueue", "ClusterQueue", "LocalQueue", "Cohort"])
        known = self.of_kind(kind) or self.of_kind("ClusterQueue")
        manifest = copy.deepcopy(self.random.choice(known))
        spec = manifest["spec"]
        if manifest["kind"] == "LocalQueue" or (manifest["kind"] == "ClusterQueue" and self.maybe(0.3)):
            spec["stopPolicy"] = self.random.choice(["Hold", "None"])
        else:
            limits = bool(spec.get("cohortName") or spec.get("parentName"))
            for group in spec.get("resourceGroups") or ():
                for flavor in group["flavors"]:
                    flavor["resources"] = [self.quota(r["name"], limits=limits) for r in flavor["resources"]]
        return manifest

    def workload(self) -> Json:
        count = self.random.choice([1, 1, 1, 1, 2, 3])
        pod_sets = [self.pod_set(f"set-{i}", i) for i in range(count)]
        if count > 1 and self.maybe(0.15):
            for pod_set in pod_sets[:2]:
                pod_set["topologyRequest"] = {"podSetGroupName": "together"}
        queue = self.random.choice(self.of_kind("LocalQueue"))["metadata"]
        self.clock += self.random.choice([0, 1, 1, 2])
        self.serial += 1
        metadata = {
            "name": f"workload-{self.serial:04d}",
            "namespace": queue["namespace"],
            "uid": f"{self.random.randrange(16**4):04x}-{self.serial:04d}",
            "creationTimestamp": stamp(self.clock),
        }
        spec: Json = {"active": True, "queueName": queue["name"], "podSets": pod_sets}
        if self.maybe(0.8):
            spec["priority"] = self.random.choice([0, 0, 0, 1, 5, 5, -3, 2147483647])
        manifest = {"apiVersion": API, "kind": "Workload", "metadata": metadata, "spec": spec}
        self.alive.append(manifest)
        return manifest

    def pod_set(self, name: str, index: int) -> Json:
        many = self.family == "partial"
        pod_set: Json = {
            "name": name,
            "count": self.random.choice([2, 4, 7, 12] if many else [1, 1, 1, 2, 3]),
        }
        if many and self.maybe(0.7):
            pod_set["minCount"] = self.random.randint(1, pod_set["count"])
        if index and self.maybe(0.08):
            pod_set = {"name": name, "count": 0}
        pod_set["template"] = {
            "metadata": {},
            "spec": self.pods.spec([*([GPU] if self.gpu_flavors else []), UNKNOWN]),
        }
        return pod_set
