"""Stable words for what is generated: names of Workloads and pods, uids, times, durations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

__all__ = ["Names", "stable"]

Json = dict[str, Any]

UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d| \+0000 UTC)")
DURATION: Final = re.compile(r"\b(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?(?:ms|µs|s)\b")
# A Workload that came and went between two looks.
UNSEEN: Final = re.compile(
    r"\b((?:job|pod|leaderworkerset|rayjob|raycluster|rayservice)-[a-z0-9.-]+)-[0-9a-f]{5}(?![A-Za-z0-9-])"
)
RANDOM: Final = re.compile(r"[a-z0-9]{5,}")
HASH: Final = re.compile(r"-[0-9a-f]{5}$")
# Says nothing about what a manager decided, or follows from when it did.
DROPPED: Final = frozenset(
    [
        "uid",
        "resourceVersion",
        "generation",
        "managedFields",
        "creationTimestamp",
        "lastTransitionTime",
        "observedGeneration",
        "lastProbeTime",
        "startTime",
        "completionTime",
        "requeueAt",
        "timestamp",
        "controller-uid",
        "batch.kubernetes.io/controller-uid",
        "kueue.x-k8s.io/job-uid",
        "evictionTime",
        "accumulatedPastExecutionTimeSeconds",
        "terminating",
        "uncountedTerminatedPods",
    ]
)
# Owners before what is named after them.
RANKS: Final = {"RayCluster": 1, "Pod": 2, "Workload": 3}


class Names:
    """Kept for a whole scenario: an event may name what is long gone."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        self._prefixes: set[str] = set()
        self._count: dict[str, int] = {}
        self._seen: set[str] = set()

    def learn(self, objects: Iterable[Json]) -> None:
        """Give words to names that were not seen before, in the order in which the objects were made."""
        new = [each for each in objects if each["metadata"]["uid"] not in self._seen]
        for each in sorted(new, key=_made):
            metadata = each["metadata"]
            self._seen.add(metadata["uid"])
            prefix = metadata.get("generateName")
            if each["kind"] == "Workload":
                base = self.text(HASH.sub("", metadata["name"]))
                number = self._count[base] = self._count.get(base, 0) + 1
                self._words[metadata["name"]] = f"{base}-#{number}"
            elif each["kind"] == "RayCluster" and metadata.get("ownerReferences"):
                self._words[metadata["name"]] = metadata["ownerReferences"][0]["name"] + "-#"
            elif prefix and RANDOM.fullmatch(metadata["name"][len(prefix) :]):
                self._prefixes.add(prefix)
                self._words[metadata["name"]] = self.text(prefix) + "#"

    def text(self, text: str) -> str:
        """The text with words in the places of what was generated."""
        text = _alternatives(self._words, r"(?<![A-Za-z0-9])({})(?![A-Za-z0-9])").sub(
            lambda found: self._words[found[1]], text
        )
        text = _alternatives(self._prefixes, r"(?<![A-Za-z0-9])({})[a-z0-9]{{5}}(?![A-Za-z0-9-])").sub(
            lambda found: found[1] + "#", text
        )
        return TIME.sub("<time>", UID.sub("<uid>", UNSEEN.sub(r"\1-#", text)))


def stable(value: Any, names: Names, key: str = "") -> Any:
    """A value without what differs from run to run."""
    if isinstance(value, dict):
        return {
            names.text(name): stable(each, names, name)
            for name, each in sorted(value.items())
            if name not in DROPPED
        }
    if isinstance(value, list):
        return [stable(each, names, key) for each in value]
    if not isinstance(value, str):
        return value
    text = names.text(value)
    return DURATION.sub("<time>", text) if key in ("message", "note") else text


def _made(obj: Json) -> tuple[int, str, int]:
    metadata = obj["metadata"]
    return RANKS.get(obj["kind"], 0), metadata["creationTimestamp"], int(metadata["resourceVersion"])


def _alternatives(words: Iterable[str], pattern: str) -> re.Pattern[str]:
    found = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.compile(pattern.format(found) if found else r"(?!)()")
