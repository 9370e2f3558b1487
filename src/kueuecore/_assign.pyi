from typing_extensions import disjoint_base

from kueuecore._flavors import Flavors
from kueuecore._forest import Forest
from kueuecore._workloads import Workloads

@disjoint_base
class Assigner:
    fungibility: bool
    partial_admission: bool
    ignore_undeclared: bool

    def __init__(self, forest: Forest, flavors: Flavors, workloads: Workloads) -> None: ...
    @property
    def forest(self) -> Forest: ...
    @property
    def flavors(self) -> Flavors: ...
    @property
    def workloads(self) -> Workloads: ...
