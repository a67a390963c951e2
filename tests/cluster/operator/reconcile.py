# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings one DGD's children and status to what they should be."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import keys

from ..api import Api, ApiError
from .desired import Desired, Settings, component_owner, desired_objects, with_owner
from .groups import TEMPLATE_HASH, cliques_of_set, pods_of_clique, pods_of_lws
from .status import component_states, condition, dgd_status, lws_state
from .workers import registrations

FINALIZER = "nvidia.com/finalizer"
# Written by the controller at each change; all other annotations are the webhook's, at creation.
FOLLOWED = (keys.ANNOTATION_CURRENT_WORKER_HASH, keys.ANNOTATION_CURRENT_WORKER_HASH_V2)
MANAGER = "dynamo-operator-stand-in"
# Kinds that hang directly on the DGD and go when it no longer wants them. A Deployment or LeaderWorkerSet goes with
# its DCD only: as in the real operator, one that changes into the other leaves the old one behind.
PRUNED = (
    ("grove.io/v1alpha1", "PodCliqueSet"),
    ("v1", "Service"),
    ("v1", "ConfigMap"),
)
# All that is deleted with a DGD; the garbage collector would do it too, but late for kinds that it has just met.
OWNED = (
    *PRUNED,
    ("apps/v1", "Deployment"),
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
    ("scheduling.volcano.sh/v1beta1", "PodGroup"),
    ("v1", "ServiceAccount"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("rbac.authorization.k8s.io/v1", "Role"),
)
READ = (
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
    ("grove.io/v1alpha1", "PodCliqueSet"),
    ("grove.io/v1alpha1", "PodCliqueScalingGroup"),
    ("grove.io/v1alpha1", "PodClique"),
    ("v1", "Pod"),
)

Object = dict[str, Any]


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def owners(item: Mapping[str, Any]) -> set[str]:
    return {reference["uid"] for reference in item["metadata"].get("ownerReferences") or ()}


class Reconciler:
    """One cluster's; not for use by several threads."""

    def __init__(self, api: Api, settings: Settings) -> None:
        self._api = api
        self._settings = settings
        self._version = settings.api_version
        self._registered: set[str] = set()  # uids of pods
        # DGD → its uid and the generation whose children were applied without an error.
        self._applied: dict[tuple[str, str], tuple[str, int]] = {}

    def forget(self, key: tuple[str, str]) -> None:
        """Apply all of this DGD's children again at the next look. Other threads may call it."""
        self._applied.pop(key, None)

    def reconcile(self, namespace: str, name: str) -> bool:
        """False when it should be tried again soon."""
        dgd = self._api.get(self._version, keys.DGD_KIND, namespace, name)
        if dgd is None:
            return True
        if dgd["metadata"].get("deletionTimestamp"):
            self._finalize(dgd)
            return True
        errors: Sequence[str] = ()
        wanted = (dgd["metadata"]["uid"], dgd["metadata"]["generation"])
        if self._applied.get((namespace, name)) != wanted:
            self._applied[namespace, name] = wanted
            desired = desired_objects(dgd, self._settings)
            dgd = self._admit(dgd, desired)
            errors = desired.errors or self._apply(dgd, desired.objects)
            if errors:
                self.forget((namespace, name))
        children = self._children(dgd)
        if not errors:
            errors = self._make_groups(children)
        if self._settings.plays_workers:
            self._register(children["Pod"])
        self._report(dgd, children, errors)
        return not errors

    def _admit(self, dgd: Object, desired: Desired) -> Object:
        """Do what the webhook does on create (annotations), and hold on to the DGD until its children are gone."""
        metadata = dgd["metadata"]
        annotations = metadata.get("annotations") or {}
        missing = {
            key: value
            for key, value in (desired.annotations or {}).items()
            if key not in annotations or (key in FOLLOWED and annotations[key] != value)
        }
        finalizers = metadata.get("finalizers") or []
        change: Object = {}
        if missing:
            change["annotations"] = missing
        if FINALIZER not in finalizers:
            change["finalizers"] = [*finalizers, FINALIZER]
        if not change:
            return dgd
        return {**dgd, **self._api.patch(dgd, {"metadata": change})}

    def _apply(self, dgd: Object, objects: Sequence[Object]) -> list[str]:
        dcds: list[Object] = []
        problems: list[str] = []
        for item in objects:
            owner = component_owner(item, dcds) or dgd
            if item["metadata"].get("namespace") != dgd["metadata"]["namespace"]:
                continue  # cluster-wide objects and other namespaces' are the installation's, not this DGD's
            try:
                made = self._api.apply(with_owner(item, owner), MANAGER)
            except ApiError as error:
                problems.append(f"{item['kind']} {item['metadata']['name']}: {error.message}")
                continue
            if item["kind"] == keys.DCD_KIND:
                dcds.append(made)
        if not problems:
            self._prune(dgd, objects)
        return problems

    def _listed(self, api_version: str, kind: str, namespace: str) -> list[Object]:
        try:
            return self._api.list(api_version, kind, namespace)
        except ApiError as error:
            if error.status == 404:  # the kind is not defined in this cluster
                return []
            raise

    def _prune(self, dgd: Object, objects: Iterable[Object]) -> None:
        wanted = {(item["kind"], item["metadata"]["name"]) for item in objects}
        for api_version, kind in ((self._version, keys.DCD_KIND), *PRUNED):
            for item in self._listed(api_version, kind, dgd["metadata"]["namespace"]):
                if dgd["metadata"]["uid"] in owners(item) and (kind, item["metadata"]["name"]) not in wanted:
                    self._delete_with_parts(item)

    def _delete_with_parts(self, item: Object) -> None:
        """Delete an object and what it owns at once: the garbage collector learns of new kinds only now and then."""
        namespace = item["metadata"]["namespace"]
        uids = {item["metadata"]["uid"]}
        for api_version, kind in (*READ, ("scheduling.volcano.sh/v1beta1", "PodGroup"), ("v1", "Service")):
            for part in self._listed(api_version, kind, namespace):
                if owners(part) & uids:
                    uids.add(part["metadata"]["uid"])
                    self._api.delete(part)
        self._api.delete(item)

    def _children(self, dgd: Object) -> dict[str, list[Object]]:
        """Living objects of this DGD by kind."""
        metadata = dgd["metadata"]
        children: dict[str, list[Object]] = {}
        uids = {metadata["uid"]} | {
            dcd["metadata"]["uid"]
            for dcd in self._listed(self._version, keys.DCD_KIND, metadata["namespace"])
            if metadata["uid"] in owners(dcd)
        }
        for api_version, kind in READ:
            children[kind] = [
                item
                for item in self._listed(api_version, kind, metadata["namespace"])
                if owners(item) & uids and not item["metadata"].get("deletionTimestamp")
            ]
            uids |= {item["metadata"]["uid"] for item in children[kind]}
        return children

    def _make_groups(self, children: dict[str, list[Object]]) -> list[str]:
        """Play the absent controllers: make what LeaderWorkerSets and PodCliqueSets ask for."""
        problems: list[str] = []
        for pcs in children["PodCliqueSet"]:
            for kind in ("PodCliqueScalingGroup", "PodClique"):
                wanted = [item for item in cliques_of_set(pcs) if item["kind"] == kind]
                problems += self._sync(children[kind], wanted, pcs)
        for lws in children["LeaderWorkerSet"]:
            problems += self._sync(children["Pod"], list(pods_of_lws(lws)), lws)
        for clique in children["PodClique"]:
            problems += self._sync(children["Pod"], list(pods_of_clique(clique)), clique)
        return problems

    def _sync(self, present: list[Object], wanted: Sequence[Object], owner: Object) -> list[str]:
        """Create what is missing, delete what is too much or made from an older template; ``present`` is updated."""
        by_name = {item["metadata"]["name"]: item for item in present if owner["metadata"]["uid"] in owners(item)}
        problems: list[str] = []
        for item in wanted:
            old = by_name.pop(item["metadata"]["name"], None)
            if old is not None and _same(old, item):
                continue
            if old is not None and item["kind"] == "Pod":
                self._remove(present, old)  # its replacement follows when it is gone
                continue
            try:
                made = self._api.apply(item, MANAGER)
            except ApiError as error:
                problems.append(f"{item['kind']} {item['metadata']['name']}: {error.message}")
                continue
            if old is not None:
                present.remove(old)
            present.append({**item, **made})
        for extra in by_name.values():
            self._remove(present, extra)
        return problems

    def _remove(self, present: list[Object], item: Object) -> None:
        self._api.delete(item)
        present.remove(item)

    def _register(self, pods: Sequence[Object]) -> None:
        """Write what ready workers would, once for each pod."""
        for record in registrations(pods):
            uid = record["metadata"]["ownerReferences"][0]["uid"]
            if uid not in self._registered:
                self._api.apply(record, MANAGER)
                self._registered.add(uid)

    def _report(self, dgd: Object, children: dict[str, list[Object]], errors: Sequence[str]) -> None:
        spec = dgd["spec"]
        wanted = list(spec.get("services") or ()) or [item["name"] for item in spec.get("components") or ()]
        states = component_states(children)
        status = dgd_status(dgd, wanted, states, errors, now())
        if _differs(dgd.get("status"), status):
            self._api.patch(dgd, {"status": status}, "status")
        for dcd in self._listed(self._version, keys.DCD_KIND, dgd["metadata"]["namespace"]):
            component = (dcd["metadata"].get("labels") or {}).get(keys.LABEL_COMPONENT, "")
            if dgd["metadata"]["uid"] in owners(dcd) and component in states:
                self._report_component(dcd, states[component].is_ready, states[component].to_status())
        for lws in children["LeaderWorkerSet"]:
            self._report_lws(lws, children["Pod"])

    def _report_component(self, dcd: Object, ready: bool, service: Object) -> None:
        before = (dcd.get("status") or {}).get("conditions") or []
        generation = dcd["metadata"]["generation"]
        reason = "all_resources_are_ready" if ready else "some_resources_are_not_ready"
        available = condition("Available", ready, reason, "", generation, before, now())
        status = {"observedGeneration": generation, "conditions": [available], "service": service}
        if _differs(dcd.get("status"), status):
            self._api.patch(dcd, {"status": status}, "status")

    def _report_lws(self, lws: Object, pods: Sequence[Object]) -> None:
        state = lws_state([lws], pods)
        status: Object = {"replicas": state.existing, "readyReplicas": state.ready, "updatedReplicas": state.updated}
        if _differs(lws.get("status"), status):
            self._api.patch(lws, {"status": status}, "status")

    def _finalize(self, dgd: Object) -> None:
        uid = dgd["metadata"]["uid"]
        for api_version, kind in ((self._version, keys.DCD_KIND), *OWNED):
            for item in self._listed(api_version, kind, dgd["metadata"]["namespace"]):
                if uid in owners(item) and not item["metadata"].get("deletionTimestamp"):
                    self._delete_with_parts(item)
        self.forget((dgd["metadata"]["namespace"], dgd["metadata"]["name"]))
        left = [item for item in dgd["metadata"].get("finalizers") or () if item != FINALIZER]
        if left != (dgd["metadata"].get("finalizers") or []):
            try:
                self._api.patch(dgd, {"metadata": {"finalizers": left}})
            except ApiError as error:
                if error.status != 404:
                    raise


def _same(old: Object, new: Object) -> bool:
    if new["kind"] == "Pod":
        digests = [(item["metadata"].get("annotations") or {}).get(TEMPLATE_HASH) for item in (old, new)]
        return digests[0] == digests[1]
    return json.dumps(old["spec"], sort_keys=True) == json.dumps(new["spec"], sort_keys=True)


def _differs(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
    old = old or {}
    return any(old.get(key) != value for key, value in new.items())
