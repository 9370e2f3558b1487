"""What must hold whenever an instant of a simulation is over, whatever happened before."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kueue_fast.api.batch import Job
from kueue_fast.api.core import Node, Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.jobs import pod_names
from kueue_fast.jobs.ancestors import controller_of
from kueue_fast.jobs.next_step import owned_workloads
from kueue_fast.jobs.registry import Registry
from kueue_fast.jobs.roles import RoleIntegration
from kueue_fast.lifecycle import eviction, finish, slices
from kueue_fast.lifecycle.pods import is_terminal, slice_name
from kueue_fast.model import conditions
from kueue_fast.model.elastic import ELASTIC_JOB
from kueue_fast.model.placements import placements
from kueue_fast.model.quantities import quota_value, request_value
from kueue_fast.sim.kind_ancestors import workloads_of
from kueue_fast.sim.kind_serving import root_of
from kueue_fast.sim.kinds import PLAYED
from kueue_fast.sim.observer import assigned_usage, decided_usage, reclaimed_of
from kueue_fast.sim.simulate import Simulation
from tests.invariants.accounts import booked
from tests.sim.sequences import Played, is_reserved

KINDS = (Job, *PLAYED)


def check(play: Played) -> None:
    """All of it. Raises AssertionError, with the time."""
    try:
        check_statuses(play)
        check_quota(play)
        check_slices(play)
        check_jobs(play)
        check_pods(play)
        check_nodes(play)
    except AssertionError as error:
        seconds = (play.clock.now - play.recorder.start_ns) / 1e9
        error.add_note(f"{seconds} s after the start")
        raise


def live(workloads: Any) -> list[Workload]:
    return [each for each in workloads if not finish.is_finished(each)]


def holders(workloads: Any) -> list[Workload]:
    return [each for each in live(workloads) if is_reserved(each)]


def is_elastic(workload: Workload) -> bool:
    return ELASTIC_JOB in (workload.metadata.annotations or {})


def known(workload: Workload) -> Any:
    return workload.status.conditions if workload.status is not None else None


def check_statuses(play: Played) -> None:
    """A status contradicts itself nowhere, and what has ended or lost its job holds nothing."""
    for each in play.cluster.list(Workload.KIND):
        reserved = is_reserved(each)
        if finish.is_finished(each):
            assert slices.key_of(each) not in play.recorder.holding
            continue
        assert reserved == (each.status is not None and each.status.admission is not None), each.metadata.name
        assert reserved or not conditions.is_true(known(each), conditions.ADMITTED), each.metadata.name
        owners = each.metadata.owner_references or ()
        if owners:
            assert any(play.cluster.by_uid(owner.uid) for owner in owners), (
                f"{each.metadata.name} has lost its job"
            )


def check_quota(play: Played) -> None:
    """Objects, engine and report count the same, and no more than there is."""
    want: Counter[tuple[str, str]] = Counter()
    for each in holders(play.cluster.list(Workload.KIND)):
        if each.spec.active is False:
            continue  # Its quota is free while its pods stop (LC-1505).
        counts = slices.pod_counts(each.spec.pod_sets)
        want.update(assigned_usage(each.status.admission, counts, reclaimed_of(each)))  # type: ignore[union-attr, arg-type]
    want = Counter({pair: amount for pair, amount in want.items() if amount})
    assumed = want.copy()
    for decision in play.undecided():
        assumed.update(decided_usage(decision))
    books: Any = play
    assert booked(books)["ClusterQueue cq"] == {pair: amount for pair, amount in assumed.items() if amount}
    told = {
        (flavor, resource): meter.current
        for (_, flavor, resource), meter in play.recorder.queue_meters.items()
        if meter.current
    }
    assert told == want
    if came_back(play):
        return
    queue: Any = play.cluster.get("ClusterQueue", None, "cq")
    for group in queue.spec.resource_groups:
        for flavor in group.flavors:
            for quota in flavor.resources:
                nominal = quota_value(quota.name, quota.nominal_quota)
                assert want[flavor.name, quota.name] <= nominal


def came_back(play: Played) -> bool:
    """Whether a Workload was deactivated, gave its quota to others at once, and was activated while its pods stopped:
    until they have, it counts beside those others (LC-1505).
    """
    return any(
        each.metadata.uid in play.activated and eviction.is_evicted(each)
        for each in holders(play.cluster.list(Workload.KIND))
    )


def check_slices(play: Played) -> None:
    """One slice of a job holds quota, and at most one waits to take its place."""
    by_chain: dict[tuple[str, str], list[Workload]] = {}
    for each in live(play.cluster.list(Workload.KIND)):
        owner = controller_of(each.metadata)
        if owner is not None:
            by_chain.setdefault((owner.uid, ""), []).append(each)
    for chain in by_chain.values():
        held = holders(chain)
        assert len(held) <= 1, [each.metadata.name for each in held]
        assert len(chain) <= 2, [each.metadata.name for each in chain]
        if len(chain) == 2:
            first, second = slices.live_slices(chain)
            assert held == [first]
            assert slices.replacement_for(second) == slices.key_of(first)
            assert slice_name(second) == slice_name(first)


def ended_early(workloads: list[Workload]) -> Workload | None:
    """The slice that ended although its pods go on: another one takes its place, and that is not admitted.

    Either it was evicted while the other waited (JS-580), or the other got quota and lost it before its checks were
    ready: no job with slices is stopped for want of an admission (JS-487). The next admission ends it.
    """
    if any(conditions.is_true(known(each), conditions.ADMITTED) for each in live(workloads)):
        return None
    wanted = {slices.replacement_for(each) for each in live(workloads)}
    for each in reversed(workloads):
        done = conditions.find(known(each), conditions.FINISHED)
        if done is not None and done.reason == slices.SLICE_REPLACED and slices.key_of(each) in wanted:
            return each
    return None


def check_jobs(play: Played) -> None:
    """A job that runs has a Workload with quota, a released one an admitted Workload."""
    registry = Registry(play.settings)
    for kind in KINDS:
        integration: Any = registry.find(kind.API_VERSION, kind.KIND)
        assert kind is Job or isinstance(integration, RoleIntegration)
        for job in play.cluster.list(kind.KIND):
            if root_of(play.cluster, job) is not job:
                continue
            mine = owned_workloads(play.cluster, job.metadata)
            ended = integration.finished(job) is not None
            if ended:
                assert not holders(mine), f"{job.metadata.name} has ended"
                continue
            name = f"{job.KIND} {job.metadata.name}"
            released = not integration.suspended(job)
            if ended_early(mine) is not None:
                continue
            if released:
                # A slice takes the place of the one before it when quota is reserved; its checks may still be pending.
                assert any(
                    conditions.is_true(known(each), conditions.ADMITTED) or slices.replacement_for(each)
                    for each in holders(mine)
                ), name
            if not released and play.stops_without_quota(job.metadata.uid):
                continue
            if released or integration.active(job):
                assert holders(mine), f"{name} runs without quota"


def check_pods(play: Played) -> None:
    """Pods that run belong to Workloads with quota, and are not more than those were given."""
    running: Counter[str] = Counter()
    roots: dict[str, Any] = {}
    for pod in play.cluster.list(Pod.KIND):
        if is_terminal(pod) or pod.status is None or pod.status.phase != "Running":
            continue
        assert not pod.spec.scheduling_gates
        root = root_of(play.cluster, pod)
        group = (pod.metadata.labels or {}).get(pod_names.GROUP_NAME)
        key = f"group {group}" if group else root.metadata.uid
        if pod.metadata.deletion_timestamp and not group and root is pod:
            continue  # A pod alone gives its quota back while it stops (JS-349).
        if play.stops_without_quota(root.metadata.uid):
            continue
        running[key] += 1
        roots[key] = pod if group else root
    for key, count in running.items():
        root = roots[key]
        if key.startswith("group "):
            found = [play.cluster.get(Workload.KIND, "ns", key.removeprefix("group "))]
            workloads = [each for each in found if each is not None]
        else:
            workloads = workloads_below(play, root)
        given = sum(sum(slices.pod_counts(each.spec.pod_sets).values()) for each in holders(workloads))
        ended = ended_early(workloads)
        stopping = [each for each in holders(workloads) if is_elastic(each)] + (
            [] if ended is None else [ended]
        )
        if any(map(eviction.is_evicted, stopping)) and is_suspended(play, root):
            continue  # A slice that shrinks while its pods stop gives back at once what they have (JS-480).
        without = 0 if ended is None else sum(slices.pod_counts(ended.spec.pod_sets).values())
        assert count <= max(given, without), f"{count} pods of {root.metadata.name} run, {given} may"


def is_suspended(play: Played, root: Any) -> bool:
    integration: Any = Registry(play.settings).find(root.API_VERSION, root.KIND)
    return bool(integration.suspended(root))


def workloads_below(play: Simulation, root: Any) -> list[Workload]:
    """Workloads of an object and of what it owns."""
    found = dict.fromkeys(slices.key_of(each) for each in workloads_of(play.cluster, root.metadata))
    below = list(play.cluster.dependents(root.metadata.uid or ""))
    while below:
        each = below.pop()
        if each.KIND != Workload.KIND:
            found.update(
                dict.fromkeys(slices.key_of(one) for one in workloads_of(play.cluster, each.metadata))
            )
            below += play.cluster.dependents(each.metadata.uid or "")
    return [each for key in found if (each := play.cluster.get(Workload.KIND, *key.split("/"))) is not None]


def check_nodes(play: Played) -> None:
    """No leaf has more than it can: by what was given, and by the pods on it."""
    nodes: dict[str, Node] = {node.metadata.name: node for node in play.cluster.list(Node.KIND)}
    if not nodes or came_back(play):
        return
    given: Counter[str] = Counter()
    for each in holders(play.cluster.list(Workload.KIND)):
        assert each.status is not None
        assert each.status.admission is not None
        if each.spec.active is False:
            continue
        usage = {
            one.name: (request_value("cpu", (one.resource_usage or {}).get("cpu", 0)), one.count or 0)
            for one in each.status.admission.pod_set_assignments or ()
        }
        for name, placed in placements(each).items():
            amount, count = usage[name]
            for values, pods in placed.domains:
                given[values[-1]] += amount // max(count, 1) * pods
    used: Counter[str] = Counter()
    for pod in play.cluster.list(Pod.KIND):
        if not is_terminal(pod) and pod.spec.node_name:
            for container in pod.spec.containers or ():
                requests = (container.resources.requests if container.resources else None) or {}
                used[pod.spec.node_name] += request_value("cpu", requests.get("cpu", 0))
    for name, node in nodes.items():
        room = request_value("cpu", node.status.allocatable["cpu"])  # type: ignore[union-attr, index]
        assert given[name] <= room, name
        assert used[name] <= room, name
