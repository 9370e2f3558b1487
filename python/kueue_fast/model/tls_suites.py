"""Names of TLS cipher suites as a Configuration has them, and as OpenSSL calls them. Source: OP-208, OP-265, OP-352."""

from __future__ import annotations

from typing import Final

__all__ = ["TLS13_SUITES", "TLS_SUITES", "openssl_name"]

TLS13_SUITES: Final = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
"""Those of TLS 1.3, which nobody chooses from: all are always on."""

_ELLIPTIC: Final = (
    "AES_128_CBC_SHA",
    "AES_256_CBC_SHA",
    "AES_128_GCM_SHA256",
    "AES_256_GCM_SHA384",
    "CHACHA20_POLY1305_SHA256",
    "CHACHA20_POLY1305",
    "AES_128_CBC_SHA256",
    "RC4_128_SHA",
)
_RSA: Final = (
    "RC4_128_SHA",
    "3DES_EDE_CBC_SHA",
    "AES_128_CBC_SHA",
    "AES_256_CBC_SHA",
    "AES_128_CBC_SHA256",
    "AES_128_GCM_SHA256",
    "AES_256_GCM_SHA384",
)

TLS_SUITES: Final = frozenset(
    (
        *TLS13_SUITES,
        *(f"TLS_ECDHE_{key}_WITH_{cipher}" for key in ("ECDSA", "RSA") for cipher in _ELLIPTIC),
        "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
        *(f"TLS_RSA_WITH_{cipher}" for cipher in _RSA),
    )
)
"""Names that Kueue knows: those of Go's crypto/tls, weak ones too, and two that are old."""


def openssl_name(suite: str) -> str:
    """What OpenSSL calls one of TLS_SUITES of TLS 1.2."""
    exchange, _, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    if cipher.startswith("CHACHA20"):
        cipher = "CHACHA20_POLY1305"
    cipher = cipher.replace("_CBC", "").replace("3DES_EDE", "DES_CBC3").replace("RC4_128", "RC4")
    name = f"{exchange}_{cipher}" if exchange != "RSA" else cipher
    return name.replace("AES_", "AES").replace("_", "-")
