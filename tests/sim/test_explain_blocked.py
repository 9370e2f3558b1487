"""Explanations of what no scheduling cycle may look at: the whole text for one situation each."""

from __future__ import annotations

import pytest

from tests.sim.explaining import Case, text
from tests.sim.world import cluster_queue, flavor, local_queue, one_queue, workload

BY_HOLD = {
    "type": "Requeued",
    "status": "False",
    "reason": "FlavorMigration",
    "message": "",
}

CASES = {
    "its LocalQueue is held": Case(
        (
            flavor("default"),
            cluster_queue("cq", {"default": {"cpu": 4}}),
            local_queue(stopPolicy="Hold"),
            workload("w"),
        ),
        """
Workload ns/w at 1m0s, when nothing is left to happen

Workload ns/w: Pending
  Inadmissible: LocalQueue lq is inactive
  Arrived 0s, waits for 1m0s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Blocked by LocalQueue ns/lq (Stopped): the stop policy is Hold
  Not looked at yet by a scheduling cycle
  Asks for: pod set main, 1 pod of cpu 1
""",
    ),
    "its ClusterQueue is stopped and names a flavor that is missing": Case(
        (
            cluster_queue("cq", {"default": {"cpu": 4}}, stopPolicy="HoldAndDrain"),
            local_queue(),
            workload("w"),
        ),
        """
Workload ns/w at 1m0s, when nothing is left to happen

Workload ns/w: Pending
  Inadmissible: ClusterQueue cq is inactive: Can't admit new workloads: is stopped, references missing \
ResourceFlavor(s): default.
  Arrived 0s, waits for 1m0s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Place: 1 of 1 in the queue
  Blocked by ClusterQueue cq (Stopped): Can't admit new workloads: is stopped, references missing \
ResourceFlavor(s): default.
  Not looked at yet by a scheduling cycle
  Asks for: pod set main, 1 pod of cpu 1

Flavors, in the order in which they are tried
Flavor   Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
───────────────────────────────────────────────────────────────────────────────────────────
default  cpu           1        4         0         0          4        4        -  -
""",
    ),
    "its LocalQueue leads to a ClusterQueue that does not exist": Case(
        (local_queue(), workload("w", priority=3)),
        """
Workload ns/w at 1m0s, when nothing is left to happen

Workload ns/w: Pending
  Inadmissible: ClusterQueue cq doesn't exist
  Arrived 0s, waits for 1m0s; priority 3
  Queue: LocalQueue lq
  Blocked by ClusterQueue cq (Missing): the ClusterQueue does not exist
  Not looked at yet by a scheduling cycle
  Asks for: pod set main, 1 pod of cpu 1
""",
    ),
    "it names a LocalQueue that does not exist, and is deactivated": Case(
        (*one_queue(), workload("w", queue="lost", active=False)),
        """
Workload ns/w at 1m0s, when nothing is left to happen

Workload ns/w: Pending
  Deactivated: the workload is deactivated (spec.active is false)
  Arrived 0s, waits for 1m0s; priority 0
  Queue: LocalQueue lost
  Blocked by Workload ns/w (Deactivated): spec.active is false
  Blocked by LocalQueue ns/lost (Missing): the LocalQueue does not exist
  Not looked at yet by a scheduling cycle
  Asks for: pod set main, 1 pod of cpu 1
""",
    ),
    "it was requeued and waits for its turn": Case(
        (
            *one_queue(),
            workload("w", status={"requeueState": {"count": 2, "requeueAt": "2026-01-01T00:05:00Z"}}),
        ),
        """
Workload ns/w at 1m0s

Workload ns/w: Pending
  Pending: it was requeued after an eviction, and its time to queue again has not come
  Arrived 0s, waits for 1m0s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Place: parked: it is tried again when a workload ends, or a queue, cohort, flavor or node changes
  Backoff: requeued 2 times, does not queue until 5m0s
  Not looked at yet by a scheduling cycle
  Asks for: pod set main, 1 pod of cpu 1

Flavors, in the order in which they are tried
Flavor   Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
───────────────────────────────────────────────────────────────────────────────────────────
default  cpu           1        4         0         0          4        4        -  -
""",
    ),
    "it was requeued and nobody has let it go yet": Case(
        (*one_queue(), workload("w", status={"conditions": [BY_HOLD]})),
        """
Workload ns/w at 1m0s, when nothing is left to happen

Workload ns/w: Pending
  Pending: it was requeued after an eviction, and its time to queue again has not come
  Arrived 0s, waits for 1m0s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Place: parked: it is tried again when a workload ends, or a queue, cohort, flavor or node changes
  Backoff: does not queue until it is let go
  Not looked at yet by a scheduling cycle
  Asks for: pod set main, 1 pod of cpu 1

Flavors, in the order in which they are tried
Flavor   Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
───────────────────────────────────────────────────────────────────────────────────────────
default  cpu           1        4         0         0          4        4        -  -
""",
    ),
    "a namespace that the ClusterQueue does not take": Case(
        (*one_queue(namespaceSelector={"matchLabels": {"team": "x"}}), workload("w")),
        """
Workload ns/w at 1m0s, when nothing is left to happen

Workload ns/w: Pending
  Pending: workload namespace doesn't match ClusterQueue selector
  Arrived 0s, waits for 1m0s; priority 0
  Queue: LocalQueue lq, ClusterQueue cq (BestEffortFIFO)
  Place: parked: it is tried again when a workload ends, or a queue, cohort, flavor or node changes
  Looked at last: 0s, in cycle 1, 1m0s before: NamespaceMismatch
  Asks for: pod set main, 1 pod of cpu 1

Flavors, in the order in which they are tried
Flavor   Resource  Asked  Nominal  Reserved  Borrowed  Available  At most  Missing  Why not
───────────────────────────────────────────────────────────────────────────────────────────
default  cpu           1        4         0         0          4        4        -  -
""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    case = CASES[name]
    assert text(case.target, *case.objects, at=case.at) == case.want
