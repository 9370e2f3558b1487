from typing_extensions import disjoint_base

from kueuecore._assign import Assigner
from kueuecore._placement import Placer
from kueuecore._podtopology import PodTopology
from kueuecore._preempt import Preemptor
from kueuecore._secondpass import SecondPass
from kueuecore._topology import Topologies

@disjoint_base
class TopologyAssigner(Assigner):
    placing: bool
    elastic_topology: bool

    def __init__(self, preemptor: Preemptor, placer: Placer, pod_topology: PodTopology) -> None: ...
    @property
    def placer(self) -> Placer: ...
    @property
    def topologies(self) -> Topologies: ...
    @property
    def pod_topology(self) -> PodTopology: ...
    @property
    def again(self) -> SecondPass: ...
