import asyncio
import random

import msgspec
import pytest

from kueue_fast.api.decode import decode
from kueue_fast.cluster.errors import AlreadyExistsError, ClusterError, ConflictError, NotFoundError
from kueue_fast.cluster.kube.backoff import Backoff
from kueue_fast.cluster.kube.errors import RejectedError, ServerError
from kueue_fast.cluster.kube.resources import RESOURCES
from kueue_fast.cluster.kube.writer import Verb, Write, Writer
from tests.controlplane.world import KUEUE, until

pytestmark = pytest.mark.live

SOON = Backoff(0.01, 0.1)
QUEUES = RESOURCES["LocalQueue"]


def create(world, name):
    return Write(QUEUES, world.namespace, name, Verb.CREATE, msgspec.json.encode(world.queue(name)))


def label(world, name, value):
    body = msgspec.json.encode({"metadata": {"labels": {"value": value}}})
    return Write(QUEUES, world.namespace, name, Verb.MERGE, body)


def replace(world, found, value, rebuild=None):
    """With the version that was read: a conflict if it is another by now."""
    changed = {**found, "metadata": {**found["metadata"], "labels": {"value": value}}}
    body = msgspec.json.encode(changed)
    return Write(QUEUES, world.namespace, found["metadata"]["name"], Verb.REPLACE, body, rebuild=rebuild)


def apply(world, name, value, manager):
    queue = world.queue(name)
    queue["metadata"]["labels"] = {manager: value}
    body = msgspec.json.encode(queue)
    return Write(QUEUES, world.namespace, name, Verb.APPLY, body, manager=manager, force=True)


def is_write(seen):
    return seen.method != "GET"


async def labels(world, name):
    found = await world.call(world.client.get, KUEUE, "LocalQueue", name, world.namespace)
    return found["metadata"].get("labels")


async def test_verbs(world):
    async with world.connection() as connection:
        writer = Writer(connection)
        made = decode(await writer.submit(create(world, "a")))
        assert made.metadata.name == "a"
        assert made.metadata.uid
        await writer.submit(label(world, "a", "1"))
        await writer.submit(apply(world, "a", "x", "someone"))
        assert await labels(world, "a") == {"value": "1", "someone": "x"}
        await writer.submit(Write(QUEUES, world.namespace, "a", Verb.DELETE))
        with pytest.raises(NotFoundError):
            await writer.submit(Write(QUEUES, world.namespace, "a", Verb.DELETE))


async def test_applied_fields_belong_to_their_manager(world):
    async with world.connection() as connection:
        writer = Writer(connection)
        await writer.submit(apply(world, "a", "1", "first"))
        await writer.submit(apply(world, "a", "2", "second"))
    found = await world.call(world.client.get, KUEUE, "LocalQueue", "a", world.namespace)
    owners = {each["manager"]: each["operation"] for each in found["metadata"]["managedFields"]}
    assert owners == {"first": "Apply", "second": "Apply"}


async def test_conflict_without_a_way_out_is_told(world):
    async with world.connection() as connection:
        writer = Writer(connection)
        found = msgspec.json.decode(await writer.submit(create(world, "a")))
        await writer.submit(label(world, "a", "other"))
        with pytest.raises(ConflictError):
            await writer.submit(replace(world, found, "ours"))
        assert await labels(world, "a") == {"value": "other"}


async def test_conflict_is_made_anew_from_the_newest_object(world):
    async with world.connection() as connection:
        writer = Writer(connection)
        found = msgspec.json.decode(await writer.submit(create(world, "a")))
        await writer.submit(label(world, "a", "other"))
        seen = []

        def rebuild(newest):
            current = msgspec.json.decode(newest)
            seen.append(current["metadata"]["labels"]["value"])
            return replace(world, current, "ours", rebuild)

        await writer.submit(replace(world, found, "ours", rebuild))
        assert seen == ["other"]
        assert await labels(world, "a") == {"value": "ours"}
        assert await writer.submit(replace(world, found, "again", lambda _: None)) is None
        assert await labels(world, "a") == {"value": "ours"}


async def test_a_write_that_waited_starts_from_what_the_one_before_made(world):
    answers = []
    async with world.faulty() as (connection, proxy):
        writer = Writer(connection, answered=lambda key, body: answers.append((key[2], decode(body))))
        found = msgspec.json.decode(await writer.submit(create(world, "a")))

        def rebuild(newest):
            current = msgspec.json.decode(newest)
            value = current["metadata"]["labels"]["value"]
            return None if value == "2" else replace(world, current, f"{value}x", rebuild)

        first = writer.submit(replace(world, found, "1"))
        second = writer.submit(replace(world, found, "2", rebuild))
        assert decode(await first).metadata.labels == {"value": "1"}
        assert decode(await second).metadata.labels == {"value": "1x"}
        await writer.submit(label(world, "a", "2"))
        writer.submit(label(world, "a", "2"))
        assert await writer.submit(replace(world, found, "3", rebuild)) is None
        # No conflict, and nothing was read.
        assert proxy.count(is_write) == 5
        assert proxy.count(lambda seen: not is_write(seen)) == 0
        await writer.submit(Write(QUEUES, world.namespace, "a", Verb.DELETE))
    assert [(name, each.metadata.labels) for name, each in answers] == [
        ("a", None),
        *(("a", {"value": value}) for value in ("1", "1x", "2", "2")),
    ]


async def test_who_asked_goes_on_before_those_who_look_because_of_the_answer(world):
    known, heard = [], []

    def answered(key, body):
        known.append(key[2])
        asyncio.get_running_loop().call_soon(heard.append, "looked")

    async with world.faulty() as (connection, _):
        writer = Writer(connection, answered=answered)
        writer.submit(create(world, "a")).add_done_callback(lambda _: heard.append(f"asked, knows {known}"))
        await writer.flush()
    assert heard == ["asked, knows ['a']", "looked"]


async def test_conflict_with_what_is_gone_needs_nothing(world):
    async with world.faulty() as (connection, proxy):
        writer = Writer(connection, backoff=SOON)
        found = msgspec.json.decode(await writer.submit(create(world, "a")))
        await writer.submit(Write(QUEUES, world.namespace, "a", Verb.DELETE))
        proxy.add(is_write, status=409, body='{"reason":"Conflict"}')
        assert await writer.submit(replace(world, found, "ours", lambda _: pytest.fail("no object"))) is None


FAULTS = {
    "busy": {"status": 429, "headers": {"Retry-After": "0"}},
    "failed": {"status": 500},
    "a proxy's page": {"status": 502, "body": "<html>"},
    "cut": {"cut": True},
    "done, but the answer is lost": {"lose": True},
}


@pytest.mark.parametrize("what", FAULTS.values(), ids=FAULTS)
async def test_what_fails_for_the_moment_is_tried_again(world, what):
    async with world.faulty() as (connection, proxy):
        writer = Writer(connection, backoff=SOON)
        proxy.add(is_write, times=3, **what)
        await writer.submit(apply(world, "a", "1", "someone"))
        assert proxy.count(is_write) == 4
    assert await labels(world, "a") == {"someone": "1"}


async def test_create_whose_answer_was_lost_finds_its_object(world):
    async with world.faulty() as (connection, proxy):
        writer = Writer(connection, backoff=SOON)
        proxy.add(is_write, lose=True)
        with pytest.raises(AlreadyExistsError):
            await writer.submit(create(world, "a"))
    assert await labels(world, "a") is None


async def test_what_never_works_is_given_back(world):
    async with world.faulty() as (connection, proxy):
        writer = Writer(connection, backoff=SOON)
        proxy.add(is_write, times=1000, status=500)
        with pytest.raises(ServerError):
            await writer.submit(create(world, "a"))
        assert proxy.count(is_write) == 8


async def test_what_is_wrong_is_sent_once(world):
    async with world.faulty() as (connection, proxy):
        writer = Writer(connection)
        body = msgspec.json.encode({**world.queue("a"), "spec": {"clusterQueue": "NOT A NAME"}})
        with pytest.raises(RejectedError, match="clusterQueue"):
            await writer.submit(Write(QUEUES, world.namespace, "a", Verb.CREATE, body))
        assert proxy.count(is_write) == 1


async def test_order_of_one_object_is_kept_through_faults(world):
    chance = random.Random(7)
    async with world.faulty() as (connection, proxy):
        writer = Writer(connection, backoff=SOON)
        names = [f"q{number}" for number in range(10)]
        await asyncio.gather(*(writer.submit(create(world, name)) for name in names))
        proxy.add(lambda seen: is_write(seen) and chance.random() < 0.2, times=10_000, status=500)
        proxy.add(lambda seen: is_write(seen) and chance.random() < 0.1, times=10_000, cut=True)
        results = {
            name: [writer.submit(label(world, name, str(number))) for number in range(10)] for name in names
        }
        await writer.flush()
        assert writer.pending == 0
    for futures in results.values():
        found = [decode(future.result()).metadata.labels["value"] for future in futures]
        assert found == [str(number) for number in range(10)]


async def test_few_are_in_flight(world):
    async with world.faulty() as (connection, proxy):
        writer = Writer(connection, in_flight=3)
        await asyncio.gather(*(writer.submit(create(world, f"q{number}")) for number in range(20)))
        assert proxy.most_in_flight <= 3


async def test_who_does_not_lead_does_not_write(world):
    leads = True
    async with world.faulty() as (connection, proxy):
        writer = Writer(connection, may_write=lambda: leads)
        await writer.submit(create(world, "a"))
        leads = False
        with pytest.raises(ClusterError, match="we do not lead"):
            await writer.submit(label(world, "a", "1"))
        assert proxy.count(is_write) == 1


async def test_close_gives_up_what_does_not_get_through(world):
    async with world.faulty() as (connection, proxy):
        writer = Writer(connection, backoff=SOON)
        fault = proxy.add(is_write, times=10_000, status=429, headers={"Retry-After": "1000"})
        waiting = [writer.submit(create(world, "a")), writer.submit(label(world, "a", "1"))]
        await until(lambda: fault.times < 10_000)
        await writer.close(0.05)
        for future in waiting:
            with pytest.raises(ClusterError, match="writing has stopped"):
                await future
        with pytest.raises(ClusterError, match="writing has stopped"):
            await writer.submit(label(world, "a", "2"))


async def test_close_waits_for_what_gets_through(world):
    async with world.connection() as connection:
        writer = Writer(connection)
        made = writer.submit(create(world, "a"))
        await writer.close(30)
        assert made.result() is not None


async def test_mistake_in_rebuild_stops_only_its_own_write(world):
    async with world.connection() as connection:
        writer = Writer(connection)
        found = msgspec.json.decode(await writer.submit(create(world, "a")))
        await writer.submit(label(world, "a", "other"))
        failed = writer.submit(replace(world, found, "ours", lambda _: 1 // 0))
        later = writer.submit(label(world, "a", "later"))
        with pytest.raises(ZeroDivisionError):
            await failed
        await later
    assert await labels(world, "a") == {"value": "later"}
