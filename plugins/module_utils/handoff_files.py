# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Carries a hand-off out: reads and hashes files, writes the run's own copies. The rules are ``core.handoff``'s."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import manifests, run_lock, store
from .core import handoff
from .core.dgdview import DgdView, view_dgd
from .core.errors import InputError, shown
from .core.findings import Finding, by_severity, worst
from .core.handoff import Contract, Source, Terms
from .core.kinds import KINDS
from .core.ledger import FILE_NAME, LedgerChange
from .core.manifest import DGD_KIND, Document, dgd_documents
from .core.patches import Patch, parse_tolerations, patch_manifest, subject_of, unused
from .core.pinned import judge_pinned
from .core.precision import Precision
from .core.smoke import served_model
from .ledger_file import read_ledger, record
from .moments import moment

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # manifests says that it is missing

APPLIED = "applied_manifests"
#: Seconds for which a run that is just ending is waited for.
_LOCK_TIMEOUT = 5


@dataclass(frozen=True)
class Copy:
    """One of the run's own copies, before it is written; ``objects`` are as they will be applied."""

    name: str
    path: str
    data: bytes
    source: Source
    reason: str
    objects: tuple[Mapping[str, Any], ...]
    patches: tuple[Patch, ...]

    @property
    def sha256(self) -> str:
        """The SHA-256 of the copy."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True)
class Handoff:
    """A hand-off that has been checked."""

    root: str
    deploy_root: str
    iteration: int
    provenance: str
    terms: Terms
    contract: Source | None
    dgd: Document
    view: DgdView
    source: Source
    precision: Precision
    copies: tuple[Copy, ...]
    previous: Mapping[str, Any]
    run_dgds: tuple[str, ...]
    findings: tuple[Finding, ...] = field(default=())


def check_handoff(params: Mapping[str, Any]) -> Handoff:
    """Check a hand-off and prepare its copies in memory; nothing is written. Raises :class:`InputError`."""
    root = os.path.abspath(params["exp_root"])
    iteration = params["iteration"]
    if not os.path.isdir(root):
        raise InputError(
            "the experiment root does not exist; create it first", where=params["exp_root"], field="exp_root"
        )
    provenance = handoff.check_provenance(params["provenance"] or "", iteration)
    contract_source, contract = _read_contract(params, root)
    names = ("context", "namespace", "storage_class")
    given = {name: params[name] or "" for name in names}
    terms = handoff.agree(contract, **given, gpu_ceiling=params["gpu_ceiling"], pinned=params["pinned"])
    source, findings = _assigned(params, contract, root, iteration)
    dgd = handoff.assigned_dgd(source.documents, source.path)
    view = view_dgd(dgd.data, dgd.place, manifests.config_maps(source.documents))
    precision = handoff.find_precision(dgd, contract, params["precision"] or "")
    deploy_root = os.path.join(root, "artifacts", handoff.ITERATION_FOLDER.format(iteration))
    findings += handoff.check_iteration(_ledger(deploy_root), source.sha256, deploy_root)
    copies, more = _copies(params, terms, source, view, precision, deploy_root)
    _check_place(deploy_root, copies)
    previous = _previous(root, iteration)
    held = _held(root, terms, deploy_root, str(previous.get("deploy_root", "")))
    findings += more + _pinned(params, contract, terms, root, view)
    return Handoff(
        root,
        deploy_root,
        iteration,
        provenance,
        terms,
        contract_source,
        dgd,
        view,
        source,
        precision,
        copies,
        previous,
        held,
        by_severity(findings),
    )


def write_copies(made: Handoff, check_mode: bool) -> list[dict[str, str]]:
    """Write the copies, remove what an earlier attempt left beside them, and return the differences."""
    folder = os.path.join(made.deploy_root, APPLIED)
    if not check_mode:
        store.make_folder(folder)
    differences = []
    for copy in made.copies:
        before = store.read_if_there(copy.path)
        if before != copy.data:
            differences.append(_difference(copy.path, before or b"", copy.data))
            if not check_mode:
                store.write_atomically(copy.path, copy.data)
    kept = {copy.path for copy in made.copies}
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.y*ml"))):
        if path not in kept:
            differences.append(_difference(path, store.read_if_there(path) or b"", b""))
            if not check_mode:
                store.remove_file(path)
    return differences


def lock_root(made: Handoff, check_mode: bool) -> None:
    """Take the experiment root for the whole run; raise :class:`InputError` where another run has it."""
    run_lock.hold(os.path.realpath(made.root), run_lock.run_owner(), timeout=_LOCK_TIMEOUT, check_mode=check_mode)


def start_ledger(made: Handoff, check_mode: bool) -> dict[str, Any]:
    """Enter in the run's ledger what the hand-off decides; return what :func:`ledger_file.record` returns."""
    change = LedgerChange(set=_ledger_fields(made), set_once={"status": "prepared", "created_at": moment()})
    return record(os.path.join(made.deploy_root, FILE_NAME), change, check_mode=check_mode)


def to_result(made: Handoff) -> dict[str, Any]:
    """Return what the module returns."""
    deploy = made.copies[-1]
    terms = made.terms
    return {
        "deploy_root": made.deploy_root,
        "applied_root": os.path.join(made.deploy_root, APPLIED),
        "context": terms.context,
        "namespace": terms.namespace,
        "storage_class": terms.storage_class,
        "gpu_ceiling": terms.gpu_ceiling,
        "pinned": list(terms.pinned),
        "provenance": made.provenance,
        "user_workload": _contract_result(made),
        "dgd": {
            "name": made.dgd.name,
            "api_version": made.dgd.api_version,
            "source": made.source.path,
            "sha256": made.source.sha256,
            "path": deploy.path,
            "applied_sha256": deploy.sha256,
            "served_model": served_model(made.view),
            "precision": made.precision.name,
            "precision_why": made.precision.why,
        },
        "manifests": [
            {**_copy_result(copy), "definitions": [dict(item) for item in copy.objects]} for copy in made.copies
        ],
        "jobs": {name: _names(made, name, "Job") for name in (handoff.DOWNLOAD, handoff.VALIDATE)},
        "claims": [
            str(item["metadata"]["name"])
            for copy in made.copies
            for item in copy.objects
            if item.get("kind") == "PersistentVolumeClaim"
        ],
        "patches": [patch.to_result() for copy in made.copies for patch in copy.patches],
        "previous": dict(made.previous),
        "run_dgds": list(made.run_dgds),
        "ledger_fields": _ledger_fields(made),
        "verdict": worst(made.findings),
        "findings": [finding.to_result() for finding in made.findings],
    }


# -- reading -----------------------------------------------------------------------------------------------------------


def read_source(path: str, name: str = "") -> Source:
    """Return a manifest with its hash and documents, both of the same bytes."""
    data = manifests.read_bytes(path)
    documents = manifests.load_text(_decoded(data, path), path)
    for document in documents:
        if document.kind == "Secret":
            raise InputError(
                "a manifest must not hold a Secret",
                where=document.place,
                field="kind",
                remedy="Secrets are prerequisites of the cluster; they are checked by name only",
            )
        if not document.kind or not document.name:
            raise InputError("kind and metadata.name are needed", where=document.place)
    return Source(path, hashlib.sha256(data).hexdigest(), documents, name)


def _decoded(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text at byte {error.start}", where=path) from error


def _read_contract(params: Mapping[str, Any], root: str) -> tuple[Source | None, Contract | None]:
    path = params["user_workload"]
    if not path:
        return None, None
    if not params["user_workload_sha256"]:
        raise InputError("is needed with user_workload", field="user_workload_sha256")
    data = manifests.read_bytes(path)
    sha256 = hashlib.sha256(data).hexdigest()
    handoff.check_hash(sha256, params["user_workload_sha256"], path, "user_workload_sha256")
    values = manifests.load_yaml(_decoded(data, path), path)
    if len(values) != 1:
        raise InputError("a workload contract is one document", where=path, found=f"{len(values)} documents")
    return Source(path, sha256, ()), handoff.parse_contract(values[0], path)


def _assigned(
    params: Mapping[str, Any], contract: Contract | None, root: str, iteration: int
) -> tuple[Source, tuple[Finding, ...]]:
    """Return the assigned DGD's file, its hash held against the hand-off's."""
    path, wanted = params["dgd_path"] or "", params["dgd_sha256"] or ""
    contract_path = _look_up(contract.dgd_path, root, params["user_workload"]) if contract else ""
    if contract and iteration == 0:
        path, wanted = path or contract_path, wanted or contract.dgd_sha256
    if not path:
        raise InputError("the assigned DGD's path is needed", field="dgd_path")
    if contract and not wanted:
        raise InputError("the assigned DGD's SHA-256 is needed with a contract", field="dgd_sha256")
    source = read_source(path)
    if wanted:
        handoff.check_hash(source.sha256, wanted, path, "dgd_sha256")
    if contract and iteration == 0:
        handoff.check_baseline(
            os.path.realpath(path), source.sha256, contract, os.path.realpath(contract_path), params["user_workload"]
        )
    if wanted:
        return source, ()
    text = f"No SHA-256 was handed off for {path}; its own is recorded ({source.sha256})."
    return source, (handoff.HASH_NOT_GIVEN.finding("pass", f"Manifest/{os.path.basename(path)}", text, remedy=""),)


def _look_up(path: str, root: str, contract: str) -> str:
    """Return where a contract's relative path leads: from the experiment root, the contract, or a folder above."""
    if os.path.isabs(path):
        return path
    tried = []
    for start in (root, os.path.dirname(os.path.abspath(contract))):
        folder = start
        while True:
            found = os.path.normpath(os.path.join(folder, path))
            tried.append(found)
            if os.path.exists(found):
                return found
            if os.path.dirname(folder) == folder:
                break
            folder = os.path.dirname(folder)
    raise InputError("the contract's DGD is not there", where=contract, field="deployment.dgd_path", found=shown(path))


def _supports(given: Sequence[object]) -> list[Source]:
    sources = []
    for number, item in enumerate(given):
        where = f"support_manifests[{number}]"
        path: object = item
        name: object = ""
        if isinstance(item, Mapping):
            path, name = item.get("src"), item.get("name", "")
        if not isinstance(path, str) or not path or not isinstance(name, str):
            raise InputError("must be a path, or a mapping with src and name", where=where, found=shown(item))
        source = read_source(os.path.expanduser(path), name)
        if dgd_documents(source.documents):
            raise InputError(
                "a support manifest must not hold a DGD",
                where=path,
                remedy="Exactly one DGD is assigned; no sibling is applied",
            )
        if not source.documents:
            raise InputError("the file holds no object", where=path)
        sources.append(source)
    return sources


def _ledger(deploy_root: str) -> dict[str, Any] | None:
    return read_ledger(os.path.join(deploy_root, FILE_NAME))


def _previous(root: str, iteration: int) -> dict[str, Any]:
    if iteration == 0:
        return {}
    deploy_root = os.path.join(root, "artifacts", handoff.ITERATION_FOLDER.format(iteration - 1))
    ledger = _ledger(deploy_root)
    path = os.path.join(deploy_root, FILE_NAME)
    if ledger is None:
        raise InputError(f"iteration {iteration} needs the ledger of the previous one", where=path)
    names = ("dgd_name", "kube_context", "namespace", "status", "torn_down_at")
    applied = os.path.join(deploy_root, APPLIED, "deploy.yaml")
    more = {"deploy_root": deploy_root, "ledger": path, "dgd_path": applied if os.path.exists(applied) else ""}
    return {**more, **{name: ledger.get(name) for name in names}}


def _held(root: str, terms: Terms, *without: str) -> tuple[str, ...]:
    pattern = os.path.join(glob.escape(root), "artifacts", "deploy-iter-*", FILE_NAME)
    ledgers = {os.path.dirname(path): _ledger(os.path.dirname(path)) or {} for path in sorted(glob.glob(pattern))}
    return tuple(handoff.still_held(ledgers, terms.context, terms.namespace, without))


def _pinned(
    params: Mapping[str, Any], contract: Contract | None, terms: Terms, root: str, view: DgdView
) -> tuple[Finding, ...]:
    """Compare the assigned DGD with the baseline; the contract's baseline must be the very file that it names."""
    path = params["baseline"] or ""
    if contract and not path:
        path = _look_up(contract.dgd_path, root, params["user_workload"])
        handoff.check_hash(manifests.sha256_of_file(path), contract.dgd_sha256, path, "deployment.dgd_sha256")
    if not terms.pinned:
        return ()
    if not path:
        raise InputError("pinned knobs need a baseline to compare with", field="baseline")
    source = read_source(path)
    baseline = handoff.assigned_dgd(source.documents, path)
    before = view_dgd(baseline.data, path, manifests.config_maps(source.documents))
    return judge_pinned(before, view, terms.pinned)


# -- copies ------------------------------------------------------------------------------------------------------------


def _copies(
    params: Mapping[str, Any], terms: Terms, source: Source, view: DgdView, precision: Precision, deploy_root: str
) -> tuple[tuple[Copy, ...], tuple[Finding, ...]]:
    chosen = handoff.choose(_supports(params["support_manifests"]), precision, served_model(view))
    assigned = handoff.Chosen(handoff.DEPLOY, source, "it is the assigned DGD")
    tolerations = parse_tolerations(params["tolerations"])
    given = params["patches"]
    every = [*chosen, assigned]
    unused(given, {f"{item.name}.yaml": [document.data for document in item.source.documents] for item in every})
    copies, findings = [], [finding for item in every for finding in item.findings]
    for item in every:
        name = f"{item.name}.yaml"
        objects = [document.data for document in item.source.documents]
        patched = patch_manifest(name, objects, storage_class=terms.storage_class, tolerations=tolerations, given=given)
        findings.extend(patched.findings)
        data = dump(patched.objects, name) if patched.patches else manifests.read_bytes(item.source.path)
        if not patched.patches and hashlib.sha256(data).hexdigest() != item.source.sha256:
            raise InputError("the file changes while it is read", where=item.source.path)
        placed = tuple(_placed(found, terms.namespace, item.source.path) for found in patched.objects)
        placed = tuple(sorted(placed, key=lambda found: found.get("kind") != DGD_KIND))
        path = os.path.join(deploy_root, APPLIED, name)
        copies.append(Copy(name, path, data, item.source, item.reason, placed, patched.patches))
    handoff.check_objects({copy.source.path: copy.objects for copy in copies})
    return tuple(copies), tuple(findings)


def _check_place(deploy_root: str, copies: Sequence[Copy]) -> None:
    """The run writes in its own folder alone: nothing there may lead to a source or to another iteration."""
    folder = os.path.join(deploy_root, APPLIED)
    root = os.path.dirname(os.path.dirname(deploy_root))
    own = os.path.join(os.path.realpath(root), os.path.relpath(folder, root))
    for path in (folder, *(copy.path for copy in copies)):
        if os.path.realpath(path) != os.path.join(own, os.path.relpath(path, folder)).removesuffix("/."):
            raise InputError(
                "a link leads out of the run's own folder",
                where=path,
                found=os.path.realpath(path),
                remedy="Remove the link; the run's copies are files of its own",
            )
    for copy in copies:
        source = os.path.realpath(copy.source.path)
        if os.path.dirname(source) == own:
            raise InputError(
                "a source lies among the run's own copies, which are rewritten",
                where=copy.source.path,
                remedy="Hand off the original file",
            )


def _placed(item: Mapping[str, Any], namespace: str, where: str) -> dict[str, Any]:
    """Return the object in the run's namespace; one that names another namespace is refused."""
    kind = KINDS.get(str(item.get("kind")))
    metadata = dict(item["metadata"])
    if (kind is not None and not kind.namespaced) or not namespace:
        return dict(item)
    own = metadata.get("namespace")
    if own and own != namespace:
        raise InputError(
            f"the manifest's namespace is not {namespace}, the run's",
            where=where,
            field=f"{subject_of(item)}: metadata.namespace",
            found=shown(own),
        )
    return {**item, "metadata": {**metadata, "namespace": namespace}}


def dump(objects: Sequence[Mapping[str, Any]], where: str) -> bytes:
    """Return the objects as YAML that every reader takes for the same; what reads back otherwise is refused."""

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        # Quoted where kubectl would take the plain word for something else than a text.
        style = "|" if "\n" in value else None if manifests.is_plain_text(value) else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    plain = [_plain(item) for item in objects]
    made = str(
        yaml.dump_all(
            plain, Dumper=Dumper, sort_keys=False, width=120, allow_unicode=True, explicit_start=len(plain) > 1
        )
    )
    if [document.data for document in manifests.load_text(made, where)] != plain:
        raise InputError("the patched manifest cannot be written without a change of meaning", where=where)
    return made.encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


# -- results -----------------------------------------------------------------------------------------------------------


def _difference(path: str, before: bytes, after: bytes) -> dict[str, str]:
    return {
        "before_header": path,
        "after_header": path,
        "before": before.decode("utf-8", "replace"),
        "after": after.decode("utf-8", "replace"),
    }


def _copy_result(copy: Copy) -> dict[str, Any]:
    return {
        "name": copy.name,
        "path": copy.path,
        "sha256": copy.sha256,
        "source": copy.source.path,
        "source_sha256": copy.source.sha256,
        "reason": copy.reason,
        "patched": bool(copy.patches),
        "objects": [
            {
                "api_version": str(item.get("apiVersion", "")),
                "kind": str(item["kind"]),
                "name": str(item["metadata"]["name"]),
                "namespace": str(item["metadata"].get("namespace") or ""),
            }
            for item in copy.objects
        ],
    }


def _contract_result(made: Handoff) -> dict[str, str]:
    return {"path": made.contract.path, "sha256": made.contract.sha256} if made.contract else {}


def _names(made: Handoff, name: str, kind: str) -> list[str]:
    return [
        str(item["metadata"]["name"])
        for copy in made.copies
        if copy.name == f"{name}.yaml"
        for item in copy.objects
        if item.get("kind") == kind
    ]


def _ledger_fields(made: Handoff) -> dict[str, Any]:
    """Return what the hand-off knows of the ledger; paths below the experiment root are told from there."""

    def told(path: str) -> str:
        full = os.path.abspath(path)
        return os.path.relpath(full, made.root) if full.startswith(made.root + os.sep) else full

    entries = []
    for copy in made.copies:
        result = _copy_result(copy)
        entries.append({**result, "path": told(copy.path), "source": told(copy.source.path)})
    terms = made.terms
    fields: dict[str, Any] = {
        "iteration": made.iteration,
        "provenance": made.provenance,
        "dgd_name": made.dgd.name,
        "dgd_api_version": made.dgd.api_version,
        "kube_context": terms.context,
        "namespace": terms.namespace or made.dgd.namespace or "default",
        "source_dgd_path": told(made.source.path),
        "source_dgd_sha256": made.source.sha256,
        "applied_manifests": entries,
        "patches": [patch.to_result() for copy in made.copies for patch in copy.patches],
        "cleanup_commands": handoff.cleanup_commands(
            made.dgd.name, terms.context, terms.namespace, made.root, made.iteration
        ),
    }
    if made.contract:
        fields["user_workload_path"] = told(made.contract.path)
        fields["user_workload_sha256"] = made.contract.sha256
    return fields
