"""Kueue's own manager, v0.17, on a control plane: as it is installed, but for addresses and certificates.

Webhooks and conversion are reached by URL on loopback. The manager runs as its own service account, so that what its
ClusterRole forbids is forbidden. The visibility API is off: this version serves it on all addresses.
"""

import copy
import os
import shutil
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

import yaml

from tests.controlplane.account import ACCOUNT, NAMESPACE, PREFIX, install_account
from tests.controlplane.build import manifests, program
from tests.controlplane.client import RequestError
from tests.controlplane.kubeconfig import base64_file
from tests.controlplane.kustomize import component, documents, placed
from tests.controlplane.plane import ControlPlane
from tests.controlplane.ports import HOST, free_ports

LEASE = "c1f6bfd2.kueue.x-k8s.io"
NAME = "kueue"
CONFIGURATION = Path("config/components/manager/controller_manager_config.yaml")
# Where the program looks for the certificate of its metrics, below /etc: a constant in it.
METRICS_CERTIFICATES = Path("kueue/metrics/certs")


class KueueManager:
    """One manager. `kubeconfig` is that of its service account, `configuration` the file it was started with last."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.folder = plane.folder / NAME
        self.folder.mkdir(exist_ok=True)
        self.kubeconfig = self.folder / "kubeconfig"
        self.configuration = self.folder / "config.yaml"
        self._program = program(NAME)
        self._hook_port, self._health_port, self.metrics_port = free_ports(3)

    def install(self, *, webhooks: bool = True) -> None:
        """Its kinds, rights, account and certificates; start it, and have its webhooks asked."""
        client = self.plane.client
        self._make_certificates()
        install_account(self.plane, self.kubeconfig)
        crds = self._manifests("crd")
        for crd in crds:
            client.install(crd)
        self.plane.wait_served(crds)
        self.start()
        if webhooks:
            for manifest in self._manifests("webhook"):
                client.install(manifest)

    def start(self, **overrides: Any) -> None:
        """Start it, and wait until its webhooks are served; whether it leads is another matter.

        `overrides` are fields of the Configuration that are replaced.
        """
        self.configuration.write_text(yaml.safe_dump({**self._settings(), **overrides}), encoding="utf-8")
        command = [
            str(self._program),
            f"--config={self.configuration}",
            f"--kubeconfig={self.kubeconfig}",
            "--zap-log-level=2",
        ]
        # Only this process sees the certificates in the place where it looks for them.
        own = ["unshare", *(["--mount"] if os.geteuid() == 0 else ["--map-root-user", "--mount"])]
        script = 'mount --bind "$1" /etc && shift && exec "$@"'
        etc = str(self.folder / "etc")
        self.plane.processes.start(NAME, [*own, "sh", "-c", script, "sh", etc, *command])
        self.plane.processes.wait(NAME, self._ready)

    def stop(self, *, kill: bool = False) -> None:
        """End it; with `kill` as a machine does that fails, so that it does not give its Lease back."""
        self.plane.processes.stop(NAME, kill=kill)

    @property
    def pid(self) -> int:
        return self.plane.processes.pid(NAME)

    @property
    def holder(self) -> str:
        """Who holds the Lease; "" for nobody."""
        try:
            lease = self.plane.client.get("coordination.k8s.io/v1", "Lease", LEASE, NAMESPACE)
        except RequestError as error:
            if error.status != 404:
                raise
            return ""
        return str(lease["spec"].get("holderIdentity") or "")

    def _settings(self) -> dict[str, Any]:
        """The Configuration that it is installed with, on loopback."""
        text = (manifests(NAME) / CONFIGURATION).read_text(encoding="utf-8")
        settings = copy.deepcopy(documents(text)[0])
        settings["health"] = {"healthProbeBindAddress": f"{HOST}:{self._health_port}"}
        settings["metrics"] = {"bindAddress": f"{HOST}:{self.metrics_port}"}
        settings["webhook"] = {"host": HOST, "port": self._hook_port, "certDir": str(self._certificates)}
        settings["leaderElection"]["resourceNamespace"] = NAMESPACE
        settings["internalCertManagement"] = {"enable": False}
        settings["featureGates"] = {"VisibilityOnDemand": False}
        return settings

    @property
    def _certificates(self) -> Path:
        return self.folder / "etc" / METRICS_CERTIFICATES

    def _make_certificates(self) -> None:
        self._certificates.mkdir(parents=True, exist_ok=True)
        pair = self.plane.issue("kueue-webhooks", f"{ACCOUNT}.{NAMESPACE}.svc")
        shutil.copy(pair.certificate, self._certificates / "tls.crt")
        shutil.copy(pair.key, self._certificates / "tls.key")

    def _manifests(self, folder: str) -> list[dict[str, Any]]:
        found = component(manifests(NAME) / "config" / "components" / folder)
        return [
            self._by_url(placed(each, NAMESPACE, PREFIX))
            for each in found
            # Webhooks are reached by URL.
            if each["kind"] != "Service"
        ]

    def _by_url(self, manifest: dict[str, Any]) -> dict[str, Any]:
        clients = [each["clientConfig"] for each in manifest.get("webhooks", ())]
        if manifest["kind"] == "CustomResourceDefinition":
            conversion = manifest["spec"].get("conversion", {})
            if conversion.get("strategy") == "Webhook":
                clients.append(conversion["webhook"]["clientConfig"])
        for client in clients:
            path = client.pop("service")["path"]
            client["url"] = f"https://{HOST}:{self._hook_port}{path}"
            client["caBundle"] = base64_file(self.plane.client.authority)
        return manifest

    def _ready(self) -> bool:
        # A proxy of the machine is not for loopback.
        opener = build_opener(ProxyHandler({}))
        with opener.open(f"http://{HOST}:{self._health_port}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)


def up_kueue(plane: ControlPlane) -> KueueManager:
    """Kueue's manager on a plane that has nothing of Kueue yet; returns once it serves its webhooks."""
    manager = KueueManager(plane)
    manager.install()
    return manager
