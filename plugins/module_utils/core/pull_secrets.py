# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge, per image, which pull secrets the operator attaches, which the kubelet would use, and where the two differ.

An image that no credential fits is ``unknown``, never "needs none": it may be public, and a node may hold credentials
of its own that the API does not show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .docker_secrets import DATA_KEYS, SecretEntry
from .findings import SHOWN, Finding, Outcome, Reason, some
from .image_reference import ImageNameError, parse_image
from .keyring import Keyring, Match, OperatorIndex, is_strict, operator_index, why_not
from .podspecs import PodSpec, names_in

Verdict = Literal["attached_and_used", "attached_not_usable", "usable_not_attached", "unknown"]

#: The service account of a pod that names none.
DEFAULT_ACCOUNT = "default"

ATTACHED_AND_USED = Reason(
    "pull_attached_and_used",
    "pull_secrets",
    "A secret is attached to the pod and the kubelet will use it for the image.",
)
ATTACHED_NOT_USABLE = Reason(
    "pull_attached_not_usable",
    "pull_secrets",
    "Secrets are attached to the pod, but the kubelet finds no credential for the image in any of them.",
    "Give the secret a registry key that fits the image, or ignore this if the image is public.",
)
USABLE_NOT_ATTACHED = Reason(
    "pull_usable_not_attached",
    "pull_secrets",
    "A secret in the namespace fits the image, but nothing attaches it to the pod.",
    "Name the secret in imagePullSecrets of the component's extraPodSpec.",
)
NO_CREDENTIALS = Reason(
    "pull_no_credentials",
    "pull_secrets",
    "No secret in the namespace fits the image; it may be public, or the node may have credentials of its own.",
    "If the image is private, create a pull secret for its registry in the namespace.",
)
KEYRING_BROKEN = Reason(
    "pull_keyring_broken",
    "pull_secrets",
    "A secret attached to the pod is malformed, so the kubelet refuses every pull of the pod, even of public images.",
    "Repair the secret or take it out of imagePullSecrets.",
)
SECRET_MALFORMED = Reason(
    "pull_secret_malformed",
    "pull_secrets",
    "A pull secret is malformed; the operator or the kubelet, or both, cannot use it.",
    "Create the secret anew, for example with kubectl create secret docker-registry.",
)
SECRET_MISSING = Reason(
    "pull_secret_missing",
    "pull_secrets",
    "A pull secret that the manifests or the service account name does not exist in the namespace.",
    "Create the secret, or take its name out.",
)
SECRET_WRONG_TYPE = Reason(
    "pull_secret_wrong_type",
    "pull_secrets",
    "A secret named in imagePullSecrets has a type that the kubelet does not read.",
    "Create it anew as type kubernetes.io/dockerconfigjson.",
)
INDEX_BLOCKED = Reason(
    "pull_index_blocked",
    "pull_secrets",
    "A malformed secret stops this operator release from refreshing its index; it works on with what it had before.",
    "Repair or delete the malformed secret.",
)
IMAGE_INVALID = Reason(
    "pull_image_invalid",
    "pull_secrets",
    "The image's name is not valid, so no node can pull it.",
    "Write the image as registry/repository:tag in lower case.",
)
SECRETS_UNREADABLE = Reason(
    "pull_secrets_unreadable",
    "pull_secrets",
    "The namespace's secrets could not be read, so nothing can be said about credentials.",
    "Grant the missing permission, or hand over the secrets' names and registries.",
)
REASONS: tuple[Reason, ...] = (
    ATTACHED_AND_USED,
    ATTACHED_NOT_USABLE,
    USABLE_NOT_ATTACHED,
    NO_CREDENTIALS,
    KEYRING_BROKEN,
    SECRET_MALFORMED,
    SECRET_MISSING,
    SECRET_WRONG_TYPE,
    INDEX_BLOCKED,
    IMAGE_INVALID,
    SECRETS_UNREADABLE,
)


@dataclass(frozen=True)
class ImageUse:
    """An image in one container of one pod.

    ``used_by`` names the container for a person; ``pod`` ties the containers of one pod together, since a secret that
    is attached for one serves all; ``declared`` are the pod's own ``imagePullSecrets``; ``discovery`` says whether the
    operator looks at this image (it does not for Jobs, nor where the component's annotation switches it off). In a
    ``final`` pod, one that was rendered, ``declared`` already holds what the operator found.
    """

    image: str
    used_by: str = ""
    pod: str = ""
    declared: tuple[str, ...] = ()
    service_account: str = DEFAULT_ACCOUNT
    discovery: bool = True
    final: bool = False


@dataclass(frozen=True)
class MatchRequest:
    """What is to be judged. ``unreadable`` says why the secrets could not be read, or is empty.

    ``secrets`` stand in the order of the API's list. ``service_accounts`` gives each account's ``imagePullSecrets``, or
    is None where they could not be read.
    """

    uses: tuple[ImageUse, ...]
    secrets: tuple[SecretEntry, ...]
    namespace: str
    release: str
    service_accounts: Mapping[str, tuple[str, ...]] | None = None
    unreadable: str = ""


@dataclass(frozen=True)
class ImageMatch:
    """The answer for one image: names in the order in which the operator attaches and the kubelet tries them."""

    image: str
    used_by: tuple[str, ...]
    registry: str
    verdict: Verdict
    why: str
    operator: tuple[str, ...] = ()
    attached: tuple[str, ...] = ()
    kubelet: tuple[Match, ...] = ()
    usable: tuple[str, ...] = ()
    not_usable: tuple[tuple[str, str], ...] = ()

    def to_result(self) -> dict[str, Any]:
        """Return the answer as plain data."""
        return {
            "image": self.image,
            "used_by": list(self.used_by),
            "registry": self.registry,
            "verdict": self.verdict,
            "why": self.why,
            "operator": list(self.operator),
            "attached": list(self.attached),
            "kubelet": [{"secret": match.secret, "registry": match.registry} for match in self.kubelet],
            "usable": list(self.usable),
            "not_usable": [{"secret": name, "why": why} for name, why in self.not_usable],
        }


@dataclass(frozen=True)
class MatchReport:
    """All images' answers and what is to be said about them."""

    images: tuple[ImageMatch, ...]
    findings: tuple[Finding, ...] = field(default=())

    def to_result(self) -> dict[str, Any]:
        """Return the report as plain data for a module's return value."""
        return {
            "images": [match.to_result() for match in self.images],
            "findings": [finding.to_result() for finding in self.findings],
        }


def match_pull_secrets(request: MatchRequest) -> MatchReport:
    """Judge every image of the request; equal uses of one image share an answer."""
    judge = _Judge(request)
    images, findings = [], []
    for uses in _grouped(request.uses):
        match, finding = judge.image(uses)
        images.append(match)
        findings.append(finding)
    return MatchReport(tuple(images), (*findings, *judge.about_secrets()))


def uses_of_pod(pod: PodSpec, *, discovery: bool, final: bool = False, label: str = "") -> tuple[ImageUse, ...]:
    """Return the images of one pod; ``label`` names the pod to a person, by default its object."""
    spec = pod.spec
    who = label or pod.subject
    return tuple(
        ImageUse(
            image=str(container["image"]),
            used_by=f"{who} {container.get('name') or path}",
            pod=f"{pod.subject} {pod.path}",
            declared=names_in(spec.get("imagePullSecrets")),
            service_account=str(spec.get("serviceAccountName") or DEFAULT_ACCOUNT),
            discovery=discovery,
            final=final,
        )
        for path, container in pod.containers()
        if container.get("image")
    )


def _grouped(uses: Iterable[ImageUse]) -> Iterator[tuple[ImageUse, ...]]:
    """Group uses that must get the same answer: the same image in pods that carry the same secrets."""
    uses = tuple(uses)
    pods: dict[str, list[str]] = {}
    for use in uses:
        if use.discovery and use.pod and not use.final:
            pods.setdefault(use.pod, []).append(use.image)
    groups: dict[tuple[object, ...], list[ImageUse]] = {}
    for use in uses:
        siblings = tuple(pods.get(use.pod, ())) if use.pod else ()
        groups.setdefault(
            (use.image, use.declared, use.service_account, use.discovery, use.final, siblings), []
        ).append(use)
    return (tuple(group) for group in groups.values())


@dataclass(frozen=True)
class _Case:
    """One image in equal pods, and how its answer and its finding are worded."""

    use: ImageUse
    used_by: tuple[str, ...]
    operator: tuple[str, ...]

    def answer(self, verdict: Verdict, why: str, registry: str, **facts: Any) -> ImageMatch:
        return ImageMatch(self.use.image, self.used_by, registry, verdict, why, operator=self.operator, **facts)

    def finding(
        self, reason: Reason, outcome: Outcome, message: str, more: Iterable[str] = (), remedy: str | None = None
    ) -> Finding:
        evidence = [f"used by {some(self.used_by)}"] if self.used_by else []
        return reason.finding(outcome, f"Image/{self.use.image}", message, [*evidence, *more], remedy)


class _Judge:
    """Indexes built once for all images of a request."""

    def __init__(self, request: MatchRequest) -> None:
        self.request = request
        self.local = tuple(secret for secret in request.secrets if secret.namespace in (request.namespace, ""))
        self.by_name = {secret.name: secret for secret in self.local}
        self.index: OperatorIndex = operator_index(request.secrets, request.release)
        self.everything = Keyring(self.local)
        self.pod_images: dict[str, list[str]] = {}
        for use in request.uses:
            if use.discovery and use.pod:
                self.pod_images.setdefault(use.pod, []).append(use.image)

    # -- one image --------------------------------------------------------------------------------------------------

    def image(self, uses: tuple[ImageUse, ...]) -> tuple[ImageMatch, Finding]:
        use = uses[0]
        case = _Case(use, tuple(dict.fromkeys(item.used_by for item in uses if item.used_by)), self._operator(use))
        attached, account_note = self._attached(use, case.operator)
        try:
            image = parse_image(use.image)
        except ImageNameError as error:
            why = f"the kubelet refuses the image's name: {error}"
            match = case.answer("attached_not_usable" if attached else "unknown", why, "", attached=attached)
            return match, case.finding(IMAGE_INVALID, "fail", f"{use.image} is not a valid image: {error}.")
        if self.request.unreadable:
            why = f"the secrets could not be read: {self.request.unreadable}"
            message = f"Whether {use.image} can be pulled is not known: {why}."
            return case.answer("unknown", why, image.registry, attached=attached), case.finding(
                SECRETS_UNREADABLE, "unknown", message
            )
        keyring = Keyring(self.by_name[name] for name in attached if name in self.by_name)
        facts: dict[str, Any] = {
            "attached": attached,
            "usable": tuple(dict.fromkeys(match.secret for match in self.everything.lookup(image.name))),
        }
        if keyring.broken:
            why = f"{some(keyring.broken)} is malformed, and that spoils every pull of the pod"
            evidence = [f"Secret {name}: {self.by_name[name].kubelet_problem}" for name in keyring.broken]
            facts["not_usable"] = self._not_usable(attached, image.name)
            return case.answer("attached_not_usable", why, image.registry, **facts), case.finding(
                KEYRING_BROKEN, "fail", f"{use.image} cannot be pulled: {why}.", evidence
            )
        tries = keyring.lookup(image.name)
        facts["not_usable"] = self._not_usable(attached, image.name, {match.secret for match in tries})
        if tries:
            why = f"the kubelet tries {some(tuple(f'{item.secret} (key {item.registry})' for item in tries))}"
            return case.answer("attached_and_used", why, image.registry, kubelet=tries, **facts), case.finding(
                ATTACHED_AND_USED, "pass", f"{use.image}: {why}.", self._condition(case.operator)
            )
        return self._without_credentials(case, image.registry, account_note, facts)

    def _condition(self, operator: tuple[str, ...]) -> tuple[str, ...]:
        """What a pass rests on that one namespace's secrets cannot show."""
        if not operator or not is_strict(self.request.release):
            return ()
        return (
            f"operator {self.request.release} attaches nothing new while a malformed docker secret stands in any "
            f"namespace; only {self.request.namespace} was looked at",
        )

    def _without_credentials(
        self, case: _Case, registry: str, account_note: str, facts: Mapping[str, Any]
    ) -> tuple[ImageMatch, Finding]:
        """The kubelet finds nothing in what is attached: is there something else, or nothing at all?"""
        image, usable = case.use.image, facts["usable"]
        reasons = [f"{name} is attached, but {why}" for name, why in facts["not_usable"]]
        if usable:
            why = f"{some(usable)} would fit, but nothing attaches it{account_note or self._why_unseen(case.use)}"
            return case.answer("usable_not_attached", why, registry, **facts), case.finding(
                USABLE_NOT_ATTACHED, "warn", f"{image}: {why}.", reasons[:SHOWN], _attach_remedy(case.use, usable[0])
            )
        if reasons:
            why = some(tuple(reasons), "; ")
            return case.answer("attached_not_usable", why, registry, **facts), case.finding(
                ATTACHED_NOT_USABLE, "warn", f"{image}: {why}."
            )
        why = f"no secret in namespace {self.request.namespace} fits {registry}; the image may be public"
        return case.answer("unknown", why, registry, **facts), case.finding(
            NO_CREDENTIALS, "unknown", f"{image}: {why}."
        )

    def _operator(self, use: ImageUse) -> tuple[str, ...]:
        """What the operator attaches by itself for this image."""
        if not use.discovery:
            return ()
        found = tuple(dict.fromkeys(self.index.lookup(use.image, self.request.namespace)))
        return tuple(name for name in found if name in use.declared) if use.final else found

    def _attached(self, use: ImageUse, operator: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
        """All secrets of the pod, and a remark where those of the service account go unused.

        Admission copies an account's secrets into a pod only where the pod names none, and the operator's count.
        """
        images = self.pod_images.get(use.pod, []) if use.pod and not use.final else []
        attached = self.index.attach(images, self.request.namespace, use.declared)
        attached = tuple(dict.fromkeys([*attached, *operator]))
        account = (self.request.service_accounts or {}).get(use.service_account, ())
        if not attached:
            return tuple(dict.fromkeys(account)), ""
        if account:
            return attached, (
                f" (service account {use.service_account} names {some(account)}, which counts only for a pod "
                "without pull secrets of its own)"
            )
        return attached, ""

    def _not_usable(
        self, attached: tuple[str, ...], image: str, used: Collection[str] = ()
    ) -> tuple[tuple[str, str], ...]:
        return tuple((name, self._why_not(name, image)) for name in attached if name not in used)

    def _why_not(self, name: str, image: str) -> str:
        secret = self.by_name.get(name)
        if secret is None:
            return "it does not exist"
        if secret.type not in DATA_KEYS:
            return f"it has type {secret.type}, which the kubelet does not read"
        if secret.kubelet_problem:
            return str(secret.kubelet_problem)
        if not secret.registries:
            return str(secret.problems[0]) if secret.problems else "it names no registry"
        return some(tuple(why_not(registry, image) for registry in secret.registries), ", ")

    def _why_unseen(self, use: ImageUse) -> str:
        """Say why the operator did not find what the kubelet could use."""
        if not use.discovery:
            return ": the operator does not look for secrets here"
        if self.index.blocked_by:
            return f": the operator's index is blocked by the malformed {some(self.index.blocked_by)}"
        return (
            ": the operator compares hosts letter by letter, without wildcards, legacy secrets or Docker Hub's aliases"
        )

    # -- secrets ----------------------------------------------------------------------------------------------------

    def about_secrets(self) -> Iterator[Finding]:
        """Yield what is to be said of the secrets themselves."""
        if self.request.unreadable:
            return
        for name, users in self._named().items():
            secret = self.by_name.get(name)
            if secret is None:
                yield SECRET_MISSING.finding(
                    "fail",
                    f"Secret/{name}",
                    f"Pull secret {name} does not exist in namespace {self.request.namespace}.",
                    [f"named by {some(users)}"],
                )
            elif secret.type not in DATA_KEYS:
                yield SECRET_WRONG_TYPE.finding(
                    "warn",
                    f"Secret/{name}",
                    f"Pull secret {name} has type {secret.type}, so neither the operator nor the kubelet reads it.",
                    [f"named by {some(users)}"],
                )
        for secret in self.local:
            harmful = [problem for problem in secret.problems if problem.code != "no_credentials"]
            if harmful:
                yield SECRET_MALFORMED.finding(
                    "warn",
                    f"Secret/{secret.name}",
                    f"Pull secret {secret.name}: {some(tuple(map(str, harmful)), '; ')}.",
                )
        if self.index.blocked_by:
            yield INDEX_BLOCKED.finding(
                "warn",
                "Operator/pull secret index",
                f"Operator release {self.request.release} cannot refresh its index because of "
                f"{some(self.index.blocked_by)}; what it attaches is what it knew before.",
            )

    def _named(self) -> dict[str, tuple[str, ...]]:
        """Secrets named by pods and by the accounts they run under, with who names them."""
        named: dict[str, dict[str, None]] = {}
        for use in self.request.uses:
            for name in use.declared:
                named.setdefault(name, {})[use.used_by or use.image] = None
            for name in (self.request.service_accounts or {}).get(use.service_account, ()):
                named.setdefault(name, {})[f"ServiceAccount/{use.service_account}"] = None
        return {name: tuple(users) for name, users in named.items()}


def _attach_remedy(use: ImageUse, secret: str) -> str:
    where = "extraPodSpec" if use.discovery else "the pod's spec"
    whose = use.used_by or "the component that uses the image"
    return f"Add imagePullSecrets: [{{name: {secret}}}] to {where} of {whose}."
