from typing_extensions import disjoint_base

from kueuecore._assign import Assigner

@disjoint_base
class Nominator(Assigner): ...
