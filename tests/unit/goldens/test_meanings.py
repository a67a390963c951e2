# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded refusals are compared by meaning: same stage, same rules, whatever the words."""

from __future__ import annotations

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.api import Rejection, Stage
from ansible_collections.inference_ops.dynamo.tests.goldens.meanings import difference, meaning, warned_fields


def refused(*rules: str, stage: Stage = "validating-webhook") -> list[Rejection]:
    return [Rejection(stage, rule, "in our words") for rule in rules]


#: Texts in the operator's manner, with names of our own.
TEXTS = [
    ("spec.services must have at least one service", ["no_components"]),
    ("spec.services.A.replicas: Invalid value: -1: should be greater than or equal to 0", ["below_minimum"]),
    (
        "[spec.components[0].image: x, spec.components[1].runtimeVersionOverride: Required value: is required when the "
        "specified main container image has no parseable semantic-version tag]",
        ["runtime_version"],
    ),
    ("json: cannot unmarshal string into Go struct field A.b of type int32", ["type_mismatch"]),
    ('spec.backendFramework: Unsupported value: "x": supported values: "a"', ["not_allowed"]),
    ('metadata.annotations[a/dynamo-kube-discovery-mode]: Unsupported value: "x"', ["annotation_discovery_mode"]),
]


@pytest.mark.parametrize(("text", "rules"), TEXTS)
def test_a_text_means_our_rule(text: str, rules: list[str]) -> None:
    assert [next(iter(ids & set(rules)), "") for ids in meaning(text)] == rules
    assert difference(text, "validating-webhook", refused(*rules), "1.5") == ""


def test_what_differs_is_said() -> None:
    text = "spec.components: Required value: must have at least one component"
    assert difference(text, "validating-webhook", [], "1.5").startswith("accepted here")
    assert "refused at crd-schema" in difference(
        text, "validating-webhook", refused("no_components", stage="crd-schema"), "1.5"
    )
    assert "also means" in difference(text, "validating-webhook", refused("image_missing"), "1.5")
    assert "refused also by ['image_missing']" in difference(
        text, "validating-webhook", refused("no_components", "image_missing"), "1.5"
    )
    assert difference(text, "validating-webhook", refused("no_components", "image_missing"), "1.1") == ""
    assert "no rule is known" in difference("new words", "validating-webhook", refused("no_components"), "1.5")


def test_warnings_are_compared_by_their_field() -> None:
    assert warned_fields(["spec.services[A].x is deprecated", "spec.services[A].y: has no effect"]) == [
        "spec.services[A].x",
        "spec.services[A].y",
    ]
