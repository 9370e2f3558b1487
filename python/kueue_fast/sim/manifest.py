"""One manifest of a simulation's input, what its annotations say, and errors collected over all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from kueue_fast.api.configuration import parse_duration
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.errors import InputError
from kueue_fast.model.integers import parse_int32
from kueue_fast.model.validation import FieldError
from kueue_fast.sim.lifecycle_facts import (
    ACTIVE,
    ANSWERS,
    NO_LIFECYCLE,
    POD_LOSS,
    POD_SET_UPDATES,
    READY_AFTER,
    STOP_POLICY,
    LifecycleFacts,
    Moment,
    WrongValue,
    duration,
    moment,
    read_lifecycle,
)
from kueue_fast.sim.yaml_scalars import shortened

__all__ = [
    "ARRIVAL",
    "FAILS_AT",
    "FAILURE",
    "GRACE_PERIOD",
    "NO_FACTS",
    "RECOVERS_AT",
    "REPLICAS",
    "RESIZE",
    "RUN_TIME",
    "ErrorCollector",
    "Manifest",
    "ManifestErrors",
    "Moment",
    "Resize",
    "SimulationFacts",
    "bounded",
    "describe",
    "problem_words",
    "read_facts",
    "run_time_of",
]

PREFIX: Final = "sim.kueue-fast.dev/"
ARRIVAL: Final = PREFIX + "arrival"
"""When the object is created: a duration after the start of the simulation, or an RFC 3339 time."""
RUN_TIME: Final = PREFIX + "run-time"
"""How long the job runs from its start to its end."""
FAILURE: Final = PREFIX + "failure"
"""`true`: the job ends as failed."""
GRACE_PERIOD: Final = PREFIX + "grace-period"
"""How long its pods go on after it was told to stop."""
FAILS_AT: Final = PREFIX + "fails-at"
"""When a node is not ready any more: times as for the arrival, with commas between them."""
RECOVERS_AT: Final = PREFIX + "recovers-at"
"""When a node is ready again: times as for the arrival, with commas between them."""
RESIZE: Final = PREFIX + "resize"
"""When an elastic job gets another size: `10m=8, 30m=3`, times as for the arrival; with several worker groups
`10m=gpu:8`.
"""
REPLICAS: Final = PREFIX + "replicas"
"""When a kind that serves is scaled, and to what: `10m=4,30m=2`, times as for the arrival."""

_STOPPABLE: Final = (
    "Job",
    "Workload",
    "AppWrapper",
    "JAXJob",
    "JobSet",
    "MPIJob",
    "PaddleJob",
    "PyTorchJob",
    "RayCluster",
    "RayJob",
    "RayService",
    "SparkApplication",
    "TFJob",
    "TrainJob",
    "XGBoostJob",
    "Pod",
)
_SCALABLE: Final = ("Deployment", "LeaderWorkerSet", "StatefulSet")
_RAY: Final = ("RayCluster", "RayJob", "RayService")
_ENDLESS: Final = ("RayCluster", "RayService")
# Annotation -> the kinds on which it means something.
_KINDS: Final[dict[str, tuple[str, ...]]] = {
    RUN_TIME: (*_STOPPABLE, *_SCALABLE),
    GRACE_PERIOD: _STOPPABLE,
    FAILURE: tuple(kind for kind in _STOPPABLE if kind not in _ENDLESS),
    REPLICAS: _SCALABLE,
    FAILS_AT: ("Node",),
    RECOVERS_AT: ("Node",),
    RESIZE: ("Job", *_RAY),
}
# Those of the lifecycle, and on what.
_LIFECYCLE: Final[dict[str, tuple[str, ...]]] = {
    READY_AFTER: (*_STOPPABLE, *_SCALABLE),
    POD_LOSS: (*_STOPPABLE, *_SCALABLE),
    ACTIVE: (*_STOPPABLE, *_SCALABLE, "AdmissionCheck"),
    STOP_POLICY: ("ClusterQueue", "LocalQueue"),
    ANSWERS: (*_STOPPABLE, *_SCALABLE, "AdmissionCheck"),
    POD_SET_UPDATES: ("AdmissionCheck",),
}
_KINDS.update(_LIFECYCLE)
MOST_ERRORS: Final = 20


class Resize(NamedTuple):
    """From `moment` on a worker group has so many replicas; an empty name means the only group."""

    moment: Moment
    replicas: int
    group: str


@dataclass(frozen=True, slots=True)
class SimulationFacts:
    """What a manifest's annotations say about the simulation. Times are nanoseconds, None if not said.

    An arrival is either `arrival_ns` after the start or at `arrival_time_ns` since 1970. A node changes at `fails_at`
    and `recovers_at`; an elastic Job gets another parallelism at `resizes`, a Ray cluster other replicas at
    `workers_at`; what serves is scaled at `replicas_at`.
    """

    arrival_ns: int | None = None
    arrival_time_ns: int | None = None
    run_time_ns: int | None = None
    fails: bool = False
    grace_period_ns: int = 0
    fails_at: tuple[Moment, ...] = ()
    recovers_at: tuple[Moment, ...] = ()
    resizes: tuple[tuple[Moment, int], ...] = ()
    workers_at: tuple[Resize, ...] = ()
    replicas_at: tuple[tuple[Moment, int], ...] = ()
    lifecycle: LifecycleFacts = NO_LIFECYCLE


NO_FACTS: Final = SimulationFacts()


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object of the input in v1beta2 form, where it came from, and its facts.

    `document` counts the documents of the file from 0, `line` its lines from 1. `api_version` and
    `raw` (JSON text) are as written, before conversion and defaults.
    """

    file: str
    line: int
    document: int
    api_version: str
    object: KubernetesObject
    raw: bytes
    facts: SimulationFacts = NO_FACTS

    @property
    def place(self) -> str:
        """`file:line`."""
        return f"{self.file}:{self.line}"


def describe(obj: KubernetesObject) -> str:
    """`Kind namespace/name`, the way messages name an object."""
    namespace = obj.metadata.namespace if obj.NAMESPACED else None
    return f"{obj.KIND} {namespace}/{obj.metadata.name}" if namespace else f"{obj.KIND} {obj.metadata.name}"


def read_facts(kind: str, annotations: Mapping[str, str] | None) -> tuple[SimulationFacts, list[InputError]]:
    """The simulation's annotations of an object of this kind, and one error for each that is wrong."""
    named = {name: value for name, value in (annotations or {}).items() if name.startswith(PREFIX)}
    if not named:
        return NO_FACTS, []
    facts: dict[str, Any] = {}
    lifecycle: dict[str, Any] = {}
    errors = []
    for name, value in named.items():
        try:
            if name == ARRIVAL:
                facts.update(_arrival(value))
            elif name not in _KINDS:
                names = [ARRIVAL, *_KINDS]
                known = f"{', '.join(names[:-1])} or {names[-1]}"
                raise WrongValue("is not an annotation of the simulator", known)
            elif kind not in _KINDS[name]:
                raise WrongValue(f"has no meaning on a {kind}", "it on a " + " or a ".join(_KINDS[name]))
            elif name in _LIFECYCLE:
                lifecycle.update(read_lifecycle(name, value))
            elif name == RUN_TIME:
                facts["run_time_ns"] = duration(value)
            elif name in (FAILS_AT, RECOVERS_AT):
                field_name = "fails_at" if name == FAILS_AT else "recovers_at"
                facts[field_name] = tuple(moment(part.strip()) for part in value.split(","))
            elif name == RESIZE and kind in _RAY:
                facts["workers_at"] = tuple(_workers(part.strip()) for part in value.split(","))
            elif name == RESIZE:
                facts["resizes"] = tuple(_resize(part.strip()) for part in value.split(","))
            elif name == REPLICAS:
                facts["replicas_at"] = tuple(_step(part.strip()) for part in value.split(","))
            elif name == GRACE_PERIOD:
                facts["grace_period_ns"] = duration(value)
            elif value not in ("true", "false"):
                raise WrongValue(f"is {value!r}", '"true" or "false"')
            else:
                facts["fails"] = value == "true"
        except WrongValue as wrong:
            field_path = f'$.metadata.annotations["{name}"]'
            errors.append(InputError(wrong.message, field=field_path, expected=wrong.expected))
    if lifecycle:
        facts["lifecycle"] = LifecycleFacts(**lifecycle)
    return SimulationFacts(**facts), errors


def run_time_of(annotations: Mapping[str, str] | None) -> int | None:
    """The run time that annotations below the object's own say, in ns; None without one, or if it is no duration."""
    text = (annotations or {}).get(RUN_TIME)
    if text is None:
        return None
    try:
        return max(parse_duration(text), 0)
    except ValueError:
        return None


def _resize(text: str) -> tuple[Moment, int]:
    time, sign, count = text.rpartition("=")
    pods = parse_int32(count.strip())
    if not sign or pods is None or pods < 0:
        raise WrongValue(
            f"is {text[:60]!r}", "a time and a parallelism, such as 10m=8, with commas between several"
        )
    return moment(time.strip()), pods


def _workers(text: str) -> Resize:
    time, sign, size = text.rpartition("=")
    group, _, number = size.rpartition(":")
    count = parse_int32(number.strip())
    if not sign or count is None or count < 0:
        raise WrongValue(
            f"is {text[:60]!r}",
            "a time and replicas such as 10m=8 or, with the name of a worker group, 10m=gpu:8; commas between several",
        )
    return Resize(moment(time.strip()), count, group.strip())


def _arrival(text: str) -> dict[str, int]:
    when = moment(text)
    return {"arrival_time_ns" if when.absolute else "arrival_ns": when.ns}


def _step(text: str) -> tuple[Moment, int]:
    when, separator, count = text.rpartition("=")
    if not separator or not count.isascii() or not count.isdigit() or len(count) > 6:
        raise WrongValue(
            f"is {text[:60]!r}", "a time and a number of replicas such as 10m=4, with commas between them"
        )
    return moment(when), int(count)


def problem_words(problem: FieldError) -> str:
    """What validation found at a field, in the API server's words, with the value cut to a readable length."""
    value = problem.value
    written = "" if value is None else f": {shortened(json.dumps(value, ensure_ascii=False, default=str))}"
    return f"{problem.type}{written}" + (f": {problem.message}" if problem.message else "")


def bounded(error: InputError) -> InputError:
    """The error with nothing in it that is as long as the input."""
    return InputError(
        shortened(error.message, 500),
        file=error.file,
        object=error.object and shortened(error.object, 150),
        field=error.field and shortened(error.field, 250),
        expected=error.expected,
    )


class ManifestErrors(InputError):
    """Everything that is wrong with an input: the first errors in the order of the input, and a count."""

    def __init__(self, errors: tuple[InputError, ...], omitted: int) -> None:
        super().__init__("\n".join(str(error) for error in errors))
        self.errors = errors
        self.omitted = omitted

    def __str__(self) -> str:
        return f"{self.message}\nand {self.omitted} more" if self.omitted else self.message


@dataclass(slots=True)
class ErrorCollector:
    """Gathers errors, so that one run tells all of them; past the limit they are only counted."""

    limit: int = MOST_ERRORS
    errors: list[InputError] = field(default_factory=list)
    omitted: int = 0

    @property
    def full(self) -> bool:
        """Whether a further error is only counted, so that finding its line is in vain."""
        return len(self.errors) >= self.limit

    def add(self, error: InputError) -> None:
        """Keep the error, or count it."""
        if self.full:
            self.omitted += 1
        else:
            self.errors.append(error)

    def raise_if_any(self) -> None:
        """Raises ManifestErrors if anything was added."""
        if self.errors:
            raise ManifestErrors(tuple(self.errors), self.omitted)
