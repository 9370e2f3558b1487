"""The command lines of the Kubernetes programs. Every address is on loopback."""

from pathlib import Path

from tests.controlplane.certificates import Pair
from tests.controlplane.ports import HOST

# What Kueue's jobs need around them; the rest only costs memory.
CONTROLLERS = (
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "pod-garbage-collector-controller",
    "job-controller",
    "replicaset-controller",
    "deployment-controller",
    "statefulset-controller",
    "node-lifecycle-controller",
    "taint-eviction-controller",
    "endpointslice-controller",
    "ttl-after-finished-controller",
    "disruption-controller",
    "clusterrole-aggregation-controller",
    "resourcequota-controller",
)


def etcd(program: Path, data: Path, client_port: int, peer_port: int) -> list[str]:
    clients, peers = f"http://{HOST}:{client_port}", f"http://{HOST}:{peer_port}"
    return [
        str(program),
        "--name=test",
        f"--data-dir={data}",
        # Nothing here has to survive the machine.
        "--unsafe-no-fsync",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=test={peers}",
        "--log-level=warn",
    ]


def kube_apiserver(
    program: Path,
    pki: Path,
    port: int,
    etcd_port: int,
    serving: Pair,
    proxy: Pair,
) -> list[str]:
    """`pki` holds ca.crt, front-ca.crt, tokens.csv and service-accounts.key."""
    return [
        str(program),
        f"--etcd-servers=http://{HOST}:{etcd_port}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",
        f"--secure-port={port}",
        f"--tls-cert-file={serving.certificate}",
        f"--tls-private-key-file={serving.key}",
        f"--client-ca-file={pki / 'ca.crt'}",
        f"--token-auth-file={pki / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki / 'service-accounts.key'}",
        f"--service-account-signing-key-file={pki / 'service-accounts.key'}",
        "--service-cluster-ip-range=10.96.0.0/16",
        # An endpoint may not have a loopback address: it would try for ever.
        "--endpoint-reconciler-type=none",
        "--allow-privileged=true",
        "--profiling=false",
        f"--requestheader-client-ca-file={pki / 'front-ca.crt'}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
        f"--proxy-client-cert-file={proxy.certificate}",
        f"--proxy-client-key-file={proxy.key}",
    ]


def kube_controller_manager(program: Path, pki: Path, kubeconfig: Path, port: int) -> list[str]:
    return [
        *_component(program, kubeconfig, port),
        "--controllers=" + ",".join(CONTROLLERS),
        f"--root-ca-file={pki / 'ca.crt'}",
        f"--service-account-private-key-file={pki / 'service-accounts.key'}",
        # With its own certificate alone it may not create pods, and no namespace ever goes away.
        "--use-service-account-credentials=true",
        "--kube-api-qps=300",
        "--kube-api-burst=600",
    ]


def kube_scheduler(program: Path, kubeconfig: Path, port: int) -> list[str]:
    return _component(program, kubeconfig, port)


def kwok(program: Path, kubeconfig: Path, stages: Path, port: int) -> list[str]:
    return [
        str(program),
        f"--kubeconfig={kubeconfig}",
        "--manage-all-nodes",
        f"--config={stages}",
        "--cidr=10.10.0.0/16",
        "--node-lease-duration-seconds=40",
        f"--server-address={HOST}:{port}",
    ]


def kuberay(program: Path, kubeconfig: Path, metrics_port: int, health_port: int) -> list[str]:
    return [
        str(program),
        f"--kubeconfig={kubeconfig}",
        "--enable-leader-election=false",
        f"--metrics-addr={HOST}:{metrics_port}",
        f"--health-probe-bind-address={HOST}:{health_port}",
        "--qps=200",
        "--burst=400",
    ]


def _component(program: Path, kubeconfig: Path, port: int) -> list[str]:
    return [
        str(program),
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        "--leader-elect=false",
        "--profiling=false",
    ]
