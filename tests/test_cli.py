"""The command line: what it takes, what it prints, how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kueue_fast.cli import cli

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
TABLES = ("Workloads", "ClusterQueues")

QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: main}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: default
      resources: [{name: cpu, nominalQuota: 4}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: team}
spec: {clusterQueue: main}
"""

WORKLOAD = """\
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata:
  name: %s
  namespace: team
  annotations: {sim.kueue-fast.dev/run-time: 1m}
spec:
  queueName: main
  podSets:
  - name: main
    count: 1
    template: {spec: {containers: [{name: c, resources: {requests: {cpu: %s}}}]}}
"""


def invoke(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, arguments, input=stdin, prog_name="kueue-fast")


def command(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    code = "from kueue_fast.cli import main; main()"
    run = [sys.executable, "-c", code, *arguments]
    return subprocess.run(run, capture_output=True, text=True, check=False, timeout=120, **options)  # type: ignore[call-overload, no-any-return]


def write(folder: Path, text: str, name: str = "in.yaml") -> str:
    file = folder / name
    file.write_text(text)
    return str(file)


# --- the command line itself --------------------------------------------------------------------------------


def test_help_names_the_commands() -> None:
    result = invoke("--help")
    assert result.exit_code == 0
    assert "simulate" in result.output
    assert "conformance" in result.output


def test_help_imports_nothing_of_the_commands() -> None:
    code = (
        "import sys\nfrom kueue_fast.cli import run\nassert run(['--help']) == 0\n"
        "print([name for name in sys.modules if name == 'rich' or name.startswith('kueue_fast.sim')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_of_simulate_names_the_annotations() -> None:
    output = invoke("simulate", "--help").output
    for name in ("arrival", "run-time", "failure"):
        assert f"sim.kueue-fast.dev/{name}" in output


def test_version() -> None:
    result = invoke("--version")
    assert result.exit_code == 0
    assert result.output.startswith("kueue-fast ")


USAGE: dict[str, tuple[tuple[str, ...], str]] = {
    "an unknown command": (("simulates",), "No such command"),
    "no manifests": (("simulate",), "Missing option '-f'"),
    "an unknown option": (("simulate", "-f", ".", "--untill", "1h"), "No such option"),
    "a duration that is none": (("simulate", "-f", ".", "--until", "2"), "'2' is not a duration"),
    "a negative duration": (("simulate", "-f", ".", "--until=-2h"), "'-2h' is negative"),
    "no scenarios": (("conformance",), "Missing argument 'FILE...'"),
}


@pytest.mark.parametrize("name", USAGE)
def test_wrong_usage_exits_with_2(name: str) -> None:
    arguments, want = USAGE[name]
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert want in result.stderr
    assert result.stdout == ""


# --- simulate: bad input ------------------------------------------------------------------------------------

BAD: dict[str, tuple[str, str, str]] = {
    "broken YAML": ("in.yaml", "a: [\n", "in.yaml:2: broken YAML"),
    "an unknown kind": (
        "in.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n",
        "kind Secret (v1) is not known",
    ),
    "a kind that comes later": (
        "in.yaml",
        "apiVersion: batch/v1\nkind: CronJob\n",
        "kind CronJob (batch/v1) is not supported yet",
    ),
    "a quantity that is none": (
        "in.yaml",
        QUEUES + WORKLOAD % ("w", "1x"),
        "in.yaml:32: Workload team/w: $.spec.podSets[0]",
    ),
    "a negative quota": (
        "in.yaml",
        QUEUES.replace("nominalQuota: 4", "nominalQuota: -4"),
        "nominalQuota: Invalid value: -4",
    ),
    "a duplicate": ("in.yaml", QUEUES + WORKLOAD % ("w", 1) + WORKLOAD % ("w", 1), "is already defined in"),
    "no pod sets": (
        "in.yaml",
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w}\nspec: {podSets: []}\n",
        "in.yaml:4: Workload default/w: $.spec.podSets",
    ),
    "NaN": ("in.json", '{"apiVersion": NaN}', "in.json:1: NaN is not a number that JSON can hold"),
    "an empty file": ("in.yaml", "", "in.yaml: the file is empty"),
    "10 MB of one line": ("in.yaml", "kind: " + "x" * 10_000_000, "$.apiVersion: is missing"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told_and_nothing_is_simulated(name: str, tmp_path: Path) -> None:
    file, text, want = BAD[name]
    for options in ((), ("--json",), ("--events",)):
        result = invoke("simulate", "-f", write(tmp_path, text, file), *options)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert want in result.stderr
        assert len(result.stderr) < 1500
        assert result.stderr.startswith("error: ")
        assert "Traceback" not in result.stderr


def test_one_bad_manifest_stops_the_good_ones(tmp_path: Path) -> None:
    write(tmp_path, QUEUES, "good.yaml")
    write(tmp_path, "a: [\n---\nb: [\n", "bad.yaml")
    result = invoke("simulate", "-f", str(tmp_path))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == ["error", "error"]


def test_many_errors_are_cut_off(tmp_path: Path) -> None:
    result = invoke("simulate", "-f", write(tmp_path, "---\n".join(["a: [\n"] * 30)))
    assert len(result.stderr.splitlines()) == 21
    assert result.stderr.endswith("and 10 more\n")


def test_a_directory_without_manifests_and_a_missing_path(tmp_path: Path) -> None:
    result = invoke("simulate", "-f", str(tmp_path), str(tmp_path / "missing"))
    assert result.exit_code == 2
    assert result.stderr == (
        f"error: {tmp_path}: the directory has no manifests (expected files named *.yaml, *.yml, *.json)\n"
        f"error: {tmp_path}/missing: cannot be read: No such file or directory\n"
    )


CONFIGURATION = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"

SETTINGS: dict[str, tuple[str | None, tuple[str, ...], str]] = {
    "an unknown field": (CONFIGURATION + "manageJobs: true\n", (), "$.manageJobs"),
    "a value that Kueue refuses": (
        CONFIGURATION + "fairSharing: {preemptionStrategies: [Nonsense]}\n",
        (),
        "config.yaml: Configuration: $.fairSharing.preemptionStrategies",
    ),
    "a missing file": (
        None,
        ("--config", "missing.yaml"),
        "missing.yaml: cannot be read: No such file or directory",
    ),
    "an unknown gate": (None, ("--feature-gates", "Nonsense=true"), "Nonsense"),
    "a gate without a value": (None, ("--feature-gates", "PartialAdmission"), "PartialAdmission"),
    "gates twice": (
        CONFIGURATION + "featureGates: {PartialAdmission: true}\n",
        ("--feature-gates", "PartialAdmission=false"),
        "only one of the two",
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_bad_settings(name: str, tmp_path: Path) -> None:
    configuration, options, want = SETTINGS[name]
    if configuration is not None:
        options = (*options, "--config", write(tmp_path, configuration, "config.yaml"))
    result = invoke("simulate", "-f", write(tmp_path, QUEUES), *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert want in result.stderr


# --- simulate: good input -----------------------------------------------------------------------------------


def test_tables(tmp_path: Path) -> None:
    result = invoke(
        "simulate", "-f", write(tmp_path, QUEUES + WORKLOAD % ("fits", 1) + WORKLOAD % ("never", 5))
    )
    assert result.exit_code == 0
    assert result.stderr == ""
    for want in (*TABLES, "team/fits", "team/never", "Why they wait", "insufficient quota"):
        assert want in result.stdout


def test_json(tmp_path: Path) -> None:
    text = QUEUES + WORKLOAD % ("one", 3) + WORKLOAD % ("two", 3)
    result = invoke("simulate", "-f", write(tmp_path, text), "--json")
    workloads = {entry["name"]: entry for entry in json.loads(result.stdout)["workloads"]}
    assert {name: (entry["admitted"], entry["finished"]) for name, entry in workloads.items()} == {
        "one": (0, 60),
        # Parked workloads come back in batches of a second, as in Kueue.
        "two": (61, 121),
    }


def test_until_stops_the_clock(tmp_path: Path) -> None:
    text = QUEUES + WORKLOAD % ("one", 3) + WORKLOAD % ("two", 3)
    result = invoke("simulate", "-f", write(tmp_path, text), "--json", "--until", "90s")
    states = {entry["name"]: entry["state"] for entry in json.loads(result.stdout)["workloads"]}
    assert states == {"one": "Finished", "two": "Running"}


def test_events_are_printed_when_asked_for(tmp_path: Path) -> None:
    file = write(tmp_path, QUEUES + WORKLOAD % ("one", 3))
    assert "QuotaReserved" in invoke("simulate", "-f", file, "--events").stdout
    assert "QuotaReserved" not in invoke("simulate", "-f", file).stdout


def test_standard_input_and_several_paths(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    write(tmp_path / "more", WORKLOAD % ("two", 1))
    paths = ("-f", "-", str(tmp_path / "more"), "-f", write(tmp_path, WORKLOAD % ("three", 1)))
    result = invoke("simulate", "--json", *paths, stdin=QUEUES + WORKLOAD % ("one", 1))
    assert [entry["name"] for entry in json.loads(result.stdout)["workloads"]] == ["one", "three", "two"]


@pytest.mark.parametrize("name", ["quickstart", "workloads", "elastic-job"])
def test_examples_run_and_repeat_to_the_byte(name: str) -> None:
    first, second = (invoke("simulate", "-f", str(EXAMPLES / name)) for _ in range(2))
    assert first.exit_code == 0
    assert first.stderr == ""
    assert first.stdout == second.stdout


def test_the_page_on_elastic_jobs_shows_what_its_example_prints() -> None:
    page = (ROOT / "docs/elastic-jobs.md").read_text(encoding="utf-8")
    printed = invoke("simulate", "-f", str(EXAMPLES / "elastic-job")).stdout
    assert f"```text\n{printed}```" in page


def test_quickstart_tells_who_borrows_and_who_waits_for_ever() -> None:
    result = invoke("simulate", "-f", str(EXAMPLES / "quickstart"), "--json")
    workloads = {entry["owner"]["name"]: entry for entry in json.loads(result.stdout)["workloads"]}
    assert {name for name, entry in workloads.items() if entry["state"] != "Finished"} == {"train-huge"}
    assert "insufficient quota for cpu" in workloads["train-huge"]["waiting"]["message"]
    flavors = {
        name: {flavor for pod_set in entry["podSets"] for flavor in pod_set["flavors"].values()}
        for name, entry in workloads.items()
    }
    assert flavors["preprocess"] == {"spot"}
    assert flavors["train-large"] == {"on-demand"}


NODES = "gpu:2x2x4 cpu=96,memory=256Gi,nvidia.com/gpu=8"


def test_the_topology_example_and_its_page(tmp_path: Path) -> None:
    pages = []
    for name in ("first.html", "second.html"):
        page = tmp_path / name
        result = invoke(
            "simulate", "-f", str(EXAMPLES / "topology"), "--nodes", NODES, "--json", "--report", str(page)
        )
        assert (result.exit_code, result.stderr) == (0, "")
        pages.append(page.read_bytes())
    assert pages[0] == pages[1]
    assert b"Topology of flavor gpu" in pages[0]
    document = json.loads(result.stdout)
    assert {entry["state"] for entry in document["workloads"]} == {"Finished"}
    waited = {entry["owner"]["name"]: entry["waited"] for entry in document["workloads"]}
    assert {name for name, seconds in waited.items() if seconds} == {"evaluation"}
    [topology] = document["topologies"]
    assert topology["peak"]["nodes"] == 17


BAD_OPTIONS = {
    "nodes that cannot be read": (
        ("--nodes", "4x16"),
        "error: --nodes:1: is '4x16' (expected [FLAVOR:]SHAPE",
    ),
    "nodes for nobody": (
        ("--nodes", "gpu:2 cpu=1"),
        "error: --nodes:1: no ClusterQueue offers ResourceFlavor gpu",
    ),
    "a report in no folder": (
        ("--report", "no/such/folder/a.html"),
        "the directory 'no/such/folder' does not",
    ),
    "a report that is a folder": (("--report", "."), "'.' is a directory"),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_bad_options_of_topologies(case: str, tmp_path: Path) -> None:
    options, want = BAD_OPTIONS[case]
    result = invoke("simulate", "-f", write(tmp_path, QUEUES + WORKLOAD % ("one", 1)), *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert want in result.stderr


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    file = write(tmp_path, QUEUES + WORKLOAD % ("one", 1))
    result = invoke("simulate", "-f", file, "--report", "/dev/full")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "error: /dev/full: cannot be written" in result.stderr


def test_the_baseline_generator_runs_to_the_end() -> None:
    result = invoke("simulate", "-f", str(EXAMPLES / "baseline"), "--json")
    assert result.exit_code == 0
    states = [entry["state"] for entry in json.loads(result.stdout)["workloads"]]
    assert states == ["Finished"] * 15_000


# --- conformance and the process ----------------------------------------------------------------------------


def test_conformance_of_a_missing_file(tmp_path: Path) -> None:
    result = invoke("conformance", str(tmp_path / "missing.jsonl"))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "missing.jsonl: cannot be read" in result.stderr


def test_conformance_exits_with_1_on_a_difference(tmp_path: Path) -> None:
    scenario = {
        "name": "nothing-1",
        "objects": [],
        "steps": [{"at": 0}],
        "expect": [{"cycles": [{"admitted": []}]}],
    }
    same = {**scenario, "name": "nothing-2", "expect": [{"cycles": []}]}
    different = write(
        tmp_path, json.dumps({**same, "expect": [{"cycles": [], "active": {"q": ["w"]}}]}), "a.jsonl"
    )
    result = invoke("conformance", different)
    assert result.exit_code == 1
    assert result.stdout.startswith("a: 0/1 matched, 1 failed, 0 unsupported\n")
    result = invoke("conformance", write(tmp_path, json.dumps(same), "b.jsonl"))
    assert result.exit_code == 0
    assert result.stdout == "b: 1/1 matched, 0 failed, 0 unsupported\n"
    result = invoke("conformance", "--print", different)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["name"] == "nothing-2"


def test_exit_codes_of_the_process(tmp_path: Path) -> None:
    done = command("simulate", "-f", str(tmp_path / "missing"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {tmp_path}/missing: cannot be read: No such file or directory\n"
    assert command("--version").returncode == 0


def test_a_reader_that_goes_away_gets_no_traceback(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    code = "from kueue_fast.cli import main; main()"
    run = [sys.executable, "-c", code, "--help"]
    done = subprocess.run(run, stdout=write_end, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_full_disk_is_told() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    code = "from kueue_fast.cli import main; main()"
    with open("/dev/full", "w") as full:
        run = [sys.executable, "-c", code, "--help"]
        done = subprocess.run(run, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: standard output: No space left on device\n"


def test_an_interrupt_exits_with_130() -> None:
    code = (
        "import kueue_fast.cli as c\n"
        "@c.cli.command()\n"
        "def wait():\n"
        "    raise KeyboardInterrupt\n"
        "raise SystemExit(c.run(['wait']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
