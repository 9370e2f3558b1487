from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import disjoint_base

from kueuecore._counts import CountCache
from kueuecore._journal import Journal
from kueuecore._placed import PlacementResult
from kueuecore._topology import Topologies

@disjoint_base
class Placer(PlacementResult):
    mixed_profile: bool
    balanced: bool
    overlapping: bool
    prefers_affinity: bool

    def __init__(self, topologies: Topologies, journal: Journal) -> None: ...
    @property
    def journal(self) -> Journal: ...
    @property
    def cache(self) -> CountCache: ...
    def place_python(
        self, requests: Sequence[Mapping[str, Any]], view: int = 0
    ) -> tuple[list[list[tuple[int, int]] | None], dict[str, Any] | None]: ...
    def can_place_python(self, requests: Sequence[Mapping[str, Any]], view: int = 0) -> bool: ...
    def forget(self) -> None: ...
