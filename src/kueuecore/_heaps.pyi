from typing_extensions import disjoint_base

from kueuecore._forest import Forest

@disjoint_base
class ChildHeaps:
    def __init__(self, forest: Forest) -> None: ...
    @property
    def forest(self) -> Forest: ...
