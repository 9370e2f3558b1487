"""What can be said of the control plane without building it."""

import dataclasses

import pytest

from tests.controlplane.build import cache_folder, program
from tests.controlplane.components import COMPONENTS
from tests.controlplane.errors import ControlPlaneError
from tests.controlplane.processes import Processes


def test_cache_is_named_by_go_mod(tmp_path, monkeypatch):
    monkeypatch.setenv("KUEUE_FAST_CONTROLPLANE", str(tmp_path / "cache"))
    component = COMPONENTS["etcd"]
    folder = cache_folder(component)
    assert folder.parent == tmp_path / "cache"
    assert cache_folder(component) == folder
    changed = dataclasses.replace(component)
    object.__setattr__(changed, "folder", tmp_path)
    (tmp_path / "go.mod").write_text("module other\n")
    assert cache_folder(changed) != folder


def test_every_component_has_its_go_mod_with_its_tools():
    for component in COMPONENTS.values():
        text = (component.folder / "go.mod").read_text()
        assert all(package in text for package in component.programs.values())


def test_programs_of_kubebuilder_are_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    with pytest.raises(ControlPlaneError, match="no program etcd in it"):
        program("etcd")
    etcd = tmp_path / "etcd"
    etcd.write_text("")
    etcd.chmod(0o755)
    assert program("etcd") == etcd


def test_program_that_ends_shows_the_end_of_its_log(tmp_path):
    processes = Processes(tmp_path)
    processes.start("broken", ["sh", "-c", "echo no such flag >&2; exit 1"])
    with pytest.raises(ControlPlaneError, match=r"(?s)broken ended; the end of its log:.*no such flag"):
        processes.wait("broken", lambda: False)
    processes.stop("broken")


def test_another_process_ends_what_was_started(tmp_path):
    processes = Processes(tmp_path)
    processes.start("sleeper", ["sleep", "600"])
    with pytest.raises(ControlPlaneError, match="sleeper runs already"):
        processes.start("sleeper", ["sleep", "600"])
    later = Processes(tmp_path)
    assert later.alive("sleeper")
    later.stop_all()
    assert not processes.alive("sleeper")
    assert Processes(tmp_path).names == []
    processes.stop("sleeper")
