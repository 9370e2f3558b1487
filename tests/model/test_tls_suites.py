"""Names of cipher suites."""

import ssl

import pytest

from kueue_fast.model.tls_suites import TLS13_SUITES, TLS_SUITES, openssl_name


@pytest.mark.parametrize(
    ("suite", "want"),
    [
        ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256"),
        ("TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", "ECDHE-RSA-DES-CBC3-SHA"),
        ("TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"),
        ("TLS_RSA_WITH_RC4_128_SHA", "RC4-SHA"),
    ],
)
def test_openssl_calls_them(suite: str, want: str) -> None:
    assert suite in TLS_SUITES
    assert openssl_name(suite) == want


def test_openssl_knows_all_but_the_weakest() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    unknown = set()
    for suite in TLS_SUITES.difference(TLS13_SUITES):
        try:
            context.set_ciphers(f"{openssl_name(suite)}:@SECLEVEL=0")
        except ssl.SSLError:
            unknown.add(suite)
    assert {each for each in unknown if "RC4" not in each and "3DES" not in each} == set()
