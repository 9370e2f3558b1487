"""One YAML or JSON document as plain Python values, read as Kubernetes reads it.

Differences from PyYAML's own reading: a duplicate key is an error, timestamps and base-60 numbers
stay text, `1e3` is a number, keys become text, NaN and infinity are errors.
"""

import json
import math
import re
from typing import Any

import yaml

from kueue_fast.errors import InputError

FLOAT = re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$|^[-+]?\.(inf|Inf|INF)$")
FLOAT_FIRST = list("-+0123456789.")
MOST_VALUES = 100_000
DROPPED_TAGS = ("tag:yaml.org,2002:timestamp",)


class DuplicateKey(Exception):
    """A key stands twice in one mapping."""

    def __init__(self, key: str, line: int | None) -> None:
        super().__init__(key)
        self.key = key
        self.line = line


class StrictLoader(yaml.CSafeLoader):
    """CSafeLoader with Kubernetes' reading of scalars and without duplicate keys."""

    # Resolvers are class data, shared with the parent unless copied.
    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in DROPPED_TAGS]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """As the parent, but DuplicateKey for a key that stands twice."""
        seen: set[str] = set()
        for key_node, _ in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.value != "<<":
                if key_node.value in seen:
                    raise DuplicateKey(key_node.value, key_node.start_mark.line + 1)
                seen.add(key_node.value)
        return super().construct_mapping(node, deep=deep)


def _construct_int(loader: StrictLoader, node: yaml.ScalarNode) -> Any:
    if ":" in node.value:
        return node.value
    return loader.construct_yaml_int(node)


def _construct_float(loader: StrictLoader, node: yaml.ScalarNode) -> Any:
    if ":" in node.value:
        return node.value
    return loader.construct_yaml_float(node)


StrictLoader.add_constructor("tag:yaml.org,2002:int", _construct_int)
StrictLoader.add_constructor("tag:yaml.org,2002:float", _construct_float)
StrictLoader.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, FLOAT_FIRST)


def parse_document(data: bytes, file: str) -> Any:
    """The one document in `data`; None if there is none.

    Raises InputError naming the file, and the line where the text is broken.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = "a byte that is not UTF-8"
        raise InputError(message, file=f"{file}:{line}", expected="UTF-8 text") from None
    try:
        return _plain(_parse(text), "$", file, _Budget())
    except DuplicateKey as error:
        place = file if error.line is None else f"{file}:{error.line}"
        message = f"field {error.key!r} stands twice"
        raise InputError(message, file=place, expected="each field once") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = file if mark is None else f"{file}:{mark.line + 1}"
        message = error.problem or "broken text"
        raise InputError(message, file=place, expected="YAML or JSON") from None
    except yaml.reader.ReaderError as error:
        # libyaml counts bytes.
        place = f"{file}:{text.encode().count(10, 0, error.position) + 1}"
        message = f"the character {chr(error.character)!r}"
        raise InputError(message, file=place, expected="text without control characters") from None
    except RecursionError:
        raise InputError("nested too deeply", file=file, expected="YAML or JSON") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(str(error), file=file, expected="one YAML or JSON document") from None


def _parse(text: str) -> Any:
    # JSON first: it is nearly YAML, but for tabs between its tokens.
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text, object_pairs_hook=_json_object)
        except json.JSONDecodeError:
            pass
    documents = [document for document in yaml.load_all(text, StrictLoader) if document is not None]
    if len(documents) > 1:
        raise ValueError(f"{len(documents)} documents where one is expected")
    return documents[0] if documents else None


def _json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        raise DuplicateKey(next(name for name in names if names.count(name) > 1), None)
    return result


class _Budget:
    """How many values a document may still have, aliases counted as often as they stand for something."""

    def __init__(self) -> None:
        self.left = MOST_VALUES

    def spend(self, values: int) -> None:
        self.left -= values
        if self.left < 0:
            raise ValueError(f"aliases expand to more than {MOST_VALUES} values")


def _plain(value: Any, path: str, file: str, budget: _Budget) -> Any:
    if isinstance(value, dict):
        budget.spend(len(value))
        return {
            _key(key, path, file): _plain(item, f"{path}.{key}", file, budget) for key, item in value.items()
        }
    if isinstance(value, list):
        budget.spend(len(value))
        return [_plain(item, f"{path}[{index}]", file, budget) for index, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"found {value}", file=file, field=path, expected="a finite number")
    return value


def _key(key: Any, path: str, file: str) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, str | int | float):
        return str(key)
    raise InputError(f"found the key {key!r}", file=file, field=path, expected="keys that are text")
