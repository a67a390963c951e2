# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a request for ``match_pull_secrets`` out of what a play holds: images, rendered pods, manifests, a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .demand import K8sObject, PodDemand
from .docker_secrets import SecretEntry
from .errors import InputError, shown
from .podspecs import PodSpec, names_in, pod_spec_of
from .pull_secrets import DEFAULT_ACCOUNT, ImageUse, MatchRequest, uses_of_pod
from .render.releases import choose_release
from .snapshot import Snapshot, name_of

_IMAGE_FIELDS = frozenset({"image", "used_by", "pod", "image_pull_secrets", "service_account", "discovery"})


def match_request(params: Mapping[str, Any], snapshot: Snapshot | None) -> MatchRequest:
    """Return the request that a module's parameters describe; without a snapshot they name the secrets themselves.

    Raises :class:`InputError` naming the option and the entry that is wrong.
    """
    discovery = not params.get("disable_discovery")
    uses = [
        *(_use(entry, f"images[{index}]", discovery) for index, entry in enumerate(params.get("images") or ())),
        *pod_uses(PodDemand.from_result(pod, f"pods[{index}]") for index, pod in enumerate(params.get("pods") or ())),
        *manifest_uses(params.get("manifests") or ()),
    ]
    release = str(params.get("operator_release") or "auto")
    if snapshot is None:
        return _own_secrets(params, tuple(uses), release)
    namespace = str(params.get("namespace") or snapshot.namespace)
    if namespace != snapshot.namespace:
        raise InputError(
            f"the snapshot looks at namespace {snapshot.namespace}", field="namespace", found=shown(namespace)
        )
    return snapshot_request(tuple(uses), snapshot, release)


def snapshot_request(uses: tuple[ImageUse, ...], snapshot: Snapshot, release: str = "auto") -> MatchRequest:
    """Return the request for these images by a snapshot's secrets and accounts."""
    choice = choose_release(release, snapshot.operator.release, snapshot.operator.evidence)
    state = snapshot.state("secrets")
    accounts = snapshot.state("serviceaccounts").state == "observed"
    return MatchRequest(
        uses=uses,
        secrets=snapshot.secrets,
        namespace=snapshot.namespace,
        release=choice.value,
        service_accounts={
            name_of(account): names_in(account.get("imagePullSecrets")) for account in snapshot.items("serviceaccounts")
        }
        if accounts
        else None,
        unreadable="" if state.state == "observed" else state.detail or state.state,
    )


def _own_secrets(params: Mapping[str, Any], uses: tuple[ImageUse, ...], release: str) -> MatchRequest:
    namespace = str(params.get("namespace") or "default")
    entries = [
        SecretEntry.from_snapshot({"namespace": namespace, **entry}, f"secrets[{index}]")
        for index, entry in enumerate(params.get("secrets") or ())
    ]
    accounts = params.get("service_accounts") or {}
    for name, names in accounts.items():
        if not isinstance(names, list):
            raise InputError(
                "must be a list of secret names", where="service_accounts", field=str(name), found=shown(names)
            )
    return MatchRequest(
        uses=uses,
        secrets=tuple(entries),
        namespace=namespace,
        release=choose_release(release).value,
        service_accounts={str(name): tuple(map(str, names)) for name, names in accounts.items()},
    )


def _use(entry: object, where: str, discovery: bool) -> ImageUse:
    if isinstance(entry, str) and entry:
        return ImageUse(entry, discovery=discovery)
    if not isinstance(entry, Mapping) or not isinstance(entry.get("image"), str) or not entry["image"]:
        raise InputError("must be an image's name or a mapping with image", where=where, found=shown(entry))
    if stray := sorted(map(str, set(entry) - _IMAGE_FIELDS)):
        raise InputError(
            "unknown field", where=where, field=stray[0], remedy=f"There are {', '.join(sorted(_IMAGE_FIELDS))}"
        )
    declared = entry.get("image_pull_secrets") or []
    if not isinstance(declared, list):
        raise InputError(
            "must be a list of secret names", where=where, field="image_pull_secrets", found=shown(declared)
        )
    return ImageUse(
        image=entry["image"],
        used_by=str(entry.get("used_by") or ""),
        pod=str(entry.get("pod") or ""),
        declared=tuple(str(name.get("name") if isinstance(name, Mapping) else name) for name in declared),
        service_account=str(entry.get("service_account") or DEFAULT_ACCOUNT),
        discovery=discovery and entry.get("discovery", True) is not False,
    )


def pod_uses(pods: Iterable[PodDemand]) -> Iterator[ImageUse]:
    """Yield the images of rendered pods; replicas of one component tell the same and are told once."""
    seen = set()
    for demand in pods:
        spec = demand.pod["spec"]
        pod = PodSpec(demand.component or demand.name, "spec", spec)
        for use in uses_of_pod(pod, discovery=True, final=True):
            if use not in seen:
                seen.add(use)
                yield use


def manifest_uses(manifests: Iterable[K8sObject]) -> Iterator[ImageUse]:
    """Yield the images of objects that make pods without the operator."""
    for manifest in manifests:
        pod = pod_spec_of(manifest)
        if pod is not None:
            yield from uses_of_pod(pod, discovery=False)
