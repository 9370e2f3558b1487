"""What the control plane is made of: one Go module a component, each in a folder here with its go.mod."""

from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Component:
    """A Go module of tools.

    `programs` maps a program's name to the package that builds it. `manifests` is the module whose folder
    holds CRDs and other manifests. `stamp` are linker settings: (variable, value).
    """

    name: str
    programs: dict[str, str]
    manifests: str = ""
    stamp: tuple[tuple[str, str], ...] = ()
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", HERE / self.name)


_VERSION = "k8s.io/component-base/version"

COMPONENTS = {
    component.name: component
    for component in (
        Component("etcd", {"etcd": "go.etcd.io/etcd/server/v3"}),
        Component(
            "kubernetes",
            {
                name: f"k8s.io/kubernetes/cmd/{name}"
                for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
            },
            # Unstamped programs say that they are version 0.0.0, which some clients refuse.
            stamp=(
                (f"{_VERSION}.gitVersion", "v1.36.3"),
                (f"{_VERSION}.gitMajor", "1"),
                (f"{_VERSION}.gitMinor", "36"),
            ),
        ),
        Component("kwok", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}),
        Component(
            "kuberay",
            {"kuberay": "github.com/ray-project/kuberay/ray-operator"},
            manifests="github.com/ray-project/kuberay/ray-operator",
        ),
        Component("lws", {"lws": "sigs.k8s.io/lws/cmd"}, manifests="sigs.k8s.io/lws"),
        Component("kueue", {"kueue": "sigs.k8s.io/kueue/cmd/kueue"}, manifests="sigs.k8s.io/kueue"),
    )
}

PROGRAMS = {program: component for component in COMPONENTS.values() for program in component.programs}
