# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faces of the picture for plays."""

from __future__ import annotations

import pytest

pytest.importorskip("ansible.errors")

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.filter.gpu_fit_svg import FilterModule as Svg
from ansible_collections.inference_ops.dynamo.plugins.filter.gpu_fit_text import FilterModule as Text

svg = Svg().filters()["gpu_fit_svg"]
text = Text().filters()["gpu_fit_text"]
RESULT = {
    "nodes": [
        {
            "node": "a",
            "resource": "nvidia.com/gpu",
            "total": 2,
            "others": 1,
            "run": 0,
            "placed": [],
            "free": 1,
            "out": "",
        }
    ]
}


def test_both_draw_a_result() -> None:
    assert svg(RESULT, "<west>").startswith("<svg ")
    assert "&lt;west&gt;" in svg(RESULT, "<west>")
    assert text(RESULT, 80).splitlines()[-1] == "a [#.] 1 free"


def test_bad_input_is_named() -> None:
    with pytest.raises(AnsibleFilterError, match=r"gpu_fit_svg: .*not a result of gpu_fit"):
        svg({})
    with pytest.raises(AnsibleFilterError, match=r"gpu_fit_text: .*not a result of gpu_fit"):
        text([])
    with pytest.raises(AnsibleFilterError, match="width: expected a number"):
        text(RESULT, "wide")
