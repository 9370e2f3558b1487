from typing_extensions import disjoint_base

from kueuecore._forest import Forest

@disjoint_base
class Shares:
    def __init__(self, forest: Forest) -> None: ...
    @property
    def forest(self) -> Forest: ...
    def find(self, node: int) -> tuple[float, float, bool]: ...
