# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for the Dynamo operator: a test double. It creates what ``dgd_render`` says and keeps the DGD's status.

How true the renderer is to the real operator is held by the recorded answers of the real one, not by this program.
"""

from __future__ import annotations

import argparse
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import urllib3
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import keys

from ..api import Api, ApiError, wait_until
from .announce import announce
from .desired import PATHWAYS, Settings
from .reconcile import Reconciler

RETRY_SECONDS = 3.0
SETTLE_SECONDS = 0.05  # changes come in bursts: one look serves all


def log(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


@dataclass
class Work:
    """DGDs to look at, each once however often it was named."""

    due: dict[tuple[str, str], float] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def add(self, namespace: str, name: str, delay: float = SETTLE_SECONDS) -> None:
        with self.changed:
            when = time.monotonic() + delay
            self.due[namespace, name] = min(when, self.due.get((namespace, name), when))
            self.changed.notify()

    def take(self) -> tuple[str, str]:
        """Wait for the next one that is due."""
        with self.changed:
            while True:
                now = time.monotonic()
                key = min(self.due, key=self.due.__getitem__, default=None)
                if key is not None and self.due[key] <= now:
                    del self.due[key]
                    return key
                self.changed.wait(None if key is None else self.due[key] - now)


def _dgd_of(item: Mapping[str, Any]) -> tuple[str, str] | None:
    metadata = item["metadata"]
    if item.get("kind") == keys.DGD_KIND:
        return metadata["namespace"], metadata["name"]
    name = (metadata.get("labels") or {}).get(keys.LABEL_DGD)
    return (metadata["namespace"], name) if name else None


def follow(
    api: Api,
    api_version: str,
    kind: str,
    work: Work,
    listed: threading.Event,
    forget: Callable[[tuple[str, str]], None],
) -> None:
    """Name each DGD whose object of this kind changes, for ever."""
    path = api.path(api_version, kind)
    # Pods of other people are none of our business.
    selector = f"labelSelector={keys.LABEL_DGD.replace('/', '%2F')}" if kind == "Pod" else ""
    while True:
        try:
            answer = api.request("GET", f"{path}?{selector}")
            for item in answer["items"]:
                if key := _dgd_of({"kind": kind, **item}):
                    work.add(*key)
            listed.set()
            for event, item in api.watch(path, answer["metadata"]["resourceVersion"], extra=selector):
                if event != "BOOKMARK" and (key := _dgd_of(item)):
                    if event == "DELETED":
                        forget(key)
                    work.add(*key)
        except (ApiError, urllib3.exceptions.HTTPError, OSError) as error:
            log(f"watch of {kind}: {error}")
            time.sleep(1)


def serve(api: Api, work: Work, reconciler: Reconciler) -> None:
    while True:
        namespace, name = work.take()
        try:
            done = reconciler.reconcile(namespace, name)
        except (ApiError, urllib3.exceptions.HTTPError, OSError) as error:
            done = False
            if not (isinstance(error, ApiError) and error.status in (404, 409)):
                log(f"{namespace}/{name}: {error}")
        except Exception:
            # A double that dies would look like a cluster that hangs: say what went wrong and go on.
            done = False
            log(f"{namespace}/{name}: {traceback.format_exc()}")
        else:
            log(f"{namespace}/{name}: {'done' if done else 'not yet'}")
        if not done:
            work.add(namespace, name, RETRY_SECONDS)


def groups_served(api: Api) -> set[str]:
    return {group["name"] for group in api.request("GET", "/apis")["groups"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--context", required=True)
    parser.add_argument("--release", required=True)
    parser.add_argument("--pathway", choices=PATHWAYS, default="auto")
    parser.add_argument("--ready-file", type=Path)
    parser.add_argument("--image", default="", help="what the operator's pod runs where containers are real")
    parser.add_argument("--real-workers", action="store_true", help="containers run and register by themselves")
    parser.add_argument("--no-nats", action="store_true", help="the chart's NATS is switched off")
    args = parser.parse_args()

    def connect() -> Api:
        return Api(args.kubeconfig, args.context, "dynamo-operator-stand-in")

    api = connect()
    groups = wait_until("the API server", lambda: groups_served(api))
    # As the real one decides at its start; LeaderWorkerSet counts only together with Volcano.
    lws = {keys.LWS_GROUP, keys.VOLCANO_GROUP} <= groups
    grove = keys.GROVE_GROUP in groups
    settings = Settings(args.release, args.pathway, grove, lws, not args.no_nats, not args.real_workers)
    log(f"{settings}")
    announce(api, settings, args.image)
    work, kinds = Work(), [(settings.api_version, keys.DGD_KIND), ("apps/v1", "Deployment"), ("v1", "Pod")]
    reconciler = Reconciler(api, settings)
    events = [threading.Event() for _unused in kinds]
    for (api_version, kind), listed in zip(kinds, events, strict=True):
        arguments = (connect(), api_version, kind, work, listed, reconciler.forget)
        threading.Thread(target=follow, args=arguments, daemon=True).start()
    if all(listed.wait(20) for listed in events) and args.ready_file:
        args.ready_file.touch()
    serve(api, work, reconciler)


if __name__ == "__main__":
    main()
