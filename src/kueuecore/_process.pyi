from typing_extensions import disjoint_base

from kueuecore._fairpreempt import FairPreemptor
from kueuecore._flavors import Flavors
from kueuecore._forest import Forest, Vector
from kueuecore._held import Held
from kueuecore._journal import Journal
from kueuecore._nominate import Nominator
from kueuecore._pending import Pending
from kueuecore._placement import Placer
from kueuecore._podtopology import PodTopology
from kueuecore._secondpass import SecondPass
from kueuecore._topology import Topologies
from kueuecore._tournament import Tournament
from kueuecore._victims import Victims
from kueuecore._workloads import Workloads

@disjoint_base
class Processor:
    queue_order: Vector
    preserve_scan_progress: bool
    sort_by_priority: bool
    preemptors_first: bool
    recompute_on_overlap: bool
    recompute_for_topology: bool
    preemption_gates: bool

    def __init__(self, forest: Forest, flavors: Flavors, workloads: Workloads, pending: Pending) -> None: ...
    @property
    def forest(self) -> Forest: ...
    @property
    def flavors(self) -> Flavors: ...
    @property
    def workloads(self) -> Workloads: ...
    @property
    def pending(self) -> Pending: ...
    @property
    def assigner(self) -> Nominator: ...
    @property
    def journal(self) -> Journal: ...
    @property
    def held(self) -> Held: ...
    @property
    def preemptor(self) -> FairPreemptor: ...
    @property
    def tournament(self) -> Tournament: ...
    @property
    def topologies(self) -> Topologies: ...
    @property
    def pod_topology(self) -> PodTopology: ...
    @property
    def placer(self) -> Placer: ...
    @property
    def second_pass(self) -> SecondPass: ...
    @property
    def victims(self) -> Victims: ...
    @property
    def cycle(self) -> int: ...
