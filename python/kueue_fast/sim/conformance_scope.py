"""What of a corpus scenario is not built yet.

Only what the engine cannot refuse by itself, or only late: parts of the scenario's form, and objects whose
meaning other parts of the engine would have to know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

__all__ = ["unsupported_part"]

_CONFIG: Final = {
    "admissionFairSharing": "admission fair sharing",
}
_BUILT: Final = frozenset(("at", "create", "update", "delete", "finish", "maxCycles", "stopped", "failed"))
_SLICES: Final = ("kueue.x-k8s.io/elastic-job", "kueue.x-k8s.io/workload-slice-replacement-for")


def unsupported_part(scenario: Mapping[str, Any]) -> str | None:
    """The first part of `scenario` that cannot be replayed yet, in words, or None."""
    config = scenario.get("config") or {}
    for key, words in _CONFIG.items():
        # An empty section is one: it sets every default and so enables it.
        if config.get(key) not in (None, False, ""):
            return words
    for step in scenario["steps"]:
        for key in step.keys() - _BUILT:
            if step[key]:
                return f"{key!r} in a step"
    return next(filter(None, map(_object_part, _manifests(scenario))), None)


def _manifests(scenario: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from scenario.get("objects") or ()
    for step in scenario["steps"]:
        yield from step.get("update") or ()
        yield from step.get("create") or ()


def _object_part(manifest: Mapping[str, Any]) -> str | None:
    kind = manifest.get("kind")
    if kind != "Workload":
        return None
    annotations = (manifest.get("metadata") or {}).get("annotations") or {}
    if any(name in annotations for name in _SLICES):
        return "elastic jobs (workload slices)"
    return None
