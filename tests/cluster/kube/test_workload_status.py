import msgspec
import pytest

from kueue_fast.api.decode import decode, decode_object
from kueue_fast.api.kueue import Admission, PodSetAssignment, WorkloadStatus
from kueue_fast.api.meta import Condition
from kueue_fast.cluster.errors import ConflictError
from kueue_fast.cluster.kube.workload_status import PODS, admission, condition, reclaimable_pods
from kueue_fast.cluster.kube.writer import Writer

pytestmark = pytest.mark.live

TIME = "2026-01-01T00:00:00Z"


def flag(type_, status="True", reason="Because", message="said"):
    return Condition(type=type_, status=status, reason=reason, message=message, last_transition_time=TIME)


def admitted(workload, *more):
    status = WorkloadStatus(
        admission=Admission(
            cluster_queue="team-a",
            pod_set_assignments=[
                PodSetAssignment(name="main", flavors={"cpu": "spot"}, resource_usage={"cpu": "1"}, count=1)
            ],
        ),
        conditions=[flag("QuotaReserved"), flag("Admitted"), *more],
    )
    return msgspec.structs.replace(workload, status=status)


async def make(world, name="w"):
    return decode_object(await world.call(world.client.create, world.workload(name)))


async def stored(world, name="w"):
    return await world.call(world.client.get, "kueue.x-k8s.io/v1beta2", "Workload", name, world.namespace)


def managers(found):
    return {
        each["manager"]: each for each in found["metadata"]["managedFields"] if each["operation"] == "Apply"
    }


async def test_admission(world):
    workload = await make(world)
    async with world.connection() as connection:
        answer = decode(await Writer(connection).submit(admission(admitted(workload))))
    found = await stored(world)
    assert found["status"]["admission"] == {
        "clusterQueue": "team-a",
        "podSetAssignments": [
            {"name": "main", "flavors": {"cpu": "spot"}, "resourceUsage": {"cpu": "1"}, "count": 1}
        ],
    }
    assert [each["type"] for each in found["status"]["conditions"]] == ["QuotaReserved", "Admitted"]
    assert list(managers(found)) == ["kueue-admission"]
    assert managers(found)["kueue-admission"]["subresource"] == "status"
    assert answer.status.admission.cluster_queue == "team-a"
    # The spec is not ours.
    assert answer.spec == workload.spec


async def test_eviction_takes_the_admission_away(world):
    workload = await make(world)
    async with world.connection() as connection:
        writer = Writer(connection)
        answer = decode(await writer.submit(admission(admitted(workload))))
        evicted = msgspec.structs.replace(
            answer, status=WorkloadStatus(conditions=[flag("QuotaReserved", "False"), flag("Evicted")])
        )
        await writer.submit(admission(evicted))
    found = await stored(world)
    assert "admission" not in found["status"]
    assert {each["type"]: each["status"] for each in found["status"]["conditions"]} == {
        "QuotaReserved": "False",
        "Evicted": "True",
    }


async def test_older_version_is_a_conflict_only_when_strict(world):
    workload = await make(world)
    async with world.connection() as connection:
        writer = Writer(connection)
        await writer.submit(reclaimable_pods(workload))
        with pytest.raises(ConflictError):
            await writer.submit(admission(admitted(workload)))
        await writer.submit(admission(admitted(workload), strict=False))


async def test_another_object_of_the_same_name_is_a_conflict_when_strict(world):
    workload = await make(world)
    await world.call(world.client.delete, world.workload("w"))
    await make(world)
    async with world.connection() as connection:
        with pytest.raises(ConflictError):
            await Writer(connection).submit(admission(admitted(workload)))
    assert "admission" not in (await stored(world)).get("status", {})


async def test_single_condition_has_a_manager_of_its_own(world):
    workload = await make(world)
    async with world.connection() as connection:
        writer = Writer(connection)
        await writer.submit(condition(workload, flag("WaitingForReplacementPods"), PODS))
        # The admission's manager knows nothing of it, and leaves it alone.
        await writer.submit(admission(admitted(workload), strict=False))
    found = await stored(world)
    assert sorted(each["type"] for each in found["status"]["conditions"]) == [
        "Admitted",
        "QuotaReserved",
        "WaitingForReplacementPods",
    ]
    assert sorted(managers(found)) == ["kueue-admission", "kueue-pod-controller"]


async def test_names_that_are_the_default_are_written(world):
    """The schema has a default for the pod set's name, and so has our struct: what is left out is the same."""
    workload = await make(world)
    async with world.connection() as connection:
        await Writer(connection).submit(admission(admitted(workload)))
    found = await stored(world)
    assert found["status"]["admission"]["podSetAssignments"][0]["name"] == "main"
