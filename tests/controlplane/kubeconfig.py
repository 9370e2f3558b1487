"""Writes kubeconfig files, each with one cluster and one user."""

import base64
from pathlib import Path
from typing import Any

import yaml

from tests.controlplane.certificates import Pair


def write_kubeconfig(path: Path, server: str, user: dict[str, Any], authority: Path | None = None) -> Path:
    cluster: dict[str, Any] = {"server": server}
    if authority is not None:
        cluster["certificate-authority-data"] = base64_file(authority)
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}],
    }
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    path.chmod(0o600)
    return path


def certificate_user(pair: Pair) -> dict[str, str]:
    return {
        "client-certificate-data": base64_file(pair.certificate),
        "client-key-data": base64_file(pair.key),
    }


def base64_file(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
