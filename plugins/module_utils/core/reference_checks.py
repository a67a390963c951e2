# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge references against a snapshot: is everything there that the manifests name, by name and by key alone?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from .demand import K8sObject
from .docker_secrets import SecretEntry
from .findings import SHOWN, Finding, Reason, some
from .image_reference import ImageNameError, parse_image
from .kinds import KINDS
from .podspecs import as_list, as_map, subject_of
from .references import Reference, References
from .snapshot import Snapshot, name_of

SECRET_MISSING = Reason(
    "ref_secret_missing",
    "references",
    "A secret that the manifests name does not exist in the namespace.",
    "Create the secret in the namespace; its value is never asked for here.",
)
KEY_MISSING = Reason(
    "ref_key_missing",
    "references",
    "A secret or config map exists, but without the key that the manifests name.",
    "Add the key, or name one that is there.",
)
KEY_UNKNOWN = Reason(
    "ref_key_unknown",
    "references",
    "A secret or config map exists, but the names of its keys could not be read.",
    "Give the run's identity the verb get on the object, or name the secret in cluster_info's secret_names.",
)
HF_TOKEN_MISSING = Reason(
    "ref_hf_token_missing",
    "references",
    "The secret for Hugging Face has no key HF_TOKEN, which gated models need.",
    "Put the token into the secret under the key HF_TOKEN, unless the model is open.",
)
CONFIG_MAP_MISSING = Reason(
    "ref_config_map_missing",
    "references",
    "A config map that the manifests name does not exist in the namespace.",
    "Create the config map, or hand its manifest over with the others.",
)
CLAIM_MISSING = Reason(
    "ref_claim_missing",
    "references",
    "A PersistentVolumeClaim that the manifests name exists neither in the namespace nor in the manifests.",
    "Hand the claim's manifest over with the others, create the claim, or let the DGD create it (create: true).",
)
CLAIM_UNUSABLE = Reason(
    "ref_claim_unusable",
    "references",
    "A PersistentVolumeClaim exists but has lost its volume or is being deleted.",
    "Delete the claim and create it anew.",
)
SERVICE_ACCOUNT_MISSING = Reason(
    "ref_service_account_missing",
    "references",
    "A service account that the manifests name does not exist, so no pod of theirs can be created.",
    "Create the service account, or take its name out.",
)
PRIORITY_CLASS_MISSING = Reason(
    "ref_priority_class_missing",
    "references",
    "A priority class that the manifests name does not exist, so their pods are refused.",
    "Create the priority class, or take its name out.",
)
RUNTIME_CLASS_MISSING = Reason(
    "ref_runtime_class_missing",
    "references",
    "A runtime class that the manifests name does not exist, so their pods are refused.",
    "Install the runtime class, or take its name out.",
)
STORAGE_CLASS_MISSING = Reason(
    "ref_storage_class_missing",
    "references",
    "A storage class that a claim names does not exist, so the claim stays Pending.",
    "Name a storage class of the cluster.",
)
NO_DEFAULT_STORAGE_CLASS = Reason(
    "ref_no_default_storage_class",
    "references",
    "A claim names no storage class and the cluster has no default one, so only a volume made by hand can serve it.",
    "Name a storage class in the claim, or mark one as the default.",
)
RESOURCE_CLAIM_MISSING = Reason(
    "ref_resource_claim_missing",
    "references",
    "A resource claim or template that the manifests name does not exist in the namespace.",
    "Create it, or take its name out.",
)
UNREADABLE = Reason(
    "ref_unreadable",
    "references",
    "Whether something that the manifests name exists could not be read.",
    "Grant the missing permission, or check by hand.",
)
PRESENT = Reason("ref_present", "references", "What the manifests name is there, or they make it themselves.")
OPTIONAL_ABSENT = Reason(
    "ref_optional_absent", "references", "What the manifests name as optional is not there; pods start without it."
)
IMAGE_INVALID = Reason(
    "ref_image_invalid",
    "references",
    "An image's name is not valid; pods fail with InvalidImageName.",
    "Write the image as registry/repository:tag in lower case.",
)
IMAGE_PLACEHOLDER = Reason(
    "ref_image_placeholder",
    "references",
    "An image's name looks like a placeholder that was not filled in.",
    "Put in the image that is meant.",
)
IMAGE_NOT_PINNED = Reason(
    "ref_image_not_pinned",
    "references",
    "An image has no tag, or the tag latest, so each node may run another build.",
    "Name a released tag or a digest.",
)
REASONS: tuple[Reason, ...] = (
    SECRET_MISSING,
    KEY_MISSING,
    KEY_UNKNOWN,
    HF_TOKEN_MISSING,
    CONFIG_MAP_MISSING,
    CLAIM_MISSING,
    CLAIM_UNUSABLE,
    SERVICE_ACCOUNT_MISSING,
    PRIORITY_CLASS_MISSING,
    RUNTIME_CLASS_MISSING,
    STORAGE_CLASS_MISSING,
    NO_DEFAULT_STORAGE_CLASS,
    RESOURCE_CLAIM_MISSING,
    UNREADABLE,
    PRESENT,
    OPTIONAL_ABSENT,
    IMAGE_INVALID,
    IMAGE_PLACEHOLDER,
    IMAGE_NOT_PINNED,
)

_MISSING: Mapping[str, Reason] = {
    "Secret": SECRET_MISSING,
    "ConfigMap": CONFIG_MAP_MISSING,
    "PersistentVolumeClaim": CLAIM_MISSING,
    "ServiceAccount": SERVICE_ACCOUNT_MISSING,
    "PriorityClass": PRIORITY_CLASS_MISSING,
    "RuntimeClass": RUNTIME_CLASS_MISSING,
    "StorageClass": STORAGE_CLASS_MISSING,
    "ResourceClaim": RESOURCE_CLAIM_MISSING,
    "ResourceClaimTemplate": RESOURCE_CLAIM_MISSING,
}
#: The secret that Dynamo's recipes share by convention, and the key they read from it.
HF_SECRET, HF_KEY = "hf-token-secret", "HF_TOKEN"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
#: Texts that stand for "put yours here": angle brackets, shell or template variables, my-tag, your-registry.
_PLACEHOLDER = re.compile(r"[<>{}$]|(?:^|[/:_.-])(?:my|your)[-_.]|place-?holder|change-?me|replace-?me|\btodo\b", re.I)


@dataclass(frozen=True)
class ReferenceRequest:
    """What to judge: the references, what the manifests make themselves, and the cluster's snapshot.

    ``objects`` are the manifests' own objects, for the claims among them.
    """

    references: References
    made: frozenset[tuple[str, str]]
    snapshot: Snapshot
    objects: tuple[K8sObject, ...] = ()
    #: Pull secrets have a judge of their own; leave them out where it was asked too.
    skip_pull_secrets: bool = False


def judge_references(request: ReferenceRequest) -> tuple[Finding, ...]:
    """Return one finding a name, and more where its keys or its state call for them."""
    grouped: dict[tuple[str, str], list[Reference]] = {}
    for reference in request.references.items:
        if reference.kind in _MISSING and not (request.skip_pull_secrets and reference.how == "imagePullSecrets"):
            grouped.setdefault((reference.kind, reference.name), []).append(reference)
    found: list[Finding] = []
    for (kind, name), references in grouped.items():
        found.extend(_judge_name(request, kind, name, references))
    found.extend(_storage_defaults(request))
    return tuple(found)


def judge_images(references: References) -> tuple[Finding, ...]:
    """Judge image names by themselves: no cluster is needed to see that one cannot be meant."""
    found = []
    for image in references.names("Image"):
        users = _users(item for item in references.items if item.kind == "Image" and item.name == image)
        subject = f"Image/{image}"
        try:
            parsed = parse_image(image)
        except ImageNameError as error:
            hint = IMAGE_PLACEHOLDER.remedy if _PLACEHOLDER.search(image) else None
            found.append(IMAGE_INVALID.finding("fail", subject, f"{image}: {error}.", users, hint))
            continue
        if _PLACEHOLDER.search(f"/{image}"):
            found.append(IMAGE_PLACEHOLDER.finding("warn", subject, f"{image} looks like a placeholder.", users))
        elif not parsed.digest and parsed.tag in ("", "latest"):
            what = "the tag latest" if parsed.tag else "no tag"
            found.append(IMAGE_NOT_PINNED.finding("warn", subject, f"{image} has {what}.", users))
    return tuple(found)


def _judge_name(request: ReferenceRequest, kind: str, name: str, references: list[Reference]) -> Iterator[Finding]:
    subject, users = f"{kind}/{name}", _users(references)
    if (kind, name) in request.made:
        yield PRESENT.finding("pass", subject, f"{subject} is made by the deployment itself.", users)
        return
    plural = KINDS[kind].plural
    exists = request.snapshot.exists(plural, name)
    where = f" in namespace {request.snapshot.namespace}" if KINDS[kind].namespaced else ""
    if exists is None:
        state = request.snapshot.state(plural)
        message = f"Whether {subject} exists{where} is not known: {state.detail or state.state}."
        yield UNREADABLE.finding("unknown", subject, message, users)
    elif not exists and all(reference.optional for reference in references):
        yield OPTIONAL_ABSENT.finding("pass", subject, f"{subject} does not exist{where}; it is optional.", users)
    elif not exists:
        remedy = _classes(request.snapshot) if kind == "StorageClass" else None
        yield _MISSING[kind].finding("fail", subject, f"{subject} does not exist{where}.", users, remedy)
    elif (trouble := _claim_trouble(request.snapshot, name) if kind == "PersistentVolumeClaim" else "") != "":
        yield CLAIM_UNUSABLE.finding("fail", subject, f"{subject} {trouble}.", users)
    else:
        problems = list(_judge_keys(request.snapshot, subject, kind, name, references))
        yield from problems or (PRESENT.finding("pass", subject, f"{subject} exists{where}.", users),)


def _judge_keys(
    snapshot: Snapshot, subject: str, kind: str, name: str, references: list[Reference]
) -> Iterator[Finding]:
    needed: dict[str, list[Reference]] = {}
    for reference in references:
        if reference.key and not reference.optional:
            needed.setdefault(reference.key, []).append(reference)
    from_env = [item for item in references if kind == "Secret" and item.how in ("envFrom", "envFromSecret")]
    if not needed and not (from_env and name == HF_SECRET):
        return
    keys = _keys(snapshot, kind, name)
    if keys is None:
        wanted = ", ".join(needed) or HF_KEY
        message = f"{subject} exists; whether it has the key {wanted} could not be read."
        yield KEY_UNKNOWN.finding("unknown", subject, message, _users(references))
        return
    for key, users in needed.items():
        if key not in keys:
            evidence = [*_users(users), f"keys: {some(keys) or 'none'}"]
            yield KEY_MISSING.finding("fail", subject, f"{subject} has no key {key}.", evidence)
    if from_env and name == HF_SECRET and HF_KEY not in keys:
        evidence = [*_users(from_env), f"keys: {some(keys) or 'none'}"]
        yield HF_TOKEN_MISSING.finding("warn", subject, f"{subject} has no key {HF_KEY}.", evidence)


def _keys(snapshot: Snapshot, kind: str, name: str) -> tuple[str, ...] | None:
    """The names of the keys, or None where they were not read."""
    if kind == "Secret":
        found: SecretEntry | None = next((entry for entry in snapshot.secrets if entry.name == name), None)
        return found.keys if found else None
    item = snapshot.find("configmaps", name)
    return None if item is None else tuple(map(str, as_list(item.get("keys"))))


def _claim_trouble(snapshot: Snapshot, name: str) -> str:
    claim = snapshot.find("persistentvolumeclaims", name) or {}
    if as_map(claim.get("metadata")).get("deletionTimestamp"):
        return "is being deleted"
    return "has lost its volume" if as_map(claim.get("status")).get("phase") == "Lost" else ""


def _storage_defaults(request: ReferenceRequest) -> Iterator[Finding]:
    """Claims among the manifests that lean on a default class; one that is bound already needs none."""
    snapshot = request.snapshot
    if snapshot.state("storageclasses").state != "observed" or _default_class(snapshot):
        return
    for item in request.objects:
        spec = as_map(item.get("spec"))
        # An empty name asks for a volume made by hand, and no name for the default class.
        if item.get("kind") != "PersistentVolumeClaim" or "storageClassName" in spec or spec.get("volumeName"):
            continue
        live = snapshot.find("persistentvolumeclaims", name_of(item)) or {}
        if as_map(live.get("status")).get("phase") != "Bound":
            subject = subject_of(item)
            yield NO_DEFAULT_STORAGE_CLASS.finding(
                "warn",
                subject,
                f"{subject} names no storage class, and there is no default one.",
                (),
                _classes(snapshot),
            )


def _default_class(snapshot: Snapshot) -> str:
    for item in snapshot.items("storageclasses"):
        annotations = as_map(as_map(item.get("metadata")).get("annotations"))
        if annotations.get(_DEFAULT_CLASS) == "true":
            return name_of(item)
    return ""


def _classes(snapshot: Snapshot) -> str:
    names = tuple(sorted(name_of(item) for item in snapshot.items("storageclasses")))
    if not names:
        return "The cluster has no storage class; create one, or make a volume by hand."
    default = _default_class(snapshot)
    return f"Name one of the cluster's storage classes: {some(names)}" + (f" (default {default})." if default else ".")


def _users(references: Iterable[Reference]) -> tuple[str, ...]:
    texts = dict.fromkeys(f"{item.used_by}: {item.path}" if item.path else item.used_by for item in references)
    return (*tuple(texts)[:SHOWN], *([f"and {len(texts) - SHOWN} more"] if len(texts) > SHOWN else []))
