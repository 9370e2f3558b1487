from typing import ClassVar, Protocol, type_check_only

from typing_extensions import disjoint_base

from kueuecore._journal import Journal
from kueuecore._topology import Topologies

@type_check_only
class Vector(Protocol):
    """A table of one dimension: reads as a Cython memoryview, takes any array of the dtype that the .pxd says."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, row: int, /) -> int: ...
    def __setitem__(self, row: int, value: int, /) -> None: ...

@type_check_only
class FloatVector(Protocol):
    """A `Vector` of float64."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, row: int, /) -> float: ...
    def __setitem__(self, row: int, value: float, /) -> None: ...

@type_check_only
class Matrix(Protocol):
    """A table of two dimensions, as `Vector`."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, cell: tuple[int, int], /) -> int: ...
    def __setitem__(self, cell: tuple[int, int], value: int, /) -> None: ...

@disjoint_base
class Forest:
    VECTORS: ClassVar[tuple[str, ...]]
    MATRICES: ClassVar[tuple[str, ...]]

    @property
    def topologies(self) -> Topologies: ...

    parent: Vector
    is_queue: Vector
    in_snapshot: Vector
    frozen: Vector
    height: Vector
    generation: Vector
    weight: FloatVector
    first_child: Vector
    next_sibling: Vector

    column_resource: Vector
    lendable: Matrix

    nominal: Matrix
    borrow_limit: Matrix
    lend_limit: Matrix
    has_quota: Matrix
    has_borrow_limit: Matrix
    has_lend_limit: Matrix
    has_subtree: Matrix
    subtree: Matrix
    local: Matrix
    potential: Matrix
    usage: Matrix

    def __init__(self) -> None: ...
    @property
    def nodes(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def unlimited(self) -> int: ...
    def reserve(self, nodes: int, columns: int) -> None: ...
    def reserve_resources(self, resources: int) -> None: ...
    def clear_row(self, node: int) -> None: ...
    def recompute(self, order: Vector) -> None: ...
    def recompute_heights(self, order: Vector) -> None: ...
    def find_available(self, node: int, column: int) -> int: ...
    def find_lowest_subtree_that_fits(self, node: int, column: int, amount: int) -> tuple[int, bool]: ...
    def change_usage(
        self, node: int, column: int, amount: int, journal: Journal, remove: bool = False
    ) -> None: ...
    def undo(self, journal: Journal, mark: int = 0) -> None: ...
