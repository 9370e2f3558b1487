"""Jobs that belong to a managed job."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kueue_fast.api.kueue import Workload
from kueue_fast.api.ray import RayCluster, RayService
from kueue_fast.jobs.children import bring_children_along, hold_child, must_be_held
from kueue_fast.jobs.ray_service import RayServices
from kueue_fast.jobs.reconciler import DeleteJob, UpdateJob
from tests.jobs.kinds import changed, read
from tests.jobs.makers import BATCH, NOW, job


def workload(*true: str, created: str = "2026-01-01T00:00:00Z", uid: str = "u") -> Workload:
    made = {
        "metadata": {"name": "w", "creationTimestamp": created, "uid": uid},
        "spec": {},
        "status": {"conditions": [{"type": type_, "status": "True"} for type_ in true]},
    }
    return msgspec.json.decode(msgspec.json.encode(made), type=Workload)


LATER = "2026-01-01T00:00:01Z"
HELD: dict[str, tuple[list[Workload], bool, bool]] = {
    "no Workload": ([], True, True),
    "admitted": ([workload("QuotaReserved", "Admitted")], False, False),
    "reserved": ([workload("QuotaReserved")], True, False),
    "evicted": ([workload("QuotaReserved", "Admitted", "Evicted")], False, True),
    "finished": ([workload("Admitted", "Finished")], True, True),
    "the newest counts": ([workload(created=LATER), workload("Admitted")], True, False),
    "of one second the last by UID counts": ([workload("Admitted", uid="a"), workload(uid="b")], True, False),
    "the newest that has not ended counts": (
        [workload("Admitted"), workload("Finished", created=LATER)],
        False,
        False,
    ),
}


@pytest.mark.parametrize("case", HELD)
def test_when_children_must_be_held(case: str) -> None:
    workloads, want, want_elastic = HELD[case]
    assert must_be_held(workloads, elastic=False) is want
    assert must_be_held(workloads, elastic=True) is want_elastic


DONE = {"conditions": [{"type": "Complete", "status": "True"}]}
CHILDREN: dict[str, tuple[dict[str, Any], dict[str, Any] | None, bool]] = {
    "one that runs": ({"suspend": False}, None, True),
    "one that is held": ({"suspend": True}, None, False),
    "one that has ended": ({"suspend": False}, DONE, False),
}


@pytest.mark.parametrize("case", CHILDREN)
def test_children_are_held(case: str) -> None:
    spec, status, want = CHILDREN[case]
    child = job(spec, status=status)
    action = hold_child(child, BATCH, [], NOW)
    assert (action is not None) is want
    if action is not None:
        assert action.job.spec.suspend
        assert action.event is not None
        assert (action.event.kind, action.event.reason) == ("Job", "Suspended")
    assert hold_child(child, BATCH, [workload("Admitted")], NOW) is None


SPEC = """
    headGroupSpec: {template: {spec: {containers: [{name: ray-head}]}}}
"""


def service(*, suspend: bool) -> RayService:
    made: RayService = read(f"""
apiVersion: ray.io/v1
kind: RayService
metadata: {{name: s, namespace: ns, uid: u}}
spec:
  rayClusterConfig:
    suspend: {str(suspend).lower()}
{SPEC}
""")
    return made


def ray_cluster(
    *, suspend: bool = True, state: str = "suspended", owner: str = "u", deleted: bool = False
) -> RayCluster:
    made: RayCluster = read(f"""
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: s-abcde
  namespace: ns
  uid: c
  ownerReferences: [{{apiVersion: ray.io/v1, kind: RayService, name: s, uid: {owner}, controller: true}}]
spec:
    suspend: {str(suspend).lower()}
{SPEC}
status: {{state: "{state}"}}
""")
    made.metadata.deletion_timestamp = LATER if deleted else None
    return made


ADMITTED = workload("QuotaReserved", "Admitted")
LEFT: dict[str, tuple[RayService, RayCluster, list[Workload], bool]] = {
    "made while the service was held": (service(suspend=False), ray_cluster(), [ADMITTED], True),
    "a slice waits to take the place of the admitted one": (
        service(suspend=False),
        ray_cluster(),
        [ADMITTED, workload(created=LATER)],
        True,
    ),
    "the service is held": (service(suspend=True), ray_cluster(), [ADMITTED], False),
    "the service runs, and so does the cluster": (
        service(suspend=False),
        ray_cluster(suspend=False, state="ready"),
        [ADMITTED],
        False,
    ),
    "it was released, and its status is old": (
        service(suspend=False),
        ray_cluster(suspend=False),
        [ADMITTED],
        False,
    ),
    "pods of it are still there": (service(suspend=False), ray_cluster(state="ready"), [ADMITTED], False),
    "KubeRay has not looked at it": (service(suspend=False), ray_cluster(state=""), [ADMITTED], False),
    "it is being deleted": (service(suspend=False), ray_cluster(deleted=True), [ADMITTED], False),
    "it is of another service": (service(suspend=False), ray_cluster(owner="other"), [ADMITTED], False),
    "nothing is admitted": (service(suspend=False), ray_cluster(), [workload("QuotaReserved")], False),
    "the Workload was evicted": (
        service(suspend=False),
        ray_cluster(),
        [workload("QuotaReserved", "Admitted", "Evicted")],
        False,
    ),
    "the Workload ended": (service(suspend=False), ray_cluster(), [workload("Admitted", "Finished")], False),
    "no Workload": (service(suspend=False), ray_cluster(), [], False),
}


@pytest.mark.parametrize("case", LEFT)
def test_a_cluster_that_would_stay_suspended_goes(case: str) -> None:
    parent, child, workloads, want = LEFT[case]
    got = bring_children_along(parent, RayServices(), workloads, [child, ADMITTED], NOW)
    assert [each.job for each in got] == ([child] if want else [])
    for each in got:
        assert isinstance(each, DeleteJob)
        assert (each.event.kind, each.event.name, each.event.reason) == ("RayService", "s", "Deleted")
        want_message = "Deleted RayCluster ns/s-abcde: it is suspended although the RayService is not"
        assert each.event.message == want_message


RUNS_ON: dict[str, tuple[RayService, RayCluster, list[Workload], bool]] = {
    "the Workload was evicted": (
        service(suspend=True),
        ray_cluster(suspend=False, state="ready"),
        [workload("QuotaReserved", "Admitted", "Evicted")],
        True,
    ),
    "it waits": (service(suspend=True), ray_cluster(suspend=False, state="ready"), [workload()], True),
    "the service is about to be stopped": (
        service(suspend=False),
        ray_cluster(suspend=False, state="ready"),
        [workload("QuotaReserved", "Admitted", "Evicted")],
        False,
    ),
    "that the service was released has not been seen": (
        service(suspend=True),
        ray_cluster(suspend=False, state=""),
        [ADMITTED],
        False,
    ),
    "it is held": (service(suspend=True), ray_cluster(), [workload()], False),
    "it is of another service": (
        service(suspend=True),
        ray_cluster(suspend=False, owner="other"),
        [workload()],
        False,
    ),
}


@pytest.mark.parametrize("case", RUNS_ON)
def test_a_cluster_that_would_run_on_is_held(case: str) -> None:
    parent, child, workloads, want = RUNS_ON[case]
    got = bring_children_along(parent, RayServices(), workloads, [child, ADMITTED], NOW)
    assert len(got) == want
    for each in got:
        assert isinstance(each, UpdateJob)
        assert isinstance(each.job, RayCluster)
        assert each.job.spec.suspend
        assert each.event is not None
        assert (each.event.kind, each.event.name, each.event.reason) == ("RayCluster", "s-abcde", "Suspended")


HOLDS: dict[str, tuple[bool, bool, RayCluster | None, RayCluster | None, bool]] = {
    "it serves": (False, True, None, None, True),
    "it does not serve yet": (False, False, ray_cluster(suspend=False), None, False),
    "it is held, and its cluster runs": (True, True, ray_cluster(state="ready"), None, True),
    "it is held, and the cluster to come runs": (True, True, None, ray_cluster(state="ready"), True),
    "it is held, and its clusters have stopped": (True, True, ray_cluster(), ray_cluster(), False),
    "it is held, and its clusters are gone": (True, True, None, None, False),
}


@pytest.mark.parametrize("case", HOLDS)
def test_when_a_service_runs(case: str) -> None:
    suspend, ready, active, pending, want = HOLDS[case]
    made = service(suspend=suspend)
    status = {
        "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        "activeServiceStatus": {"rayClusterName": "active"},
        "pendingServiceStatus": {"rayClusterName": "pending"},
    }
    made = changed(made, "status", status)
    known = {"active": active, "pending": pending}
    assert RayServices(lambda namespace, name: known[name]).active(made) is want


def test_what_other_kinds_made_stays() -> None:
    assert bring_children_along(job({"suspend": False}), BATCH, [ADMITTED], [ray_cluster()], NOW) == []
