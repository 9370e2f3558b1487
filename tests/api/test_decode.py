"""From JSON text to typed objects, and the words for what is wrong with a text."""

import json
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kueue_fast.api import core, kueue
from kueue_fast.api.batch import Job
from kueue_fast.api.decode import KINDS, decode, decode_lines, decode_list, decode_object, key, kinds
from kueue_fast.api.encode import encode, to_manifest
from kueue_fast.api.meta import KubernetesObject
from kueue_fast.errors import InputError, KueueFastError

V1BETA1 = "kueue.x-k8s.io/v1beta1"
V1BETA2 = "kueue.x-k8s.io/v1beta2"
TEMPLATE = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}


def manifest(kind: str = "Workload", version: str = V1BETA2, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "a", "namespace": "ns"}, **fields}


def workload(**spec: Any) -> dict[str, Any]:
    return manifest(spec={"podSets": [{"template": TEMPLATE}], **spec})


def text(document: object) -> bytes:
    return json.dumps(document).encode()


SPECS: dict[str, dict[str, Any]] = {
    "PriorityClass": {"value": 1},
    "WorkloadPriorityClass": {"value": 1},
    "Job": {"spec": {"template": TEMPLATE}},
    "Pod": {"spec": TEMPLATE["spec"]},
    "Workload": {"spec": {"podSets": []}},
    "Deployment": {"spec": {"template": TEMPLATE}},
    "StatefulSet": {"spec": {"template": TEMPLATE}},
    "LeaderWorkerSet": {"spec": {"leaderWorkerTemplate": {"workerTemplate": TEMPLATE}}},
    "JobSet": {"spec": {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": TEMPLATE}}}]}},
    "JAXJob": {"spec": {"jaxReplicaSpecs": {"Worker": {"template": TEMPLATE}}}},
    "MPIJob": {"spec": {"mpiReplicaSpecs": {"Worker": {"template": TEMPLATE}}}},
    "PaddleJob": {"spec": {"paddleReplicaSpecs": {"Worker": {"template": TEMPLATE}}}},
    "PyTorchJob": {"spec": {"pytorchReplicaSpecs": {"Worker": {"template": TEMPLATE}}}},
    "TFJob": {"spec": {"tfReplicaSpecs": {"Worker": {"template": TEMPLATE}}}},
    "XGBoostJob": {"spec": {"xgbReplicaSpecs": {"Worker": {"template": TEMPLATE}}}},
    "AppWrapper": {"spec": {"components": [{"template": {"kind": "Pod", **TEMPLATE}}]}},
    "SparkApplication": {"spec": {"driver": {"memory": "1g"}, "executor": {"instances": 1}}},
    "TrainJob": {"spec": {"runtimeRef": {"name": "torch"}}},
    "TrainingRuntime": {"spec": {"template": {"spec": {"replicatedJobs": []}}}},
    "ClusterTrainingRuntime": {"spec": {"template": {"spec": {"replicatedJobs": []}}}},
    "RayCluster": {"spec": {"headGroupSpec": {"template": TEMPLATE}}},
    "RayJob": {"spec": {"rayClusterSpec": {"headGroupSpec": {"template": TEMPLATE}}}},
    "RayService": {"spec": {"rayClusterConfig": {"headGroupSpec": {"template": TEMPLATE}}}},
    "AdmissionCheck": {"spec": {"controllerName": "c"}},
    "ProvisioningRequestConfig": {"spec": {"provisioningClassName": "c"}},
}


@pytest.mark.parametrize("header", kinds(), ids="/".join)
def test_every_kind_is_read_and_written_back(header: tuple[str, str]) -> None:
    version, kind = header
    obj = decode(text(manifest(kind, version, **SPECS.get(kind, {}))))
    assert kind == obj.KIND
    assert version.replace("v1beta1", "v1beta2") == obj.API_VERSION
    assert key(obj) == (kind, "ns" if obj.NAMESPACED else "", "a")
    assert encode(decode(encode(obj))) == encode(obj)
    assert to_manifest(decode_object(to_manifest(obj))) == to_manifest(obj)


def test_the_table_of_kinds_names_what_a_class_reads() -> None:
    for (version, kind), cls in KINDS.items():
        assert issubclass(cls, KubernetesObject)
        assert kind == cls.KIND
        assert cls.API_VERSION in (version, V1BETA2)


HEADERS = {
    "compact": b'{"apiVersion":"%s","kind":"Workload","metadata":{"name":"a"},"spec":{}}',
    "with spaces": b' {\n "apiVersion" : "%s" ,\t"kind": "Workload", "metadata":{"name":"a"},"spec":{}}',
    "kind first": b'{"kind":"Workload","apiVersion":"%s","metadata":{"name":"a"},"spec":{}}',
    "kind last": b'{"metadata":{"name":"a"},"spec":{},"apiVersion":"%s","kind":"Workload"}',
    "other fields between": b'{"apiVersion":"%s","metadata":{"name":"a"},"kind":"Workload","spec":{}}',
    "an escape in the kind": b'{"apiVersion":"%s","kind":"Work\\u006coad","metadata":{"name":"a"},"spec":{}}',
}


@pytest.mark.parametrize("version", [V1BETA1, V1BETA2])
@pytest.mark.parametrize("pattern", HEADERS.values(), ids=HEADERS)
def test_kind_and_version_may_stand_anywhere(pattern: bytes, version: str) -> None:
    for _ in range(2):  # the second time from the table of openings
        obj = decode(pattern.replace(b"%s", version.encode()))
        assert isinstance(obj, kueue.Workload)


def test_a_pending_workload() -> None:
    obj = decode(
        text(
            {
                "apiVersion": V1BETA2,
                "kind": "Workload",
                "metadata": {
                    "name": "w",
                    "namespace": "ns",
                    "uid": "u",
                    "creationTimestamp": "2026-01-01T00:00:01Z",
                    "deletionTimestamp": None,
                    "labels": {"a": "b"},
                    "managedFields": [{"manager": "kubectl"}],
                },
                "spec": {
                    "queueName": "lq",
                    "priorityClassRef": {
                        "group": "kueue.x-k8s.io",
                        "kind": "WorkloadPriorityClass",
                        "name": "p",
                    },
                    "priority": 7,
                    "active": None,
                    "podSets": [
                        {"template": TEMPLATE},
                        {
                            "name": "workers",
                            "count": 3,
                            "minCount": 2,
                            "template": {"metadata": {"labels": {"x": "y"}}, **TEMPLATE},
                            "topologyRequest": {
                                "podSetSliceSize": 2,
                                "podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 2}],
                            },
                        },
                    ],
                },
            }
        )
    )
    assert isinstance(obj, kueue.Workload)
    assert (obj.metadata.uid, obj.metadata.labels, obj.metadata.deletion_timestamp) == ("u", {"a": "b"}, None)
    assert (obj.spec.queue_name, obj.spec.priority, obj.spec.active, obj.status) == ("lq", 7, None, None)
    main, workers = obj.spec.pod_sets or []
    assert (main.name, main.count, main.min_count) == ("main", 1, None)
    assert not main.template.metadata
    assert msgspec.json.decode(main.template.spec) == TEMPLATE["spec"]
    assert (workers.name, workers.count, workers.min_count) == ("workers", 3, 2)
    assert msgspec.json.decode(workers.template.metadata) == {"labels": {"x": "y"}}
    request = workers.topology_request
    assert request is not None
    assert request.pod_set_slice_size == 2
    constraints = request.podset_slice_required_topology_constraints
    assert constraints == [kueue.PodsetSliceRequiredTopologyConstraint(topology="rack", size=2)]


STATUS: dict[str, Any] = {
    "conditions": [
        {
            "type": "QuotaReserved",
            "status": "True",
            "reason": "QuotaReserved",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:01Z",
            "observedGeneration": 2,
        }
    ],
    "admission": {
        "clusterQueue": "cq",
        "podSetAssignments": [
            {
                "name": "workers",
                "flavors": {"cpu": "f"},
                "resourceUsage": {"cpu": "3"},
                "count": 3,
                "topologyAssignment": {"levels": ["rack"], "slices": []},
                "delayedTopologyRequest": "Pending",
            }
        ],
    },
    "requeueState": {"count": 2, "requeueAt": "2026-01-01T00:00:01Z"},
    "reclaimablePods": [{"name": "workers", "count": 1}],
    "admissionChecks": [
        {
            "name": "check",
            "state": "Retry",
            "lastTransitionTime": "2026-01-01T00:00:01Z",
            "message": "",
            "requeueAfterSeconds": 1,
            "retryCount": 2,
            "podSetUpdates": [
                {
                    "name": "workers",
                    "labels": {"a": "b"},
                    "annotations": {"c": "d"},
                    "nodeSelector": {"e": "f"},
                    "tolerations": [{"key": "k", "operator": "Exists"}],
                }
            ],
        }
    ],
    "resourceRequests": [{"name": "workers", "resources": {"cpu": "3"}}],
    "accumulatedPastExecutionTimeSeconds": 5,
    "schedulingStats": {"evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 1}]},
    "nominatedClusterNames": ["c1"],
    "clusterName": "c1",
    "unhealthyNodes": [{"name": "n1"}],
    "preemptionGates": [{"name": "g", "position": "Open", "lastTransitionTime": "2026-01-01T00:00:01Z"}],
}


def test_a_full_workload_status_is_kept_field_by_field() -> None:
    document = workload() | {"status": STATUS}
    assert to_manifest(decode(text(document)))["status"] == STATUS


def test_a_null_topology_assignment_is_none() -> None:
    status = {"admission": {"clusterQueue": "cq", "podSetAssignments": [{"topologyAssignment": None}]}}
    obj = decode(text(workload() | {"status": status}))
    assert isinstance(obj, kueue.Workload)
    assert obj.status is not None
    assert obj.status.admission is not None
    (assignment,) = obj.status.admission.pod_set_assignments or []
    assert not assignment.topology_assignment


def test_required_texts_are_written_even_if_empty() -> None:
    condition = kueue.AdmissionCheckState(name="c", state="Pending")
    assert msgspec.json.encode(condition) == b'{"name":"c","state":"Pending","message":""}'


def test_a_job_keeps_its_template_as_text() -> None:
    job = decode(
        text(manifest("Job", "batch/v1", spec={"parallelism": 2, "suspend": True, "template": TEMPLATE}))
    )
    assert isinstance(job, Job)
    assert (job.spec.parallelism, job.spec.suspend) == (2, True)
    assert msgspec.json.decode(job.spec.template.spec, type=core.PodSpec).containers == [
        core.Container(name="c", resources=core.ResourceRequirements(requests={"cpu": "1"}))
    ]


QUANTITIES: dict[str, Any] = {"text": "500m", "int": 2, "float": 0.5, "large int": 10**30}


@pytest.mark.parametrize("quantity", QUANTITIES.values(), ids=QUANTITIES)
def test_quantities_stay_as_written(quantity: str | int | float) -> None:
    flavors = [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": quantity}]}]
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    obj = decode(text(manifest("ClusterQueue", spec={"resourceGroups": groups})))
    assert isinstance(obj, kueue.ClusterQueue)
    assert obj.spec is not None
    (group,) = obj.spec.resource_groups or []
    (flavor,) = group.flavors or []
    (quota,) = flavor.resources or []
    assert quota.nominal_quota == quantity
    assert type(quota.nominal_quota) is type(quantity)


def test_a_namespaced_object_without_namespace_is_in_default() -> None:
    assert key(decode(text(manifest("LocalQueue") | {"metadata": {"name": "q"}}))) == (
        "LocalQueue",
        "default",
        "q",
    )
    assert key(decode(text(manifest("Cohort") | {"metadata": {"name": "c"}}))) == ("Cohort", "", "c")


def head(kind: str = "Workload", version: str = V1BETA2) -> bytes:
    return b'{"apiVersion":"%s","kind":"%s",' % (version.encode(), kind.encode())


NAMED = head() + b'"metadata":{"name":"a","namespace":"ns"},'

# sentence -> (text, object, field, part of the message or of what is expected)
BAD: dict[str, tuple[bytes, str | None, str | None, str]] = {
    "nothing": (b"", None, None, "is empty"),
    "spaces only": (b" \n", None, None, "is empty"),
    "a list": (b"[]", None, "$", "has `array` (expected `object`)"),
    "a number": (b"3", None, "$", "has `int` (expected `object`)"),
    "null": (b"null", None, "$", "has `null` (expected `object`)"),
    "an empty object": (b"{}", None, "$.apiVersion", "is missing"),
    "no apiVersion": (b'{"kind":"Workload"}', "Workload", "$.apiVersion", "is missing"),
    "no kind": (b'{"apiVersion":"v1","metadata":{"name":"a"}}', "a", "$.kind", "is missing"),
    "a kind that is no text": (b'{"apiVersion":"v1","kind":3}', None, "$.kind", "has `int`"),
    "an unknown kind": (
        head("DaemonSet", "apps/v1") + b'"metadata":{"name":"a"}}',
        "DaemonSet a",
        "$.kind",
        "Workload",
    ),
    "a known kind in an unknown version": (
        head("Workload", "kueue.x-k8s.io/v1alpha1") + b'"metadata":{"name":"a"}}',
        "Workload a",
        "$.apiVersion",
        f"expected {V1BETA1} or {V1BETA2}",
    ),
    "a list where one object is wanted": (head("List", "v1") + b'"items":[]}', "List", "$.kind", "not known"),
    "no metadata": (head() + b'"spec":{}}', "Workload", "$.metadata", "is missing"),
    "null metadata": (head() + b'"metadata":null,"spec":{}}', "Workload", "$.metadata", "has `null`"),
    "no name": (head() + b'"metadata":{},"spec":{}}', "Workload", "$.metadata.name", "is missing"),
    "a name that is a number": (
        head() + b'"metadata":{"name":5},"spec":{}}',
        "Workload",
        "$.metadata.name",
        "`str`",
    ),
    "no spec": (NAMED + b'"x":1}', "Workload ns/a", "$.spec", "is missing"),
    "no template": (
        NAMED + b'"spec":{"podSets":[{}]}}',
        "Workload ns/a",
        "$.spec.podSets[0].template",
        "is missing",
    ),
    "a text for a number": (
        NAMED + b'"spec":{"priority":"7"}}',
        "Workload ns/a",
        "$.spec.priority",
        "has `str`",
    ),
    "a number beyond 32 bits": (
        NAMED + b'"spec":{"priority":2147483648}}',
        "Workload ns/a",
        "$.spec.priority",
        "2147483647",
    ),
    "a fraction for a count": (
        NAMED + b'"spec":{"podSets":[{"count":1.5,"template":{}}]}}',
        "Workload ns/a",
        "$.spec.podSets[0].count",
        "has `float` (expected `int`)",
    ),
    "a boolean for a quantity": (
        head("Node", "v1") + b'"metadata":{"name":"n"},"status":{"allocatable":{"cpu":true}}}',
        "Node n",
        "$.status.allocatable[...]",
        "has `bool`",
    ),
    "NaN": (
        NAMED + b'"spec":{"priority":NaN}}',
        "Workload ns/a",
        "$.spec.priority",
        "is nan (expected a finite number)",
    ),
    "Infinity in a template": (
        NAMED + b'"spec":{"podSets":[{"template":{"spec":{"x":[-Infinity]}}}]}}',
        "Workload ns/a",
        "$.spec.podSets[0].template.spec.x[0]",
        "is -inf",
    ),
    "a float beyond doubles": (
        head("Node", "v1") + b'"metadata":{"name":"n"},"status":{"allocatable":{"cpu":1e999}}}',
        "Node n",
        "$.status.allocatable[...]",
        "out of range",
    ),
    "an int of thousands of digits": (
        head("Node", "v1")
        + b'"metadata":{"name":"n"},"status":{"allocatable":{"cpu":'
        + b"9" * 5000
        + b"}}}",
        None,
        "$.status.allocatable[...]",
        "out of range",
    ),
    "cut off": (NAMED + b'"spec":{', "Workload a", None, "truncated"),
    "a comma too many": (NAMED + b'"spec":{},}', "Workload a", None, "malformed"),
    "text after the object": (NAMED + b'"spec":{}}{}', "Workload a", None, "trailing characters"),
    "no UTF-8": (head("Namespace", "v1") + b'"metadata":{"name":"\xff"}}', None, None, "UTF-8"),
    "nested too deeply": (NAMED + b'"spec":' + b"[" * 100_000 + b"]" * 100_000 + b"}", None, None, ""),
    "nested too deeply in an unknown field": (
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        None,
        None,
        "too deeply",
    ),
    "10 MB of one line": (
        NAMED + b'"spec":{"queueName":"' + b"x" * 10_000_000,
        "Workload a",
        None,
        "truncated",
    ),
}


@pytest.mark.parametrize(("data", "want_object", "want_field", "want_words"), BAD.values(), ids=BAD)
def test_a_bad_text_says_where_and_what(
    data: bytes, want_object: str | None, want_field: str | None, want_words: str
) -> None:
    with pytest.raises(InputError) as caught:
        decode(data)
    error = caught.value
    assert want_words in str(error)
    assert len(str(error)) < 700
    assert error.__context__ is None or error.__suppress_context__
    if want_object is not None:
        assert error.object == want_object
    if want_field is not None:
        assert error.field == want_field


FULL = text(workload() | {"status": STATUS})


@given(
    st.integers(0, len(FULL)),
    st.integers(0, 8),
    st.binary(max_size=8) | st.sampled_from([b"NaN", b"null", b"{", b"1e999"]),
)
def test_a_spoilt_text_gives_an_object_or_an_input_error(start: int, length: int, insert: bytes) -> None:
    data = FULL[:start] + insert + FULL[start + length :]
    for read in (decode, decode_list, decode_lines):
        with suppress(InputError):
            read(data)


def test_a_list_of_mixed_kinds() -> None:
    data = text({"apiVersion": "v1", "kind": "List", "items": [workload(), manifest("Cohort", V1BETA1)]})
    assert [type(obj) for obj in decode_list(data)] == [kueue.Workload, kueue.Cohort]


@pytest.mark.parametrize("version", [V1BETA1, V1BETA2])
def test_a_typed_list_whose_items_lack_their_kind(version: str) -> None:
    items = [{"metadata": {"name": name}, "spec": {}} for name in ("a", "b")]
    objects = decode_list(
        text({"kind": "WorkloadList", "apiVersion": version, "metadata": {}, "items": items})
    )
    assert [key(obj) for obj in objects] == [("Workload", "default", "a"), ("Workload", "default", "b")]
    assert {type(obj) for obj in objects} == {kueue.Workload}


@pytest.mark.parametrize("items", [[], None])
def test_an_empty_list(items: list[object] | None) -> None:
    assert decode_list(text({"kind": "WorkloadList", "apiVersion": V1BETA2, "items": items})) == []
    assert decode_list(text({"kind": "List", "apiVersion": "v1", "items": items})) == []


def test_one_object_is_a_list_of_one() -> None:
    assert decode_list(text(workload())) == [decode(text(workload()))]


BAD_LISTS: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown typed list": ({"kind": "FooList", "items": []}, "kind FooList"),
    "a bad item": (
        {"kind": "WorkloadList", "items": [{"metadata": {"name": "z"}, "spec": 4}]},
        "Workload z: $.spec",
    ),
    "an item without a name": (
        {"kind": "WorkloadList", "items": [{"metadata": {}, "spec": {}}]},
        "$.metadata.name",
    ),
    "an item that is a number": ({"kind": "WorkloadList", "items": [4]}, "Workload: $: has `int`"),
    "items that are no list": ({"kind": "WorkloadList", "items": 4}, "WorkloadList: $.items: has `int`"),
    "a bad item of a mixed list": (
        {"kind": "List", "items": [workload(priority="x")]},
        "Workload ns/a: $.spec.priority",
    ),
    "an item without a kind": (
        {"kind": "List", "items": [{"metadata": {"name": "z"}}]},
        "z: $.apiVersion: is missing",
    ),
    "a list in a list": ({"kind": "List", "items": [{"apiVersion": "v1", "kind": "List"}]}, "kind List"),
}


@pytest.mark.parametrize(("document", "want"), BAD_LISTS.values(), ids=BAD_LISTS)
def test_a_bad_list_names_the_item(document: dict[str, Any], want: str) -> None:
    with pytest.raises(InputError) as caught:
        decode_list(text({"apiVersion": V1BETA2} | document))
    assert want in str(caught.value)


def test_lines() -> None:
    data = text(workload()) + b"\n\n  \r\n" + text(manifest("Cohort")) + b"\n"
    assert [obj.KIND for obj in decode_lines(data)] == ["Workload", "Cohort"]
    with pytest.raises(InputError, match=r"line 3: \$: has `int`"):
        decode_lines(text(workload()) + b"\n\n4")


def test_yaml_values_are_read_as_kubernetes_reads_them() -> None:
    annotations = {
        "time": datetime(2026, 1, 31, 12, tzinfo=UTC),
        "date": date(2026, 1, 31),
        7: "number",
        True: "boolean",
    }
    obj = decode_object(manifest("Namespace", "v1") | {"metadata": {"name": "a", "annotations": annotations}})
    assert obj.metadata.annotations == {
        "time": "2026-01-31T12:00:00Z",
        "date": "2026-01-31",
        "7": "number",
        "true": "boolean",
    }


BAD_YAML: dict[str, tuple[Any, str]] = {
    "a set": ({"a"}, "$.spec: has type set (expected"),
    "not a number": ([float("nan")], "$.spec[0]: is nan"),
    "infinity": ({"x": float("inf")}, "$.spec.x: is inf"),
    "bytes": (b"x", "$.spec: has type bytes"),
    "a key that is a list": ({(1,): 2}, "$.spec: has the key (1,)"),
}


@pytest.mark.parametrize(("spec", "want"), BAD_YAML.values(), ids=BAD_YAML)
def test_what_json_cannot_say_is_refused(spec: Any, want: str) -> None:
    with pytest.raises(InputError) as caught:
        decode_object(manifest(spec=spec))
    assert want in str(caught.value)


def test_a_document_that_contains_itself_is_refused() -> None:
    document = manifest()
    document["spec"] = document
    with pytest.raises(InputError, match="too deeply"):
        decode_object(document)


def test_an_error_takes_on_the_places_that_it_does_not_know() -> None:
    error = InputError("is wrong", field="$.spec", expected="a number")
    assert isinstance(error, KueueFastError)
    assert str(error) == "$.spec: is wrong (expected a number)"
    located = error.located(file="a.yaml:3", object="Job ns/a").located(file="other", object="other")
    assert str(located) == "a.yaml:3: Job ns/a: $.spec: is wrong (expected a number)"
    assert (located.file, located.object, located.field) == ("a.yaml:3", "Job ns/a", "$.spec")
