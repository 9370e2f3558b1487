"""What the page about kinds shows is what the examples give."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from kueue_fast.cli import cli

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/simulation-kinds.md").read_text()
SHOWN = dict(re.findall(r"```console\n\$ (kueue-fast [^\n]*)\n(.*?)\n```", PAGE, re.DOTALL))


@pytest.mark.parametrize("command", SHOWN)
def test_the_page_shows_what_the_command_gives(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "120")
    result = CliRunner().invoke(cli, shlex.split(command)[1:])
    assert result.exit_code == 0
    assert result.stdout.startswith(SHOWN[command])


def test_all_seven_are_shown() -> None:
    assert len(SHOWN) == 7
