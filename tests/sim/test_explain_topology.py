"""Explanations of workloads that are placed by topology: the whole text for one situation each."""

from __future__ import annotations

import pytest

from tests.sim.explaining import Case, text
from tests.sim.test_simulate_topology import node, placed_job, queue
from tests.sim.test_topology_ledger import RACK

NODES = tuple(node(f"n{number}", f"r{number // 2}") for number in range(4))

CASES = {
    "quota is free, and no rack has room": Case(
        (
            *queue(),
            *NODES,
            placed_job("a", 3, "preferred", RACK, run_time="5m"),
            placed_job("b", 2, "required", RACK, arrival="10s"),
        ),
        """
Job ns/b at 1m0s

Workload ns/job-b-1f4a1 of Job b: Pending
  Pending: couldn't assign flavors to pod set main: topology "t" allows to fit only 1 out of 2 pod(s). Total \
nodes: 4; excluded: resource "cpu": 3
  Arrived 10s, waits for 50s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Place: parked: it is tried again when a workload ends, or a queue, cohort, flavor or node changes
  Looked at last: 10s, in cycle 2, 50s before: NoCandidates
  Asks for: pod set main, 2 pods of cpu 4

Flavors, in the order in which they are tried
Flavor  Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
─────────────────────────────────────────────────────────────────────────────────────────────────────────
tas     cpu           8      100        12         0         88      100        -  no places for the pods

Topology t of flavor tas: pod set main, 2 pods (required, rack)
Level                   Room for  Best domain
─────────────────────────────────────────────
rack                      1 of 2  r1
kubernetes.io/hostname    1 of 2  r1/n3
all domains together      1 of 2  -

Preemption
  Policies: withinClusterQueue Never, reclaimWithinCohort Never, borrowWithinCohort Never
  The policies of its ClusterQueue let it stop nobody.
  What is missing is held in cq by 1 workload, none of lower priority
""",
        target="Job/ns/b",
    ),
    "no rack would do even if it were empty": Case(
        (*queue(), *NODES, placed_job("a", 3, "required", RACK)),
        """
Job ns/a at 1m0s, when nothing is left to happen

Workload ns/job-a-bcc56 of Job a: Pending
  Pending: couldn't assign flavors to pod set main: topology "t" allows to fit only 2 out of 3 pod(s)
  Arrived 0s, waits for 1m0s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Place: parked: it is tried again when a workload ends, or a queue, cohort, flavor or node changes
  Looked at last: 1s, in cycle 2, 59s before: NoFit
  Asks for: pod set main, 3 pods of cpu 4

Flavors, in the order in which they are tried
Flavor  Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
─────────────────────────────────────────────────────────────────────────────────────────────────────────
tas     cpu          12      100         0         0        100      100        -  no places for the pods

Topology t of flavor tas: pod set main, 3 pods (required, rack)
Level                   Room for  Best domain
─────────────────────────────────────────────
rack                      2 of 3  r0
kubernetes.io/hostname    1 of 3  r0/n0
all domains together      3 of 3  -

Preemption
  Policies: withinClusterQueue Never, reclaimWithinCohort Never, borrowWithinCohort Never
  None was considered: its pods would find no places even if all other workloads were gone.
""",
        target="Job/ns/a",
    ),
    "it is placed": Case(
        (*queue(), *NODES, placed_job("a", 3, "preferred", RACK, cpu=2, run_time="1h")),
        """
Job ns/a at 1m0s

Workload ns/job-a-bcc56 of Job a: Running
  It is admitted.
  Arrived 0s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)

What it got
  ClusterQueue cq: quota reserved 0s, admitted 0s
  Pod set main, 3 pods: cpu 6 from flavor tas
    2 pods in n0
    1 pod in n1
""",
        target="Job/ns/a",
    ),
    "its node failed, and its pods wait for another one": Case(
        (
            *queue(),
            node("n0", "r0", fails_at="1m"),
            node("n1", "r0"),
            placed_job("a", 2, "required", RACK, run_time="1h"),
        ),
        """
Job ns/a at 6m12s, when nothing is left to happen

Workload ns/job-a-79b8a of Job a: Pending
  Pending: couldn't assign flavors to pod set main: topology "t" allows to fit only 1 out of 2 pod(s)
  Arrived 0s, waits for 10.9s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Place: parked: it is tried again when a workload ends, or a queue, cohort, flavor or node changes
  Looked at last: 6m2.1s, in cycle 4, 9.9s before: NoFit
  Asks for: pod set main, 2 pods of cpu 4

Flavors, in the order in which they are tried
Flavor  Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
─────────────────────────────────────────────────────────────────────────────────────────────────────────
tas     cpu           8      100         0         0        100      100        -  no places for the pods

Topology t of flavor tas: pod set main, 2 pods (required, rack)
Level                   Room for  Best domain
─────────────────────────────────────────────
rack                      1 of 2  r0
kubernetes.io/hostname    1 of 2  r0/n1
all domains together      1 of 2  -

Preemption
  Policies: withinClusterQueue Never, reclaimWithinCohort Never, borrowWithinCohort Never
  None was considered: its pods would find no places even if all other workloads were gone.

It was stopped otherwise
  NodeFailures at 6m1.1s: Workload was evicted as there was no replacement for unhealthy node(s): n0
""",
        target="Job/ns/a",
        at=6.2,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    case = CASES[name]
    assert text(case.target, *case.objects, at=case.at) == case.want


def test_a_workload_that_keeps_its_quota_while_its_pods_wait_for_places() -> None:
    objects = (
        *queue(),
        node("n0", "r0", fails_at="1m"),
        node("n1", "r0"),
        placed_job("a", 2, "required", RACK, run_time="1h"),
    )
    gates = {"TASFailedNodeReplacementFailFast": False}
    want = """
Job ns/a at 6m12s

Workload ns/job-a-79b8a of Job a: Running
  It is admitted.
  Arrived 0s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Looked at last: 6m7.1s, in cycle 4, 4.9s before: NoCandidates
  couldn't assign flavors to pod set main: topology "t" doesn't allow to fit any of 1 pod(s). Total nodes: \
1; excluded: resource "cpu": 1

What it got
  ClusterQueue cq: quota reserved 0s, admitted 0s
  Pod set main, 2 pods: cpu 8 from flavor tas
    1 pod in n0
    1 pod in n1
  Node n0, where it has pods, is not healthy
  Places for its pods are looked for again at 6m15.1s
"""
    assert text("Job/ns/a", *objects, at=6.2, feature_gates=gates) == want
