"""Reading the Configuration: what loads, with which defaults, and what is refused where."""

import json
from typing import Any

import msgspec
import pytest

from kueue_fast.api.configuration import (
    Configuration,
    default_configuration,
    load_configuration,
    parse_duration,
)
from kueue_fast.errors import InputError

HEADER = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
HEADER_V1BETA1 = "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n"


def load(text: str) -> Configuration:
    return load_configuration(text.encode(), "config.yaml")


def at(configuration: Configuration, path: str) -> Any:
    value: Any = msgspec.to_builtins(configuration)
    for name in path.split("."):
        value = value[int(name)] if name.isdigit() else value.get(name)
        if value is None:
            return None
    return value


VALUES: dict[str, tuple[str, dict[str, Any]]] = {
    "an empty v1beta2 file waits 30 minutes for Pods": (
        HEADER,
        {
            "waitForPodsReady.timeout": "30m",
            "waitForPodsReady.recoveryTimeout": "30m",
            "waitForPodsReady.blockAdmission": False,
            "waitForPodsReady.requeuingStrategy.timestamp": "Eviction",
            "waitForPodsReady.requeuingStrategy.backoffBaseSeconds": 60,
            "waitForPodsReady.requeuingStrategy.backoffMaxSeconds": 3600,
            "waitForPodsReady.requeuingStrategy.backoffLimitCount": None,
        },
    ),
    "the recovery timeout follows the timeout": (
        HEADER + "waitForPodsReady: {timeout: 7m}",
        {"waitForPodsReady.timeout": "7m", "waitForPodsReady.recoveryTimeout": "7m"},
    ),
    "an explicit recovery timeout of 0s is kept, a timeout of 0s is not": (
        HEADER + "waitForPodsReady: {timeout: 0s, recoveryTimeout: 0s}",
        {"waitForPodsReady.timeout": "30m", "waitForPodsReady.recoveryTimeout": "0s"},
    ),
    "an empty v1beta1 file does not wait for Pods and does not share fairly": (
        HEADER_V1BETA1,
        {"waitForPodsReady": None, "fairSharing": None, "visibilityServer.bindPort": 8082},
    ),
    "v1beta1 waits 5 minutes and blocks admission": (
        HEADER_V1BETA1 + "waitForPodsReady: {enable: true}",
        {
            "waitForPodsReady.timeout": "5m",
            "waitForPodsReady.recoveryTimeout": "5m",
            "waitForPodsReady.blockAdmission": True,
            "waitForPodsReady.requeuingStrategy.timestamp": "Eviction",
        },
    ),
    "v1beta1 without enable drops what the section says": (
        HEADER_V1BETA1 + "waitForPodsReady: {timeout: 1m}\n"
        "fairSharing: {enable: false, preemptionStrategies: [LessThanInitialShare]}",
        {"waitForPodsReady": None, "fairSharing": None},
    ),
    "v1beta1 fair sharing has both strategies by default": (
        HEADER_V1BETA1 + "fairSharing: {enable: true}",
        {"fairSharing.preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]},
    ),
    "v1beta2 fair sharing has no default": (
        HEADER + "fairSharing: {}",
        {"fairSharing.preemptionStrategies": None},
    ),
    "v1beta1's deprecated fields are read and dropped": (
        HEADER_V1BETA1 + "queueVisibility: {updateIntervalSeconds: 5, clusterQueues: {maxCount: 10}}\n"
        "integrations: {frameworks: [pod], podOptions: {podSelector: {matchLabels: {a: b}}}}",
        {"integrations.frameworks": ["pod"], "apiVersion": None},
    ),
    "an explicit zero of an optional number is kept": (
        HEADER + "clientConnection: {qps: 0, burst: 0}\nmultiKueue: {gcInterval: 0s, origin: ''}",
        {
            "clientConnection.qps": 0.0,
            "clientConnection.burst": 0,
            "multiKueue.gcInterval": "0s",
            "multiKueue.origin": "multikueue",
        },
    ),
    "an empty address becomes the default": (
        HEADER + "metrics: {bindAddress: ''}\nhealth: {healthProbeBindAddress: '0'}",
        {"metrics.bindAddress": ":8443", "health.healthProbeBindAddress": "0"},
    ),
    "metrics of LocalQueues are on only if their section is absent": (
        HEADER + "metrics: {localQueueMetrics: {}}",
        {"metrics.localQueueMetrics.enable": None},
    ),
    "without internal certificates their names stay absent": (
        HEADER + "internalCertManagement: {enable: false}",
        {
            "internalCertManagement.enable": False,
            "internalCertManagement.webhookServiceName": None,
            "internalCertManagement.webhookSecretName": None,
        },
    ),
    "the namespace is exempt from management": (
        HEADER + "namespace: other",
        {
            "managedJobsNamespaceSelector.matchExpressions.0.operator": "NotIn",
            "managedJobsNamespaceSelector.matchExpressions.0.values": ["kube-system", "other"],
        },
    ),
    "a transformation retains its input by default": (
        HEADER + "resources: {transformations: [{input: a, outputs: {b: 5, c: 1Gi, d: 0.5}}]}",
        {
            "resources.transformations.0.strategy": "Retain",
            "resources.transformations.0.outputs": {"b": 5, "c": "1Gi", "d": 0.5},
        },
    ),
    "admission fair sharing samples every 5 minutes": (
        HEADER + "admissionFairSharing: {resourceWeights: {cpu: 2, memory: 1e-3}}",
        {
            "admissionFairSharing.usageHalfLifeTime": "0s",
            "admissionFairSharing.usageSamplingInterval": "5m",
            "admissionFairSharing.resourceWeights": {"cpu": 2.0, "memory": 0.001},
        },
    ),
    "the incremental dispatcher takes 3 clusters at a time": (
        HEADER + "multiKueue: {dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental}",
        {"multiKueue.incrementalDispatcherConfig.stepSize": 3},
    ),
    "a cache timeout is in nanoseconds": (
        HEADER + "controller: {cacheSyncTimeout: 3, groupKindConcurrency: {Job.batch: 5}}",
        {"controller.cacheSyncTimeout": 3, "controller.groupKindConcurrency": {"Job.batch": 5}},
    ),
    "null reads as absent": (
        HEADER + "waitForPodsReady:\nresources: {excludeResourcePrefixes: null}",
        {"waitForPodsReady.timeout": "30m", "resources.excludeResourcePrefixes": None},
    ),
    "text that looks like a time stays text": (
        HEADER + "metrics: {bindAddress: 10:20}\nhealth: {readinessEndpointName: 2024-01-01}",
        {"metrics.bindAddress": "10:20", "health.readinessEndpointName": "2024-01-01"},
    ),
    "JSON, with tabs between its tokens": (
        '{\t"apiVersion": "config.kueue.x-k8s.io/v1beta2",\t"kind": "Configuration", "namespace": "n"}',
        {"namespace": "n"},
    ),
    "a document marker and comments": (
        "# ours\n---\n" + HEADER + "namespace: n # here\n",
        {"namespace": "n"},
    ),
}


@pytest.mark.parametrize("case", VALUES)
def test_value(case: str) -> None:
    text, want = VALUES[case]
    configuration = load(text)
    assert {path: at(configuration, path) for path in want} == want


def test_no_file_equals_an_empty_one() -> None:
    assert load(HEADER) == default_configuration()


def test_the_process_tells_its_own_namespace() -> None:
    configuration = load_configuration(HEADER.encode(), "config.yaml", namespace="here")
    assert configuration.namespace == "here"
    assert default_configuration("here") == configuration


def test_all_sections_of_both_versions_load() -> None:
    text = """
webhook: {port: 9443, host: "", certDir: /certs}
leaderElection: {leaderElect: true, leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s,
  resourceLock: leases, resourceName: a, resourceNamespace: b}
metrics: {bindAddress: ":1", enableClusterQueueResources: true, customLabels: [{name: team, sourceLabelKey: a/b}],
  localQueueMetrics: {enable: true, localQueueSelector: {matchLabels: {a: b}}}}
health: {healthProbeBindAddress: ":2", readinessEndpointName: r, livenessEndpointName: l}
pprofBindAddress: ":3"
controller: {groupKindConcurrency: {Job.batch: 5}, cacheSyncTimeout: 120000000000}
tls: {minVersion: VersionTLS12, cipherSuites: [A], curvePreferences: [29]}
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector: {matchExpressions: [{key: a, operator: Exists}]}
internalCertManagement: {enable: true, webhookServiceName: a, webhookSecretName: b}
clientConnection: {qps: 50, burst: 100}
integrations: {frameworks: [batch/job], externalFrameworks: [Foo.v1.example.com], labelKeysToCopy: [a]}
multiKueue: {gcInterval: 1m, origin: o, workerLostTimeout: 5m, dispatcherName: d, externalFrameworks: [{name: a}]}
admissionFairSharing: {usageHalfLifeTime: 168h, usageSamplingInterval: 5m, resourceWeights: {cpu: 1}}
resources: {excludeResourcePrefixes: [a], deviceClassMappings: [{name: a, deviceClassNames: [b]}],
  transformations: [{input: a, strategy: Replace, multiplyBy: b, outputs: {c: 1}}]}
featureGates: {PriorityBoost: true}
objectRetentionPolicies: {workloads: {afterFinished: 1h, afterDeactivatedByKueue: 0s}}
"""
    v1beta2 = """
visibilityServer: {bindAddress: 0.0.0.0, bindPort: 1}
waitForPodsReady: {timeout: 1m, requeuingStrategy: {timestamp: Creation, backoffLimitCount: 1}}
fairSharing: {preemptionStrategies: [LessThanInitialShare]}
"""
    v1beta1 = """
waitForPodsReady: {enable: true, timeout: 1m, blockAdmission: true, recoveryTimeout: 1m}
fairSharing: {enable: true, preemptionStrategies: [LessThanInitialShare]}
"""
    assert load(HEADER + text + v1beta2).tls is not None
    assert load(HEADER_V1BETA1 + text + v1beta1).tls is not None


REFUSED: dict[str, tuple[str, str, str | None, str, str]] = {
    # text, then file, field, a part of the message, a part of what was expected
    "an empty file": ("", "config.yaml", "$", "nothing", "a mapping"),
    "a list": ("- a", "config.yaml", "$", "a list", "a mapping"),
    "no kind": ("a: 1", "config.yaml", "$.kind", "no kind", "Configuration"),
    "another kind": ("kind: ConfigMap", "config.yaml", "$.kind", "'ConfigMap'", "Configuration"),
    "no apiVersion": ("kind: Configuration", "config.yaml", "$.apiVersion", "no apiVersion", "v1beta2"),
    "another apiVersion": (
        "kind: Configuration\napiVersion: config.kueue.x-k8s.io/v1alpha1",
        "config.yaml",
        "$.apiVersion",
        "v1alpha1",
        "config.kueue.x-k8s.io/v1beta2 or config.kueue.x-k8s.io/v1beta1",
    ),
    "an unknown field": (HEADER + "foo: 1", "config.yaml", "$.foo", "unknown field", "fairSharing"),
    "an unknown field further in": (
        HEADER + "resources: {transformations: [{input: a}, {inputs: b}]}",
        "config.yaml",
        "$.resources.transformations[1].inputs",
        "unknown field",
        "multiplyBy",
    ),
    "a field in another case of letters": (
        HEADER + "FairSharing: {}",
        "config.yaml",
        "$.FairSharing",
        "unknown field",
        "fairSharing",
    ),
    "two unknown fields, both told": (
        HEADER + "foo: 1\nresources: {bar: 1}",
        "config.yaml",
        "$.foo",
        "$.resources.bar: unknown field",
        "fairSharing",
    ),
    "an unknown field of a selector": (
        HEADER + "managedJobsNamespaceSelector: {matchLabel: {}}",
        "config.yaml",
        "$.managedJobsNamespaceSelector.matchLabel",
        "unknown field",
        "matchLabels",
    ),
    "a v1beta2 field in a v1beta1 file": (
        HEADER_V1BETA1 + "resources: {quotaCheckStrategy: IgnoreUndeclared}",
        "config.yaml",
        "$.resources.quotaCheckStrategy",
        "unknown field",
        "transformations",
    ),
    "a v1beta1 field in a v1beta2 file": (
        HEADER + "fairSharing: {enable: true}",
        "config.yaml",
        "$.fairSharing.enable",
        "unknown field",
        "preemptionStrategies",
    ),
    "a number where text is wanted": (
        HEADER + "namespace: 5",
        "config.yaml",
        "$.namespace",
        "an integer",
        "a string",
    ),
    "text where a number is wanted": (
        HEADER + "waitForPodsReady: {requeuingStrategy: {backoffBaseSeconds: '5'}}",
        "config.yaml",
        "$.waitForPodsReady.requeuingStrategy.backoffBaseSeconds",
        "a string",
        "an integer",
    ),
    "a number that int32 does not hold": (
        HEADER + "clientConnection: {burst: 2147483648}",
        "config.yaml",
        "$.clientConnection.burst",
        "out of range",
        "2147483647",
    ),
    "text for a feature gate": (
        HEADER + "featureGates: {A: true, B: 'true'}",
        "config.yaml",
        "$.featureGates[B]",
        "a string",
        "true or false",
    ),
    "a mapping where a list is wanted": (
        HEADER + "fairSharing: {preemptionStrategies: {}}",
        "config.yaml",
        "$.fairSharing.preemptionStrategies",
        "a mapping",
        "a list",
    ),
    "a duration without a unit": (
        HEADER + "waitForPodsReady: {timeout: '5'}",
        "config.yaml",
        "$.waitForPodsReady.timeout",
        "'5' is not a duration",
        "30s, 5m or 1h30m",
    ),
    "a number for a duration": (
        HEADER + "waitForPodsReady: {timeout: 300}",
        "config.yaml",
        "$.waitForPodsReady.timeout",
        "an integer",
        "a string",
    ),
    "a duration that int64 does not hold": (
        HEADER + "multiKueue: {gcInterval: 9999999h}",
        "config.yaml",
        "$.multiKueue.gcInterval",
        "9999999h",
        "292 years",
    ),
    "a text for a time in nanoseconds": (
        HEADER + "controller: {cacheSyncTimeout: 2m}",
        "config.yaml",
        "$.controller.cacheSyncTimeout",
        "a string",
        "an integer",
    ),
    "a weight that is not a number": (
        HEADER + "admissionFairSharing: {resourceWeights: {cpu: .nan}}",
        "config.yaml",
        "$.admissionFairSharing.resourceWeights.cpu",
        "nan",
        "a finite number",
    ),
    "NaN in JSON": (
        json.dumps(
            {
                "apiVersion": "config.kueue.x-k8s.io/v1beta2",
                "kind": "Configuration",
                "admissionFairSharing": {"resourceWeights": {"cpu": float("nan")}},
            }
        ),
        "config.yaml",
        "$.admissionFairSharing.resourceWeights.cpu",
        "nan",
        "a finite number",
    ),
    "broken YAML": (HEADER + "namespace: [", "config.yaml:4", None, "expected", "YAML or JSON"),
    "broken JSON": ('{"kind": "Configuration",\n"a": }x', "config.yaml:2", None, "expected", "YAML or JSON"),
    "a field twice": (HEADER + "namespace: a\nnamespace: b", "config.yaml:4", None, "twice", "once"),
    "a field twice in JSON": (
        '{"kind": "Configuration", "kind": "Configuration"}',
        "config.yaml",
        None,
        "'kind' stands twice",
        "once",
    ),
    "two documents": (HEADER + "---\n" + HEADER, "config.yaml", None, "2 documents", "one"),
    "a control character": (
        HEADER + "# ä\n# é\nnamespace: \x01",
        "config.yaml:5",
        None,
        "'\\x01'",
        "control",
    ),
    "aliases that expand without bound": (
        HEADER
        + "a0: &a0 [x]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)),
        "config.yaml",
        None,
        "more than 100000 values",
        "one",
    ),
    "a list that contains itself": (HEADER + "a: &a [*a]", "config.yaml", None, "nested", "YAML"),
    "a list as a key": (HEADER + "? [a]\n: 1", "config.yaml:3", None, "unhashable key", "YAML"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    text, want_file, want_field, want_message, want_expected = REFUSED[case]
    with pytest.raises(InputError) as raised:
        load(text)
    error = raised.value
    assert error.file == want_file
    assert error.field == want_field
    assert want_message in error.message
    assert want_expected in (error.expected or "")


def test_bytes_that_are_not_utf8_are_refused_with_their_line() -> None:
    with pytest.raises(InputError, match="UTF-8") as raised:
        load_configuration(HEADER.encode() + b"namespace: \xff", "config.yaml")
    assert raised.value.file == "config.yaml:3"


def test_ten_megabytes_of_one_line_are_refused() -> None:
    with pytest.raises(InputError):
        load("[" * 10_000_000)


DURATIONS = {
    "0": 0,
    "0s": 0,
    "1ns": 1,
    "1us": 1_000,
    "1µs": 1_000,
    "1ms": 1_000_000,
    "1.5s": 1_500_000_000,
    ".5s": 500_000_000,
    "1.s": 1_000_000_000,
    "1h30m": 5_400_000_000_000,
    "-5s": -5_000_000_000,
    "+5s": 5_000_000_000,
    "0.3ns": 0,
    "2562047h": 2562047 * 3_600_000_000_000,
}


@pytest.mark.parametrize(("text", "want"), DURATIONS.items())
def test_duration(text: str, want: int) -> None:
    assert parse_duration(text) == want


@pytest.mark.parametrize("text", ["", "5", "s", ".s", "1 s", "1d", "1S", "٣s", "1s\n", "--1s", "2562048h"])
def test_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration: expected"):
        parse_duration(text)
