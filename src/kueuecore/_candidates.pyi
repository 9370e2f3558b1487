from typing_extensions import disjoint_base

from kueuecore._flavors import Flavors
from kueuecore._forest import Forest
from kueuecore._held import Held
from kueuecore._workloads import Workloads

@disjoint_base
class Candidates:
    timestamp_buffer: bool
    now: int

    def __init__(self, forest: Forest, flavors: Flavors, workloads: Workloads, held: Held) -> None: ...
    @property
    def forest(self) -> Forest: ...
    @property
    def flavors(self) -> Flavors: ...
    @property
    def workloads(self) -> Workloads: ...
    @property
    def held(self) -> Held: ...
