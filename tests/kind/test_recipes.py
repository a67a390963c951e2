# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the example recipes become is accepted by a real API server, without a warning."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.manifest import choose_dgd
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.rendering import RenderOptions, render_document
from ansible_collections.inference_ops.dynamo.plugins.module_utils.manifests import load_file
from ansible_collections.inference_ops.dynamo.tests.cluster.api import Api
from ansible_collections.inference_ops.dynamo.tests.kind.clusters import KindCluster
from ansible_collections.inference_ops.dynamo.tests.kind.images import program

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
RECIPES = sorted(EXAMPLES.glob("*/deploy*.yaml"))
NAMESPACE = "recipes"
#: Kinds that every API server knows; LeaderWorkerSets and PodCliqueSets go in as the pods that they make.
BUILT_IN = frozenset({"Deployment", "Service", "ServiceAccount", "Role", "RoleBinding", "ConfigMap"})


@pytest.fixture(scope="module")
def namespace(kind: KindCluster) -> Iterator[str]:
    """A namespace in which nothing is stored."""
    client = Api(Path(kind.kubeconfig), kind.context, "inference-ops-test")
    made = client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    yield NAMESPACE
    client.delete(made)
    client.close()


def objects_of(recipe: Path, release: str) -> list[dict[str, Any]]:
    """What the recipe becomes: built-in objects whole, and every pod."""
    report = render_document(choose_dgd(load_file(str(recipe))), RenderOptions(namespace=NAMESPACE, release=release))
    assert report.rejections == ()
    objects = [dict(item) for item in report.result.objects if item["kind"] in BUILT_IN]
    pods = []
    for demand in report.result.pods:
        spec = dict(demand.pod["spec"])
        # The server refuses a pod whose account is not there yet; the account itself is among the objects.
        spec.pop("serviceAccountName", None)
        pods.append(dict(demand.pod) | {"apiVersion": "v1", "kind": "Pod", "spec": spec})
    return [*objects, *pods]


@pytest.mark.parametrize("release", ["1.1", "1.5"])
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_recipe_is_accepted_without_a_warning(kind: KindCluster, namespace: str, recipe: Path, release: str) -> None:
    if release == "1.1" and "v1beta1" in recipe.name:
        release = "1.5"  # the first release that has the version
    objects = objects_of(recipe, release)
    assert any(item["kind"] == "Deployment" for item in objects) or recipe.parent.name == "sglang-multinode"
    connection = [program("kubectl"), "--kubeconfig", kind.kubeconfig, "--context", kind.context]
    answer = subprocess.run(
        [*connection, "-n", namespace, "create", "--dry-run=server", "-o", "name", "-f", "-"],
        input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stderr == ""
    assert answer.returncode == 0
    assert len(answer.stdout.splitlines()) == len(objects)
