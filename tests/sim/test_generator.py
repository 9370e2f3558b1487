"""A generator file becomes the objects that Kueue's performance runner would create."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kueue_fast.api.kueue import ClusterQueue, LocalQueue, Workload
from kueue_fast.sim.manifest import Manifest, ManifestErrors, SimulationFacts
from kueue_fast.sim.manifests import load

MILLISECOND = 1_000_000
EXAMPLE = Path(__file__).parents[2] / "examples" / "baseline" / "generator.yaml"

SMALL = """\
cohorts:
- className: cohort
  count: 2
  queuesSets:
  - className: cq
    count: 1
    nominalQuota: 20
    workloadsSets:
    - count: 2
      creationIntervalMs: 100
      workloads:
      - {className: small, runtimeMs: 200, priority: 50, request: 1}
      - {className: large, runtimeMs: 900, request: 1500m}
    - count: 1
      creationIntervalMs: 250
      workloads:
      - {className: one, runtimeMs: 10, priority: -7, request: 0.5}
  - className: more
    count: 2
    nominalQuota: "5"
    borrowingLimit: 2500m
    reclaimWithinCohort: Any
    withinClusterQueue: LowerPriority
"""


def load_text(tmp_path: Path, text: str) -> list[Manifest]:
    file = tmp_path / "generator.yaml"
    file.write_text(text)
    return load([str(file)])


def test_names_are_the_runners(tmp_path: Path) -> None:
    manifests = load_text(tmp_path, SMALL)
    queues = ["cq-0-0-cohort-0", "cq-0-0-cohort-1"]
    more = [f"more-1-{queue}-cohort-{cohort}" for cohort in range(2) for queue in range(2)]
    by_kind: dict[str, list[str]] = {}
    for manifest in manifests:
        by_kind.setdefault(manifest.object.KIND, []).append(manifest.object.metadata.name)
    workloads = by_kind.pop("Workload")
    assert by_kind == {
        "ResourceFlavor": ["rf"],
        "ClusterQueue": queues + more,
        "Namespace": queues + more,
        "LocalQueue": queues + more,
    }
    names = ["small-0-0-0", "large-0-0-1", "small-0-1-0", "large-0-1-1", "one-1-0-0"]
    assert sorted(workloads) == sorted(names * 2)


def test_arrivals_follow_one_interval_a_workload_and_come_in_order(tmp_path: Path) -> None:
    manifests = load_text(tmp_path, SMALL)
    first = "cq-0-0-cohort-0"
    found = [
        (manifest.object.metadata.name, manifest.facts)
        for manifest in manifests
        if isinstance(manifest.object, Workload) and manifest.object.metadata.namespace == first
    ]
    want = [
        ("small-0-0-0", 100, 200),
        ("large-0-0-1", 200, 900),
        ("one-1-0-0", 250, 10),
        ("small-0-1-0", 300, 200),
        ("large-0-1-1", 400, 900),
    ]
    assert found == [
        (name, SimulationFacts(arrival_ns=arrival * MILLISECOND, run_time_ns=run * MILLISECOND))
        for name, arrival, run in want
    ]
    arrivals = [manifest.facts.arrival_ns for manifest in manifests if isinstance(manifest.object, Workload)]
    assert arrivals == sorted(arrivals, key=int)  # type: ignore[arg-type]


def test_objects_are_as_the_runner_makes_them(tmp_path: Path) -> None:
    objects = {
        (manifest.object.KIND, manifest.object.metadata.name): manifest.object
        for manifest in load_text(tmp_path, SMALL)
    }
    queue = objects["ClusterQueue", "cq-0-0-cohort-1"]
    assert isinstance(queue, ClusterQueue)
    assert queue.spec is not None
    assert queue.spec.cohort_name == "cohort-1"
    assert queue.spec.preemption is not None
    assert queue.spec.preemption.within_cluster_queue == "Never"
    assert queue.spec.preemption.reclaim_within_cohort == "Never"
    [group] = queue.spec.resource_groups or ()
    [flavor] = group.flavors or ()
    [quota] = flavor.resources or ()
    assert (flavor.name, quota.name, quota.nominal_quota, quota.borrowing_limit) == ("rf", "cpu", "20", None)

    more = objects["ClusterQueue", "more-1-1-cohort-0"]
    assert isinstance(more, ClusterQueue)
    assert more.spec is not None
    assert more.spec.preemption is not None
    assert more.spec.preemption.within_cluster_queue == "LowerPriority"
    assert more.spec.preemption.reclaim_within_cohort == "Any"
    [group] = more.spec.resource_groups or ()
    [flavor] = group.flavors or ()
    [quota] = flavor.resources or ()
    assert (quota.nominal_quota, quota.borrowing_limit) == ("5", "2500m")

    local_queue = objects["LocalQueue", "cq-0-0-cohort-1"]
    assert isinstance(local_queue, LocalQueue)
    assert local_queue.metadata.namespace == "cq-0-0-cohort-1"
    assert local_queue.spec is not None
    assert local_queue.spec.cluster_queue == "cq-0-0-cohort-1"

    workload = objects["Workload", "large-0-1-1"]
    assert isinstance(workload, Workload)
    assert workload.metadata.labels == {
        "kueue.x-k8s.io/performance-scheduler-running-ms": "900",
        "kueue.x-k8s.io/performance-scheduler-class": "large",
    }
    assert (workload.spec.queue_name, workload.spec.priority) == (workload.metadata.namespace, 0)
    [pod_set] = workload.spec.pod_sets or ()
    assert (pod_set.name, pod_set.count) == ("main", 1)
    assert json.loads(bytes(pod_set.template.spec)) == {
        "restartPolicy": "Never",
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "1500m"}}}],
    }


def test_a_flavor_of_another_name(tmp_path: Path) -> None:
    manifests = load_text(tmp_path, "resourceFlavor: {name: gold, nodeLabel: tier}\n" + SMALL)
    assert manifests[0].object.metadata.name == "gold"
    queue = manifests[1].object
    assert isinstance(queue, ClusterQueue)
    assert queue.spec is not None
    assert [flavor.name for group in queue.spec.resource_groups or () for flavor in group.flavors or ()] == [
        "gold"
    ]


def test_a_generator_beside_plain_manifests(tmp_path: Path) -> None:
    plain = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n---\n"
    manifests = load_text(tmp_path, plain + SMALL)
    assert manifests[0].object.metadata.name == "team"
    assert manifests[1].object.metadata.name == "rf"
    assert (manifests[1].line, manifests[1].document) == (5, 1)


def test_the_example_has_the_numbers_of_the_baseline() -> None:
    manifests = load([str(EXAMPLE)])
    workloads = [manifest for manifest in manifests if isinstance(manifest.object, Workload)]
    classes = Counter((manifest.object.metadata.labels or {})[CLASS] for manifest in workloads)
    assert classes == {"small": 350 * 30, "medium": 100 * 30, "large": 50 * 30}
    queues = [manifest.object for manifest in manifests if isinstance(manifest.object, ClusterQueue)]
    assert len(queues) == 30
    assert len({queue.spec.cohort_name for queue in queues if queue.spec is not None}) == 5
    last = max(manifest.facts.arrival_ns or 0 for manifest in workloads)
    assert last == 60_000 * MILLISECOND


CLASS = "kueue.x-k8s.io/performance-scheduler-class"

BAD: dict[str, tuple[tuple[str, str], list[str]]] = {
    "a negative quota": (
        ("nominalQuota: 20", "nominalQuota: -20"),
        ['7: ClusterQueue: $.cohorts[0].queuesSets[0].nominalQuota: Invalid value: "-20"'],
    ),
    "a quota that is no quantity": (
        ("borrowingLimit: 2500m", "borrowingLimit: 1x"),
        ['21: ClusterQueue: $.cohorts[0].queuesSets[1].borrowingLimit: Invalid value: "1x"'],
    ),
    "a request that is no quantity": (
        ("request: 1500m", "request: 1x"),
        [
            '13: Workload: $.cohorts[0].queuesSets[0].workloadsSets[0].workloads[1].request: Invalid value: "1x"'
        ],
    ),
    "a policy that does not exist": (
        ("LowerPriority", "Always"),
        ['23: ClusterQueue: $.cohorts[0].queuesSets[1].withinClusterQueue: Unsupported value: "Always"'],
    ),
    "a class that is no name": (
        ("className: small", "className: Small"),
        ["12: Workload: $.cohorts[0].queuesSets[0].workloadsSets[0].workloads[0].className: Invalid value"],
    ),
    "a class that breaks JSON": (
        ("className: small", "className: '\"'"),
        ["12: Workload: $.cohorts[0].queuesSets[0].workloadsSets[0].workloads[0].className: Invalid value"]
        * 2,
    ),
    "a field that is not known": (
        ("nominalQuota: 20", "nominalQuotas: 20"),
        ["7: $.cohorts[0].queuesSets[0].nominalQuotas: is not a field of a generator file"],
    ),
    "a field that is missing": (
        ("    nominalQuota: 20\n", ""),
        ["5: $.cohorts[0].queuesSets[0].nominalQuota: is missing"],
    ),
    "a count of another type": (("count: 2", "count: two"), ["3: $.cohorts[0].count: Expected `int`"]),
    "a negative count": (("count: 2", "count: -2"), ["3: $.cohorts[0].count: Expected `int` >= 0"]),
    "a priority beyond 32 bits": (
        ("priority: -7", "priority: 2147483648"),
        [
            "17: $.cohorts[0].queuesSets[0].workloadsSets[1].workloads[0].priority: Expected `int` <= 2147483647"
        ],
    ),
    "too many objects": (
        ("count: 2", "count: 2000000000"),
        ["1: $.cohorts: the file stands for 14000000000 objects (expected at most 5000000)"],
    ),
    "a topology": (
        ("cohorts:", "topology: {name: a}\ncohorts:"),
        ["1: $.topology: topology-aware scheduling is not supported yet"],
    ),
    "workloads with a topology": (
        ("className: one,", "className: one, tasLevel: rack, podCount: 2,"),
        ["17: $.cohorts[0].queuesSets[0].workloadsSets[1].workloads[0]: topology-aware scheduling is not"],
    ),
    "pods that the runner would ignore": (
        ("className: one,", "className: one, podCount: 2,"),
        ["17: $.cohorts[0].queuesSets[0].workloadsSets[1].workloads[0].podCount: is 2"],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(name: str, tmp_path: Path) -> None:
    (old, new), wants = BAD[name]
    assert old in SMALL
    with pytest.raises(ManifestErrors) as caught:
        load_text(tmp_path, SMALL.replace(old, new, 1))
    found = [str(error).removeprefix(f"{tmp_path}/generator.yaml:") for error in caught.value.errors]
    assert len(found) == len(wants)
    for message, want in zip(found, wants, strict=True):
        assert message.startswith(want)


def test_no_cohorts(tmp_path: Path) -> None:
    with pytest.raises(
        ManifestErrors, match=r"generator\.yaml:1: \$\.cohorts: Expected `array` of length >= 1"
    ):
        load_text(tmp_path, "cohorts: []\n")


def test_two_generators_cannot_share_their_names(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SMALL)
    (tmp_path / "b.yaml").write_text(SMALL)
    with pytest.raises(
        ManifestErrors, match=r"b\.yaml:1: ResourceFlavor rf: is already defined in .*a\.yaml:1"
    ):
        load([str(tmp_path)])
