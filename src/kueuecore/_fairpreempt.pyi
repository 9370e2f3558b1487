from typing_extensions import disjoint_base

from kueuecore._fairorder import FairOrder
from kueuecore._preempt import Preemptor

@disjoint_base
class FairPreemptor(Preemptor):
    final_share_first: bool
    initial_share_second: bool
    preempt_within_nominal: bool

    @property
    def order(self) -> FairOrder: ...
