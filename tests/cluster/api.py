# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small client for any kind of object, on the kubernetes client's transport and credentials."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3
from kubernetes import config

Object = dict[str, Any]
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class ApiError(Exception):
    """The server's answer: HTTP status, its reason and message."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status, self.reason, self.message = status, reason, message


class Api:
    """Requests to one cluster. Safe to use from one thread; make one for each."""

    def __init__(self, kubeconfig: Path, context: str, user_agent: str = "inference-ops-cluster") -> None:
        self._client = config.new_client_from_config(config_file=str(kubeconfig), context=context)
        self._client.user_agent = user_agent
        self._kinds: dict[str, dict[str, tuple[str, bool]]] = {}

    def raw(
        self,
        method: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
        timeout: tuple[float, float] = (5.0, 60.0),
    ) -> Any:
        """The response itself, its body not yet read; raises ApiError for any status over 299."""
        headers = {"Accept": "application/json", "User-Agent": self._client.user_agent}
        url = self._client.configuration.host + path
        pool: urllib3.PoolManager = self._client.rest_client.pool_manager
        if body is not None:
            headers["Content-Type"] = content_type
        response = pool.request(
            method,
            url,
            body=None if body is None else json.dumps(body),
            headers={**headers, **self._auth()},
            preload_content=False,
            timeout=urllib3.Timeout(connect=timeout[0], read=timeout[1]),
            retries=False,
        )
        if response.status > 299:
            text = response.read().decode(errors="replace")
            response.release_conn()
            try:
                answer = json.loads(text)
            except ValueError:
                answer = {"reason": response.reason or "", "message": text}
            raise ApiError(response.status, answer.get("reason") or "", answer.get("message") or "")
        return response

    def _auth(self) -> dict[str, str]:
        token = self._client.configuration.get_api_key_with_prefix("authorization")
        return {"Authorization": token} if token else {}

    def request(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Object:
        response = self.raw(method, path, body, content_type)
        try:
            data = response.read()
        finally:
            response.release_conn()
        return json.loads(data) if data else {}

    def text(self, path: str) -> str:
        response = self.raw("GET", path)
        try:
            return str(response.read().decode(errors="replace"))
        finally:
            response.release_conn()

    def path(self, api_version: str, kind: str, namespace: str = "", name: str = "") -> str:
        """URL path of a kind or one object; looks the plural up once per API version."""
        base = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        if kind not in self._kinds.get(api_version, {}):
            resources = self.request("GET", base)["resources"]
            self._kinds[api_version] = {
                item["kind"]: (item["name"], item["namespaced"]) for item in resources if "/" not in item["name"]
            }
        if kind not in self._kinds[api_version]:
            raise ApiError(404, "NotFound", f"the server has no kind {kind} in {api_version}")
        plural, namespaced = self._kinds[api_version][kind]
        parts = [base]
        if namespaced and namespace:
            parts.append(f"namespaces/{namespace}")
        parts.append(plural)
        return "/".join([*parts, name] if name else parts)

    def path_of(self, item: Mapping[str, Any], *, collection: bool = False) -> str:
        meta = item["metadata"]
        name = "" if collection else meta["name"]
        return self.path(item["apiVersion"], item["kind"], meta.get("namespace", ""), name)

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Object | None:
        """None when there is no such object."""
        try:
            return self.request("GET", self.path(api_version, kind, namespace, name))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, api_version: str, kind: str, namespace: str = "", labels: str = "") -> list[Object]:
        query = f"?{urlencode({'labelSelector': labels})}" if labels else ""
        answer = self.request("GET", self.path(api_version, kind, namespace) + query)
        return [{"apiVersion": api_version, "kind": kind, **item} for item in answer["items"]]

    def create(self, item: Object) -> Object:
        return self.request("POST", self.path_of(item, collection=True), item)

    def apply(self, item: Object, manager: str = "inference-ops-cluster", subresource: str = "") -> Object:
        """Server-side apply, taking over fields from others."""
        query = urlencode({"fieldManager": manager, "force": "true"})
        path = self.path_of(item) + (f"/{subresource}" if subresource else "")
        return self.request("PATCH", f"{path}?{query}", item, APPLY_PATCH)

    def patch(self, item: Mapping[str, Any], change: Object, subresource: str = "") -> Object:
        path = self.path_of(item) + (f"/{subresource}" if subresource else "")
        return self.request("PATCH", path, change, MERGE_PATCH)

    def delete(self, item: Mapping[str, Any], propagation: str = "Background") -> bool:
        """False when it was gone already."""
        try:
            self.request("DELETE", self.path_of(item), {"propagationPolicy": propagation})
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    def watch(
        self, path: str, resource_version: str, seconds: int = 240, extra: str = ""
    ) -> Iterator[tuple[str, Object]]:
        """(type, object) of each change since ``resource_version``; ends after ``seconds``.

        Raises ApiError; 410 means: list anew.
        """
        query = urlencode(
            {
                "watch": "true",
                "resourceVersion": resource_version,
                "timeoutSeconds": seconds,
                "allowWatchBookmarks": "true",
            }
        )
        response = self.raw("GET", f"{path}?{query}&{extra}", timeout=(5.0, seconds + 15.0))
        buffered = b""
        try:
            for chunk in response.stream(65536, decode_content=True):
                *lines, buffered = (buffered + chunk).split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        status = event["object"]
                        raise ApiError(status.get("code", 500), status.get("reason", ""), status.get("message", ""))
                    yield event["type"], event["object"]
        finally:
            response.close()

    def close(self) -> None:
        self._client.rest_client.pool_manager.clear()


def wait_until(what: str, check: Any, seconds: float = 30.0, interval: float = 0.1) -> Any:
    """The first true value of ``check()``; raises TimeoutError naming ``what``. API errors count as not yet."""
    deadline = time.monotonic() + seconds
    problem = ""
    while True:
        try:
            if value := check():
                return value
        except (ApiError, urllib3.exceptions.HTTPError, KeyError) as error:
            problem = f" (last: {error})"
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not after {seconds:.0f} s{problem}")
        time.sleep(interval)
