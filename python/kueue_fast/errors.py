"""Errors that a user can cause, each with enough facts to find the mistake."""

from __future__ import annotations


class KueueFastError(Exception):
    """Root of every error that this package raises on purpose."""


class InputError(KueueFastError):
    """Input that cannot be used, and where it is.

    `file` may carry a line (`queues.yaml:12`), `object` names kind, namespace and name, `field` is
    a path from the object's root (`$.spec.podSets[0].count`), `expected` says what would be right.
    What is not known is None; an outer layer adds it with `located`.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        object: str | None = None,
        field: str | None = None,
        expected: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.object = object
        self.field = field
        self.expected = expected

    def __str__(self) -> str:
        places = [place for place in (self.file, self.object, self.field) if place]
        text = ": ".join([*places, self.message])
        return f"{text} (expected {self.expected})" if self.expected else text

    def located(self, *, file: str | None = None, object: str | None = None) -> InputError:
        """The same error, with the places filled in that it does not know itself."""
        return InputError(
            self.message,
            file=self.file or file,
            object=self.object or object,
            field=self.field,
            expected=self.expected,
        )


class Unsupported(KueueFastError):
    """Something valid that this version cannot decide yet; the text says what."""
