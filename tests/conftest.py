"""What every test folder shares: how many random cases run, how hypothesis runs them, how coroutines run, and the
control plane of the tests marked `live`.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.controlplane.kueue_manager import KueueManager
    from tests.controlplane.plane import ControlPlane
    from tests.controlplane.world import World

# No deadline in either: how long an example takes says nothing about the code on a shared machine.
settings.register_profile("everyday", deadline=None)
settings.register_profile(
    "ci", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "everyday")

BULK_CYCLES = int(os.environ.get("KUEUE_FAST_BULK_CYCLES", "20000"))


@pytest.fixture(scope="session")
def bulk_cycles() -> int:
    """How many seeded random cases a test marked `bulk` compares with the slow oracle."""
    return BULK_CYCLES


# What starts more than etcd and kube-apiserver; with these two alone a test is marked `api_server`.
MORE_PROGRAMS = frozenset(("plane_with_pods", "upstream"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs no more of a control plane than its API server."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if "plane" in fixtures and not fixtures & MORE_PROGRAMS:
            item.add_marker("api_server")


# A test that waits for what never comes shall say so.
COROUTINE_SECONDS = 120


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine runs in a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in names}

    marker = pyfuncitem.get_closest_marker("takes")
    seconds = marker.args[0] if marker is not None else COROUTINE_SECONDS

    async def bounded() -> None:
        async with asyncio.timeout(seconds):
            await pyfuncitem.obj(**arguments)

    asyncio.run(bounded())
    return True


# Imported only where they are used: most tests need none of this.


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """etcd and kube-apiserver with Kueue's CRDs, for all tests; each makes a namespace of its own."""
    from tests.controlplane.plane import ControlPlane

    plane = ControlPlane(tmp_path_factory.mktemp("controlplane"))
    try:
        plane.up()
        plane.install_kueue_crds()
        yield plane
    finally:
        plane.down()


@pytest.fixture(scope="session")
def plane_with_pods(plane: ControlPlane) -> ControlPlane:
    """The same, with what makes Jobs, pods and nodes move."""
    plane.up_pods()
    return plane


@pytest.fixture(scope="session")
def plane_with_kuberay(plane_with_pods: ControlPlane) -> ControlPlane:
    """The same, with KubeRay."""
    plane_with_pods.up_kuberay()
    return plane_with_pods


@pytest.fixture(scope="session")
def plane_with_lws(plane_with_pods: ControlPlane) -> ControlPlane:
    """The same as `plane_with_pods`, with the kind LeaderWorkerSet; its operator is played by the test."""
    plane_with_pods.install_operator_crds("lws")
    return plane_with_pods


@pytest.fixture(scope="module")
def plane_with_lws_operator(plane_with_lws: ControlPlane) -> Iterator[ControlPlane]:
    """The same, with the operator of LeaderWorkerSets."""
    from tests.controlplane.leader_worker_sets import down_lws, up_lws

    up_lws(plane_with_lws)
    yield plane_with_lws
    down_lws(plane_with_lws)


@pytest.fixture(scope="session")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KueueManager]:
    """Kueue's own manager, on a plane of its own, since its webhooks would disturb the tests of the other."""
    from tests.controlplane.kueue_manager import up_kueue
    from tests.controlplane.plane import ControlPlane

    plane = ControlPlane(tmp_path_factory.mktemp("upstream"))
    try:
        plane.up()
        plane.up_pods()
        yield up_kueue(plane)
    finally:
        plane.down()


@pytest.fixture(scope="session")
def plane_with_kueue(upstream: KueueManager) -> ControlPlane:
    """The plane where Kueue's own manager runs."""
    return upstream.plane


@pytest.fixture
def world(plane: ControlPlane, request: pytest.FixtureRequest) -> World:
    """A namespace, and makers of connections."""
    from tests.controlplane.world import World

    return World.make(plane, request.node.name)
