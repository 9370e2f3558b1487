"""What a simulation may be told besides its manifests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from kueue_fast.api.configuration import Configuration
from kueue_fast.engine import Engine
from kueue_fast.errors import InputError, Unsupported

__all__ = ["Progress", "SimulationOptions", "fair_sharing", "new_engine"]

# Called with the number of workloads that have ended, and of all.
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """Options of `simulate`.

    `until_ns` ends the run that many nanoseconds after its start (None: when nothing is left to happen). `events`
    records events, and so makes the words for every failed try; `history` keeps the use of quota over time.
    `progress` is called now and then.
    """

    until_ns: int | None = None
    configuration: Configuration | None = None
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    events: bool = False
    history: bool = False
    progress: Progress | None = None


def new_engine(options: SimulationOptions) -> Engine:
    """An engine that knows no object yet. Raises InputError."""
    try:
        return Engine(options.configuration, options.feature_gates, attempts=options.events)
    except Unsupported as error:
        raise InputError(str(error), object="Configuration") from error


def fair_sharing(options: SimulationOptions) -> bool:
    """Whether the configuration turns fair sharing on; an empty section does."""
    return options.configuration is not None and options.configuration.fair_sharing is not None
