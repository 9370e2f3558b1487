"""The hash of a pod's role: its vectors were computed by upstream's code."""

from typing import Any

import msgspec
import pytest

from kueue_fast.api.core import PodSpec
from kueue_fast.jobs.role_hash import pod_shape, role_hash

HOST = {"topologyKey": "kubernetes.io/hostname"}
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]}],
                    "matchFields": [{"operator": "Exists", "key": "metadata.name"}],
                }
            ]
        },
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 1,
                "preference": {"matchExpressions": [{"key": "b", "operator": "Exists", "values": []}]},
            }
        ],
    },
    "podAffinity": {},
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                **HOST,
                "labelSelector": {
                    "matchLabels": {"b": "c", "a": "x"},
                    "matchExpressions": [{"key": "k", "operator": "NotIn", "values": ["a", "b"]}],
                },
                "namespaces": ["n"],
                "matchLabelKeys": ["q"],
            }
        ],
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 5, "podAffinityTerm": {"topologyKey": "z", "namespaceSelector": {}}}
        ],
    },
}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "x"}},
    "minDomains": 2,
    "nodeAffinityPolicy": "Honor",
    "nodeTaintsPolicy": "Ignore",
    "matchLabelKeys": ["k"],
}
ODD = {
    "memory": "0.5Ki",
    "ephemeral-storage": "1023",
    "cpu": "0",
    "a": "100k",
    "b": "1234567n",
    "d": "1E",
    "e": "2048",
    "f": "1Ei",
    "g": "1.0001Ki",
    "h": "12e-3",
    "i": "1000000e3",
    "j": "0Ki",
    "k": "-2Ki",
}


def container(**fields: Any) -> dict[str, Any]:
    return {"name": "c", **fields}


def requests(**amounts: Any) -> dict[str, Any]:
    return {"requests": amounts}


PORTS = [
    {"containerPort": 80, "hostPort": 0},
    {"name": "x", "containerPort": 443, "hostPort": 8443, "protocol": "TCP", "hostIP": "1.2.3.4"},
]
TOLERATIONS = [
    {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0},
    {"operator": "Exists"},
]
VECTORS: dict[str, tuple[dict[str, Any], str]] = {
    "requests that are there and empty": ({"containers": [container(resources=requests())]}, "a9f06f3a"),
    "no requests": ({"containers": [container()]}, "7aa6c7b8"),
    "amounts in their canonical form": (
        {
            "containers": [
                container(resources={"requests": {"cpu": "0.1", "memory": "1024Mi", "nvidia.com/gpu": 2}})
            ]
        },
        "ca36b381",
    ),
    "ports and init containers": (
        {
            "containers": [container(ports=PORTS, resources=requests(memory="1.5Gi", cpu="1500m"))],
            "initContainers": [{"name": "i", "resources": requests(cpu="1e3")}],
        },
        "fb58f241",
    ),
    "empty is not unset": (
        {
            "containers": [container()],
            "nodeSelector": {},
            "tolerations": [],
            "overhead": {"cpu": "10m"},
            "priority": 0,
            "runtimeClassName": "r<&>",
        },
        "ab3e1b5c",
    ),
    "tolerations, and letters that are escaped": (
        {
            "containers": [container()],
            "nodeSelector": {"b": "1", "a": "é\u2028"},
            "tolerations": TOLERATIONS,
            "priority": -5,
        },
        "4c3350f8",
    ),
    "an empty affinity": ({"containers": [container()], "affinity": {}}, "96014d6b"),
    "affinity": ({"containers": [container()], "affinity": AFFINITY}, "98ca8292"),
    "spread, claims and resources of the pod": (
        {
            "containers": [container()],
            "topologySpreadConstraints": [SPREAD],
            "resourceClaims": [{"name": "r", "resourceClaimTemplateName": "t"}],
            "resources": {"requests": {"cpu": "4", "memory": "512"}, "limits": {"cpu": "8"}},
        },
        "52d24adc",
    ),
    "odd amounts": ({"containers": [container(resources={"requests": ODD})], "resources": {}}, "2df73e2d"),
}


def spec(fields: dict[str, Any]) -> PodSpec:
    return msgspec.json.decode(msgspec.json.encode(fields), type=PodSpec)


@pytest.mark.parametrize("case", VECTORS)
def test_vectors(case: str) -> None:
    fields, want = VECTORS[case]
    assert role_hash(spec(fields)) == want


def test_what_does_not_matter() -> None:
    plain = spec({"containers": [container()]})
    other = spec(
        {
            "containers": [
                {"name": "other", "image": "i", "command": ["x"], "resources": {"limits": {"cpu": "1"}}}
            ],
            "volumes": [{"name": "v"}],
            "schedulingGates": [{"name": "g"}],
            "priorityClassName": "p",
            "restartPolicy": "Never",
        }
    )
    assert role_hash(plain) == role_hash(other)


def test_the_shape_is_what_the_hash_is_of() -> None:
    shape = pod_shape(spec({"containers": [container(resources=requests(cpu="1000m"))]}))
    assert list(shape) == sorted(shape)
    assert shape["containers"] == [{"ports": None, "resources": {"requests": {"cpu": "1"}}}]
    assert "resources" not in shape
