"""Finds Go and builds the peer, the Go program in bench/peer, into a cache folder of the checkout."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from tools.find_go import GoMissingError, find_go

ROOT = Path(__file__).resolve().parents[1]
PEER = ROOT / "bench" / "peer"
CACHE = ROOT / ".cache"
SOURCES = ("*.go", "*.s", "go.mod", "go.sum")
TAGS = "kueue17"


class BenchError(Exception):
    """A benchmark that cannot run, in words for the person who started it."""


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
    try:
        command, environment = find_go()
    except GoMissingError as missing:
        raise BenchError(f"the peer cannot be built: {missing}") from None
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
