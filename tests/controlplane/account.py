"""The account of Kueue's own manager, with its roles rendered from its module: what they forbid is forbidden."""

from pathlib import Path

from tests.controlplane.build import manifests
from tests.controlplane.kubeconfig import write_kubeconfig
from tests.controlplane.kustomize import component, placed
from tests.controlplane.plane import ControlPlane

NAMESPACE = "kueue-system"
PREFIX = "kueue-"
ACCOUNT = "kueue-controller-manager"
TOKEN_SECONDS = 7 * 24 * 3600
ROLES = Path("config/components/rbac")


def install_account(plane: ControlPlane, kubeconfig: Path) -> None:
    """Make namespace, account and roles, and write a kubeconfig with a token of the account."""
    plane.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for manifest in component(manifests("kueue") / ROLES):
        plane.client.apply(placed(manifest, NAMESPACE, PREFIX))
    token = plane.client.request(
        "POST",
        f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{ACCOUNT}/token",
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS},
        },
    )["status"]["token"]
    write_kubeconfig(kubeconfig, plane.server, {"token": token}, plane.client.authority)
