# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random small clusters and pods that touch every filter of the scheduler; the same seed gives the same scenario."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Plain = dict[str, Any]
GPU = "nvidia.com/gpu"
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
SPACES = ("fit-a", "fit-b")
SPACE_LABELS = {"fit-a": {"tier": "gold"}, "fit-b": {"tier": "bronze"}}
PRODUCTS = ("NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-80GB")
EXTRAS = ("rdma/hca", "nvidia.com/mig-1g.10gb", "nvidia.com/gpu.shared", "vpc.amazonaws.com/efa")
APPS = ("serve", "train", "cache")
TEAMS = ("red", "blue")
IMMEDIATE, LATE = "fit-immediate", "fit-late"
PRIORITIES = {
    "fit-low": (-10, "PreemptLowerPriority"),
    "fit-high": (1000, "PreemptLowerPriority"),
    "fit-calm": (1000, "Never"),
}
#: How much more often a group has the rules it is about.
_SUBJECT = 3.0
#: Objects that stay for all scenarios.
FIXED: tuple[Plain, ...] = (
    *(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "preemptionPolicy": policy,
        }
        for name, (value, policy) in PRIORITIES.items()
    ),
    *(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": mode,
        }
        for name, mode in ((IMMEDIATE, "Immediate"), (LATE, "WaitForFirstConsumer"))
    ),
    {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "fit-kata"},
        "handler": "kata",
        "overhead": {"podFixed": {"cpu": "750m", "memory": "1Gi"}},
    },
    {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "fit-pool"},
        "handler": "pool",
        "scheduling": {"nodeSelector": {"pool": "red"}, "tolerations": [{"key": "team", "operator": "Exists"}]},
    },
)


@dataclass
class Scenario:
    """One cluster and the pods to place on it, in creation order."""

    seed: int
    nodes: list[Plain] = field(default_factory=list)
    existing: list[Plain] = field(default_factory=list)
    objects: list[Plain] = field(default_factory=list)
    pending: list[Plain] = field(default_factory=list)
    features: Counter[str] = field(default_factory=Counter)
    #: Existing pods by what is done to them after they run: terminal phases, deletion.
    phases: dict[str, str] = field(default_factory=dict)
    deleting: list[str] = field(default_factory=list)


def scenario(seed: int) -> Scenario:
    """Return the scenario of a seed."""
    return _Maker(seed).make()


class _Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.result = Scenario(seed)
        #: How much pods ask for: rules are as much rarer, and sizes smaller.
        self.strictness = 1.0
        #: GPUs free on nodes that anybody may use, less what was asked for already.
        self.left = 0

    def make(self) -> Scenario:
        draw = self.random
        for number in range(draw.randint(2, 7)):
            self.result.nodes.append(self._node(number))
        self._existing()
        self.strictness = draw.choice((0.05, 0.1, 0.2, 0.35, 0.8))
        for group in range(draw.randint(1, 4)):
            self._group(group)
        self.strictness = 1.0
        if draw.random() < 0.5:  # otherwise group after group
            draw.shuffle(self.result.pending)
        if draw.random() < 0.08:
            self._quota()
        if draw.random() < 0.08:
            self._limit_range()
        return self.result

    def chance(self, part: float, feature: str = "") -> bool:
        hit = self.random.random() < part * self.strictness
        if hit and feature:
            self.result.features[feature] += 1
        return hit

    def pick(self, *values: Any) -> Any:
        return self.random.choice(values)

    # --- nodes ----------------------------------------------------------------------------------------------------

    def _node(self, number: int) -> Plain:
        name = f"s{self.result.seed}-n{number}"
        labels = {
            HOST: name if not self.chance(0.08, "hostname label differs") else self.pick("shared-host", f"{name}-x")
        }
        if not self.chance(0.12, "node without zone"):
            labels[ZONE] = self.pick("z-a", "z-b", "z-c")
        if self.chance(0.6):
            labels["pool"] = self.pick("red", "blue")
        if self.chance(0.5):
            labels["gpu-gen"] = self.pick("8", "9", "10", "9GB")
        room: Plain = {
            "cpu": self.pick("8", "16", "32"),
            "memory": self.pick("32Gi", "64Gi", "128Gi"),
            "ephemeral-storage": "100Gi",
            "pods": self.pick("110", "110", "30", "4"),
        }
        gpus = self.pick(0, 1, 2, 4, 4, 8, 8)
        if gpus:
            room[GPU] = str(gpus)
            labels["nvidia.com/gpu.product"] = self.pick(*PRODUCTS)
        for extra in EXTRAS:
            if self.chance(0.2, f"resource {extra}"):
                room[extra] = str(self.pick(1, 2, 4))
        if self.chance(0.15, "resource hugepages-2Mi"):
            room["hugepages-2Mi"] = "1Gi"
        spec: Plain = {}
        taints = []
        for effect in ("NoSchedule", "NoExecute", "PreferNoSchedule"):
            if self.chance(0.1, f"taint {effect}"):
                taints.append({"key": self.pick("team", GPU), "value": self.pick(*TEAMS), "effect": effect})
        if taints:
            spec["taints"] = taints
        if self.chance(0.08, "unschedulable node"):
            spec["unschedulable"] = True
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
            "spec": spec,
            "status": {"allocatable": room, "capacity": room},
        }

    # --- existing pods --------------------------------------------------------------------------------------------

    def _existing(self) -> None:
        for node in self.result.nodes:
            left = int(node["status"]["allocatable"].get(GPU, 0))
            for number in range(self.pick(0, 0, 1, 1, 2, 3)):
                gpus = self.random.randint(0, min(left, 4))
                left -= gpus
                self._existing_pod(node, number, gpus)
            if not node["spec"]:
                self.left += left

    def _existing_pod(self, node: Plain, number: int, gpus: int) -> None:
        name = f"{node['metadata']['name']}-e{number}"
        requests: Plain = {"cpu": self.pick("100m", "500m", "1")}
        limits: Plain = {}
        if gpus:
            requests[GPU] = limits[GPU] = str(gpus)
        spec: Plain = {
            "nodeName": node["metadata"]["name"],
            "containers": [_container(requests, limits)],
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
        }
        labels = {"app": self.pick(*APPS), "team": self.pick(*TEAMS)}
        if self.chance(0.15, "existing host port"):
            spec["containers"][0]["ports"] = [{"containerPort": 7000, "hostPort": 7000}]
        if self.chance(0.15, "existing anti-affinity"):
            key = self.pick(HOST, ZONE)
            spec["affinity"] = {
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [self._term(key)]}
            }
        if self.chance(0.1, "existing low priority"):
            spec["priorityClassName"] = "fit-low"
        if self.chance(0.1, "existing terminal pod"):
            self.result.phases[name] = self.pick("Succeeded", "Failed")
        meta: Plain = {"name": name, "namespace": self.pick(*SPACES), "labels": labels}
        if name not in self.result.phases and self.chance(0.1, "existing deleting pod"):
            meta["finalizers"] = ["fit.example.com/keep"]
            self.result.deleting.append(name)
        self.result.existing.append({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})

    # --- pending pods ---------------------------------------------------------------------------------------------

    def _group(self, group: int) -> None:
        labels = {"app": self.pick(*APPS), "team": self.pick(*TEAMS), "grp": f"g{group}"}
        spec: Plain = {"containers": [self._main()], "terminationGracePeriodSeconds": 0}
        namespace = self.pick("fit-a", "fit-a", "fit-b")
        features = (
            self._containers,
            self._pod_level,
            self._runtime_class,
            self._tolerations,
            self._node_rules,
            self._ports,
            self._pod_rules,
            self._spreads,
            self._priority,
            self._gates,
        )
        usual = self.strictness
        # Each group is about one thing, so that every rule is seen often and pods still fit now and then.
        subject = self.pick(*features)
        for feature in features:
            self.strictness = _SUBJECT if feature == subject else usual
            feature(spec, labels)
        self.strictness = usual
        count = self._count(spec)
        claims = self._claims(group, namespace, count)
        for number in range(count):
            name = f"s{self.result.seed}-g{group}-{number}"
            own = {**spec, "volumes": claims(number)} if claims else spec
            meta = {"name": name, "namespace": namespace, "labels": labels}
            self.result.pending.append({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": own})

    def _count(self, spec: Plain) -> int:
        """Return how many pods the group has; scenarios that ask for little rarely ask for more than there is."""
        count = self.random.randint(1, 6)
        gpus = int(spec["containers"][0].get("resources", {}).get("limits", {}).get(GPU, 0))
        if gpus and self.strictness < 0.5:
            count = max(min(count, int(self.left * 0.6) // gpus), 1)
        self.left -= count * gpus
        return count

    def _open_nodes(self) -> list[Plain]:
        return [node for node in self.result.nodes if not node["spec"]]

    def _main(self) -> Plain:
        requests: Plain = {}
        limits: Plain = {}
        if self.random.random() < 0.85:
            sizes: tuple[int, ...] = (1, 1, 2, 2, 4, 8)
            if self.strictness < 0.5:  # only what some node that anybody may use has
                rooms = [int(node["status"]["allocatable"].get(GPU, 0)) for node in self._open_nodes()]
                sizes = tuple(size for size in (1, 1, 1, 2, 2, 4) if size <= max(rooms, default=0) // 2)
            if sizes:
                limits[GPU] = str(self.pick(*sizes))
        if self.chance(0.5):
            requests["cpu"] = self.pick("250m", "1", "4")
        elif self.chance(0.3, "limit without request"):
            limits["cpu"] = self.pick("500m", "2")
        if self.chance(0.4):
            requests["memory"] = self.pick("1Gi", "500M", "16Gi", "1536Mi")
        for extra in EXTRAS:
            if self.chance(0.06, f"request {extra}"):
                limits[extra] = "1"
        if self.chance(0.05, "request hugepages-2Mi"):
            limits["hugepages-2Mi"] = "256Mi"
            requests.setdefault("memory", "1Gi")
        if self.chance(0.06, "request ephemeral-storage"):
            requests["ephemeral-storage"] = self.pick("10Gi", "60Gi")
        return _container(requests, limits)

    def _containers(self, spec: Plain, _labels: Plain) -> None:
        if self.chance(0.1, "second container"):
            spec["containers"].append(_container({"cpu": "500m"}, {}, "second"))
        init = []
        if self.chance(0.1, "init container"):
            init.append(_container({"cpu": self.pick("1", "6")}, {GPU: self.pick("1", "2", "4")}, "init"))
        if self.chance(0.1, "sidecar"):
            side = _container({"cpu": "500m"}, {GPU: "1"} if self.chance(0.5) else {}, "side")
            init.insert(self.random.randint(0, len(init)), {**side, "restartPolicy": "Always"})
        if init:
            spec["initContainers"] = init

    def _pod_level(self, spec: Plain, _labels: Plain) -> None:
        if self.chance(0.07, "pod level resources"):
            kind = self.pick("requests", "limits")
            spec["resources"] = {kind: {"cpu": "6", "memory": "20Gi"}}

    def _runtime_class(self, spec: Plain, _labels: Plain) -> None:
        if self.chance(0.05, "runtime class overhead"):
            spec["runtimeClassName"] = "fit-kata"
        elif self.chance(0.05, "runtime class scheduling"):
            spec["runtimeClassName"] = "fit-pool"

    def _tolerations(self, spec: Plain, _labels: Plain) -> None:
        found: list[Plain] = []
        if self.chance(0.25, "toleration Exists"):
            found.append({"key": self.pick("team", GPU), "operator": "Exists"})
        if self.chance(0.12, "toleration Equal"):
            found.append({"key": "team", "operator": "Equal", "value": self.pick(*TEAMS), "effect": "NoSchedule"})
        if self.chance(0.06, "toleration of everything"):
            found.append({"operator": "Exists", **({"effect": "NoExecute"} if self.chance(0.5) else {})})
        if found:
            spec["tolerations"] = found

    def _node_rules(self, spec: Plain, _labels: Plain) -> None:
        if self.chance(0.15, "node selector"):
            spec["nodeSelector"] = {self.pick("pool"): self.pick("red", "blue")}
        if not self.chance(0.25):
            return
        terms = [self._node_term() for _unused in range(self.pick(1, 1, 2))]
        spec.setdefault("affinity", {})["nodeAffinity"] = {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
        }
        if self.chance(0.3, "preferred node affinity"):
            preference = {"weight": 50, "preference": self._node_term()}
            spec["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = [preference]

    def _node_term(self) -> Plain:
        nodes = [node["metadata"]["name"] for node in self.result.nodes]
        makers: dict[str, Callable[[], Plain]] = {
            "In": lambda: {"key": "pool", "operator": "In", "values": [self.pick("red", "blue")]},
            "NotIn": lambda: {"key": "pool", "operator": "NotIn", "values": [self.pick("red", "blue")]},
            "Exists": lambda: {"key": "gpu-gen", "operator": "Exists"},
            "DoesNotExist": lambda: {"key": "gpu-gen", "operator": "DoesNotExist"},
            "Gt": lambda: {"key": "gpu-gen", "operator": "Gt", "values": ["8"]},
            "Lt": lambda: {"key": "gpu-gen", "operator": "Lt", "values": ["10"]},
        }
        operator = self.pick(*makers, "field")
        self.result.features[f"node affinity {operator}"] += 1
        if operator == "field":
            field_rule = {"key": "metadata.name", "operator": self.pick("In", "NotIn"), "values": [self.pick(*nodes)]}
            return {"matchFields": [field_rule]}
        expressions = [makers[operator]()]
        if self.chance(0.2):
            expressions.append({"key": ZONE, "operator": "In", "values": ["z-a", "z-b"]})
        return {"matchExpressions": expressions}

    def _ports(self, spec: Plain, _labels: Plain) -> None:
        if self.chance(0.08, "host port"):
            port: Plain = {"containerPort": 7000, "hostPort": 7000, "protocol": self.pick("TCP", "TCP", "UDP")}
            if self.chance(0.3):
                port["hostIP"] = self.pick("127.0.0.1", "10.0.0.9")
            spec["containers"][0]["ports"] = [port]
        elif self.chance(0.04, "host network"):
            spec["hostNetwork"] = True
            spec["containers"][0]["ports"] = [{"containerPort": 7000}]

    def _term(self, key: str) -> Plain:
        term: Plain = {"topologyKey": key}
        shape = self.pick("label", "label", "label", "expression", "all", "none")
        if shape == "label":
            term["labelSelector"] = {"matchLabels": {"app": self.pick(*APPS)}}
        elif shape == "expression":
            operator = self.pick("In", "NotIn", "Exists")
            rule: Plain = {"key": "team", "operator": operator}
            if operator != "Exists":
                rule["values"] = [self.pick(*TEAMS)]
            term["labelSelector"] = {"matchExpressions": [rule]}
        elif shape == "all":
            term["labelSelector"] = {}
        self.result.features[f"selector {shape}"] += 1
        if self.chance(0.15, "namespaces of a term"):
            term["namespaces"] = [self.pick(*SPACES)]
        if self.chance(0.15, "namespace selector of a term"):
            term["namespaceSelector"] = self.pick({}, {"matchLabels": {"tier": "gold"}})
        if shape == "label" and self.chance(0.1, "matchLabelKeys of a term"):
            term[self.pick("matchLabelKeys", "mismatchLabelKeys")] = ["team"]
        return term

    def _pod_rules(self, spec: Plain, labels: Plain) -> None:
        for kind, part in (("podAffinity", 0.12), ("podAntiAffinity", 0.18)):
            if not self.chance(part, kind):
                continue
            key = self.pick(HOST, ZONE)
            term = self._term(key)
            if self.random.random() < 0.6:
                self.result.features[f"{kind} to itself"] += 1
                term = {"topologyKey": key, "labelSelector": {"matchLabels": {"grp": labels["grp"]}}}
            terms = [term]
            if self.chance(0.1, f"{kind} with two terms"):
                terms.append(self._term(self.pick(HOST, ZONE)))
            spec.setdefault("affinity", {})[kind] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        if self.chance(0.06, "preferred pod affinity"):
            preference = {"weight": 10, "podAffinityTerm": self._term(ZONE)}
            kind = self.pick("podAffinity", "podAntiAffinity")
            spec.setdefault("affinity", {}).setdefault(kind, {})["preferredDuringSchedulingIgnoredDuringExecution"] = [
                preference
            ]

    def _spreads(self, spec: Plain, labels: Plain) -> None:
        rules: list[Plain] = []
        for _unused in range(self.pick(1, 1, 1, 2) if self.chance(0.25) else 0):
            rule: Plain = {
                "maxSkew": self.pick(1, 1, 2),
                "topologyKey": self.pick(HOST, ZONE),
                "whenUnsatisfiable": self.pick("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"),
                "labelSelector": {"matchLabels": {"grp": labels["grp"]}},
            }
            if any((rule["topologyKey"], rule["whenUnsatisfiable"]) == one for one in map(_place_of, rules)):
                continue
            self.result.features[f"spread {rule['whenUnsatisfiable']}"] += 1
            if self.chance(0.2, "spread over an app"):
                rule["labelSelector"] = {"matchLabels": {"app": labels["app"]}}
            elif self.chance(0.08, "spread with an empty selector"):
                rule["labelSelector"] = {}
            if rule["whenUnsatisfiable"] == "DoNotSchedule" and self.chance(0.2, "spread minDomains"):
                rule["minDomains"] = self.pick(2, 3)
            for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
                if self.chance(0.25, f"spread {policy}"):
                    rule[policy] = self.pick("Honor", "Ignore")
            if rule["labelSelector"] and self.chance(0.1, "spread matchLabelKeys"):
                rule["matchLabelKeys"] = ["team"]
            rules.append(rule)
        if rules:
            spec["topologySpreadConstraints"] = rules

    def _priority(self, spec: Plain, _labels: Plain) -> None:
        if self.chance(0.06, "priority"):
            spec["priorityClassName"] = self.pick(*PRIORITIES)

    def _gates(self, spec: Plain, _labels: Plain) -> None:
        if self.chance(0.03, "scheduling gate"):
            spec["schedulingGates"] = [{"name": "fit.example.com/wait"}]

    # --- claims, quotas -------------------------------------------------------------------------------------------

    def _claims(self, group: int, namespace: str, count: int) -> Callable[[int], list[Plain]] | None:
        kind = self.random.random() / max(self.strictness, 0.25) / 2
        base = f"s{self.result.seed}-c{group}"
        if kind < 0.05:
            self.result.features["claim bound to a zone"] += 1
            affinity = {"key": ZONE, "operator": "In", "values": [self.pick("z-a", "z-b")]}
            self._volume(f"{base}-pv", IMMEDIATE, affinity if self.chance(0.7) else None)
            self._claim(base, namespace, IMMEDIATE, "ReadWriteMany")
            return lambda number: [_mount(base)]
        if kind < 0.1:
            self.result.features["claims that wait for a consumer"] += 1
            nodes = [node["metadata"]["labels"][HOST] for node in self.result.nodes]
            for number in range(count):
                host = {"key": HOST, "operator": "In", "values": [self.pick(*nodes)]}
                self._volume(f"{base}-pv{number}", LATE, host)
                self._claim(f"{base}-{number}", namespace, LATE, "ReadWriteOnce")
            return lambda number: [_mount(f"{base}-{number}")]
        if kind < 0.12:
            self.result.features["claim for one pod"] += 1
            self._volume(f"{base}-pv", IMMEDIATE, None, "ReadWriteOncePod")
            self._claim(base, namespace, IMMEDIATE, "ReadWriteOncePod")
            return lambda number: [_mount(base)]
        if kind < 0.13:
            self.result.features["claim missing"] += 1
            return lambda number: [_mount(f"{base}-none")]
        if kind < 0.14:
            self.result.features["claim unbound"] += 1
            self._claim(base, namespace, IMMEDIATE, "ReadWriteOnce")
            return lambda number: [_mount(base)]
        return None

    def _volume(self, name: str, storage_class: str, affinity: Plain | None, mode: str = "") -> None:
        spec: Plain = {
            "capacity": {"storage": self.pick("10Gi", "20Gi")},
            "accessModes": [mode] if mode else ["ReadWriteOnce", "ReadWriteMany"],
            "storageClassName": storage_class,
            "hostPath": {"path": "/data"},
        }
        meta: Plain = {"name": name}
        if affinity:
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [affinity]}]}}
        elif self.chance(0.5, "volume zone label"):
            meta["labels"] = {ZONE: self.pick("z-a", "z-b")}
        self.result.objects.append({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": spec})

    def _claim(self, name: str, namespace: str, storage_class: str, mode: str) -> None:
        spec = {
            "accessModes": [mode],
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": "10Gi"}},
        }
        meta = {"name": name, "namespace": namespace}
        self.result.objects.append(
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}
        )

    def _quota(self) -> None:
        self.result.features["resource quota"] += 1
        hard: Plain = self.pick(
            {f"requests.{GPU}": "4"}, {"pods": "6"}, {f"requests.{GPU}": "64"}, {"count/pods": "40"}
        )
        meta = {"name": f"s{self.result.seed}-quota", "namespace": "fit-a"}
        self.result.objects.append(
            {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": hard}}
        )

    def _limit_range(self) -> None:
        self.result.features["limit range"] += 1
        limits: Plain = {"type": "Container", "defaultRequest": {"cpu": "3", "memory": "4Gi"}}
        if self.chance(0.4, "limit range maximum"):
            limits = {"type": "Container", "default": {"cpu": "2"}, "max": {"cpu": "3"}}
        meta = {"name": f"s{self.result.seed}-limits", "namespace": "fit-a"}
        self.result.objects.append(
            {"apiVersion": "v1", "kind": "LimitRange", "metadata": meta, "spec": {"limits": [limits]}}
        )


def _place_of(rule: Plain) -> tuple[str, str]:
    return rule["topologyKey"], rule["whenUnsatisfiable"]


def _mount(claim: str) -> Plain:
    return {"name": "data", "persistentVolumeClaim": {"claimName": claim}}


def _container(requests: Plain, limits: Plain, name: str = "main") -> Plain:
    resources = {kind: values for kind, values in (("requests", requests), ("limits", limits)) if values}
    return {"name": name, "image": "fit", **({"resources": resources} if resources else {})}
