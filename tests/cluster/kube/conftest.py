"""Tests of cluster.kube: coroutines run in a loop of their own; those marked `live` share one control plane."""

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.kube.world import World
from tests.controlplane.plane import ControlPlane

# A test that waits for what never comes shall say so.
TEST_SECONDS = 120


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in names}

    async def bounded() -> None:
        async with asyncio.timeout(TEST_SECONDS):
            await pyfuncitem.obj(**arguments)

    asyncio.run(bounded())
    return True


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """etcd and kube-apiserver with Kueue's CRDs, for all tests; each makes a namespace of its own."""
    plane = ControlPlane(tmp_path_factory.mktemp("controlplane"))
    try:
        plane.up()
        plane.install_kueue_crds()
        yield plane
    finally:
        plane.down()


@pytest.fixture
def world(plane: ControlPlane, request: pytest.FixtureRequest) -> World:
    """A namespace, and makers of connections."""
    return World.make(plane, request.node.name)
