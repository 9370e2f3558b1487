from typing_extensions import disjoint_base

from kueuecore._topology import Topologies

ERRORS: tuple[str, ...]

@disjoint_base
class PlacementResult:
    def __init__(self, topologies: Topologies, *args: object) -> None: ...
    @property
    def topologies(self) -> Topologies: ...
