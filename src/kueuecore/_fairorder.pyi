from typing_extensions import disjoint_base

from kueuecore._candidates import Candidates
from kueuecore._heaps import ChildHeaps
from kueuecore._share import Shares

@disjoint_base
class FairOrder(ChildHeaps):
    def __init__(self, candidates: Candidates, shares: Shares) -> None: ...
    @property
    def candidates(self) -> Candidates: ...
    @property
    def shares(self) -> Shares: ...
