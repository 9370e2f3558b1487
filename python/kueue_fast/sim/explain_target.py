"""The object that `explain` is asked about, by the names that kubectl would take for its kind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final, NamedTuple

from kueue_fast.api.apps import Deployment, ReplicaSet, StatefulSet
from kueue_fast.api.appwrapper import AppWrapper
from kueue_fast.api.batch import Job
from kueue_fast.api.core import Pod
from kueue_fast.api.kueue import Workload
from kueue_fast.api.leaderworkerset import LeaderWorkerSet
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.api.spark import SparkApplication
from kueue_fast.errors import InputError
from kueue_fast.sim.kinds import PLAYED
from kueue_fast.sim.yaml_scalars import shortened

__all__ = ["EXPLAINED", "POD_GROUP", "Target", "near", "read_target"]

POD_GROUP: Final = "PodGroup"
"""Pods of one group: no object of a cluster, but what one Workload is for."""
EXPLAINED: Final[tuple[type[KubernetesObject], ...]] = (
    Workload,
    Job,
    Pod,
    Deployment,
    StatefulSet,
    LeaderWorkerSet,
    ReplicaSet,
    *PLAYED,
)
"""Kinds of objects that a Workload may be for, or that belong to one which has it."""
MOST_NAMES: Final = 5
FORMER: Final = ("wl", "wls")
_SHORT: Final[dict[str, tuple[str, ...]]] = {
    Workload.KIND: ("kwl", "kueueworkload", "kueueworkloads", *FORMER),
    Pod.KIND: ("po",),
    Deployment.KIND: ("deploy",),
    StatefulSet.KIND: ("sts",),
    ReplicaSet.KIND: ("rs",),
    LeaderWorkerSet.KIND: ("lws",),
    AppWrapper.KIND: ("aw",),
    SparkApplication.KIND: ("sparkapp",),
}
_VERSION: Final = re.compile(r"v\d+((alpha|beta)\d+)?")
_EXAMPLES: Final = "such as Job/team-a/train or rayjob/team-a/tune"


class Target(NamedTuple):
    """An object to explain."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


def _group(kind: type[KubernetesObject]) -> str:
    return kind.API_VERSION.rpartition("/")[0]


def _names() -> dict[str, tuple[str, str]]:
    """(kind, group) by each name of a kind, in small letters."""
    found = {}
    for each in EXPLAINED:
        singular = each.KIND.lower()
        for name in (singular, f"{singular}s", *_SHORT.get(each.KIND, ())):
            found[name] = each.KIND, _group(each)
    for name in (POD_GROUP.lower(), f"{POD_GROUP.lower()}s"):
        found[name] = POD_GROUP, ""
    return found


_KINDS: Final = _names()


def read_target(text: str) -> Target:
    """The object that `KIND/NAMESPACE/NAME` names.

    The kind may be a plural or a short name, in any case, with its group or with version and group behind it
    (`rayjobs.ray.io`, `rayjobs.v1.ray.io`), or with the apiVersion before it (`ray.io/v1/RayJob`); which version does
    not matter. Raises InputError for anything else.
    """
    parts = text.split("/")
    group = None
    if len(parts) > 3 and _VERSION.fullmatch(parts[-4]):
        group = "/".join(parts[:-4])
        parts = parts[-3:]
    if len(parts) != 3 or not all(parts):
        raise InputError(
            f"{shortened(repr(text))} names no object", expected=f"KIND/NAMESPACE/NAME, {_EXAMPLES}"
        )
    written, namespace, name = parts
    return Target(_kind(written, group), namespace, name)


def _kind(written: str, group: str | None) -> str:
    name, dot, behind = written.lower().partition(".")
    if dot and group is None:
        version, _, rest = behind.partition(".")
        group = rest if _VERSION.fullmatch(version) else behind
    found = _KINDS.get(name)
    if found is not None and group in (None, found[1]):
        return found[0]
    expected = f"one of {', '.join(sorted({kind for kind, _ in _KINDS.values()}))}"
    if found is not None:
        expected = f"{found[0]} of the group {found[1] or 'that has no name'}"
    else:
        close = get_close_matches(name, _KINDS, n=1, cutoff=0.75)
        if close:
            expected = _KINDS[close[0]][0]
    raise InputError(f"the kind {shortened(repr(written))} cannot be explained", expected=expected)


def near(known: Iterable[Target], target: Target) -> str:
    """Names that are like one that is unknown: first the same name elsewhere, then similar ones."""
    ordered = sorted(set(known))
    if not ordered:
        return "a job, pod or Workload, of which there is none"
    same = [str(each) for each in ordered if each.name == target.name]
    names = [str(each) for each in ordered]
    close = get_close_matches(str(target), names, n=MOST_NAMES, cutoff=0.6)
    found = list(dict.fromkeys([*same, *close]))[:MOST_NAMES]
    if not found:
        found = names[:MOST_NAMES]
        return "one of " + ", ".join(found) + (", ..." if len(names) > MOST_NAMES else "")
    return " or ".join(found)
