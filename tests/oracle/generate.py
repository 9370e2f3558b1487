"""Seeded random scenarios, small and odd.

`python -m tests.oracle.generate FAMILY SEED COUNT [--preemption]` prints one a line.
The same family, seed and preemption give the same scenario, on every machine.
"""

import argparse
import json
from typing import Any, TypeAlias

from tests.oracle.generate_clusters import Builder
from tests.oracle.generate_contended import Contended

Json: TypeAlias = dict[str, Any]

# Few workloads, odd definitions; with preemption on demand.
ODD_FAMILIES = ("flavors", "requests", "cohort", "partial", "hierarchy")
# Full queues and always preemption; the last two with victims that take their time to stop.
CONTENDED_FAMILIES = ("preempt", "trees", "fair", "fairtrees", "stopping", "fairstopping")
FAMILIES = ODD_FAMILIES + CONTENDED_FAMILIES


def scenario(family: str, seed: int, *, preemption: bool = False) -> Json:
    """One scenario in the form of the corpus, without `expect`."""
    if family not in FAMILIES:
        raise ValueError(f"unknown family {family!r}, expected one of {', '.join(FAMILIES)}")
    if family in CONTENDED_FAMILIES:
        return Contended(family, seed).build(f"{family}-{seed:06d}")
    name = f"{family}-{'preemption-' if preemption else ''}{seed:06d}"
    return Builder(family, seed, preemption=preemption).build(name)


def main() -> None:
    parser = argparse.ArgumentParser(description="Print random scenarios, one JSON line each.")
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--preemption", action="store_true")
    arguments = parser.parse_args()
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        print(
            json.dumps(
                scenario(arguments.family, seed, preemption=arguments.preemption), separators=(",", ":")
            )
        )


if __name__ == "__main__":
    main()
