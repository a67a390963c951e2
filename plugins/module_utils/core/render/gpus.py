# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many GPUs a pod has, as each release reads it (rules 7.1, 10.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .. import keys
from ..errors import InputError
from ..quantity import parse_quantity

_GPU_LIKE = re.compile(r"nvidia\.com/gpu|[^/]+/(gpu|mig-.*)|gpu\..*")


def is_gpu_resource(name: str) -> bool:
    """Return whether a resource name stands for GPUs (``nvidia.com/gpu``, ``*/gpu``, ``*/mig-*``, ``gpu.*``)."""
    return _GPU_LIKE.fullmatch(name) is not None


def whole(text: Any) -> int:
    """Return ``text`` as Go's Atoi reads it, 0 where it is no whole number."""
    return int(text) if isinstance(text, str) and re.fullmatch(r"[+-]?[0-9]{1,18}", text, re.ASCII) else 0


def dedicated(resources: Mapping[str, Any], sides: tuple[str, ...]) -> int:
    """Return 1.1's GPU count: ``resources.<side>.gpu`` of the component, the first side that has one."""
    for side in sides:
        text = (resources.get(side) or {}).get("gpu")
        if text:
            return whole(str(text))
    return 0


def of_container(container: Mapping[str, Any]) -> int:
    """Return 1.5's GPU count: the GPU resource of the main container, limits before requests."""
    resources = container.get("resources") or {}
    for side in ("limits", "requests"):
        amounts = resources.get(side) or {}
        for name in sorted(amounts, key=lambda item: (item != keys.GPU_RESOURCE, item)):
            if is_gpu_resource(name):
                count = _units(amounts[name])
                if count > 0:
                    return count
    return 0


def _units(amount: Any) -> int:
    try:
        return parse_quantity(amount).units
    except InputError:
        return 0
