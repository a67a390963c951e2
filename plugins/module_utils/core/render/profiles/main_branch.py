# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator's main branch after 1.5's snapshot: what two merged changes are known to do, and 1.5 for the rest.

Source: reports of ai-dynamo/dynamo, pull requests 13512 (backported to 1.5.0 by 14490: a runtime from 1.5.0 on is
restarted only after three failed liveness probes) and 14922 (init containers' images get pull secrets, too).
"""

from __future__ import annotations

from dataclasses import replace

from . import release_1_5

PROFILE = replace(
    release_1_5.PROFILE,
    release="main",
    switches=replace(release_1_5.PROFILE.switches, runtime_liveness=True, init_image_secrets=True),
)
