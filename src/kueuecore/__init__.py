"""The compiled kernel: Kueue's scheduling decisions on resident int64 arrays.

`Forest`, `Flavors`, `Workloads` and `Pending` hold the tables, `Scheduler` runs cycles on them. Names, objects and
words are the business of `kueue_fast`.
"""

from kueuecore._flavors import Flavors
from kueuecore._forest import Forest
from kueuecore._journal import Journal
from kueuecore._nominate import Nominator
from kueuecore._pending import Pending
from kueuecore._placement import Placer
from kueuecore._scheduler import Scheduler
from kueuecore._topology import Topologies
from kueuecore._workloads import Workloads

__all__ = [
    "Flavors",
    "Forest",
    "Journal",
    "Nominator",
    "Pending",
    "Placer",
    "Scheduler",
    "Topologies",
    "Workloads",
]
