# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""v1alpha1 to v1beta1 and back, as release 1.5's conversion webhook does it (rules 12).

What one version has no place for is kept: :class:`Converted` holds it, and the hub object carries it as a JSON text
in an annotation, written in the operator's own field order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import keys
from ..errors import InputError
from ..quantity import canonical, parse_quantity
from .gojson import go_json
from .gotypes import printed
from .merge import EnvVar, merge
from .shapes import plain

_ALPHA_MODES = {"IntraPod": "intraPod", "InterPod": "interPod"}
_BETA_MODES = {alpha: beta for beta, alpha in _ALPHA_MODES.items()}
_PROMOTED = (keys.PREFILL, keys.DECODE)
_POD_CONTENT = (
    "resources",
    "envFromSecret",
    "livenessProbe",
    "readinessProbe",
    "extraPodMetadata",
    "frontendSidecar",
)
_ORIGINS = (
    ("envs", "env"),
    ("envFromSecret", "envFrom"),
    ("resources", "resources"),
    ("volumeMounts", "volumeMounts"),
    ("livenessProbe", "livenessProbe"),
    ("readinessProbe", "readinessProbe"),
)
_SAME = ("runtimeVersionOverride", "replicas", "minAvailable", "multinode", "modelRef", "eppConfig", "providerOverride")


@dataclass(frozen=True)
class Converted:
    """A graph as v1beta1, and per component what only v1alpha1 can say. ``claims`` are the graph's own PVCs.

    ``alpha`` tells whether the graph came as v1alpha1."""

    definition: dict[str, Any]
    preserved: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    claims: tuple[Mapping[str, Any], ...] = ()
    alpha: bool = False


def to_v1beta1(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return a v1alpha1 graph as v1beta1; a v1beta1 one comes back as it is."""
    return convert(definition).definition


def convert(definition: Mapping[str, Any]) -> Converted:
    """Convert a decoded and defaulted graph to v1beta1."""
    if definition.get("apiVersion") != keys.V1ALPHA1:
        return Converted(plain(definition))
    spec = definition.get("spec") or {}
    target = {
        key: plain(spec[key])
        for key in ("annotations", "labels", "backendFramework", "restart", "priorityClassName", "providerOverride")
        if spec.get(key)
    }
    if spec.get("experimental") is not None:
        target["experimental"] = plain(spec["experimental"])
    if spec.get("envs"):
        target["env"] = plain(spec["envs"])
    if spec.get("topologyConstraint") is not None:
        target["topologyConstraint"] = _renamed(spec["topologyConstraint"], "topologyProfile", "clusterTopologyName")
    services: Mapping[str, Any] = spec.get("services") or {}
    preserved = {}
    components = []
    for name in sorted(services):
        if services[name] is None:
            continue
        components.append(component_to_v1beta1(name, services[name]))
        saved = alpha_only(services[name])
        if services[name].get("serviceName") not in (None, "", name):
            saved["serviceName"] = services[name]["serviceName"]
        if saved:
            preserved[name] = saved
    if components:
        target["components"] = components
    claims = tuple(plain(claim) for claim in spec.get("pvcs") or ())
    metadata = plain(definition.get("metadata") or {})
    text = _graph_text(preserved, claims)
    if text:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), keys.ANNOTATION_DGD_SPEC: text}
    result = {"apiVersion": keys.V1BETA1, "kind": definition.get("kind"), "metadata": metadata, "spec": target}
    return Converted(result, preserved, claims, alpha=True)


def _renamed(value: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if key == old else key: plain(item) for key, item in value.items()}


def component_to_v1beta1(name: str, service: Mapping[str, Any]) -> dict[str, Any]:
    """Return one v1alpha1 service as a v1beta1 component."""
    target: dict[str, Any] = {"name": name}
    kind, sub = service.get("componentType") or "", service.get("subComponentType") or ""
    kind = sub if kind == keys.WORKER and sub in _PROMOTED else kind
    if kind:
        target["type"] = kind
    if service.get("globalDynamoNamespace"):
        target["globalDynamoNamespace"] = True
    for key in _SAME:
        if service.get(key) is not None:
            target[key] = plain(service[key])
    if service.get("topologyConstraint") is not None:
        target["topologyConstraint"] = {"packDomain": service["topologyConstraint"].get("packDomain", "")}
    _shared_memory(service, target)
    cache = next((mount for mount in service.get("volumeMounts") or () if mount.get("useAsCompilationCache")), None)
    if cache is not None:
        target["compilationCache"] = {"pvcName": cache.get("name", "")}
        if cache.get("mountPoint"):
            target["compilationCache"]["mountPath"] = cache["mountPoint"]
    if (service.get("scalingAdapter") or {}).get("enabled"):
        target["scalingAdapter"] = {}
    experimental = _experimental(service)
    if experimental:
        target["experimental"] = experimental
    template = _pod_template(service)
    if template is not None:
        target["podTemplate"] = template
        if service.get("frontendSidecar") is not None:
            target["frontendSidecar"] = keys.SIDECAR_FRONTEND
    return target


def _is_zero(amount: Any) -> bool:
    try:
        return parse_quantity(amount or 0).value == 0
    except InputError:
        return False


def _shared_memory(service: Mapping[str, Any], target: dict[str, Any]) -> None:
    shared = service.get("sharedMemory")
    if shared is None:
        return
    if shared.get("disabled"):
        target["sharedMemorySize"] = "0"
    elif not _is_zero(shared.get("size")):
        target["sharedMemorySize"] = canonical(shared["size"])


def _experimental(service: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    memory = service.get("gpuMemoryService") or {}
    if memory.get("enabled"):
        result["gpuMemoryService"] = _with_mode(memory, _BETA_MODES)
    failover = service.get("failover") or {}
    if failover.get("enabled"):
        result["failover"] = _with_mode(failover, _BETA_MODES)
    if service.get("checkpoint") is not None:
        result["checkpoint"] = {"enabled": False, **plain(service["checkpoint"])}
    return result


def _with_mode(value: Mapping[str, Any], modes: Mapping[str, str]) -> dict[str, Any]:
    result = {key: plain(item) for key, item in value.items() if key != "enabled"}
    if result.get("mode"):
        result["mode"] = modes.get(result["mode"], result["mode"])
    return result


# --- pod template ---------------------------------------------------------------------------------------------------


def _has_pod_content(service: Mapping[str, Any]) -> bool:
    return (
        any(service.get(key) is not None for key in _POD_CONTENT)
        or bool(service.get("envs"))
        or any(not mount.get("useAsCompilationCache") for mount in service.get("volumeMounts") or ())
        or not (_says_nothing(service.get("extraPodSpec") or {}))
    )


def _says_nothing(extra: Mapping[str, Any]) -> bool:
    """Tell whether extraPodSpec is Go's zero value, but for a name of the main container."""
    main = extra.get("mainContainer") or {}
    return not any(
        _counts(key, value)
        for part, skipped in ((extra, "mainContainer"), (main, "name"))
        for key, value in part.items()
        if key != skipped
    )


def _counts(key: str, value: Any) -> bool:
    """Tell whether a field differs from Go's zero value; an empty map does, where it stands for a pointer."""
    if key == "resources":
        return any(value.values()) if value else False
    if value == {}:
        return key not in ("nodeSelector", "overhead")
    return value not in (None, "", 0, False, [])


def _pod_template(service: Mapping[str, Any]) -> dict[str, Any] | None:
    extra = service.get("extraPodSpec") or {}
    if not _has_pod_content(service):
        return None
    template: dict[str, Any] = {}
    metadata = {key: dict(value) for key, value in (service.get("extraPodMetadata") or {}).items() if value}
    if metadata:
        template["metadata"] = metadata
    spec = {key: plain(value) for key, value in extra.items() if key != "mainContainer"}
    main = _merged_main(service, extra.get("mainContainer"))
    others = [item for item in spec.get("containers") or () if item.get("name") != keys.MAIN_CONTAINER]
    spec["containers"] = [main, *others]
    if service.get("frontendSidecar") is not None:
        _append_sidecar(spec["containers"], service["frontendSidecar"])
    template["spec"] = spec
    return template


def _merged_main(service: Mapping[str, Any], user: Mapping[str, Any] | None) -> dict[str, Any]:
    main = _dedicated_main(service)
    if user is None:
        return main
    env, mounts = main.get("env", []), main.get("volumeMounts", [])
    merge(main, {key: value for key, value in user.items() if key not in ("env", "name", "volumeMounts")}, "Container")
    merged_env = _joined_env(env, user.get("env") or ())
    if merged_env:
        main["env"] = merged_env
    merged_mounts = [*plain(user.get("volumeMounts") or []), *mounts]
    if merged_mounts:
        main["volumeMounts"] = merged_mounts
    if user.get("startupProbe") is not None:
        main["startupProbe"] = plain(user["startupProbe"])
    return main


def _joined_env(first: Iterable[EnvVar], second: Iterable[EnvVar]) -> list[dict[str, Any]]:
    """Join two lists of variables in their order; the second one's entry replaces an earlier one in its place."""
    joined: list[dict[str, Any]] = []
    places: dict[str, int] = {}
    for item in first:
        places[item["name"]] = len(joined)
        joined.append(plain(item))
    for item in second:
        if item["name"] in places:
            joined[places[item["name"]]] = plain(item)
        else:
            places[item["name"]] = len(joined)
            joined.append(plain(item))
    return joined


def _dedicated_main(service: Mapping[str, Any]) -> dict[str, Any]:
    main: dict[str, Any] = {"name": keys.MAIN_CONTAINER}
    resources = native_resources(service.get("resources") or {})
    if resources:
        main["resources"] = resources
    if service.get("envs"):
        main["env"] = plain(service["envs"])
    if service.get("envFromSecret"):
        main["envFrom"] = [{"secretRef": {"name": service["envFromSecret"]}}]
    for probe in ("livenessProbe", "readinessProbe"):
        if service.get(probe) is not None:
            main[probe] = plain(service[probe])
    mounts = [
        {"name": mount.get("name", ""), "mountPath": mount.get("mountPoint", "")}
        for mount in service.get("volumeMounts") or ()
    ]
    if mounts:
        main["volumeMounts"] = mounts
    return main


def native_resources(resources: Mapping[str, Any]) -> dict[str, Any]:
    """Return v1alpha1 resources under Kubernetes' own names; what is no quantity is dropped, as the webhook does."""
    result: dict[str, Any] = {}
    for side in ("limits", "requests"):
        wanted = resources.get(side) or {}
        pairs = [("cpu", wanted.get("cpu")), ("memory", wanted.get("memory"))]
        pairs.append((wanted.get("gpuType") or keys.GPU_RESOURCE, wanted.get("gpu")))
        pairs += list((wanted.get("custom") or {}).items())
        amounts = {}
        for name, text in pairs:
            try:
                if text not in (None, ""):
                    amounts[name] = canonical(text)
            except InputError:
                continue
        if amounts:
            result[side] = amounts
    if resources.get("claims"):
        result["claims"] = plain(resources["claims"])
    return result


def _append_sidecar(containers: list[dict[str, Any]], sidecar: Mapping[str, Any]) -> None:
    if any(item.get("name") == keys.SIDECAR_FRONTEND for item in containers):
        return
    container: dict[str, Any] = {"name": keys.SIDECAR_FRONTEND}
    if sidecar.get("image"):
        container["image"] = sidecar["image"]
    if sidecar.get("args"):
        container["args"] = list(sidecar["args"])
    if sidecar.get("envs"):
        container["env"] = plain(sidecar["envs"])
    if sidecar.get("envFromSecret"):
        container["envFrom"] = [{"secretRef": {"name": sidecar["envFromSecret"]}}]
    containers.append(container)


# --- what only v1alpha1 says ----------------------------------------------------------------------------------------


def alpha_only(service: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sparse service that v1beta1 cannot hold, in the operator's terms."""
    saved: dict[str, Any] = {}
    kind, sub = service.get("componentType") or "", service.get("subComponentType") or ""
    if sub and not (kind == keys.WORKER and sub in _PROMOTED):
        saved["subComponentType"] = sub
    for key in ("dynamoNamespace", "autoscaling", "ingress", "envFromSecret", "frontendSidecar"):
        if service.get(key) is not None:
            saved[key] = plain(service[key])
    for key in ("annotations", "labels"):
        if service.get(key):
            saved[key] = dict(service[key])
    _save_lossy(service, saved)
    if service.get("extraPodMetadata") == {}:
        saved["extraPodMetadata"] = {}
    if service.get("extraPodSpec") is not None and _says_nothing(service["extraPodSpec"]):
        saved["extraPodSpec"] = plain(service["extraPodSpec"])
    for key in ("scalingAdapter", "gpuMemoryService", "failover"):
        if service.get(key) is not None and not service[key].get("enabled"):
            saved[key] = plain(service[key])
    _save_main_origins(service, saved)
    return saved


def _save_lossy(service: Mapping[str, Any], saved: dict[str, Any]) -> None:
    """Keep what v1beta1 can say only in other words that do not lead back."""
    resources = service.get("resources")
    if resources is not None and resources != _alpha_resources(native_resources(resources)):
        saved["resources"] = plain(resources)
    mounts = service.get("volumeMounts") or []
    if sum(1 for mount in mounts if mount.get("useAsCompilationCache")) > 1:
        saved["volumeMounts"] = plain(mounts)
    shared = service.get("sharedMemory")
    if shared is not None and bool(shared.get("disabled")) != _is_zero(shared.get("size")):
        saved["sharedMemory"] = plain(shared)


def _save_main_origins(service: Mapping[str, Any], saved: dict[str, Any]) -> None:
    """Keep which values stood in mainContainer and which in fields of their own, where both end in one place."""
    main = (service.get("extraPodSpec") or {}).get("mainContainer")
    if main is None:
        return
    kept: dict[str, Any] = {}
    if main.get("name"):
        kept["name"] = main["name"]
    touched = bool(kept)
    for own, in_main in _ORIGINS:
        pointer = own in ("envFromSecret", "resources") or own.endswith("Probe")
        own_set = service.get(own) is not None if pointer else bool(service.get(own))
        if not own_set and not _counts(in_main, main.get(in_main)):
            continue
        touched = True
        if own_set:
            saved[own] = plain(service[own])
        if main.get(in_main) is not None:
            kept[in_main] = plain(main[in_main])
    if touched:
        saved.setdefault("extraPodSpec", {})["mainContainer"] = {"name": "", "resources": {}, **kept}


def _alpha_resources(native: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for side in ("limits", "requests"):
        item: dict[str, Any] = {}
        for name, amount in (native.get(side) or {}).items():
            if name in ("cpu", "memory"):
                item[name] = amount
            elif name == keys.GPU_RESOURCE:
                item["gpu"] = amount
            else:
                item.setdefault("custom", {})[name] = amount
        if item:
            result[side] = item
    if native.get("claims"):
        result["claims"] = plain(native["claims"])
    return result


def component_alpha_only(component: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a component that came as v1beta1 would leave behind on its way through v1alpha1."""
    containers = ((component.get("podTemplate") or {}).get("spec") or {}).get("containers") or ()
    main: Mapping[str, Any] = next((item for item in containers if item.get("name") == keys.MAIN_CONTAINER), {})
    service: dict[str, Any] = {}
    resources = _alpha_resources(main.get("resources") or {})
    if resources:
        service["resources"] = resources
    for own, in_main in (("envs", "env"), ("livenessProbe",) * 2, ("readinessProbe",) * 2):
        if main.get(in_main) is not None:
            service[own] = plain(main[in_main])
    rest = {
        key: value
        for key, value in main.items()
        if key not in ("name", "resources", "env", "livenessProbe", "readinessProbe", "volumeMounts")
    }
    mounts = _alpha_mounts(component, main)
    if mounts:
        service["volumeMounts"] = mounts
    if rest:
        service["extraPodSpec"] = {"mainContainer": rest}
    return alpha_only(service)


def _alpha_mounts(component: Mapping[str, Any], main: Mapping[str, Any]) -> list[dict[str, Any]]:
    cache = component.get("compilationCache")
    mounts: list[dict[str, Any]] = []
    if cache:
        mounts.append({"name": cache.get("pvcName", ""), "useAsCompilationCache": True})
        if cache.get("mountPath"):
            mounts[0]["mountPoint"] = cache["mountPath"]
    for mount in main.get("volumeMounts") or ():
        entry = {"name": mount.get("name", ""), "mountPoint": mount.get("mountPath", "")}
        known = any(
            item["name"] == entry["name"] and item.get("mountPoint", "") == entry["mountPoint"] for item in mounts
        )
        if not known:
            mounts.append(entry)
    return mounts


# --- the annotation's text ------------------------------------------------------------------------------------------


def _graph_text(preserved: Mapping[str, Any], claims: tuple[Mapping[str, Any], ...]) -> str:
    spec: dict[str, Any] = {}
    if claims:
        spec["pvcs"] = [{"size": "0", **claim} for claim in claims]
    if preserved:
        spec["services"] = preserved
    if not spec:
        return ""
    return go_json({"version": 1, "spec": printed(spec, "DGDSpec")})


def component_text(preserved: Mapping[str, Any]) -> str:
    """Return the annotation's text of one component's deployment."""
    raw = [{"path": "serviceName", "nil": True}]
    return go_json({"version": 1, "spec": printed(preserved, "Service"), "rawJSON": raw})
