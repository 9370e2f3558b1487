"""Where the API server is and who we are to it: kubeconfig files, exec plugins, or the service account of a pod.

The `kubernetes` package reads all of these; it is imported here and nowhere else.

Source: OP-109.
"""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kubernetes.aio import config
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from kubernetes.aio.config.config_exception import ConfigException
from yaml import YAMLError

from kueue_fast.cluster.kube.proxies import proxy_for
from kueue_fast.errors import InputError

__all__ = ["Credentials", "Endpoint", "find_kubeconfig"]

IN_CLUSTER = "KUBERNETES_SERVICE_HOST"


class Endpoint(NamedTuple):
    """How the server is reached. `key` changes exactly when connections have to be made anew."""

    server: str
    tls: ssl.SSLContext
    tls_server_name: str | None
    proxy: str | None
    key: tuple[Any, ...]


def find_kubeconfig(flag: str | None, environment: Mapping[str, str], home: Path) -> str | None:
    """The kubeconfig to read: the flag, else KUBECONFIG, else none in a pod, else ~/.kube/config.

    Raises InputError if there is none of these.
    """
    named = flag or environment.get("KUBECONFIG")
    if named:
        return named
    if environment.get(IN_CLUSTER):
        return None
    default = home / ".kube" / "config"
    if default.exists():
        return str(default)
    raise InputError(
        "there is no cluster to connect to",
        expected=f"--kubeconfig, the variable KUBECONFIG, the file {default}, or to run in a pod of the cluster",
    )


class Credentials:
    """Server and identity, read when `load` is called, and again whenever the server stops knowing us."""

    def __init__(
        self, kubeconfig: str | None, context: str | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._kubeconfig = kubeconfig
        self._context = context
        self._environment = os.environ if environment is None else environment
        self._configuration: Configuration | None = None

    async def load(self) -> Endpoint:
        """Read everything (again); exec plugins run.

        Raises InputError naming the file, or the directory of the service account, and what is wrong with it.
        """
        # Not the library's default, which is shared by the whole process.
        configuration = Configuration()
        if self._kubeconfig is None:
            self._load_service_account(configuration)
        else:
            await self._load_file(configuration, self._kubeconfig)
        self._configuration = configuration
        return self._endpoint(configuration)

    async def authorization(self) -> str | None:
        """The Authorization header, or None where a client certificate speaks for us.

        The token of a service account is read again once a minute.
        """
        if self._configuration is None:
            raise RuntimeError("load comes first")
        found = await self._configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        return None if found is None else str(found)

    def _load_service_account(self, configuration: Configuration) -> None:
        try:
            config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        except (ConfigException, OSError) as error:
            raise InputError(f"the service account cannot be used: {error}") from error

    async def _load_file(self, configuration: Configuration, file: str) -> None:
        told = _Told()
        library = logging.getLogger("kubernetes.aio.config.kube_config")
        # A plugin that fails is only logged there; without what it said nobody finds the mistake.
        library.addHandler(told)
        try:
            await config.load_kube_config(  # type: ignore[no-untyped-call]
                config_file=file,
                context=self._context,
                client_configuration=configuration,
                persist_config=False,
            )
        except (
            ConfigException,
            YAMLError,
            OSError,
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
        ) as error:
            raise InputError(f"cannot be used: {error}", file=file, expected="a kubeconfig") from error
        finally:
            library.removeHandler(told)
        if told.messages and not configuration.api_key and not configuration.cert_file:
            raise InputError(f"gives no credentials: {'; '.join(told.messages)}", file=file)

    def _endpoint(self, configuration: Configuration) -> Endpoint:
        server = configuration.host.rstrip("/")
        try:
            tls = RESTClientObject(configuration).ssl_context
        except OSError as error:
            raise InputError(f"certificates cannot be read: {error}", file=self._kubeconfig) from error
        proxy = configuration.proxy or proxy_for(server, self._environment)
        key = (
            server,
            proxy,
            configuration.tls_server_name,
            configuration.verify_ssl,
            _content(configuration.ssl_ca_cert),
            _content(configuration.cert_file),
            _content(configuration.key_file),
        )
        return Endpoint(server, tls, configuration.tls_server_name, proxy, key)


class _Told(logging.Handler):
    """What the library wrote as errors."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def _content(file: str | None) -> bytes | None:
    return None if file is None else Path(file).read_bytes()
