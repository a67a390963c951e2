# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A DGD's components at a glance, in either API version: as the manifest has them, nothing rendered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import keys
from ..errors import InputError, shown
from ..quantity import parse_quantity
from .gpus import is_gpu_resource


@dataclass(frozen=True)
class ComponentView:
    """One component: ``gpus`` is the count of one pod; ``gpu_resource`` its resource name."""

    name: str
    type: str
    sub_type: str
    replicas: int
    nodes: int
    gpus: int
    gpu_resource: str
    image: str

    def to_result(self) -> dict[str, Any]:
        """Return the component as plain data."""
        return {
            "name": self.name,
            "type": self.type,
            "sub_type": self.sub_type,
            "replicas": self.replicas,
            "nodes": self.nodes,
            "gpus": self.gpus,
            "gpu_resource": self.gpu_resource,
            "gpus_total": self.replicas * self.nodes * self.gpus,
            "image": self.image,
        }


def components_of(definition: Mapping[str, Any], where: str = "") -> tuple[ComponentView, ...]:
    """Return the components in the manifest's order; raise :class:`InputError` where one cannot be read."""
    return tuple(_view(name, item, path, where) for name, item, path in raw_components(definition, where))


def raw_components(definition: Mapping[str, Any], where: str = "") -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """Yield name, component and path of each component as the manifest has it."""
    spec = _mapping(definition.get("spec"), "spec", where)
    for name, item in _mapping(spec.get("services"), "spec.services", where).items():
        path = f"spec.services[{name}]"
        yield str(name), _mapping(item, path, where), path
    for index, item in enumerate(_list(spec.get("components"), "spec.components", where)):
        path = f"spec.components[{index}]"
        component = _mapping(item, path, where)
        yield str(component.get("name") or ""), component, path


def check_amounts(definition: Mapping[str, Any], where: str = "") -> None:
    """Raise :class:`InputError` where a v1alpha1 service asks for an amount that is none.

    These amounts are mere text to the API server. Release 1.1 stops at them when it renders; 1.5 drops them without a
    word, so that a pod would be told to need no GPU at all.
    """
    for _unused, item, path in raw_components(definition, where):
        resources = _mapping(item.get("resources"), f"{path}.resources", where)
        for side in ("requests", "limits"):
            place = f"{path}.resources.{side}"
            amounts = _mapping(resources.get(side), place, where)
            custom = _mapping(amounts.get("custom"), f"{place}.custom", where)
            named = [(f"{place}.{key}", amounts.get(key)) for key in ("cpu", "memory", "gpu")]
            for field, value in (*named, *((f"{place}.custom[{key}]", value) for key, value in custom.items())):
                if value:
                    parse_quantity(value, where=where, field=field)


def _view(name: str, item: Mapping[str, Any], path: str, where: str) -> ComponentView:
    main = _main(item, path, where)
    multinode = _mapping(item.get("multinode"), f"{path}.multinode", where)
    resource, gpus = _gpus(item, main, path, where)
    return ComponentView(
        name=name,
        type=str(item.get("componentType") or item.get("type") or ""),
        sub_type=str(item.get("subComponentType") or ""),
        replicas=_whole(item.get("replicas"), 1, f"{path}.replicas", where),
        nodes=_whole(multinode.get("nodeCount"), 2, f"{path}.multinode.nodeCount", where)
        if item.get("multinode") is not None
        else 1,
        gpus=gpus,
        gpu_resource=resource,
        image=str(main.get("image") or ""),
    )


def _main(item: Mapping[str, Any], path: str, where: str) -> Mapping[str, Any]:
    """Return the main container of either API version."""
    alpha = _mapping(item.get("extraPodSpec"), f"{path}.extraPodSpec", where)
    if "mainContainer" in alpha:
        return _mapping(alpha["mainContainer"], f"{path}.extraPodSpec.mainContainer", where)
    template = _mapping(item.get("podTemplate"), f"{path}.podTemplate", where)
    spec = _mapping(template.get("spec"), f"{path}.podTemplate.spec", where)
    for container in _list(spec.get("containers"), f"{path}.podTemplate.spec.containers", where):
        if isinstance(container, Mapping) and container.get("name") == keys.MAIN_CONTAINER:
            return container
    return {}


def _gpus(item: Mapping[str, Any], main: Mapping[str, Any], path: str, where: str) -> tuple[str, int]:
    resources = _mapping(item.get("resources"), f"{path}.resources", where)
    own = _mapping(main.get("resources"), f"{path}.resources", where)
    for side in ("limits", "requests"):
        amounts = _mapping(resources.get(side), f"{path}.resources.{side}", where)
        if amounts.get("gpu"):
            name = str(amounts.get("gpuType") or keys.GPU_RESOURCE)
            return name, _count(amounts["gpu"], f"{path}.resources.{side}.gpu", where)
        amounts = _mapping(own.get(side), f"{path}.resources.{side}", where)
        for name in sorted(amounts, key=lambda text: (text != keys.GPU_RESOURCE, text)):
            if is_gpu_resource(name):
                return name, _count(amounts[name], f"{path}.resources.{side}[{name}]", where)
    return "", 0


def _count(value: object, field: str, where: str) -> int:
    """A GPU count that is no quantity is an error: taken for none, it would promise a fit that there is not."""
    return parse_quantity(value, where=where, field=field).units


def _whole(value: object, default: int, field: str, where: str) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
        raise InputError("a whole number is needed", where=where, field=field, found=shown(value))
    return int(value)


def _list(value: object, field: str, where: str) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise InputError("a list is needed", where=where, field=field, found=shown(value))
    return value


def _mapping(value: object, field: str, where: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError("a mapping is needed", where=where, field=field, found=shown(value))
    return value
