"""Which ClusterQueues and Cohorts upstream looks at after an event. Source: LC-1704, LC-1721."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_fast.api.decode import decode_object
from kueue_fast.app.queue_touches import touched
from kueue_fast.cluster.changes import Change, WatchEvent
from kueue_fast.cluster.kube.cache import ObjectCache
from tests.arrays import objects as o

GROUP = o.group(spot=[o.quota("cpu", 4)])


def workload(queue: str = "lq", *, held_in: str = "") -> Any:
    made = o.workload_json("w", queue, o.pod_set())
    return decode_object(
        o.reserved(made, held_in, ("main", 1, {"cpu": "spot"}, {"cpu": 1})) if held_in else made
    )


EVENTS: dict[str, tuple[Change, Any, Any, set[str]]] = {
    "a Workload that came": (Change.ADDED, None, workload(), {"q"}),
    "of a LocalQueue that is stopped": (Change.ADDED, None, workload("stopped"), set()),
    "of one that is not there": (Change.ADDED, None, workload("none"), set()),
    "a Workload that gets quota, by where it waited": (Change.MODIFIED, workload(), workload(held_in="other"), {"q"}),
    "a Workload that holds quota": (Change.MODIFIED, workload(held_in="other"), workload(), {"other"}),
    "a Workload that moves": (Change.MODIFIED, workload(), workload("second"), {"q", "other"}),
    "a Workload that is gone": (Change.DELETED, None, workload("second"), {"other"}),
    "a ClusterQueue, and Cohorts above it but the topmost": (
        Change.MODIFIED, None, o.cluster_queue("q", GROUP, cohort="team"), {"q", "team", "middle"},
    ),
    "a ClusterQueue below a cycle": (
        Change.MODIFIED, None, o.cluster_queue("q", GROUP, cohort="left"), {"q"},
    ),
    "a Cohort, and nothing below it": (Change.MODIFIED, None, o.cohort("root"), {"root"}),
    "a flavor that came": (Change.ADDED, None, o.flavor("spot"), {"q", "other"}),
    "a flavor that nobody uses": (Change.ADDED, None, o.flavor("more"), set()),
    "a flavor that is to go": (Change.MODIFIED, o.flavor("spot"), o.flavor("spot"), set()),
    "an AdmissionCheck that changes": (
        Change.MODIFIED, None, o.obj("AdmissionCheck", "check", {"controllerName": "c"}), {"other"},
    ),
    "an AdmissionCheck that nobody asks": (
        Change.MODIFIED, None, o.obj("AdmissionCheck", "more", {"controllerName": "c"}), set(),
    ),
    "a Topology that came": (
        Change.ADDED, None, o.obj("Topology", "racks", {"levels": [{"nodeLabel": "rack"}]}), {"q", "other"},
    ),
    "a LocalQueue": (Change.DELETED, None, o.local_queue("lq", "q"), set()),
}  # fmt: skip


@pytest.mark.parametrize("case", EVENTS.values(), ids=EVENTS)
def test_touched(case: tuple[Change, Any, Any, set[str]]) -> None:
    change, old, new, want = case
    cache = ObjectCache()
    for number, obj in enumerate(
        (
            o.cohort("root"), o.cohort("middle", parent="root"), o.cohort("team", parent="middle"),
            o.cohort("left", parent="right"), o.cohort("right", parent="left"),
            o.obj("ResourceFlavor", "spot", {"topologyName": "racks"}),
            o.cluster_queue("q", GROUP, cohort="team"),
            o.cluster_queue("other", GROUP, admissionChecksStrategy={"admissionChecks": [{"name": "check"}]}),
            o.local_queue("lq", "q"), o.local_queue("second", "other"),
            o.local_queue("stopped", "q", stop="Hold"),
        )
    ):  # fmt: skip
        obj.metadata.uid = f"uid-{number}"
        cache.put(obj)
    assert {name for _, _, name in touched(WatchEvent(change, new, old), cache)} == want
