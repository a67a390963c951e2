# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one place where a Secret's data is looked into: what leaves it are names, types, registry keys and problems.

Sources: what the operator and the kubelet (1.34, ``pkg/credentialprovider/config.go``) read out of a docker
configuration with Go's ``encoding/json``, and what each of them refuses.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .demand import K8sObject
from .errors import InputError, shown
from .go_url import Url, UrlError, parse_url, registry_host

DOCKER_CONFIG_JSON = "kubernetes.io/dockerconfigjson"
DOCKER_CFG = "kubernetes.io/dockercfg"
#: The type of a pull secret and the data key that holds its docker configuration.
DATA_KEYS: Mapping[str, str] = {DOCKER_CONFIG_JSON: ".dockerconfigjson", DOCKER_CFG: ".dockercfg"}


@dataclass(frozen=True)
class ProblemKind:
    """What is malformed, and whom it stops: the operator's index of the secret, the kubelet's keyring of the pod."""

    text: str
    operator: bool = False
    kubelet: bool = False


PROBLEMS: Mapping[str, ProblemKind] = {
    "no_data": ProblemKind("holds no docker configuration", operator=True),
    "not_json": ProblemKind("its docker configuration is not JSON", operator=True, kubelet=True),
    "not_an_object": ProblemKind("its docker configuration is not a JSON object", operator=True, kubelet=True),
    "auths_not_an_object": ProblemKind("its auths is not a JSON object", operator=True, kubelet=True),
    "headers_not_strings": ProblemKind("its HttpHeaders is not an object of strings", kubelet=True),
    "bad_registry": ProblemKind("a registry key names no host that can be parsed", operator=True),
    "entry_not_an_object": ProblemKind("a registry's entry is not a JSON object", kubelet=True),
    "field_not_a_string": ProblemKind("a registry's auth, username, password or email is not a string", kubelet=True),
    "auth_not_base64": ProblemKind("a registry's auth is not base64", kubelet=True),
    "auth_without_colon": ProblemKind("a registry's auth does not hold a name and a password", kubelet=True),
    "registry_not_shown": ProblemKind("a registry key may hold a password, so it is left out"),
    "no_registries": ProblemKind("it names no registry"),
    "no_credentials": ProblemKind("a registry's entry holds no credentials"),
}
_HIDDEN = "«not shown»"


@dataclass(frozen=True)
class Problem:
    """One thing that is malformed; ``registry`` is the key it concerns, or empty."""

    code: str
    registry: str = ""

    def __str__(self) -> str:
        text = PROBLEMS[self.code].text
        return f"{text} ({self.registry})" if self.registry else text


@dataclass(frozen=True)
class SecretEntry:
    """What may be known of a Secret. ``keys`` are the names of its data, or None where nobody asked."""

    name: str
    namespace: str = ""
    type: str = ""
    registries: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    keys: tuple[str, ...] | None = None

    @property
    def operator_problem(self) -> Problem | None:
        """What keeps the whole secret out of the operator's index."""
        return next((item for item in self.problems if PROBLEMS[item.code].operator and not item.registry), None)

    @property
    def kubelet_problem(self) -> Problem | None:
        """What makes the kubelet refuse every pull of a pod that names this secret."""
        return next((item for item in self.problems if PROBLEMS[item.code].kubelet), None)

    def to_snapshot(self) -> dict[str, Any]:
        """Return the entry as it stands in a snapshot's ``secrets``."""
        entry: dict[str, Any] = {"name": self.name, "namespace": self.namespace, "type": self.type}
        entry["registries"] = list(self.registries)
        entry["problems"] = [
            {"code": item.code, "registry": item.registry} if item.registry else {"code": item.code}
            for item in self.problems
        ]
        if self.keys is not None:
            entry["keys"] = list(self.keys)
        return entry

    @classmethod
    def from_snapshot(cls, data: object, where: str = "secrets") -> SecretEntry:
        """Read an entry back; raise :class:`InputError` naming the field that is wrong, never its content."""
        if not isinstance(data, Mapping) or not isinstance(data.get("name"), str) or not data["name"]:
            raise InputError("a secret must be a mapping with a name", where=where)
        if stray := sorted(map(str, set(data) - {"name", "namespace", "type", "registries", "problems", "keys"})):
            raise InputError(
                "only name, namespace, type, registries, problems and keys of a secret may be handed on",
                where=where,
                field=f"{data['name']}.{stray[0]}",
            )
        for field in ("registries", "problems", "keys"):
            if not isinstance(data.get(field) or [], list):
                raise InputError("must be a list", where=where, field=f"{data['name']}.{field}")
        return cls(
            name=data["name"],
            namespace=str(data.get("namespace") or ""),
            type=str(data.get("type") or DOCKER_CONFIG_JSON),
            registries=tuple(str(key) for key in data.get("registries") or ()),
            problems=tuple(_problem(item, where) for item in data.get("problems") or ()),
            keys=None if data.get("keys") is None else tuple(str(key) for key in data["keys"]),
        )


def _problem(item: object, where: str) -> Problem:
    code = item.get("code") if isinstance(item, Mapping) else item
    if not isinstance(code, str) or code not in PROBLEMS:
        raise InputError("unknown problem of a secret", where=where, field="problems", found=shown(code))
    return Problem(code, str(item.get("registry") or "") if isinstance(item, Mapping) else "")


def collect_secret(secret: K8sObject, *, with_keys: bool = False) -> SecretEntry:
    """Take from a Secret what may leave it. No value of it is kept, quoted or logged."""
    metadata = secret.get("metadata") or {}
    kind = str(secret.get("type") or "Opaque")
    data = secret.get("data")
    data = data if isinstance(data, Mapping) else {}
    entry = SecretEntry(
        name=str(metadata.get("name") or ""),
        namespace=str(metadata.get("namespace") or ""),
        type=kind,
        keys=tuple(sorted(map(str, data))) if with_keys else None,
    )
    if kind not in DATA_KEYS:
        return entry
    registries, problems = _read(data.get(DATA_KEYS[kind]), legacy=kind == DOCKER_CFG)
    return SecretEntry(entry.name, entry.namespace, kind, registries, problems, entry.keys)


# -- reading as Go reads ----------------------------------------------------------------------------------------------


class _Object(list[tuple[str, Any]]):
    """A JSON object with its pairs in order, for Go merges duplicates where Python keeps the last."""


def _refuse_constant(text: str) -> None:
    raise ValueError("not JSON")


def _read(encoded: object, legacy: bool) -> tuple[tuple[str, ...], tuple[Problem, ...]]:
    try:
        raw = base64.b64decode(str(encoded or ""))
    except (binascii.Error, ValueError):
        return (), (Problem("not_json"),)
    if not raw:
        return (), (Problem("no_data"),)
    try:
        document = json.loads(
            raw.decode("utf-8", "replace"), object_pairs_hook=_Object, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError):
        return (), (Problem("not_json"),)
    if document is not None and not isinstance(document, _Object):
        return (), (Problem("not_an_object"),)
    problems: list[Problem] = []
    entries = document or _Object()
    if not legacy:
        if not _strings(_merged(entries, "httpheaders")):
            problems.append(Problem("headers_not_strings"))
        auths = _merged(entries, "auths")
        if auths is not None and not isinstance(auths, _Object):
            return (), (*problems, Problem("auths_not_an_object"))
        entries = auths or _Object()
    if not entries:
        problems.append(Problem("no_registries"))
    return _registries(entries, problems), tuple(dict.fromkeys(problems))


def _fields(document: _Object, name: str) -> Iterator[Any]:
    """Yield the values of a struct's field in order; Go takes a name in any case."""
    return (value for key, value in document if key.casefold() == name)


def _merged(document: _Object, name: str) -> Any:
    """Return a map field: a second one is merged into the first, ``null`` empties it, another type is an error."""
    result: Any = None
    for value in _fields(document, name):
        if value is not None and not isinstance(value, _Object):
            return value
        result = None if value is None else _Object([*(result or ()), *value])
    return result


def _strings(headers: Any) -> bool:
    if headers is None:
        return True
    return isinstance(headers, _Object) and all(value is None or isinstance(value, str) for _unused, value in headers)


def _registries(entries: _Object, problems: list[Problem]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for key, value in entries:
        public = public_key(key)
        if public is not None:
            names[public] = None
        shown_key = public or _HIDDEN
        if _host(key) is None:
            problems.append(Problem("bad_registry", shown_key))
        elif public is None:
            problems.append(Problem("registry_not_shown", shown_key))
        problems.extend(Problem(code, shown_key) for code in _entry_problems(value))
    return tuple(names)


def _entry_problems(entry: Any) -> Iterator[str]:
    """Yield what the kubelet would find wrong with one registry's entry."""
    if entry is not None and not isinstance(entry, _Object):
        yield "entry_not_an_object"
        return
    texts: dict[str, str] = {}
    for name in ("username", "password", "email", "auth"):
        for value in _fields(entry or _Object(), name):
            if value is not None and not isinstance(value, str):
                yield "field_not_a_string"
                return
            texts[name] = value if value is not None else texts.get(name, "")
    if texts.get("auth"):
        decoded = go_base64(texts["auth"])
        if decoded is None:
            yield "auth_not_base64"
        elif b":" not in decoded:
            yield "auth_without_colon"
    elif not texts.get("username"):
        yield "no_credentials"


_PADDED = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_RAW = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3})?")


def go_base64(text: str) -> bytes | None:
    """Decode as the kubelet does: padded or not, line breaks ignored, anything else None."""
    padded = text.strip().endswith("=")
    text = text.replace("\r", "").replace("\n", "")
    if not (_PADDED if padded else _RAW).fullmatch(text):
        return None
    return base64.b64decode(text + "=" * (-len(text) % 4))


# -- registry keys ----------------------------------------------------------------------------------------------------


def _host(key: str) -> str | None:
    try:
        return registry_host(key)
    except UrlError:
        return None


def kubelet_url(key: str) -> Url | None:
    """Return a registry key as the kubelet parses it, or None where it ignores the key."""
    try:
        return parse_url(key if key.startswith(("https://", "http://")) else f"https://{key}")
    except UrlError:
        return None


_KEY = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)?(?P<authority>[^/?#]*)(?P<path>[^?#]*)", re.DOTALL)

#: What looks like user information in a place where a URL has none: ``//name@`` or ``name:password@``.
_MAY_HOLD_PASSWORD = re.compile(r"//[^/]*@|:[^/]*@")


def public_key(key: str) -> str | None:
    """Return the registry key without user name, password, query and fragment, which neither program looks at.

    None where the key could then be read in another way, so that its text is not safe to show.
    """
    match = _KEY.match(key)
    if match is None or not re.search("[@?#]", key):
        return key
    public = (match["scheme"] or "") + match["authority"].rpartition("@")[2] + match["path"]
    readings: tuple[Callable[[str], object], ...] = (_host, kubelet_url)
    if _MAY_HOLD_PASSWORD.search(public) or any(reading(key) != reading(public) for reading in readings):
        return None
    return public
