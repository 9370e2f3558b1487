from typing_extensions import disjoint_base

from kueuecore._flavors import Flavors
from kueuecore._workloads import Workloads

@disjoint_base
class Draft:
    keeps_attempts: bool

    @property
    def flavors(self) -> Flavors: ...
    @property
    def workloads(self) -> Workloads: ...
