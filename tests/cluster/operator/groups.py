# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays the controllers of LeaderWorkerSet and Grove: which pods and sub-objects they would make. Pure."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from .desired import with_owner

LWS_LABEL = "leaderworkerset.sigs.k8s.io"
GROVE = "grove.io"
GROVE_VERSION = "grove.io/v1alpha1"
TEMPLATE_HASH = "simulation.inference-ops/template-hash"
# Their schedulers do not run here.
ABSENT_SCHEDULERS = ("volcano", "kai-scheduler")

Object = dict[str, Any]


def _pod(
    owner: Mapping[str, Any], name: str, template: Mapping[str, Any], labels: Mapping[str, str], env: Mapping[str, str]
) -> Object:
    spec = copy.deepcopy(dict(template["spec"]))
    digest = hashlib.sha256(json.dumps([template, env], sort_keys=True).encode()).hexdigest()[:16]
    if spec.get("schedulerName") in ABSENT_SCHEDULERS:
        del spec["schedulerName"]
    added = [{"name": key, "value": value} for key, value in env.items()]
    for container in [*spec.get("initContainers", ()), *spec["containers"]]:
        container["env"] = added + [item for item in container.get("env", ()) if item["name"] not in env]
    metadata = template.get("metadata") or {}
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": owner["metadata"]["namespace"],
            "labels": {**(metadata.get("labels") or {}), **labels},
            "annotations": {**(metadata.get("annotations") or {}), TEMPLATE_HASH: digest},
        },
        "spec": spec,
    }
    return with_owner(pod, owner)


def pods_of_lws(lws: Mapping[str, Any]) -> Iterator[Object]:
    """Leader NAME-r and workers NAME-r-1 and so on, for each replica r."""
    name, namespace = lws["metadata"]["name"], lws["metadata"]["namespace"]
    spec = lws["spec"]["leaderWorkerTemplate"]
    size = spec.get("size", 1)
    for group in range(lws["spec"].get("replicas", 1)):
        for index in range(size):
            leader = index == 0
            template = (spec.get("leaderTemplate") if leader else None) or spec["workerTemplate"]
            env = {
                "LWS_LEADER_ADDRESS": f"{name}-{group}.{name}.{namespace}",
                "LWS_GROUP_SIZE": str(size),
                "LWS_WORKER_INDEX": str(index),
            }
            labels = {
                f"{LWS_LABEL}/name": name,
                f"{LWS_LABEL}/group-index": str(group),
                f"{LWS_LABEL}/worker-index": str(index),
            }
            pod_name = f"{name}-{group}" if leader else f"{name}-{group}-{index}"
            pod = _pod(lws, pod_name, template, labels, env)
            pod["spec"] |= {"subdomain": name, "hostname": pod_name}
            yield pod


def _child(owner: Mapping[str, Any], kind: str, name: str, spec: Object, labels: Mapping[str, str]) -> Object:
    metadata = {"name": name, "namespace": owner["metadata"]["namespace"], "labels": dict(labels)}
    return with_owner({"apiVersion": GROVE_VERSION, "kind": kind, "metadata": metadata, "spec": spec}, owner)


def cliques_of_set(pcs: Mapping[str, Any]) -> Iterator[Object]:
    """The scaling groups and cliques of a PodCliqueSet (all owned by the set here)."""
    name, template = pcs["metadata"]["name"], pcs["spec"]["template"]
    cliques = {item["name"]: item for item in template["cliques"]}
    dgd_labels = pcs["metadata"].get("labels") or {}
    for replica in range(pcs["spec"].get("replicas", 1)):
        part = {"app.kubernetes.io/part-of": name, f"{GROVE}/podcliqueset-replica-index": str(replica)}
        grouped: set[str] = set()
        for group in template.get("podCliqueScalingGroups") or template.get("podCliqueScalingGroupConfigs") or ():
            group_name = f"{name}-{replica}-{group['name']}"
            members = group["cliqueNames"]
            grouped |= set(members)
            yield _child(
                pcs,
                "PodCliqueScalingGroup",
                group_name,
                {"replicas": group.get("replicas", 1), **group},
                {**dgd_labels, **part},
            )
            pods = sum(cliques[member]["spec"].get("replicas", 1) for member in members)
            for index in range(group.get("replicas", 1)):
                for member in members:
                    labels = {
                        **(cliques[member].get("labels") or {}),
                        **part,
                        f"{GROVE}/podcliquescalinggroup": group_name,
                        f"{GROVE}/podcliquescalinggroup-replica-index": str(index),
                    }
                    spec = {
                        **cliques[member]["spec"],
                        "groupName": group_name,
                        "groupIndex": str(index),
                        "groupPods": str(pods),
                        "annotations": cliques[member].get("annotations") or {},
                    }
                    yield _child(pcs, "PodClique", f"{group_name}-{index}-{member}", spec, labels)
        for clique_name, clique in cliques.items():
            if clique_name not in grouped:
                labels = {**(clique.get("labels") or {}), **part}
                spec = {**clique["spec"], "annotations": clique.get("annotations") or {}}
                yield _child(pcs, "PodClique", f"{name}-{replica}-{clique_name}", spec, labels)


def pods_of_clique(clique: Mapping[str, Any]) -> Iterator[Object]:
    """Pods NAME-i of one clique, with the variables that Grove adds."""
    name, labels, spec = clique["metadata"]["name"], clique["metadata"]["labels"], clique["spec"]
    part, replica = labels["app.kubernetes.io/part-of"], labels[f"{GROVE}/podcliqueset-replica-index"]
    headless = f"{part}-{replica}.{clique['metadata']['namespace']}.svc.cluster.local"
    for index in range(spec.get("replicas", 1)):
        env = {
            "GROVE_PCS_NAME": part,
            "GROVE_PCS_INDEX": replica,
            "GROVE_PCLQ_NAME": name,
            "GROVE_HEADLESS_SERVICE": headless,
            "GROVE_PCLQ_POD_INDEX": str(index),
        }
        if "groupName" in spec:
            env |= {
                "GROVE_PCSG_NAME": spec["groupName"],
                "GROVE_PCSG_INDEX": spec["groupIndex"],
                "GROVE_PCSG_TEMPLATE_NUM_PODS": spec["groupPods"],
            }
        own = {**labels, f"{GROVE}/podclique": name, f"{GROVE}/podclique-pod-index": str(index)}
        template = {"metadata": {"annotations": spec.get("annotations") or {}}, "spec": spec["podSpec"]}
        pod = _pod(clique, f"{name}-{index}", template, own, env)
        pod["spec"] |= {"subdomain": f"{part}-{replica}", "hostname": f"{name}-{index}"}
        yield pod
