"""What Kueue refuses in the Configuration of its servers: TLS, visibility, metrics.

Not checked: whether a curve is known to the TLS library.
"""

import ipaddress
import re
from collections.abc import Iterator

from kueue_fast.api import configuration_types as types
from kueue_fast.model.tls_suites import TLS_SUITES
from kueue_fast.model.validation import names
from kueue_fast.model.validation.common import each, items
from kueue_fast.model.validation.field_error import FieldError, duplicate, invalid

TLS_VERSIONS = ("VersionTLS12", "VersionTLS13")
CUSTOM_LABELS_MAX = 20
TRACKED_VALUES_MAX = 16
TRACKED_VALUES_MAX_OF_WORKLOADS = 12
LABELS_MAX_BY_KIND = {"ClusterQueue": 6, "Cohort": 6, "LocalQueue": 6, "Workload": 2}
METRIC_LABEL_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")


def validate_tls(options: types.TLSOptions | None) -> Iterator[FieldError]:
    """What is wrong with the TLS options. Source: OP-352."""
    if options is None:
        return
    problems = []
    if options.min_version and options.min_version not in TLS_VERSIONS:
        problems.append(f"minVersion must be {' or '.join(TLS_VERSIONS)}, not {options.min_version}")
    unknown = [each for each in options.cipher_suites or () if each not in TLS_SUITES]
    problems += [f"cipher suite {each} is not known" for each in unknown]
    curves = options.curve_preferences or []
    problems += [f"curve {curve} is not within 1 and 65535" for curve in curves if not 0 < curve < 65536]
    if len(set(curves)) < len(curves):
        problems.append("curvePreferences must not repeat a curve")
    if problems:
        yield invalid("tls", None, "; ".join(problems))
    elif options.min_version == "VersionTLS13" and options.cipher_suites:
        message = "may not be given when minVersion is VersionTLS13"
        yield invalid("tls.cipherSuites", options.cipher_suites, message)


def validate_visibility_server(server: types.VisibilityServerConfiguration | None) -> Iterator[FieldError]:
    """What is wrong with the address of the visibility server. Source: OP-353."""
    if server is None:
        return
    if server.bind_address is not None:
        try:
            ipaddress.ip_address(server.bind_address)
        except ValueError:
            yield invalid("visibilityServer.bindAddress", server.bind_address, "must be an IP address")
    if server.bind_port is not None and not 1 <= server.bind_port <= 65535:
        yield invalid("visibilityServer.bindPort", server.bind_port, "must be within 1 and 65535")


def validate_custom_labels(metrics: types.ControllerMetrics | None) -> Iterator[FieldError]:
    """What is wrong with the labels that objects lend to metrics. Source: OP-355."""
    path = "metrics.customLabels"
    entries = (metrics.custom_labels if metrics is not None else None) or []
    yield from items(path, entries, CUSTOM_LABELS_MAX)
    seen: set[str] = set()
    counts: dict[str, int] = {}
    for index, entry in enumerate(entries):
        at = f"{path}[{index}]"
        if METRIC_LABEL_NAME.fullmatch(entry.name) is None:
            message = "must hold letters, digits and '_', beginning with a letter"
            yield invalid(f"{at}.name", entry.name, message)
        if entry.name in seen:
            yield duplicate(f"{at}.name", entry.name)
        seen.add(entry.name)
        if entry.source_label_key and entry.source_annotation_key:
            message = "must not have both sourceLabelKey and sourceAnnotationKey"
            yield invalid(at, entry.name, message)
        if entry.source_label_key:
            field, key = "sourceLabelKey", entry.source_label_key
        elif entry.source_annotation_key:
            field, key = "sourceAnnotationKey", entry.source_annotation_key
        else:
            field, key = "name", entry.name
        yield from each(f"{at}.{field}", key, names.label_key(key))
        kind = "ClusterQueue" if entry.source_kind is None else entry.source_kind
        counts[kind] = counts.get(kind, 0) + 1
        yield from _tracked_values(f"{at}.trackedValues", entry.tracked_values or [], kind)
    for kind in sorted(counts):
        limit = LABELS_MAX_BY_KIND.get(kind)
        if limit is None:
            yield invalid(path, kind, f"sourceKind must be one of {', '.join(LABELS_MAX_BY_KIND)}")
        elif counts[kind] > limit:
            yield invalid(path, counts[kind], f"must have at most {limit} labels of source kind {kind}")


def _tracked_values(path: str, values: list[str], kind: str) -> Iterator[FieldError]:
    if kind == "Workload":
        if not 1 <= len(values) <= TRACKED_VALUES_MAX_OF_WORKLOADS:
            message = f"must have 1 to {TRACKED_VALUES_MAX_OF_WORKLOADS} items when sourceKind is Workload"
            yield invalid(path, values, message)
    else:
        yield from items(path, values, TRACKED_VALUES_MAX)
    if len(set(values)) < len(values):
        yield invalid(path, values, "must not repeat a value")
