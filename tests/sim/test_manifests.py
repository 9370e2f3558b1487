"""Files become objects, or one report of everything that is wrong with them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kueue_fast.api.kueue import ClusterQueue, Workload
from kueue_fast.sim.manifest import Manifest, ManifestErrors, Moment, SimulationFacts
from kueue_fast.sim.manifests import SUPPORTED_KINDS, load

SECOND = 1_000_000_000

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n"

CLUSTER_QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: main
spec:
  cohortName: all
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: default
      resources:
      - name: cpu
        nominalQuota: %s
"""

WORKLOAD = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata:
  name: w
  namespace: team
  annotations: {%s}
spec:
  queueName: main
  podSets:
  - name: main
    count: 1
    template:
      spec:
        containers:
        - name: c
          resources: {requests: {cpu: %s}}
"""

POD_SET = "{name: p%d, count: 1, template: {spec: {containers: []}}}"


def with_pod_sets(version: str, count: int) -> str:
    pod_sets = ", ".join(POD_SET % number for number in range(count))
    head = f"apiVersion: kueue.x-k8s.io/{version}\nkind: Workload\n"
    return head + f"metadata: {{name: w}}\nspec:\n  podSets: [{pod_sets}]\n"


def load_text(tmp_path: Path, text: str, name: str = "in.yaml") -> list[Manifest]:
    file = tmp_path / name
    file.write_text(text)
    return load([str(file)])


def errors_of(paths: list[str]) -> ManifestErrors:
    with pytest.raises(ManifestErrors) as caught:
        load(paths)
    return caught.value


def messages(tmp_path: Path, text: str, name: str = "in.yaml") -> list[str]:
    """What is wrong with a text, without the folder it lies in."""
    file = tmp_path / name
    file.write_text(text)
    return [str(error).removeprefix(f"{tmp_path}/") for error in errors_of([str(file)]).errors]


# --- good input ---------------------------------------------------------------------------------------------


def test_a_directory_is_read_recursively_in_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "1.yml").write_text(NAMESPACE % "three" + "---\n" + NAMESPACE % "four")
    (tmp_path / "a.yaml").write_text(NAMESPACE % "one")
    (tmp_path / "aa.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "two"}})
    )
    (tmp_path / "notes.txt").write_text("no manifest")
    manifests = load([str(tmp_path)])
    assert [manifest.object.metadata.name for manifest in manifests] == ["one", "two", "three", "four"]
    assert [(manifest.document, manifest.line) for manifest in manifests] == [(0, 1), (0, 1), (0, 1), (1, 5)]
    assert manifests[3].place == f"{tmp_path}/b/1.yml:5"


def test_a_file_given_twice_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(NAMESPACE % "one")
    assert len(load([str(file), str(tmp_path)])) == 1


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (NAMESPACE % "one").encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    [manifest] = load(["-"])
    assert manifest.place == "<stdin>:1"


def test_both_versions_become_v1beta2_and_remember_theirs(tmp_path: Path) -> None:
    old = CLUSTER_QUEUE.replace("v1beta2", "v1beta1").replace("cohortName", "cohort").replace("main", "old")
    new, converted = load_text(tmp_path, CLUSTER_QUEUE % 1 + "---\n" + old % 1)
    assert isinstance(new.object, ClusterQueue)
    assert isinstance(converted.object, ClusterQueue)
    assert converted.object.spec is not None
    assert converted.object.spec.cohort_name == "all"
    assert (new.api_version, converted.api_version) == ("kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1")
    assert json.loads(converted.raw)["spec"]["cohort"] == "all"


def test_lists_are_taken_apart(tmp_path: Path) -> None:
    text = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Namespace
  metadata: {name: one}
- apiVersion: v1
  kind: NamespaceList
  items:
  - metadata: {name: two}
  - metadata: {name: three}
- apiVersion: v1
  kind: Namespace
  metadata: {name: four}
"""
    manifests = load_text(tmp_path, text)
    assert [manifest.object.metadata.name for manifest in manifests] == ["one", "two", "three", "four"]
    assert [manifest.line for manifest in manifests] == [4, 7, 7, 12]


def test_a_namespace_that_is_not_named_is_the_default_one(tmp_path: Path) -> None:
    [manifest] = load_text(tmp_path, with_pod_sets("v1beta2", 1))
    assert manifest.object.metadata.namespace == "default"


FACTS: dict[str, tuple[str, SimulationFacts]] = {
    "nothing": ("", SimulationFacts()),
    "a duration": ("sim.kueue-fast.dev/arrival: 1m30s", SimulationFacts(arrival_ns=90 * SECOND)),
    "a time": (
        "sim.kueue-fast.dev/arrival: 1970-01-01T00:00:07Z",
        SimulationFacts(arrival_time_ns=7 * SECOND),
    ),
    "a run time": ("sim.kueue-fast.dev/run-time: 200ms", SimulationFacts(run_time_ns=SECOND // 5)),
    "no time at all": ("sim.kueue-fast.dev/run-time: '0'", SimulationFacts(run_time_ns=0)),
    "a failure": ('sim.kueue-fast.dev/failure: "true"', SimulationFacts(fails=True)),
    "other annotations": ("example.com/arrival: never", SimulationFacts()),
}
NODE = "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n  annotations: {%s}\n"
NODE_FACTS: dict[str, tuple[str, SimulationFacts]] = {
    "a failure": (
        "sim.kueue-fast.dev/fails-at: 5m",
        SimulationFacts(fails_at=(Moment(300 * SECOND, False),)),
    ),
    "several failures, and a time": (
        "sim.kueue-fast.dev/fails-at: '1s, 3s', sim.kueue-fast.dev/recovers-at: '1970-01-01T00:00:02Z'",
        SimulationFacts(
            fails_at=(Moment(SECOND, False), Moment(3 * SECOND, False)),
            recovers_at=(Moment(2 * SECOND, True),),
        ),
    ),
}


@pytest.mark.parametrize("name", FACTS)
def test_facts(name: str, tmp_path: Path) -> None:
    annotations, want = FACTS[name]
    [manifest] = load_text(tmp_path, WORKLOAD % (annotations, 1))
    assert manifest.facts == want


@pytest.mark.parametrize("name", NODE_FACTS)
def test_facts_of_nodes(name: str, tmp_path: Path) -> None:
    annotations, want = NODE_FACTS[name]
    [manifest] = load_text(tmp_path, NODE % annotations)
    assert manifest.facts == want


def test_amounts_of_2_to_the_63_and_more_are_no_error(tmp_path: Path) -> None:
    for amount in (2**63, 2**64, 10**30, "9E", "100000Ei"):
        text = CLUSTER_QUEUE % amount + "---\n" + WORKLOAD % ("", amount)
        assert len(load_text(tmp_path, text)) == 2
        value = {
            "apiVersion": "v1",
            "kind": "List",
            "items": [json.loads(m.raw) for m in load([str(tmp_path)])],
        }
        (tmp_path / "in.yaml").unlink()
        assert len(load_text(tmp_path, json.dumps(value), "in.json")) == 2
        (tmp_path / "in.json").unlink()


def test_pod_sets_up_to_the_limit_of_the_version(tmp_path: Path) -> None:
    for version, most in (("v1beta1", 18), ("v1beta2", 18)):
        [manifest] = load_text(tmp_path, with_pod_sets(version, most))
        assert isinstance(manifest.object, Workload)
        assert len(manifest.object.spec.pod_sets or ()) == most


# --- bad input ----------------------------------------------------------------------------------------------

SUPPORTED = ", ".join(SUPPORTED_KINDS)

BAD: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "broken YAML": (
        "in.yaml",
        "apiVersion: v1\nkind: [\nmetadata:\n",
        ("in.yaml:4: broken YAML: ", "did not find expected node content"),
    ),
    "broken JSON": ("in.json", '{"apiVersion": "v1",\n "kind": }', ("in.json:2: broken JSON: ",)),
    "an unknown kind": (
        "in.yaml",
        NAMESPACE.replace("Namespace", "Secret") % "one",
        ("in.yaml:1: Secret one: kind Secret (v1) is not known", f"expected one of {SUPPORTED}"),
    ),
    "a kind of another group": (
        "in.yaml",
        NAMESPACE.replace("v1", "example.com/v1").replace("Namespace", "Job") % "one",
        ("in.yaml:1: Job one: $.apiVersion: version example.com/v1 of Job is not known", "expected batch/v1"),
    ),
    "a version that is not known": (
        "in.yaml",
        (CLUSTER_QUEUE % 1).replace("v1beta2", "v1alpha1"),
        ("in.yaml:1: ClusterQueue main: $.apiVersion", "v1beta1 or kueue.x-k8s.io/v1beta2"),
    ),
    "no kind": ("in.yaml", "apiVersion: v1\nmetadata: {}\n", ("in.yaml:1: $.kind: is missing",)),
    "no name": (
        "in.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata: {}\n",
        ("in.yaml:3: Namespace: $.metadata.name",),
    ),
    "only a generated name": (
        "in.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  generateName: a-\n",
        ("in.yaml:3: Namespace: $.metadata.name: is missing", "generateName is not used"),
    ),
    "Kueue's configuration": (
        "in.yaml",
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n",
        ("in.yaml:1: Configuration (config.kueue.x-k8s.io/v1beta2) is Kueue's own configuration", "--config"),
    ),
    "a text": (
        "in.yaml",
        "just words\n",
        ("in.yaml:1: the document is a text (expected a Kubernetes object)",),
    ),
    "a list item that is no object": (
        "in.yaml",
        "apiVersion: v1\nkind: List\nitems:\n- 1\n",
        ("in.yaml:4: List: $.items[0]: is not an object",),
    ),
    "items that are no list": (
        "in.yaml",
        "apiVersion: v1\nkind: List\nitems: 1\n",
        ("in.yaml:3: List: $.items: is not a list",),
    ),
    "a value of another type": (
        "in.yaml",
        WORKLOAD.replace("count: 1", "count: many") % ("", 1),
        ("in.yaml:11: Workload team/w: $.spec.podSets[0].count: has `str` (expected `int`",),
    ),
    "a quantity that is none, in a request": (
        "in.yaml",
        WORKLOAD % ("", "1x"),
        (
            "in.yaml:16: Workload team/w: $.spec.podSets[0].template.spec.containers[0].resources.requests[cpu]",
            '"1x"',
        ),
    ),
    "a quantity that is none, in a quota": (
        "in.yaml",
        CLUSTER_QUEUE % "1x",
        (
            "in.yaml:14: ClusterQueue main: $.spec.resourceGroups[0].flavors[0].resources[0].nominalQuota",
            '"1x"',
        ),
    ),
    "a negative quota": (
        "in.yaml",
        CLUSTER_QUEUE % -1,
        (
            "in.yaml:14: ClusterQueue main: $.spec.resourceGroups[0].flavors[0].resources[0].nominalQuota",
            "-1",
        ),
    ),
    "no pod sets": (
        "in.yaml",
        with_pod_sets("v1beta2", 0),
        ("in.yaml:5: Workload default/w: $.spec.podSets",),
    ),
    "too many pod sets": (
        "in.yaml",
        with_pod_sets("v1beta2", 19),
        ("in.yaml:5: Workload default/w: $.spec.podSets",),
    ),
    "too many pod sets for v1beta1": (
        "in.yaml",
        with_pod_sets("v1beta1", 19),
        ("in.yaml:5: Workload default/w: $.spec.podSets",),
    ),
    "NaN in JSON": (
        "in.json",
        '{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",\n "spec": {"priority": NaN}}',
        ("in.json:2: NaN is not a number that JSON can hold",),
    ),
    "NaN in YAML": (
        "in.yaml",
        CLUSTER_QUEUE % ".nan",
        ('in.yaml:14: ".nan" is not a number that JSON can hold',),
    ),
    "half a character": (
        "in.json",
        '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "\\ud800"}}',
        ("in.json:1: Namespace \\ud800: has a text with half a character",),
    ),
    "an empty file": ("in.yaml", " \n", ("in.yaml: the file is empty (expected at least one manifest)",)),
    "only comments": (
        "in.yaml",
        "# a\n---\n# b\n",
        ("in.yaml: the file has only comments and empty documents",),
    ),
    "an unknown annotation of ours": (
        "in.yaml",
        WORKLOAD % ("sim.kueue-fast.dev/runtime: 1m", 1),
        (
            'in.yaml:6: Workload team/w: $.metadata.annotations["sim.kueue-fast.dev/runtime"]: is not an annotation of',
        ),
    ),
    "an arrival that is none": (
        "in.yaml",
        WORKLOAD % ("sim.kueue-fast.dev/arrival: soon", 1),
        ("is 'soon'", "a duration such as 90s, 5m or 1h30m after the start, or a time (RFC 3339)"),
    ),
    "a time that is none": (
        "in.yaml",
        WORKLOAD % ("sim.kueue-fast.dev/arrival: '2026-01-01T25:00:00Z'", 1),
        ("is '2026-01-01T25:00:00Z'", "a time such as"),
    ),
    "a negative run time": (
        "in.yaml",
        WORKLOAD % ("sim.kueue-fast.dev/run-time: -1s", 1),
        ("is '-1s'", "not negative"),
    ),
    "a failure that is no boolean": (
        "in.yaml",
        WORKLOAD % ("sim.kueue-fast.dev/failure: 'yes'", 1),
        ("is 'yes'", '"true" or "false"'),
    ),
    "a failure of a node that is no time": (
        "in.yaml",
        NODE % "sim.kueue-fast.dev/fails-at: '1m,'",
        ("in.yaml:5: Node n1: ", "is ''", "a duration such as 90s"),
    ),
    "a failing job with a time": (
        "in.yaml",
        WORKLOAD % ("sim.kueue-fast.dev/fails-at: 1m", 1),
        ("has no meaning on a Workload (expected it on a Node)",),
    ),
    "a run time of a queue": (
        "in.yaml",
        (CLUSTER_QUEUE % 1).replace(
            "name: main", 'name: main\n  annotations: {sim.kueue-fast.dev/run-time: "1m"}'
        ),
        ("has no meaning on a ClusterQueue",),
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str, tmp_path: Path) -> None:
    file, text, wants = BAD[name]
    [message] = messages(tmp_path, text, file)
    for want in wants:
        assert want in message
    assert len(message) < 1000


LATER = {
    "CronJob": "batch/v1",
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "MultiKueueConfig": "kueue.x-k8s.io/v1beta1",
}


@pytest.mark.parametrize("kind", LATER)
def test_kinds_that_come_later_are_named(kind: str, tmp_path: Path) -> None:
    text = f"apiVersion: {LATER[kind]}\nkind: {kind}\nmetadata: {{name: a, namespace: b}}\n"
    [message] = messages(tmp_path, text)
    assert message.startswith(f"in.yaml:1: {kind} b/a: kind {kind} ({LATER[kind]}) is not supported yet")


def test_a_duplicate_names_both_places(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(NAMESPACE % "one" + "---\n" + WORKLOAD % ("", 1))
    (tmp_path / "b.yaml").write_text((WORKLOAD % ("", 2)).replace("v1beta2", "v1beta1"))
    [error] = errors_of([str(tmp_path)]).errors
    there, here = f"{tmp_path}/a.yaml:5", f"{tmp_path}/b.yaml:1"
    want = f"{here}: Workload team/w: is already defined in {there} (expected each object once)"
    assert str(error) == want


def test_the_same_name_in_another_namespace_is_no_duplicate(tmp_path: Path) -> None:
    first = WORKLOAD % ("", 1)
    assert len(load_text(tmp_path, first + "---\n" + first.replace("team", "other"))) == 2


def test_paths_without_manifests(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "readme.txt").write_text("no manifest")
    (tmp_path / "binary.yaml").write_bytes(b"a: 1\nb: \xff\n")
    paths = [str(tmp_path / name) for name in ("empty", "missing.yaml", "binary.yaml")]
    assert [str(error) for error in errors_of(paths).errors] == [
        f"{tmp_path}/empty: the directory has no manifests (expected files named *.yaml, *.yml, *.json)",
        f"{tmp_path}/missing.yaml: cannot be read: No such file or directory",
        f"{tmp_path}/binary.yaml:2: not a text (expected UTF-8)",
    ]


def test_all_errors_are_told_at_once_and_nothing_is_handed_out(tmp_path: Path) -> None:
    documents = [NAMESPACE % "fine", CLUSTER_QUEUE % -1, "a: [\n", NAMESPACE % "fine", WORKLOAD % ("", "1x")]
    found = messages(tmp_path, "---\n".join(documents))
    assert [message.split(": ")[0] for message in found] == [
        "in.yaml:18",
        "in.yaml:21",
        "in.yaml:22",
        "in.yaml:41",
    ]


def test_past_the_limit_errors_are_counted(tmp_path: Path) -> None:
    (tmp_path / "in.yaml").write_text("---\n".join(["a: [\n"] * 50))
    error = errors_of([str(tmp_path)])
    assert (len(error.errors), error.omitted) == (20, 30)
    assert str(error).splitlines()[-1] == "and 30 more"


ONE_LINE = {
    "a kind": "apiVersion: v1\nkind: %s\nmetadata: {name: a}",
    "a name": "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}",
    "a quantity": CLUSTER_QUEUE,
    "a request": WORKLOAD.replace("{%s}", "{}"),
    "an annotation": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, annotations: {sim.kueue-fast.dev/%s: a}}",
    "an arrival": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, annotations: {sim.kueue-fast.dev/arrival: %s}}",
    "a version": "apiVersion: %s\nkind: Namespace\nmetadata: {name: a}",
    "a word": "%s",
}


@pytest.mark.parametrize("name", ONE_LINE)
def test_ten_megabytes_of_one_line(name: str, tmp_path: Path) -> None:
    for message in messages(tmp_path, ONE_LINE[name] % ("X" * 10_000_000)):
        assert len(message) < 1500
