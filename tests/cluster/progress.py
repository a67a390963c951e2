# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs long commands so that a person always sees that they go on."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .paths import ClusterError

INTERVAL = 10.0  # seconds; well under the 15 that nobody should look at a silent screen


def say(text: str) -> None:
    """One line on standard error: standard output is for results."""
    print(text, file=sys.stderr, flush=True)


def run_shown(
    what: str,
    command: Sequence[str],
    log: Path,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    detail: Callable[[], str] = lambda: "",
) -> None:
    """Run ``command`` with its output in ``log``; show elapsed time and ``detail()`` every few seconds.

    Raises ClusterError with the log's last lines when the command fails.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    say(f"==> {what}")
    with (
        log.open("w") as output,
        subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=cwd, env=env
        ) as process,
    ):
        try:
            while True:
                try:
                    code = process.wait(timeout=INTERVAL)
                    break
                except subprocess.TimeoutExpired:
                    say(f"    {time.monotonic() - started:4.0f} s  {detail()}".rstrip())
        except BaseException:
            process.terminate()
            raise
    if code:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise ClusterError(f"{what} failed with exit code {code}; the whole output is in {log}\n{tail}")
    say(f"    done in {time.monotonic() - started:.0f} s")
