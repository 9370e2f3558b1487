from typing_extensions import disjoint_base

from kueuecore._draft import Draft
from kueuecore._forest import Forest
from kueuecore._preempt import Preemptor

@disjoint_base
class Assigner(Draft):
    fungibility: bool
    partial_admission: bool
    ignore_undeclared: bool

    def __init__(self, preemptor: Preemptor) -> None: ...
    @property
    def forest(self) -> Forest: ...
    @property
    def preemptor(self) -> Preemptor: ...
