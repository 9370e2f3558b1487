"""Builds the programs of the control plane with Go into a cache folder, once for each go.mod.

Where KUBEBUILDER_ASSETS names a folder (as for envtest), etcd and kube-apiserver are taken from there. The cache is
.cache/controlplane of the checkout, or what KUEUE_FAST_CONTROLPLANE names.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.controlplane.components import COMPONENTS, PROGRAMS, Component
from tests.controlplane.errors import ControlPlaneError
from tools.find_go import GoMissingError, find_go

ROOT = Path(__file__).resolve().parents[2]
FROM_ASSETS = ("etcd", "kube-apiserver")


def program(name: str) -> Path:
    """The program, built if this go.mod was never built before; the first time takes minutes.

    Raises ControlPlaneError with what Go said.
    """
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and name in FROM_ASSETS:
        path = Path(assets) / name
        if not os.access(path, os.X_OK):
            raise ControlPlaneError(f"KUBEBUILDER_ASSETS={assets}: no program {name} in it")
        return path
    component = PROGRAMS[name]
    path = cache_folder(component) / name
    if not path.exists():
        build(component, name)
    return path


def cache_folder(component: Component) -> Path:
    """Where the component's programs are kept: a folder named by the hash of its go.mod."""
    root = Path(os.environ.get("KUEUE_FAST_CONTROLPLANE") or ROOT / ".cache" / "controlplane")
    digest = hashlib.sha256((component.folder / "go.mod").read_bytes())
    digest.update(repr(component.stamp).encode())
    return root / f"{component.name}-{digest.hexdigest()[:12]}"


def build(component: Component, name: str) -> None:
    """Build one program of a component. It is in its place whole or not at all."""
    folder = cache_folder(component)
    folder.mkdir(parents=True, exist_ok=True)
    flags = " ".join(f"-X {variable}={value}" for variable, value in component.stamp)
    with _alone(folder):
        if (folder / name).exists():
            return
        print(f"building {name} (once; up to a few minutes) ...", file=sys.stderr, flush=True)
        unfinished = folder / f"{name}.part"
        # -s -w: half the size; nobody debugs these programs here.
        package = component.programs[name]
        _go(component, "build", "-ldflags", f"-s -w {flags}", "-o", str(unfinished), package)
        unfinished.replace(folder / name)


def manifests(component_name: str) -> Path:
    """The folder of the Go module whose manifests the component uses; fetched if it is not there.

    Raises ControlPlaneError with what Go said.
    """
    component = COMPONENTS[component_name]
    _go(component, "mod", "download", component.manifests)
    return Path(_go(component, "list", "-m", "-f", "{{.Dir}}", component.manifests).strip())


def _go(component: Component, *arguments: str) -> str:
    try:
        command, environment = find_go()
    except GoMissingError as missing:
        raise ControlPlaneError(f"{component.name}: {missing}") from None
    done = subprocess.run(
        ["nice", "-n", "15", command, *arguments],
        cwd=component.folder,
        env={**os.environ, **environment, "GOFLAGS": "-mod=readonly"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = "\n".join(done.stderr.splitlines()[-20:])
        raise ControlPlaneError(f"{component.name}: `go {' '.join(arguments)}` failed:\n{said}")
    return done.stdout


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One build of a component at a time, also between processes."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
