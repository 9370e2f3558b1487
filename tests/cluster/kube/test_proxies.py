import pytest

from kueue_fast.cluster.kube.proxies import proxy_for

P = "http://proxy.example:3128"
CASES = {
    "no variable, no proxy": ("https://api.example:6443", {}, None),
    "HTTPS_PROXY for https": ("https://api.example:6443", {"HTTPS_PROXY": P}, P),
    "in small letters too": ("https://api.example:6443", {"https_proxy": P}, P),
    "HTTP_PROXY is not for https": ("https://api.example:6443", {"HTTP_PROXY": P}, None),
    "HTTP_PROXY for http": ("http://api.example", {"HTTP_PROXY": P}, P),
    "a proxy without a scheme": ("https://api.example", {"HTTPS_PROXY": "proxy.example:3128"}, P),
    "never for localhost": ("https://localhost:6443", {"HTTPS_PROXY": P}, None),
    "never for a loopback address": ("https://127.0.0.1:6443", {"HTTPS_PROXY": P}, None),
    "nor in version 6": ("https://[::1]:6443", {"HTTPS_PROXY": P}, None),
    "NO_PROXY by name": ("https://api.example", {"HTTPS_PROXY": P, "NO_PROXY": "a,api.example"}, None),
    "NO_PROXY by parent": ("https://api.example", {"HTTPS_PROXY": P, "NO_PROXY": "example"}, None),
    "NO_PROXY with a leading dot": ("https://api.example", {"HTTPS_PROXY": P, "NO_PROXY": ".example"}, None),
    "NO_PROXY with a star before it": (
        "https://api.example",
        {"HTTPS_PROXY": P, "NO_PROXY": "*.example"},
        None,
    ),
    "a leading dot leaves out the name itself": (
        "https://example",
        {"HTTPS_PROXY": P, "NO_PROXY": ".example"},
        P,
    ),
    "another name that ends so": ("https://myexample", {"HTTPS_PROXY": P, "NO_PROXY": "example"}, P),
    "NO_PROXY for everything": ("https://api.example", {"HTTPS_PROXY": P, "NO_PROXY": "*"}, None),
    "NO_PROXY by address": ("https://10.0.0.1:443", {"HTTPS_PROXY": P, "NO_PROXY": "10.0.0.1"}, None),
    "NO_PROXY by network": ("https://10.0.0.1:443", {"HTTPS_PROXY": P, "NO_PROXY": "10.0.0.0/8"}, None),
    "another network": ("https://11.0.0.1:443", {"HTTPS_PROXY": P, "NO_PROXY": "10.0.0.0/8"}, P),
    "NO_PROXY with this port": (
        "https://api.example",
        {"HTTPS_PROXY": P, "NO_PROXY": "api.example:443"},
        None,
    ),
    "NO_PROXY with another port": (
        "https://api.example",
        {"HTTPS_PROXY": P, "NO_PROXY": "api.example:80"},
        P,
    ),
    "an address of version 6": ("https://[fd00::1]", {"HTTPS_PROXY": P, "NO_PROXY": "fd00::1"}, None),
    "a broken network is passed over": ("https://10.0.0.1", {"HTTPS_PROXY": P, "NO_PROXY": "10.0.0.0/99"}, P),
}


@pytest.mark.parametrize(("server", "environment", "want_proxy"), CASES.values(), ids=CASES)
def test_proxy(server, environment, want_proxy):
    assert proxy_for(server, environment) == want_proxy
