"""The operator of LeaderWorkerSets on a control plane, with its webhooks by URL on loopback."""

import shutil
from pathlib import Path
from typing import Any

import yaml

from tests.controlplane.build import manifests, program
from tests.controlplane.kubeconfig import base64_file, certificate_user, write_kubeconfig
from tests.controlplane.kustomize import LOADER
from tests.controlplane.plane import OPERATOR, ControlPlane
from tests.controlplane.ports import HOST, free_ports, listening

WEBHOOKS = Path("config/webhook/manifests.yaml")
NAME = "lws"
SET_LABEL = "leaderworkerset.sigs.k8s.io/name"


def up_lws(plane: ControlPlane) -> None:
    """Start it; the kind has to be there. Only pods of LeaderWorkerSets go through its webhooks."""
    kubeconfig = plane.folder / f"{NAME}.kubeconfig"
    authority = plane.client.authority
    write_kubeconfig(kubeconfig, plane.server, certificate_user(plane.issue(NAME, *OPERATOR)), authority)
    serving = plane.issue(f"{NAME}-webhook", f"{NAME}-webhook")
    certificates = plane.folder / f"{NAME}-certificates"
    certificates.mkdir(exist_ok=True)
    shutil.copy(serving.certificate, certificates / "tls.crt")
    shutil.copy(serving.key, certificates / "tls.key")
    webhook, metrics, health = free_ports(3)
    configuration = {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "webhook": {"host": HOST, "port": webhook, "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "metrics": {"bindAddress": f"{HOST}:{metrics}"},
        "health": {"healthProbeBindAddress": f"{HOST}:{health}"},
    }
    path = plane.folder / f"{NAME}.yaml"
    path.write_text(yaml.safe_dump(configuration), encoding="utf-8")
    plane.processes.start(NAME, [str(program(NAME)), f"--config={path}", f"--kubeconfig={kubeconfig}"])
    plane.processes.wait(NAME, lambda: listening(webhook))
    for document in _webhooks(webhook, base64_file(authority)):
        plane.client.apply(document)


def down_lws(plane: ControlPlane) -> None:
    """End it, with its webhooks: other tests play it themselves."""
    for document in _webhooks(0, ""):
        plane.client.delete(document)
    plane.down([NAME])


def _webhooks(port: int, authority: str) -> list[dict[str, Any]]:
    """As the operator's own installation has them."""
    text = (manifests(NAME) / WEBHOOKS).read_text(encoding="utf-8")
    found = [document for document in yaml.load_all(text, LOADER) if document]
    for document in found:
        document["metadata"]["name"] = f"{NAME}-{document['metadata']['name']}"
        for webhook in document["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": f"https://{HOST}:{port}{path}", "caBundle": authority}
            if any("pods" in rule["resources"] for rule in webhook["rules"]):
                webhook["objectSelector"] = {"matchExpressions": [{"key": SET_LABEL, "operator": "Exists"}]}
    return found
