# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A DGD as its author wrote it, the same for both API versions: components, containers, environment.

This is a view for judges that compare or search manifests; what the operator makes of a DGD is ``render``'s work.
Where ``v1alpha1`` has two places for one thing, ``mainContainer`` wins, as in the conversion of release 1.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import keys
from .demand import K8sObject
from .errors import InputError, shown
from .manifest import DGD_API_VERSIONS


@dataclass(frozen=True)
class ContainerView:
    """One container: ``env`` maps a name to its literal value, or to a text such as ``<secretKeyRef s/k>``."""

    name: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def literals(self) -> Mapping[str, str]:
        """The environment variables whose value stands in the manifest."""
        return {name: value for name, value in self.env.items() if not value.startswith("<")}


@dataclass(frozen=True)
class ComponentView:
    """One component of a DGD. ``path`` is where it stands, ``resources`` what one pod's main container asks for.

    ``resources`` holds a limit before a request; both stand apart as well.
    """

    name: str
    path: str
    type: str
    sub_type: str
    replicas: int | None
    nodes: int
    main: ContainerView
    sidecar: ContainerView | None = None
    resources: Mapping[str, str] = field(default_factory=dict)
    requests: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)
    dynamo_namespace: str = ""
    global_namespace: bool = False
    data: K8sObject = field(default_factory=dict)

    @property
    def role(self) -> str:
        """What the component does: ``frontend``, ``prefill``, ``decode``, ``worker``, …"""
        is_worker = not self.type or self.type in keys.WORKER_TYPES
        return self.sub_type if is_worker and self.sub_type in keys.WORKER_TYPES else self.type

    @property
    def gpus(self) -> str:
        """What one pod asks of GPUs, as written (``4``), or empty."""
        return next((self.resources[name] for name in ("gpu", keys.GPU_RESOURCE) if name in self.resources), "")


@dataclass(frozen=True)
class DgdView:
    """A DGD: ``framework`` is ``spec.backendFramework``, ``env`` what all components get.

    ``config_maps`` are those of its manifest, data by name.
    """

    name: str
    namespace: str
    api_version: str
    framework: str
    components: tuple[ComponentView, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    data: K8sObject = field(default_factory=dict)
    config_maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def component(self, name: str) -> ComponentView | None:
        """Return the component of that name, in whichever case the operator would take it."""
        exact = [component for component in self.components if component.name == name]
        loose = [component for component in self.components if component.name.lower() == name.lower()]
        return next(iter(exact or loose), None)

    def of_role(self, *roles: str) -> tuple[ComponentView, ...]:
        """Return the components whose role is one of ``roles``."""
        return tuple(component for component in self.components if component.role in roles)


def view_dgd(
    data: object, where: str = "definition", config_maps: Mapping[str, Mapping[str, str]] | None = None
) -> DgdView:
    """Return the view of a DGD; raise :class:`InputError` naming the field that has a wrong shape.

    ``config_maps`` (name to data) are those of the same manifest; variables that are taken from one are filled in.
    """
    if not isinstance(data, Mapping):
        raise InputError("a DGD must be a mapping", where=where, found=shown(data))
    api_version = data.get("apiVersion")
    if api_version not in DGD_API_VERSIONS:
        raise InputError(
            "unknown apiVersion of a DGD",
            where=where,
            field="apiVersion",
            found=shown(api_version),
            remedy=f"Known are {' and '.join(DGD_API_VERSIONS)}",
        )
    reader = _Reader(where, config_maps or {})
    metadata = reader.mapping(data, "metadata", "")
    spec = reader.mapping(data, "spec", "")
    # A server without conversion relabels what it stores, so the shape decides where the two disagree.
    alpha = "services" in spec or (api_version == keys.V1ALPHA1 and "components" not in spec)
    env = reader.env(spec, "envs" if alpha else "env", "spec")
    components = tuple(reader.alpha(spec, env) if alpha else reader.beta(spec, env))
    return DgdView(
        name=str(metadata.get("name") or ""),
        namespace=str(metadata.get("namespace") or ""),
        api_version=str(api_version),
        framework=str(spec.get("backendFramework") or ""),
        components=components,
        env=env,
        data=data,
        config_maps=config_maps or {},
    )


class _Reader:
    """Reads fields of a DGD and names the one that has a wrong shape."""

    def __init__(self, where: str, config_maps: Mapping[str, Mapping[str, str]]) -> None:
        self.where = where
        self.config_maps = config_maps

    def mapping(self, data: Mapping[str, Any], key: str, path: str) -> Mapping[str, Any]:
        value = data.get(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self.wrong("must be a mapping", path, key, value)
        return value

    def items(self, data: Mapping[str, Any], key: str, path: str) -> list[Any]:
        value = data.get(key)
        if value is None:
            return []
        if not isinstance(value, (list, tuple)):
            raise self.wrong("must be a list", path, key, value)
        return list(value)

    def texts(self, data: Mapping[str, Any], key: str, path: str) -> tuple[str, ...]:
        values = self.items(data, key, path)
        for number, value in enumerate(values):
            if not isinstance(value, str):
                raise self.wrong("must be text", path, f"{key}[{number}]", value)
        return tuple(values)

    def whole(self, data: Mapping[str, Any], key: str, path: str, default: int | None) -> int | None:
        value = data.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.wrong("must be a whole number from 0", path, key, value)
        return value

    def text(self, data: Mapping[str, Any], key: str, path: str) -> str:
        value = data.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.wrong("must be text", path, key, value)
        return value

    def wrong(self, problem: str, path: str, key: str, value: object) -> InputError:
        return InputError(problem, where=self.where, field=f"{path}.{key}" if path else key, found=shown(value))

    def env(self, data: Mapping[str, Any], key: str, path: str) -> dict[str, str]:
        made: dict[str, str] = {}
        for number, item in enumerate(self.items(data, key, path)):
            if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
                raise self.wrong("must be a mapping with a name", path, f"{key}[{number}]", item)
            made[item["name"]] = _env_value(item, self.config_maps)
        return made

    def container(self, data: Mapping[str, Any], path: str, name: str, env: Mapping[str, str]) -> ContainerView:
        return ContainerView(
            name=self.text(data, "name", path) or name,
            image=self.text(data, "image", path),
            command=self.texts(data, "command", path),
            args=self.texts(data, "args", path),
            env={**env, **self.env(data, "env", path)},
        )

    def amounts(
        self, data: Mapping[str, Any], path: str, families: tuple[str, ...] = ("requests", "limits")
    ) -> dict[str, str]:
        resources = self.mapping(data, "resources", path)
        made: dict[str, str] = {}
        for family in families:
            amounts = self.mapping(resources, family, f"{path}.resources")
            flat = {**amounts, **self.mapping(amounts, "custom", f"{path}.resources.{family}")}
            made.update({name: str(value) for name, value in flat.items() if isinstance(value, (str, int, float))})
        return made

    def nodes(self, data: Mapping[str, Any], path: str) -> int:
        multinode = self.mapping(data, "multinode", path)
        return self.whole(multinode, "nodeCount", f"{path}.multinode", 1) or 1

    def alpha(self, spec: Mapping[str, Any], env: Mapping[str, str]) -> Iterator[ComponentView]:
        services = self.mapping(spec, "services", "spec")
        for name in services:
            path = f"spec.services.{name}"
            data = self.mapping(services, name, "spec.services")
            pod = self.mapping(data, "extraPodSpec", path)
            main_path = f"{path}.extraPodSpec.mainContainer"
            main = self.mapping(pod, "mainContainer", f"{path}.extraPodSpec")
            own = {**env, **self.env(data, "envs", path)}
            sidecar = data.get("frontendSidecar")
            yield ComponentView(
                name=name,
                path=path,
                type=self.text(data, "componentType", path).lower(),
                sub_type=self.text(data, "subComponentType", path).lower(),
                replicas=self.whole(data, "replicas", path, None),
                nodes=self.nodes(data, path),
                main=self.container(main, main_path, keys.MAIN_CONTAINER, own),
                sidecar=self.alpha_sidecar(data, path, own) if sidecar is not None else None,
                resources={**self.amounts(data, path), **self.amounts(main, main_path)},
                requests={**self.amounts(data, path, ("requests",)), **self.amounts(main, main_path, ("requests",))},
                limits={**self.amounts(data, path, ("limits",)), **self.amounts(main, main_path, ("limits",))},
                dynamo_namespace=self.text(data, "dynamoNamespace", path),
                global_namespace=data.get("globalDynamoNamespace") is True,
                data=data,
            )

    def alpha_sidecar(self, data: Mapping[str, Any], path: str, env: Mapping[str, str]) -> ContainerView:
        sidecar = self.mapping(data, "frontendSidecar", path)
        place = f"{path}.frontendSidecar"
        made = self.container(sidecar, place, keys.SIDECAR_FRONTEND, env)
        return ContainerView(
            keys.SIDECAR_FRONTEND, made.image, made.command, made.args, {**made.env, **self.env(sidecar, "envs", place)}
        )

    def beta(self, spec: Mapping[str, Any], env: Mapping[str, str]) -> Iterator[ComponentView]:
        for number, data in enumerate(self.items(spec, "components", "spec")):
            path = f"spec.components[{number}]"
            if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
                raise self.wrong("must be a mapping with a name", "spec", f"components[{number}]", data)
            template = self.mapping(data, "podTemplate", path)
            pod_path = f"{path}.podTemplate.spec"
            pod = self.mapping(template, "spec", f"{path}.podTemplate")
            found: dict[str, Mapping[str, Any]] = {}
            for index, container in enumerate(self.items(pod, "containers", pod_path)):
                if not isinstance(container, Mapping):
                    raise self.wrong("must be a mapping", pod_path, f"containers[{index}]", container)
                found.setdefault(str(container.get("name") or ""), container)
            main = found.get(keys.MAIN_CONTAINER, {})
            main_path = f"{pod_path}.containers[{keys.MAIN_CONTAINER}]"
            sidecar_name = self.text(data, "frontendSidecar", path)
            sidecar = found.get(sidecar_name, {})
            sidecar_path = f"{pod_path}.containers[{sidecar_name}]"
            kind = self.text(data, "type", path).lower()
            yield ComponentView(
                name=data["name"],
                path=path,
                type=kind,
                sub_type="",
                replicas=self.whole(data, "replicas", path, None),
                nodes=self.nodes(data, path),
                main=self.container(main, main_path, keys.MAIN_CONTAINER, env),
                sidecar=self.container(sidecar, sidecar_path, sidecar_name, env) if sidecar_name else None,
                resources=self.amounts(main, main_path),
                requests=self.amounts(main, main_path, ("requests",)),
                limits=self.amounts(main, main_path, ("limits",)),
                dynamo_namespace=self.text(data, "dynamoNamespace", path),
                global_namespace=data.get("globalDynamoNamespace") is True,
                data=data,
            )


def container_of(data: Mapping[str, Any], where: str = "container") -> ContainerView:
    """Return the view of a pod's container."""
    return _Reader(where, {}).container(data, "", str(data.get("name") or ""), {})


def config_maps_of(objects: Iterable[K8sObject]) -> dict[str, Mapping[str, str]]:
    """Return the data of the ConfigMaps among a manifest's objects, by name."""
    return {
        str(item["metadata"].get("name")): {str(key): str(value) for key, value in (item.get("data") or {}).items()}
        for item in objects
        if item.get("kind") == "ConfigMap"
        and isinstance(item.get("metadata"), Mapping)
        and isinstance(item.get("data") or {}, Mapping)
    }


def _env_value(item: Mapping[str, Any], config_maps: Mapping[str, Mapping[str, str]]) -> str:
    source = item.get("valueFrom")
    if not isinstance(source, Mapping):
        value = item.get("value")
        return "" if value is None else str(value)
    for kind, reference in source.items():
        if isinstance(reference, Mapping):
            if kind == "configMapKeyRef":
                value = config_maps.get(str(reference.get("name")), {}).get(str(reference.get("key")))
                if value is not None:
                    return value
            name = reference.get("name") or reference.get("fieldPath") or reference.get("resource") or ""
            return f"<{kind} {name}{'/' + str(reference['key']) if reference.get('key') else ''}>"
    return "<valueFrom>"
