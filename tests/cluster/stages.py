# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KWOK Stages: how pods and nodes behave, and how a test asks for a failure.

A pod's annotation or label ``simulation.inference-ops/outcome`` chooses one of OUTCOMES; without it the pod becomes
Ready, and a Job's pod succeeds. Annotation ``simulation.inference-ops/delay`` (like 20s) postpones that, and
``simulation.inference-ops/message`` replaces the failure's message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

PREFIX = "simulation.inference-ops"
OUTCOME, DELAY, MESSAGE, STOP_DELAY, LOST = (
    f"{PREFIX}/{name}" for name in ("outcome", "delay", "message", "stop-delay", "lost")
)

_OUTCOME_KEY = f'.metadata.annotations["{OUTCOME}"] // .metadata.labels["{OUTCOME}"]'
_DELAY_KEY = f'.metadata.annotations["{DELAY}"]'


@dataclass(frozen=True)
class Outcome:
    """What the kubelet would report for every container of a pod that goes wrong like this."""

    phase: str
    state: str  # one line of YAML; %s is the message
    message: str
    event_reason: str
    last_state: str = ""
    restarts: int = 0
    ready_first: bool = False  # goes wrong only after it was Ready (a Job's pod: after it ran) and the delay is over


_TIMES = "startedAt: {{ Now | Quote }}, finishedAt: {{ Now | Quote }}"
_CRASHED = "{terminated: {exitCode: 1, reason: Error, message: %s, " + _TIMES + "}}"
_COMPLETED = "{terminated: {exitCode: 0, reason: Completed, " + _TIMES + "}}"
_OOM = _CRASHED.replace("exitCode: 1, reason: Error", "exitCode: 137, reason: OOMKilled")
_BACK_OFF = "back-off 5m0s restarting failed container"

OUTCOMES = {
    "image-pull-backoff": Outcome(
        "Pending",
        "{waiting: {reason: ImagePullBackOff, message: %s}}",
        "Back-off pulling image: not found",
        "Failed",
    ),
    "config-error": Outcome(
        "Pending",
        "{waiting: {reason: CreateContainerConfigError, message: %s}}",
        'secret "missing" not found',
        "Failed",
    ),
    "container-creating": Outcome(
        "Pending", "{waiting: {reason: ContainerCreating}}", "MountVolume.SetUp failed: not found", "FailedMount"
    ),
    "crash-loop": Outcome(
        "Running",
        "{waiting: {reason: CrashLoopBackOff, message: " + _BACK_OFF + "}}",
        "the program ended with exit code 1",
        "BackOff",
        _CRASHED,
        3,
    ),
    "oom-killed": Outcome(
        "Running", "{waiting: {reason: CrashLoopBackOff, message: " + _BACK_OFF + "}}", "", "BackOff", _OOM, 3
    ),
    "ready-then-crash": Outcome(
        "Running",
        "{waiting: {reason: CrashLoopBackOff, message: " + _BACK_OFF + "}}",
        "the program ended with exit code 1",
        "BackOff",
        _CRASHED,
        1,
        ready_first=True,
    ),
    "never-ready": Outcome(
        "Running",
        "{running: {startedAt: {{ Now | Quote }}}}",
        "Readiness probe failed: HTTP probe failed with statuscode: 503",
        "Unhealthy",
    ),
    "failed": Outcome("Failed", _CRASHED, "the program ended with exit code 1", "Failed", ready_first=True),
}

_ADDRESSES = """
{{ $hosts := NodeIPsWith .spec.nodeName }}{{ with $hosts }}
hostIP: {{ index . 0 | Quote }}
hostIPs:
{{ range . }}
- ip: {{ . | Quote }}
{{ end }}{{ end }}
{{ $host := or .spec.hostNetwork false }}
{{ $ips := PodIPsWith .spec.nodeName $host (or .metadata.uid "") .metadata.name .metadata.namespace }}
{{ with $ips }}
podIP: {{ index . 0 | Quote }}
podIPs:
{{ range . }}
- ip: {{ . | Quote }}
{{ end }}{{ end }}
"""
_INIT_DONE = (
    """
initContainerStatuses:
{{ range .spec.initContainers }}
- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, imageID: "", ready: true, restartCount: 0,
{{ if eq (or .restartPolicy "") "Always" }} started: true, state: {running: {startedAt: {{ Now | Quote }}}}}
{{ else }} started: false, state: """
    + _COMPLETED
    + """}
{{ end }}{{ end }}
"""
)


def _conditions(ready: bool, reason: str = "") -> str:
    lines = ["conditions:"]
    for kind in ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"):
        status = ready or kind in ("PodReadyToStartContainers", "Initialized")
        # An empty reason and message clear what an earlier stage wrote: the patch merges by type.
        detail = "" if status else reason
        lines.append(
            f'- {{type: {kind}, status: "{status}", reason: "{detail}", lastTransitionTime: {{{{ Now | Quote }}}}}}'
        )
    lines.append("{{ range .spec.readinessGates }}")
    lines.append('- {type: {{ .conditionType | Quote }}, status: "True", lastTransitionTime: {{ Now | Quote }}}')
    lines.append("{{ end }}")
    return "\n".join(lines)


def _containers(state: str, *, ready: bool, started: bool, restarts: int = 0, last_state: str = "") -> str:
    last = f", lastState: {last_state}" if last_state else ""
    return (
        "containerStatuses:\n{{ range .spec.containers }}\n"
        f'- {{name: {{{{ .name | Quote }}}}, image: {{{{ .image | Quote }}}}, imageID: "", '
        f"ready: {str(ready).lower()}, started: {str(started).lower()}, restartCount: {restarts}, "
        f"state: {state}{last}}}\n{{{{ end }}}}"
    )


def _match(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


_ALIVE = _match(".metadata.deletionTimestamp", "DoesNotExist")
_PENDING = _match(".status.phase", "In", "Pending")
_RUNNING = _match(".status.phase", "In", "Running")
_READY_KEY = '.status.conditions.[] | select( .type == "Ready" ) | .status'
_OWNER_KEY = ".metadata.ownerReferences.[].kind"


def _stage(
    name: str,
    matches: Sequence[dict[str, Any]],
    *,
    kind: str = "Pod",
    template: str = "",
    delay: str = "",
    event: tuple[str, str, str] | None = None,
    delete: bool = False,
) -> dict[str, Any]:
    steps: list[dict[str, Any]] = []
    if template:
        steps.append({"patch": {"subresource": "status", "root": "status", "template": template}})
    if event:
        steps.append({"event": dict(zip(("type", "reason", "message"), event, strict=True))})
    if delete:
        steps.append({"delete": True})
    spec: dict[str, Any] = {
        "resourceRef": {"apiGroup": "v1", "kind": kind},
        "selector": {"matchExpressions": list(matches)},
        "steps": steps,
    }
    if delay:
        spec["delay"] = {"durationMilliseconds": 0, "durationFrom": {"expressionFrom": delay}}
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": spec}


_STARTED = "startTime: {{ Now | Quote }}"
_RUN = "{running: {startedAt: {{ Now | Quote }}}}"
_READY_TEMPLATE = "\n".join(
    [_conditions(True), _containers(_RUN, ready=True, started=True), _INIT_DONE, _ADDRESSES, "phase: Running", _STARTED]
)


def _quoted_message(outcome: Outcome, text: str) -> str:
    if "%s" not in text:
        return text
    fallback = outcome.message.replace('"', '\\"')
    wanted = f'{{{{ (or (index (or .metadata.annotations dict) "{MESSAGE}") "{fallback}") | Quote }}}}'
    # Inside a range the dot is the container; $ is the pod.
    return text % wanted.replace(".metadata", "$.metadata")


def _outcome_stage(name: str, outcome: Outcome) -> dict[str, Any]:
    running = "running:" in outcome.state
    template = "\n".join(
        [
            _conditions(False, "PodFailed" if outcome.phase == "Failed" else "ContainersNotReady"),
            _containers(
                _quoted_message(outcome, outcome.state),
                ready=False,
                started=running,
                restarts=outcome.restarts,
                last_state=_quoted_message(outcome, outcome.last_state),
            ),
            f"phase: {outcome.phase}",
            # A pod that ran before has these already, and its address must not change.
            *(() if outcome.ready_first else (_INIT_DONE, _ADDRESSES, "startTime: {{ Now | Quote }}")),
        ]
    )
    matches = [_ALIVE, _match(_OUTCOME_KEY, "In", name)]
    if outcome.ready_first:
        matches += [_RUNNING, _match(_READY_KEY, "In", "True")]
    else:
        matches += [_PENDING, _match(".status.containerStatuses", "DoesNotExist")]
    event = ("Warning", outcome.event_reason, outcome.message or _BACK_OFF)
    return _stage(f"pod-{name}", matches, template=template, delay=_DELAY_KEY, event=event)


def pod_stages() -> list[dict[str, Any]]:
    never_ready = [name for name, outcome in OUTCOMES.items() if not outcome.ready_first]
    spoiled_job = list(OUTCOMES)
    fine = _match(_OUTCOME_KEY, "NotIn", *never_ready)
    to_start = [_ALIVE, _PENDING, _match(_READY_KEY, "NotIn", "True"), fine]
    creating = "\n".join(
        [
            _conditions(False, "ContainersNotReady"),
            _containers("{waiting: {reason: ContainerCreating}}", ready=False, started=False),
            "phase: Pending",
            "startTime: {{ Now | Quote }}",
        ]
    )
    succeeded = _containers(_COMPLETED, ready=False, started=False)
    no_status = _match(".status.containerStatuses", "DoesNotExist")
    some_status = _match(".status.containerStatuses", "Exists")
    delayed, prompt = _match(_DELAY_KEY, "Exists"), _match(_DELAY_KEY, "DoesNotExist")
    job, no_job = _match(_OWNER_KEY, "In", "Job"), _match(_OWNER_KEY, "NotIn", "Job")
    return [
        _stage("pod-ready", [*to_start, prompt, no_status], template=_READY_TEMPLATE),
        _stage("pod-job-ready", [*to_start, delayed, job, no_status], template=_READY_TEMPLATE),
        _stage("pod-creating", [*to_start, delayed, no_job, no_status], template=creating),
        _stage("pod-ready-slow", [*to_start, delayed, no_job, some_status], template=_READY_TEMPLATE, delay=_DELAY_KEY),
        _stage(
            "pod-complete",
            [_ALIVE, _RUNNING, job, _match(_OUTCOME_KEY, "NotIn", *spoiled_job)],
            template=f"{_conditions(False, 'PodCompleted')}\n{succeeded}\nphase: Succeeded",
            delay=_DELAY_KEY,
        ),
        _stage(
            "pod-delete",
            [_match(".metadata.deletionTimestamp", "Exists")],
            delete=True,
            delay=f'.metadata.annotations["{STOP_DELAY}"]',
        ),
        *(_outcome_stage(name, outcome) for name, outcome in OUTCOMES.items()),
    ]


def node_stages() -> list[dict[str, Any]]:
    """A node becomes Ready at once; its heartbeat keeps it so. Capacity stays as the node was made."""
    conditions = """conditions:
{{ range NodeConditions }}
- {type: {{ .type | Quote }}, status: {{ .status | Quote }}, reason: {{ .reason | Quote }},
  message: {{ .message | Quote }}, lastHeartbeatTime: {{ Now | Quote }},
  lastTransitionTime: {{ $.metadata.creationTimestamp | Quote }}}
{{ end }}"""
    # The API server reaches logs and port-forward at this address: KWOK's controller plays every kubelet.
    first = (
        conditions
        + """
addresses:
{{ with NodeIP }}
- {type: InternalIP, address: {{ . | Quote }}}
{{ end }}{{ with NodeName }}
- {type: Hostname, address: {{ . | Quote }}}
{{ end }}{{ with NodePort }}
daemonEndpoints: {kubeletEndpoint: {Port: {{ . }}}}
{{ end }}
nodeInfo:
  architecture: amd64
  bootID: ""
  containerRuntimeVersion: kwok-{{ Version }}
  kernelVersion: kwok-{{ Version }}
  kubeProxyVersion: ""
  kubeletVersion: kwok-{{ Version }}
  machineID: ""
  operatingSystem: linux
  osImage: ""
  systemUUID: ""
phase: Running"""
    )
    # A node with this label is left alone: a test plays one whose kubelet has gone silent.
    alive = _match(f'.metadata.labels["{LOST}"]', "DoesNotExist")
    beat = _stage("node-heartbeat", [_match(_READY_KEY, "In", "True"), alive], kind="Node", template=conditions)
    beat["spec"]["delay"] = {"durationMilliseconds": 120_000, "jitterDurationMilliseconds": 130_000}
    return [_stage("node-initialize", [_match(_READY_KEY, "NotIn", "True"), alive], kind="Node", template=first), beat]


def volume_stages() -> list[dict[str, Any]]:
    """Free a volume when its claim has gone: an empty disk again, as a provisioner would give."""
    stage = _stage("volume-free", [_match(".status.phase", "In", "Released")], kind="PersistentVolume")
    stage["spec"]["steps"] = [{"patch": {"type": "json", "template": '[{"op": "remove", "path": "/spec/claimRef"}]'}}]
    return [stage]


def all_stages() -> list[dict[str, Any]]:
    return [*node_stages(), *pod_stages(), *volume_stages()]
