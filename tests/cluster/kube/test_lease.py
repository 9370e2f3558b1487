import asyncio

import pytest

from kueue_fast.cluster.kube.lease import LeaderElector, LeaseLostError, LeaseSettings
from kueue_fast.errors import InputError
from tests.controlplane.world import running, until

live = pytest.mark.live


def settings(world, identity, **more):
    quick = {"duration_s": 2.0, "renew_deadline_s": 1.5, "retry_period_s": 0.1, **more}
    return LeaseSettings(world.namespace, "lock", identity, **quick)


async def spec(world):
    path = f"/apis/coordination.k8s.io/v1/namespaces/{world.namespace}/leases/lock"
    return (await world.call(world.client.request, "GET", path))["spec"]


class Leading:
    """Says when it runs; ends when it is told to."""

    def __init__(self):
        self.runs = asyncio.Event()
        self.end = asyncio.Event()
        self.stopped = False

    async def __call__(self):
        self.runs.set()
        try:
            await self.end.wait()
        finally:
            self.stopped = True


@live
async def test_one_leads_the_other_follows(world):
    async with world.connection() as connection:
        electors = [LeaderElector(connection, settings(world, name)) for name in "ab"]
        first, second = Leading(), Leading()
        async with running(electors[0].run(first)) as task:
            await first.runs.wait()
            assert electors[0].holds()
            taken = await spec(world)
            assert (taken["holderIdentity"], taken["leaseDurationSeconds"], taken["leaseTransitions"]) == (
                "a",
                2,
                0,
            )
            async with running(electors[1].run(second)):
                await until(lambda: electors[1].holder == "a")
                # It renews, and stays the same leader.
                while (renewed := await spec(world))["renewTime"] == taken["renewTime"]:
                    await asyncio.sleep(0.02)
                assert renewed["acquireTime"] == taken["acquireTime"]
                assert not second.runs.is_set()
                first.end.set()
                await task
                assert not electors[0].holds()
                await second.runs.wait()
                found = await spec(world)
                assert (found["holderIdentity"], found["leaseTransitions"]) == ("b", 1)


@live
async def test_cancelled_leader_stops_first_and_then_releases(world):
    async with world.connection() as connection:
        elector, leading = LeaderElector(connection, settings(world, "a")), Leading()
        async with running(elector.run(leading)):
            await leading.runs.wait()
        assert leading.stopped
        found = await spec(world)
        assert (found["holderIdentity"], found["leaseDurationSeconds"]) == ("", 1)


@live
async def test_lease_is_released_though_a_renewal_was_written_unseen(world):
    async with world.faulty() as (connection, proxy):
        elector, leading = LeaderElector(connection, settings(world, "a")), Leading()
        async with running(elector.run(leading)):
            await leading.runs.wait()
            conflict = proxy.add(lambda seen: seen.method == "PUT", status=409, body="{}")
        assert conflict.times == 0
        assert (await spec(world))["holderIdentity"] == ""


@live
async def test_leader_that_cannot_renew_stops(world):
    async with world.faulty() as (connection, proxy):
        elector, leading = LeaderElector(connection, settings(world, "a")), Leading()
        task = asyncio.ensure_future(elector.run(leading))
        await leading.runs.wait()
        proxy.add(lambda seen: True, times=10_000, cut=True)
        with pytest.raises(LeaseLostError, match=r"was not renewed for 1\.5 s"):
            await task
        assert leading.stopped
        assert not elector.holds()
        # It could not be released either: the next one has to wait.
        assert (await spec(world))["holderIdentity"] == "a"


PASSING = {"refused": {"status": 500}, "a conflict": {"status": 409, "body": "{}"}, "cut": {"cut": True}}


@live
@pytest.mark.parametrize("what", PASSING.values(), ids=PASSING)
async def test_leader_lives_through_a_few_failures(world, what):
    async with world.faulty() as (connection, proxy):
        elector, leading = LeaderElector(connection, settings(world, "a")), Leading()
        async with running(elector.run(leading)):
            await leading.runs.wait()
            fault = proxy.add(lambda seen: seen.method == "PUT", times=3, **what)
            await until(lambda: fault.times == 0)
            seen = len(proxy.seen)
            await until(lambda: len(proxy.seen) > seen + 3)
            assert elector.holds()
            assert not leading.stopped


@live
async def test_lease_that_was_taken_by_force_is_lost(world):
    async with world.connection() as connection:
        elector, leading = LeaderElector(connection, settings(world, "a")), Leading()
        task = asyncio.ensure_future(elector.run(leading))
        await leading.runs.wait()
        path = f"/apis/coordination.k8s.io/v1/namespaces/{world.namespace}/leases/lock"
        change = {"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 3600}}
        await world.call(world.client.request, "PATCH", path, change, "application/merge-patch+json")
        with pytest.raises(LeaseLostError, match="its holder is thief"):
            await task
        assert leading.stopped
        assert (await spec(world))["holderIdentity"] == "thief"


@live
async def test_holder_that_died_is_followed_when_its_time_is_over(world):
    path = f"/apis/coordination.k8s.io/v1/namespaces/{world.namespace}/leases"
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "lock", "namespace": world.namespace},
        # Its clock is an hour ahead, which must not matter.
        "spec": {
            "holderIdentity": "dead",
            "leaseDurationSeconds": 1,
            "renewTime": "2126-01-01T00:00:00.000000Z",
            "acquireTime": "2126-01-01T00:00:00.000000Z",
            "leaseTransitions": 4,
        },
    }
    await world.call(world.client.request, "POST", path, lease)
    clock = Clock()
    async with world.connection() as connection:
        elector = LeaderElector(connection, settings(world, "a"), monotonic=clock)
        leading = Leading()
        async with running(elector.run(leading)):
            await until(lambda: elector.holder == "dead")
            await until(lambda: clock.asked > 10)
            assert (await spec(world))["holderIdentity"] == "dead"
            clock.now += 1.5
            while (await spec(world))["holderIdentity"] != "a":
                await asyncio.sleep(0.02)
            # It is ours, but the old one may go on until its renew deadline, and a margin.
            asked = clock.asked
            await until(lambda: clock.asked > asked + 10)
            assert not leading.runs.is_set()
            clock.now += 1.0
            clock.now += 1.1
            await leading.runs.wait()
            assert (await spec(world))["leaseTransitions"] == 5


class Clock:
    def __init__(self):
        self.now = 1000.0
        self.asked = 0

    def __call__(self):
        self.asked += 1
        return self.now


@live
async def test_what_leading_raises_comes_out(world):
    async def fail():
        raise RuntimeError("in doubt")

    async with world.connection() as connection:
        with pytest.raises(RuntimeError, match="in doubt"):
            await LeaderElector(connection, settings(world, "a")).run(fail)
    assert (await spec(world))["holderIdentity"] == ""


WRONG = {
    "no pause between tries": (
        {"retry_period_s": 0},
        "leaderElection.retryPeriod: is 0 s .expected more than 0",
    ),
    "a deadline within one try": (
        {"retry_period_s": 2, "renew_deadline_s": 2.4},
        "leaderElection.renewDeadline: is 2.4 s .expected more than 1.2 x retryPeriod",
    ),
    "a lease shorter than its deadline": (
        {"duration_s": 10, "renew_deadline_s": 10},
        "leaderElection.leaseDuration: is 10 s .expected more than renewDeadline",
    ),
}


@pytest.mark.parametrize(("change", "want_words"), WRONG.values(), ids=WRONG)
def test_times_that_do_not_fit(change, want_words):
    with pytest.raises(InputError, match=want_words):
        LeaseSettings("ns", "lock", "a", **change).check()
