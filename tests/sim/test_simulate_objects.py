"""The simulator: what waits and why, admission checks, the objects that are left, and input that is refused."""

from typing import Any

import pytest

from kueue_fast.api.batch import Job
from kueue_fast.api.configuration import Configuration
from kueue_fast.api.configuration_types import Integrations
from kueue_fast.api.kueue import LocalQueue, Workload
from kueue_fast.errors import InputError
from kueue_fast.jobs.pod_set_info import decode
from kueue_fast.model import conditions
from kueue_fast.sim.result import State
from tests.sim.world import (
    KUEUE,
    SECOND,
    cluster_queue,
    flavor,
    job,
    local_queue,
    meta,
    one_queue,
    rows,
    run,
    seconds,
    workload,
)

# ---- waiting, in words ----


def test_pending_workloads_say_why() -> None:
    held = (cluster_queue("held", {"default": {"cpu": 4}}, stopPolicy="Hold"), local_queue("held", "held"))
    broken = (cluster_queue("broken", {"missing": {"cpu": 4}}), local_queue("broken", "broken"))
    result, simulation = run(
        *one_queue(2),
        *held,
        *broken,
        local_queue("nowhere", "no-such-queue"),
        local_queue("closed", "cq", stopPolicy="HoldAndDrain"),
        job("too-big", cpu=3),
        job("runs", cpu=2, run_time=None),
        job("no-room", cpu=1, arrival="1s"),
        job("held", queue="held"),
        job("broken", queue="broken"),
        job("no-queue", queue="none"),
        job("nowhere", queue="nowhere"),
        job("closed", queue="closed"),
        workload("inactive", active=False),
    )
    got = rows(result)
    want = {
        "too-big": ("Pending", "insufficient quota for cpu in flavor default"),
        "no-room": ("Pending", "insufficient unused quota for cpu in flavor default, 1 more needed"),
        "held": ("Inadmissible", "ClusterQueue held is inactive: Can't admit new workloads: is stopped."),
        "broken": (
            "Inadmissible",
            "ClusterQueue broken is inactive: Can't admit new workloads: references missing ResourceFlavor(s): "
            "missing.",
        ),
        "no-queue": ("Inadmissible", "LocalQueue none doesn't exist"),
        "nowhere": ("Inadmissible", "ClusterQueue no-such-queue doesn't exist"),
        "closed": ("Inadmissible", "LocalQueue closed is inactive"),
        "inactive": ("Deactivated", "spec.active is false"),
    }
    for name, (want_reason, want_words) in want.items():
        assert got[name].state is State.PENDING
        assert got[name].waiting_reason == want_reason, name
        assert want_words in got[name].waiting_message, name
    queues = {row.name: row for row in result.queues}
    assert (queues["held"].active, queues["held"].reason) == (False, "Stopped")
    assert (queues["broken"].active, queues["broken"].reason) == (False, "FlavorNotFound")
    stored: Workload | None = simulation.cluster.get("Workload", "ns", got["too-big"].name)
    assert stored is not None
    assert stored.status is not None
    condition = conditions.find(stored.status.conditions, "QuotaReserved")
    assert condition is not None
    assert (condition.status, condition.reason) == ("False", "Pending")
    local: LocalQueue | None = simulation.cluster.get("LocalQueue", "ns", "nowhere")
    assert local is not None
    assert local.status is not None
    assert (local.status.conditions or [])[0].reason == "ClusterQueueDoesNotExist"


# ---- admission checks ----


def with_check(status: dict[str, Any] | None = None) -> tuple[dict[str, Any], ...]:
    check = {
        "apiVersion": KUEUE,
        "kind": "AdmissionCheck",
        "metadata": meta("prov"),
        "spec": {"controllerName": "example.com/check"},
    }
    strategy = {"admissionChecks": [{"name": "prov"}]}
    return (
        *one_queue(1, admissionChecksStrategy=strategy),
        {**check, "status": status} if status else check,
    )


def test_pending_checks_hold_the_quota_but_nothing_starts() -> None:
    result, simulation = run(*with_check(), job("a"), job("b", arrival="1s"))
    got = rows(result)
    assert (got["a"].state, got["a"].admitted_ns) == (State.RESERVED, None)
    assert "prov (Pending)" in got["a"].waiting_message
    assert got["b"].state is State.PENDING
    a_job: Job | None = simulation.cluster.get("Job", "ns", "a")
    assert a_job is not None
    assert a_job.spec.suspend is True
    use = result.queues[0].resources[0]
    assert (use.reserved, use.admitted) == (1000, 0)
    assert (result.queues[0].reserving, result.queues[0].admitted) == (1, 0)


def test_a_check_that_is_ready_from_the_start_admits() -> None:
    ready = {"name": "prov", "state": "Ready", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": ""}
    result, _ = run(*with_check(), workload("a", status={"admissionChecks": [ready]}))
    assert result.workloads[0].state is State.FINISHED


def test_an_inactive_check_stops_the_queue() -> None:
    inactive = {"conditions": [{"type": "Active", "status": "False", "reason": "No", "message": "no"}]}
    result, _ = run(*with_check(inactive), job("a"))
    assert result.queues[0].reason == "AdmissionCheckInactive"
    assert rows(result)["a"].state is State.PENDING


# ---- objects ----


def test_a_started_job_has_what_its_flavor_adds() -> None:
    spot = flavor(
        "spot",
        nodeLabels={"type": "spot"},
        nodeTaints=[{"key": "spot", "value": "true", "effect": "NoSchedule"}],
        tolerations=[{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
    )
    objects = (spot, cluster_queue("cq", {"spot": {"cpu": 4}}), local_queue())
    result, simulation = run(*objects, job("a", run_time=None, pod_spec={"nodeSelector": {"zone": "z"}}))
    assert rows(result)["a"].state is State.RUNNING
    a_job: Job | None = simulation.cluster.get("Job", "ns", "a")
    assert a_job is not None
    assert a_job.spec.suspend is False
    template = decode(a_job.spec.template.spec)
    assert template["nodeSelector"] == {"zone": "z", "type": "spot"}
    assert template["tolerations"] == [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}]
    labels = decode(a_job.spec.template.metadata)["labels"]
    assert labels["kueue.x-k8s.io/podset"] == "main"


def test_deleting_a_job_frees_its_quota() -> None:
    result, simulation = run(*one_queue(1), job("a", run_time=None), until_ns=10 * SECOND)
    assert rows(result)["a"].state is State.RUNNING
    assert simulation.engine.queue_state()["cq"].usage == {"default/cpu": 1000}
    simulation.cluster.delete("Job", "ns", "a")
    assert simulation.engine.queue_state()["cq"].usage == {"default/cpu": 0}
    assert simulation.cluster.get("Workload", "ns", rows(result)["a"].name) is None


def test_a_job_without_queue_name_runs_outside_kueue_and_is_named() -> None:
    result, simulation = run(*one_queue(), job("free", queue=None), job("managed"))
    assert list(rows(result)) == ["managed"]
    assert result.notes == ["Jobs without a queue name run outside Kueue and take no quota: ns/free"]
    free: Job | None = simulation.cluster.get("Job", "ns", "free")
    assert free is not None
    assert free.status is not None
    assert conditions.is_true(free.status.conditions, "Complete")


def test_jobs_without_queue_name_go_to_the_default_queue() -> None:
    objects = (flavor("default"), cluster_queue("cq", {"default": {"cpu": 4}}), local_queue("default"))
    result, _ = run(*objects, job("a", queue=None))
    assert (rows(result)["a"].queue, rows(result)["a"].state) == ("default", State.FINISHED)
    assert result.notes == []


def test_all_jobs_are_managed_when_the_configuration_says_so() -> None:
    configuration = Configuration(manage_jobs_without_queue_name=True)
    result, _ = run(*one_queue(), job("a", queue=None), configuration=configuration)
    assert rows(result)["a"].waiting_message == "LocalQueue  doesn't exist"
    assert result.notes == []


def test_a_workload_that_brings_its_admission_runs_on() -> None:
    admission = {
        "clusterQueue": "cq",
        "podSetAssignments": [
            {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "3"}, "count": 1}
        ],
    }
    status = {
        "admission": admission,
        "conditions": [
            {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": ""},
            {"type": "Admitted", "status": "True", "reason": "Admitted", "message": ""},
        ],
    }
    result, _ = run(*one_queue(4), workload("running", cpu=3, status=status), workload("new", cpu=2))
    got = rows(result)
    assert seconds(got["running"].finished_ns) == 60
    assert seconds(got["new"].admitted_ns) == 61
    assert result.queues[0].resources[0].peak == 3000


# ---- bad input: nothing runs, and the message names the place ----

PARTIAL = "kueue.x-k8s.io/job-min-parallelism"
REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a minimum that is no number": (
        job("bad", parallelism=3, more_annotations={PARTIAL: "x"}),
        {},
        f"bad.yaml:4: Job ns/bad: $.metadata.annotations[{PARTIAL}]: Invalid value",
    ),
    "a class that does not exist": (
        job("bad", labels={"kueue.x-k8s.io/priority-class": "none"}),
        {},
        "bad.yaml:4: Job ns/bad: WorkloadPriorityClass 'none' not found",
    ),
    "an integration that is off": (
        job("bad"),
        {"configuration": Configuration(integrations=Integrations(frameworks=["pod"]))},
        'bad.yaml:4: Job ns/bad: the integration "batch/job" is off',
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_input(case: str) -> None:
    bad, options, want = REFUSED[case]
    with pytest.raises(InputError) as error:
        run(*one_queue(), bad, **options)
    assert str(error.value).startswith(want)


def test_all_mistakes_of_jobs_are_told_at_once() -> None:
    bad = [job(f"bad{n}", labels={"kueue.x-k8s.io/priority-class": "none"}) for n in range(3)]
    with pytest.raises(InputError) as error:
        run(*one_queue(), *bad)
    assert [f"bad{n}" in str(error.value) for n in range(3)] == [True] * 3
