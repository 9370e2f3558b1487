"""Random clusters that are too small for what is asked of them: full queues, bursts of priorities, preemption.

What `generate_clusters` makes odd is plain here, so that nearly all workloads compete for the same quota.
"""

from typing import Any, TypeAlias

from tests.oracle.generate_clusters import API, NAMESPACES, Builder, stamp

Json: TypeAlias = dict[str, Any]

OFF_BY_DEFAULT = (
    "PrioritizePreemptorWorkloads",
    "PriorityBoost",
    "RecomputeAssignmentUponPreemptionTargetsOverlap",
    "SchedulerTimestampPreemptionBuffer",
)
ON_BY_DEFAULT = (
    "FairSharingPreemptWithinNominal",
    "FairSharingPrioritizeNonBorrowing",
    "FlavorFungibility",
    "FlavorFungibilityPreserveScanProgress",
    "PrioritySortingWithinCohort",
    "SchedulingEquivalenceHashing",
)
STRATEGIES = (
    None,
    None,
    ["LessThanOrEqualToFinalShare"],
    ["LessThanInitialShare"],
    ["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
)
WEIGHTS = ("0", "0", "0.5", "1", "2", "0.3", "1500m", "7", "0.000000002", "1e6")
FIRST_PRIORITIES = (0, 0, 0, 1, 1, 5, -3, -2147483648)
LATER_PRIORITIES = (0, 0, 1, 1, 5, 5, 10, 10, -3, 2147483647)
QUOTAS = {
    "cpu": ["0", "2", "3", "4", "6", "8", "5500m"],
    "memory": ["1Gi", "4Gi", "6Gi", "8Gi", "5000000000"],
    "pods": ["2", "4", "6", "9"],
}
REQUESTS = {
    "cpu": ["1", "1", "2", "500m", "3", "4", "250m"],
    "memory": ["1Gi", "2Gi", "512Mi", "1073741824", "3Gi", "0"],
}
MOST_CYCLES = 25  # a step may never come to rest


class Contended(Builder):
    def __init__(self, family: str, seed: int) -> None:
        super().__init__(family, seed, preemption=True)
        self.is_fair = family.startswith("fair")
        self.is_slow = family.endswith("stopping")
        self.has_trees = family.endswith("trees") or (self.is_slow and self.maybe(0.5))
        self.resources = self.random.choice([["cpu"], ["cpu"], ["cpu", "memory"], ["cpu", "pods"]])
        self.flavors = [f"flavor-{i}" for i in range(self.random.choice([1, 1, 2]))]

    def build(self, name: str) -> Json:
        for namespace in NAMESPACES:
            self.add("Namespace", namespace, None, labels={"team": namespace[-1]})
        for flavor in self.flavors:
            self.add("ResourceFlavor", flavor, {})
        self.add_cohorts()
        for i in range(self.random.randint(2, 6 if self.has_trees else 4)):
            self.add_cluster_queue(f"queue-{i}")
        if self.is_fair:
            self.weigh()
        steps = [self.step(i) for i in range(self.random.randint(2, 5))]
        return {"name": name, "config": self.config(), "objects": self.objects, "steps": steps}

    def config(self) -> Json:
        config: Json = {}
        gates = dict.fromkeys(self.random.sample(OFF_BY_DEFAULT, self.random.choice([0, 0, 1, 2])), True)
        gates |= dict.fromkeys(self.random.sample(ON_BY_DEFAULT, self.random.choice([0, 0, 1])), False)
        if gates:
            config["featureGates"] = gates
        if self.is_fair:
            strategies = self.random.choice(STRATEGIES)
            config["fairSharing"] = {"preemptionStrategies": strategies} if strategies else {}
        if self.is_slow:
            config["slowEvictions"] = True
        return config

    def weigh(self) -> None:
        for manifest in [*self.of_kind("ClusterQueue"), *self.of_kind("Cohort")]:
            if self.maybe(0.5):
                manifest["spec"]["fairSharing"] = {"weight": self.random.choice(WEIGHTS)}

    def amount(self, resource: str) -> str:
        return self.random.choice(QUOTAS[resource])

    def step(self, index: int) -> Json:
        step: Json = {"at": 0, "maxCycles": MOST_CYCLES}
        if self.is_slow and index:
            step["stopped"] = self.random.choice([-1, 0, 1, 1, 2, 3])
        if index:
            done = self.random.sample(self.alive, min(len(self.alive), self.random.choice([0, 0, 1, 3])))
            self.alive = [w for w in self.alive if w not in done]
            step["finish"] = [f"{w['metadata']['namespace']}/{w['metadata']['name']}" for w in done]
        if index and self.maybe(0.25):
            step["update"] = [self.changed()]
        count = self.random.randint(1, 6) if index else self.random.randint(6, 18)
        step["create"] = [self.contender(600 * index) for _ in range(count)]
        step["at"] = self.clock + 10
        return step

    def contender(self, now: int) -> Json:
        queue = self.random.choice(self.of_kind("LocalQueue"))["metadata"]
        self.clock = max(self.clock, now) + self.random.choice([0, 0, 1, 7, 200])
        self.serial += 1
        metadata: Json = {
            "name": f"workload-{self.serial:04d}",
            "namespace": queue["namespace"],
            "uid": f"{self.random.randrange(16**4):04x}-{self.serial:04d}",
            "creationTimestamp": stamp(self.clock),
        }
        if self.maybe(0.1):
            boost = self.random.choice(["5", "-2", "no number", "2147483647"])
            metadata["annotations"] = {"kueue.x-k8s.io/priority-boost": boost}
        pod_sets = [self.contender_pods(f"set-{i}") for i in range(self.random.choice([1, 1, 1, 2]))]
        spec: Json = {"active": True, "queueName": queue["name"], "podSets": pod_sets}
        spec["priority"] = self.random.choice(LATER_PRIORITIES if now else FIRST_PRIORITIES)
        manifest = {"apiVersion": API, "kind": "Workload", "metadata": metadata, "spec": spec}
        self.alive.append(manifest)
        return manifest

    def contender_pods(self, name: str) -> Json:
        wanted = {
            r: self.random.choice(REQUESTS[r]) for r in self.resources if r in REQUESTS and self.maybe(0.93)
        }
        pods: Json = {"name": name, "count": self.random.choice([1, 1, 2, 3])}
        if pods["count"] > 1 and self.maybe(0.2):
            pods["minCount"] = 1
        container = {"name": "main", "image": "registry/none", "resources": {"requests": wanted}}
        pods["template"] = {"metadata": {}, "spec": {"restartPolicy": "Never", "containers": [container]}}
        return pods
