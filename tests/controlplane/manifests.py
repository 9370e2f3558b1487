"""CRDs, read from the folders of Go modules; nothing of them is kept here."""

import os
from pathlib import Path
from typing import Any

from tests.controlplane.build import manifests
from tests.controlplane.kustomize import documents

KUEUE_CRDS = Path("config/components/crd/bases")
OPERATOR_CRDS = Path("config/crd/bases")


def kueue_crds() -> list[dict[str, Any]]:
    """CRDs that need no webhook: only v1beta2 is served, so that nothing has to be converted.

    Those of the folder that KUEUE_FAST_KUEUE_CRDS names, for another version of Kueue than that of the manager.
    """
    named = os.environ.get("KUEUE_FAST_KUEUE_CRDS")
    found = _documents(Path(named) if named else manifests("kueue") / KUEUE_CRDS)
    for crd in found:
        crd["spec"]["conversion"] = {"strategy": "None"}
        for version in crd["spec"]["versions"]:
            version["served"] = version["name"] == "v1beta2"
    return found


def operator_crds(component: str) -> list[dict[str, Any]]:
    """CRDs of an operator, without webhooks."""
    found = _documents(manifests(component) / OPERATOR_CRDS)
    for crd in found:
        crd["spec"]["conversion"] = {"strategy": "None"}
    return found


def _documents(folder: Path) -> list[dict[str, Any]]:
    return [
        document
        for path in sorted(folder.glob("*.yaml"))
        for document in documents(path.read_text(encoding="utf-8"))
    ]
