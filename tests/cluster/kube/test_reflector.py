import msgspec
import pytest

from kueue_fast.cluster.errors import NotFoundError
from kueue_fast.cluster.kube.backoff import Backoff
from kueue_fast.cluster.kube.cache import ObjectCache
from kueue_fast.cluster.kube.cluster import KubeCluster
from kueue_fast.cluster.kube.reflector import Reflector
from kueue_fast.cluster.kube.resources import RESOURCES, Resource
from tests.controlplane.world import KUEUE, running, until

pytestmark = pytest.mark.live

SOON = Backoff(0.01, 0.1)
QUEUES = RESOURCES["LocalQueue"]


def make(connection, world, cache, **settings):
    settings = {"backoff": SOON, "namespace": world.namespace, **settings}
    return Reflector(connection, QUEUES, cache, **settings)


def names(cache):
    return sorted(each.metadata.name for each in cache.list("LocalQueue"))


def versions(cache):
    return {each.metadata.name: each.metadata.resource_version for each in cache.list("LocalQueue")}


def stored(world):
    return {
        each["metadata"]["name"]: each["metadata"]["resourceVersion"]
        for each in world.client.list(KUEUE, "LocalQueue", world.namespace)
    }


async def create(world, *names):
    for name in names:
        await world.call(world.client.create, world.queue(name))


async def label(world, name, value):
    change = {"metadata": {"labels": {"value": value}}}
    await world.call(world.client.merge, world.queue(name), change)


def is_list(seen):
    return seen.method == "GET" and seen.path.endswith("/localqueues") and not seen.watch


def is_watch(seen):
    return seen.watch


def expired(code=410):
    return msgspec.json.encode(
        {"kind": "Status", "code": code, "reason": "Expired", "message": "too old"}
    ).decode()


def error_event():
    return '{"type":"ERROR","object":' + expired() + "}\n"


async def test_list_in_pages_then_changes(world):
    await create(world, *(f"q{number}" for number in range(10)))
    cache = ObjectCache()
    async with world.faulty() as (connection, proxy):
        reflector = make(connection, world, cache, page_size=3)
        async with running(reflector.run()):
            await reflector.synced.wait()
            assert names(cache) == [f"q{number}" for number in range(10)]
            assert [seen.query.get("limit") for seen in proxy.seen if is_list(seen)] == ["3"] * 4
            await create(world, "new")
            await label(world, "q0", "changed")
            await world.call(world.client.delete, world.queue("q1"))
            await until(lambda: "new" in names(cache) and "q1" not in names(cache))
            assert cache.get("LocalQueue", world.namespace, "q0").metadata.labels == {"value": "changed"}
            assert proxy.count(is_list) == 4


async def test_watch_that_breaks_goes_on_where_it_was(world):
    await create(world, "a")
    cache, heard = ObjectCache(), []
    async with world.faulty() as (connection, proxy):
        reflector = make(connection, world, cache)
        async with running(reflector.run()):
            await reflector.synced.wait()
            cache.watch("LocalQueue", heard.append)
            for number in range(12):
                await until(lambda: proxy.open_streams == 1)
                await label(world, "a", str(number))
                if number % 2:
                    proxy.cut_watches()
            await until(lambda: versions(cache) == stored(world))
        assert proxy.count(is_list) == 1
        assert [event.object.metadata.labels["value"] for event in heard] == [
            str(number) for number in range(12)
        ]


FAULTS = {
    "the first list is answered 429": (is_list, {"status": 429, "headers": {"Retry-After": "0"}}),
    "the first list is answered 500": (is_list, {"status": 500}),
    "the first list is cut": (is_list, {"cut": True}),
    "the first list is no JSON": (is_list, {"status": 200, "body": "<html>"}),
    "the first watch is answered 429": (is_watch, {"status": 429}),
    "the first watch is answered 503": (is_watch, {"status": 503, "body": "<html>"}),
    "the first watch is answered 410": (is_watch, {"status": 410, "body": expired()}),
    "the first watch is cut": (is_watch, {"cut": True}),
    "the first watch brings an error event": (is_watch, {"status": 200, "body": error_event()}),
    "the first watch brings half a line": (is_watch, {"status": 200, "body": '{"type":"ADD'}),
    "the first watch ends at once": (is_watch, {"status": 200, "body": ""}),
}


@pytest.mark.parametrize("times", [1, 4])
@pytest.mark.parametrize(("fits", "what"), FAULTS.values(), ids=FAULTS)
async def test_fault(world, fits, what, times):
    name = "q"
    await create(world, name)
    cache = ObjectCache()
    async with world.faulty() as (connection, proxy):
        fault = proxy.add(fits, times=times, **what)
        reflector = make(connection, world, cache)
        async with running(reflector.run()):
            await reflector.synced.wait()
            await label(world, name, "changed")
            await until(lambda: versions(cache) == stored(world) and fault.times == 0)
            await world.call(world.client.delete, world.queue(name))
            await until(lambda: name not in names(cache))
            assert reflector.last_error is None


async def test_what_went_while_the_watch_was_away(world):
    await create(world, "stays", "goes")
    cache, heard = ObjectCache(), []
    async with world.faulty() as (connection, proxy):
        reflector = make(connection, world, cache)
        async with running(reflector.run()):
            await reflector.synced.wait()
            await until(lambda: proxy.open_streams == 1)
            cache.watch("LocalQueue", heard.append)
            blocked = proxy.add(is_watch, times=1000, status=503)
            proxy.cut_watches()
            await until(lambda: blocked.times < 999)
            await world.call(world.client.delete, world.queue("goes"))
            await label(world, "stays", "changed")
            proxy.add(is_watch, times=1, status=410, body=expired())
            proxy.faults.reverse()
            await until(lambda: names(cache) == ["stays"])
            blocked.times = 0
    assert sorted((event.change.value, event.object.metadata.name) for event in heard) == [
        ("DELETED", "goes"),
        ("MODIFIED", "stays"),
    ]


async def test_page_that_is_gone_begins_the_list_anew(world):
    await create(world, *"abcdef")
    cache = ObjectCache()

    def second_page(seen):
        return is_list(seen) and "continue" in seen.query

    async with world.faulty() as (connection, proxy):
        proxy.add(second_page, times=3, status=410, body=expired())
        reflector = make(connection, world, cache, page_size=2)
        async with running(reflector.run()):
            await reflector.synced.wait()
    assert names(cache) == list("abcdef")
    # At last everything in one piece: that cannot become too old between two pages.
    assert [seen.query.get("limit") for seen in proxy.seen if is_list(seen)] == ["2"] * 6 + [None]


async def test_object_that_cannot_be_read_is_reported_and_passed_over(world):
    await create(world, "good")
    cache, reports = ObjectCache(), []
    bad = {"metadata": {"name": "bad", "namespace": world.namespace, "resourceVersion": "5"}, "spec": 7}
    good = await world.call(world.client.get, KUEUE, "LocalQueue", "good", world.namespace)
    body = {"metadata": {"resourceVersion": good["metadata"]["resourceVersion"]}, "items": [bad, good]}
    async with world.faulty() as (connection, proxy):
        proxy.add(is_list, status=200, body=msgspec.json.encode(body).decode())
        lines = [{"type": "MODIFIED", "object": {**bad, "metadata": {**good["metadata"]}}}]
        proxy.add(
            is_watch, status=200, body="".join(msgspec.json.encode(line).decode() + "\n" for line in lines)
        )
        reflector = make(connection, world, cache, report=lambda _, unread: reports.append(unread))
        async with running(reflector.run()):
            await until(lambda: len(reports) == 2)
            # What was known of it before stays, and the watch goes on.
            assert names(cache) == ["good"]
            await label(world, "good", "changed")
            await until(lambda: versions(cache) == stored(world))
    assert [(unread.name, unread.error.field) for unread in reports] == [
        ("bad", "$.spec"),
        ("good", "$.spec"),
    ]


async def test_kind_that_is_not_served(world):
    cache = ObjectCache()
    async with world.connection() as connection:
        reflector = Reflector(
            connection, Resource(KUEUE, "LocalQueue", "nothings", True), cache, backoff=SOON
        )
        async with running(reflector.run()):
            await until(lambda: reflector.lists > 3)
        assert isinstance(reflector.last_error, NotFoundError)
        assert not reflector.synced.is_set()


async def test_waiting_for_all_kinds_says_which_is_late(world):
    async with world.faulty() as (connection, proxy):
        proxy.add(is_list, times=10_000, status=503)
        cluster = KubeCluster(connection, ["Namespace", "LocalQueue"])
        async with running(cluster.run()):
            await cluster.reflectors["Namespace"].synced.wait()
            with pytest.raises(
                TimeoutError, match=r"not listed after .* s: LocalQueue \(GET .*/localqueues: .*503\)"
            ):
                await cluster.synced(0.5)
        assert cluster.get("Namespace", None, world.namespace) is not None


async def test_listener_that_fails_ends_it(world):
    await create(world, "a")
    cache = ObjectCache()

    def fail(_):
        raise RuntimeError("in doubt")

    cache.watch("LocalQueue", fail)
    async with world.connection() as connection:
        with pytest.raises(RuntimeError, match="in doubt"):
            await make(connection, world, cache).run()
