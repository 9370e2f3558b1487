from typing_extensions import disjoint_base

from kueuecore._forest import Matrix, Vector
from kueuecore._journal import Journal
from kueuecore._treetable import TreeTable

@disjoint_base
class Topologies(TreeTable):
    pods_resource: int
    resource_rank: Vector
    generation: int
    pods_start: Vector
    pods_length: Vector
    item_resource: Vector
    item_amount: Vector

    def __init__(self) -> None: ...
    def write_bookings(self, workload: int, items: Matrix) -> None: ...
    def read_bookings(self, workload: int) -> Matrix: ...
    def check(self) -> None: ...
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
