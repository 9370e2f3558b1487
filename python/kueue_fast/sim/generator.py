"""The generator file of Kueue's performance runner, as input of a simulation.

It describes cohorts of ClusterQueues and streams of Workloads, from which the runner makes objects in a
cluster. Names, labels and creation times are the runner's; its wall clock is not. Cohorts stay implicit,
as there. Each cohort set, queue set and workload set runs on its own from the start of the simulation; in
a workload set one interval passes before each Workload.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import msgspec

from kueue_fast.api.decode import decode
from kueue_fast.api.kueue_workload import V1BETA2
from kueue_fast.errors import InputError
from kueue_fast.model.features import FeatureGates
from kueue_fast.model.validation import validate
from kueue_fast.sim.manifest import Manifest, SimulationFacts, problem_words

__all__ = ["MOST_WORKLOADS", "expand", "is_generator"]

CLASS_LABEL: Final = "kueue.x-k8s.io/performance-scheduler-class"
RUNNING_TIME_LABEL: Final = "kueue.x-k8s.io/performance-scheduler-running-ms"
CLEANUP_LABEL: Final = "kueue.x-k8s.io/performance-scheduler-cleanup"
DEFAULT_FLAVOR: Final = "rf"
NEVER: Final = "Never"
MILLISECOND: Final = 1_000_000
MOST_WORKLOADS: Final = 5_000_000
"""More than this is taken for a slip of the pen."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Priority = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
# A text to the runner, whatever YAML makes of it.
Amount = str | int | float


class _Part(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """What all parts of the file share: a field that is not known is an error."""


class WorkloadTemplate(_Part, kw_only=True):
    """A class of Workloads: one pod that requests cpu. The last four fields are for topologies."""

    class_name: str
    request: Amount
    runtime_ms: Milliseconds = 0
    priority: Priority = 0
    pod_count: Count = 0
    tas_constraint: str = ""
    tas_level: str = ""
    slice_size: Count = 0


class WorkloadsSet(_Part, kw_only=True):
    """`count` rounds of one Workload of each class, with an interval before each Workload."""

    count: Count
    creation_interval_ms: Milliseconds = 0
    workloads: list[WorkloadTemplate] = []


class QueuesSet(_Part, kw_only=True):
    """`count` equal ClusterQueues, each with its Namespace and LocalQueue of the same name."""

    class_name: str
    count: Count
    nominal_quota: Amount
    borrowing_limit: Amount = ""
    reclaim_within_cohort: str = ""
    within_cluster_queue: str = ""
    workloads_sets: list[WorkloadsSet] = []


class CohortSet(_Part, kw_only=True):
    """`count` equal cohorts."""

    class_name: str
    count: Count
    queues_sets: list[QueuesSet] = []


class ResourceFlavorConfig(_Part, kw_only=True):
    """The one ResourceFlavor. The label of its nodes is set for topologies only."""

    name: str = DEFAULT_FLAVOR
    node_label: str = ""
    topology_name: str = ""


class Config(_Part, kw_only=True):
    """The whole file."""

    cohorts: Annotated[list[CohortSet], msgspec.Meta(min_length=1)]
    resource_flavor: ResourceFlavorConfig | None = None
    topology: Any = None


def is_generator(document: Mapping[str, Any]) -> bool:
    """Whether a document is a generator file: it has cohorts, but neither kind nor apiVersion."""
    return "cohorts" in document and "kind" not in document and "apiVersion" not in document


def expand(
    document: Mapping[str, Any], file: str, line: int, index: int, gates: FeatureGates
) -> tuple[list[Manifest], list[InputError]]:
    """The objects that a generator file stands for, Workloads by creation time after everything else.

    `file`, `line` and document `index` are noted in the manifests. With errors there are no manifests;
    each error has its field as a path in the file.
    """
    try:
        config = msgspec.convert(document, Config)
    except msgspec.ValidationError as error:
        return [], [_conversion_error(error)]
    errors = [*_not_supported(config), *_size_errors(config)]
    if errors:
        return [], errors
    expansion = _Expansion(config, file, line, index, gates)
    manifests = expansion.run()
    return ([], expansion.errors) if expansion.errors else (manifests, [])


_AT_PATH: Final = re.compile(r"(.*) - at `(.*)`\Z", re.DOTALL)


def _conversion_error(error: msgspec.ValidationError) -> InputError:
    at = _AT_PATH.match(str(error))
    message, path = at.groups() if at else (str(error), "$")
    missing = re.match(r"Object missing required field `(\w+)`", message)
    if missing:
        return InputError("is missing", field=f"{path}.{missing[1]}", expected="a value")
    unknown = re.match(r"Object contains unknown field `(.*)`", message, re.DOTALL)
    if unknown:
        return InputError("is not a field of a generator file", field=f"{path}.{unknown[1][:60]}")
    return InputError(message[:200], field=path)


def _walk(config: Config) -> Iterator[tuple[str, QueuesSet, CohortSet]]:
    """Each queue set with its path and its cohort set."""
    for cohort_index, cohort_set in enumerate(config.cohorts):
        for queue_index, queues_set in enumerate(cohort_set.queues_sets):
            yield f"$.cohorts[{cohort_index}].queuesSets[{queue_index}]", queues_set, cohort_set


def _not_supported(config: Config) -> Iterator[InputError]:
    """What asks for a topology: refused, for without one other decisions would come out."""
    message = "topology-aware scheduling is not supported yet"
    if config.topology is not None:
        yield InputError(message, field="$.topology")
    if config.resource_flavor is not None and config.resource_flavor.topology_name:
        yield InputError(message, field="$.resourceFlavor.topologyName")
    for path, queues_set, _ in _walk(config):
        for set_index, workloads_set in enumerate(queues_set.workloads_sets):
            for index, template in enumerate(workloads_set.workloads):
                where = f"{path}.workloadsSets[{set_index}].workloads[{index}]"
                if template.tas_level or template.tas_constraint or template.slice_size:
                    yield InputError(message, field=where)
                elif template.pod_count > 1:
                    expected = "one pod: the runner takes podCount only together with tasLevel"
                    yield InputError(f"is {template.pod_count}", field=f"{where}.podCount", expected=expected)


def _size_errors(config: Config) -> Iterator[InputError]:
    total = 0
    for _, queues_set, cohort_set in _walk(config):
        queues = cohort_set.count * queues_set.count
        workloads = sum(item.count * len(item.workloads) for item in queues_set.workloads_sets)
        total += queues * max(workloads, 1)
    if total > MOST_WORKLOADS:
        message = f"the file stands for {total} objects"
        yield InputError(message, field="$.cohorts", expected=f"at most {MOST_WORKLOADS}")


class _Expansion:
    """One generator file on its way to manifests; `errors` says what is wrong with what it stands for."""

    def __init__(self, config: Config, file: str, line: int, index: int, gates: FeatureGates) -> None:
        self._config = config
        self._file = file
        self._line = line
        self._index = index
        self._gates = gates
        self.errors: list[InputError] = []

    def run(self) -> list[Manifest]:
        """All manifests in order."""
        flavor = self._config.resource_flavor or ResourceFlavorConfig()
        body = {
            "metadata": {"name": flavor.name, "labels": {CLEANUP_LABEL: "true"}},
            "spec": {"nodeLabels": {}},
        }
        manifests = [self._manifest("ResourceFlavor", body)]
        self._check(manifests[0], {"": "$.resourceFlavor.name"})
        workloads: list[tuple[int, Manifest]] = []
        for path, queues_set, cohort_set in _walk(self._config):
            set_index = int(path.rpartition("[")[2].rstrip("]"))
            names = [
                (f"{queues_set.class_name}-{set_index}-{queue}-{cohort_set.class_name}-{cohort}", cohort)
                for cohort in range(cohort_set.count)
                for queue in range(queues_set.count)
            ]
            # Objects of a set differ by the numbers in their names: the last, longest one speaks for all.
            if names and not self._check_set(names[-1][0], queues_set, cohort_set, flavor.name, path):
                continue
            for name, cohort in names:
                cohort_name = f"{cohort_set.class_name}-{cohort}"
                manifests += self._queue(name, cohort_name, flavor.name, queues_set)
                for set_number, workloads_set in enumerate(queues_set.workloads_sets):
                    workloads += self._workloads(name, set_number, workloads_set)
        # The sort is stable: Workloads of one instant stay in the order of the file.
        workloads.sort(key=_first)
        manifests += [manifest for _, manifest in workloads]
        return manifests

    def _check_set(
        self, name: str, queues_set: QueuesSet, cohort_set: CohortSet, flavor: str, path: str
    ) -> bool:
        """Whether the objects of a queue set are valid; says so in `errors` if they are not."""
        before = len(self.errors)
        cohort_name = f"{cohort_set.class_name}-{max(cohort_set.count - 1, 0)}"
        cluster_queue, _, local_queue = self._queue(name, cohort_name, flavor, queues_set)
        fields = {
            "nominalQuota": f"{path}.nominalQuota",
            "borrowingLimit": f"{path}.borrowingLimit",
            "reclaimWithinCohort": f"{path}.reclaimWithinCohort",
            "withinClusterQueue": f"{path}.withinClusterQueue",
            "cohort": f"{path.partition('.queuesSets')[0]}.className",
            "": f"{path}.className",
        }
        self._check(cluster_queue, fields)
        if len(self.errors) == before:
            self._check(local_queue, fields)
        for set_number, workloads_set in enumerate(queues_set.workloads_sets):
            once = msgspec.structs.replace(workloads_set, count=min(workloads_set.count, 1))
            for index, (_, manifest) in enumerate(self._workloads(name, set_number, once)):
                where = f"{path}.workloadsSets[{set_number}].workloads[{index}]"
                fields = {
                    "resources": f"{where}.request",
                    "metadata.name.": f"{where}.className",
                    "metadata.labels": f"{where}.className",
                }
                self._check(manifest, fields)
        return len(self.errors) == before

    def _check(self, manifest: Manifest, fields: Mapping[str, str]) -> None:
        """Notes what validation says about an object. `fields`: part of its path -> field of the file.

        What has no such field is left out: it comes from an object that was checked before.
        """
        for problem in validate(manifest.object, self._gates, manifest.api_version):
            written = next((field for part, field in fields.items() if part in f"{problem.path}."), None)
            if written is not None:
                kind = manifest.object.KIND
                self.errors.append(InputError(problem_words(problem), object=kind, field=written))

    def _manifest(self, kind: str, body: Mapping[str, Any], api_version: str = V1BETA2) -> Manifest:
        raw = msgspec.json.encode({"apiVersion": api_version, "kind": kind, **body})
        return Manifest(self._file, self._line, self._index, api_version, decode(raw), raw)

    def _queue(self, name: str, cohort: str, flavor: str, queues_set: QueuesSet) -> list[Manifest]:
        """ClusterQueue, Namespace and LocalQueue."""
        quota: dict[str, Any] = {"name": "cpu", "nominalQuota": str(queues_set.nominal_quota)}
        if queues_set.borrowing_limit != "":
            quota["borrowingLimit"] = str(queues_set.borrowing_limit)
        preemption = {
            "reclaimWithinCohort": queues_set.reclaim_within_cohort or NEVER,
            "withinClusterQueue": queues_set.within_cluster_queue or NEVER,
        }
        labels = {CLASS_LABEL: queues_set.class_name, CLEANUP_LABEL: "true"}
        flavors = [{"name": flavor, "resources": [quota]}]
        cluster_queue = {
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "cohortName": cohort,
                "namespaceSelector": {},
                "queueingStrategy": "BestEffortFIFO",
                "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
                "preemption": preemption,
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
            },
        }
        namespace = {"metadata": {"name": name, "labels": {CLEANUP_LABEL: "true"}}}
        local_queue = {"metadata": {"name": name, "namespace": name}, "spec": {"clusterQueue": name}}
        return [
            self._manifest("ClusterQueue", cluster_queue),
            self._manifest("Namespace", namespace, "v1"),
            self._manifest("LocalQueue", local_queue),
        ]

    def _workloads(
        self, queue: str, set_number: int, workloads_set: WorkloadsSet
    ) -> list[tuple[int, Manifest]]:
        """Creation time and manifest of each Workload of a workload set, in one ClusterQueue."""
        file, line, index = self._file, self._line, self._index
        interval_ns = workloads_set.creation_interval_ms * MILLISECOND
        texts = [_workload_text(queue, set_number, template) for template in workloads_set.workloads]
        made = []
        arrival_ns = 0
        for number in range(workloads_set.count):
            for place, (template, (head, tail)) in enumerate(
                zip(workloads_set.workloads, texts, strict=True)
            ):
                arrival_ns += interval_ns
                raw = f"{head}{number}-{place}{tail}".encode()
                facts = SimulationFacts(arrival_ns=arrival_ns, run_time_ns=template.runtime_ms * MILLISECOND)
                made.append((arrival_ns, Manifest(file, line, index, V1BETA2, decode(raw), raw, facts)))
        return made


def _first(pair: tuple[int, Manifest]) -> int:
    return pair[0]


def _workload_text(queue: str, set_number: int, template: WorkloadTemplate) -> tuple[str, str]:
    """JSON text of a Workload, before and after the numbers that end its name."""
    name = json.dumps(f"{template.class_name}-{set_number}-")[:-1]
    container = {"name": "c", "resources": {"requests": {"cpu": str(template.request)}}}
    metadata = {
        "namespace": queue,
        "labels": {RUNNING_TIME_LABEL: str(template.runtime_ms), CLASS_LABEL: template.class_name},
    }
    pod_set = {
        "name": "main",
        "count": 1,
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
    }
    spec = {"queueName": queue, "priority": template.priority, "podSets": [pod_set]}
    head = f'{{"apiVersion":"{V1BETA2}","kind":"Workload","metadata":{{"name":{name}'
    return head, f'",{json.dumps(metadata)[1:]},"spec":{json.dumps(spec)}}}'
