from collections.abc import Sequence

from typing_extensions import disjoint_base

from kueuecore._forest import Matrix, Vector

@disjoint_base
class PodTopology:
    request: Vector
    pods: Vector
    pod_filter: Vector
    kind: Vector
    unconstrained: Vector
    level_key: Vector
    layers: Vector
    layer_key: Matrix
    layer_size: Matrix
    support: Vector
    filter_row: Matrix
    has_topology: Vector
    delay: Matrix

    def __init__(self) -> None: ...
    @property
    def requests(self) -> int: ...
    def reserve(self, pod_sets: int = 0, nodes: int = 0, flavors: int = 0, pod_filters: int = 0) -> None: ...
    def add_request(
        self, kind: int, unconstrained: bool, level_key: int, layers: Sequence[tuple[int, int]]
    ) -> int: ...
    def write_pod_set(self, row: int, request: int, pods: int, pod_filter: int) -> None: ...
