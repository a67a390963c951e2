# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the operator refuses when a live DGD is changed: what is fixed at creation, and what is another's to change.

Source: ``ValidateUpdate`` of ``internal/webhook/validation`` and the CRD's rules over the old object (rules 11), for a
user who is neither the operator nor the planner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import keys
from ..errors import shown
from .admission import admit
from .api import OperatorConfig, Rejection
from .convert import to_v1beta1
from .profiles import profile_of
from .schema import clean, decode, rejection, version_of

_ROLLING = ("Pending", "InProgress")
_RECREATE = "is fixed at creation; delete the DGD and create it anew to change it"

Problem = tuple[str, str, str]


@dataclass(frozen=True)
class _Part:
    """A component, as far as it must not change."""

    path: str
    multinode: bool
    replicas: int
    managed: bool
    topology: Any
    fixed: Mapping[str, tuple[str, Any]] = field(default_factory=dict)


def review_update(
    old: Mapping[str, Any], new: Mapping[str, Any], release: str, config: OperatorConfig
) -> tuple[Rejection, ...]:
    """Return why ``new`` would be refused in the place of the live ``old``.

    Nothing is said where either cannot be read or ``new`` would be refused anyway.
    """
    rules = profile_of(release).admission
    if not rules.judges_updates:
        return ()
    stamped = new if rules.restart_at_creation else without_restart(new)
    admitted = admit(stamped, release=release, config=config)
    if admitted.errors or decode(old, release):
        return ()
    kept, _unused = clean(old, release)
    if version_of(kept) != "v1alpha1" and not rules.serves_beta:
        return ()
    hub = rules.reviews == "hub"
    found = [*_graph(kept, admitted.definition, new, hub)]
    before, after = _parts(kept, hub), _parts(admitted.definition, hub)
    found += _names(before, after)
    for name in after:
        if name in before:
            found += _component(before[name], after[name], hub)
    return tuple(rejection("validating-webhook", rule, path, message, new) for rule, path, message in found)


def without_restart(definition: Mapping[str, Any]) -> dict[str, Any]:
    """A restart is refused only at creation."""
    spec = definition.get("spec")
    kept = {key: value for key, value in spec.items() if key != "restart"} if isinstance(spec, Mapping) else spec
    return {**definition, "spec": kept}


def _graph(old: Mapping[str, Any], admitted: Mapping[str, Any], new: Mapping[str, Any], hub: bool) -> Iterator[Problem]:
    before, after = old["spec"], admitted["spec"]
    one, other = before.get("backendFramework", ""), after.get("backendFramework", "")
    if one != other:
        yield "update_backend_framework", "spec.backendFramework", f"{_RECREATE} (live {shown(one)})"
    if _topology(before) != _topology(after):
        yield "update_topology", "spec.topologyConstraint", _RECREATE
    phase = ((old.get("status") or {}).get("rollingUpdate") or {}).get("phase")
    wanted = (new.get("spec") or {}).get("restart") or {}
    if phase in _ROLLING and (before.get("restart") or {}).get("id", "") != wanted.get("id", ""):
        yield "update_restart_rolling", "spec.restart.id", f"cannot be changed while a rolling update is {phase}"
    if not hub:
        return
    policies = [(spec.get("experimental") or {}).get("kvTransferPolicy") for spec in (before, after)]
    if policies[0] != policies[1] and policies[0] is not None:
        yield "update_kv_transfer", "spec.experimental.kvTransferPolicy", _RECREATE
    live = ((old.get("metadata") or {}).get("annotations") or {}).get(keys.ANNOTATION_WORKLOAD_PROVIDER)
    asked = ((new.get("metadata") or {}).get("annotations") or {}).get(keys.ANNOTATION_WORKLOAD_PROVIDER)
    if live is not None and asked is not None and live != asked:
        path = f"metadata.annotations[{keys.ANNOTATION_WORKLOAD_PROVIDER}]"
        yield "update_workload_provider", path, f"is the operator's and stays {shown(live)}; leave it out"


def _topology(item: Mapping[str, Any]) -> tuple[Any, Any]:
    constraint = item.get("topologyConstraint") or {}
    name = constraint.get("clusterTopologyName") or constraint.get("topologyProfile")
    return name, constraint.get("packDomain")


def _names(before: Mapping[str, _Part], after: Mapping[str, _Part]) -> Iterator[Problem]:
    added, removed = sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys())
    if added or removed:
        said = [f"added {', '.join(added)}"] if added else []
        said += [f"removed {', '.join(removed)}"] if removed else []
        path = "spec.services" if any(part.path.startswith("spec.services") for part in after.values()) else ""
        yield "update_components", path or "spec.components", f"the set of components {_RECREATE} ({'; '.join(said)})"


def _component(old: _Part, new: _Part, hub: bool) -> Iterator[Problem]:
    if old.multinode != new.multinode:
        yield "update_multinode", f"{new.path}.multinode", f"one node or several {_RECREATE}"
    if old.topology != new.topology:
        yield "update_topology", f"{new.path}.topologyConstraint", _RECREATE
    managed = new.managed or (old.managed and hub)
    if managed and old.replicas != new.replicas:
        yield (
            "update_replicas_managed",
            f"{new.path}.replicas",
            f"a scaling adapter owns it (live {old.replicas}); scale the adapter instead",
        )
    for rule in {**old.fixed, **new.fixed}:
        place, value = new.fixed.get(rule, (old.fixed[rule][0] if rule in old.fixed else "", None))
        live = old.fixed.get(rule, ("", None))[1]
        if rule == "update_min_available":
            # Fixed only where the live object has one; where the new one has none the webhook fills in 1.
            value = None if live is None else value or 1
        if live != value:
            yield rule, f"{new.path}.{place}", _RECREATE


def _parts(definition: Mapping[str, Any], hub: bool) -> dict[str, _Part]:
    spec = definition["spec"]
    if not hub:
        services = {name: item or {} for name, item in (spec.get("services") or {}).items()}
        return {
            name: _part(item, f"spec.services[{name}]", bool((item.get("scalingAdapter") or {}).get("enabled")))
            for name, item in services.items()
        }
    alpha = version_of(definition) == "v1alpha1"
    converted = to_v1beta1(definition) if alpha else definition
    parts = {}
    for index, item in enumerate(converted["spec"].get("components") or ()):
        name = str(item.get("name", ""))
        path = f"spec.services[{name}]" if alpha else f"spec.components[{index}]"
        parts[name] = _part(item, path, item.get("scalingAdapter") is not None, _fixed(item))
    return parts


def _part(
    item: Mapping[str, Any], path: str, managed: bool, fixed: Mapping[str, tuple[str, Any]] | None = None
) -> _Part:
    replicas = item.get("replicas")
    return _Part(
        path=path,
        multinode=int((item.get("multinode") or {"nodeCount": 1}).get("nodeCount", 1)) > 1,
        replicas=1 if replicas is None else int(replicas),
        managed=managed,
        topology=_topology(item),
        fixed=fixed or {},
    )


def _fixed(component: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """What 1.5 fixes at creation, by rule: its path below the component and its value."""
    experimental = component.get("experimental") or {}
    memory, failover = experimental.get("gpuMemoryService") or {}, experimental.get("failover") or {}
    between = failover.get("mode") == "InterPod"
    annotations = ((component.get("podTemplate") or {}).get("metadata") or {}).get("annotations") or {}
    return {
        "update_min_available": ("minAvailable", component.get("minAvailable")),
        "update_inter_pod": ("experimental.gpuMemoryService.mode", memory.get("mode") == "InterPod"),
        "update_shadows": ("experimental.failover", failover.get("numShadows", 1) if between else None),
        "update_scaling_group": (
            "experimental.grove.forceScalingGroup",
            bool((experimental.get("grove") or {}).get("forceScalingGroup")),
        ),
        "update_power_limit": (
            f"podTemplate.metadata.annotations[{keys.ANNOTATION_POWER_LIMIT}]",
            annotations.get(keys.ANNOTATION_POWER_LIMIT),
        ),
    }
