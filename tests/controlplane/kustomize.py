"""Reads manifests as `kubectl kustomize` would, as far as the operators' folders need it: resources, patches, namespace
and name prefix.
"""

from pathlib import Path
from typing import Any

import yaml

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# The namespace that manifests name where the kustomization puts the real one.
PLACEHOLDER = "system"
# Kinds whose names are a part of what they declare.
KEEP_THEIR_NAMES = {"CustomResourceDefinition", "Namespace"}
NAMED_BY_REFERENCE = {"ClusterRole", "Role", "ServiceAccount"}


def component(folder: Path) -> list[dict[str, Any]]:
    """The resources of a folder with its kustomization.yaml, with patches applied."""
    kustomization = documents((folder / "kustomization.yaml").read_text(encoding="utf-8"))[0]
    found = [
        each
        for name in kustomization["resources"]
        for each in documents((folder / name).read_text(encoding="utf-8"))
    ]
    for patch in kustomization.get("patches", ()):
        text = patch["patch"] if "patch" in patch else (folder / patch["path"]).read_text(encoding="utf-8")
        for change in documents(text):
            target = next(each for each in found if _identity(each) == _identity(change))
            _merge(target, change)
    return found


def documents(text: str) -> list[dict[str, Any]]:
    """The YAML documents of a text that are not empty."""
    return [each for each in yaml.load_all(text, LOADER) if each]


def placed(manifest: dict[str, Any], namespace: str, prefix: str) -> dict[str, Any]:
    """The manifest with the prefix of names, in the namespace, and what it refers to likewise."""
    metadata = manifest["metadata"]
    if manifest["kind"] not in KEEP_THEIR_NAMES:
        metadata["name"] = prefix + metadata["name"]
    if metadata.get("namespace") == PLACEHOLDER:
        metadata["namespace"] = namespace
    reference = manifest.get("roleRef")
    if reference is not None and reference["kind"] in NAMED_BY_REFERENCE:
        reference["name"] = prefix + reference["name"]
    for subject in manifest.get("subjects", ()):
        if subject["kind"] in NAMED_BY_REFERENCE:
            subject["name"] = prefix + subject["name"]
            subject["namespace"] = namespace
    return manifest


def _identity(manifest: dict[str, Any]) -> tuple[str, str]:
    return manifest["kind"], manifest["metadata"]["name"]


def _merge(old: dict[str, Any], new: dict[str, Any]) -> None:
    """A strategic merge: lists of named parts are merged by the names."""
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            _merge(before, value)
        elif _named(value) and _named(before):
            by_name = {each["name"]: each for each in before}
            for each in value:
                _merge(by_name[each["name"]], each)
        else:
            old[key] = value


def _named(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(e, dict) and "name" in e for e in value)
