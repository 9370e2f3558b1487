"""Rendering of manifests, on small folders made here."""

import copy

import yaml

from tests.controlplane.kustomize import component, placed

ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "manager", "namespace": "system"},
}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "manager", "namespace": "system"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "manager"},
    "subjects": [{"kind": "ServiceAccount", "name": "controller", "namespace": "system"}],
}
WEBHOOKS = {
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "hooks"},
    "webhooks": [{"name": "a", "path": "/a"}, {"name": "b", "path": "/b"}],
}


def test_patches_merge_lists_by_name(tmp_path):
    change = {**WEBHOOKS, "webhooks": [{"name": "b", "selector": {"values": ["x"]}}]}
    (tmp_path / "hooks.yaml").write_text(yaml.safe_dump(WEBHOOKS))
    (tmp_path / "change.yaml").write_text(
        yaml.safe_dump({**WEBHOOKS, "webhooks": [{"name": "a", "path": "/c"}]})
    )
    (tmp_path / "kustomization.yaml").write_text(
        yaml.safe_dump(
            {
                "resources": ["hooks.yaml"],
                "patches": [{"patch": yaml.safe_dump(change)}, {"path": "change.yaml"}],
            }
        )
    )
    [found] = component(tmp_path)
    assert found["webhooks"] == [
        {"name": "a", "path": "/c"},
        {"name": "b", "path": "/b", "selector": {"values": ["x"]}},
    ]


def test_names_and_namespaces_follow():
    assert placed(copy.deepcopy(ROLE), "kueue-system", "kueue-")["metadata"] == {
        "name": "kueue-manager",
        "namespace": "kueue-system",
    }
    found = placed(copy.deepcopy(BINDING), "kueue-system", "kueue-")
    assert found["roleRef"]["name"] == "kueue-manager"
    assert found["subjects"] == [
        {"kind": "ServiceAccount", "name": "kueue-controller", "namespace": "kueue-system"}
    ]


def test_kinds_keep_their_names():
    crd = {"kind": "CustomResourceDefinition", "metadata": {"name": "workloads.kueue.x-k8s.io"}}
    assert placed(crd, "kueue-system", "kueue-")["metadata"]["name"] == "workloads.kueue.x-k8s.io"
