from typing_extensions import disjoint_base

from kueuecore._forest import Forest
from kueuecore._heaps import ChildHeaps
from kueuecore._journal import Journal
from kueuecore._share import Shares
from kueuecore._workloads import Workloads

@disjoint_base
class Tournament(ChildHeaps):
    preemptors_first: bool
    non_borrowing_first: bool
    by_priority: bool

    def __init__(self, forest: Forest, workloads: Workloads, shares: Shares, journal: Journal) -> None: ...
    @property
    def workloads(self) -> Workloads: ...
    @property
    def shares(self) -> Shares: ...
    @property
    def journal(self) -> Journal: ...
