# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Free ports for clusters that run side by side."""

from __future__ import annotations

import random
import socket
from collections.abc import Sequence
from contextlib import ExitStack

# Below the range from which Linux takes ports for outgoing connections (32768 and up), so that none is taken meanwhile.
LOWEST, HIGHEST = 20000, 32000


def free_ports(count: int) -> Sequence[int]:
    """Distinct ports that nobody listens on at the moment, on loopback or any address."""
    found: list[int] = []
    with ExitStack() as held:
        while len(found) < count:
            port = random.randrange(LOWEST, HIGHEST)
            listener = held.enter_context(socket.socket())
            try:
                listener.bind(("", port))
            except OSError:
                continue
            found.append(port)
    return found
