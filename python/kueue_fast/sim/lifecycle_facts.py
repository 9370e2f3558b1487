"""What annotations say of pods that get ready late, of admission checks, and of what users switch off and stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec

from kueue_fast.api.configuration import parse_duration
from kueue_fast.api.kueue import PodSetUpdate
from kueue_fast.errors import InputError
from kueue_fast.model import times

__all__ = [
    "ACTIVE",
    "ANSWERS",
    "NO_LIFECYCLE",
    "POD_LOSS",
    "POD_SET_UPDATES",
    "READY_AFTER",
    "STOP_POLICY",
    "Answer",
    "LifecycleFacts",
    "Moment",
    "WrongValue",
    "read_lifecycle",
]

PREFIX: Final = "sim.kueue-fast.dev/"
READY_AFTER: Final = PREFIX + "ready-after"
"""How long after a start its pods are ready, or `never`; with commas for one start after the other."""
POD_LOSS: Final = PREFIX + "pod-loss"
"""`10m=2m`: ten minutes after they were ready a pod is lost, and is ready again two minutes later; or `never`."""
ACTIVE: Final = PREFIX + "active"
"""`10m=false,30m=true`: when a user switches the Workload off and on; of an AdmissionCheck, its condition Active."""
STOP_POLICY: Final = PREFIX + "stop-policy"
"""`10m=HoldAndDrain,30m=None`: when the stop policy of a queue changes."""
ANSWERS: Final = PREFIX + "answers"
"""`1m=Retry/5m; 30s=Ready,2h=Rejected`: what a check says how long after each reservation."""
POD_SET_UPDATES: Final = PREFIX + "pod-set-updates"
"""JSON: what a check that is ready adds to all pod sets."""

NEVER: Final = "never"
STATES: Final = ("Ready", "Retry", "Rejected", "Pending")
POLICIES: Final = ("None", "Hold", "HoldAndDrain")
SECOND: Final = 1_000_000_000
_DURATION: Final = "a duration such as 90s, 5m or 1h30m"


class Moment(NamedTuple):
    """A time in ns: after the start of the simulation, or since 1970."""

    ns: int
    absolute: bool

    def at(self, start_ns: int) -> int:
        """The time in ns since 1970 in a simulation that starts at `start_ns`."""
        return self.ns if self.absolute else start_ns + self.ns


class WrongValue(Exception):
    """An annotation's value that cannot be used, and what was expected."""

    def __init__(self, message: str, expected: str) -> None:
        super().__init__(message)
        self.message = message
        self.expected = expected


class Answer(NamedTuple):
    """What a check says, so many ns after the reservation; a retry may name its delay in seconds."""

    after_ns: int
    state: str
    requeue_after_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class LifecycleFacts:
    """Times are nanoseconds. `ready_after`: one entry a start, the last for all later ones, None for never.

    `pod_loss`: after how long, and for how long (None: for good). `answers`: one tuple a reservation, the last for all
    later ones.
    """

    ready_after: tuple[int | None, ...] = ()
    pod_loss: tuple[tuple[int, int | None], ...] = ()
    active: tuple[tuple[Moment, bool], ...] = ()
    stop_policy: tuple[tuple[Moment, str], ...] = ()
    answers: tuple[tuple[Answer, ...], ...] = ()
    pod_set_update: PodSetUpdate | None = None


NO_LIFECYCLE: Final = LifecycleFacts()


def read_lifecycle(name: str, value: str) -> dict[str, Any]:
    """The field that an annotation sets. Raises WrongValue."""
    match name:
        case _ if name == READY_AFTER:
            return {"ready_after": tuple(_duration_or_never(part) for part in _parts(value))}
        case _ if name == POD_LOSS:
            return {"pod_loss": tuple(_loss(part) for part in _parts(value))}
        case _ if name == ACTIVE:
            return {"active": tuple(_at(part, ("true", "false"), "10m=false") for part in _parts(value))}
        case _ if name == STOP_POLICY:
            return {"stop_policy": tuple(_at(part, POLICIES, "10m=Hold") for part in _parts(value))}
        case _ if name == ANSWERS:
            return {"answers": tuple(_answers(part) for part in value.split(";"))}
    return {"pod_set_update": _update(value)}


def moment(text: str) -> Moment:
    """A time: a duration after the start, or one with a date. Raises WrongValue."""
    # A time starts with its year, and no duration has a colon in it.
    if ":" in text:
        try:
            return Moment(times.parse(text), True)
        except (ValueError, InputError):
            raise WrongValue(f"is {text[:60]!r}", "a time such as 2026-01-01T00:05:00Z") from None
    return Moment(duration(text, _DURATION + " after the start, or a time (RFC 3339)"), False)


def duration(text: str, expected: str = _DURATION) -> int:
    """A duration in ns. Raises WrongValue."""
    try:
        found = parse_duration(text)
    except ValueError:
        raise WrongValue(f"is {text[:60]!r}", expected) from None
    if found < 0:
        raise WrongValue(f"is {text[:60]!r}", expected + ", not negative")
    return found


def _parts(value: str) -> list[str]:
    return [part.strip() for part in value.split(",")]


def _duration_or_never(text: str) -> int | None:
    return None if text == NEVER else duration(text, _DURATION + ", or never, with commas between several")


def _loss(text: str) -> tuple[int, int | None]:
    after, sign, length = text.partition("=")
    if not sign:
        raise WrongValue(f"is {text[:60]!r}", "two durations such as 10m=2m, or 10m=never")
    return duration(after.strip()), _duration_or_never(length.strip())


def _at(text: str, values: tuple[str, ...], example: str) -> tuple[Moment, Any]:
    when, sign, value = text.rpartition("=")
    value = value.strip()
    if not sign or value not in values:
        raise WrongValue(f"is {text[:60]!r}", f"a time and one of {', '.join(values)}, such as {example}")
    return moment(when.strip()), value if values is POLICIES else value == "true"


def _answers(text: str) -> tuple[Answer, ...]:
    found = tuple(_answer(part) for part in _parts(text))
    if sorted(found, key=lambda each: each.after_ns) != list(found):
        raise WrongValue(f"is {text[:60]!r}", "answers in the order of their times")
    return found


def _answer(text: str) -> Answer:
    after, sign, said = text.rpartition("=")
    state, slash, delay = said.strip().partition("/")
    if not sign or state not in STATES or (slash and state != "Retry"):
        expected = f"a duration and one of {', '.join(STATES)}, such as 2m=Ready or 1m=Retry/5m"
        raise WrongValue(f"is {text[:60]!r}", expected)
    seconds = duration(delay) // SECOND if slash else None
    return Answer(duration(after.strip()), state, seconds)


def _update(text: str) -> PodSetUpdate:
    expected = (
        'JSON such as {"nodeSelector": {"key": "value"}}: labels, annotations, nodeSelector, tolerations'
    )
    try:
        found = msgspec.json.decode(text)
        known = {"labels", "annotations", "nodeSelector", "tolerations"}
        if not isinstance(found, dict) or not known.issuperset(found):
            raise WrongValue(f"is {text[:60]!r}", expected)
        return msgspec.convert({**found, "name": "main"}, PodSetUpdate)
    except msgspec.MsgspecError:
        raise WrongValue(f"is {text[:60]!r}", expected) from None
