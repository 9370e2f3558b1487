"""The simulator: manifests in, a run of virtual time, a result out.

The clock starts at 2026-01-01T00:00:00Z, or at the latest creationTimestamp of the manifests if that is later,
so that nothing was created in the future. At every instant, in this order: what is due happens (arrivals,
ends), the past use of LocalQueues is sampled where that is due, requests to move parked workloads back are carried
out when their batch of a second is over, scheduling cycles run until they change nothing. A cycle takes no virtual
time. Then the clock jumps to the next thing that is to happen. What a cycle evicts and has no grace period stops
before the next cycle. Samples alone do not keep a run going.

The same manifests and options always give the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from kueue_fast.api.batch import Job
from kueue_fast.api.core import Namespace, Node
from kueue_fast.api.kueue import ClusterQueue, LocalQueue, Workload
from kueue_fast.api.meta import KubernetesObject, ObjectMeta
from kueue_fast.cluster.memory import AlreadyExistsError, Change, MemoryCluster, WatchEvent
from kueue_fast.engine import Cycle, Requeued
from kueue_fast.errors import InputError, Unsupported
from kueue_fast.jobs.defaults import defaulted
from kueue_fast.lifecycle import events
from kueue_fast.lifecycle.settings import LifecycleSettings
from kueue_fast.lifecycle.status import Reasons
from kueue_fast.model.features import FeatureGates
from kueue_fast.sim.admission_checks import AdmissionCheckController
from kueue_fast.sim.admitter import Admitter
from kueue_fast.sim.arrivals import creation_rank, identity, missing_namespaces, named_namespace, start_time
from kueue_fast.sim.clock import VirtualClock
from kueue_fast.sim.cluster_queues import ClusterQueueController, as_scheduled, with_finalizer
from kueue_fast.sim.controllers import BATCH_JOB, SYSTEM_PRIORITY_CLASSES, JobController
from kueue_fast.sim.housekeeping import Housekeeping
from kueue_fast.sim.input import check_jobs
from kueue_fast.sim.input_errors import name_taken, placed
from kueue_fast.sim.kind_ancestors import Ancestors
from kueue_fast.sim.kind_controllers import KindControllers
from kueue_fast.sim.kind_serving import has_default_class
from kueue_fast.sim.kinds import OUTSIDE_THE_ENGINE, is_played, registry_of, settings_of
from kueue_fast.sim.local_queue_use import sample
from kueue_fast.sim.manifest import NO_FACTS, Manifest, SimulationFacts, describe
from kueue_fast.sim.node_registration import registered, schedule_changes
from kueue_fast.sim.observer import WorkloadObserver
from kueue_fast.sim.options import SimulationOptions, fair_sharing, new_engine
from kueue_fast.sim.outcome import FinishedRun, conclude
from kueue_fast.sim.placed_pods import PlacedPods
from kueue_fast.sim.preemptions import Preemptions
from kueue_fast.sim.recorder import Recorder
from kueue_fast.sim.resizes import schedule_resizes
from kueue_fast.sim.result import SimulationResult
from kueue_fast.sim.runner import PodRunner
from kueue_fast.sim.user_changes import schedule_changes_of_users
from kueue_fast.sim.workload_controller import WorkloadController

__all__ = ["Simulation", "simulate"]

PROGRESS_EVERY: Final = 64
# Of one instant without an admission, and evictions of one instant, besides one for each workload: upstream has
# states in which it never rests.
MOST_TRIES: Final = 400


def simulate(manifests: Sequence[Manifest], options: SimulationOptions | None = None) -> SimulationResult:
    """Run the manifests to the end, or to `options.until_ns`, and tell what happened.

    Raises InputError when a manifest cannot be simulated; then nothing has been reported.
    """
    simulation = Simulation(manifests, options or SimulationOptions())
    simulation.run()
    return simulation.result()


class Simulation:
    """One run: the cluster, the engine, the controllers around them, and the clock.

    `cluster` may be read after the run: it holds every object in its last state. `settings` and `registry` say which
    of them are jobs.
    """

    def __init__(self, manifests: Sequence[Manifest], options: SimulationOptions) -> None:
        self._options = options
        configured = options.configuration.feature_gates if options.configuration is not None else None
        self._gates = FeatureGates({**(configured or {}), **options.feature_gates})
        settings = settings_of(options.configuration, self._gates)
        check_jobs(manifests, settings, BATCH_JOB)
        self.settings = settings
        self._manifests = manifests
        self._by_key = {identity(manifest.object): manifest for manifest in manifests}
        start = start_time(manifests)
        self.clock = VirtualClock(start)
        self.cluster = MemoryCluster(lambda: self.clock.now)
        self.recorder = Recorder(start, keep_events=options.events, keep_history=options.history)
        self._reasons = Reasons.read(self._gates)
        self.engine = new_engine(options)
        lifecycle = LifecycleSettings.read(options.configuration, self._gates)
        self._runner = PodRunner(
            self.cluster,
            self.clock,
            self._facts,
            self._reasons,
            tells_readiness=lifecycle.pods_ready is not None,
        )
        self._housekeeping = Housekeeping()
        self.cluster.watch(None, self._feed_engine)
        AdmissionCheckController(self.cluster, self.clock, self._facts)
        self.observer = WorkloadObserver(self.cluster, self.clock, self.recorder, self._runner)
        self._preemptions = Preemptions(
            self.cluster, self.clock, self.recorder, priority_boost=self._gates.enabled("PriorityBoost")
        )
        ClusterQueueController(self.cluster, self.recorder)
        self._workloads = WorkloadController(
            self.cluster,
            self.clock,
            lifecycle,
            self._runner,
            self.recorder,
            lambda name: self.engine.is_active(name),
            self._housekeeping,
        )
        self._admitter = Admitter(
            self.cluster,
            self.clock,
            self.engine,
            self.observer,
            self.recorder,
            self._workloads,
            by_hostname_prefix=self._gates.enabled("TASAssignmentsEncodingByHostnamePrefix"),
        )
        self.registry = registry_of(settings, self.cluster.get)
        ancestors = Ancestors(self.cluster.get, self.registry, settings)
        self._jobs = JobController(
            self.cluster,
            self.clock,
            settings,
            self._runner,
            self.recorder.event,
            ancestors,
            self._housekeeping,
        )
        self._pods = PlacedPods(
            self.cluster, self.clock, self._gates, self._facts, self.recorder, self._retry
        )
        self._kinds = KindControllers(
            self.cluster,
            self.clock,
            self.registry,
            ancestors,
            self._jobs,
            self._pods.placements,
            lambda *key: self._by_key.get(key),
            self._facts,
            self.recorder.event,
            self._housekeeping,
            wanted=any(each.object.KIND != Job.KIND and is_played(each.object) for each in manifests),
        )
        self.cycles = 0
        self._last_activity = start
        self._stopped = False
        self.restless_ns: int | None = None
        self._schedule_arrivals(start)

    def run(self) -> None:
        """Step from instant to instant until nothing is left to happen, or the time is over."""
        start = self.clock.now
        until = None if self._options.until_ns is None else start + self._options.until_ns
        steps = 0
        while True:
            following = self._next_time()
            if following is None:
                break
            if until is not None and following > until:
                self._stopped = True
                break
            self.clock.advance(following)
            try:
                self._instant()
            except InputError as error:
                raise placed(error, self._manifests) from error
            steps += 1
            if self._options.progress is not None and steps % PROGRESS_EVERY == 0:
                self._options.progress(self.recorder.ended, len(self.recorder.rows) + self._still_to_arrive)
        if self._stopped and until is not None:
            self.clock.advance(until)

    def restart(self) -> None:
        """As if Kueue's process had ended and come back: the engine and the controllers start anew, from objects alone.

        What stands for others goes on: nodes, pods and their runs, operators, admission checks, users. To be called
        between events, say from an entry of the clock.
        """
        self._housekeeping.restart()
        self.engine = new_engine(self._options)
        for kind in self.cluster.kinds():
            self.cluster.relist(kind, self._feed_engine)
        self._admitter.restart(self.engine)
        self._workloads.restart()
        self._jobs.restart()
        self._pods.restart()
        self._kinds.restart()

    def result(self) -> SimulationResult:
        """What the run produced; writes the last statuses into the cluster."""
        # A last batch that moved nothing does not make the run longer.
        end = self.clock.now if self._stopped else self._last_activity
        return conclude(
            FinishedRun(
                cluster=self.cluster,
                engine=self.engine,
                recorder=self.recorder,
                reasons=self._reasons,
                manage_all=self.settings.manage_jobs_without_queue_name,
                fair_sharing=fair_sharing(self._options),
                cycles=self.cycles,
                end_ns=end,
                stopped=self._stopped,
                restless_ns=self.restless_ns,
                topologies=self._pods.ledger.rows(end),
            )
        )

    def _next_time(self) -> int | None:
        engine = self.engine
        # While the scheduler stands still, nothing comes of a second pass that is due.
        second_pass = None if self._admitter.waits else engine.next_second_pass()
        times_due = (self.clock.next_time(), engine.next_flush(), second_pass)
        due = [time for time in times_due if time is not None]
        if not due:
            return None
        # Neither keeps a run going.
        aside = (self.engine.next_sample(), self._housekeeping.next_time())
        return max(min(*due, *(time for time in aside if time is not None), due[0]), self.clock.now)

    def _instant(self) -> None:
        """All that happens at one point in time."""
        now = self.clock.now
        if self.clock.run_due():
            self._last_activity = now
        self._housekeeping.run_due(now)
        sample(self.cluster, self.engine, now)
        flush = self.engine.next_flush()
        if flush is not None and flush <= now:
            self.engine.flush(now)
        self._run_cycles(now)
        self.recorder.settle()
        self._pods.ledger.settle()

    def _run_cycles(self, now: int) -> None:
        """Scheduling cycles until they only repeat themselves: the same heads come back with the same answers."""
        tries = evictions = 0
        most_tries = MOST_TRIES + len(self.recorder.rows)
        # Since the last decision: who came back how, and from the second time on with which words.
        seen: dict[tuple[tuple[str, str], ...], set[tuple[str, ...]]] = {}
        while self._admitter.ready() and self.engine.has_heads(now):
            cycle = self._cycle(now)
            told_to_stop = len(cycle.preempted) + len(cycle.evicted)
            placed = bool(cycle.admitted or cycle.moved)
            if told_to_stop:
                evictions += told_to_stop
                self.clock.run_due()
            if placed or told_to_stop:
                seen.clear()
                tries = 0 if placed else tries + 1
            else:
                # A head that was parked makes way for another one: that is a change, too. So is a scan of flavors
                # that got further; but it may also begin anew in each cycle, or in every second one.
                heads = tuple((each.workload, each.outcome) for each in cycle.requeued)
                words = seen.get(heads)
                if words is None:
                    seen[heads] = set()
                else:
                    if not cycle.changed:
                        return
                    answers = tuple(each.message() for each in cycle.requeued)
                    if answers in words:
                        return
                    words.add(answers)
                tries += 1
            if max(tries, evictions) > most_tries:
                self.restless_ns = now
                return

    def _cycle(self, now: int) -> Cycle:
        """One cycle, and what it decided into the cluster."""
        try:
            cycle = self.engine.cycle(now)
        except Unsupported as error:
            raise InputError(str(error)) from error
        self.cycles += 1
        self._preemptions.note_victims(self.engine, cycle)
        self._admitter.take(cycle)
        for decision in cycle.moved:
            self._admitter.write(decision)
        self._preemptions.issue(cycle)
        if cycle.admitted or cycle.moved or cycle.preempted or cycle.evicted:
            self._last_activity = now
        if self._options.events:
            for requeued in cycle.requeued:
                self._requeued(requeued)
        return cycle

    def _requeued(self, requeued: Requeued) -> None:
        message = requeued.message()
        # The reference repeats the event in every cycle; the same words about the same workload say nothing new.
        if self.observer.said(requeued.workload, message):
            return
        namespace, _, name = requeued.workload.partition("/")
        self.recorder.event(events.pending(namespace, name, message, self.clock.now))

    def _retry(self, queues: set[str]) -> None:
        self.engine.flush(self.clock.now)  # which is how it learns the time
        self.engine.retry_queues(queues)

    def _feed_engine(self, event: WatchEvent) -> None:
        obj = event.object
        if obj.KIND in OUTSIDE_THE_ENGINE:
            return
        try:
            if event.change is Change.DELETED:
                self.engine.delete(obj.KIND, obj.metadata.namespace or "", obj.metadata.name, self.clock.now)
            else:
                self.engine.upsert(
                    as_scheduled(obj) if isinstance(obj, ClusterQueue) else obj, self.clock.now
                )
        except Unsupported as error:
            raise InputError(str(error), object=describe(obj), file=self._place(obj)) from error
        except InputError as error:
            raise error.located(object=describe(obj), file=self._place(obj)) from error

    def _place(self, obj: KubernetesObject) -> str | None:
        """File and line of the manifest that an object comes from, that of the job for its Workload."""
        keys = [identity(obj)]
        keys += [
            (owner.kind, obj.metadata.namespace or "", owner.name)
            for owner in obj.metadata.owner_references or ()
        ]
        return next((self._by_key[key].place for key in keys if key in self._by_key), None)

    def _facts(self, kind: str, namespace: str, name: str) -> SimulationFacts:
        manifest = self._by_key.get((kind, namespace, name))
        return NO_FACTS if manifest is None else manifest.facts

    def _schedule_arrivals(self, start: int) -> None:
        self._still_to_arrive = sum(
            1 for each in self._manifests if isinstance(each.object, Workload) or is_played(each.object)
        )
        for name in missing_namespaces(self._manifests):
            self.cluster.create(named_namespace(Namespace(metadata=ObjectMeta(name=name))))
        for system in SYSTEM_PRIORITY_CLASSES:
            if identity(system) not in self._by_key:
                self.cluster.create(system)
        for manifest in sorted(self._manifests, key=creation_rank):
            facts = manifest.facts
            at = start
            if facts.arrival_ns is not None:
                at = start + facts.arrival_ns
            elif facts.arrival_time_ns is not None:
                at = facts.arrival_time_ns
            self.clock.schedule(at, self._create, manifest)

    def _create(self, manifest: Manifest) -> None:
        obj: Any = manifest.object
        if isinstance(obj, Namespace):
            obj = named_namespace(obj)
        elif isinstance(obj, Job):
            queue = self.cluster.get(LocalQueue.KIND, obj.metadata.namespace, "default")
            obj = defaulted(
                obj,
                BATCH_JOB,
                self.settings,
                queue is not None,
                default_class_exists=has_default_class(self.cluster),
            )
            self._still_to_arrive -= 1
        elif is_played(obj):
            obj = self._kinds.created(manifest)
            self._still_to_arrive -= 1
        elif isinstance(obj, Workload):
            self._still_to_arrive -= 1
        elif isinstance(obj, ClusterQueue):
            obj = with_finalizer(obj)
        elif isinstance(obj, Node):
            obj = registered(obj, self.clock.now)
            schedule_changes(
                self.cluster, self.clock, obj.metadata.name, manifest.facts, self.recorder.start_ns
            )
        # A version that a manifest of a live cluster carries means nothing here.
        if obj.metadata.resource_version:
            obj = msgspec.structs.replace(
                obj, metadata=msgspec.structs.replace(obj.metadata, resource_version=None)
            )
        try:
            stored = self.cluster.create(obj)
        except AlreadyExistsError as error:
            raise name_taken(manifest, self.cluster.get(*identity(obj))) from error
        except InputError as error:
            raise error.located(object=describe(obj), file=manifest.place) from error
        schedule_changes_of_users(self.cluster, self.clock, manifest, self.recorder.start_ns)
        if isinstance(stored, Job):
            schedule_resizes(self.cluster, self.clock, stored, manifest.facts, self.recorder.start_ns)
