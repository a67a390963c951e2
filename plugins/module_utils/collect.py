# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes a snapshot: one look at a live cluster, reading only, in few requests.

A kind that may not be read, or that the server does not have, is recorded as such. A server that does not answer, or
does not accept who asks, is an error: an empty answer must never be taken for an empty cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .core.csi import matters
from .core.demand import K8sObject
from .core.docker_secrets import DATA_KEYS, SecretEntry, collect_secret
from .core.errors import InputError
from .core.kinds import KINDS, Kind
from .core.operator_facts import OPERATOR_SELECTOR, operator_facts
from .core.snapshot import COLLECTED, UNASKED, SnapshotBuilder, State, unknown_kinds
from .core.trim import Plain, PodTrimmer, trim_name, trim_secret
from .kube import Discovery, Kube
from .kube_errors import Absent, Conflict, Forbidden, KubeError, Unauthorized, Unreachable
from .moments import moment

#: What the scheduler counts: bound to a node and not over.
_HOLDING = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"

_NOT_TYPED = "failed to create typed patch object"


def collect_snapshot(
    kube: Kube,
    namespace: str,
    *,
    kinds: Iterable[str] | None = None,
    taken_at: str | None = None,
    secret_names: Iterable[str] = (),
    dry_run: Iterable[K8sObject] = (),
) -> dict[str, Any]:
    """Return the snapshot as plain data.

    ``kinds`` are plurals (``nodes``, ``pods``…), by default all that a judge of a deployment needs. Of the Secrets in
    ``secret_names`` the names of their keys are read too. Each object of ``dry_run`` is sent as a server-side dry run.
    Raises :class:`InputError` for an unknown kind and :class:`KubeError` where the server cannot be asked at all.
    """
    wanted = list(dict.fromkeys(UNASKED if kinds is None else kinds))
    if unknown := unknown_kinds(wanted):
        raise InputError(
            f"no snapshot holds {', '.join(unknown)}", field="kinds", remedy=f"Choose from {', '.join(COLLECTED)}"
        )
    collector = _Collector(kube, namespace, taken_at or moment())
    collector.server()
    for plural in wanted:
        collector.kind(plural, tuple(secret_names))
    dry_runs = [collector.dry_run(item) for item in dry_run]
    collector.operator()
    snapshot = collector.builder.to_plain(kube.api_requests)
    return {**snapshot, "dry_runs": dry_runs} if dry_runs else snapshot


class _Collector:
    def __init__(self, kube: Kube, namespace: str, taken_at: str) -> None:
        self.kube = kube
        self.namespace = namespace
        self.builder = SnapshotBuilder(namespace, kube.context or kube.host, taken_at)
        self.discovered: Discovery | None = None

    def server(self) -> None:
        """Ask for version and API groups; this is where a server that is down shows."""
        self.builder.server_version = self.kube.server_version()
        try:
            self.discovered = self.kube.discovery()
        except KubeError as error:
            self._record("api_groups", error)
            return
        groups = self.discovered
        self.builder.observed("api_groups", sorted(groups))
        self.builder.lists["api_versions"] = [f"{group}/{version}" for group in groups for version in groups[group]]
        self.builder.lists["api_resources"] = sorted(
            {kind.resource for versions in groups.values() for entry in versions.values() for kind in entry.values()}
        )

    def _record(self, plural: str, error: KubeError, items: Iterable[Plain] = (), partial: str = "") -> None:
        """Record why a kind was not read; an error that concerns all kinds goes up."""
        if isinstance(error, (Unreachable, Unauthorized)):
            raise error
        state: State = "error"
        if isinstance(error, Forbidden):
            state = "forbidden"
        elif isinstance(error, Absent):
            state = "absent"
        detail = f"needs {error.permission}" if isinstance(error, Forbidden) else str(error)
        self.builder.missing(plural, state, detail, items, partial)

    def _api_version(self, kind: Kind) -> str | None:
        """Return the API version to read a kind in, or None where the server does not have it."""
        default = f"{kind.group}/{kind.version}" if kind.group else kind.version
        if not kind.group or self.discovered is None:
            return default
        versions = self.discovered.get(kind.group)
        if versions is None:
            return None
        for version, resources in versions.items():
            if kind.plural in resources:
                return f"{kind.group}/{version}"
        # A server that does not aggregate names no resources; then only the list itself tells.
        return default if not any(versions.values()) else None

    # -- kinds ------------------------------------------------------------------------------------------------------

    def kind(self, plural: str, secret_names: tuple[str, ...]) -> None:
        """Read one kind into the builder; what drivers say of their volumes only where it can matter."""
        if not matters(plural, {name: state.state for name, state in self.builder.kinds.items()}, self.builder.lists):
            return
        entry = COLLECTED[plural]
        version = self._api_version(entry.kind)
        if version is None:
            detail = f"the server has no API {entry.kind.resource}"
            self.builder.missing(plural, "absent", detail)
            return
        special = {"pods": self._pods, "namespaces": self._namespaces, "customresourcedefinitions": self._definitions}
        try:
            if plural == "secrets":
                self._secrets(secret_names)
            elif plural in special:
                special[plural]()
            else:
                namespace = self.namespace if entry.scope == "namespace" else ""
                result = self.kube.list_all(version, entry.kind.name, namespace=namespace, trim=entry.trim)
                self.builder.observed(plural, result.items)
        except KubeError as error:
            self._record(plural, error)

    def _pods(self) -> None:
        """All pods that hold resources anywhere, and every pod of the namespace."""
        trim = PodTrimmer(self.namespace)
        own = self.kube.list_all("v1", "Pod", namespace=self.namespace, trim=trim).items
        elsewhere = f"{_HOLDING},metadata.namespace!={self.namespace}"
        try:
            others = self.kube.list_all("v1", "Pod", field_selector=elsewhere, trim=trim).items
        except KubeError as error:
            self._record("pods", error, own, f"namespace {self.namespace}")
            return
        self.builder.observed("pods", own + others)

    def _namespaces(self) -> None:
        try:
            self.builder.observed("namespaces", self.kube.list_all("v1", "Namespace", trim=trim_name).items)
        except Forbidden as error:
            found = self.kube.get("v1", "Namespace", self.namespace)
            if found is None:
                self.builder.checked.setdefault("namespaces", {})[self.namespace] = "absent"
            items = [trim_name(found)] if found else []
            self._record("namespaces", error, items, f"namespace {self.namespace}")

    def _definitions(self) -> None:
        """Names alone, with the versions that discovery tells: a definition's schema can be a megabyte."""
        items = self.kube.list_all(
            "apiextensions.k8s.io/v1", "CustomResourceDefinition", trim=trim_name, metadata_only=True
        ).items
        for item in items:
            del item["kind"], item["apiVersion"]  # those of the list's form, not of the definition
            plural, _unused, group = item["metadata"]["name"].partition(".")
            versions = (self.discovered or {}).get(group) or {}
            item["versions"] = [version for version, resources in versions.items() if plural in resources]
        self.builder.observed("customresourcedefinitions", items)

    # -- secrets ----------------------------------------------------------------------------------------------------

    def _secrets(self, asked: tuple[str, ...]) -> None:
        """Names and types of all; registries of pull secrets; key names of those asked for. Values stay behind.

        The server's tables name a Secret and its type without its data, so data is read only where it is needed.
        """
        try:
            rows = self.kube.list_rows("v1", "Secret", namespace=self.namespace)
            entries = self._listed(rows)
        except Forbidden as error:
            by_name = self._asked(asked)
            self._record("secrets", error, by_name.values(), "those asked for by name" if by_name else "")
            return
        present = {str(entry["name"]) for entry in entries}
        by_name = self._asked(tuple(name for name in asked if name in present))
        self.builder.observed("secrets", [by_name.get(str(entry["name"]), entry) for entry in entries])

    def _listed(self, rows: list[dict[str, str]] | None) -> list[Plain]:
        if rows is None:
            return self.kube.list_all("v1", "Secret", namespace=self.namespace, trim=trim_secret).items
        read: dict[str, Plain] = {}
        for kind in sorted({row.get("Type", "") for row in rows} & set(DATA_KEYS)):
            listed = self.kube.list_all(
                "v1", "Secret", namespace=self.namespace, field_selector=f"type={kind}", trim=trim_secret
            )
            read.update({entry["name"]: entry for entry in listed.items})
        names = {
            row["Name"]: SecretEntry(row["Name"], self.namespace, row.get("Type", "")).to_snapshot() for row in rows
        }
        return [read.get(name, entry) for name, entry in names.items()]

    def _asked(self, names: tuple[str, ...]) -> dict[str, Plain]:
        found: dict[str, Plain] = {}
        checked = self.builder.checked.setdefault("secrets", {})
        for name in names:
            try:
                secret = self.kube.get("v1", "Secret", name, self.namespace)
            except Forbidden:
                checked[name] = "forbidden"
                continue
            checked[name] = "observed" if secret else "absent"
            if secret:
                found[name] = collect_secret(secret, with_keys=True).to_snapshot()
        return found

    # -- operator and dry runs --------------------------------------------------------------------------------------

    def operator(self) -> None:
        """Find the operator's Deployment, in whatever namespace it is, and the gates that the API groups open."""
        groups = None if self.discovered is None else frozenset(self.discovered)
        try:
            found = self.kube.list_all("apps/v1", "Deployment", label_selector=OPERATOR_SELECTOR).items
            self.builder.operator = operator_facts(found, groups)
        except (Unreachable, Unauthorized):
            raise
        except KubeError as error:
            self.builder.operator = operator_facts((), groups, unread=str(error))

    def dry_run(self, item: K8sObject) -> Plain:
        """Send one object as a server-side dry run and say what the server answered."""
        metadata = item.get("metadata") or {}
        kind = self._kind_of(item)
        namespace = str(metadata.get("namespace") or self.namespace) if kind is None or kind.namespaced else ""
        result: Plain = {
            "apiVersion": str(item.get("apiVersion") or ""),
            "kind": str(item.get("kind") or ""),
            "namespace": namespace,
            "name": str(metadata.get("name") or ""),
        }
        if kind is None:
            message = f"the server has no kind {result['kind']} in {result['apiVersion']}"
            return {**result, "outcome": "refused", "code": 404, "reason": "NotFound", "message": message}
        try:
            self.kube.apply(item, kind, dry_run=True, namespace=namespace)
        except KubeError as error:
            if isinstance(error, (Unreachable, Unauthorized)):
                raise
            answer = {"code": error.status, "reason": error.reason, "message": error.message}
            return {**result, "outcome": _outcome(error), **answer}
        return {**result, "outcome": "accepted", "code": 200, "reason": "", "message": ""}

    def _kind_of(self, item: K8sObject) -> Kind | None:
        group, _unused, version = str(item.get("apiVersion") or "").rpartition("/")
        name = str(item.get("kind") or "")
        if group and self.discovered is not None:
            resources: Mapping[str, Kind] = self.discovered.get(group, {}).get(version, {})
            found = next((kind for kind in resources.values() if kind.name == name), None)
            if found is not None or any(self.discovered.get(group, {}).values()) or group not in self.discovered:
                return found
        known = KINDS.get(name)
        return known if known is not None and known.group == group else None


def _outcome(error: KubeError) -> str:
    """``forbidden`` is RBAC's word; an admission rule that says 403 (a quota, a webhook) refuses the object."""
    if isinstance(error, Conflict):
        return "conflict"
    if isinstance(error, Forbidden):
        return "forbidden" if "cannot patch resource" in error.message else "refused"
    # A field of a wrong type or an unknown name comes back as 500 from a server-side apply.
    typed = error.message.startswith(_NOT_TYPED)
    return "refused" if typed or 400 <= error.status < 500 else "error"
