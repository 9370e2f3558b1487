"""Events of objects around the queues: flavors, checks, topologies, LimitRanges, RuntimeClasses. Source: QC-34."""

from __future__ import annotations

from kueue_fast.api.core import LimitRange, RuntimeClass
from kueue_fast.api.kueue import AdmissionCheck, ResourceFlavor, ResourceFlavorSpec
from kueue_fast.engine.activity import flavors_of
from kueue_fast.engine.intake import Intake
from kueue_fast.engine.queue_topology import write_topology
from kueue_fast.engine.queues import Queues
from kueue_fast.engine.state import State
from kueue_fast.engine.topologies import Topologies


class Inventory:
    """Keeps flavors and checks, and looks again at the queues that a change concerns."""

    def __init__(self, state: State, queues: Queues, intake: Intake, topologies: Topologies) -> None:
        self._state = state
        self._queues = queues
        self._intake = intake
        self._topologies = topologies

    def upsert_flavor(self, flavor: ResourceFlavor) -> None:
        """A ResourceFlavor was created or changed."""
        state = self._state
        name = flavor.metadata.name
        before = state.classes.flavors.get(name)
        state.classes.set_flavor(name, flavor)
        self._topologies.set_flavor(name, flavor.spec or ResourceFlavorSpec())
        woken = self._queues.refresh_activity(state.cluster_queues.values())
        users = woken
        if before is not None and before.spec != flavor.spec:
            users = [entry for entry in state.cluster_queues.values() if name in flavors_of(entry.spec)]
        for entry in users:
            state.retries.request(entry.row, state.now_ns)

    def delete_flavor(self, name: str) -> None:
        """A ResourceFlavor is gone: ClusterQueues that name it become inactive."""
        self._state.classes.set_flavor(name, None)
        self._topologies.set_flavor(name, None)
        self._queues.refresh_activity(self._state.cluster_queues.values())

    def set_check(self, name: str, check: AdmissionCheck | None) -> None:
        """An AdmissionCheck was created, changed, or is gone (None)."""
        state = self._state
        if check is None:
            state.checks.pop(name, None)
        else:
            state.checks[name] = check
        for entry in state.cluster_queues.values():
            if any(rule.name == name for rule in entry.rules):
                write_topology(state, entry)
        for entry in self._queues.refresh_activity(state.cluster_queues.values()):
            state.retries.request(entry.row, state.now_ns)

    def set_runtime_class(self, name: str, runtime_class: RuntimeClass | None) -> None:
        """A RuntimeClass changed: pending workloads whose pods name it are read again (QC-154)."""
        state = self._state
        state.layouts.set_runtime_class(name, runtime_class)
        self._intake.adjust_again(
            record
            for record in state.rows.records.values()
            if record.layout is not None
            and any(pod_set.template.pod.runtime_class_name == name for pod_set in record.layout.pod_sets)
        )

    def set_limit_range(self, namespace: str, name: str, limit_range: LimitRange | None) -> None:
        """A LimitRange changed: pending workloads of its namespace are read again (QC-154)."""
        state = self._state
        state.layouts.set_limit_range(namespace, name, limit_range)
        self._intake.adjust_again(
            record for record in state.rows.records.values() if record.namespace == namespace
        )
