from typing_extensions import disjoint_base

from kueuecore._flavors import Flavors
from kueuecore._forest import Forest
from kueuecore._journal import Journal
from kueuecore._workloads import Workloads

@disjoint_base
class Usage:
    def __init__(self, forest: Forest, flavors: Flavors, workloads: Workloads, journal: Journal) -> None: ...
