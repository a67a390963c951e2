# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that a component's main container gets from ConfigMaps of its own manifest, such as an engine's settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import keys
from .dgdview import ComponentView


@dataclass(frozen=True)
class ConfigFile:
    """A key of a ConfigMap, its text, and the path under which the container sees it (empty: not as a file)."""

    config_map: str
    key: str
    text: str
    path: str = ""

    @property
    def name(self) -> str:
        """The ConfigMap and its key as a person names them."""
        return f"{self.config_map}/{self.key}"


def config_files(component: ComponentView, config_maps: Mapping[str, Mapping[str, str]]) -> tuple[ConfigFile, ...]:
    """Return the files that the main container mounts from ``config_maps``, the data of the manifest's ConfigMaps."""
    spec, main = pod_and_main(component.data)
    volumes = {str(volume.get("name")): volume for volume in _mappings(spec.get("volumes"))}
    found: list[ConfigFile] = []
    for mount in _mappings(main.get("volumeMounts")):
        volume = volumes.get(str(mount.get("name")), {})
        for config_map, key, inside in _keys(volume, config_maps):
            path = _place(str(mount.get("mountPath") or ""), str(mount.get("subPath") or ""), inside)
            if path:
                found.append(ConfigFile(config_map, key, config_maps[config_map][key], path))
    return tuple(found)


def pod_and_main(data: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return a component's pod spec and main container as they stand in a manifest of either version."""
    alpha = _mapping(data.get("extraPodSpec"))
    if alpha:
        return alpha, _mapping(alpha.get("mainContainer"))
    spec = _mapping(_mapping(data.get("podTemplate")).get("spec"))
    mains = [item for item in _mappings(spec.get("containers")) if item.get("name") == keys.MAIN_CONTAINER]
    return spec, mains[0] if mains else {}


def _keys(volume: Mapping[str, Any], config_maps: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield ConfigMap, key and path inside the volume for each of a volume's files that the manifest holds."""
    projected = _mappings(_mapping(volume.get("projected")).get("sources"))
    for source in (volume, *projected):
        reference = _mapping(source.get("configMap"))
        name = str(reference.get("name") or "")
        data = config_maps.get(name, {})
        items = _mappings(reference.get("items"))
        for item in items:
            key = str(item.get("key"))
            if key in data:
                yield name, key, str(item.get("path") or key)
        if reference and not items:
            for key in data:
                yield name, key, key


def _place(mount: str, sub_path: str, inside: str) -> str:
    """Return where a volume's file is seen, or nothing where the mount leaves it out."""
    root, part = mount.rstrip("/"), sub_path.strip("/")
    if not root or (part and part != inside and not inside.startswith(f"{part}/")):
        return ""
    rest = inside[len(part) :].strip("/") if part else inside
    return f"{root}/{rest}" if rest else root


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, (list, tuple)) else []
