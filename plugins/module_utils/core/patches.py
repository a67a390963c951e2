# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compatibility patches: what a run may change in its own copies of manifests, and nothing more.

Allowed are Kubernetes fields that decide where and whether a pod may run: storage classes, tolerations the user names,
node selectors, pull secrets, service accounts, priority classes. A patch is judged by what it changes, not by how it is
written; one that changes anything else, such as a performance knob, is refused.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import keys
from .demand import K8sObject
from .dgdview import view_dgd
from .errors import InputError, shown
from .findings import Finding, Reason

CHECK = "compatibility_patch"

STORAGE_CLASS_SET = Reason(
    "patch_storage_class_set", CHECK, "A claim's placeholder or missing storage class was set in the run's copy."
)
STORAGE_CLASS_MISSING = Reason(
    "patch_storage_class_missing",
    CHECK,
    "A claim holds a placeholder instead of a storage class.",
    "Give the storage class of the target cluster.",
)
STORAGE_CLASS_OTHER = Reason(
    "patch_storage_class_other",
    CHECK,
    "A claim names another storage class than the hand-off.",
    "None if that is meant: what the manifest names is kept. Otherwise correct one of the two.",
)
TOLERATION_ADDED = Reason(
    "patch_toleration_added", CHECK, "A toleration that the user named was added to the run's copy."
)
REASONS: tuple[Reason, ...] = (STORAGE_CLASS_SET, STORAGE_CLASS_MISSING, STORAGE_CLASS_OTHER, TOLERATION_ADDED)

_PLACEHOLDER = re.compile(
    r"\s*(<.*>|\$\{?\w+\}?|\{\{.*\}\}|your[-_ ].*|((my|the)[-_ ])?storage[-_ ]?class([-_ ]?name)?"
    r"|.*[-_ ](here|placeholder)|(change|replace)[-_ ]?me|todo|fixme|x{3,}|placeholder"
    r"|(change|replace|insert|fill|enter|put|set)[-_ ](with|your|the|in)[-_ ].*)\s*",
    re.IGNORECASE,
)
#: What a StorageClass may be named at all (a DNS-1123 subdomain); ``$(CLASS)`` or ``STORAGE_CLASS`` never is one.
_CLASS_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_POD = r"(?:tolerations|nodeSelector|affinity|imagePullSecrets|serviceAccountName|priorityClassName|schedulerName)"
#: What may change, by kind: patterns over the path of a changed leaf, its parts joined by ``/``.
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "PersistentVolumeClaim": ("spec/storageClassName", "spec/volumeName", r"spec/accessModes(/.*)?"),
    "Job": (rf"spec/template/spec/{_POD}(/.*)?",),
    keys.DGD_KIND: (
        rf"spec/services/[^/]+/extraPodSpec/{_POD}(/.*)?",
        rf"spec/components/[^/]+/podTemplate/spec/{_POD}(/.*)?",
        r"spec/pvcs/[^/]+/storageClass",
    ),
}
_EVERYWHERE = (r"metadata/namespace",)
#: A node by its own name is observed state of a cluster, never a requirement.
_ONE_NODE = ("kubernetes.io/hostname", "metadata.name", "beta.kubernetes.io/hostname")
#: Fields that a patch may change and that hold a name.
_NAMES = frozenset(
    (
        *("storageClassName", "storageClass", "volumeName", "namespace", "serviceAccountName"),
        *("priorityClassName", "schedulerName"),
    )
)
_OPERATIONS = ("add", "replace", "remove", "test")


@dataclass(frozen=True)
class Patch:
    """One change to one object of a copy: JSON Patch (RFC 6902) operations and why."""

    id: str
    manifest: str
    object: str
    operations: tuple[Mapping[str, Any], ...]
    reason: str

    def to_result(self) -> dict[str, Any]:
        """Return the patch as plain data, for the ledger."""
        return {
            "id": self.id,
            "manifest": self.manifest,
            "object": self.object,
            "operations": [dict(operation) for operation in self.operations],
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Toleration:
    """A toleration that the user names, why, and who gets it (no ``components``: all of them)."""

    data: Mapping[str, Any]
    reason: str
    components: tuple[str, ...] = ()
    jobs: bool = False


@dataclass(frozen=True)
class Patched:
    """A manifest's objects after patching."""

    objects: tuple[K8sObject, ...]
    patches: tuple[Patch, ...] = ()
    findings: tuple[Finding, ...] = field(default=())


def patch_manifest(
    manifest: str,
    objects: Sequence[K8sObject],
    *,
    storage_class: str = "",
    tolerations: Sequence[Toleration] = (),
    given: Sequence[Mapping[str, Any]] = (),
) -> Patched:
    """Patch a manifest's objects; raise :class:`InputError` for a patch that may not be made."""
    made: list[K8sObject] = []
    patches: list[Patch] = []
    findings: list[Finding] = []
    for item in objects:
        wanted = [
            *_storage_patches(manifest, item, storage_class, findings),
            *_toleration_patches(manifest, item, tolerations, findings),
            *_given_patches(manifest, item, given, alone=len(objects) == 1),
        ]
        for patch in wanted:
            after = apply_operations(item, patch.operations, patch.id)
            refuse_more_than_kubernetes(item, after, patch.id)
            if differ(after, item):
                patches.append(patch)
                item = after
        made.append(item)
    return Patched(tuple(made), tuple(patches), tuple(findings))


def unused(given: Sequence[Mapping[str, Any]], manifests: Mapping[str, Sequence[K8sObject]]) -> None:
    """Raise :class:`InputError` for a patch that names no manifest or object of the run."""
    for number, patch in enumerate(given):
        if not isinstance(patch, Mapping):
            raise InputError("must be a mapping", where=f"patches[{number}]", found=shown(patch))
        name = str(patch.get("manifest", ""))
        objects = manifests.get(name)
        wanted = str(patch.get("object", ""))
        if objects is None:
            known = ", ".join(manifests) or "none"
            raise InputError("no such manifest", where=f"patches[{number}]", field="manifest", found=name or known)
        names = [subject_of(item) for item in objects]
        if (wanted and wanted not in names) or (not wanted and len(names) != 1):
            raise InputError(
                "the object must be named" if not wanted else "no such object",
                where=f"patches[{number}]",
                field="object",
                found=", ".join(names),
            )


def subject_of(item: K8sObject) -> str:
    """Return ``Kind/name``."""
    metadata = item.get("metadata")
    return f"{item.get('kind', '')}/{metadata.get('name', '') if isinstance(metadata, Mapping) else ''}"


def is_placeholder(name: object) -> bool:
    """Whether a storage class's name is a placeholder that somebody was meant to fill in."""
    if not isinstance(name, str) or not name:
        return False
    return _CLASS_NAME.fullmatch(name) is None or _PLACEHOLDER.fullmatch(name) is not None


# -- storage classes ---------------------------------------------------------------------------------------------------


def _storage_patches(manifest: str, item: K8sObject, wanted: str, findings: list[Finding]) -> Iterator[Patch]:
    for path, holder, key, name in _claims(item):
        subject = name or subject_of(item)
        there = holder.get(key)
        if is_placeholder(there) and not wanted:
            text = f"The storage class is the placeholder {there!r}, and none was given."
            findings.append(
                STORAGE_CLASS_MISSING.finding("fail", subject, text, [f"{manifest}: {path}/{key}: {there}"])
            )
        elif wanted and (is_placeholder(there) or (there is None and key == "storageClassName")):
            why = f"the placeholder {there!r} was resolved" if there is not None else "no storage class was named"
            reason = f"{why}; the hand-off's storage class is {wanted}"
            findings.append(STORAGE_CLASS_SET.finding("pass", subject, reason[0].upper() + reason[1:] + "."))
            operation = {"op": "add" if there is None else "replace", "path": f"{path}/{key}", "value": wanted}
            yield Patch(f"{manifest}:{subject}:storage_class", manifest, subject_of(item), (operation,), reason)
        elif wanted and there and there != wanted:
            text = f"The claim names {there}, the hand-off {wanted}; the manifest's is kept."
            findings.append(STORAGE_CLASS_OTHER.finding("warn", subject, text))


def _claims(item: K8sObject) -> Iterator[tuple[str, Mapping[str, Any], str, str]]:
    """Yield where a claim's storage class stands: path, the mapping that holds it, its key, the claim's own name."""
    spec = item.get("spec")
    if not isinstance(spec, Mapping):
        return
    if item.get("kind") == "PersistentVolumeClaim":
        yield "/spec", spec, "storageClassName", ""
    elif item.get("kind") == keys.DGD_KIND:
        for number, claim in enumerate(spec.get("pvcs") or ()):
            if isinstance(claim, Mapping) and claim.get("create"):
                yield f"/spec/pvcs/{number}", claim, "storageClass", f"PersistentVolumeClaim/{claim.get('name', '')}"


# -- tolerations -------------------------------------------------------------------------------------------------------


def parse_tolerations(given: Sequence[object]) -> tuple[Toleration, ...]:
    """Return the user's tolerations; raise :class:`InputError` for one that is none or has no reason."""
    made = []
    for number, item in enumerate(given):
        where = f"tolerations[{number}]"
        if not isinstance(item, Mapping):
            raise InputError("must be a mapping", where=where, found=shown(item))
        data = {key: value for key, value in item.items() if key not in ("reason", "components", "jobs")}
        unknown = sorted(set(data) - {"key", "operator", "value", "effect", "tolerationSeconds"})
        if unknown:
            raise InputError("unknown field", where=where, field=str(unknown[0]))
        _check_toleration(data, where)
        reason = item.get("reason")
        if not isinstance(reason, str) or not reason.strip():
            raise InputError("a reason is needed", where=where, field="reason", remedy="Say why the pods may run there")
        made.append(Toleration(data, reason, _components(item.get("components"), where), _jobs(item, where)))
    return tuple(made)


def _components(given: object, where: str) -> tuple[str, ...]:
    names = [given] if isinstance(given, str) else [] if given is None else given
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise InputError("must be a list of names", where=where, field="components", found=shown(given))
    return tuple(names)


def _jobs(item: Mapping[str, Any], where: str) -> bool:
    jobs = item.get("jobs", False)
    if not isinstance(jobs, bool):
        raise InputError("must be true or false", where=where, field="jobs", found=shown(jobs))
    return jobs


def _check_toleration(data: Mapping[str, Any], where: str) -> None:
    if data.get("operator", "Equal") not in ("Equal", "Exists"):
        raise InputError("must be Equal or Exists", where=where, field="operator", found=shown(data["operator"]))
    for name in ("key", "value"):
        if not isinstance(data.get(name, ""), str):
            raise InputError("must be text", where=where, field=name, found=shown(data[name]))
    if data.get("effect", "") not in ("", "NoSchedule", "PreferNoSchedule", "NoExecute"):
        raise InputError("no such effect", where=where, field="effect", found=shown(data["effect"]))
    if not data.get("key"):
        raise InputError(
            "a key is needed",
            where=where,
            field="key",
            remedy="A toleration without a key tolerates every reservation; name the taint",
        )
    if data.get("operator") == "Exists" and data.get("value"):
        raise InputError("Exists takes no value", where=where, field="value", found=shown(data["value"]))
    seconds = data.get("tolerationSeconds")
    if seconds is None:
        return
    if isinstance(seconds, bool) or not isinstance(seconds, int):
        raise InputError("must be a whole number", where=where, field="tolerationSeconds", found=shown(seconds))
    if data.get("effect") != "NoExecute":
        raise InputError("needs the effect NoExecute", where=where, field="tolerationSeconds", found=shown(seconds))


def _toleration_patches(
    manifest: str, item: K8sObject, tolerations: Sequence[Toleration], findings: list[Finding]
) -> Iterator[Patch]:
    for number, toleration in enumerate(tolerations):
        operations: list[Mapping[str, Any]] = []
        for path in _pod_specs(item, toleration):
            operations.extend(_add_toleration(item, path, toleration.data))
        if operations:
            subject = subject_of(item)
            text = f"Tolerates {toleration.data['key']} because {toleration.reason}."
            findings.append(TOLERATION_ADDED.finding("pass", subject, text))
            patch_id = f"{manifest}:{subject}:toleration-{number}"
            yield Patch(patch_id, manifest, subject, tuple(operations), toleration.reason)


def _pod_specs(item: K8sObject, toleration: Toleration) -> Iterator[tuple[str, ...]]:
    if item.get("kind") == "Job":
        if toleration.jobs:
            yield ("spec", "template", "spec")
    elif item.get("kind") == keys.DGD_KIND:
        dgd = view_dgd(item)
        names = {component.name for component in dgd.components}
        missing = [name for name in toleration.components if name not in names]
        if missing:
            raise InputError("no such component", field="tolerations.components", found=missing[0])
        alpha = "services" in (item.get("spec") or {})
        for number, component in enumerate(dgd.components):
            if not toleration.components or component.name in toleration.components:
                place = ("services", component.name, "extraPodSpec") if alpha else ("components", str(number))
                yield ("spec", *place) if alpha else ("spec", *place, "podTemplate", "spec")


def _add_toleration(item: K8sObject, path: tuple[str, ...], wanted: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the operations that add a toleration at ``path``, with whatever mapping is missing on the way."""
    here: Any = item
    for number, part in enumerate(path):
        below = here[int(part)] if isinstance(here, (list, tuple)) else here.get(part)
        if below is None:
            value: Any = {"tolerations": [dict(wanted)]}
            for missing in reversed(path[number + 1 :]):
                value = {missing: value}
            yield {"op": "add", "path": pointer(path[: number + 1]), "value": value}
            return
        here = below
    there = here.get("tolerations")
    if there is None:
        yield {"op": "add", "path": pointer((*path, "tolerations")), "value": [dict(wanted)]}
    elif not isinstance(there, (list, tuple)) or not all(isinstance(entry, Mapping) for entry in there):
        raise InputError(
            "must be a list of mappings",
            where=subject_of(item),
            field=f".{'.'.join(path)}.tolerations",
            found=shown(there),
        )
    elif dict(wanted) not in [dict(entry) for entry in there]:
        yield {"op": "add", "path": pointer((*path, "tolerations", "-")), "value": dict(wanted)}


# -- patches that the user gives ---------------------------------------------------------------------------------------


def _given_patches(manifest: str, item: K8sObject, given: Sequence[Mapping[str, Any]], alone: bool) -> Iterator[Patch]:
    for number, patch in enumerate(given):
        subject = subject_of(item)
        if patch.get("manifest") != manifest or (patch.get("object") or (subject if alone else "")) != subject:
            continue
        where = f"patches[{number}]"
        reason = patch.get("reason")
        if not isinstance(reason, str) or not reason.strip():
            raise InputError("a reason is needed", where=where, field="reason", remedy="Say what the patch mends")
        operations = patch.get("operations")
        if not isinstance(operations, (list, tuple)) or not operations:
            raise InputError("a list of operations is needed", where=where, field="operations", found=shown(operations))
        yield Patch(f"{manifest}:{subject}:given-{number}", manifest, subject, tuple(operations), reason)


def refuse_more_than_kubernetes(before: K8sObject, after: K8sObject, where: str) -> None:
    """Raise :class:`InputError` where a patch changed anything that a compatibility patch may not."""
    kind = str(before.get("kind", ""))
    allowed = (*_EVERYWHERE, *_ALLOWED.get(kind, ()))
    for path, value in changed_leaves(before, after):
        text = pointer(path)[1:]
        if not any(re.fullmatch(pattern, text) for pattern in allowed):
            raise InputError(
                "a compatibility patch may not change this",
                where=where,
                field="." + ".".join(path),
                remedy="Only Kubernetes fields may change; a performance knob belongs into the assigned manifest",
            )
        if path[-1] in _ONE_NODE or _names_a_node({path[-1]: value}):
            raise InputError(
                "a patch may not bind pods to one node by its name", where=where, field="." + ".".join(path)
            )

    _check_values(before, after, where)


def _check_values(before: object, after: object, where: str, path: tuple[str, ...] = ()) -> None:
    """Refuse names that are no text, and new tolerations of a kind that the user may not name either."""
    items: Iterable[tuple[str, Any]] = ()
    if isinstance(after, Mapping):
        items = [(str(key), value) for key, value in after.items()]
    elif isinstance(after, (list, tuple)):
        items = [(str(number), value) for number, value in enumerate(after)]
    for key, value in items:
        there = _below(before, key)
        place = f"{where} .{'.'.join((*path, key))}"
        if not differ(there, value):
            continue
        if key in _NAMES and not isinstance(value, str):
            raise InputError("must be text", where=place, found=shown(value))
        if key == "tolerations":
            _check_tolerations(there, value, place)
        _check_values(there, value, where, (*path, key))


def _check_tolerations(before: object, after: object, place: str) -> None:
    if not isinstance(after, (list, tuple)) or not all(isinstance(item, Mapping) for item in after):
        raise InputError("must be a list of mappings", where=place, found=shown(after))
    kept = before if isinstance(before, (list, tuple)) else ()
    for item in after:
        if item not in kept:
            _check_toleration(item, place)


def _below(value: object, key: str) -> object:
    if isinstance(value, Mapping):
        return value.get(key, _NOTHING)
    is_item = isinstance(value, (list, tuple)) and key.isdecimal() and int(key) < len(value)
    return value[int(key)] if is_item else _NOTHING  # type: ignore[index]  # a list, as was just asked


def _names_a_node(value: object) -> bool:
    """Whether a selector or a term asks for a node by its name; spreading over nodes (``topologyKey``) does not."""
    if isinstance(value, Mapping):
        return value.get("key") in _ONE_NODE or _ONE_NODE[0] in value or any(map(_names_a_node, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_names_a_node, value))


def changed_leaves(
    before: object, after: object, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield the path and new value of each leaf that differs; a list that differs in length differs as a whole."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from changed_leaves(before.get(key, _NOTHING), after.get(key, _NOTHING), (*path, str(key)))
    elif isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from changed_leaves(one, other, (*path, str(number)))
    elif before is _NOTHING and isinstance(after, Mapping) and after:
        for key, value in after.items():
            yield from changed_leaves(_NOTHING, value, (*path, str(key)))
    elif differ(before, after):
        yield path, after


def differ(one: object, other: object) -> bool:
    """Whether two values differ as JSON, where ``true`` is not 1."""
    return one is not other and _text(one) != _text(other)


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


_NOTHING = object()


# -- JSON Patch --------------------------------------------------------------------------------------------------------


def pointer(path: Iterable[str]) -> str:
    """Return a JSON Pointer (RFC 6901)."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)


def apply_operations(item: K8sObject, operations: Sequence[object], where: str) -> dict[str, Any]:
    """Return the object after the operations; raise :class:`InputError` for one that does not fit."""
    made: Any = copy.deepcopy(dict(item))
    for number, operation in enumerate(operations):
        place = f"{where} operations[{number}]"
        if not isinstance(operation, Mapping) or operation.get("op") not in _OPERATIONS:
            allowed = ", ".join(_OPERATIONS)
            raise InputError(f"op must be one of {allowed}", where=place, found=shown(operation))
        path = operation.get("path")
        if not isinstance(path, str) or not path.startswith("/"):
            raise InputError("path must be a JSON Pointer below the object", where=place, found=shown(path))
        if operation["op"] != "remove" and "value" not in operation:
            raise InputError("a value is needed", where=place, field=path)
        parts = [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]
        try:
            _apply(made, parts, str(operation["op"]), copy.deepcopy(operation.get("value")))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise InputError("the path does not fit the object", where=place, field=path) from error
    return dict(made)


def _apply(target: Any, parts: list[str], op: str, value: Any) -> None:
    for part in parts[:-1]:
        target = target[_index(part, len(target) - 1)] if isinstance(target, list) else target[part]
    last = parts[-1]
    if isinstance(target, list):
        if op == "add":
            target.insert(len(target) if last == "-" else _index(last, len(target)), value)
            return
        number = _index(last, len(target) - 1)
        if op == "remove":
            del target[number]
        elif op == "replace":
            target[number] = value
        elif differ(target[number], value):
            raise ValueError
        return
    if op != "add" and last not in target:
        raise KeyError(last)
    if op == "remove":
        del target[last]
    elif op == "test":
        if differ(target[last], value):
            raise ValueError
    else:
        target[last] = value


def _index(text: str, highest: int) -> int:
    if not re.fullmatch(r"0|[1-9][0-9]*", text) or int(text) > highest:
        raise IndexError(text)
    return int(text)
