from typing_extensions import disjoint_base

from kueuecore._assigntopology import TopologyAssigner

@disjoint_base
class Nominator(TopologyAssigner):
    slices: bool
