"""A control plane on loopback: etcd and kube-apiserver, then as wanted what makes pods run."""

import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

from tests.controlplane import commands
from tests.controlplane.build import program
from tests.controlplane.certificates import Authority, Pair, write_signing_key
from tests.controlplane.client import Client, RequestError
from tests.controlplane.dashboards import Dashboards
from tests.controlplane.kubeconfig import certificate_user, write_kubeconfig
from tests.controlplane.manifests import kueue_crds, operator_crds
from tests.controlplane.ports import HOST, free_ports, listening
from tests.controlplane.processes import Processes

STAGES = Path(__file__).resolve().parent / "stages.yaml"
USERS = {
    "controller-manager": ("system:kube-controller-manager", None),
    "scheduler": ("system:kube-scheduler", None),
    "kwok": ("kwok", "system:masters"),
}
OPERATOR = ("operator", "system:masters")


class ControlPlane:
    """One control plane, in a folder of its own.

    `client` is an administrator's, `kubeconfig` an administrator's file. Raises ControlPlaneError where a
    program cannot be built or does not come up.
    """

    client: Client
    # Those of Ray clusters, once there is KubeRay.
    dashboards: Dashboards | None = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.processes = Processes(folder)
        self.kubeconfig = folder / "kubeconfig"
        self._pki = folder / "pki"
        self._commands: dict[str, list[str]] = {}
        self._environments: dict[str, Mapping[str, str]] = {}

    def up(self) -> None:
        """Start etcd and kube-apiserver on free ports, with new certificates and nothing stored."""
        programs = {name: program(name) for name in ("etcd", "kube-apiserver")}
        for old in (self.folder / "etcd", self._pki):
            shutil.rmtree(old, ignore_errors=True)
        self._pki.mkdir()
        etcd_port, peer_port, port = free_ports(3)
        self.server = f"https://{HOST}:{port}"
        self._make_credentials()
        self._commands["etcd"] = commands.etcd(programs["etcd"], self.folder / "etcd", etcd_port, peer_port)
        self._commands["kube-apiserver"] = commands.kube_apiserver(
            programs["kube-apiserver"], self._pki, port, etcd_port, self._serving, self._proxy
        )
        self._etcd_url = f"http://{HOST}:{etcd_port}/health"
        self.start("etcd")
        self.start("kube-apiserver")

    def start(self, name: str) -> None:
        """Start a program that is not running (again), and wait until it serves."""
        self.processes.start(name, self._commands[name], self._environments.get(name))
        match name:
            case "etcd":
                self.processes.wait(name, self._etcd_healthy)
            case "kube-apiserver":
                self.processes.wait(name, self.client.ready)
            case _:
                port = self._ports[name]
                self.processes.wait(name, lambda: listening(port))

    def install_kueue_crds(self) -> None:
        """Kueue's kinds, without its webhooks; returns once they are served."""
        crds = kueue_crds()
        for crd in crds:
            self.client.install(crd)
        self.wait_served(crds)

    def up_pods(self) -> None:
        """What makes Jobs, pods and nodes move: controller manager, scheduler, kwok."""
        names = {
            "controller-manager": "kube-controller-manager",
            "scheduler": "kube-scheduler",
            "kwok": "kwok",
        }
        programs = {name: program(binary) for name, binary in names.items()}
        self._ports = dict(zip(names, free_ports(len(names)), strict=True))
        files = {name: self.folder / f"{name}.kubeconfig" for name in names}
        for name, (common_name, organization) in USERS.items():
            pair = self._authority.issue(name, common_name, organization)
            write_kubeconfig(files[name], self.server, certificate_user(pair), self._pki / "ca.crt")
        self._commands["controller-manager"] = commands.kube_controller_manager(
            programs["controller-manager"],
            self._pki,
            files["controller-manager"],
            self._ports["controller-manager"],
        )
        self._commands["scheduler"] = commands.kube_scheduler(
            programs["scheduler"], files["scheduler"], self._ports["scheduler"]
        )
        self._commands["kwok"] = commands.kwok(programs["kwok"], files["kwok"], STAGES, self._ports["kwok"])
        for name in names:
            self.start(name)

    def install_operator_crds(self, component: str) -> None:
        """Kinds of an operator, without its webhooks and without itself."""
        crds = operator_crds(component)
        for crd in crds:
            self.client.install(crd)
        self.wait_served(crds)

    def up_kuberay(self) -> None:
        """KubeRay with its kinds, and `dashboards` that answer for those of all its clusters."""
        self.install_operator_crds("kuberay")
        path = self.folder / "kuberay.kubeconfig"
        pair = self._authority.issue("kuberay", *OPERATOR)
        write_kubeconfig(path, self.server, certificate_user(pair), self._pki / "ca.crt")
        metrics, health = free_ports(2)
        self._ports["kuberay"] = health
        self._commands["kuberay"] = commands.kuberay(program("kuberay"), path, metrics, health)
        self.dashboards = Dashboards()
        # A cluster that is to shrink loses any pods: Ray's autoscaler, which would name them, does not run.
        self._environments["kuberay"] = {**self.dashboards.environment, "ENABLE_RANDOM_POD_DELETE": "true"}
        self.start("kuberay")

    def wait_served(self, crds: Sequence[Mapping[str, Any]]) -> None:
        """Return once these kinds are served, each in its storage version."""
        for crd in crds:
            spec = crd["spec"]
            stored = next(each["name"] for each in spec["versions"] if each["storage"])
            self._wait_served(f"{spec['group']}/{stored}", spec["names"]["kind"])

    def issue(self, name: str, common_name: str, organization: str | None = None) -> Pair:
        """A client certificate that the apiserver trusts."""
        return self._authority.issue(name, common_name, organization)

    def down(self, names: Sequence[str] = ()) -> None:
        """End these programs, or all of them."""
        if not names:
            self.processes.stop_all()
            if self.dashboards is not None:
                self.dashboards.close()
                self.dashboards = None
        for name in names:
            self.processes.stop(name)

    def _make_credentials(self) -> None:
        self._authority = Authority(self._pki, "ca")
        front = Authority(self._pki, "front-ca")
        self._serving = self._authority.issue(
            "apiserver", "kube-apiserver", dns=("kubernetes", "kubernetes.default", "kubernetes.default.svc")
        )
        self._proxy = front.issue("front-client", "front-proxy-client")
        write_signing_key(self._pki / "service-accounts.key")
        token = secrets.token_hex(16)
        tokens = self._pki / "tokens.csv"
        tokens.write_text(f'{token},admin,admin,"system:masters"\n')
        tokens.chmod(0o600)
        authority = self._pki / "ca.crt"
        write_kubeconfig(self.kubeconfig, self.server, {"token": token}, authority)
        self.client = Client(self.server, token, authority)

    def _etcd_healthy(self) -> bool:
        # A proxy of the machine is not for loopback.
        with build_opener(ProxyHandler({})).open(self._etcd_url, timeout=2) as answer:
            return bool(answer.status == 200)

    def _wait_served(self, api_version: str, kind: str) -> None:
        def served() -> bool:
            try:
                # Discovery knows a kind a moment later than its requests are answered, or earlier.
                self.client.request("GET", self.client.path(api_version, kind), limit="1")
            except (KeyError, RequestError):
                return False
            return True

        self.processes.wait("kube-apiserver", served)
