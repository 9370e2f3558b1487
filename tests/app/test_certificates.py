"""The certificate of the metrics server. Source: OP-102, OP-206, OP-207."""

import ssl
import tempfile
from pathlib import Path

import pytest

from kueue_fast.api.configuration_types import TLSOptions
from kueue_fast.app.certificates import metrics_context
from kueue_fast.errors import InputError


def test_nothing_has_to_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The root file system of a container (Linux) is read-only, with no folder for temporary files."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("read-only")

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refuse)
    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    assert isinstance(metrics_context(external=False), ssl.SSLContext)


def test_files_that_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tls\.crt and tls\.key"):
        metrics_context(external=True, folder=tmp_path)


VERSIONS = {
    "nothing said": (TLSOptions(), ssl.TLSVersion.TLSv1_2),
    "1.2": (TLSOptions(min_version="VersionTLS12"), ssl.TLSVersion.TLSv1_2),
    "1.3": (TLSOptions(min_version="VersionTLS13"), ssl.TLSVersion.TLSv1_3),
    "suites of 1.3 alone": (TLSOptions(cipher_suites=["TLS_AES_128_GCM_SHA256"]), ssl.TLSVersion.TLSv1_3),
}


@pytest.mark.parametrize(("options", "want"), VERSIONS.values(), ids=VERSIONS)
def test_the_oldest_version(options: TLSOptions, want: ssl.TLSVersion) -> None:
    assert metrics_context(external=False, options=options).minimum_version is want


def test_cipher_suites_are_those_that_are_named() -> None:
    names = ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305"]
    context = metrics_context(external=False, options=TLSOptions(cipher_suites=names))
    older = {each["name"] for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"}
    assert older == {"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-CHACHA20-POLY1305"}


def test_cipher_suites_that_are_not_built_in() -> None:
    with pytest.raises(InputError, match=r"tls\.cipherSuites"):
        metrics_context(external=False, options=TLSOptions(cipher_suites=["TLS_RSA_WITH_RC4_128_SHA"]))
