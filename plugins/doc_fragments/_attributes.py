# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private documentation fragment: what each module says of check mode, diff mode, idempotence and its action group."""

from __future__ import annotations


class ModuleDocFragment:
    """A module takes this and sets ``support`` of the first three, which ``READ_ONLY`` and ``FULL`` do for many."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return what would be changed without changing anything.
  diff_mode:
    description: Returns what has changed, or would be changed in C(check_mode), when in diff mode.
  idempotent:
    description:
      - When run twice in a row outside check mode with the same arguments, the second run changes nothing.
      - This assumes that what the module looks at has not changed in between.
  action_group:
    description: Use C(group/inference_ops.dynamo.dynamo) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - inference_ops.dynamo.dynamo
"""

    # To be used beside the standard fragment by modules that change nothing anywhere.
    READ_ONLY = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This module only reads.
  diff_mode:
    support: N/A
    details:
      - This module only reads.
  idempotent:
    support: full
    details:
      - This module only reads.
"""

    # To be used beside the standard fragment by modules that keep files and support all of it without a reservation.
    FULL = r"""
options: {}
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
"""
