# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The example recipes hold together: contracts name the right files and hashes, claims and models agree."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import yaml
from ansible_collections.inference_ops.dynamo.tests.cluster.served_model import MODEL

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
RECIPES = sorted(path.parent.name for path in EXAMPLES.glob("*/deploy.yaml"))


def test_there_are_some() -> None:
    assert len(RECIPES) >= 3


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_contract_fits_its_deployment(recipe: str) -> None:
    folder = EXAMPLES / recipe
    contract = yaml.safe_load((folder / "user_workload.yaml").read_text())
    dgd = folder / contract["deployment"]["dgd_path"]
    assert contract["deployment"]["dgd_sha256"] == hashlib.sha256(dgd.read_bytes()).hexdigest()


@pytest.mark.parametrize("recipe", RECIPES)
def test_claims_and_model_agree(recipe: str) -> None:
    folder = EXAMPLES / recipe
    claim = yaml.safe_load((folder / "model-cache.yaml").read_text())["metadata"]["name"]
    for name in ("model-download.yaml", "model-validate.yaml"):
        spec = yaml.safe_load((folder / name).read_text())["spec"]["template"]["spec"]
        assert [volume["persistentVolumeClaim"]["claimName"] for volume in spec["volumes"]] == [claim]
        assert {"name": "MODEL_NAME", "value": MODEL} in spec["containers"][0]["env"]
    assert MODEL in (folder / "deploy.yaml").read_text()
