"""What a placement is asked and what it answers.

Source: TP-204, TP-605, TP-606, TP-1001 to TP-1004.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

HOSTNAME = "kubernetes.io/hostname"

Values: TypeAlias = tuple[str, ...]
# Written domains with their pods: a leaf is written by its hostname alone in a hostname topology (TP-812).
Assignment: TypeAlias = list[tuple[Values, int]]
# What this workload already assumed, by written leaf and resource.
Assumed: TypeAlias = dict[Values, dict[str, int]]


@dataclass
class Leaf:
    """A domain of the lowest level; `free` is allocatable less what pods outside of TAS use (TP-509)."""

    values: Values
    free: dict[str, int]
    used: dict[str, int] = field(default_factory=dict)
    # [filter] why no pod that filters so may stand here: "nodeSelector", "affinity" or 'taint "key=value:Effect"'
    excluded: dict[int, str | None] = field(default_factory=dict)
    # [filter] sum of weights of the preferred affinity terms that match (TP-707)
    affinity: dict[int, int] = field(default_factory=dict)


@dataclass
class Flavor:
    name: str
    levels: Values
    by_host: bool
    leaves: list[Leaf]

    def written(self, values: Values) -> Values:
        return values[-1:] if self.by_host else values


@dataclass
class Request:
    """One pod set that needs a place."""

    flavor: str
    pod_set: str
    requests: dict[str, int]  # of one pod; `pods` is not in it
    count: int
    group: str | None = None
    filter: int | None = 0  # None: its selector or affinity cannot be read
    required: str | None = None
    preferred: str | None = None
    unconstrained: bool = False
    implied: bool = False
    slices: list[tuple[str, int | None]] = field(default_factory=list)  # layers, outermost first
    # The assignment to repair if `unhealthy` is set, else that of the workload slice it replaces (TP-1301).
    previous: Assignment | None = None
    unhealthy: str | None = None  # lowest value of the domain to give up
    keep: bool = False  # the stored assignment is the result (TP-1503)

    def level_key(self, levels: Values) -> str | None:
        """Source: TP-605."""
        if self.required is not None:
            return self.required
        if self.preferred is not None:
            return self.preferred
        if self.slices:
            return levels[0]
        return levels[-1] if self.unconstrained or self.implied else None

    @property
    def is_unconstrained(self) -> bool:
        """In the sense of profiles. Source: TP-606."""
        only_slices = bool(self.slices) and self.required is None and self.preferred is None
        return self.unconstrained or self.implied or only_slices


@dataclass(frozen=True)
class Gates:
    """Gates that a placement reads, with their default in Kueue v0.19."""

    mixed_profile: bool = True  # TASProfileMixed
    balanced: bool = False  # TASBalancedPlacement
    overlapping: bool = True  # TASHandleOverlappingFlavors
    prefers_affinity: bool = False  # TASRespectNodeAffinityPreferred
    elastic: bool = False  # ElasticJobsViaWorkloadSlicesWithTAS


@dataclass(frozen=True)
class Failure:
    """Why a pod set has no place; numbers mean something with the code NOT_ENOUGH_ROOM only."""

    pod_set: str
    code: str
    fitted: int = 0
    needed: int = 0
    in_slices: bool = False
    nodes: int = 0  # leaves of the flavor (TP-703)
    # how many leaves each exclusion took, by its text in the message: "nodeSelector", 'resource "cpu"' ...
    exclusions: dict[str, int] = field(default_factory=dict)
    # with several layers of slices: level, fitted and needed slices of each (TP-1002)
    layers: tuple[tuple[str, int, int], ...] = ()
    # keys, sizes or values that the message of the other codes names
    names: tuple[str, ...] = ()


class Unplaceable(Exception):
    """A placement ends without result; becomes a Failure once it is known whose."""

    def __init__(
        self,
        code: str,
        *names: object,
        fitted: int = 0,
        needed: int = 0,
        in_slices: bool = False,
        nodes: int = 0,
        exclusions: dict[str, int] | None = None,
        layers: tuple[tuple[str, int, int], ...] = (),
    ) -> None:
        super().__init__(code, *names)
        self.code = code
        self.names = tuple(str(name) for name in names)
        self.fitted = fitted
        self.needed = needed
        self.in_slices = in_slices
        self.nodes = nodes
        self.exclusions = exclusions or {}
        self.layers = layers

    def failure(self, request: Request) -> Failure:
        return Failure(
            pod_set=request.pod_set,
            code=self.code,
            fitted=self.fitted,
            needed=self.needed,
            in_slices=self.in_slices,
            nodes=self.nodes,
            exclusions=dict(self.exclusions),
            layers=self.layers,
            names=self.names,
        )


@dataclass
class Result:
    assignments: dict[str, Assignment] = field(default_factory=dict)
    failure: Failure | None = None
