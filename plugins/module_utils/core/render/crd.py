# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The DGD's fields in both API versions, as the CRDs of releases 1.1 and 1.5 know and limit them.

Kinds are those of :mod:`.shapes`; Kubernetes' own pod types come from there. After the kind may stand:

``min= max=`` a number's limits; ``len=`` a text's least and greatest length; ``items=`` / ``props=`` how many at most;
``enum=`` the values allowed; ``default=`` what the API server fills in; ``re=`` a pattern of :data:`PATTERNS`;
``req`` must be given; ``key=`` the field by which list items are told apart; ``set`` items must differ;
``since=`` the first release that has the field; ``as=`` the type that Go reads a field as which the CRD leaves open.
Source: ``api/v1alpha1`` and ``api/v1beta1`` of the operator, their kubebuilder markers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from .profiles import profile_of
from .shapes import SHAPES, Kind, kind_of

_ALPHA = """
DGDSpec: annotations {s}, labels {s}, pvcs [PVC] items=100, services {Service} props=25, envs [EnvVar],
  backendFramework s enum=sglang|vllm|trtllm, restart Restart*, topologyConstraint SpecTopology*,
  priorityClassName s since=1.5, providerOverride ProviderOverride* since=1.5, experimental GraphExperimental* since=1.5
PVC: create b*, name s* req, storageClass s, size q!, volumeAccessMode s
Service: annotations {s}, labels {s}, serviceName s, componentType s, subComponentType s, dynamoNamespace s*,
  globalDynamoNamespace b, resources ServiceResources*, autoscaling Autoscaling*, envs [EnvVar], envFromSecret s*,
  volumeMounts [ServiceMount], ingress IngressSpec*, modelRef ModelRef*, sharedMemory SharedMemory*,
  extraPodMetadata ExtraPodMetadata*, extraPodSpec ExtraPodSpec*, livenessProbe Probe*, readinessProbe Probe*,
  replicas i* min=0, multinode Multinode*, scalingAdapter Adapter*, eppConfig EPPConfig*, checkpoint ServiceCheckpoint*,
  topologyConstraint Topology*, gpuMemoryService ServiceGMS*, failover ServiceFailover*,
  frontendSidecar FrontendSidecar*, runtimeVersionOverride s re=version since=1.5, minAvailable i* min=1 since=1.5,
  providerOverride ProviderOverride* since=1.5
ServiceResources: requests ResourceItem*, limits ResourceItem*, claims [ResourceClaim]
ResourceItem: cpu s, memory s, gpu s, gpuType s, custom {s}
Autoscaling: enabled b, minReplicas i, maxReplicas i, behavior any, metrics any
ServiceMount: name s req, mountPoint s, useAsCompilationCache b default=false
IngressSpec: enabled b, host s, useVirtualService b, virtualServiceGateway s*, hostPrefix s*, annotations {s},
  labels {s}, tls IngressTLS*, hostSuffix s*, ingressControllerClassName s*
IngressTLS: secretName s
ModelRef: name s!, revision s
SharedMemory: disabled b, size q!
ExtraPodMetadata: annotations {s}, labels {s}
Adapter: enabled b default=false
ServiceCheckpoint: enabled b default=false, mode s enum=Auto|Manual default=Auto, checkpointRef s*, identity Identity*,
  startupPolicy s enum=Immediate|WaitForCheckpoint since=1.5, deletionPolicy s enum=Delete|Retain since=1.5,
  targetContainerName s len=1..63 re=label since=1.5, job CheckpointJob* since=1.5
ServiceGMS: enabled b!, mode s enum=intraPod|interPod default=intraPod, deviceClassName s default=gpu.nvidia.com,
  extraClientContainers [s] set since=1.5
ServiceFailover: enabled b!, mode s enum=intraPod|interPod default=intraPod, numShadows i min=1 default=1
FrontendSidecar: image s!, args [s], envFromSecret s*, envs [EnvVar]
SpecTopology: topologyProfile s!, packDomain s re=domain
Topology: packDomain s! re=domain
"""

_BETA = """
DGDSpec: annotations {s}, labels {s}, components [Component] items=25 key=name, env [EnvVar],
  backendFramework s enum=sglang|vllm|trtllm, restart Restart*, topologyConstraint SpecTopology*, priorityClassName s,
  providerOverride ProviderOverride*, experimental GraphExperimental*
Component: name s! len=1..63 re=name, type s enum=frontend|worker|prefill|decode|planner|epp,
  runtimeVersionOverride s re=version, globalDynamoNamespace b, podTemplate PodTemplateSpec*, replicas i* min=0,
  minAvailable i* min=1, multinode Multinode*, sharedMemorySize q*, modelRef ModelRef*, scalingAdapter Empty*,
  eppConfig EPPConfig*, frontendSidecar s*, compilationCache CompilationCache*, topologyConstraint Topology*,
  experimental Experimental*
Empty:
CompilationCache: pvcName s! len=1.., mountPath s
ModelRef: name s! len=1.., revision s
Experimental: gpuMemoryService GMS*, failover Failover*, checkpoint Checkpoint*, grove Grove*
Grove: forceScalingGroup b*
GMS: mode s enum=IntraPod|InterPod default=IntraPod, deviceClassName s default=gpu.nvidia.com,
  extraClientContainers [s] set, extraClientPods [ClientPod] key=name
ClientPod: name s! len=1..63 re=label, podTemplate any!
Failover: mode s enum=IntraPod|InterPod default=IntraPod, numShadows i min=1 default=1
Checkpoint: enabled b!, mode s enum=Auto|Manual, startupPolicy s enum=Immediate|WaitForCheckpoint default=Immediate,
  deletionPolicy s enum=Delete|Retain default=Delete, checkpointRef s*, identity Identity*,
  targetContainerName s len=1..63 re=label default=main, job CheckpointJob*
SpecTopology: clusterTopologyName s! len=1.., packDomain s re=domain
Topology: packDomain s! re=domain
"""

_SHARED = """
CheckpointJob: gmsClientContainers [s] set, podTemplate any
Multinode: nodeCount i! min=2 default=2
Restart: id s! len=1.., strategy RestartStrategy*
RestartStrategy: type s enum=Sequential|Parallel default=Sequential, order [s]
EPPConfig: configMapRef KeyRef*, config any as=EndpointPicker
EndpointPicker: apiVersion s, kind s, featureGates [s], plugins [PickerPlugin], schedulingProfiles [PickerProfile]
PickerPlugin: name s, type s, parameters any
PickerProfile: name s, plugins [PickerReference]
PickerReference: pluginRef s, weight i*
Identity: model s! len=1.., backendFramework s! enum=vllm|sglang|trtllm, dynamoVersion s,
  tensorParallelSize i min=1 default=1, pipelineParallelSize i min=1 default=1, dtype s, maxModelLen i min=1,
  extraParameters {s}
ProviderOverride: apiVersion s!, target s, value any!
GraphExperimental: kvTransferPolicy KvTransfer*
KvTransfer: clusterTopologyName s len=1.., labelKey s len=1..317 re=labelkey, domain s! re=domain,
  enforcement s enum=required|preferred default=required, preferredWeight n* min=0 max=1
"""

PATTERNS: Mapping[str, re.Pattern[str]] = {
    "name": re.compile(r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?"),
    "label": re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"),
    "domain": re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"),
    "version": re.compile(r"(0|[1-9][0-9]{0,3})(\.(0|[1-9][0-9]{0,3})){2}"),
    "labelkey": re.compile(
        r"(([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*/)?"
        r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
    ),
}

#: By which fields the items of Kubernetes' own lists are told apart (``listMapKey`` in ``core/v1``).
_KEYS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("PodSpec", "containers"): ("name",),
    ("PodSpec", "initContainers"): ("name",),
    ("PodSpec", "volumes"): ("name",),
    ("PodSpec", "imagePullSecrets"): ("name",),
    ("PodSpec", "hostAliases"): ("ip",),
    ("PodSpec", "topologySpreadConstraints"): ("topologyKey", "whenUnsatisfiable"),
    ("PodSpec", "resourceClaims"): ("name",),
    ("PodSpec", "schedulingGates"): ("name",),
    ("Container", "env"): ("name",),
    ("Container", "ports"): ("containerPort", "protocol"),
    ("Container", "volumeMounts"): ("mountPath",),
    ("Container", "volumeDevices"): ("devicePath",),
    ("Resources", "claims"): ("name",),
}
#: What the API server fills in below a pod template because ``core/v1`` marks it so.
_DEFAULTS: Mapping[tuple[str, str], Any] = {("ContainerPort", "protocol"): "TCP"}


@dataclass(frozen=True)
class Field:
    """One field: its kind and what the CRD demands of it."""

    kind: Kind
    minimum: float | None = None
    maximum: float | None = None
    least: int = 0
    most: int | None = None
    items: int | None = None
    enum: tuple[str, ...] = ()
    default: Any = None
    pattern: str = ""
    required: bool = False
    keys: tuple[str, ...] = ()
    unique: bool = False
    since: str = ""
    decoded_as: str = ""


Fields = Mapping[str, Field]


@dataclass(frozen=True)
class Type:
    """A struct: its fields, those that appear although nobody gave them, and those whose absence is looked at."""

    fields: Fields
    filled: tuple[tuple[str, Any], ...]
    demanded: tuple[tuple[str, Field], ...]


#: What Go prints for a scalar that was not given where it prints one at all.
_ZEROS: Mapping[str, Any] = {"s": "", "i": 0, "b": False, "q": "0", "x": 0}


def _type(fields: Fields, types: Mapping[str, Fields]) -> Type:
    filled = [(key, _missing(field)) for key, field in fields.items()]
    return Type(
        fields,
        tuple((key, value) for key, value in filled if value is not None),
        tuple(
            (key, field)
            for key, field in fields.items()
            if field.required or _is_printed_list(field) or _holds_printed_list(field, types)
        ),
    )


def _is_printed_list(field: Field) -> bool:
    """Go prints null for such a list when it was not given."""
    return field.kind.always and field.kind.form == "list"


def _holds_printed_list(field: Field, types: Mapping[str, Fields]) -> bool:
    """Go prints such a struct, and the null in it, when it was not given."""
    kind = field.kind
    if kind.form != "one" or kind.pointer or not kind.is_struct:
        return False
    return any(_is_printed_list(inner) for inner in types[kind.base].values())


def _missing(field: Field) -> Any:
    kind = field.kind
    if field.default is not None or not kind.always or kind.form != "one":
        return field.default
    return _ZEROS.get(kind.base)


def _field(kind: str, *limits: str) -> Field:
    made = Field(kind_of(kind))
    for limit in limits:
        name, _unused, value = limit.partition("=")
        made = replace(made, **_limit(name, value, made.kind))
    return made


def _limit(name: str, value: str, kind: Kind) -> dict[str, Any]:
    if name == "len":
        least, _unused, most = value.partition("..")
        return {"least": int(least), "most": int(most) if most else None}
    if name == "default":
        known: dict[str, Any] = {"true": True, "false": False}
        return {"default": int(value) if kind.base == "i" else known.get(value, value)}
    plain: dict[str, dict[str, Any]] = {
        "min": {"minimum": float(value)} if name == "min" else {},
        "max": {"maximum": float(value)} if name == "max" else {},
        "items": {"items": int(value)} if name == "items" else {},
        "props": {"items": int(value)} if name == "props" else {},
        "enum": {"enum": tuple(value.split("|"))},
        "re": {"pattern": value},
        "key": {"keys": (value,)},
        "since": {"since": value},
        "as": {"decoded_as": value},
        "req": {"required": True},
        "set": {"unique": True},
    }
    return plain[name]


def _parse(table: str) -> dict[str, Fields]:
    types: dict[str, Fields] = {}
    for block in table.strip().replace("\n  ", " ").splitlines():
        name, fields = block.split(":", 1)
        words = [field.split() for field in fields.split(",") if field.strip()]
        types[name] = {key: _field(*rest) for key, *rest in words}
    return types


def _core(name: str) -> Fields:
    return {
        key: Field(kind, keys=_KEYS.get((name, key), ()), default=_DEFAULTS.get((name, key)))
        for key, kind in SHAPES[name].items()
    }


@cache
def types_of(version: str, release: str) -> Mapping[str, Fields]:
    """Return every type of a DGD of API ``version`` (``v1alpha1``, ``v1beta1``) as ``release`` knows it."""
    types: dict[str, Fields] = {name: _core(name) for name in SHAPES}
    # The custom marshaller of extraPodSpec leaves an empty containers list out.
    types["ExtraPodSpec"] = {
        **types["PodSpec"],
        "containers": replace(types["PodSpec"]["containers"], kind=Kind("Container", "list")),
        "mainContainer": Field(Kind("Container", pointer=True)),
    }
    known = profile_of(release).admission.additions
    for table in (_SHARED, _ALPHA if version == "v1alpha1" else _BETA):
        for name, fields in _parse(table).items():
            types[name] = {key: field for key, field in fields.items() if not field.since or field.since in known}
    return types


@cache
def structs_of(version: str, release: str) -> Mapping[str, Type]:
    """Return the same, prepared for walking values."""
    types = types_of(version, release)
    return {name: _type(fields, types) for name, fields in types.items()}
