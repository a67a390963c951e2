# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare what we render with what the real operator created: ``<release>/<input>/<pathway>[.<config>].json``.

Objects are compared as sets keyed by kind and name, values as canonical JSON, modulo the worker hash. An input that the
operator refused must be refused at the same stage by the same kind of rule.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import keys
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.docker_secrets import SecretEntry
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.keyring import OperatorIndex, operator_index
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import (
    CheckpointConfig,
    ClusterFacts,
    IngressConfig,
    OperatorConfig,
    RenderRequest,
    RenderResult,
    helm_config,
    render,
)
from ansible_collections.inference_ops.dynamo.tests.goldens.meanings import difference as meaning_difference
from ansible_collections.inference_ops.dynamo.tests.goldens.meanings import warned_fields
from ansible_collections.inference_ops.dynamo.tests.goldens.rows import Row, compared

RELEASES = ("1.1", "1.5")
HASH = "a1b2c3d4"
_NATS = "nats://dynamo-platform-nats.dynamo-system.svc.cluster.local:4222"
_NAMESPACE = "default"
#: The docker secrets of the ``secrets`` configuration: namespace, name, registries.
_SECRETS = (
    ("default", "a-nvcr", ["nvcr.io"]),
    ("default", "b-hub", ["https://index.docker.io/v1/"]),
    ("default", "c-multi", ["ghcr.io", "nvcr.io", "registry.example.com:5000"]),
    ("default", "d-staging", ["stg.nvcr.io"]),
    ("other-ns", "z-other", ["nvcr.io"]),
)
_TOPOLOGIES = {
    "default-topology": (
        ("zone", "topology.kubernetes.io/zone"),
        ("block", "topology.example.com/block"),
        ("rack", "topology.example.com/rack"),
        ("host", "kubernetes.io/hostname"),
    )
}


def run(folder: Path) -> Iterable[Row]:
    """Yield one row a run of the operator."""
    files = (path for release in RELEASES for path in sorted((folder / release).glob("*/*.json")))
    return compared(files, _name, lambda path: [_row(path)])


@lru_cache(maxsize=1)
def _definition(path: Path) -> Any:
    return yaml.load(path.read_text(), Loader=yaml.CSafeLoader)


def _name(golden: Path) -> str:
    return "/".join(golden.parts[-3:])


def _row(golden: Path) -> Row:
    definition, expected = _definition(golden.parent / "input.yaml"), json.loads(golden.read_text())
    release = golden.parent.parent.name
    pathway, config_name = expected["pathway"], expected["config"]
    group = f"{release} {pathway} {_types(definition)}"
    request = RenderRequest(
        definition=definition,
        release=release,
        pathway=pathway,
        config=configuration(release, config_name),
        pull_secrets=_lookup(release, _namespace(definition)) if config_name == "secrets" else None,
        worker_hash=HASH,
        facts=ClusterFacts(
            topologies=_TOPOLOGIES if release != "1.1" else None,
            dgd_uid="00000000-0000-0000-0000-000000000001",
        ),
        ignore_schema_errors=config_name == "noschema",
    )
    result = render(request)
    detail = difference(result, expected)
    return Row(group, _name(golden), "different" if detail else "equal", detail)


def _namespace(definition: Mapping[str, Any]) -> str:
    return str((definition.get("metadata") or {}).get("namespace") or _NAMESPACE)


def _types(definition: Mapping[str, Any]) -> str:
    spec = definition.get("spec") or {}
    services = list((spec.get("services") or {}).values()) + list(spec.get("components") or ())
    types = {str(item.get("componentType") or item.get("type") or "untyped") for item in services if item}
    plain = "multinode" if any(item and item.get("multinode") for item in services) else "single"
    for special in ("epp", "planner", "prefill", "decode", "worker", "frontend"):
        if special in types:
            return f"{plain} {special}"
    return f"{plain} other"


@cache
def _index(release: str) -> OperatorIndex:
    entries = [
        {"namespace": namespace, "name": name, "type": "kubernetes.io/dockerconfigjson", "registries": registries}
        for namespace, name, registries in _SECRETS
    ]
    return operator_index([SecretEntry.from_snapshot(entry) for entry in entries], release)


def _lookup(release: str, namespace: str) -> Callable[[str], tuple[str, ...]]:
    return lambda image: _index(release).lookup(image, namespace)


def configuration(release: str, name: str) -> OperatorConfig:
    """Return one of the configurations under which the goldens were made."""
    config = helm_config(release)
    if name == "etcd":
        return replace(
            config,
            discovery_backend="etcd",
            nats_address=_NATS,
            etcd_address="dynamo-platform-etcd.dynamo-system.svc.cluster.local:2379",
            model_express_url="http://model-express-server.dynamo-system.svc.cluster.local:8001",
            prometheus_endpoint="http://prometheus-kube-prometheus-prometheus.monitoring.svc.cluster.local:9090",
        )
    if name == "ckpt":
        storage = ("snapshot-pvc", "/checkpoints") if release != "1.1" else ("", "")
        return replace(config, checkpoint=CheckpointConfig(enabled=True, pvc=storage[0], path=storage[1]))
    if name == "ingress":
        ingress = IngressConfig(class_name="nginx", host_suffix="example.com", tls_secret="my-tls-secret")
        return replace(config, ingress=ingress)
    if name == "nodra":
        return replace(config, dra=False)
    return config


# --- comparison -----------------------------------------------------------------------------------------------------


def difference(result: RenderResult, expected: Mapping[str, Any]) -> str:
    """Return the first difference between a rendering and a golden, empty where they agree."""
    if warned_fields(expected.get("warnings") or ()) != warned_fields(result.warnings):
        return f"warnings: wanted {expected.get('warnings')} found {list(result.warnings)}"
    if sorted(expected.get("unknownFields") or ()) != sorted(result.unknown_fields):
        return f"unknown fields: wanted {expected.get('unknownFields')} found {list(result.unknown_fields)}"
    if expected.get("error"):
        return meaning_difference(expected["error"], expected["errorStage"], result.errors, result.release)
    if result.errors:
        first = result.errors[0]
        return f"refused by us alone: {first.stage} {first.rule}: {first.message}"
    real = _hash_of(expected)
    text = json.dumps(expected["objects"])
    wanted = _by_name(json.loads(_with_named_checkpoints(text.replace(real, HASH) if real else text)))
    found = _by_name(json.loads(_with_named_checkpoints(json.dumps(list(result.objects)))))
    for key in sorted(wanted.keys() | found.keys()):
        if key not in found:
            return f"{key} is missing"
        if key not in wanted:
            return f"{key} is too much"
        detail = next(_differences("", _sorted_sets(wanted[key], expected), _sorted_sets(found[key], expected)), "")
        if detail:
            return f"{key}{detail}"
    return ""


def _with_named_checkpoints(text: str) -> str:
    """Give 1.5's checkpoint ids, which come from the worker hash and the live DGD's UID, names of their own."""
    for item in json.loads(text):
        identifier = item["metadata"].get("labels", {}).get(keys.LABEL_CHECKPOINT_ID, "")
        if item["kind"] == keys.CHECKPOINT_KIND and len(identifier) == 32:
            labels = item["metadata"]["labels"]
            name = f"of-{labels[keys.LABEL_COMPONENT]}-{labels.get(keys.LABEL_WORKER_HASH, 'first')}"
            text = text.replace(identifier, name)
    return text


def _hash_of(expected: Mapping[str, Any]) -> str:
    found = re.search(
        rf'"({keys.ANNOTATION_CURRENT_WORKER_HASH}(?:-v2)?|{keys.LABEL_WORKER_HASH})": "([0-9a-f]{{8}})"',
        json.dumps(expected["objects"]),
    )
    return found[2] if found else ""


def _by_name(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    named = {}
    for item in objects:
        named[f"{item['kind']}/{item['metadata']['name']}"] = item
    return named


def _sorted_sets(item: dict[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Sort 1.1's cliques by name: there their order is a Go map's."""
    if item["kind"] == "PodCliqueSet" and expected["profile"] == "1.1":
        template = item["spec"]["template"]
        for key in ("cliques", "podCliqueScalingGroups"):
            if key in template:
                template[key] = sorted(template[key], key=lambda entry: str(entry["name"]))
    return item


def _differences(path: str, wanted: Any, found: Any) -> Iterator[str]:
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in sorted(wanted.keys() | found.keys()):
            yield from _differences(f"{path}.{key}", wanted.get(key), found.get(key))
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for index, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from _differences(f"{path}[{index}]", one, other)
    elif wanted != found:
        yield f"{path}: wanted {json.dumps(wanted)[:400]} found {json.dumps(found)[:400]}"
