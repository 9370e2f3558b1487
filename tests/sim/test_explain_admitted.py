"""Explanations of what holds quota, held some, or was stopped: the whole text for one situation each."""

from __future__ import annotations

import pytest

from kueue_fast.api.configuration import load_configuration
from tests.sim.explaining import Case, text
from tests.sim.world import KUEUE, cluster_queue, flavor, job, local_queue, meta, one_queue, workload

LOWER = {"withinClusterQueue": "LowerPriority"}
CHECKS = {"admissionChecks": [{"name": "budget"}]}
CHECK = {
    "apiVersion": KUEUE,
    "kind": "AdmissionCheck",
    "metadata": meta("budget"),
    "spec": {"controllerName": "example.com/budget"},
}
USAGE_BASED = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}
SHARING = b"""
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
admissionFairSharing:
  usageHalfLifeTime: 10m
"""

CASES = {
    "it runs": Case(
        (
            flavor("default"),
            cluster_queue("cq", {"default": {"cpu": 4}}, cohortName="all"),
            local_queue(),
            workload("w", cpu=2, count=2, run_time="1h", arrival="10s"),
        ),
        """
Workload ns/w at 1m0s

Workload ns/w: Running
  It is admitted.
  Arrived 10s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO), cohort all

What it got
  ClusterQueue cq: quota reserved 10s, admitted 10s
  Pod set main, 2 pods: cpu 4 from flavor default
""",
    ),
    "its quota is reserved, and a check is not ready": Case(
        (*one_queue(admissionChecksStrategy=CHECKS), CHECK, workload("w")),
        """
Workload ns/w at 1m0s, when nothing is left to happen

Workload ns/w: QuotaReserved
  UnsatisfiedChecks: quota is reserved; admission checks are not ready: budget (Pending)
  Arrived 0s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)

What it got
  ClusterQueue cq: quota reserved 0s
  Pod set main, 1 pod: cpu 1 from flavor default
  Admission check budget: Pending
""",
    ),
    "it has ended, and stopped another one before": Case(
        (
            *one_queue(preemption=LOWER),
            workload("low", cpu=4, run_time="1h", grace="1m"),
            workload("w", cpu=3, priority=10, arrival="30s"),
        ),
        """
Workload ns/w at 1h2m32s, when nothing is left to happen

Workload ns/w: Finished
  It has ended.
  Arrived 30s; priority 10
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)

What it got
  ClusterQueue cq: quota reserved 1m30s, admitted 1m30s, finished 2m30s (Succeeded)
  Pod set main, 1 pod: cpu 3 from flavor default

Stopped for it
  ns/low at 30s, for prioritization in the ClusterQueue
""",
        at=None,
    ),
    "it was told to stop and has not stopped yet": Case(
        (
            *one_queue(preemption=LOWER),
            workload("w", cpu=4, run_time="1h", grace="1m"),
            workload("high", cpu=3, priority=10, arrival="30s"),
        ),
        """
Workload ns/w at 1m0s

Workload ns/w: Running, stopping
  It was told to stop, and holds its quota until its pods are gone.
  Evicted: Preempted: Preempted to accommodate a workload (UID: 00000008-0000-4000-8000-000000000008, \
JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /cq; preemptee path: /cq
  Arrived 0s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)

What it got
  ClusterQueue cq: quota reserved 0s, admitted 0s
  Pod set main, 1 pod: cpu 4 from flavor default

It was stopped for
  ns/high at 30s, for prioritization in the ClusterQueue
""",
    ),
    "it was stopped, and waits again": Case(
        (
            *one_queue(preemption=LOWER),
            workload("w", cpu=4, run_time="1h"),
            workload("high", cpu=3, priority=10, arrival="30s", run_time="1h"),
        ),
        """
Workload ns/w at 1m0s

Workload ns/w: Pending
  Pending: couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 3 \
more needed
  Arrived 0s, waits for 30s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Place: parked: it is tried again when a workload ends, or a queue, cohort, flavor or node changes
  Looked at last: 31s, in cycle 5, 29s before: NoCandidates
  Asks for: pod set main, 1 pod of cpu 4

Flavors, in the order in which they are tried
Flavor   Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
────────────────────────────────────────────────────────────────────────────────────────────────
default  cpu           4        4         3         0          1        4        3  not free now

Preemption
  Policies: withinClusterQueue LowerPriority, reclaimWithinCohort Never, borrowWithinCohort Never
  No workloads were found that its policies let it stop and whose going would make it fit.
  What is missing is held in cq by 1 workload, none of lower priority

It was stopped for
  ns/high at 30s, for prioritization in the ClusterQueue
""",
    ),
    "its job failed": Case(
        (*one_queue(), job("a", run_time="30s", more_annotations={"sim.kueue-fast.dev/failure": "true"})),
        """
Job ns/a at 1m0s, when nothing is left to happen

Workload ns/job-a-44b79 of Job a: Finished
  It has ended.
  Arrived 0s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)

What it got
  ClusterQueue cq: quota reserved 0s, admitted 0s, finished 30s (Failed)
  Pod set main, 1 pod: cpu 1 from flavor default
""",
        target="jobs/ns/a",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    case = CASES[name]
    assert text(case.target, *case.objects, at=case.at) == case.want


def test_past_use_comes_before_age() -> None:
    """Both queues submit; the one that used nothing goes first, though its workload is younger."""
    objects = (
        *one_queue(cpu=2, queueingStrategy="StrictFIFO", **USAGE_BASED),
        local_queue("other"),
        workload("first", cpu=2, run_time="1h"),
        workload("w", cpu=2, arrival="10s"),
        workload("young", cpu=2, arrival="20s", queue="other"),
    )
    lines = text(
        "Workload/ns/w", *objects, at=1, configuration=load_configuration(SHARING, "config.yaml")
    ).splitlines()
    want = "  Place: 2 of 2 in the queue, ordered by past use of the LocalQueues first; before it: ns/young"
    assert want in lines
