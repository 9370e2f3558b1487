"""The library as its documentation shows it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]


def test_the_example_runs() -> None:
    """examples/library.py, in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples/library.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    admitted, waiting = ran.stdout.splitlines()
    assert admitted.startswith("admitted team/first in shared ")
    assert waiting.startswith("waiting team/second because couldn't assign flavors to pod set main: ")


def test_the_lines_of_the_readme_run(capsys: pytest.CaptureFixture[str]) -> None:
    """The block of Python in the README, on the manifests of examples/workloads."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S
    )
    (block,) = blocks
    files = sorted((ROOT / "examples/workloads").iterdir())
    documents = [one for file in files for one in yaml.safe_load_all(file.read_text(encoding="utf-8"))]
    manifests = [item for one in documents for item in one.get("items", [one])]
    exec(block, {"manifests": manifests})
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "lab/collider",
        "lab/docking",
    ]
