from typing_extensions import disjoint_base

from kueuecore._topology import Topologies

@disjoint_base
class CountCache:
    most_bytes: int

    @property
    def topologies(self) -> Topologies: ...
    @property
    def length(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def recounted(self) -> int: ...
