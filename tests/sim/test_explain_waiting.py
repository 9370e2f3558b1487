"""Explanations of what waits: the whole text for one situation each."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.api.configuration import load_configuration
from tests.sim.explaining import Case, explained, text
from tests.sim.test_elastic import elastic
from tests.sim.world import (
    cluster_queue,
    cohort,
    flavor,
    job,
    local_queue,
    one_queue,
    workload,
)

LOWER = {"withinClusterQueue": "LowerPriority"}


def taint(key: str) -> dict[str, Any]:
    return {"key": key, "value": "yes", "effect": "NoSchedule"}


FAIR_SHARING = b"""
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
fairSharing: {}
"""

CASES = {
    "it asks for more than there could ever be": Case(
        (*one_queue(), workload("w", cpu=3, count=2)),
        """
Workload ns/w at 1m0s, when nothing is left to happen

Workload ns/w: Pending
  Pending: couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, previously \
considered podsets requests (0) + current podset request (6) > maximum capacity (4)
  Arrived 0s, waits for 1m0s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Place: parked: it is tried again when a workload ends, or a queue, cohort, flavor or node changes
  Looked at last: 1s, in cycle 2, 59s before: NoFit
  Asks for: pod set main, 2 pods of cpu 3

Flavors, in the order in which they are tried
Flavor   Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
───────────────────────────────────────────────────────────────────────────────────────────────────────────
default  cpu           6        4         0         0          4        4        2  more than there ever is

Preemption
  Policies: withinClusterQueue Never, reclaimWithinCohort Never, borrowWithinCohort Never
  None was considered: more is asked for than there could ever be.
""",
    ),
    "others hold the quota, and none of them may be stopped": Case(
        (
            *one_queue(preemption=LOWER),
            workload("low", cpu=1, priority=-1, run_time="1h"),
            workload("same", cpu=3, run_time="1h"),
            workload("w", cpu=3, arrival="10s"),
        ),
        """
Workload ns/w at 1m0s

Workload ns/w: Pending
  Pending: couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 3 \
more needed
  Arrived 10s, waits for 50s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Place: parked: it is tried again when a workload ends, or a queue, cohort, flavor or node changes
  Looked at last: 10s, in cycle 3, 50s before: NoCandidates
  Asks for: pod set main, 1 pod of cpu 3

Flavors, in the order in which they are tried
Flavor   Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
────────────────────────────────────────────────────────────────────────────────────────────────
default  cpu           3        4         4         0          0        4        3  not free now

Preemption
  Policies: withinClusterQueue LowerPriority, reclaimWithinCohort Never, borrowWithinCohort Never
  No workloads were found that its policies let it stop and whose going would make it fit.
  What is missing is held in cq by 2 workloads, 1 of lower priority
""",
    ),
    "its victims have not stopped yet": Case(
        (
            *one_queue(preemption=LOWER),
            workload("low", cpu=4, run_time="1h", grace="5m"),
            workload("w", cpu=3, priority=10, arrival="30s"),
        ),
        """
Workload ns/w at 1m0s

Workload ns/w: Pending
  Pending: couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 3 \
more needed. Pending the preemption of 1 workload(s)
  Arrived 30s, waits for 30s; priority 10
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Place: 1 of 1 in the queue
  Looked at last: 30s, in cycle 4, 30s before: Preempting
  Asks for: pod set main, 1 pod of cpu 3

Flavors, in the order in which they are tried
Flavor   Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
────────────────────────────────────────────────────────────────────────────────────────────────
default  cpu           3        4         4         0          0        4        3  not free now

Preemption
  Policies: withinClusterQueue LowerPriority, reclaimWithinCohort Never, borrowWithinCohort Never
  Workloads were told to stop for it.
  What is missing is held in cq by 1 workload, 1 of lower priority
  These have not stopped yet: ns/low (cq)

Stopped for it
  ns/low at 30s, for prioritization in the ClusterQueue
""",
    ),
    "its victims are those of another queue's head, too": Case(
        (
            flavor("default"),
            cohort("all"),
            cluster_queue(
                "a", {"default": {"cpu": 2}}, cohortName="all", preemption={"reclaimWithinCohort": "Any"}
            ),
            cluster_queue(
                "b", {"default": {"cpu": 2}}, cohortName="all", preemption={"reclaimWithinCohort": "Any"}
            ),
            cluster_queue("c", {"default": {"cpu": 0}}, cohortName="all"),
            local_queue("a", "a"),
            local_queue("b", "b"),
            local_queue("c", "c"),
            workload("borrower", cpu=4, queue="c", run_time="1h", grace="5m"),
            workload("first", cpu=2, queue="a", priority=1, arrival="30s"),
            workload("w", cpu=2, queue="b", arrival="30s"),
        ),
        """
Workload ns/w at 1m0s

Workload ns/w: Pending
  Pending: Workload has overlapping preemption targets with another workload
  Arrived 30s, waits for 30s; priority 0
  Queue: LocalQueue b, ClusterQueue b (BestEffortFIFO), cohort all
  Place: 1 of 1 in the queue
  Looked at last: 30s, in cycle 4, 30s before: Overlap
  Asks for: pod set main, 1 pod of cpu 2

Flavors, in the order in which they are tried
Flavor   Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
────────────────────────────────────────────────────────────────────────────────────────────────
default  cpu           2        2         0         0          0        4        2  not free now

Preemption
  Policies: withinClusterQueue Never, reclaimWithinCohort Any, borrowWithinCohort Never
  Workloads that would have to stop for it are stopping for another one already.
  What is missing is held in c (borrowing) by 1 workload, none of lower priority
  These have not stopped yet: ns/borrower (c, for ns/first)
""",
    ),
    "it would have to borrow, and others use what there is": Case(
        (
            flavor("default"),
            cluster_queue(
                "cq", {"default": {"cpu": 2}}, cohortName="all", preemption={"reclaimWithinCohort": "Any"}
            ),
            cluster_queue("other", {"default": {"cpu": (4, 0)}}, cohortName="all"),
            local_queue(),
            local_queue("theirs", "other"),
            workload("o", cpu=4, queue="theirs", run_time="1h"),
            workload("w", cpu=4, arrival="10s"),
        ),
        """
Workload ns/w at 1m0s

Workload ns/w: Pending
  Pending: couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 2 \
more needed
  Arrived 10s, waits for 50s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO), cohort all
  Place: parked: it is tried again when a workload ends, or a queue, cohort, flavor or node changes
  Looked at last: 10s, in cycle 2, 50s before: NoFit
  Asks for: pod set main, 1 pod of cpu 4

Flavors, in the order in which they are tried
Flavor   Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
────────────────────────────────────────────────────────────────────────────────────────────────
default  cpu           4        2         0         0          2        6        2  not free now

Preemption
  Policies: withinClusterQueue Never, reclaimWithinCohort Any, borrowWithinCohort Never
  None was considered: it would have to borrow, and its ClusterQueue may not preempt while it borrows.
  What is missing is held in other by 1 workload, none of lower priority
""",
    ),
    "two flavors, one of them not for its pods": Case(
        (
            flavor("spot", nodeTaints=[taint("spot")]),
            flavor("reserved"),
            cluster_queue("cq", {"spot": {"cpu": 8}, "reserved": {"cpu": 4}}),
            local_queue(),
            workload("o", cpu=3, run_time="1h"),
            workload("w", cpu="1500m", arrival="10s"),
        ),
        """
Workload ns/w at 1m0s

Workload ns/w: Pending
  Pending: couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor reserved, \
500m more needed, untolerated taint {spot yes NoSchedule <nil>} in flavor spot
  Arrived 10s, waits for 50s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Place: parked: it is tried again when a workload ends, or a queue, cohort, flavor or node changes
  Looked at last: 10s, in cycle 2, 50s before: NoCandidates
  Asks for: pod set main, 1 pod of cpu 1500m

Flavors, in the order in which they are tried
Flavor    Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
────────────────────────────────────────────────────────────────────────────────────────────────────────────
spot      cpu       1500m        8         0         0          8        8        -  the pods may not use it
reserved  cpu       1500m        4         3         0          1        4     500m  not free now

Preemption
  Policies: withinClusterQueue Never, reclaimWithinCohort Never, borrowWithinCohort Never
  The policies of its ClusterQueue let it stop nobody.
  What is missing is held in cq by 1 workload, none of lower priority
""",
    ),
    "the head of a strict queue is in its way": Case(
        (
            *one_queue(queueingStrategy="StrictFIFO"),
            workload("o", cpu=3, run_time="1h"),
            workload("head", cpu=2, priority=5, arrival="10s"),
            workload("early", cpu=1, arrival="20s"),
            workload("w", cpu=1, arrival="30s"),
        ),
        """
Workload ns/w at 1m0s

Workload ns/w: Pending
  Pending: no scheduling cycle has looked at it yet
  Arrived 30s, waits for 30s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (StrictFIFO)
  Place: 3 of 3 in the queue; before it: ns/head, ns/early
  Asks for: pod set main, 1 pod of cpu 1

Flavors, in the order in which they are tried
Flavor   Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
───────────────────────────────────────────────────────────────────────────────────────────
default  cpu           1        4         3         0          1        4        -  -
""",
    ),
    "it was parked with one that asks for the same": Case(
        (*one_queue(), *(workload(name, cpu=5, arrival=f"{n}s") for n, name in enumerate(("a", "b", "w")))),
        """
Workload ns/w at 1m0s, when nothing is left to happen

Workload ns/w: Pending
  Pending: a workload of its queue that asks for the same did not fit
  Arrived 2s, waits for 58s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Place: parked, with 2 more: it is tried again when a workload ends, or a queue, cohort, flavor or node \
changes
  Not looked at itself: it was parked with ns/a, which asks for the same
  Asks for: pod set main, 1 pod of cpu 5

Flavors, in the order in which they are tried
Flavor   Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
───────────────────────────────────────────────────────────────────────────────────────────
default  cpu           5        4         0         0          4        4        -  -
""",
    ),
    "two pod sets, one of which finds no quota": Case(
        (
            *one_queue(),
            workload(
                "w",
                podSets=[
                    workload("x", cpu=1)["spec"]["podSets"][0] | {"name": "driver"},
                    workload("x", cpu=2, count=2)["spec"]["podSets"][0] | {"name": "workers"},
                ],
            ),
        ),
        """
Workload ns/w at 1m0s, when nothing is left to happen

Workload ns/w: Pending
  Pending: couldn't assign flavors to pod set workers: insufficient quota for cpu in flavor default, \
previously considered podsets requests (1) + current podset request (4) > maximum capacity (4)
  Arrived 0s, waits for 1m0s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Place: parked: it is tried again when a workload ends, or a queue, cohort, flavor or node changes
  Looked at last: 1s, in cycle 2, 59s before: NoFit
  Asks for: pod set driver, 1 pod of cpu 1
  Asks for: pod set workers, 2 pods of cpu 2

Flavors, in the order in which they are tried
Pod set  Flavor   Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
driver   default  cpu           1        4         0         0          4        4        -  -
workers  default  cpu           4        4         0         0          4        4        1  more than there \
ever is

Preemption
  Policies: withinClusterQueue Never, reclaimWithinCohort Never, borrowWithinCohort Never
  None was considered: more is asked for than there could ever be.
""",
    ),
    "a job is explained by its workload": Case(
        (*one_queue(cpu=1), job("a", cpu=1, run_time="1h"), job("b", cpu=1, arrival="10s")),
        """
Job ns/b at 1m0s

Workload ns/job-b-caa14 of Job b: Pending
  Pending: couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 1 \
more needed
  Arrived 10s, waits for 50s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Place: parked: it is tried again when a workload ends, or a queue, cohort, flavor or node changes
  Looked at last: 10s, in cycle 2, 50s before: NoCandidates
  Asks for: pod set main, 1 pod of cpu 1

Flavors, in the order in which they are tried
Flavor   Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
────────────────────────────────────────────────────────────────────────────────────────────────
default  cpu           1        1         1         0          0        1        1  not free now

Preemption
  Policies: withinClusterQueue Never, reclaimWithinCohort Never, borrowWithinCohort Never
  The policies of its ClusterQueue let it stop nobody.
  What is missing is held in cq by 1 workload, none of lower priority
""",
        target="job/ns/b",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    case = CASES[name]
    assert text(case.target, *case.objects, at=case.at) == case.want


def test_fair_shares_are_told_where_they_count() -> None:
    configuration = load_configuration(FAIR_SHARING, "config.yaml")
    objects = (
        flavor("default"),
        cluster_queue("cq", {"default": {"cpu": 2}}, cohortName="all", fairSharing={"weight": "2"}),
        cluster_queue("other", {"default": {"cpu": 2}}, cohortName="all"),
        local_queue(),
        workload("o", cpu=3, run_time="1h"),
        workload("w", cpu=2, arrival="10s"),
    )
    lines = text("Workload/ns/w", *objects, at=1, configuration=configuration).splitlines()
    assert "  Fair sharing: cq has the weight 2 and the share 125" in lines


def test_partial_admission_is_told() -> None:
    pod_set = {**workload("x", cpu=3, count=9)["spec"]["podSets"][0], "minCount": 2}
    lines = text("Workload/ns/w", *one_queue(), workload("w", podSets=[pod_set]), at=1).splitlines()
    assert "  Asks for: pod set main, 9 pods (at least 2) of cpu 3" in lines


def test_a_slice_that_waits_names_the_one_whose_place_it_takes() -> None:
    objects = (*one_queue(cpu=6), workload("o", cpu=2, run_time="2h"), elastic("e", "10m=8", parallelism=2))
    old, new = explained("Job/ns/e", *objects, at=12).workloads
    assert (old.state, new.state, old.replaces, new.replaces) == (
        "Running",
        "Pending",
        None,
        f"ns/{old.name}",
    )
    assert new.flavors[0].missing == "4"
    assert f"  Takes the place of ns/{old.name}, whose quota counts for it\n" in text(
        "Job/ns/e", *objects, at=12
    )
