from contextlib import asynccontextmanager

import pytest

from kueue_fast.cluster.kube.backoff import Backoff
from kueue_fast.cluster.kube.credentials import Credentials
from kueue_fast.cluster.kube.events import EventRecorder, ObjectReference
from kueue_fast.cluster.kube.transport import Connection
from tests.controlplane.kubeconfig import certificate_user, write_kubeconfig
from tests.controlplane.world import running

pytestmark = pytest.mark.live

SOON = Backoff(0.01, 0.1)
START = 1_767_225_600_123_456_789
MINUTE = 60 * 1_000_000_000


class Clock:
    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now


def about(world, name, uid="u1"):
    return ObjectReference("kueue.x-k8s.io/v1beta2", "Workload", world.namespace, name, uid, "5")


async def events(world, namespace=None):
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace or world.namespace}/events"
    return (await world.call(world.client.request, "GET", path))["items"]


async def test_event(world):
    async with world.connection() as connection:
        recorder = EventRecorder(connection, "host", Clock())
        recorder.record(
            "kueue-admission", about(world, "w"), "Normal", "QuotaReserved", "said", action="Reserved"
        )
        async with running(recorder.run()):
            await recorder.flush()
    [found] = await events(world)
    want = {
        "eventTime": "2026-01-01T00:00:00.123456Z",
        "reportingController": "kueue-admission",
        "reportingInstance": "kueue-admission-host",
        "action": "Reserved",
        "reason": "QuotaReserved",
        "note": "said",
        "type": "Normal",
        "regarding": {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "namespace": world.namespace,
            "name": "w",
            "uid": "u1",
            "resourceVersion": "5",
        },
    }
    assert {field: found[field] for field in want} == want
    assert found["metadata"]["name"] == f"w.{START:x}"
    assert "series" not in found


async def test_equal_events_are_a_series(world):
    clock = Clock()
    async with world.faulty() as (connection, proxy):
        recorder = EventRecorder(connection, "host", clock)
        async with running(recorder.run()):
            for number in range(5):
                recorder.record("kueue-admission", about(world, "w"), "Warning", "Pending", f"try {number}")
                clock.now += MINUTE
                await recorder.flush()
            [found] = await events(world)
            # The first, and that there are more; what follows is written when the series ends.
            assert (found["note"], found["series"]["count"]) == ("try 0", 2)
            assert len(proxy.seen) == 2
            clock.now += 4 * MINUTE
            recorder.sweep()
            await recorder.flush()
            assert len(proxy.seen) == 2
            clock.now += 2 * MINUTE
            recorder.sweep()
            await recorder.flush()
            [found] = await events(world)
            assert found["series"] == {"count": 5, "lastObservedTime": "2026-01-01T00:04:00.123456Z"}
            recorder.record("kueue-admission", about(world, "w"), "Warning", "Pending", "anew")
            await recorder.flush()
    assert sorted(each["note"] for each in await events(world)) == ["anew", "try 0"]


async def test_what_is_told_of_a_changed_object_is_an_event_of_its_own(world):
    async with world.connection() as connection:
        recorder = EventRecorder(connection, "host", Clock())
        async with running(recorder.run()):
            for version, note in (("5", "first"), ("6", "second"), ("6", "folded")):
                regarding = about(world, "w")._replace(resource_version=version)
                recorder.record("c", regarding, "Normal", "Preempted", note)
            await recorder.flush()
    found = await events(world)
    assert sorted(each["note"] for each in found) == ["first", "second"]


async def test_long_series_is_written_in_between(world):
    clock = Clock()
    async with world.connection() as connection:
        recorder = EventRecorder(connection, "host", clock)
        async with running(recorder.run()):
            for _ in range(16):
                recorder.record("kueue-admission", about(world, "w"), "Warning", "Pending", "no")
                await recorder.flush()
                clock.now += 2 * MINUTE
            recorder.sweep()
            await recorder.flush()
    [found] = await events(world)
    assert found["series"]["count"] == 16


async def test_what_makes_events_differ(world):
    async with world.connection() as connection:
        recorder = EventRecorder(connection, "host", Clock())
        recorder.record("kueue-admission", about(world, "w"), "Normal", "Pending", "1")
        recorder.record(
            "kueue-admission", about(world, "w", "u2"), "Normal", "Pending", "2", time_ns=START + 1
        )
        recorder.record("kueue-admission", about(world, "w"), "Warning", "Pending", "3")
        recorder.record("kueue-admission", about(world, "w"), "Normal", "Admitted", "4")
        recorder.record("other", about(world, "w"), "Normal", "Pending", "5")
        async with running(recorder.run()):
            await recorder.flush()
    assert sorted(each["note"] for each in await events(world)) == list("12345")


async def test_series_whose_event_has_expired_is_a_new_event(world):
    clock = Clock()
    async with world.connection() as connection:
        recorder = EventRecorder(connection, "host", clock)
        async with running(recorder.run()):
            recorder.record("kueue-admission", about(world, "w"), "Normal", "Pending", "no")
            await recorder.flush()
            path = f"/apis/events.k8s.io/v1/namespaces/{world.namespace}/events"
            await world.call(world.client.request, "DELETE", path)
            recorder.record("kueue-admission", about(world, "w"), "Normal", "Pending", "no")
            await recorder.flush()
    [found] = await events(world)
    assert found["series"]["count"] == 2


async def test_object_without_a_namespace(world):
    node = ObjectReference("v1", "Node", "", f"node-{world.namespace}")
    async with world.connection() as connection:
        recorder = EventRecorder(connection, "host", Clock())
        recorder.record("kueue-admission", node, "Normal", "Seen", "here")
        async with running(recorder.run()):
            await recorder.flush()
    assert node.name in [each["regarding"]["name"] for each in await events(world, "default")]


async def test_passing_trouble(world):
    async with world.faulty() as (connection, proxy):
        proxy.add(lambda seen: True, status=500)
        proxy.add(lambda seen: True, lose=True)
        recorder = EventRecorder(connection, "host", Clock(), backoff=SOON)
        recorder.record("kueue-admission", about(world, "w"), "Normal", "Pending", "no")
        async with running(recorder.run()):
            await recorder.flush()
    assert len(await events(world)) == 1


async def test_refused_event_does_not_hold_up_the_next(world):
    async with world.connection() as connection:
        recorder = EventRecorder(connection, "host", Clock())
        recorder.record("kueue-admission", about(world, "w"), "Strange", "Pending", "refused")
        recorder.record("kueue-admission", about(world, "w"), "Normal", "Pending", "taken")
        async with running(recorder.run()):
            await recorder.flush()
    assert [each["note"] for each in await events(world)] == ["taken"]


async def test_too_many_are_dropped(world):
    async with world.connection() as connection:
        recorder = EventRecorder(connection, "host", Clock(), queue_limit=3)
        for number in range(5):
            recorder.record("kueue-admission", about(world, f"w{number}"), "Normal", "Pending", str(number))
        assert recorder.dropped == 2
        async with running(recorder.run()):
            await recorder.flush()
            # What was dropped is not remembered as written.
            recorder.record("kueue-admission", about(world, "w4"), "Normal", "Pending", "4")
            await recorder.flush()
    assert sorted(each["note"] for each in await events(world)) == ["0", "1", "2", "4"]


@asynccontextmanager
async def limited(world, group):
    """A connection of somebody who may write events of one group only."""
    name = f"events-{world.namespace}"
    rules = [{"apiGroups": [group], "resources": ["events"], "verbs": ["create", "patch"]}]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": name, "namespace": world.namespace},
        "rules": rules,
    }
    binding = {
        **role,
        "kind": "RoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}],
    }
    del binding["rules"]
    for manifest in (role, binding):
        await world.call(world.client.apply, manifest)
    path = world.plane.folder / f"{name}.kubeconfig"
    user = certificate_user(world.plane.issue(name, name))
    write_kubeconfig(path, world.plane.server, user, world.client.authority)
    async with await Connection.open(Credentials(str(path), environment={})) as connection:
        yield connection


@pytest.mark.parametrize("group", ["", "events.k8s.io"])
async def test_who_may_write_one_group_only(world, group):
    clock = Clock()
    async with limited(world, group) as connection:
        recorder = EventRecorder(connection, "host", clock)
        async with running(recorder.run()):
            for _ in range(2):
                recorder.record("kueue-admission", about(world, "w"), "Warning", "Pending", "no", action="A")
                await recorder.flush()
            elsewhere = about(world, "w")._replace(namespace="default")
            recorder.record("kueue-admission", elsewhere, "Warning", "Pending", "refused")
            await recorder.flush()
            recorder.record("kueue-admission", about(world, "x"), "Normal", "Admitted", "yes")
            await recorder.flush()
    found = {each["regarding"]["name"]: each for each in await events(world)}
    assert {name: each["note"] for name, each in found.items()} == {"w": "no", "x": "yes"}
    want = ("kueue-admission", "kueue-admission-host", "A", "Pending", "2026-01-01T00:00:00.123456Z")
    fields = ("reportingController", "reportingInstance", "action", "reason", "eventTime")
    assert tuple(found["w"][field] for field in fields) == want
    assert found["w"]["series"]["count"] == 2
    assert found["w"]["regarding"]["uid"] == "u1"
