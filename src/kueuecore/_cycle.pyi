from typing_extensions import disjoint_base

from kueuecore._fairpreempt import FairPreemptor
from kueuecore._flavors import Flavors
from kueuecore._forest import Forest, Vector
from kueuecore._held import Held
from kueuecore._journal import Journal
from kueuecore._nominate import Nominator
from kueuecore._pending import Pending
from kueuecore._tournament import Tournament
from kueuecore._victims import Victims
from kueuecore._workloads import Workloads

@disjoint_base
class CycleRunner:
    queue_order: Vector
    preserve_scan_progress: bool
    sort_by_priority: bool
    preemptors_first: bool
    recompute_on_overlap: bool
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
    def victims(self) -> Victims: ...
    @property
    def cycle(self) -> int: ...
    def run(self, now: int) -> int: ...
