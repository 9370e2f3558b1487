"""What the page about the life of workloads shows is what the example gives."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from kueue_fast.cli import cli
from kueue_fast.sim import lifecycle_facts
from kueue_fast.sim.manifest import PREFIX

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/simulation-lifecycle.md").read_text()
[(COMMAND, SHOWN)] = re.findall(r"```console\n\$ (kueue-fast [^\n]*)\n(.*?)\n```", PAGE, re.DOTALL)


def test_the_page_shows_what_the_command_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "120")
    result = CliRunner().invoke(cli, shlex.split(COMMAND)[1:])
    assert result.exit_code == 0
    assert result.stdout.startswith(SHOWN)


def test_the_page_tells_of_every_annotation() -> None:
    known = {
        value
        for value in vars(lifecycle_facts).values()
        if isinstance(value, str) and value.startswith(PREFIX) and value != PREFIX
    }
    assert {name for name in known if f"`{name}`" in PAGE} == known
