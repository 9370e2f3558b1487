from typing_extensions import disjoint_base

from kueuecore._candidates import Candidates
from kueuecore._flavors import Flavors
from kueuecore._forest import Forest
from kueuecore._held import Held
from kueuecore._journal import Journal
from kueuecore._placement import Placer
from kueuecore._share import Shares
from kueuecore._workloads import Workloads

@disjoint_base
class Preemptor:
    placer: Placer
    fair_sharing: bool

    def __init__(
        self, forest: Forest, flavors: Flavors, workloads: Workloads, held: Held, journal: Journal
    ) -> None: ...
    @property
    def forest(self) -> Forest: ...
    @property
    def flavors(self) -> Flavors: ...
    @property
    def workloads(self) -> Workloads: ...
    @property
    def candidates(self) -> Candidates: ...
    @property
    def shares(self) -> Shares: ...
    @property
    def journal(self) -> Journal: ...
