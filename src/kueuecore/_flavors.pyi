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
    within_policy: Vector
    reclaim_policy: Vector
    borrows_within_cohort: Vector
    has_threshold: Vector
    threshold: Vector
    usage_based: Vector
    topology_only: Vector

    def __init__(self) -> None: ...
    def reserve(self, nodes: int, flavors: int, resources: int, eligibility_classes: int) -> None: ...
