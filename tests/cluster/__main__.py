# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command line of the embedded cluster."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from . import lifecycle
from .binaries import ensure_binaries
from .paths import ClusterError
from .pools import DEFAULT_POOLS
from .progress import say


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cluster", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="start a cluster (about 5 s once the programs are built)")
    start.add_argument("name", nargs="?", default="dev")
    start.add_argument("--pools", type=Path, default=DEFAULT_POOLS, help="node pools file")
    start.add_argument("--apis", default="dynamo,lws", help="kinds to define: dynamo, lws, grove, inference")
    start.add_argument("--no-operator", action="store_true", help="without the Dynamo operator's stand-in")
    start.add_argument("--release", default="1.1", help="the operator release that the stand-in follows")
    start.add_argument("--pathway", default="auto", choices=["auto", "deployment", "lws", "grove"])
    start.add_argument("--serve", action="store_true", help="also start the real frontend and mocker")
    stop = commands.add_parser("stop", help="end all processes of a cluster and remove its folder")
    stop.add_argument("name", nargs="*", default=["dev"])
    stop.add_argument("--all", action="store_true", help="every cluster of this checkout")
    status = commands.add_parser("status", help="describe one cluster, or all")
    status.add_argument("name", nargs="?")
    serve = commands.add_parser("serve", help="start the real frontend and mocker behind a running cluster")
    serve.add_argument("name", nargs="?", default="dev")
    prepare = commands.add_parser("prepare", help="make a namespace in a running cluster")
    prepare.add_argument("name", nargs="?", default="dev")
    prepare.add_argument("--namespace", required=True)
    commands.add_parser("build", help="build the programs; start does it by itself")
    return parser


def _options(args: argparse.Namespace) -> lifecycle.Options:
    apis = tuple(part.strip() for part in args.apis.split(",") if part.strip())
    return lifecycle.Options(args.pools, apis, not args.no_operator, args.release, args.pathway, args.serve)


def _status(name: str | None) -> int:
    names = [name] if name else lifecycle.cluster_names()
    facts = [lifecycle.describe(item) for item in names]
    print(json.dumps(facts if name is None else facts[0], indent=2))
    return 0 if all(item["state"] == "running" for item in facts) else 1


def main(arguments: list[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    try:
        if args.command == "start":
            record = lifecycle.start(args.name, _options(args))
            print(
                json.dumps({"kubeconfig": record.kubeconfig, "context": record.context, "model": record.served_model})
            )
        elif args.command == "stop":
            for name in lifecycle.cluster_names() if args.all else args.name:
                say(f"==> cluster {name}: {lifecycle.stop(name)} processes ended, folder removed")
        elif args.command == "status":
            return _status(args.name)
        elif args.command == "serve":
            record = lifecycle.serve_by_name(args.name)
            print(json.dumps({"model": record.served_model, "url": record.model_url}))
        elif args.command == "prepare":
            lifecycle.make_namespace(args.name, args.namespace)
        else:
            print(ensure_binaries())
    except (ClusterError, TimeoutError) as error:
        say(f"cluster: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
