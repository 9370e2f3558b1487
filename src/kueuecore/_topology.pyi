from collections.abc import Sequence
from typing import Any

from typing_extensions import disjoint_base

from kueuecore._forest import Matrix, Vector
from kueuecore._journal import Journal

@disjoint_base
class Topologies:
    pods_resource: int
    resource_rank: Vector
    generation: int
    pods_start: Vector
    pods_length: Vector
    item_resource: Vector
    item_amount: Vector
    match: Matrix
    score: Matrix

    def __init__(self) -> None: ...
    @property
    def tree_count(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def place_count(self) -> int: ...
    def reserve_width(self, resources: int) -> None: ...
    def add_places(self, count: int) -> int: ...
    def grow_match(self, filters: int, node_classes: int) -> None: ...
    def build(
        self,
        tree: int,
        rank: int,
        by_host: bool,
        level_keys: Sequence[int] | Vector,
        parents: Sequence[Any],
        places: Sequence[int] | Vector,
        node_classes: Sequence[int] | Vector,
        nodes: Sequence[int] | Vector,
        free: Matrix,
    ) -> None: ...
    def drop(self, tree: int) -> None: ...
    def set_rank(self, tree: int, rank: int) -> None: ...
    def write_leaf(
        self, tree: int, leaf: int, node_class: int, nodes: int, free_row: Sequence[int] | Vector
    ) -> None: ...
    def insert_leaf(
        self,
        tree: int,
        positions: Sequence[int] | Vector,
        new_from_level: int,
        place: int,
        node_class: int,
        nodes: int,
        free_row: Sequence[int] | Vector,
    ) -> None: ...
    def write_bookings(self, workload: int, items: Matrix) -> None: ...
    def read_bookings(self, workload: int) -> Matrix: ...
    def check(self) -> None: ...
    def leaf_used(self, tree: int, leaf: int, view: int = 0) -> Vector: ...
    def leaf_free(self, tree: int, leaf: int) -> Vector: ...
    def leaves_of(self, tree: int) -> tuple[int, int]: ...
    def nodes_of(self, tree: int, level: int) -> Vector: ...
    def fitting(
        self, tree: int, leaf: int, pods: int, view: int = 0, count_pods: bool = True
    ) -> tuple[int, int]: ...
    def change_leaf(
        self,
        tree: int,
        leaf: int,
        pods: int,
        count: int,
        journal: Journal,
        view: int = 0,
        shared: bool = False,
    ) -> None: ...
    def simulate(self, workload: int, journal: Journal, remove: bool = False) -> None: ...
    def undo_changes(self, journal: Journal, mark: int = 0) -> None: ...
    def book_workload(self, workload: int, remove: bool = False) -> None: ...
