"""The command `explain`: what it takes, what it prints, how it ends."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.test_cli import EXAMPLES, NODES, QUEUES, WORKLOAD, invoke, write


def test_text(tmp_path: Path) -> None:
    file = write(tmp_path, QUEUES + WORKLOAD % ("never", 5))
    result = invoke("explain", "-f", file, "Workload/team/never")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Workload team/never at 1s, when nothing is left to happen\n")
    assert result.stdout.endswith("  None was considered: more is asked for than there could ever be.\n")


def test_json_at_a_moment(tmp_path: Path) -> None:
    text = QUEUES + WORKLOAD % ("one", 3) + WORKLOAD % ("two", 3)
    result = invoke("explain", "-f", "-", "workload/team/two", "--at", "30s", "--json", stdin=text)
    document = json.loads(result.stdout)
    assert (document["schema"], document["time"]) == ("kueue-fast.dev/explanation/v1", 30)
    [found] = document["workloads"]
    assert (found["state"], found["flavors"][0]["missing"], found["look"]["outcome"]) == (
        "Pending", "2", "NoCandidates",
    )  # fmt: skip
    assert invoke("explain", "-f", "-", "workload/team/two", "--at", "30s", "--json", stdin=text).stdout == (
        result.stdout
    )


USAGE = {
    "no manifests": (("explain", "Job/a/b"), "Missing option '-f'"),
    "no object": (("explain", "-f", "."), "Missing argument 'KIND/NAMESPACE/NAME'"),
    "two objects": (("explain", "-f", ".", "Job/a/b", "Job/a/c"), "unexpected extra argument (Job/a/c)"),
    "a moment that is none": (("explain", "-f", ".", "Job/a/b", "--at", "soon"), "'soon' is not a duration"),
    "a moment before the start": (("explain", "-f", ".", "Job/a/b", "--at=-1m"), "'-1m' is negative"),
    "what names no object": (
        ("explain", "-f", ".", "b"),
        "error: 'b' names no object (expected KIND/NAMESPACE/NAME",
    ),
}


@pytest.mark.parametrize("name", USAGE)
def test_wrong_usage_exits_with_2(name: str) -> None:
    arguments, want = USAGE[name]
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert want in result.stderr
    assert result.stdout == ""


def test_an_unknown_object_exits_with_2_and_names_one_that_is_like_it(tmp_path: Path) -> None:
    result = invoke("explain", "-f", write(tmp_path, QUEUES + WORKLOAD % ("train", 5)), "Workload/team/trian")
    assert result.exit_code == 2
    assert result.stderr == "error: Workload/team/trian is not in the input (expected Workload/team/train)\n"
    assert result.stdout == ""


def test_bad_input_is_told(tmp_path: Path) -> None:
    result = invoke("explain", "-f", write(tmp_path, "kind: {"), "Job/a/b")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")


def first(*arguments: str) -> dict[str, Any]:
    """The first workload of a document."""
    found: dict[str, Any] = json.loads(invoke("explain", "--json", *arguments).stdout)["workloads"][0]
    return found


def test_feature_gates_count(tmp_path: Path) -> None:
    """Without scheduling equivalence each of two that ask for the same is looked at itself."""
    file = write(tmp_path, QUEUES + WORKLOAD % ("a", 5) + WORKLOAD % ("b", 5))
    asked = ("-f", file, "Workload/team/b")
    assert first(*asked)["like"] == "team/a"
    assert (
        first(*asked, "--feature-gates", "SchedulingEquivalenceHashing=false")["look"]["outcome"] == "NoFit"
    )


def test_the_configuration_counts() -> None:
    example = EXAMPLES / "admission-fair-sharing"
    asked = ("-f", str(example / "manifests"), "Job/lab/vision-2", "--at", "1m")
    assert first(*asked)["queue"]["byUsage"] is False
    assert first(*asked, "--config", str(example / "configuration.yaml"))["queue"]["byUsage"] is True


def test_nodes_may_be_added() -> None:
    asked = ("-f", str(EXAMPLES / "topology"), "--nodes", NODES, "Job/serving/evaluation", "--at", "6m")
    assert first(*asked)["topology"][0]["fitsInAll"] == 4


PAGE = (EXAMPLES.parent / "docs" / "explain.md").read_text()
SHOWN = dict(re.findall(r"```console\n\$ kueue-fast ([^\n]*)\n(.*?)```", PAGE, re.DOTALL))


@pytest.mark.parametrize("command", SHOWN)
def test_the_words_of_the_documentation_are_what_is_printed(command: str) -> None:
    arguments = shlex.split(command.replace("examples", str(EXAMPLES)))
    assert invoke(*arguments).stdout == SHOWN[command]


def test_the_documentation_shows_a_job_a_chain_of_slices_and_a_pod() -> None:
    assert len(SHOWN) == 4
