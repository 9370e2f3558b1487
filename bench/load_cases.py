"""Load cases: large scenarios, one JSON line each, the same bytes at every run.

    python -m bench.load_cases CASE... > load.jsonl     (no argument: the names)

A line has the form of a corpus scenario without `expect`; workloads are drawn from a seeded generator.
"""

import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Manifest = dict[str, Any]

KUEUE = "kueue.x-k8s.io/v1beta2"
NAMESPACE = "load"
RECLAIM = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
NEVER = {
    "reclaimWithinCohort": "Never",
    "withinClusterQueue": "Never",
    "borrowWithinCohort": {"policy": "Never"},
}
FUNGIBILITY = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"}
PRIORITIES = (0, 50, 100)
WEIGHTS = ("1", "2", "3")
LEVELS = ("cloud/block", "cloud/rack", "kubernetes.io/hostname")
ALL_CYCLES = 100_000


def timestamp(second: int) -> str:
    """RFC 3339 time, `second` seconds after the start of 2026."""
    return f"2026-01-01T{second // 3600:02d}:{second % 3600 // 60:02d}:{second % 60:02d}Z"


class LoadCase:
    """A scenario under construction: manifests in order of creation, with uids that count up."""

    def __init__(self, name: str, *, fair: bool = False) -> None:
        self.name = name
        self.random = random.Random(1)
        self.config: Manifest = {"fairSharing": {}} if fair else {}
        self.objects: list[Manifest] = []
        self.steps: list[Manifest] = []
        self._uid = 0
        self.add("Namespace", NAMESPACE, None, api_version="v1")

    def metadata(self, name: str, namespace: str | None = None, **more: str) -> Manifest:
        """Metadata with the next uid."""
        self._uid += 1
        scope = {"namespace": namespace} if namespace else {}
        return {"name": name, "uid": f"00000000-0000-0000-0000-{self._uid:012d}", **scope, **more}

    def add(
        self,
        kind: str,
        name: str,
        spec: Manifest | None,
        *,
        namespace: str | None = None,
        api_version: str = KUEUE,
        status: Manifest | None = None,
    ) -> Manifest:
        """Appends an object that is present from the start, and returns it."""
        manifest: Manifest = {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": self.metadata(name, namespace),
        }
        if status is not None:
            manifest["status"] = status
        if spec is not None:
            manifest["spec"] = spec
        self.objects.append(manifest)
        return manifest

    def add_queue(
        self,
        name: str,
        cohort: str | None,
        quotas: Mapping[str, Mapping[str, str]],
        *,
        preemption: Mapping[str, Any],
        flavors: Sequence[str] = ("default",),
        strategy: str = "BestEffortFIFO",
        weight: str | None = None,
    ) -> None:
        """Appends a ClusterQueue with the same `quotas` (by resource) in each flavor, and its LocalQueue."""
        resources = [{"name": resource, **quota} for resource, quota in quotas.items()]
        spec: Manifest = {
            "namespaceSelector": {},
            "queueingStrategy": strategy,
            "stopPolicy": "None",
            "flavorFungibility": FUNGIBILITY,
            "preemption": {**NEVER, **preemption},
            "resourceGroups": [
                {
                    "coveredResources": list(quotas),
                    "flavors": [{"name": flavor, "resources": resources} for flavor in flavors],
                }
            ],
        }
        if cohort:
            spec["cohortName"] = cohort
        if weight is not None:
            spec["fairSharing"] = {"weight": weight}
        self.add("ClusterQueue", name, spec)
        self.add("LocalQueue", name, {"clusterQueue": name, "stopPolicy": "None"}, namespace=NAMESPACE)

    def workload(
        self,
        name: str,
        queue: str,
        requests: Mapping[str, str],
        created: int,
        *,
        count: int = 1,
        priority: int = 0,
        topology: Manifest | None = None,
        admitted: Manifest | None = None,
    ) -> Manifest:
        """A Workload of one pod set, not appended; admitted already if its assignment `admitted` is given."""
        container = {"name": "c", "image": "x", "resources": {"requests": requests}}
        template = {"metadata": {}, "spec": {"restartPolicy": "Never", "containers": [container]}}
        pod_set: Manifest = {"name": "main", "count": count, "template": template}
        if topology:
            pod_set["topologyRequest"] = topology
        manifest: Manifest = {
            "apiVersion": KUEUE,
            "kind": "Workload",
            "metadata": self.metadata(name, NAMESPACE, creationTimestamp=timestamp(created)),
            "spec": {"active": True, "queueName": queue, "priority": priority, "podSets": [pod_set]},
        }
        if admitted:
            since = {"message": "", "lastTransitionTime": timestamp(created)}
            manifest["status"] = {
                "admission": {"clusterQueue": queue, "podSetAssignments": [admitted]},
                "conditions": [
                    {"type": kind, "status": "True", "reason": kind, **since}
                    for kind in ("QuotaReserved", "Admitted")
                ],
            }
        return manifest

    def add_nodes(self, blocks: int, racks: int, hosts: int, allocatable: Mapping[str, str]) -> None:
        """Appends a topology of three levels, `hosts` nodes a rack, `racks` racks a block, and its flavor."""
        self.add("Topology", "topo", {"levels": [{"nodeLabel": level} for level in LEVELS]})
        self.add("ResourceFlavor", "default", {"nodeLabels": {"pool": "tas"}, "topologyName": "topo"})
        places = [(block, rack) for block in range(blocks) for rack in range(racks) for _ in range(hosts)]
        for number, (block, rack) in enumerate(places):
            name = f"n{number:06d}"
            status = {
                "allocatable": {**allocatable, "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            }
            node = self.add("Node", name, {}, api_version="v1", status=status)
            domains = (f"b{block:03d}", f"b{block:03d}r{rack:03d}", name)
            node["metadata"]["labels"] = {"pool": "tas", **dict(zip(LEVELS, domains, strict=True))}

    def step(self, workloads: list[Manifest], max_cycles: int = ALL_CYCLES) -> None:
        """Appends the one step, two hours after the start: all `workloads` are created."""
        self.steps.append({"at": 7200, "create": workloads, "maxCycles": max_cycles})

    def line(self) -> str:
        """The scenario as one line of JSON, without a newline."""
        scenario = {"name": self.name, "config": self.config, "objects": self.objects, "steps": self.steps}
        return json.dumps(scenario, separators=(",", ":"))


def drain(name: str, cohorts: int, queues: int, per_queue: int, *, fair: bool = False) -> LoadCase:
    """Everything fits: how fast are workloads admitted, one head a queue a cycle."""
    case = LoadCase(name, fair=fair)
    case.add("ResourceFlavor", "default", {})
    quotas = {
        "cpu": {"nominalQuota": str(per_queue * 2), "borrowingLimit": "100"},
        "memory": {"nominalQuota": f"{per_queue * 4}Gi"},
    }
    workloads = []
    for cohort in range(cohorts):
        for number in range(queues):
            queue = f"c{cohort:03d}q{number:03d}"
            weight = case.random.choice(WEIGHTS) if fair else None
            case.add_queue(queue, f"cohort{cohort:03d}", quotas, preemption=RECLAIM, weight=weight)
            for i in range(per_queue):
                requests = {"cpu": case.random.choice(["500m", "1", "2"]), "memory": "1Gi"}
                priority = case.random.choice(PRIORITIES)
                workloads.append(case.workload(f"{queue}-{i:05d}", queue, requests, i, priority=priority))
    case.step(workloads)
    return case


def contended(name: str, cohorts: int, queues: int, per_queue: int, *, fair: bool = False) -> LoadCase:
    """Quota for a tenth: heads compete, borrow and preempt; the rest is tried and parked."""
    case = LoadCase(name, fair=fair)
    case.add("ResourceFlavor", "default", {})
    case.add("ResourceFlavor", "spot", {})
    quotas = {"cpu": {"nominalQuota": str(per_queue // 10), "borrowingLimit": "100"}}
    workloads = []
    for cohort in range(cohorts):
        for number in range(queues):
            queue = f"c{cohort:03d}q{number:03d}"
            weight = case.random.choice(WEIGHTS) if fair else None
            case.add_queue(
                queue,
                f"cohort{cohort:03d}",
                quotas,
                preemption=RECLAIM,
                flavors=("default", "spot"),
                weight=weight,
            )
            for i in range(per_queue):
                requests = {"cpu": case.random.choice(["1", "2", "5"])}
                priority = case.random.choice(PRIORITIES)
                workloads.append(case.workload(f"{queue}-{i:05d}", queue, requests, i, priority=priority))
    case.step(workloads)
    return case


def preempt(name: str, candidates: int, *, queues: int = 1, fair: bool = False) -> LoadCase:
    """One urgent workload needs half of a full cohort back."""
    case = LoadCase(name, fair=fair)
    case.add("ResourceFlavor", "default", {})
    case.add_queue("urgent", "cohort", {"cpu": {"nominalQuota": str(candidates)}}, preemption=RECLAIM)
    for number in range(queues):
        case.add_queue(f"low{number:03d}", "cohort", {"cpu": {"nominalQuota": "0"}}, preemption=RECLAIM)
    usage = {"name": "main", "count": 1, "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "1"}}
    for i in range(candidates):
        queue = f"low{i % queues:03d}"
        case.objects.append(
            # None is made after the preemptor, however many there are.
            case.workload(f"v{i:05d}", queue, {"cpu": "1"}, i % 7000, priority=i % 7, admitted=usage)
        )
    hero = case.workload("hero", "urgent", {"cpu": "1"}, 7100, count=candidates // 2, priority=1000)
    case.step([hero], max_cycles=1)
    return case


def topology(name: str, blocks: int, racks: int, hosts: int, workloads: int, pods: int) -> LoadCase:
    """Gangs are placed on a topology that is empty at first and half full in the end."""
    case = LoadCase(name)
    case.add_nodes(blocks, racks, hosts, {"cpu": "96", "memory": "256Gi", "nvidia.com/gpu": "8"})
    ample = {
        "cpu": {"nominalQuota": "100000000"},
        "memory": {"nominalQuota": "100000000Gi"},
        "nvidia.com/gpu": {"nominalQuota": "100000000"},
    }
    case.add_queue("main", None, ample, preemption={})
    levels: list[Manifest] = [
        {"required": "cloud/block"},
        {"preferred": "cloud/rack"},
        {"preferred": "cloud/block"},
        {"unconstrained": True},
    ]
    gangs = []
    for i in range(workloads):
        level = case.random.choice(levels)
        cpu = case.random.choice(["8", "12", "24"])
        requests = {"cpu": cpu, "memory": "16Gi", "nvidia.com/gpu": case.random.choice(["1", "2", "4"])}
        gangs.append(case.workload(f"w{i:05d}", "main", requests, i, count=pods, topology=level))
    case.step(gangs)
    return case


def topology_preempt(name: str, blocks: int, racks: int, hosts: int) -> LoadCase:
    """A full topology, one small workload on each host; a gang for one block must evict some."""
    case = LoadCase(name)
    case.add_nodes(blocks, racks, hosts, {"cpu": "8"})
    count = blocks * racks * hosts
    quota = {"cpu": {"nominalQuota": str(8 * count)}}
    case.add_queue("main", None, quota, preemption={"withinClusterQueue": "LowerPriority"})
    host = {"required": LEVELS[-1]}
    for i in range(count):
        place = {
            "domainCount": 1,
            "podCounts": {"universal": 1},
            "valuesPerLevel": [{"universal": f"n{i:06d}"}],
        }
        usage = {
            "name": "main",
            "count": 1,
            "flavors": {"cpu": "default"},
            "resourceUsage": {"cpu": "8"},
            "topologyAssignment": {"levels": [LEVELS[-1]], "slices": [place]},
        }
        case.objects.append(
            case.workload(
                f"v{i:05d}",
                "main",
                {"cpu": "8"},
                i % 3600,
                priority=i % 5,
                topology=host,
                admitted=usage,
            )
        )
    block = {"required": LEVELS[0]}
    gang = case.workload(
        "gang", "main", {"cpu": "8"}, 7100, count=racks * hosts // 2, priority=100, topology=block
    )
    case.step([gang], max_cycles=1)
    return case


CASES: dict[str, Callable[[str], LoadCase]] = {
    "drain-30x500": lambda name: drain(name, 5, 6, 500),
    "drain-1000x20": lambda name: drain(name, 10, 100, 20),
    "drain-fair-1000x10": lambda name: drain(name, 10, 100, 10, fair=True),
    "contended-30x300": lambda name: contended(name, 5, 6, 300),
    "contended-fair-30x300": lambda name: contended(name, 5, 6, 300, fair=True),
    "preempt-1000": lambda name: preempt(name, 1000),
    "preempt-fair-1000": lambda name: preempt(name, 1000, queues=50, fair=True),
    "tas-640": lambda name: topology(name, 1, 10, 64, 60, 64),
    "tas-5k": lambda name: topology(name, 10, 16, 32, 40, 256),
    "tas-40k": lambda name: topology(name, 40, 32, 32, 20, 1024),
    "tas-preempt-2k": lambda name: topology_preempt(name, 4, 16, 32),
}


def build(name: str) -> LoadCase:
    """The load case `name`; KeyError if there is none of that name."""
    return CASES[name](name)


def main(arguments: Sequence[str]) -> int:
    """Writes the named cases, or the names; an unknown name is said on standard error and gives 2."""
    unknown = [name for name in arguments if name not in CASES]
    if unknown:
        print(f"unknown load case {unknown[0]!r}: expected one of {', '.join(CASES)}", file=sys.stderr)
        return 2
    for name in arguments:
        print(build(name).line())
    if not arguments:
        print("\n".join(CASES))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
