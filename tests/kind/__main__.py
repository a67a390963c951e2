# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command line of the kind clusters: up, down, status, available."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict

from ..cluster.paths import ClusterError
from ..cluster.progress import say
from .clusters import describe, down, up
from .docker import sources_folder


def why_not() -> str:
    """Why no kind cluster can be had here without asking a person; empty when one can."""
    if os.environ.get("KIND_NODE_IMAGE"):
        return ""
    if not sources_folder().is_dir():
        return f"KIND_NODE_IMAGE is not set and there is no {sources_folder()}"
    return "" if os.geteuid() == 0 else "building a node image needs root"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="kind", description=__doc__)
    parser.add_argument("command", choices=["up", "down", "status", "available"])
    parser.add_argument("name", nargs="?", default="dynamo")
    parser.add_argument("--release", default="1.1")
    args = parser.parse_args(arguments)
    try:
        if args.command == "up":
            print(json.dumps(asdict(up(args.name, args.release))))
        elif args.command == "down":
            down(args.name)
        elif args.command == "status":
            print(json.dumps(describe(args.name), indent=2))
        elif reason := why_not():
            say(f"kind is not run: {reason}")
            return 1
    except (ClusterError, TimeoutError) as error:
        say(f"kind: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
