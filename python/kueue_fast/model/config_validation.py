"""What Kueue refuses in a Configuration that could be read. Source: OP-340..356.

Errors come in upstream's order. Sources of device class mappings are refused altogether: to check them takes a compiler
of CEL expressions (OP-915).
"""

from collections.abc import Iterator

from kueue_fast.api import configuration_types as types
from kueue_fast.api.configuration_types import Configuration, parse_duration
from kueue_fast.api.meta import LabelSelector
from kueue_fast.model.config_server_validation import (
    validate_custom_labels,
    validate_tls,
    validate_visibility_server,
)
from kueue_fast.model.features import FeatureGates
from kueue_fast.model.selectors import SelectorError, selects
from kueue_fast.model.validation import names
from kueue_fast.model.validation.common import (
    NEGATIVE_MESSAGE,
    at_least,
    each,
    items,
    label_selector,
    one_of,
    quantities,
)
from kueue_fast.model.validation.field_error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_many,
)

METADATA_NAME_LABEL = "kubernetes.io/metadata.name"
# Job frameworks and the kinds they manage, as Kind.version.group (Kind.version for the core group).
FRAMEWORKS = {
    "batch/job": "Job.v1.batch",
    "kubeflow.org/mpijob": "MPIJob.v2beta1.kubeflow.org",
    "kubeflow.org/jaxjob": "JAXJob.v1.kubeflow.org",
    "kubeflow.org/paddlejob": "PaddleJob.v1.kubeflow.org",
    "kubeflow.org/pytorchjob": "PyTorchJob.v1.kubeflow.org",
    "kubeflow.org/tfjob": "TFJob.v1.kubeflow.org",
    "kubeflow.org/xgboostjob": "XGBoostJob.v1.kubeflow.org",
    "ray.io/rayjob": "RayJob.v1.ray.io",
    "ray.io/raycluster": "RayCluster.v1.ray.io",
    "ray.io/rayservice": "RayService.v1.ray.io",
    "jobset.x-k8s.io/jobset": "JobSet.v1alpha2.jobset.x-k8s.io",
    "trainer.kubeflow.org/trainjob": "TrainJob.v1alpha1.trainer.kubeflow.org",
    "workload.codeflare.dev/appwrapper": "AppWrapper.v1beta2.workload.codeflare.dev",
    "sparkoperator.k8s.io/sparkapplication": "SparkApplication.v1beta2.sparkoperator.k8s.io",
    "pod": "Pod.v1",
    "deployment": "Deployment.v1.apps",
    "statefulset": "StatefulSet.v1.apps",
    "leaderworkerset.x-k8s.io/leaderworkerset": "LeaderWorkerSet.v1.leaderworkerset.x-k8s.io",
}
FRAMEWORKS_WITHOUT_ADAPTER = ("deployment", "sparkoperator.k8s.io/sparkapplication")
PREEMPTION_STRATEGIES = (
    (types.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE,),
    (types.LESS_THAN_INITIAL_SHARE,),
    (types.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, types.LESS_THAN_INITIAL_SHARE),
)
INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")
MAPPINGS_MAX = 16
DEVICE_CLASSES_MAX = 8


def validate_configuration(configuration: Configuration, gates: FeatureGates) -> list[FieldError]:
    """All that is wrong with a Configuration whose defaults are set; empty if it may be used."""
    return [
        *_wait_for_pods_ready(configuration, gates),
        *_integrations(configuration),
        *_multi_kueue(configuration),
        *_fair_sharing(configuration.fair_sharing),
        *_admission_fair_sharing(configuration.admission_fair_sharing),
        *_internal_cert_management(configuration.internal_cert_management),
        *validate_resources(configuration.resources),
        *_managed_jobs_namespace_selector(configuration),
        *_object_retention_policies(configuration.object_retention_policies),
        *validate_tls(configuration.tls),
        *validate_visibility_server(configuration.visibility_server),
        *validate_custom_labels(configuration.metrics),
        *_quota_check_strategy(configuration.resources, gates),
    ]


def _not_negative(path: str, duration: str | None) -> Iterator[FieldError]:
    if duration is not None and parse_duration(duration) < 0:
        yield invalid(path, duration, NEGATIVE_MESSAGE)


def _wait_for_pods_ready(configuration: Configuration, gates: FeatureGates) -> Iterator[FieldError]:
    wait = configuration.wait_for_pods_ready
    if wait is None or gates.enabled("DisableWaitForPodsReady"):
        return
    path = "waitForPodsReady"
    if wait.timeout is None or parse_duration(wait.timeout) == 0:
        yield required(f"{path}.timeout", "must be a duration other than 0")
    yield from _not_negative(f"{path}.timeout", wait.timeout)
    yield from _not_negative(f"{path}.recoveryTimeout", wait.recovery_timeout)
    strategy = wait.requeuing_strategy
    if strategy is not None:
        path = f"{path}.requeuingStrategy"
        timestamps = (types.CREATION_TIMESTAMP, types.EVICTION_TIMESTAMP)
        yield from one_of(f"{path}.timestamp", strategy.timestamp, timestamps)
        yield from at_least(f"{path}.backoffLimitCount", strategy.backoff_limit_count, 0)
        yield from at_least(f"{path}.backoffBaseSeconds", strategy.backoff_base_seconds, 0)
        yield from at_least(f"{path}.backoffMaxSeconds", strategy.backoff_max_seconds, 0)


def _is_kind(text: str) -> bool:
    return text.count(".") >= 2


def _integrations(configuration: Configuration) -> Iterator[FieldError]:
    integrations = configuration.integrations
    if integrations is None:
        yield required("integrations", "must be given")
        return
    if integrations.frameworks is None:
        yield required("integrations.frameworks", "must be given")
        return
    managed: set[str] = set()
    for index, framework in enumerate(integrations.frameworks):
        path = f"integrations.frameworks[{index}]"
        kind = FRAMEWORKS.get(framework)
        if kind is None:
            yield not_supported(path, framework, sorted(FRAMEWORKS))
        elif kind in managed:
            yield duplicate(path, framework)
        else:
            managed.add(kind)
    for index, framework in enumerate(integrations.external_frameworks or ()):
        path = f"integrations.externalFrameworks[{index}]"
        if not _is_kind(framework):
            yield invalid(path, framework, "must be written as Kind.version.group")
        elif framework in managed:
            yield duplicate(path, framework)
        managed.add(framework)
    if "pod" in integrations.frameworks:
        if configuration.managed_jobs_namespace_selector is None:
            message = "must be given when the framework pod is enabled"
            yield required("managedJobsNamespaceSelector", message)
        else:
            # Upstream tells these twice, here and with the selector's own checks (OP-341).
            yield from _managed_jobs_namespace_selector(configuration)


def _multi_kueue(configuration: Configuration) -> Iterator[FieldError]:
    multi_kueue = configuration.multi_kueue
    if multi_kueue is None:
        return
    yield from _not_negative("multiKueue.gcInterval", multi_kueue.gc_interval)
    yield from _not_negative("multiKueue.workerLostTimeout", multi_kueue.worker_lost_timeout)
    origin = multi_kueue.origin or ""
    yield from each("multiKueue.origin", origin, names.label_value(origin))
    frameworks = configuration.integrations.frameworks if configuration.integrations is not None else None
    built_in = {
        FRAMEWORKS[name]
        for name in frameworks or ()
        if name in FRAMEWORKS and name not in FRAMEWORKS_WITHOUT_ADAPTER
    }
    seen: set[str] = set()
    for index, framework in enumerate(multi_kueue.external_frameworks or ()):
        path = f"multiKueue.externalFrameworks[{index}].name"
        if not _is_kind(framework.name):
            yield invalid(path, framework.name, "must be written as Kind.version.group")
            continue
        if framework.name in seen:
            yield duplicate(path, framework.name)
        seen.add(framework.name)
        if framework.name in built_in:
            yield invalid(path, framework.name, "this kind has an adapter of Kueue's own")
    if multi_kueue.cluster_profile is not None:
        yield from _cluster_profile(multi_kueue.cluster_profile)
    dispatcher = multi_kueue.incremental_dispatcher_config
    if dispatcher is not None:
        path = "multiKueue.incrementalDispatcherConfig"
        if multi_kueue.dispatcher_name != types.DISPATCHER_INCREMENTAL:
            message = f"may be given only when dispatcherName is {types.DISPATCHER_INCREMENTAL}"
            yield invalid(path, multi_kueue.dispatcher_name, message)
        yield from at_least(f"{path}.stepSize", dispatcher.step_size, 1)


def _cluster_profile(profile: types.ClusterProfile) -> Iterator[FieldError]:
    path = "multiKueue.clusterProfile"
    if profile.access_providers and profile.credentials_providers:
        message = "must not be given together with accessProviders"
        yield forbidden(f"{path}.credentialsProviders", message)
    used = "accessProviders" if profile.access_providers else "credentialsProviders"
    at = f"{path}.{used}"
    # Paths carry no index, as upstream's (OP-344).
    for provider in profile.access_providers or profile.credentials_providers or ():
        config = provider.exec_config or types.ExecConfig()
        if not provider.name:
            yield required(f"{at}.name", "must be given")
        if not config.command:
            yield required(f"{at}.execConfig.command", "must be given")
        if not config.api_version:
            yield required(f"{at}.execConfig.apiVersion", "must be given")
        for variable in config.env or ():
            if not variable.name:
                yield required(f"{at}.execConfig.env.name", "must be given")
        if not config.interactive_mode:
            yield required(f"{at}.execConfig.interactiveMode", "must be given")
        else:
            mode = config.interactive_mode
            yield from one_of(f"{at}.execConfig.interactiveMode", mode, INTERACTIVE_MODES)


def _fair_sharing(sharing: types.FairSharing | None) -> Iterator[FieldError]:
    if sharing is None:
        return
    path = "fairSharing.preemptionStrategies"
    strategies = tuple(sharing.preemption_strategies or ())
    if not strategies:
        yield required(path, "must be given")
    elif strategies not in PREEMPTION_STRATEGIES:
        yield not_supported(path, list(strategies), map(",".join, PREEMPTION_STRATEGIES))


def _admission_fair_sharing(sharing: types.AdmissionFairSharing | None) -> Iterator[FieldError]:
    if sharing is None:
        return
    path = "admissionFairSharing"
    yield from _not_negative(f"{path}.usageHalfLifeTime", sharing.usage_half_life_time)
    interval = sharing.usage_sampling_interval
    if interval is None or parse_duration(interval) <= 0:
        yield invalid(f"{path}.usageSamplingInterval", interval, "must be greater than 0")
    for name, weight in (sharing.resource_weights or {}).items():
        if weight < 0:
            yield invalid(f"{path}.resourceWeights[{name}]", weight, NEGATIVE_MESSAGE)


def _internal_cert_management(management: types.InternalCertManagement | None) -> Iterator[FieldError]:
    if management is None or not management.enable:
        return
    path = "internalCertManagement"
    service = management.webhook_service_name
    if service is not None:
        yield from each(f"{path}.webhookServiceName", service, names.label_1035(service))
    secret = management.webhook_secret_name
    if secret is not None:
        yield from each(f"{path}.webhookSecretName", secret, names.subdomain(secret))


def validate_resources(resources: types.Resources | None) -> Iterator[FieldError]:
    """What is wrong with transformations and device class mappings. Source: OP-348."""
    if resources is None:
        return
    inputs: set[str] = set()
    for index, transformation in enumerate(resources.transformations or ()):
        path = f"resources.transformations[{index}]"
        strategies = (types.RETAIN, types.REPLACE)
        yield from one_of(f"{path}.strategy", transformation.strategy or "", strategies)
        if transformation.input in inputs:
            yield duplicate(f"{path}.input", transformation.input)
        inputs.add(transformation.input)
        # Upstream cannot even read a file with a quantity that it cannot parse.
        yield from quantities(f"{path}.outputs", transformation.outputs, custom_resource=False)
    mappings = resources.device_class_mappings or []
    if len(mappings) > MAPPINGS_MAX:
        yield too_many("resources.deviceClassMappings", len(mappings), MAPPINGS_MAX)
    resource_of: dict[str, str] = {}
    seen: set[str] = set()
    for index, mapping in enumerate(mappings):
        path = f"resources.deviceClassMappings[{index}]"
        yield from _resource_name(f"{path}.name", mapping.name)
        if mapping.name in seen:
            yield duplicate(f"{path}.name", mapping.name)
        seen.add(mapping.name)
        yield from _device_classes(f"{path}.deviceClassNames", mapping, resource_of)
        if mapping.sources:
            message = "sources are not supported: their selectors need a compiler of CEL expressions"
            yield invalid(f"{path}.sources", len(mapping.sources), message)


def _device_classes(
    path: str, mapping: types.DeviceClassMapping, resource_of: dict[str, str]
) -> Iterator[FieldError]:
    classes = mapping.device_class_names or []
    if not classes:
        yield required(path, "must have at least 1 item")
    yield from items(path, classes, DEVICE_CLASSES_MAX)
    seen: set[str] = set()
    for index, device_class in enumerate(classes):
        at = f"{path}[{index}]"
        yield from _resource_name(at, device_class)
        if device_class in seen:
            yield duplicate(at, device_class)
        seen.add(device_class)
        resource = resource_of.setdefault(device_class, mapping.name)
        if resource != mapping.name:
            yield invalid(at, device_class, f"is mapped to resource {resource} already")


def _resource_name(path: str, name: str) -> Iterator[FieldError]:
    yield from each(path, name, names.label_key(name))
    if len(name) > names.SUBDOMAIN_MAX:
        yield invalid(path, name, f"must not exceed {names.SUBDOMAIN_MAX} characters")


def _managed_jobs_namespace_selector(configuration: Configuration) -> Iterator[FieldError]:
    path = "managedJobsNamespaceSelector"
    selector = configuration.managed_jobs_namespace_selector
    yield from label_selector(path, selector)
    namespaces = ["kube-system"]
    if configuration.namespace:
        namespaces.append(configuration.namespace)
    for namespace in namespaces:
        if _selects_namespace(selector, namespace):
            yield invalid(path, None, f"must not match the namespace {namespace!r}")


def _selects_namespace(selector: LabelSelector | None, namespace: str) -> bool:
    try:
        return selects(selector, {METADATA_NAME_LABEL: namespace})
    except SelectorError:
        return False  # told by label_selector


def _object_retention_policies(policies: types.ObjectRetentionPolicies | None) -> Iterator[FieldError]:
    if policies is None or policies.workloads is None:
        return
    path = "objectRetentionPolicies.workloads"
    yield from _not_negative(f"{path}.afterFinished", policies.workloads.after_finished)
    after = policies.workloads.after_deactivated_by_kueue
    yield from _not_negative(f"{path}.afterDeactivatedByKueue", after)


def _quota_check_strategy(resources: types.Resources | None, gates: FeatureGates) -> Iterator[FieldError]:
    if resources is None or not gates.enabled("QuotaCheckStrategy"):
        return
    path = "resources.quotaCheckStrategy"
    strategy = resources.quota_check_strategy
    if strategy == types.IGNORE_UNDECLARED and resources.exclude_resource_prefixes:
        message = f"may not be {types.IGNORE_UNDECLARED} together with excludeResourcePrefixes"
        yield invalid(path, strategy, message)
    yield from one_of(path, strategy, (types.IGNORE_UNDECLARED, types.BLOCK_UNDECLARED))
