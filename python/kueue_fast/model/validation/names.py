"""Kubernetes' rules for names, label keys and values, each as what is wrong with a text.

Each function returns a tuple of messages, empty if the text is fine. Source: "Common string shapes"
before LC-101.
"""

import re
from functools import lru_cache

SUBDOMAIN_PATTERN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
LABEL_PATTERN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
NAME_PATTERN = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

SUBDOMAIN = re.compile(SUBDOMAIN_PATTERN)
LABEL = re.compile(LABEL_PATTERN)
LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
NAME = re.compile(NAME_PATTERN)
LABEL_VALUE = re.compile(rf"({NAME_PATTERN})?")
HTTP_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
CONDITION_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")

SUBDOMAIN_MAX = 253
LABEL_MAX = 63
QUALIFIED_NAME_MAX = 63

SUBDOMAIN_MESSAGE = (
    "must be a DNS subdomain: lower-case letters, digits, '-' and '.', beginning and ending with a letter"
    " or digit, such as 'example.com'"
)
LABEL_MESSAGE = (
    "must be a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit,"
    " such as 'my-name'"
)
LABEL_1035_MESSAGE = (
    "must be a DNS-1035 label: lower-case letters, digits and '-', beginning with a letter and ending with"
    " a letter or digit, such as 'my-name'"
)
NAME_MESSAGE = "must hold letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"


def _matches(text: str, pattern: re.Pattern[str], limit: int, message: str) -> tuple[str, ...]:
    problems: tuple[str, ...] = ()
    if len(text) > limit:
        problems = (f"must be no more than {limit} characters",)
    if pattern.fullmatch(text) is None:
        problems = (*problems, message)
    return problems


@lru_cache(maxsize=4096)
def subdomain(text: str) -> tuple[str, ...]:
    """An RFC 1123 subdomain of at most 253 characters."""
    return _matches(text, SUBDOMAIN, SUBDOMAIN_MAX, SUBDOMAIN_MESSAGE)


@lru_cache(maxsize=4096)
def label(text: str) -> tuple[str, ...]:
    """An RFC 1123 label of at most 63 characters."""
    return _matches(text, LABEL, LABEL_MAX, LABEL_MESSAGE)


def label_1035(text: str) -> tuple[str, ...]:
    """An RFC 1035 label of at most 63 characters."""
    return _matches(text, LABEL_1035, LABEL_MAX, LABEL_1035_MESSAGE)


@lru_cache(maxsize=4096)
def label_key(text: str) -> tuple[str, ...]:
    """A qualified name: an optional subdomain and `/`, then a name of at most 63 characters."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return (f"{NAME_MESSAGE}, with at most one '/', behind a DNS subdomain",)
    problems: tuple[str, ...] = ()
    if slash:
        if not prefix:
            problems = ("the part before '/' must not be empty",)
        else:
            problems = tuple(f"the part before '/' {problem}" for problem in subdomain(prefix))
    if not name:
        return (*problems, "the name must not be empty")
    return (*problems, *_matches(name, NAME, QUALIFIED_NAME_MAX, NAME_MESSAGE))


@lru_cache(maxsize=4096)
def label_value(text: str) -> tuple[str, ...]:
    """Empty, or a name of at most 63 characters."""
    return _matches(text, LABEL_VALUE, LABEL_MAX, f"{NAME_MESSAGE}, or be empty")


def domain_prefixed_path(text: str) -> tuple[str, ...]:
    """A domain and a path, such as `example.com/gate`."""
    domain, slash, path = text.partition("/")
    if not slash or not domain or not path:
        return ("must be a domain-prefixed path, such as 'example.com/name'",)
    problems = tuple(f"the domain {problem}" for problem in subdomain(domain))
    if HTTP_PATH.fullmatch(path) is None:
        problems = (*problems, "the path must hold only characters that a URL path may hold")
    return problems


def c_identifier(text: str) -> tuple[str, ...]:
    """A name as in C, at most 32 characters."""
    return _matches(text, C_IDENTIFIER, 32, "must hold letters, digits and '_', and not begin with a digit")
