from typing import ClassVar

from typing_extensions import disjoint_base

from kueuecore._forest import Matrix, Vector

@disjoint_base
class Flavors:
    PER_NODE: ClassVar[tuple[str, ...]]

    column: Matrix
    resource_rank: Vector
    pods_resource: int
    eligible: Matrix
    group_of: Matrix
    group_start: Vector
    group_length: Vector
    group_flavors: Vector

    next_when_borrowing: Vector
    next_when_preempting: Vector
    borrowing_first: Vector
    preempts_while_borrowing: Vector
    reclaims_any: Vector
    may_preempt: Vector

    def __init__(self) -> None: ...
    def reserve(self, nodes: int, flavors: int, resources: int, eligibility_classes: int) -> None: ...
