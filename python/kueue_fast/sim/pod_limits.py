"""How many pods of one object a simulation makes: each is an object of the simulated cluster."""

from __future__ import annotations

from typing import Final

from kueue_fast.api.apps import Deployment, StatefulSet
from kueue_fast.api.leaderworkerset import LeaderWorkerSet
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.errors import InputError
from kueue_fast.jobs.leader_worker_set import size, spec_replicas
from kueue_fast.jobs.stateful_set import replicas
from kueue_fast.sim.manifest import REPLICAS, Manifest, describe

__all__ = ["MOST_PODS", "check_pods", "too_many_pods"]

MOST_PODS: Final = 100_000
_EXPECTED: Final = f"at most {MOST_PODS}: each is an object of the simulated cluster"


def too_many_pods(manifest: Manifest) -> list[InputError]:
    """A kind whose pods are there from the beginning, admitted or not, and that asks for more than can be made."""
    obj = manifest.object
    match obj:
        case LeaderWorkerSet():
            count, each = spec_replicas(obj), size(obj)
        case StatefulSet():
            count, each = replicas(obj), 1
        case Deployment():
            count, each = 1 if obj.spec.replicas is None else obj.spec.replicas, 1
        case _:
            return []
    sizes = {"$.spec.replicas": count}
    sizes[f'$.metadata.annotations["{REPLICAS}"]'] = max(
        (after for _, after in manifest.facts.replicas_at), default=0
    )
    return [
        InputError(f"asks for {number * each} pods", field=field, expected=_EXPECTED)
        for field, number in sizes.items()
        if number * each > MOST_PODS
    ]


def check_pods(owner: KubernetesObject, pods: int) -> None:
    """Raises InputError for a job that was admitted with more pods than can be made."""
    if pods > MOST_PODS:
        raise InputError(f"starts with {pods} pods", object=describe(owner), expected=_EXPECTED)
