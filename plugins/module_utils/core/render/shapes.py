# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of Kubernetes' pod types, as far as they decide what Go keeps, merges and prints.

The operator works on Go structs: a zero value cannot be told from a missing one, a pointer can. The table below says
per field which it is (Kubernetes 1.34, ``core/v1``). Field kinds:

``s i n b`` string, whole number, number, boolean; ``q`` quantity; ``x`` number-or-string; ``any`` JSON as it stands;
``T`` struct; ``[k]`` list; ``{k}`` map from strings. After a scalar or struct: ``*`` pointer (may be zero),
``!`` value that is printed even when zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..quantity import canonical

_TABLE = """
PodTemplateSpec: metadata ObjectMeta, spec PodSpec
ObjectMeta: name s, generateName s, namespace s, labels {s}, annotations {s}, finalizers [s]
PodSpec: volumes [Volume], initContainers [Container], containers [Container]!, ephemeralContainers [Container],
  restartPolicy s, terminationGracePeriodSeconds i*, activeDeadlineSeconds i*, dnsPolicy s, nodeSelector {s},
  serviceAccountName s, serviceAccount s, automountServiceAccountToken b*, nodeName s, hostNetwork b, hostPID b,
  hostIPC b, shareProcessNamespace b*, securityContext PodSecurityContext*, imagePullSecrets [LocalRef], hostname s,
  subdomain s, affinity Affinity*, schedulerName s, tolerations [Toleration], hostAliases [HostAlias],
  priorityClassName s, priority i*, dnsConfig DNSConfig*, readinessGates [ReadinessGate], runtimeClassName s*,
  enableServiceLinks b*, preemptionPolicy s*, overhead {q}, topologySpreadConstraints [Spread],
  setHostnameAsFQDN b*, os PodOS*, hostUsers b*, schedulingGates [Named], resourceClaims [PodResourceClaim],
  resources Resources*, hostnameOverride s*
Container: name s!, image s, command [s], args [s], workingDir s, ports [ContainerPort], envFrom [EnvFrom],
  env [EnvVar], resources Resources, resizePolicy [ResizePolicy], restartPolicy s*, restartPolicyRules [RestartRule],
  volumeMounts [VolumeMount], volumeDevices [VolumeDevice], livenessProbe Probe*, readinessProbe Probe*,
  startupProbe Probe*, lifecycle Lifecycle*, terminationMessagePath s, terminationMessagePolicy s, imagePullPolicy s,
  securityContext SecurityContext*, stdin b, stdinOnce b, tty b, targetContainerName s
ContainerPort: name s, hostPort i, containerPort i!, protocol s, hostIP s
EnvFrom: prefix s, configMapRef OptionalRef*, secretRef OptionalRef*
OptionalRef: name s, optional b*
EnvVar: name s!, value s, valueFrom EnvVarSource*
EnvVarSource: fieldRef FieldRef*, resourceFieldRef ResourceFieldRef*, configMapKeyRef KeyRef*, secretKeyRef KeyRef*,
  fileKeyRef FileKeyRef*
FieldRef: apiVersion s, fieldPath s!
ResourceFieldRef: containerName s, resource s!, divisor q
KeyRef: name s, key s!, optional b*
FileKeyRef: volumeName s!, path s!, key s!, optional b*
Resources: limits {q}, requests {q}, claims [ResourceClaim]
ResourceClaim: name s!, request s
ResizePolicy: resourceName s!, restartPolicy s!
RestartRule: action s!, exitCodes ExitCodes*
ExitCodes: operator s!, values [i]
VolumeMount: name s!, readOnly b, recursiveReadOnly s*, mountPath s!, subPath s, mountPropagation s*, subPathExpr s
VolumeDevice: name s!, devicePath s!
Probe: exec Exec*, httpGet HTTPGet*, tcpSocket TCPSocket*, grpc GRPC*, initialDelaySeconds i, timeoutSeconds i,
  periodSeconds i, successThreshold i, failureThreshold i, terminationGracePeriodSeconds i*
Exec: command [s]
HTTPGet: path s, port x!, host s, scheme s, httpHeaders [HTTPHeader]
HTTPHeader: name s!, value s!
TCPSocket: port x!, host s
GRPC: port i!, service s*
Sleep: seconds i!
Lifecycle: postStart Handler*, preStop Handler*, stopSignal s*
Handler: exec Exec*, httpGet HTTPGet*, tcpSocket TCPSocket*, sleep Sleep*
SecurityContext: capabilities Capabilities*, privileged b*, seLinuxOptions SELinux*, windowsOptions any, runAsUser i*,
  runAsGroup i*, runAsNonRoot b*, readOnlyRootFilesystem b*, allowPrivilegeEscalation b*, procMount s*,
  seccompProfile Profile*, appArmorProfile Profile*
Capabilities: add [s], drop [s]
SELinux: user s, role s, type s, level s
Profile: type s!, localhostProfile s*
PodSecurityContext: seLinuxOptions SELinux*, windowsOptions any, runAsUser i*, runAsGroup i*, runAsNonRoot b*,
  supplementalGroups [i], supplementalGroupsPolicy s*, fsGroup i*, sysctls [Sysctl], fsGroupChangePolicy s*,
  seccompProfile Profile*, appArmorProfile Profile*, seLinuxChangePolicy s*
Sysctl: name s!, value s!
LocalRef: name s
Named: name s!
Affinity: nodeAffinity NodeAffinity*, podAffinity PodAffinity*, podAntiAffinity PodAffinity*
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution NodeSelector*,
  preferredDuringSchedulingIgnoredDuringExecution [PreferredNode]
NodeSelector: nodeSelectorTerms [NodeTerm]!
NodeTerm: matchExpressions [Expression], matchFields [Expression]
PreferredNode: weight i!, preference NodeTerm
Expression: key s!, operator s!, values [s]
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution [PodTerm],
  preferredDuringSchedulingIgnoredDuringExecution [PreferredPod]
PreferredPod: weight i!, podAffinityTerm PodTerm
PodTerm: labelSelector LabelSelector*, namespaces [s], topologyKey s!, namespaceSelector LabelSelector*,
  matchLabelKeys [s], mismatchLabelKeys [s]
LabelSelector: matchLabels {s}, matchExpressions [Expression]
Toleration: key s, operator s, value s, effect s, tolerationSeconds i*
HostAlias: ip s!, hostnames [s]
DNSConfig: nameservers [s], searches [s], options [DNSOption]
DNSOption: name s, value s*
ReadinessGate: conditionType s!
Spread: maxSkew i!, topologyKey s!, whenUnsatisfiable s!, labelSelector LabelSelector*, minDomains i*,
  nodeAffinityPolicy s*, nodeTaintsPolicy s*, matchLabelKeys [s]
PodOS: name s!
PodResourceClaim: name s!, resourceClaimName s*, resourceClaimTemplateName s*
Volume: name s!, hostPath HostPath*, emptyDir EmptyDir*, gcePersistentDisk any, awsElasticBlockStore any, gitRepo any,
  secret SecretVolume*, nfs NFS*, iscsi any, glusterfs any, persistentVolumeClaim ClaimVolume*, rbd any, flexVolume any,
  cinder any, cephfs any, flocker any, downwardAPI DownwardVolume*, fc any, azureFile any, configMap ConfigMapVolume*,
  vsphereVolume any, quobyte any, azureDisk any, photonPersistentDisk any, projected Projected*, portworxVolume any,
  scaleIO any, storageos any, csi CSI*, ephemeral Ephemeral*, image ImageVolume*
HostPath: path s!, type s*
EmptyDir: medium s, sizeLimit q*
SecretVolume: secretName s, items [KeyToPath], defaultMode i*, optional b*
NFS: server s!, path s!, readOnly b
ClaimVolume: claimName s!, readOnly b
DownwardVolume: items [DownwardFile], defaultMode i*
DownwardFile: path s!, fieldRef FieldRef*, resourceFieldRef ResourceFieldRef*, mode i*
ConfigMapVolume: name s, items [KeyToPath], defaultMode i*, optional b*
KeyToPath: key s!, path s!, mode i*
Projected: sources [Projection]!, defaultMode i*
Projection: secret SecretProjection*, downwardAPI DownwardVolume*, configMap ConfigMapVolume*,
  serviceAccountToken TokenProjection*, clusterTrustBundle any, podCertificate any
SecretProjection: name s, items [KeyToPath], optional b*
TokenProjection: audience s, expirationSeconds i*, path s!
CSI: driver s!, readOnly b*, fsType s*, volumeAttributes {s}, nodePublishSecretRef LocalRef*
Ephemeral: volumeClaimTemplate ClaimTemplate*
ClaimTemplate: metadata ObjectMeta, spec ClaimSpec
ClaimSpec: accessModes [s], selector LabelSelector*, resources ClaimResources, volumeName s, storageClassName s*,
  volumeMode s*, dataSource any, dataSourceRef any, volumeAttributesClassName s*
ClaimResources: limits {q}, requests {q}
ImageVolume: reference s, pullPolicy s
"""

_SCALARS = frozenset({"s", "i", "n", "b", "q", "x", "any"})
_ZERO: tuple[object, ...] = ("", 0, False)
#: Types that need no copy; asked first, because asking for an abstract type is slow.
_ATOMS = frozenset({str, int, float, bool, type(None)})


@dataclass(frozen=True)
class Kind:
    """One field's kind. ``base`` is a scalar letter or the name of a struct; ``form`` is one, list or map."""

    base: str
    form: str = "one"
    pointer: bool = False
    always: bool = False

    @property
    def is_struct(self) -> bool:
        """Whether the field (or the list's item) is a struct of the table."""
        return self.base not in _SCALARS


Shape = Mapping[str, Kind]


def kind_of(text: str) -> Kind:
    """Read one field kind of the table."""
    always, text = text.endswith("!"), text.rstrip("!")
    pointer, text = text.endswith("*"), text.rstrip("*")
    if text.startswith("["):
        return Kind(text[1:-1], "list", always=always)
    if text.startswith("{"):
        return Kind(text[1:-1], "map", always=always)
    return Kind(text, "one", pointer, always)


def _parse(table: str) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {}
    for block in table.strip().replace("\n  ", " ").splitlines():
        name, fields = block.split(":", 1)
        pairs = (field.split() for field in fields.split(","))
        shapes[name] = {key: kind_of(kind) for key, kind in pairs}
    return shapes


SHAPES: Mapping[str, Shape] = _parse(_TABLE)


def plain(value: Any) -> Any:
    """Return a copy of JSON-like data that shares no list or mapping with ``value``."""
    kind = type(value)
    if kind is dict:
        return {key: item if type(item) in _ATOMS else plain(item) for key, item in value.items()}
    if kind is list:
        return [item if type(item) in _ATOMS else plain(item) for item in value]
    if kind in _ATOMS:
        return value
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def normalise(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a copy of ``value`` as Go would print it after decoding into the struct ``name``.

    Nulls, zero values that are no pointers, and empty lists and maps go; quantities get their canonical spelling.
    Fields that the table does not know stay as they are: what the API server prunes is not decided here.
    """
    shape = SHAPES[name]
    result: dict[str, Any] = {}
    for key, item in value.items():
        if item is None:
            continue
        kind = shape.get(key)
        out = plain(item) if kind is None else _value(item, kind)
        if out is not None:
            result[key] = out
    return result


def _value(item: Any, kind: Kind) -> Any:
    if kind.form == "list":
        items = [_one(entry, kind) for entry in item or () if entry is not None]
        return items or None
    if kind.form == "map":
        return {str(key): _one(entry, kind) for key, entry in item.items() if entry is not None} or None
    out = _one(item, kind)
    if kind.is_struct:
        return out if out or kind.pointer else None
    if kind.pointer or kind.always or out not in _ZERO:
        return out
    return None


def _one(item: Any, kind: Kind) -> Any:
    if kind.is_struct:
        return normalise(item, kind.base)
    if kind.base == "q":
        return canonical(item)
    if kind.base == "any":
        return plain(item)
    return item
