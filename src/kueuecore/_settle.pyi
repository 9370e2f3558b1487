from typing_extensions import disjoint_base

from kueuecore._process import Processor

@disjoint_base
class Settler(Processor): ...
