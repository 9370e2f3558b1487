"""Which proxy leads to the API server: decided once, not at every request. Source: OP-116."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

__all__ = ["proxy_for"]


def proxy_for(server: str, environment: Mapping[str, str]) -> str | None:
    """The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY (also in small letters) name for the server, or None.

    As in Go's HTTP client: never one for this machine itself; NO_PROXY holds names (a leading dot: only what is
    below), addresses and networks, each perhaps with a port, or `*`.
    """
    parts = urlsplit(server)
    host = parts.hostname or ""
    if host == "localhost":
        return None
    address = _address(host)
    if address is not None and address.is_loopback:
        return None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    for entry in _variable(environment, "NO_PROXY").split(","):
        if _matches(entry.strip().lower(), host, address, port):
            return None
    proxy = _variable(environment, "HTTPS_PROXY" if parts.scheme == "https" else "HTTP_PROXY")
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    return proxy or None


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name) or environment.get(name.lower()) or ""


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _matches(
    entry: str, host: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None, port: int
) -> bool:
    if not entry:
        return False
    if entry == "*":
        return True
    if address is not None and "/" in entry:
        try:
            return address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    # An address of version 6 has colons of its own, and stands in brackets if it carries a port.
    if _address(entry) is None:
        name, colon, wanted = entry.rpartition(":")
        if colon and wanted.isdigit():
            if int(wanted) != port:
                return False
            entry = name.strip("[]")
    if address is not None:
        return _address(entry) == address
    if entry.startswith("*."):
        entry = entry[1:]
    if entry.startswith("."):
        return host.endswith(entry)
    return host == entry or host.endswith(f".{entry}")
