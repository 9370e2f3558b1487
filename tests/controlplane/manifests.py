"""Kueue's CRDs, read from the folder of its Go module; nothing of them is kept here."""

from pathlib import Path
from typing import Any

import yaml

from tests.controlplane.build import manifests

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
KUEUE_CRDS = Path("config/components/crd/bases")


def kueue_crds() -> list[dict[str, Any]]:
    """CRDs that need no webhook: only v1beta2 is served, so that nothing has to be converted."""
    found = [
        document
        for path in sorted((manifests("kueue") / KUEUE_CRDS).glob("*.yaml"))
        for document in yaml.load_all(path.read_text(encoding="utf-8"), LOADER)
        if document
    ]
    for crd in found:
        crd["spec"]["conversion"] = {"strategy": "None"}
        for version in crd["spec"]["versions"]:
            version["served"] = version["name"] == "v1beta2"
    return found
