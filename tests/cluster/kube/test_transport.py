import stat
import sys

import msgspec
import pytest
import yaml

from kueue_fast.cluster.kube.credentials import Credentials, find_kubeconfig
from kueue_fast.cluster.kube.errors import (
    ApiNotFoundError,
    ForbiddenError,
    UnauthorizedError,
    UnreachableError,
)
from kueue_fast.cluster.kube.transport import Connection, ConnectionSettings
from kueue_fast.errors import InputError
from tests.controlplane.certificates import Authority
from tests.controlplane.kubeconfig import write_kubeconfig
from tests.controlplane.ports import HOST, free_ports

live = pytest.mark.live


def ca(world):
    return world.client.authority


async def ask(kubeconfig, path="/version"):
    async with await Connection.open(Credentials(str(kubeconfig), environment={})) as connection:
        return msgspec.json.decode(await connection.request("GET", path))


@live
async def test_request(world):
    async with world.connection() as connection:
        found = msgspec.json.decode(await connection.request("GET", f"/api/v1/namespaces/{world.namespace}"))
        assert found["metadata"]["name"] == world.namespace
        assert connection.server == world.client.server
        with pytest.raises(
            ApiNotFoundError, match=r'GET /api/v1/namespaces/nowhere: .*"nowhere" not found \(404\)'
        ):
            await connection.request("GET", "/api/v1/namespaces/nowhere")


@live
async def test_client_certificate(world, tmp_path):
    pair = world.plane.issue("transport-test", "somebody", "system:masters")
    user = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
    found = await ask(write_kubeconfig(tmp_path / "kubeconfig", world.client.server, user, ca(world)))
    assert found["gitVersion"].startswith("v1.")


@live
async def test_user_agent(world):
    async with world.faulty(ConnectionSettings(user_agent="kueue/v0.19.0 (linux/amd64) abc1234")) as (
        connection,
        proxy,
    ):
        await connection.request("GET", "/version", user_agent_suffix="/leader-election")
    assert proxy.seen[0].headers["User-Agent"] == "kueue/v0.19.0 (linux/amd64) abc1234/leader-election"


@live
async def test_unknown_user_is_refused(world, tmp_path):
    path = write_kubeconfig(tmp_path / "kubeconfig", world.client.server, {"token": "wrong"}, ca(world))
    with pytest.raises(UnauthorizedError):
        await ask(path)


@live
async def test_refusal_names_verb_and_resource(world, tmp_path):
    token = await world.call(
        world.client.request,
        "POST",
        f"/api/v1/namespaces/{world.namespace}/serviceaccounts",
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "poor"}},
    )
    assert token["metadata"]["name"] == "poor"
    made = await world.call(
        world.client.request,
        "POST",
        f"/api/v1/namespaces/{world.namespace}/serviceaccounts/poor/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
    )
    user = {"token": made["status"]["token"]}
    path = write_kubeconfig(tmp_path / "kubeconfig", world.client.server, user, ca(world))
    with pytest.raises(
        ForbiddenError, match=r'cannot list resource "workloads" in API group "kueue.x-k8s.io"'
    ):
        await ask(path, "/apis/kueue.x-k8s.io/v1beta2/workloads")


PLUGIN = """\
#!{python}
import json, pathlib
calls = pathlib.Path({calls!r})
calls.write_text(calls.read_text() + "x" if calls.exists() else "x")
token = {tokens!r}[min(len(calls.read_text()), len({tokens!r})) - 1]
status = {{"token": token}}
print(json.dumps({{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}}))
"""


def exec_kubeconfig(folder, server, authority, tokens):
    plugin = folder / "plugin"
    calls = folder / "calls"
    plugin.write_text(PLUGIN.format(python=sys.executable, calls=str(calls), tokens=tokens))
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    command = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": str(plugin),
        "interactiveMode": "Never",
    }
    return write_kubeconfig(folder / "kubeconfig", server, {"exec": command}, authority), calls


@live
async def test_exec_plugin(world, tmp_path):
    path, calls = exec_kubeconfig(tmp_path, world.client.server, ca(world), [world.client.token])
    await ask(path)
    assert calls.read_text() == "x"


@live
async def test_plugin_is_asked_again_when_its_token_is_no_longer_known(world, tmp_path):
    path, calls = exec_kubeconfig(tmp_path, world.client.server, ca(world), ["old", world.client.token])
    await ask(path)
    assert calls.read_text() == "xx"


@live
async def test_credentials_that_never_help_are_not_read_for_ever(world, tmp_path):
    path, calls = exec_kubeconfig(tmp_path, world.client.server, ca(world), ["old"])
    async with await Connection.open(Credentials(str(path), environment={})) as connection:
        for _ in range(3):
            with pytest.raises(UnauthorizedError):
                await connection.request("GET", "/version")
    assert calls.read_text() == "xx"


@live
async def test_token_file_that_changed(world, tmp_path):
    token = tmp_path / "token"
    token.write_text("old")
    path = write_kubeconfig(
        tmp_path / "kubeconfig", world.client.server, {"tokenFile": str(token)}, ca(world)
    )
    async with await Connection.open(Credentials(str(path), environment={})) as connection:
        token.write_text(world.client.token)
        await connection.request("GET", "/version")


@live
async def test_server_with_a_foreign_certificate_is_not_trusted(world, tmp_path):
    stranger = Authority(tmp_path, "stranger").pair.certificate
    path = write_kubeconfig(tmp_path / "kubeconfig", world.client.server, {"token": "t"}, stranger)
    with pytest.raises(UnreachableError, match=r"(?i)certificate"):
        await ask(path)


@live
async def test_server_name_of_the_kubeconfig(world, tmp_path):
    server = world.client.server.replace("127.0.0.1", "127.0.0.2")
    path = write_kubeconfig(tmp_path / "kubeconfig", server, {"token": world.client.token}, ca(world))
    document = yaml.safe_load(path.read_text())
    document["clusters"][0]["cluster"].update(
        server=world.client.server, **{"tls-server-name": "kubernetes.default"}
    )
    path.write_text(yaml.safe_dump(document))
    await ask(path)
    document["clusters"][0]["cluster"]["tls-server-name"] = "other.example"
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(UnreachableError, match=r"(?i)certificate"):
        await ask(path)


async def test_nobody_listens(tmp_path):
    path = write_kubeconfig(tmp_path / "kubeconfig", f"http://{HOST}:{free_ports(1)[0]}", {"token": "t"})
    with pytest.raises(UnreachableError, match=r"GET /version: Cannot connect"):
        await ask(path)


BROKEN = {
    "no such file": (None, "kubeconfig: cannot be used: "),
    "empty": ("", "kubeconfig: cannot be used: "),
    "not YAML": ("{", "kubeconfig: cannot be used: "),
    "no context": ("apiVersion: v1\nkind: Config\n", "kubeconfig: cannot be used: "),
    "a text": ("hello", "kubeconfig: cannot be used: "),
}


@pytest.mark.parametrize(("text", "want_words"), BROKEN.values(), ids=BROKEN)
async def test_broken_kubeconfig(tmp_path, text, want_words):
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=want_words):
        await ask(path)


async def test_plugin_that_fails(tmp_path):
    command = {"apiVersion": "client.authentication.k8s.io/v1", "command": "/nowhere/plugin"}
    path = write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1", {"exec": command})
    with pytest.raises(InputError, match=r"gives no credentials: .*/nowhere/plugin"):
        await ask(path)


async def test_no_service_account():
    with pytest.raises(InputError, match=r"the service account cannot be used: "):
        await Credentials(None).load()


def test_which_kubeconfig(tmp_path):
    (tmp_path / ".kube").mkdir()
    default = tmp_path / ".kube" / "config"
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    assert find_kubeconfig("flag", {"KUBECONFIG": "variable", **pod}, tmp_path) == "flag"
    assert find_kubeconfig(None, {"KUBECONFIG": "variable", **pod}, tmp_path) == "variable"
    assert find_kubeconfig(None, pod, tmp_path) is None
    with pytest.raises(
        InputError, match=r"there is no cluster to connect to .expected --kubeconfig, the variable"
    ):
        find_kubeconfig(None, {}, tmp_path)
    default.write_text("")
    assert find_kubeconfig(None, {}, tmp_path) == str(default)
