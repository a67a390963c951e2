# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hand-off: the workload contract, the rules of its hashes, and which manifest is copied under which name.

Reading files and their hashes is ``handoff_files``' work. The contract's form is the recipe workflow's
``user_workload.yaml``: ``kubernetes.{kube_context,namespace,storage_class}``, ``deployment.{dgd_path,dgd_sha256}``,
``resources.{gpu_ceiling,pinned}``, ``preferences.precision``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .demand import K8sObject
from .dgdview import view_dgd
from .errors import InputError, shown
from .findings import Finding, Reason
from .ledger import DEPLOYED, PROVENANCES
from .ledger import FILE_NAME as LEDGER_FILE
from .manifest import Document, choose_dgd, is_label, is_subdomain
from .patches import differ, is_placeholder, subject_of
from .precision import Precision, precision_in, precision_of, precision_words, same_precision

CHECK = "handoff"

HASH_NOT_GIVEN = Reason(
    "handoff_hash_not_given",
    CHECK,
    "The assigned DGD was handed off by play variables without a SHA-256; the file's own is recorded.",
)
VARIANT_DIFFERS = Reason(
    "handoff_variant_differs",
    CHECK,
    "The only manifest of its type is named for another precision than the DGD's.",
    "Hand off the variant for the DGD's precision, unless this one is meant.",
)
DGD_REASSIGNED = Reason(
    "handoff_dgd_reassigned",
    CHECK,
    "This iteration was prepared with another DGD before; that attempt is no longer live.",
    "None if a corrected DGD is meant. Otherwise use the next iteration.",
)
REASONS: tuple[Reason, ...] = (HASH_NOT_GIVEN, VARIANT_DIFFERS, DGD_REASSIGNED)

DEPLOY = DEPLOYED.removesuffix(".yaml")
CACHE = "model-cache"
DOWNLOAD = "model-download"
VALIDATE = "model-validate"
#: The order in which manifests are applied: what others need comes first, the DGD last.
ORDER = (CACHE, DOWNLOAD, VALIDATE)
#: Kinds that others refer to and that therefore come before the Jobs.
_BEFORE_JOBS = ("ConfigMap", "ServiceAccount", "Role", "RoleBinding", "PersistentVolume", "PersistentVolumeClaim")
ITERATION_FOLDER = "deploy-iter-{:03d}"
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_LIVE = ("applying", "waiting", "ready", "succeeded")


@dataclass(frozen=True)
class Contract:
    """What the workload contract says about the deployment; what it does not say is empty or ``None``."""

    context: str = ""
    namespace: str = ""
    storage_class: str = ""
    dgd_path: str = ""
    dgd_sha256: str = ""
    gpu_ceiling: int | None = None
    pinned: tuple[str, ...] = ()
    precision: str = ""


@dataclass(frozen=True)
class Terms:
    """What counts in the end, from the contract and the play variables together."""

    context: str
    namespace: str
    storage_class: str
    gpu_ceiling: int | None
    pinned: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """A handed-off manifest: its path, hash and documents; ``name`` where the hand-off names its type itself."""

    path: str
    sha256: str
    documents: tuple[Document, ...]
    name: str = ""

    @property
    def base(self) -> str:
        """The file's name without folder and ending."""
        return self.path.replace("\\", "/").rpartition("/")[2].rpartition(".")[0] or self.path


@dataclass(frozen=True)
class Chosen:
    """A manifest to copy: its stable name without ending, where it comes from, and why it was chosen."""

    name: str
    source: Source
    reason: str
    findings: tuple[Finding, ...] = field(default=())


def parse_contract(data: object, where: str) -> Contract:
    """Read the contract; raise :class:`InputError` naming the field that is missing or wrong."""
    if not isinstance(data, Mapping):
        raise InputError("a workload contract must be a mapping", where=where, found=shown(data))
    reader = _Fields(data, where)
    ceiling = reader.get("resources.gpu_ceiling")
    if ceiling is not None and (isinstance(ceiling, bool) or not isinstance(ceiling, int) or ceiling < 0):
        raise InputError(
            "must be a whole number from 0", where=where, field="resources.gpu_ceiling", found=shown(ceiling)
        )
    pinned = reader.get("resources.pinned")
    if pinned is None:
        pinned = []
    if not isinstance(pinned, list) or not all(isinstance(item, str) and item for item in pinned):
        raise InputError("must be a list of texts", where=where, field="resources.pinned", found=shown(pinned))
    contract = Contract(
        context=reader.text("kubernetes.kube_context", "kubernetes.context", "kube_context", "context"),
        namespace=reader.text("kubernetes.namespace", "namespace"),
        storage_class=reader.text("kubernetes.storage_class", "storage_class"),
        dgd_path=reader.text("deployment.dgd_path"),
        dgd_sha256=reader.text("deployment.dgd_sha256").lower(),
        gpu_ceiling=ceiling,
        pinned=tuple(pinned),
        precision=reader.text("preferences.precision"),
    )
    for name, value in (
        ("kubernetes.kube_context", contract.context),
        ("kubernetes.namespace", contract.namespace),
        ("deployment.dgd_path", contract.dgd_path),
        ("deployment.dgd_sha256", contract.dgd_sha256),
    ):
        if not value:
            raise InputError("is missing", where=where, field=name)
    check_sha256(contract.dgd_sha256, where, "deployment.dgd_sha256")
    return contract


class _Fields:
    """Fields of nested mappings by dotted names."""

    def __init__(self, data: Mapping[str, Any], where: str) -> None:
        self.data = data
        self.where = where

    def get(self, name: str) -> Any:
        here: Any = self.data
        parts = name.split(".")
        for number, part in enumerate(parts):
            if here is None:
                return None
            if not isinstance(here, Mapping):
                field_name = ".".join(parts[:number])
                raise InputError("must be a mapping", where=self.where, field=field_name, found=shown(here))
            here = here.get(part)
        return here

    def text(self, *names: str) -> str:
        for name in names:
            value = self.get(name)
            if value is not None:
                if not isinstance(value, str):
                    raise InputError("must be text", where=self.where, field=name, found=shown(value))
                return value.strip()
        return ""


def check_sha256(text: str, where: str, name: str) -> None:
    """Raise :class:`InputError` unless ``text`` is a SHA-256 in hexadecimal."""
    if not _SHA256.fullmatch(text):
        raise InputError("must be a SHA-256 (64 hexadecimal digits)", where=where, field=name, found=shown(text))


def check_hash(found: str, wanted: str, where: str, what: str) -> None:
    """Raise :class:`InputError` unless a file's hash is the one that was handed off."""
    check_sha256(wanted, where, what)
    if found != wanted.lower():
        raise InputError(
            f"the file's SHA-256 is not the one handed off as {what} ({wanted.lower()})",
            where=where,
            found=found,
            remedy="The file was changed after the hand-off, or another one is meant: hand it off anew",
        )


def check_provenance(given: str, iteration: int) -> str:
    """Return who handed the DGD off; raise :class:`InputError` where that does not fit the iteration."""
    if iteration < 0:
        raise InputError("must be a whole number from 0", field="iteration", found=str(iteration))
    right = PROVENANCES[0 if iteration == 0 else 1]
    if given and given != right:
        raise InputError(
            f"iteration {iteration} is handed off by {right}",
            field="provenance",
            found=given,
            remedy="Check the iteration",
        )
    return right


def check_baseline(path: str, sha256: str, contract: Contract, contract_dgd: str, where: str) -> None:
    """At iteration 0 the assigned DGD is the contract's: the same file and the same content.

    ``path`` and ``contract_dgd`` are real paths, links resolved.
    """
    if path != contract_dgd:
        raise InputError(
            "at iteration 0 the assigned DGD is the contract's deployment.dgd_path",
            where=where,
            field="deployment.dgd_path",
            found=contract.dgd_path,
            remedy=f"Assign that file; {path} was assigned",
        )
    check_hash(sha256, contract.dgd_sha256, path, "deployment.dgd_sha256")


def agree(
    contract: Contract | None,
    *,
    context: str = "",
    namespace: str = "",
    storage_class: str = "",
    gpu_ceiling: int | None = None,
    pinned: Iterable[str] = (),
) -> Terms:
    """Put contract and play variables together; raise :class:`InputError` where they contradict each other."""
    base = contract or Contract()
    both = {
        "context": (base.context, context),
        "namespace": (base.namespace, namespace),
        "storage_class": (base.storage_class, storage_class),
    }
    for name, (one, other) in both.items():
        if one and other and one != other:
            raise InputError(
                "the play variable is not the contract's", field=name, found=f"{other}; the contract says {one}"
            )
    ceilings = [value for value in (base.gpu_ceiling, gpu_ceiling) if value is not None]
    if any(value < 0 for value in ceilings):
        raise InputError("must be a whole number from 0", field="gpu_ceiling", found=str(min(ceilings)))
    agreed = {name: one or other for name, (one, other) in both.items()}
    if agreed["namespace"] and not is_label(agreed["namespace"]):
        raise InputError("not the name of a namespace", field="namespace", found=shown(agreed["namespace"]))
    if is_placeholder(agreed["storage_class"]):
        raise InputError(
            "not the name of a storage class",
            field="storage_class",
            found=shown(agreed["storage_class"]),
            remedy="Name one of the target cluster, or leave it out where no claim needs one",
        )
    return Terms(
        agreed["context"],
        agreed["namespace"],
        agreed["storage_class"],
        min(ceilings, default=None),
        tuple(dict.fromkeys((*base.pinned, *pinned))),
    )


# -- which manifest is which -------------------------------------------------------------------------------------------


def stable_name(source: Source) -> str:
    """Return a support manifest's stable name without ending: by the hand-off's word, its name, or its content."""
    if source.name:
        name = source.name.removesuffix(".yaml").removesuffix(".yml")
        if not re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", name) or name == DEPLOY:
            raise InputError("not a stable name", where=source.path, field="name", found=shown(source.name))
        return name
    base = source.base.lower().replace("_", "-")
    for name in ORDER:
        if re.search(rf"(^|[-.]){name}([-.]|$)", base):
            return name
    kinds = {document.kind for document in source.documents}
    if kinds == {"PersistentVolumeClaim"} or kinds == {"PersistentVolumeClaim", "PersistentVolume"}:
        return CACHE
    if "Job" in kinds:
        told = " ".join([base, *(document.name for document in source.documents if document.kind == "Job")])
        for word, name in (("valid", VALIDATE), ("verif", VALIDATE), ("download", DOWNLOAD), ("fetch", DOWNLOAD)):
            if word in told:
                return name
    cleaned = re.sub(r"[^a-z0-9.-]+", "-", base).strip("-.")
    return f"{cleaned}-support" if cleaned in ("", DEPLOY) else cleaned


def variant_of(source: Source, name: str) -> str:
    """Return the precision that a variant is for (``model-download-nvfp4.yaml`` → ``nvfp4``), or empty."""
    return precision_in(_variant_text(source, name))


def _variant_text(source: Source, name: str) -> str:
    return source.base.lower().replace("_", "-").replace(name, "", 1)


def choose(sources: Sequence[Source], precision: Precision, model: str = "") -> tuple[Chosen, ...]:
    """Choose one manifest of each type, and say why; raise :class:`InputError` with the candidates where that fails."""
    groups: dict[str, list[Source]] = {}
    for source in sources:
        groups.setdefault(stable_name(source), []).append(source)
    chosen = [_choose_one(name, group, precision, model) for name, group in groups.items()]
    return tuple(sorted(chosen, key=_rank))


def _choose_one(name: str, group: list[Source], precision: Precision, model: str) -> Chosen:
    if len(group) == 1:
        return Chosen(name, group[0], "it is the only one handed off", _differing(group[0], name, precision))
    told = f"the DGD's precision is {precision.name} ({precision.why})"
    if precision.name:
        exact = [source for source in group if variant_of(source, name) == precision.name]
        alike = [
            source
            for source in group
            if variant_of(source, name) and same_precision(variant_of(source, name), precision.name)
        ]
        for found in (exact, alike):
            if len(found) == 1:
                return Chosen(name, found[0], told)
            if found and (by_model := _naming(found, model)):
                return Chosen(name, by_model, f"{told}, and it names the model {model}")
            if found and (by_word := _in_its_words(found, name, precision)):
                return Chosen(name, by_word, f"{told}, and it alone has the same word for it")
    by_model = _naming(group, model)
    if by_model is not None and not variant_of(by_model, name):
        return Chosen(name, by_model, f"it alone names the model {model}")
    candidates = ", ".join(f"{source.path} ({variant_of(source, name) or 'no precision'})" for source in group)
    raise InputError(
        f"none of {len(group)} variants of {name}.yaml is clearly for the DGD",
        where=group[0].path,
        field="support_manifests",
        found=candidates,
        remedy=f"Hand off one of them alone, or give the precision ({precision.why or told})",
    )


def _in_its_words(group: list[Source], name: str, precision: Precision) -> Source | None:
    """Return the one variant that calls the precision as the DGD does: ``awq`` and ``gptq`` are both ``int4``."""
    words = precision_words(precision.why)
    found = [source for source in group if words & precision_words(_variant_text(source, name))]
    return found[0] if len(found) == 1 else None


def _naming(group: list[Source], model: str) -> Source | None:
    """Return the one manifest that holds the model's name as a word, if just one does."""
    if not model:
        return None
    pattern = re.compile(rf"(?<![\w./-]){re.escape(model)}(?![\w./-])")
    found = [source for source in group if any(_holds(document.data, pattern) for document in source.documents)]
    return found[0] if len(found) == 1 else None


def _holds(value: object, pattern: re.Pattern[str]) -> bool:
    if isinstance(value, Mapping):
        return any(_holds(item, pattern) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(_holds(item, pattern) for item in value)
    return isinstance(value, str) and pattern.search(value) is not None


def _differing(source: Source, name: str, precision: Precision) -> tuple[Finding, ...]:
    variant = variant_of(source, name)
    if not variant or not precision.name or same_precision(variant, precision.name):
        return ()
    text = f"{source.base} is for {variant}; the DGD's precision is {precision.name} ({precision.why})."
    return (VARIANT_DIFFERS.finding("warn", f"Manifest/{name}.yaml", text),)


def _rank(chosen: Chosen) -> tuple[int, str]:
    if chosen.name in ORDER:
        return ORDER.index(chosen.name) * 2, chosen.name
    kinds = {document.kind for document in chosen.source.documents}
    return (-1 if kinds <= set(_BEFORE_JOBS) else 2 * len(ORDER)), chosen.name


def find_precision(dgd: Document, contract: Contract | None, given: str) -> Precision:
    """Return the DGD's precision, by what it says itself, then by the option, then by the contract's preference."""
    told = precision_of(view_dgd(dgd.data, dgd.place))
    if told.name:
        return told
    preferred = contract.precision if contract else ""
    for text, why in ((given, "the option precision"), (preferred, "the contract's preferences.precision")):
        if text:
            return Precision(precision_in(text) or text.lower(), f"{why}; in the DGD {told.why}")
    return told


def assigned_dgd(documents: Sequence[Document], where: str) -> Document:
    """Return the assigned file's DGD; raise :class:`InputError` where there is none or several."""
    if not documents:
        raise InputError("the file holds no object", where=where)
    dgd = choose_dgd(documents)
    if not is_subdomain(dgd.name):
        raise InputError("not a name that Kubernetes takes", where=where, field="metadata.name", found=shown(dgd.name))
    return dgd


def check_objects(manifests: Mapping[str, Sequence[K8sObject]]) -> None:
    """No object is applied twice with different content; raise :class:`InputError` naming both manifests."""
    seen: dict[tuple[str, str, str], tuple[str, K8sObject]] = {}
    for manifest, objects in manifests.items():
        for item in objects:
            group = str(item.get("apiVersion", "")).rpartition("/")[0]
            key = (group, subject_of(item), str(item["metadata"].get("namespace") or ""))
            before, there = seen.setdefault(key, (manifest, item))
            if there is not item and differ(there, item):
                raise InputError(
                    "the object is handed off twice with different content",
                    where=manifest,
                    field=subject_of(item),
                    found=f"also in {before}",
                    remedy="Keep one of them",
                )


def check_iteration(ledger: Mapping[str, Any] | None, sha256: str, where: str) -> tuple[Finding, ...]:
    """One iteration is one assigned DGD; raise :class:`InputError` where another one is live under it."""
    before = ledger.get("source_dgd_sha256") if ledger else None
    if not ledger or before == sha256:
        return ()
    if ledger.get("status") in _LIVE and not ledger.get("torn_down_at"):
        raise InputError(
            f"this iteration is {ledger['status']} with another DGD (SHA-256 {before})",
            where=where,
            field="iteration",
            remedy="Use the next iteration for another candidate, or tear this one down first",
        )
    text = f"The earlier attempt ({ledger.get('status')}) was made with a DGD of SHA-256 {before}."
    return (DGD_REASSIGNED.finding("warn", f"DynamoGraphDeployment/{ledger.get('dgd_name', '')}", text),)


def cleanup_commands(dgd: str, context: str, namespace: str, exp_root: str, iteration: int) -> list[str]:
    """Return the commands that take the deployment down, as a person would type them."""
    where = f"{' --context ' + _quoted(context) if context else ''}{' -n ' + _quoted(namespace) if namespace else ''}"
    return [
        f"ansible-playbook inference_ops.dynamo.teardown -e dynamo_experiment_root={_quoted(exp_root)}"
        f" -e dynamo_iteration={iteration}",
        f"kubectl{where} delete dynamographdeployment {_quoted(dgd)} --wait=true --timeout=10m",
    ]


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w@%+=:,./-]+", text) else "'" + text.replace("'", "'\"'\"'") + "'"


def still_held(
    ledgers: Mapping[str, Mapping[str, Any]], context: str, namespace: str, without: Iterable[str]
) -> list[str]:
    """Return the DGDs that other iterations of this root still hold on the same cluster and namespace."""
    left_out = set(without)
    return sorted(
        {
            str(ledger.get("dgd_name"))
            for path, ledger in ledgers.items()
            if path not in left_out
            and not ledger.get("torn_down_at")
            and ledger.get("status") not in ("prepared", None)
            and ledger.get("kube_context", "") == context
            and ledger.get("namespace", "") == namespace
        }
    )


def ledger_path(deploy_root: str) -> str:
    """Return the ledger's path in a run's folder."""
    return f"{deploy_root}/{LEDGER_FILE}"
