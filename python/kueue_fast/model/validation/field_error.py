"""What validation finds wrong with one field of an object."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class ErrorType(StrEnum):
    """Kinds of field errors, in the API server's words."""

    INVALID = "Invalid value"
    REQUIRED = "Required value"
    DUPLICATE = "Duplicate value"
    NOT_SUPPORTED = "Unsupported value"
    NOT_FOUND = "Not found"
    FORBIDDEN = "Forbidden"
    TOO_LONG = "Too long"
    TOO_MANY = "Too many"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing that is wrong: where, of which kind, with which value, and what would be right.

    `path` is the API server's way of writing paths, from the object's root: `spec.podSets[0].count`,
    `metadata.annotations[key]`. `value` is the value found, None where the kind of error has none.
    """

    path: str
    message: str
    type: ErrorType
    value: object = None

    def __str__(self) -> str:
        value = "" if self.value is None else f": {_written(self.value)}"
        message = f": {self.message}" if self.message else ""
        return f"{self.path}: {self.type}{value}{message}"

    def under(self, prefix: str) -> FieldError:
        """The same error of a part, with the path of the part put before."""
        return FieldError(f"{prefix}{self.path}", self.message, self.type, self.value)


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def invalid(path: str, value: object, message: str) -> FieldError:
    """A value that breaks a rule."""
    return FieldError(path, message, ErrorType.INVALID, value)


def required(path: str, message: str = "") -> FieldError:
    """A value that must be there and is not."""
    return FieldError(path, message, ErrorType.REQUIRED)


def duplicate(path: str, value: object, message: str = "") -> FieldError:
    """A value that stands twice where it must be unique."""
    return FieldError(path, message, ErrorType.DUPLICATE, value)


def not_supported(path: str, value: object, supported: Iterable[str]) -> FieldError:
    """A value outside a closed list, which the message gives."""
    listed = ", ".join(json.dumps(name) for name in supported)
    return FieldError(path, f"supported values: {listed}", ErrorType.NOT_SUPPORTED, value)


def not_found(path: str, value: object) -> FieldError:
    """A name of something that does not exist."""
    return FieldError(path, "", ErrorType.NOT_FOUND, value)


def forbidden(path: str, message: str) -> FieldError:
    """A field that must not be set here."""
    return FieldError(path, message, ErrorType.FORBIDDEN)


def too_long(path: str, limit: int) -> FieldError:
    """Text over its limit, in bytes."""
    return FieldError(path, f"may not be more than {limit} bytes", ErrorType.TOO_LONG)


def too_many(path: str, count: int, limit: int) -> FieldError:
    """A list over its limit."""
    return FieldError(path, f"must have at most {limit} items", ErrorType.TOO_MANY, count)
