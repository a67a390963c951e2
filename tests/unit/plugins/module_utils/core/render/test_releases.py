# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which release and pathway apply, on what evidence; which runtime an image holds."""

from __future__ import annotations

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import NEWEST
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.releases import (
    choose_gates,
    choose_release,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.runtime_version import (
    image_tag,
    image_version,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.semver import Version


@pytest.mark.parametrize(
    ("seen", "release", "exact"),
    [
        ("1.1.0", "1.1", True),
        ("1.1.7", "1.1", True),
        ("v1.5.2", "1.5", True),
        ("1.5.0-rc1", "1.5", True),
        ("1.3.0", "1.1", False),
        ("1.4", "1.1", False),
        ("1.10.0", "1.5", False),
        ("2.0.0", "1.5", False),
        ("0.9.1", "1.1", False),
        ("", NEWEST, False),
        ("latest", NEWEST, False),
    ],
)
def test_auto_takes_the_operators_release(seen: str, release: str, exact: bool) -> None:
    choice = choose_release("auto", seen, "label helm.sh/chart=x")
    assert (choice.value, choice.exact) == (release, exact)
    assert "label helm.sh/chart=x" in choice.evidence


def test_a_release_can_be_asked_for() -> None:
    assert choose_release("documented", "1.1.0").value == "documented"
    assert choose_release("1.1").evidence == "asked for"
    with pytest.raises(InputError, match=r"operator_release: unknown operator release \(found 9.9\). There are auto, "):
        choose_release("9.9")


def test_the_pathway_goes_by_what_is_asked_then_by_what_is_seen() -> None:
    gates = choose_gates("lws", asked=(True, None))
    assert (gates.grove, gates.lws, gates.evidence) == (False, True, "asked for")
    gates = choose_gates("auto", asked=(False, None), seen=(True, True), multinode=True)
    assert (gates.grove, gates.lws, gates.exact) == (False, True, True)
    assert gates.evidence == "Grove is off (operator_config), LeaderWorkerSet is on (the cluster offers its API)"
    gates = choose_gates("auto", seen=(False, None), multinode=True)
    assert (gates.grove, gates.lws, gates.exact) == (False, False, True)
    assert "the cluster does not offer its API" in gates.evidence
    assert "not known, as Helm leaves it" in gates.evidence


def test_a_graph_over_several_nodes_is_taken_to_find_what_it_needs() -> None:
    gates = choose_gates("auto", multinode=True)
    assert (gates.grove, gates.lws, gates.exact) == (True, True, False)
    gates = choose_gates("auto")
    assert (gates.grove, gates.lws, gates.exact) == (False, False, True)


@pytest.mark.parametrize(
    ("image", "tag", "version"),
    [
        ("reg.example:5000/a/b:1.5.0", "1.5.0", Version(1, 5, 0)),
        ("a:v0.9.1-dev", "v0.9.1-dev", Version(0, 9, 1)),
        ("a:1.4.0-qwen-3.8-2.4t-dev.1", "1.4.0-qwen-3.8-2.4t-dev.1", Version(1, 4, 0)),
        ("a:1.2.3+build.5", "1.2.3+build.5", Version(1, 2, 3)),
        ("a:1.5.0@sha256:0", "1.5.0", Version(1, 5, 0)),
        ("a:latest", "latest", None),
        ("a:1.5", "1.5", None),
        ("a:01.5.0", "01.5.0", None),
        ("a:1.2.0-01", "1.2.0-01", None),
        ("a:24.01-py3", "24.01-py3", None),
        ("a@sha256:0", "", None),
        ("reg.example:5000/a", "", None),
        ("a:<IMAGE_TAG>", "<IMAGE_TAG>", None),
        ("a:99999999999999999999.0.0", "99999999999999999999.0.0", None),
        ("", "", None),
    ],
)
def test_the_runtimes_version_is_read_from_the_tag(image: str, tag: str, version: Version | None) -> None:
    assert image_tag(image) == tag
    assert image_version(image) == version
