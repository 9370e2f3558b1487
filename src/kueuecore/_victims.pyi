from typing_extensions import disjoint_base

from kueuecore._forest import Forest
from kueuecore._usage import Usage
from kueuecore._workloads import Workloads

@disjoint_base
class Victims:
    def __init__(self, forest: Forest, workloads: Workloads, usage: Usage) -> None: ...
