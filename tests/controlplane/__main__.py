"""`up` starts a control plane with Kueue's CRDs and prints how to reach it; `down` ends it."""

import argparse
import sys
from pathlib import Path

from tests.controlplane.build import ROOT
from tests.controlplane.errors import ControlPlaneError
from tests.controlplane.kueue_manager import up_kueue
from tests.controlplane.plane import ControlPlane

FOLDER = ROOT / ".cache" / "controlplane" / "run"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.controlplane", description=__doc__)
    parser.add_argument("command", choices=["up", "down", "status"])
    parser.add_argument("--folder", type=Path, default=FOLDER, help="state and logs (default: %(default)s)")
    parser.add_argument("--kueue", action="store_true", help="Kueue's own manager too, with its webhooks")
    parser.add_argument("--no-pods", action="store_true", help="etcd and kube-apiserver only")
    options = parser.parse_args()
    plane = ControlPlane(options.folder.resolve())
    try:
        match options.command:
            case "up":
                _up(plane, pods=not options.no_pods, kueue=options.kueue)
            case "down":
                plane.down()
            case "status":
                for name in plane.processes.names:
                    print(f"{name:20} {'up' if plane.processes.alive(name) else 'DOWN'}")
    except ControlPlaneError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _up(plane: ControlPlane, *, pods: bool, kueue: bool) -> None:
    running = [name for name in plane.processes.names if plane.processes.alive(name)]
    if running:
        raise ControlPlaneError(f"already up: {', '.join(running)}; `down` first")
    try:
        plane.up()
        if kueue:
            up_kueue(plane)
        else:
            plane.install_kueue_crds()
        if pods:
            plane.up_pods()
    except BaseException:
        plane.down()
        raise
    print(f"export KUBECONFIG={plane.kubeconfig}")


if __name__ == "__main__":
    sys.exit(main())
