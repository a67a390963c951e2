# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks for the smoke test's endpoint on a cluster, anew each time, and opens a port-forward to the pod it chose."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from .core import keys
from .core.dgdview import DgdView, view_dgd
from .core.endpoint import NO_READY_POD, SERVICE_MISSING, Endpoint, find_endpoint, pod_endpoint, service_endpoint
from .core.errors import InputError
from .core.findings import Finding
from .http_probe import Address
from .kube import Absent, Kube


class UrlLocator:
    """An endpoint that is reachable as it is; no cluster is asked."""

    def __init__(self, address: Address, url: str) -> None:
        self.address = address
        self.url = url

    def find(self) -> Endpoint | Finding:
        """Return the endpoint that was given."""
        return Endpoint("url", url=self.url, port=self.address.port, why="it was asked for")

    def open(self, _endpoint: Endpoint) -> contextlib.AbstractContextManager[Address]:
        """Return the address as it was given."""
        return contextlib.nullcontext(self.address)


class KubeLocator:
    """Finds a ready pod behind a DGD, a Service or a pod's name. ``dgd``, ``service`` or ``pod`` is given."""

    def __init__(
        self, kube: Kube, namespace: str, *, dgd: str = "", service: str = "", pod: str = "", port: str = ""
    ) -> None:
        self.kube = kube
        self.namespace = namespace
        self.dgd, self.service, self.pod, self.port = dgd, service, pod, port
        self._view: DgdView | None = None

    def find(self) -> Endpoint | Finding:
        """Return the endpoint as the cluster stands now; the DGD itself is read once."""
        if self.pod:
            pod = self.kube.get("v1", "Pod", self.pod, self.namespace)
            if pod is None:
                return NO_READY_POD.finding("fail", f"Pod/{self.pod}", "There is no such pod.")
            return pod_endpoint(pod, self.port)
        if self.service:
            service = self.kube.get("v1", "Service", self.service, self.namespace)
            if service is None:
                return SERVICE_MISSING.finding("fail", f"Service/{self.service}", "There is no such Service.")
            return service_endpoint(service, self._pods((service.get("spec") or {}).get("selector") or {}), self.port)
        services = self.kube.list_all("v1", "Service", namespace=self.namespace).items
        return find_endpoint(self.view(), self.namespace, services, self._pods({keys.LABEL_DGD: self.dgd}), self.port)

    @contextlib.contextmanager
    def open(self, endpoint: Endpoint) -> Iterator[Address]:
        """Forward a free local port to the endpoint's pod while the block runs."""
        with self.kube.forward(self.namespace, endpoint.pod, endpoint.port) as forward:
            yield Address("127.0.0.1", forward.local_port)

    def view(self) -> DgdView:
        """Return the DGD; raise :class:`InputError` where there is none."""
        if self._view is None:
            where = f"{keys.DGD_KIND}/{self.dgd}"
            data = self._read_dgd()
            if data is None:
                raise InputError("there is no such DGD", where=where, field="dgd", found=f"namespace {self.namespace}")
            self._view = view_dgd(data, where)
        return self._view

    def _read_dgd(self) -> dict[str, Any] | None:
        try:
            return self.kube.get(keys.V1BETA1, keys.DGD_KIND, self.dgd, self.namespace)
        except Absent:
            return self.kube.get(keys.V1ALPHA1, keys.DGD_KIND, self.dgd, self.namespace)

    def _pods(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        if not selector:
            return []
        return self.kube.list_all("v1", "Pod", namespace=self.namespace, label_selector=selector).items
