from typing_extensions import disjoint_base

from kueuecore._flavors import Flavors
from kueuecore._forest import Forest
from kueuecore._preempt import Preemptor
from kueuecore._workloads import Workloads

@disjoint_base
class Assigner:
    fungibility: bool
    partial_admission: bool
    ignore_undeclared: bool

    def __init__(self, preemptor: Preemptor) -> None: ...
    @property
    def forest(self) -> Forest: ...
    @property
    def flavors(self) -> Flavors: ...
    @property
    def workloads(self) -> Workloads: ...
    @property
    def preemptor(self) -> Preemptor: ...
