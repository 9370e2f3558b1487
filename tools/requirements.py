"""Print the requirements of one set of pyproject.toml, one a line: `build`, or the name of an extra.

The Makefile installs from it, so that pyproject.toml stays the only place that names versions.
"""

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def requirements(name: str) -> list[str]:
    pyproject = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    if name != "build":
        return list(pyproject["project"]["optional-dependencies"][name])
    # With build isolation scikit-build-core asks for these two by itself; without it, we do.
    settings = pyproject["tool"]["scikit-build"]
    tools = [f"cmake{settings['cmake']['version']}", f"ninja{settings['ninja']['version']}"]
    return [*pyproject["build-system"]["requires"], *tools]


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1])))
