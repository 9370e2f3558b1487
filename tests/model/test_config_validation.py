"""What is refused in a Configuration that could be read."""

import pytest

from kueue_fast.api.configuration import Configuration, default_configuration, load_configuration
from kueue_fast.model.config_validation import validate_configuration
from kueue_fast.model.features import FeatureGates

HEADER = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"


def load(text: str) -> Configuration:
    return load_configuration((HEADER + text).encode(), "config.yaml")


def test_the_defaults_are_valid() -> None:
    assert validate_configuration(default_configuration(), FeatureGates()) == []


VALID: dict[str, tuple[str, dict[str, bool]]] = {
    "each list of preemption strategies": (
        "fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}",
        {},
    ),
    "a bad section of waitForPodsReady while its gate switches it off": (
        "waitForPodsReady: {timeout: -5m}",
        {"DisableWaitForPodsReady": True},
    ),
    "prefixes with the default quota check": (
        "resources: {quotaCheckStrategy: BlockUndeclared, excludeResourcePrefixes: [a]}",
        {},
    ),
    "a quota check that is not looked at": (
        "resources: {quotaCheckStrategy: Foo}",
        {"QuotaCheckStrategy": False},
    ),
    "a selector on another label": (
        "managedJobsNamespaceSelector: {matchLabels: {managed: 'true'}}",
        {},
    ),
    "names of certificates while they are off": (
        "internalCertManagement: {enable: false, webhookServiceName: _}",
        {},
    ),
    "one device class in one mapping": (
        "resources: {deviceClassMappings: [{name: example.com/gpu, deviceClassNames: [gpu.example.com]}]}",
        {},
    ),
    "an external framework": ("integrations: {externalFrameworks: [Foo.v1.example.com]}", {}),
}


@pytest.mark.parametrize("case", VALID)
def test_valid(case: str) -> None:
    text, gates = VALID[case]
    assert validate_configuration(load(text), FeatureGates(gates)) == []


INVALID: dict[str, tuple[str, list[str]]] = {
    "a negative timeout": (
        "waitForPodsReady: {timeout: -5m}",
        [
            "waitForPodsReady.timeout: Invalid value",
            "waitForPodsReady.recoveryTimeout: Invalid value",  # it follows the timeout
        ],
    ),
    "a requeuing strategy with everything wrong": (
        "waitForPodsReady: {requeuingStrategy: {timestamp: Now, backoffLimitCount: -1,"
        " backoffBaseSeconds: -1, backoffMaxSeconds: -1}}",
        [
            "waitForPodsReady.requeuingStrategy.timestamp: Unsupported value",
            "waitForPodsReady.requeuingStrategy.backoffLimitCount: Invalid value",
            "waitForPodsReady.requeuingStrategy.backoffBaseSeconds: Invalid value",
            "waitForPodsReady.requeuingStrategy.backoffMaxSeconds: Invalid value",
        ],
    ),
    "an unknown framework": (
        "integrations: {frameworks: [batch/job, unknown/job]}",
        ["integrations.frameworks[1]: Unsupported value"],
    ),
    "a framework twice": (
        "integrations: {frameworks: [batch/job, batch/job]}",
        ["integrations.frameworks[1]: Duplicate value"],
    ),
    "an external framework that is built in": (
        "integrations: {frameworks: [batch/job], externalFrameworks: [Job.v1.batch]}",
        ["integrations.externalFrameworks[0]: Duplicate value"],
    ),
    "an external framework in another form": (
        "integrations: {externalFrameworks: [Foo]}",
        ["integrations.externalFrameworks[0]: Invalid value"],
    ),
    "negative intervals and a bad origin": (
        "multiKueue: {gcInterval: -1s, workerLostTimeout: -1s, origin: '=]'}",
        [
            "multiKueue.gcInterval: Invalid value",
            "multiKueue.workerLostTimeout: Invalid value",
            "multiKueue.origin: Invalid value",
        ],
    ),
    "external frameworks: form, twice, built in": (
        "multiKueue: {externalFrameworks: [{name: Foo}, {name: A.v1.b}, {name: A.v1.b}, {name: Job.v1.batch}]}",
        [
            "multiKueue.externalFrameworks[0].name: Invalid value",
            "multiKueue.externalFrameworks[2].name: Duplicate value",
            "multiKueue.externalFrameworks[3].name: Invalid value",
        ],
    ),
    "a cluster profile with both lists and an empty provider": (
        "multiKueue: {clusterProfile: {accessProviders: [{}], credentialsProviders: [{}]}}",
        [
            "multiKueue.clusterProfile.credentialsProviders: Forbidden",
            "multiKueue.clusterProfile.accessProviders.name: Required value",
            "multiKueue.clusterProfile.accessProviders.execConfig.command: Required value",
            "multiKueue.clusterProfile.accessProviders.execConfig.apiVersion: Required value",
            "multiKueue.clusterProfile.accessProviders.execConfig.interactiveMode: Required value",
        ],
    ),
    "steps of a dispatcher that is not in use, none of them": (
        "multiKueue: {incrementalDispatcherConfig: {stepSize: 0}}",
        [
            "multiKueue.incrementalDispatcherConfig: Invalid value",
            "multiKueue.incrementalDispatcherConfig.stepSize: Invalid value",
        ],
    ),
    "fair sharing without strategies": (
        "fairSharing: {}",
        ["fairSharing.preemptionStrategies: Required value"],
    ),
    "fair sharing strategies in another order": (
        "fairSharing: {preemptionStrategies: [LessThanInitialShare, LessThanOrEqualToFinalShare]}",
        ["fairSharing.preemptionStrategies: Unsupported value"],
    ),
    "negative values of admission fair sharing": (
        "admissionFairSharing: {usageHalfLifeTime: -1s, usageSamplingInterval: -1s, resourceWeights: {cpu: -1}}",
        [
            "admissionFairSharing.usageHalfLifeTime: Invalid value",
            "admissionFairSharing.usageSamplingInterval: Invalid value",
            "admissionFairSharing.resourceWeights[cpu]: Invalid value",
        ],
    ),
    "names of certificates": (
        "internalCertManagement: {webhookServiceName: 1a, webhookSecretName: -a}",
        [
            "internalCertManagement.webhookServiceName: Invalid value",
            "internalCertManagement.webhookSecretName: Invalid value",
        ],
    ),
    "transformations: strategy, input twice, quantity": (
        "resources: {transformations: [{input: a, strategy: Drop}, {input: a, outputs: {b: 1x}}]}",
        [
            "resources.transformations[0].strategy: Unsupported value",
            "resources.transformations[1].input: Duplicate value",
            "resources.transformations[1].outputs[b]: Invalid value",
        ],
    ),
    "device classes: names, twice, in two mappings, none": (
        "resources: {deviceClassMappings: [{name: a, deviceClassNames: [b, b, '@']},"
        " {name: c, deviceClassNames: [b]}, {name: c}]}",
        [
            "resources.deviceClassMappings[0].deviceClassNames[1]: Duplicate value",
            "resources.deviceClassMappings[0].deviceClassNames[2]: Invalid value",
            "resources.deviceClassMappings[1].deviceClassNames[0]: Invalid value",
            "resources.deviceClassMappings[2].name: Duplicate value",
            "resources.deviceClassMappings[2].deviceClassNames: Required value",
        ],
    ),
    "sources of device classes, which are not supported": (
        "resources: {deviceClassMappings: [{name: a, deviceClassNames: [b], sources: [{counter: {name: c}}]}]}",
        ["resources.deviceClassMappings[0].sources: Invalid value"],
    ),
    "a selector of all namespaces": (
        "managedJobsNamespaceSelector: {}",
        ["managedJobsNamespaceSelector: Invalid value", "managedJobsNamespaceSelector: Invalid value"],
    ),
    "a selector that cannot be read": (
        "managedJobsNamespaceSelector: {matchExpressions: [{key: a, operator: In}]}",
        ["managedJobsNamespaceSelector.matchExpressions[0].values: Required value"],
    ),
    "negative retention": (
        "objectRetentionPolicies: {workloads: {afterFinished: -1s, afterDeactivatedByKueue: -1s}}",
        [
            "objectRetentionPolicies.workloads.afterFinished: Invalid value",
            "objectRetentionPolicies.workloads.afterDeactivatedByKueue: Invalid value",
        ],
    ),
    "an old TLS version and a bad curve, as one error": (
        "tls: {minVersion: VersionTLS11, curvePreferences: [0, 29, 29]}",
        ["tls: Invalid value"],
    ),
    "a cipher suite by the name that OpenSSL has for it": (
        "tls: {cipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, ECDHE-RSA-AES128-GCM-SHA256]}",
        ["tls: Invalid value"],
    ),
    "cipher suites with TLS 1.3": (
        "tls: {minVersion: VersionTLS13, cipherSuites: [TLS_AES_128_GCM_SHA256]}",
        ["tls.cipherSuites: Invalid value"],
    ),
    "an address and a port": (
        "visibilityServer: {bindAddress: here, bindPort: 0}",
        ["visibilityServer.bindAddress: Invalid value", "visibilityServer.bindPort: Invalid value"],
    ),
    "metric labels: names, sources, tracked values": (
        "metrics: {customLabels: [{name: 1a}, {name: b, sourceLabelKey: a, sourceAnnotationKey: a},"
        " {name: b}, {name: c, sourceKind: Workload}, {name: d, sourceKind: Node}, {name: a_}]}",
        [
            "metrics.customLabels[0].name: Invalid value",
            "metrics.customLabels[1]: Invalid value",
            "metrics.customLabels[2].name: Duplicate value",
            "metrics.customLabels[3].trackedValues: Invalid value",
            "metrics.customLabels[5].name: Invalid value",
            "metrics.customLabels: Invalid value",
        ],
    ),
    "more metric labels than a kind may have": (
        "metrics: {customLabels: [{name: a, sourceKind: Workload, trackedValues: [x]},"
        " {name: b, sourceKind: Workload, trackedValues: [x]}, {name: c, sourceKind: Workload, trackedValues: [x]}]}",
        ["metrics.customLabels: Invalid value"],
    ),
    "prefixes where undeclared resources are ignored": (
        "resources: {quotaCheckStrategy: IgnoreUndeclared, excludeResourcePrefixes: [a]}",
        ["resources.quotaCheckStrategy: Invalid value"],
    ),
    "an unknown quota check": (
        "resources: {quotaCheckStrategy: Foo}",
        ["resources.quotaCheckStrategy: Unsupported value"],
    ),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid(case: str) -> None:
    text, want = INVALID[case]
    errors = validate_configuration(load(text), FeatureGates())
    assert [f"{error.path}: {error.type}" for error in errors] == want


def test_the_selector_is_told_twice_where_pods_are_managed() -> None:
    text = "integrations: {frameworks: [pod]}\nmanagedJobsNamespaceSelector: {}"
    errors = validate_configuration(load(text), FeatureGates())
    assert [error.path for error in errors] == ["managedJobsNamespaceSelector"] * 4


def test_a_v1beta1_file_that_waits_for_pods_needs_a_timeout() -> None:
    text = HEADER.replace("v1beta2", "v1beta1") + "waitForPodsReady: {enable: true, timeout: 0s}"
    configuration = load_configuration(text.encode(), "config.yaml")
    errors = validate_configuration(configuration, FeatureGates())
    assert [f"{error.path}: {error.type}" for error in errors] == ["waitForPodsReady.timeout: Required value"]
