# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters, over a state that grows and shrinks pod by pod.

A :class:`State` holds what every filter needs as counters, so that asking about one group and one node costs little
and placing or taking back a pod changes only what it touches. Filters and their order are kube-scheduler's (1.36):
NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit, VolumeRestrictions,
NodeVolumeLimits, VolumeBinding, VolumeZone, PodTopologySpread, InterPodAffinity.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from . import reasons
from .attach import Attached
from .cluster import Cluster, Group, NodeView
from .model import PODS, REGION, ZONE, Affinity, Port, Spread, Term, host_ports, namespace_of, ports_conflict
from .node_filters import hard_of, matches_node, static_reasons
from .selectors import Labels, untolerated
from .spread import SpreadCount
from .volumes import Claim, ClaimKey

Pairs = dict[tuple[str, str], int]
"""How many pods stand in a topology domain (node label key and value)."""
Effect = tuple[Pairs, str]
_LOCATION_KEYS = (ZONE, REGION)


@dataclass(frozen=True)
class Options:
    """How to judge what the snapshot leaves open, and which filters to leave out for a bound.

    ``relaxed`` leaves out the filters that other pods can open (spread, required affinity): what does not fit so
    does not fit at all. ``copied_labels``: bound pods get their node's zone and region labels at once.
    ``provisioned_anywhere``: a volume made on demand for one pod can be reached from every node its class allows.
    """

    relaxed: bool = False
    copied_labels: bool = False
    provisioned_anywhere: bool = False


@dataclass(frozen=True)
class Placed:
    """One placement and what it bound, so that it can be taken back."""

    group: int
    node: int
    volumes: tuple[str, ...] = ()
    claims: tuple[ClaimKey, ...] = ()


class State:
    """What is free and who stands where. Place and take back in the order of a stack."""

    def __init__(self, cluster: Cluster, groups: Sequence[Group], options: Options | None = None) -> None:
        self.cluster = cluster
        self.groups = groups
        self.options = options or Options()
        self.nodes: list[NodeView] = cluster.nodes
        self.log: list[Placed] = []
        self.placed: list[dict[int, int]] = [{} for _unused in self.nodes]
        self._resources()
        self._ports()
        self._volumes()
        self._topology()
        self.static = [static_reasons(group, cluster) for group in groups]

    # --- building -------------------------------------------------------------------------------------------------

    def _resources(self) -> None:
        names = sorted({name for group in self.groups for name in group.requests} - {PODS})
        self.resources = [PODS, *names]
        column = {name: position for position, name in enumerate(self.resources)}
        self.free = self.cluster.usage(self.resources)
        #: Per group the (column, amount) pairs it asks for, pod place first as the scheduler reports it.
        self.asked = [sorted((column[name], value) for name, value in group.requests.items()) for group in self.groups]

    def _ports(self) -> None:
        self.ports: list[dict[Port, int]] = [{} for _unused in self.nodes]
        if not any(group.ports for group in self.groups):
            return
        for pod in self.cluster.bound:
            for port in host_ports(pod.source.get("spec") or {}):
                used = self.ports[pod.node]
                used[port] = used.get(port, 0) + 1

    def _volumes(self) -> None:
        self.taken: dict[str, ClaimKey] = {}
        self.claimed: dict[ClaimKey, str] = {}
        self.selected: dict[ClaimKey, int] = {}
        volumes = [group.volumes for group in self.groups]
        used = self.cluster.used_volumes if any(one.attaches for one in volumes) else {}
        self.attached = Attached(self.cluster.limits, volumes, used, len(self.nodes))
        storage = self.cluster.storage
        #: Whether volumes for all the group's waiting claims can be made on any node.
        self._easy = [all(map(storage.made_anywhere, one.waiting)) for one in volumes]
        self.once: dict[ClaimKey, int] = {key: 0 for group in self.groups for key in group.volumes.once}
        if self.once:
            for pod in self.cluster.bound:
                namespace = namespace_of(pod.source)
                for volume in (pod.source.get("spec") or {}).get("volumes") or ():
                    key = (namespace, str((volume.get("persistentVolumeClaim") or {}).get("claimName")))
                    if key in self.once:
                        self.once[key] += 1

    def _topology(self) -> None:
        groups = self.groups
        self.near: list[Pairs] = [{} for _unused in groups]
        self.apart: list[Pairs] = [{} for _unused in groups]
        self.existing: list[Pairs] = [{} for _unused in groups]
        self.spreads: list[list[SpreadCount]] = [
            [] if self.options.relaxed else [SpreadCount(rule, self._domains(group, rule)) for rule in hard_of(group)]
            for group in groups
        ]
        self.self_spread = [
            [int(count.rule.selector.matches(groups[index].labels)) for count in counts]
            for index, counts in enumerate(self.spreads)
        ]
        self.self_near = [
            bool(group.affinity.near) and self._meets_all(group.affinity.near, group.namespace, group.labels)
            for group in groups
        ]
        self.packs: dict[str, dict[str, int]] = {gang.name: {} for group in groups for gang in group.packs}
        self._memo: dict[tuple[int, str | None, str | None], tuple[list[Effect], list[SpreadCount]]] = {}
        self._count_bound()
        apart = [*(affinity for _pod, affinity in self.cluster.rules), *(group.affinity for group in groups)]
        #: Per group the node labels over which the anti-affinity of some standing or coming pod means it.
        self.existing_keys = [
            sorted(
                {term.key for one in apart for term in one.apart if self._meets(term, group.namespace, group.labels)}
            )
            for group in groups
        ]
        self._ruled = [
            bool(group.affinity.near or group.affinity.apart or self.existing_keys[index])
            for index, group in enumerate(groups)
        ]

    def _domains(self, group: Group, rule: Spread) -> list[str | None]:
        keys = [one.key for one in hard_of(group)]
        found: list[str | None] = []
        for node in self.nodes:
            labels = node.labels
            out = (
                any(key not in labels for key in keys)
                or (rule.honor_affinity and not matches_node(group, node))
                or (rule.honor_taints and untolerated(node.taints, group.rules.tolerations) is not None)
            )
            found.append(None if out else labels[rule.key])
        return found

    def _count_bound(self) -> None:
        watched = any(group.affinity.near or group.affinity.apart or hard_of(group) for group in self.groups)
        for namespace, labels, pods in self.cluster.alike if watched else ():
            effects, spreads = self._watching(namespace, labels)
            for pod in pods if effects or spreads else ():
                self._apply(effects, pod.node, 1)
                if not pod.terminating:
                    for count in spreads:
                        count.add(pod.node, 1)
        for pod, affinity in self.cluster.rules:
            self._apply(self._ruling(affinity), pod.node, 1)

    def _watching(self, namespace: str, labels: Labels) -> tuple[list[Effect], list[SpreadCount]]:
        """Return the counters of groups' own rules that a pod with ``labels`` raises."""
        effects: list[Effect] = []
        spreads: list[SpreadCount] = []
        for index, group in enumerate(self.groups):
            near = group.affinity.near
            if near and self._meets_all(near, namespace, labels):
                effects.extend((self.near[index], term.key) for term in near)
            effects.extend(
                (self.apart[index], term.key) for term in group.affinity.apart if self._meets(term, namespace, labels)
            )
            spreads.extend(
                count
                for count in self.spreads[index]
                if namespace == group.namespace
                # The scheduler counts no standing pod for an empty selector.
                and not count.rule.selector.empty
                and count.rule.selector.matches(labels)
            )
        return effects, spreads

    def _ruling(self, affinity: Affinity) -> list[Effect]:
        """Return the counters of groups that the anti-affinity of a standing pod means."""
        return [
            (self.existing[index], term.key)
            for index, group in enumerate(self.groups)
            for term in affinity.apart
            if self._meets(term, group.namespace, group.labels)
        ]

    def _meets(self, term: Term, namespace: str, labels: Labels) -> bool:
        return term.matches(namespace, labels, self.cluster.namespace_labels)

    def _meets_all(self, terms: Sequence[Term], namespace: str, labels: Labels) -> bool:
        return all(self._meets(term, namespace, labels) for term in terms)

    @cached_property
    def open_groups(self) -> list[int]:
        """Per node the groups that it takes by its own properties, as bits."""
        found = [0] * len(self.nodes)
        for index, static in enumerate(self.static):
            bit = 1 << index
            for node, (before, after) in enumerate(static):
                if not before and not after:
                    found[node] |= bit
        return found

    # --- asking ---------------------------------------------------------------------------------------------------

    def cluster_failure(self, group: int) -> str:
        """Return the scheduler's PreFilter text that keeps the group off every node, or nothing."""
        one = self.groups[group]
        if one.rules.only is not None and not one.rules.only:
            return reasons.AFFINITY_CONFLICT
        return one.volumes.failure

    def fits(self, group: int, node: int) -> bool:
        """Return whether one more pod of the group passes every filter on the node."""
        return self.open_to(group, node) and not self._waits(group, self.nodes[node].labels)

    def open_to(self, group: int, node: int) -> bool:
        """Return whether the node takes the pod as far as no later pod can help: all but spread and affinity."""
        return self.has_room(group, node) and not self._shut(group, node)

    def has_room(self, group: int, node: int) -> bool:
        """Return whether the node's properties, resources, ports and volumes take the pod: what only it changes."""
        before, after = self.static[group][node]
        if before or after:
            return False
        free = self.free[node]
        for column, value in self.asked[group]:
            if value > free[column]:
                return False
        ports = self.groups[group].ports
        return not (ports and ports_conflict(ports, self.ports[node])) and not self.attached.exceeds(group, node)

    def passes_others(self, group: int, node: int) -> bool:
        """Return whether what pods elsewhere do lets the pod in; with :meth:`has_room` this is :meth:`fits`."""
        return not self._shut(group, node) and not self._waits(group, self.nodes[node].labels)

    def _shut(self, group: int, node: int) -> bool:
        one = self.groups[group]
        if one.volumes and (one.volumes.failure or self._volume_dynamics(one, node)):
            return True
        if one.packs and not self._in_pack(one, node):
            return True
        return bool(self._ruled[group] and self._repelled(group, self.nodes[node].labels))

    def why_not(self, group: int, node: int) -> tuple[str, ...]:
        """Return the reasons of the first filter that refuses the pod on the node; none where it passes."""
        before, after = self.static[group][node]
        if before:
            return (before,)
        one = self.groups[group]
        if one.ports and ports_conflict(one.ports, self.ports[node]):
            return (reasons.PORTS,)
        free = self.free[node]
        short = tuple(
            reasons.insufficient(self.resources[column]) for column, value in self.asked[group] if value > free[column]
        )
        if short:
            return short
        if any(self.once[key] for key in one.volumes.once):
            return (reasons.ONCE_POD,)
        if self.attached.exceeds(group, node):
            return (reasons.VOLUME_LIMIT,)
        late = (*after, *(self.bindings(one, node)[0] if one.volumes.waiting else ()))
        if late:
            # VolumeZone is only asked where VolumeBinding has no objection.
            binding = tuple(dict.fromkeys(reason for reason in late if reason != reasons.VOLUME_ZONE))
            return binding or (reasons.VOLUME_ZONE,)
        labels = self.nodes[node].labels
        reason = self._waits(group, labels) or (self._repelled(group, labels) if self._ruled[group] else "")
        if reason:
            return (reason,)
        return () if not one.packs or self._in_pack(one, node) else (reasons.GANG_DOMAIN,)

    def copies(self, group: int, node: int) -> int:
        """Return an upper bound of how many more pods of the group the node takes."""
        if not self.open_to(group, node):
            return 0
        one = self.groups[group]
        if one.ports or one.volumes.once:
            return 1
        free = self.free[node]
        return min(free[column] // value for column, value in self.asked[group])

    def _volume_dynamics(self, group: Group, node: int) -> bool:
        """Return whether claims that pods share or that are bound late keep the pod off the node."""
        if any(self.once[key] for key in group.volumes.once):
            return True
        if self._easy[group.index] and not any(claim.key in self.selected for claim in group.volumes.waiting):
            return False
        return bool(self.bindings(group, node)[0])

    def bindings(self, group: Group, node: int) -> tuple[tuple[str, ...], list[tuple[Claim, str | None]]]:
        """Return why the waiting claims cannot be met on the node, or which volume each would get (None: made)."""
        storage, labels = self.cluster.storage, self.nodes[node].labels
        settled: dict[str, None] = {}
        to_make: list[Claim] = []
        to_match: list[Claim] = []
        for claim in group.volumes.waiting:
            volume = self.claimed.get(claim.key)
            if volume is not None:
                if not storage.reachable(volume, labels):
                    settled[reasons.VOLUME_NODE] = None
                elif not storage.in_zone(volume, labels):
                    settled[reasons.VOLUME_ZONE] = None
            elif claim.key in self.selected:
                elsewhere = self.selected[claim.key] != node and not self.options.provisioned_anywhere
                if elsewhere or not storage.provisions_on(claim.storage_class, labels):
                    settled[reasons.VOLUME_BIND] = None
            elif not claim.selected_node:
                to_match.append(claim)
            elif claim.selected_node == self.nodes[node].name:
                to_make.append(claim)
            else:
                settled[reasons.VOLUME_BIND] = None
        if reasons.VOLUME_BIND in settled:
            return tuple(settled), []
        chosen: list[tuple[Claim, str | None]] = []
        taken = self.taken
        for claim in to_match:
            found = storage.match(claim, taken, labels)
            if found is None:
                to_make.append(claim)
            else:
                taken = {**taken, found: claim.key}
            chosen.append((claim, found))
        # The first claim that cannot be made ends the scheduler's look at the node.
        late = next(filter(None, (storage.why_not_made(claim, labels) for claim in to_make)), "")
        why = (*settled, late) if late else tuple(settled)
        return (why, []) if why else ((), chosen)

    def _in_pack(self, group: Group, node: int) -> bool:
        labels = self.nodes[node].labels
        for gang in group.packs:
            domain = labels.get(gang.topology_key)
            standing = self.packs[gang.name]
            if domain is None or (standing and domain not in standing):
                return False
        return True

    def _waits(self, group: int, labels: Labels) -> str:
        """Return why the pod has to wait for others before it may go there, or nothing."""
        for count, itself in zip(self.spreads[group], self.self_spread[group], strict=True):
            if count.rule.key not in labels:
                return reasons.SPREAD_LABEL
            if not count.allows(labels, itself):
                return reasons.SPREAD
        near = self.groups[group].affinity.near
        if near and not self.options.relaxed and not self._near_enough(group, near, labels):
            return reasons.POD_AFFINITY
        return ""

    def _repelled(self, group: int, labels: Labels) -> str:
        """Return whose anti-affinity keeps the pod away, or nothing."""
        apart = self.apart[group]
        if apart and any(apart.get((term.key, labels.get(term.key, ""))) for term in self.groups[group].affinity.apart):
            return reasons.POD_ANTI_AFFINITY
        existing = self.existing[group]
        if existing and any(existing.get((key, labels.get(key, ""))) for key in self.existing_keys[group]):
            return reasons.EXISTING_ANTI_AFFINITY
        return ""

    def _near_enough(self, group: int, terms: Sequence[Term], labels: Labels) -> bool:
        near = self.near[group]
        complete = True
        for term in terms:
            value = labels.get(term.key)
            if value is None:
                return False
            if not near.get((term.key, value)):
                complete = False
        # The first of a series that wants to be near itself may go anywhere.
        return complete or (not near and self.self_near[group])

    # --- placing --------------------------------------------------------------------------------------------------

    def place(self, group: int, node: int) -> None:
        """Put one pod of the group on the node; the caller has asked whether it fits."""
        one = self.groups[group]
        volumes: tuple[str, ...] = ()
        claims: tuple[ClaimKey, ...] = ()
        if one.volumes.waiting:
            _why, chosen = self.bindings(one, node)
            for claim, volume in chosen:
                if volume is None:
                    self.selected[claim.key] = node
                else:
                    self.taken[volume] = claim.key
                    self.claimed[claim.key] = volume
            volumes = tuple(volume for _claim, volume in chosen if volume is not None)
            claims = tuple(claim.key for claim, _volume in chosen)
        self._shift(group, node, 1)
        self.log.append(Placed(group, node, volumes, claims))

    def take_back(self) -> Placed:
        """Undo the last placement."""
        last = self.log.pop()
        for volume in last.volumes:
            del self.taken[volume]
        for key in last.claims:
            self.claimed.pop(key, None)
            self.selected.pop(key, None)
        self._shift(last.group, last.node, -1)
        return last

    def _shift(self, group: int, node: int, sign: int) -> None:
        one = self.groups[group]
        free = self.free[node]
        for column, value in self.asked[group]:
            free[column] -= sign * value
        here = self.placed[node]
        here[group] = here.get(group, 0) + sign
        for port in one.ports:
            used = self.ports[node]
            used[port] = used.get(port, 0) + sign
            if not used[port]:
                del used[port]
        for key in one.volumes.once:
            self.once[key] += sign
        self.attached.shift(group, node, sign)
        for gang in one.packs:
            domain = self.nodes[node].labels.get(gang.topology_key, "")
            standing = self.packs[gang.name]
            standing[domain] = standing.get(domain, 0) + sign
            if not standing[domain]:
                del standing[domain]
        effects, spreads = self.effects(group, node)
        self._apply(effects, node, sign)
        for count in spreads:
            count.add(node, sign)

    def effects(self, group: int, node: int) -> tuple[list[Effect], list[SpreadCount]]:
        """Return the counters that a pod of the group on the node raises."""
        one = self.groups[group]
        zone = region = None
        if self.options.copied_labels:
            zone, region = (self.nodes[node].labels.get(key) for key in _LOCATION_KEYS)
        identity = (group, zone, region)
        found = self._memo.get(identity)
        if found is None:
            labels = dict(one.labels)
            labels.update({key: value for key, value in zip(_LOCATION_KEYS, (zone, region), strict=True) if value})
            effects, spreads = self._watching(one.namespace, labels)
            found = (effects + self._ruling(one.affinity), spreads)
            self._memo[identity] = found
        return found

    def _apply(self, effects: list[Effect], node: int, sign: int) -> None:
        labels = self.nodes[node].labels
        for pairs, key in effects:
            value = labels.get(key)
            if value is not None:
                total = pairs.get((key, value), 0) + sign
                if total:
                    pairs[(key, value)] = total
                else:
                    del pairs[(key, value)]

    def reason_counts(self, group: int) -> dict[str, int]:
        """Count the nodes by reason as a FailedScheduling message does; one node can count under several resources."""
        counts: dict[str, int] = defaultdict(int)
        for node in range(len(self.nodes)):
            for reason in self.why_not(group, node):
                counts[reason] += 1
        return dict(counts)
