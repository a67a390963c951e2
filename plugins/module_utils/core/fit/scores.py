# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The default scheduler's scores of a node for a pod.

Source: Kubernetes 1.36 default plugins and weights: TaintToleration 3, NodeAffinity 2, PodTopologySpread 2,
InterPodAffinity 2, NodeResourcesFit (least allocated) 1, BalancedAllocation 1, ImageLocality 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from ..demand import K8sObject
from ..keys import LABEL_SELECTOR
from ..podresources import CPU, MEMORY, pod_requests, scoring_requests
from .cluster import BoundPod, Group
from .model import HOSTNAME, ZONE, Affinity, Spread, Term, labels_of, namespace_of
from .node_filters import matches_node
from .selectors import Labels, Requirement, Selector, tolerates, untolerated
from .state import State

TOP = 100
_MIB = 2**20
_IMAGE_LEAST, _IMAGE_MOST = 23 * _MIB, 1000 * _MIB
#: How much the required affinity of a standing pod towards the new one weighs.
_HARD_AFFINITY_WEIGHT = 1

#: Kubernetes' system defaults (``podtopologyspread`` ``systemDefaultConstraints``).
_DEFAULT_SPREADS = ((HOSTNAME, 3), (ZONE, 5))

Standing = tuple[str, Labels, int, bool, Affinity]
"""Namespace, labels, node, terminating, rules of a standing pod."""


class Scores:
    """Scores over a state. ``placed`` and ``taken_back`` keep it in step with the state."""

    def __init__(self, state: State) -> None:
        self.state = state
        nodes, bound = state.nodes, state.cluster.bound
        self.room = [(node.allocatable.get(CPU, 0), node.allocatable.get(MEMORY, 0)) for node in nodes]
        self.used = [[0, 0] for _unused in nodes]
        self.counted = [[0, 0] for _unused in nodes]
        for pod in bound:
            self._use(pod.node, pod.requests, _scoring(pod), 1)
        self.requests = [pod_requests(group.source) for group in state.groups]
        self.scoring = [scoring_requests(group.source) for group in state.groups]
        self.taints = [self._taints(group) for group in state.groups]
        self.preferred = [self._preferred(group) for group in state.groups]
        self.images = self._images()
        self.soft = [soft_spreads(group) for group in state.groups]
        self._rules = [group.affinity for group in state.groups]
        self.topological = [self._topological(index) for index in range(len(state.groups))]
        self.standing: list[Standing] = []
        if any(self.topological):
            ruled = {id(pod): affinity for pod, affinity in state.cluster.rules}
            self.standing = [
                (
                    namespace_of(pod.source),
                    labels_of(pod.source),
                    pod.node,
                    pod.terminating,
                    ruled.get(id(pod), Affinity()),
                )
                for pod in bound
            ]

    def _topological(self, index: int) -> bool:
        """Return whether other pods' places count in the group's scores."""
        group = self.state.groups[index]
        rules = [affinity for _pod, affinity in self.state.cluster.rules] + self._rules
        return bool(self.soft[index] or group.affinity.prefer_near or group.affinity.prefer_apart) or any(
            term.matches(group.namespace, group.labels, self.state.cluster.namespace_labels)
            for affinity in rules
            for term in (*affinity.near, *affinity.prefer_near, *affinity.prefer_apart)
        )

    def _use(self, node: int, requests: Mapping[str, int], scoring: tuple[int, int], sign: int) -> None:
        used, counted = self.used[node], self.counted[node]
        used[0] += sign * requests.get(CPU, 0)
        used[1] += sign * requests.get(MEMORY, 0)
        counted[0] += sign * scoring[0]
        counted[1] += sign * scoring[1]

    def placed(self, group: int, node: int) -> None:
        """Take note that a pod of the group was placed."""
        self._use(node, self.requests[group], self.scoring[group], 1)
        if any(self.topological):
            one = self.state.groups[group]
            self.standing.append((one.namespace, one.labels, node, False, one.affinity))

    def taken_back(self, group: int, node: int) -> None:
        """Take note that the last pod placed, one of the group, was taken back."""
        self._use(node, self.requests[group], self.scoring[group], -1)
        if any(self.topological):
            self.standing.pop()

    # --- static parts ---------------------------------------------------------------------------------------------

    def _taints(self, group: Group) -> list[int] | None:
        soft = [one for one in group.rules.tolerations if one.get("effect") in (None, "", "PreferNoSchedule")]
        counts = [
            sum(1 for taint in node.taints if taint.get("effect") == "PreferNoSchedule" and not tolerates(soft, taint))
            if node.taints
            else 0
            for node in self.state.nodes
        ]
        return counts if any(counts) else None

    def _preferred(self, group: Group) -> list[int] | None:
        if not group.rules.preferred:
            return None
        return [
            sum(weight for weight, term in group.rules.preferred if term.matches(node.labels, node.name))
            for node in self.state.nodes
        ]

    def _images(self) -> list[list[int] | None]:
        held: list[dict[str, int]] = []
        spread: Counter[str] = Counter()
        for node in self.state.nodes:
            names: dict[str, int] = {}
            for image in (node.source.get("status") or {}).get("images") or ():
                for name in image.get("names") or ():
                    names[str(name)] = int(image.get("sizeBytes") or 0)
            held.append(names)
            spread.update(names.keys())
        if not spread:
            return [None for _unused in self.state.groups]
        return [self._image_scores(group.source, held, spread) for group in self.state.groups]

    def _image_scores(self, pod: K8sObject, held: list[dict[str, int]], spread: Counter[str]) -> list[int]:
        spec = pod.get("spec") or {}
        containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
        names = [_tagged(str(container.get("image") or "")) for container in containers]
        most = _IMAGE_MOST * max(len(containers), 1)
        found = []
        for images in held:
            total = sum(int(images[name] * (spread[name] / len(held))) for name in names if name in images)
            total = min(max(total, _IMAGE_LEAST), most)
            found.append(TOP * (total - _IMAGE_LEAST) // (most - _IMAGE_LEAST))
        return found

    # --- scores ---------------------------------------------------------------------------------------------------

    def own(self, group: int, node: int) -> int:
        """Return the part of the score that needs no other node: resources and images."""
        room, counted, used = self.room[node], self.counted[node], self.used[node]
        asked, requests = self.scoring[group], self.requests[group]
        shares = [
            (capacity - have - more) * TOP // capacity if have + more <= capacity else 0
            for capacity, have, more in zip(room, counted, asked, strict=True)
            if capacity
        ]
        score = sum(shares) // len(shares) if shares else 0
        cpu, memory = requests.get(CPU, 0), requests.get(MEMORY, 0)
        if cpu or memory:
            after = _balance((used[0] + cpu, used[1] + memory), room)
            score += TOP // 2 + (TOP // 2 + after - _balance(used, room)) // 2
        images = self.images[group]
        return score + (images[node] if images else 0)

    def total(self, group: int, nodes: Sequence[int], own: Sequence[int]) -> list[int]:
        """Return the final scores of the feasible ``nodes``; ``own`` are their own parts."""
        scores = list(own)
        taints = self.taints[group]
        if taints is not None:
            worst = max(taints[node] for node in nodes)
            if worst:
                scores = [
                    score + 3 * (TOP - TOP * taints[node] // worst) for score, node in zip(scores, nodes, strict=True)
                ]
        preferred = self.preferred[group]
        if preferred is not None:
            best = max(preferred[node] for node in nodes)
            if best:
                scores = [
                    score + 2 * (TOP * preferred[node] // best) for score, node in zip(scores, nodes, strict=True)
                ]
        if self.topological[group]:
            scores = self._with_pods(group, nodes, scores)
        return scores

    def _with_pods(self, group: int, nodes: Sequence[int], scores: list[int]) -> list[int]:
        if self.soft[group]:
            spread = self._spread(group, nodes)
            scores = [score + 2 * more for score, more in zip(scores, spread, strict=True)]
        near = self._affinity(group)
        if near:
            raw = [
                sum(near.get((key, value), 0) for key, value in self.state.nodes[node].labels.items()) for node in nodes
            ]
            least, most = min(raw), max(raw)
            if most > least:
                scores = [
                    score + 2 * int(TOP * ((value - least) / (most - least)))
                    for score, value in zip(scores, raw, strict=True)
                ]
        return scores

    def _affinity(self, group: int) -> dict[tuple[str, str], int]:
        one = self.state.groups[group]
        known = self.state.cluster.namespace_labels
        found: dict[tuple[str, str], int] = {}

        def add(term: Term, node: int, weight: int) -> None:
            value = self.state.nodes[node].labels.get(term.key)
            if value is not None:
                found[(term.key, value)] = found.get((term.key, value), 0) + weight

        for namespace, labels, node, _terminating, rules in self.standing:
            for term in one.affinity.prefer_near:
                if term.matches(namespace, labels, known):
                    add(term, node, term.weight)
            for term in one.affinity.prefer_apart:
                if term.matches(namespace, labels, known):
                    add(term, node, -term.weight)
            for terms, sign in ((rules.near, 0), (rules.prefer_near, 1), (rules.prefer_apart, -1)):
                for term in terms:
                    if term.matches(one.namespace, one.labels, known):
                        add(term, node, sign * term.weight or _HARD_AFFINITY_WEIGHT)
        return found

    def _spread(self, group: int, nodes: Sequence[int]) -> list[int]:
        rules = self.soft[group]
        labels = [self.state.nodes[node].labels for node in nodes]
        # The defaults do not ask a node to have all labels, a pod's own constraints do.
        own = bool(self.state.groups[group].spreads)
        ignored = [own and any(rule.key not in one for rule in rules) for one in labels]
        raw = [0.0] * len(nodes)
        for rule in rules:
            domains = {one.get(rule.key, "") for one, out in zip(labels, ignored, strict=True) if not out}
            size = len(nodes) - sum(ignored) if rule.key == HOSTNAME else len(domains)
            weight = math.log(size + 2)
            counts = self._spread_counts(group, rule, rules)
            for position, (node, one) in enumerate(zip(nodes, labels, strict=True)):
                if not ignored[position] and rule.key in one:
                    where = node if rule.key == HOSTNAME else one[rule.key]
                    raw[position] += counts.get(where, 0) * weight + rule.max_skew - 1
        rounded = [math.floor(value + 0.5) for value in raw]
        valid = [value for value, out in zip(rounded, ignored, strict=True) if not out]
        least, most = min(valid, default=0), max(valid, default=0)
        return [
            0 if out else (TOP if most == 0 else TOP * (most + least - value) // most)
            for value, out in zip(rounded, ignored, strict=True)
        ]

    def _spread_counts(self, group: int, rule: Spread, rules: Sequence[Spread]) -> dict[int | str, int]:
        one = self.state.groups[group]
        counts: dict[int | str, int] = {}
        if rule.selector.empty:
            return counts
        for namespace, labels, node, terminating, _rules in self.standing:
            if namespace != one.namespace or terminating or not rule.selector.matches(labels):
                continue
            view = self.state.nodes[node]
            if rule.key != HOSTNAME and (
                any(each.key not in view.labels for each in (rules if one.spreads else [rule]))
                or (rule.honor_affinity and not matches_node(one, view))
                or (rule.honor_taints and untolerated(view.taints, one.rules.tolerations) is not None)
            ):
                continue
            where = node if rule.key == HOSTNAME else view.labels[rule.key]
            counts[where] = counts.get(where, 0) + 1
        return counts


def soft_spreads(group: Group) -> list[Spread]:
    """Return the constraints that only score.

    A pod without any gets the scheduler's own ones, over what its ReplicaSet selects: for Dynamo's Deployments the
    operator's selector label. Other pods' owners select by labels that no pod shows, so they are left without.
    """
    if group.spreads or LABEL_SELECTOR not in group.labels:
        return [rule for rule in group.spreads if not rule.hard]
    selector = Selector((Requirement(LABEL_SELECTOR, "In", frozenset((group.labels[LABEL_SELECTOR],))),))
    return [Spread(key, skew, 1, selector, True, False, False) for key, skew in _DEFAULT_SPREADS]


def _scoring(pod: BoundPod) -> tuple[int, int]:
    """Return what scoring counts for a bound pod; for one container that asks for both, what it asks for."""
    spec = pod.source.get("spec") or {}
    requests = pod.requests
    plain = len(spec.get("containers") or ()) == 1 and not spec.get("initContainers") and not spec.get("overhead")
    if plain and CPU in requests and MEMORY in requests:
        return requests[CPU], requests[MEMORY]
    return scoring_requests(pod.source, bound=True)


def _balance(used: Sequence[int], room: Sequence[int]) -> int:
    shares = [min(have / capacity, 1.0) for have, capacity in zip(used, room, strict=True) if capacity]
    deviation = abs(shares[0] - shares[1]) / 2 if len(shares) == 2 else 0.0
    return int((1 - deviation) * TOP)


def _tagged(name: str) -> str:
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"
