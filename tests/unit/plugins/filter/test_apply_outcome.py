# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The face of core/apply.py for plays."""

from __future__ import annotations

import pytest

pytest.importorskip("ansible.errors")

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.filter.apply_outcome import FilterModule

apply_outcome = FilterModule().filters()["apply_outcome"]


def test_an_applied_object_is_returned() -> None:
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "cache"}}
    assert apply_outcome({"changed": False, "result": claim}, [claim]) == {
        "changed": False,
        "objects": [claim],
        "errors": [],
        "findings": [],
        "failed_jobs": [],
    }


@pytest.mark.parametrize(
    ("answer", "objects", "message"),
    [("text", [], "expected a task's result, found str"), ({}, "text", "objects: expected a list of objects")],
)
def test_bad_input_is_named(answer: object, objects: object, message: str) -> None:
    with pytest.raises(AnsibleFilterError, match=message):
        apply_outcome(answer, objects)
