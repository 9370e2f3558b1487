"""TLS of the metrics server: the certificate, from files where they are given, else one of our own in memory, and what
the Configuration says of versions and cipher suites.

Source: OP-206..208.
"""

from __future__ import annotations

import datetime
import ipaddress
import logging
import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kueue_fast.api.configuration_types import TLSOptions
from kueue_fast.errors import InputError
from kueue_fast.model.tls_suites import TLS13_SUITES, openssl_name

__all__ = ["EXTERNAL", "metrics_context"]

EXTERNAL: Final = Path("/etc/kueue/metrics/certs")
PROVIDED: Final = Path("k8s-metrics-server/serving-certs")
VALID: Final = datetime.timedelta(days=365)
BEFORE: Final = datetime.timedelta(hours=1)

log = logging.getLogger("setup")


def metrics_context(
    *, external: bool, options: TLSOptions | None = None, folder: Path | None = None
) -> ssl.SSLContext:
    """TLS settings of the metrics server.

    `external`: internalCertManagement is off, so the pair has to be in `folder` (EXTERNAL when None). `options` is the
    section `tls` of the Configuration, valid. Raises InputError where the pair is not there, or is none, and where
    OpenSSL has none of the cipher suites.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _restrict(context, options or TLSOptions())
    # Not Python's way to find that folder, which wants one that can be written to.
    temporary = Path(os.environ.get("TMPDIR") or "/tmp")
    found = folder or (EXTERNAL if external else temporary / PROVIDED)
    pair = found / "tls.crt", found / "tls.key"
    if external or all(each.exists() for each in pair):
        try:
            context.load_cert_chain(*pair)
        except (OSError, ssl.SSLError) as error:
            raise InputError(
                f"cannot be used for the metrics server: {error}",
                file=str(found),
                expected="tls.crt and tls.key, a pair in PEM form",
            ) from error
        return context
    _load_self_signed(context)
    return context


def _restrict(context: ssl.SSLContext, options: TLSOptions) -> None:
    newest_only = options.min_version == "VersionTLS13"
    context.minimum_version = ssl.TLSVersion.TLSv1_3 if newest_only else ssl.TLSVersion.TLSv1_2
    suites = [openssl_name(each) for each in options.cipher_suites or () if each not in TLS13_SUITES]
    if options.cipher_suites and not suites:
        # None of TLS 1.2 is wanted, so that nobody could agree on one.
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    if suites:
        try:
            context.set_ciphers(":".join(suites))
        except ssl.SSLError as error:
            raise InputError(
                f"OpenSSL has none of {', '.join(options.cipher_suites or ())}",
                object="Configuration",
                field="tls.cipherSuites",
                expected="cipher suites such as TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            ) from error
    if options.curve_preferences:
        log.warning("tls.curvePreferences: not supported, OpenSSL chooses the curves")


def _load_self_signed(context: ssl.SSLContext) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BEFORE)
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    text = certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    # Python's ssl reads keys from files only; this one is gone as soon as it is read.
    with _file() as (file, path):
        file.write(text)
        file.flush()
        context.load_cert_chain(path)


@contextmanager
def _file() -> Iterator[tuple[BinaryIO, str]]:
    """A file and its path: in memory on Linux, where the root file system of a container may be read-only."""
    if hasattr(os, "memfd_create"):
        with open(os.memfd_create("certificate"), "wb") as memory:
            yield memory, f"/proc/self/fd/{memory.fileno()}"
    else:
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:
            yield cast("BinaryIO", file), file.name
