# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kubelet says in words: why an image is not pulled, what a volume lacks, what a log's last lines mean."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .verdict import Verdict

#: How much of a text is quoted as evidence.
QUOTED = 400
LOG_LINES = 5

IMAGE_REASONS = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrInvalidImageName",
        "ImageInspectError",
        "ErrImageNeverPull",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
_PLATFORM = re.compile(
    r"no match(?:ing manifest)? for (?:platform|[\w/]+ in the manifest)|no matching manifest for|exec format error",
    re.I,
)
_EXEC_FORMAT = re.compile(r"exec format error|cannot execute binary file", re.I)
#: What the registry's or runtime's text means; the first that matches.
_PULL: tuple[tuple[str, str, str], ...] = (
    (
        "rate_limit",
        r"429 Too Many Requests|toomanyrequests|rate limit",
        "Wait for the limit, pull with credentials, or use a mirror.",
    ),
    (
        "auth_or_missing",
        r"pull access denied|repository does not exist or may require|insufficient_scope|denied: requested access",
        "The repository does not exist, or it needs credentials: check the name, then the pull secrets.",
    ),
    (
        "auth",
        r"401 Unauthorized|no basic auth credentials|403 Forbidden|authentication required|unauthorized",
        "Give the pod a pull secret for this registry.",
    ),
    (
        "unreachable",
        (
            r"no such host|connection refused|i/o timeout|network is unreachable|context deadline exceeded"
            r"|dial tcp|TLS handshake"
        ),
        "The node cannot reach the registry: check its name, DNS and the network.",
    ),
    (
        "certificate",
        r"x509:|certificate signed by unknown authority|server gave HTTP response to HTTPS client",
        "The node does not trust the registry's certificate.",
    ),
    (
        "missing_tag",
        r"manifest unknown|not found|manifest for .* not found",
        "The tag or digest does not exist in the registry.",
    ),
    ("disk_full", r"no space left on device", "The node's disk is full."),
)
_PULL_PATTERNS = tuple((sub, re.compile(pattern, re.I), remedy) for sub, pattern, remedy in _PULL)
_IMAGE = re.compile(r'(?:image|reference) "(?P<image>[^"]+)"')

_MISSING = re.compile(
    (
        r'(?P<kind>secret|configmap) "(?P<name>[^"]+)" not found'
        r"|couldn\'t find key (?P<key>\S+) in (?P<where>Secret|ConfigMap) (?P<path>\S+)"
        r"|references non-existent (?P<nonexistent>secret|config) key: (?P<missing>\S+)|no such key"
        r"|(?P<typed>Secret|ConfigMap) (?P<typed_name>\S+) not found"
    ),
    re.I,
)
_CLAIM = re.compile(
    r'persistentvolumeclaims? "(?P<named>[^"]+)" (?:not found|is not bound)'
    r"|error processing PVC [^\s/]+/(?P<processed>[^\s:]+): "
)
_DRIVER = re.compile(
    r"nvidia-container-cli|nvidia-container-runtime|unresolvable CDI devices|CDI device|libcuda|nvml error", re.I
)
_NOT_FOUND_COMMAND = re.compile(r"executable file not found|no such file or directory|permission denied: unknown", re.I)

#: What the last lines of a crashing container mean; the first that matches. Order: the specific before the general.
_LOG_TABLE: tuple[tuple[str, str, str], ...] = (
    (
        "cuda_oom",
        (
            r"CUDA out of memory|torch\.(?:cuda\.)?OutOfMemoryError|CUDA error: out of memory"
            r"|cudaErrorMemoryAllocation|CUBLAS_STATUS_ALLOC_FAILED"
            r"|No available memory for the cache blocks|larger than the (?:maximum number of tokens"
            r"|available KV cache memory)|OutOfMemory.*gpu"
        ),
        "The model does not fit the GPU's memory: more GPUs, a smaller context or batch, or quantised weights.",
    ),
    (
        "nccl",
        r"\bNCCL\b|ncclInternalError|ncclSystemError|ncclUnhandledCudaError",
        "GPU communication failed: check the network between the pods, RDMA resources, /dev/shm, and NCCL_DEBUG=INFO.",
    ),
    (
        "gpu_driver",
        (
            r"CUDA driver version is insufficient|no CUDA-capable device|Found no NVIDIA driver"
            r"|No CUDA GPUs are available|nvidia-container-cli|forward compatibility was attempted"
            r"|CUDA error: (?!out of memory)"
        ),
        "The GPU or its driver is not usable in the pod: check the driver's version and the device plugin on the node.",
    ),
    (
        "host_oom",
        r"\bMemoryError\b|Cannot allocate memory|std::bad_alloc|DefaultCPUAllocator: can't allocate memory|Bus error",
        (
            "The process ran out of memory in the container (or /dev/shm): raise the memory limit or the shared "
            "memory size."
        ),
    ),
    (
        "model_access",
        (
            r"401 Client Error|GatedRepoError|Repository Not Found|is not a valid model identifier"
            r"|403 Client Error|LocalEntryNotFoundError|does not appear to have a file named"
        ),
        "The model cannot be read: check the token, the model's name and the cache.",
    ),
    (
        "arguments",
        r"unrecognized arguments|error: argument |ModuleNotFoundError|invalid choice:",
        "The command line does not fit the image.",
    ),
    (
        "connection",
        r"Connection refused|ConnectionRefusedError|Name or service not known|etcdserver|NatsError|nats: ",
        "A service that the process needs is out of reach.",
    ),
)
_LOGS = tuple((sub, re.compile(pattern), remedy) for sub, pattern, remedy in _LOG_TABLE)


def quote(text: str) -> str:
    """Return a text as one line of evidence."""
    line = " ".join(text.split())
    return line if len(line) <= QUOTED else line[: QUOTED - 1] + "…"


def image_verdict(reason: str, text: str, image: str) -> Verdict:
    """Judge why ``image`` is not pulled, from the waiting reason and the fullest text there is."""
    named = _IMAGE.search(text)
    about = image or (named["image"] if named else "")
    evidence = (quote(f"{reason}: {text}" if text else reason),)
    if _PLATFORM.search(text):
        return Verdict(
            "image_platform",
            f"Image {about} is not built for the node's platform",
            evidence,
            about,
            {"image": about, "sub": "no_platform"},
        )
    sub, remedy = "unknown", ""
    if reason in ("InvalidImageName", "ErrInvalidImageName"):
        sub, remedy = "invalid_name", "Correct the image's name: lower case, no scheme, a tag after a colon."
    elif reason == "ErrImageNeverPull":
        sub, remedy = (
            "never_pull",
            "imagePullPolicy is Never and the node has no such image: load it, or allow pulling.",
        )
    else:
        found = next(((sub, remedy) for sub, pattern, remedy in _PULL_PATTERNS if pattern.search(text)), None)
        sub, remedy = found or (sub, remedy)
    return Verdict(
        "image_pull",
        f"Image {about} cannot be pulled" + (f" ({sub.replace('_', ' ')})" if sub != "unknown" else ""),
        evidence,
        about,
        {"image": about, "sub": sub, "reason": reason},
        # A registry's limit passes by itself.
        way="contention" if sub == "rate_limit" else None,
        remedy=remedy,
    )


def missing_config(text: str) -> Verdict | None:
    """Return the verdict where ``text`` says that a secret, a config map or a key of one is missing."""
    match = _MISSING.search(text)
    if match is None:
        return None
    kind = (match["kind"] or match["where"] or match["nonexistent"] or match["typed"] or "").lower()
    kind = {"secret": "Secret", "configmap": "ConfigMap", "config": "ConfigMap"}.get(kind, "")
    name = match["name"] or match["typed_name"] or (match["path"] or "").rsplit("/", 1)[-1]
    key = match["key"] or match["missing"] or ""
    what = f"{kind or 'Secret or config map'} {name}".strip()
    message = f"Key {key} is missing in {what}" if key else f"{what} does not exist"
    return Verdict(
        "config_missing", message, (quote(text),), f"{kind}/{name}/{key}", {"kind": kind, "name": name, "key": key}
    )


def config_error(text: str) -> Verdict:
    """Judge a ``CreateContainerConfigError``."""
    missing = missing_config(text)
    if missing is not None:
        return missing
    if re.search(r"subPath|volumeMount", text):
        return Verdict("mount", "A volume's subPath cannot be mounted", (quote(text),), _stable(text))
    if re.search(r"runAsNonRoot|run as root|runAsUser|non-numeric user|invalid", text, re.I):
        return Verdict("config_invalid", "The container's settings contradict its image", (quote(text),), _stable(text))
    return Verdict("config_missing", "The container's configuration cannot be made", (quote(text),), _stable(text))


def create_error(reason: str, text: str) -> Verdict:
    """Judge a container that the runtime cannot create or start."""
    if _EXEC_FORMAT.search(text):
        return Verdict(
            "image_platform",
            "The image's program is built for another platform",
            (quote(text),),
            "exec",
            {"sub": "exec_format"},
        )
    sub = (
        "gpu_driver"
        if _DRIVER.search(text)
        else "command_not_found"
        if _NOT_FOUND_COMMAND.search(text)
        else "create_error"
    )
    remedy = {
        "gpu_driver": "The node's NVIDIA driver or container toolkit does not work: have the node looked at.",
        "command_not_found": "The command does not exist in the image: correct command, or the image.",
    }.get(sub, "")
    return Verdict(
        "crash_loop",
        f"The container cannot be started ({reason})",
        (quote(f"{reason}: {text}" if text else reason),),
        sub,
        {"sub": sub, "reason": reason},
        remedy=remedy,
        per_component=True,
    )


def volume_event(reason: str, text: str) -> Verdict:
    """Judge a FailedMount, FailedMapVolume or FailedAttachVolume event."""
    if reason == "FailedAttachVolume":
        multi = "Multi-Attach" in text
        volume = re.search(r'volume "([^"]+)"', text)
        return Verdict(
            "pvc",
            "A ReadWriteOnce volume is used on another node" if multi else "A volume cannot be attached to the node",
            (quote(text),),
            volume[1] if volume else _stable(text),
            {"sub": "multi_attach" if multi else "attach", "volume": volume[1] if volume else ""},
            remedy="Use a claim with access mode ReadWriteMany, or put the pods on one node." if multi else "",
        )
    missing = missing_config(text)
    if missing is not None:
        return missing
    claim = _CLAIM.search(text)
    if claim:
        name = claim["named"] or claim["processed"] or ""
        return Verdict("pvc", f"Claim {name} is missing or not bound", (quote(text),), name, {"claim": name})
    volume = re.search(r'volume "([^"]+)"', text)
    return Verdict(
        "mount",
        f"Volume {volume[1]} cannot be mounted" if volume else "A volume cannot be mounted",
        (quote(text),),
        volume[1] if volume else _stable(text),
        {"volume": volume[1] if volume else ""},
    )


def log_reading(log: str) -> tuple[str, str, tuple[str, ...]]:
    """Return what a log's end means: (sub, remedy, the telling lines first and the last ones); sub is "" if unknown."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    for sub, pattern, remedy in _LOGS:
        telling = [line for line in lines if pattern.search(line)]
        if telling:
            return sub, remedy, _unique([telling[-1], *lines[-LOG_LINES:]])
    return "", "", tuple(quote(line) for line in lines[-LOG_LINES:])


def is_exec_format(text: str) -> bool:
    """Return whether a text says that a program is built for another platform."""
    return _EXEC_FORMAT.search(text) is not None


def _unique(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(quote(line) for line in lines))


def _stable(text: str) -> str:
    """Return a text without what differs between pods (UIDs, pod names, hex, numbers), to be used as a key."""
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{12,}\b", "…", text)
    text = re.sub(r'pods? "[^"]+"', "pod", text)
    return re.sub(r"\d+", "#", " ".join(text.split()))[:160]


stable = _stable
