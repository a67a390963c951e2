# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives a checkout at any path the import path of a collection, so that bare pytest finds it without Ansible."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# How long an example takes depends on what else the machine does; benchmarks measure time, tests do not.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

ROOT = Path(__file__).resolve().parents[2]


def link_collection(root: Path) -> Path:
    """Link ``root`` below build/collections and return the folder to put on ``sys.path``."""
    collections = root / "build" / "collections"
    link = collections / "ansible_collections" / "inference_ops" / "dynamo"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(root)
    return collections


def _importable() -> bool:
    try:
        return importlib.util.find_spec("ansible_collections.inference_ops.dynamo") is not None
    except ModuleNotFoundError:
        return False


if not _importable():  # under ansible-test its own loader has found the collection already
    sys.path.insert(0, str(link_collection(ROOT)))
