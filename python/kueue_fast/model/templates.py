"""Pod templates, decoded once however many workloads carry them.

Jobs of one kind have templates of the same bytes: those are looked up without being parsed. Others are parsed, reduced to
what scheduling reads, and interned by that, so that a hundred thousand jobs with images and environments of their own still
share a few templates.

Source: QC-42, QC-61.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import msgspec

from kueue_fast.api.core import PodSpec
from kueue_fast.errors import InputError

_EMPTY = b"{}"
_KNOWN_BYTES = 4096
_LONGEST_KEPT = 16 * 1024


class _Ports(msgspec.Struct, rename="camel"):
    ports: Any = None


class _ShapeSpec(msgspec.Struct, rename="camel"):
    """Parts of a pod spec that only the shape reads, as plain JSON values."""

    containers: list[_Ports] | None = None
    init_containers: list[_Ports] | None = None
    affinity: Any = None
    topology_spread_constraints: Any = None
    resource_claims: Any = None


class Template:
    """One pod template, as far as scheduling reads it."""

    __slots__ = ("__weakref__", "key", "pod", "shape")

    def __init__(self, pod: PodSpec, shape: bytes, key: bytes) -> None:
        self.pod = pod
        self.shape = shape
        self.key = key


class Templates:
    """Interns pod specs given as JSON text."""

    def __init__(self) -> None:
        self._by_bytes: dict[bytes, Template] = {}
        self._by_key: WeakValueDictionary[bytes, Template] = WeakValueDictionary()
        self._decode = msgspec.json.Decoder(PodSpec).decode
        self._decode_shape = msgspec.json.Decoder(_ShapeSpec).decode
        self._encode = msgspec.json.Encoder(order="deterministic").encode

    def intern(self, spec: bytes) -> Template:
        """The template of a pod spec's JSON text; an empty text is an empty spec.

        Raises InputError with the path for what is no pod spec.
        """
        template = self._by_bytes.get(spec)
        if template is None:
            template = self._parse(spec or _EMPTY)
            if len(spec) <= _LONGEST_KEPT:
                if len(self._by_bytes) >= _KNOWN_BYTES:
                    self._by_bytes.clear()
                self._by_bytes[spec] = template
        return template

    def _parse(self, spec: bytes) -> Template:
        try:
            pod = self._decode(spec)
            parts = self._decode_shape(spec)
        except msgspec.MsgspecError as error:
            raise InputError(str(error), field="$.template.spec", expected="a pod spec") from error
        for containers in (pod.containers, pod.init_containers):
            for container in containers or ():
                # names and images decide nothing, and would keep apart what is scheduled alike
                container.name = ""
                container.image = None
        shape = self._encode(
            (
                [part.ports for part in parts.containers or ()],
                [part.ports for part in parts.init_containers or ()],
                parts.affinity,
                parts.topology_spread_constraints,
                parts.resource_claims,
                pod.node_selector,
                pod.tolerations,
                pod.runtime_class_name,
                pod.priority,
            )
        )
        key = self._encode(pod) + shape
        template = self._by_key.get(key)
        if template is None:
            template = Template(pod, shape, key)
            self._by_key[key] = template
        return template
