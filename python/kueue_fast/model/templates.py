"""Pod templates, decoded once however many workloads carry them.

Jobs of one kind have templates of the same bytes: those are looked up without being parsed. Others are parsed,
reduced to what scheduling reads, and interned by that, so that a hundred thousand jobs with images and environments
of their own still share a few templates.

Source: QC-42, QC-61.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import msgspec

from kueue_fast.api.core import PodSpec, ResourceRequirements, Toleration
from kueue_fast.api.meta import QuantityValue
from kueue_fast.errors import InputError

_EMPTY = b"{}"
_KNOWN_BYTES = 4096
_MOST_MET = 65536
_LONGEST_KEPT = 16 * 1024


class _Container(msgspec.Struct, rename="camel", omit_defaults=True):
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None
    ports: Any = None


class _Parts(msgspec.Struct, rename="camel", omit_defaults=True):
    """What scheduling reads of a pod spec. Names and images decide nothing and would keep apart what is alike."""

    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    resources: ResourceRequirements | None = None
    overhead: dict[str, QuantityValue] | None = None
    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None
    runtime_class_name: str | None = None
    priority_class_name: str | None = None
    priority: int | None = None
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
        self._met: set[int] = set()  # hashes of texts that came once: most never come again
        self._by_key: WeakValueDictionary[bytes, Template] = WeakValueDictionary()
        self._decode = msgspec.json.Decoder(PodSpec).decode
        self._decode_parts = msgspec.json.Decoder(_Parts).decode
        self._encode = msgspec.json.Encoder(order="deterministic").encode

    def intern(self, spec: bytes) -> Template:
        """The template of a pod spec's JSON text; an empty text is an empty spec.

        Raises InputError with the path for what is no pod spec.
        """
        template = self._by_bytes.get(spec)
        return self._meet(spec) if template is None else template

    def _meet(self, spec: bytes) -> Template:
        """The template of a text that is not known by its bytes; one that comes a second time will be."""
        template = self._parse(spec or _EMPTY)
        mark = hash(spec)
        if mark not in self._met:
            if len(self._met) >= _MOST_MET:
                self._met.clear()
            self._met.add(mark)
        elif len(spec) <= _LONGEST_KEPT:
            if len(self._by_bytes) >= _KNOWN_BYTES:
                self._by_bytes.clear()
            self._by_bytes[spec] = template
        return template

    def _parse(self, spec: bytes) -> Template:
        try:
            parts = self._decode_parts(spec)
            key = self._encode(parts)
            template = self._by_key.get(key)
            if template is None:
                template = Template(self._decode(spec), self._shape(parts), key)
                self._by_key[key] = template
        except msgspec.MsgspecError as error:
            raise InputError(str(error), field="$.template.spec", expected="a pod spec") from error
        return template

    def _shape(self, parts: _Parts) -> bytes:
        """The part of the scheduling shape that is no amount (QC-42)."""
        return self._encode(
            (
                [container.ports for container in parts.containers or ()],
                [container.ports for container in parts.init_containers or ()],
                parts.affinity,
                parts.topology_spread_constraints,
                parts.resource_claims,
                parts.node_selector,
                parts.tolerations,
                parts.runtime_class_name,
                parts.priority,
            )
        )
