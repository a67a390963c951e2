# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long the pull secret judge takes: 5,000 secrets and 200 images, and how that grows.

Prints seconds and ratios; exits 1 where the bound of one second is missed.
"""

from __future__ import annotations

import sys
import time

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import go_url, keyring
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.docker_secrets import (
    DOCKER_CONFIG_JSON,
    SecretEntry,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.pull_secrets import (
    ImageUse,
    MatchRequest,
    match_pull_secrets,
)

#: Seconds for the largest case.
BOUND = 1.0


def request(secrets: int, images: int) -> MatchRequest:
    """Return a namespace in which every tenth secret has a wildcard too and every image fits a few."""
    entries = []
    for index in range(secrets):
        host = f"reg-{index % 500}.example.com"
        keys = [host, f"https://{host}/team-{index % 7}/"]
        if index % 10 == 0:
            keys.append(f"*.zone-{index % 50}.example.com")
        entries.append(SecretEntry(f"secret-{index:05}", "ml", DOCKER_CONFIG_JSON, tuple(keys)))
    uses = []
    for index in range(images):
        host = f"a.zone-{index % 5 * 10}.example.com" if index % 4 == 0 else f"reg-{index}.example.com"
        uses.append(ImageUse(f"{host}/team-{index % 7}/image-{index}:1", f"component-{index}"))
    return MatchRequest(tuple(uses), tuple(entries), "ml", "1.5")


def seconds(secrets: int, images: int) -> float:
    """Return the best of three runs, each from cold."""
    asked = request(secrets, images)
    best = float("inf")
    for _unused in range(3):
        for remembered in (go_url.registry_host, keyring.keyring_key, keyring._pattern):
            remembered.cache_clear()
        began = time.perf_counter()
        report = match_pull_secrets(asked)
        best = min(best, time.perf_counter() - began)
    if not all(match.usable for match in report.images):
        raise SystemExit("the benchmark's images no longer find their secrets")
    return best


def main() -> int:
    """Run the sizes and return the exit code."""
    sizes = ((500, 200), (5_000, 20), (5_000, 200))
    times = [seconds(*size) for size in sizes]
    for (secrets, images), taken in zip(sizes, times, strict=True):
        print(f"{secrets:6} secrets x {images:4} images: {taken:6.3f} s ({taken / times[0]:5.2f} x the first)")
    print(f"bound {BOUND} s: {times[-1] / BOUND:.2f} of it used")
    return 0 if times[-1] < BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
