# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only file that imports the Kubernetes client: authentication, requests, paging, retries, watches, port-forward.

The client gives us configuration (kubeconfig, exec plugins, TLS) and its connection pool; objects stay the plain
data that the API serves, which spares a model class for every kind and most of the memory.
"""

from __future__ import annotations

import functools
import json
import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from .core.errors import InputError
from .core.kinds import Kind, known_kind, resource_path
from .kube_errors import (
    RETRYABLE_STATUS,
    Absent,
    Conflict,
    Forbidden,
    Gone,
    KubeError,
    NotFound,
    Unauthorized,
    Unreachable,
    asked,
    error_from,
)
from .kube_http import ATTEMPTS, CONNECT_TIMEOUT, Transport, keepalive
from .port_forward import PortForward, Target

try:
    import urllib3
    from kubernetes import client as kubernetes_client
    from kubernetes import config as kubernetes_config

    IMPORT_ERROR: str | None = None
except ImportError:
    IMPORT_ERROR = traceback.format_exc()

__all__ = [
    "Absent",
    "Conflict",
    "Forbidden",
    "Gone",
    "Kube",
    "KubeError",
    "ListResult",
    "NotFound",
    "Unauthorized",
    "Unreachable",
    "connect",
]

#: Name of the field manager of everything we apply ourselves.
FIELD_MANAGER = "inference-ops-dynamo"
#: Objects a page: what kubectl asks for too.
PAGE = 500
#: How long a kubelet may take to hand a log over: where its node is lost, the API server itself waits for long.
LOG_TIMEOUT = 10.0
#: How often a list whose continuation expired under way is begun anew.
RESTARTS = 3
_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"

#: Group to version to plural to kind.
Discovery = dict[str, dict[str, dict[str, Kind]]]
Trim = Callable[[dict[str, Any]], "dict[str, Any] | None"]


@dataclass(frozen=True)
class ListResult:
    """A whole list and the resource version from which a watch goes on."""

    items: list[dict[str, Any]]
    resource_version: str


class Kube(Transport):
    """One API server and its objects. Safe to use from several threads."""

    # -- objects ----------------------------------------------------------------------------------------------------

    def get(self, api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        """Return one object, or None where it does not exist; raise :class:`Absent` where its kind does not."""
        try:
            result: dict[str, Any] = self.request("GET", resource_path(api_version, known_kind(kind), namespace, name))
        except Absent:
            raise
        except NotFound:
            return None
        return result

    def list_all(
        self,
        api_version: str,
        kind: str,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        trim: Trim | None = None,
        metadata_only: bool = False,
        page: int = PAGE,
        attempts: int = ATTEMPTS,
    ) -> ListResult:
        """List a kind page by page.

        ``trim`` is applied to each object as its page arrives, so that a large list is never held whole; None drops
        the object. ``metadata_only`` asks the server for names and labels alone (a Secret without its data).
        ``attempts`` bounds how often a page is asked for.
        """
        path = resource_path(api_version, known_kind(kind), namespace)
        for restart in range(RESTARTS + 1):
            try:
                return self._list_once(
                    path, _selectors(label_selector, field_selector), trim, metadata_only, page, attempts
                )
            except Gone:
                if restart == RESTARTS:
                    raise
        raise RuntimeError("unreachable")  # the loop returns or raises

    def _list_once(
        self, path: str, params: dict[str, str], trim: Trim | None, metadata_only: bool, page: int, attempts: int
    ) -> ListResult:
        accept = f"{_METADATA},application/json" if metadata_only else "application/json"
        params = {**params, "limit": str(page)}
        what = asked("GET", path)
        items: list[dict[str, Any]] = []
        while True:
            answer = self.request("GET", path, params, accept=accept, what=what, attempts=attempts)
            kind, version = _item_kind(answer)
            for item in answer.get("items") or ():
                # Items of a list come without kind and apiVersion, and judges ask for them.
                item.setdefault("kind", kind)
                item.setdefault("apiVersion", version)
                kept = trim(item) if trim else item
                if kept is not None:
                    items.append(kept)
            metadata = answer.get("metadata") or {}
            if not metadata.get("continue"):
                return ListResult(items, str(metadata.get("resourceVersion") or ""))
            params["continue"] = metadata["continue"]

    def list_rows(self, api_version: str, kind: str, *, namespace: str = "") -> list[dict[str, str]] | None:
        """Return what ``kubectl get`` prints of a kind, a row a mapping by column: of a Secret its name and type alone.

        None where the server makes no tables.
        """
        path = resource_path(api_version, known_kind(kind), namespace)
        params = {"limit": str(PAGE)}
        rows: list[dict[str, str]] = []
        columns: list[str] = []
        while True:
            answer = self.request("GET", path, params, accept=f"{_TABLE},application/json")
            if answer.get("kind") != "Table":
                return None
            columns = [entry["name"] for entry in answer.get("columnDefinitions") or ()] or columns
            rows += [dict(zip(columns, map(str, row["cells"]), strict=False)) for row in answer.get("rows") or ()]
            proceed = (answer.get("metadata") or {}).get("continue")
            if not proceed:
                return rows
            params["continue"] = proceed

    def watch(
        self,
        api_version: str,
        kind: str,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str,
        timeout_seconds: int,
        opened: Callable[[], None] | None = None,
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield ``(ADDED|MODIFIED|DELETED|BOOKMARK, object)`` from one HTTP watch until the server or the time ends it.

        Go on with the resource version of the last object seen. Raises :class:`Gone` where that is too old, which an
        ERROR event says as well; list anew then. ``opened`` is called once the server has agreed to watch.
        """
        path = resource_path(api_version, known_kind(kind), namespace)
        what = asked("GET", path, watch=True)
        params = {
            **_selectors(label_selector, field_selector),
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(max(1, int(timeout_seconds))),
        }
        answer = self.send("GET", path, params, read_timeout=timeout_seconds + CONNECT_TIMEOUT, what=what)
        if opened is not None:
            opened()
        try:
            for line in self.lines(answer, what):
                event = json.loads(line)
                if event.get("type") == "ERROR":
                    status = event.get("object") or {}
                    raise error_from(int(status.get("code") or 500), status, what)
                yield event["type"], event["object"]
        finally:
            answer.close()

    def logs(
        self, pod: str, namespace: str, container: str = "", *, previous: bool = False, tail_lines: int = 20
    ) -> str:
        """Return the last lines of a container's log; asked for once, as no judgement hangs on them."""
        path = f"{resource_path('v1', known_kind('Pod'), namespace, pod)}/log"
        params = {"tailLines": str(tail_lines), "limitBytes": "65536"}
        if container:
            params["container"] = container
        if previous:
            params["previous"] = "true"
        what = asked("GET", path)
        text = self.read(self.send("GET", path, params, accept="*/*", read_timeout=LOG_TIMEOUT, what=what), what)
        return text.decode("utf-8", "replace")

    def apply(
        self, manifest: Mapping[str, Any], kind: Kind, *, dry_run: bool, force: bool = False, namespace: str = ""
    ) -> dict[str, Any]:
        """Apply an object server-side under our field manager and return what the server makes of it."""
        metadata = manifest.get("metadata") or {}
        target = namespace or str(metadata.get("namespace") or "")
        path = resource_path(str(manifest.get("apiVersion") or ""), kind, target, str(metadata.get("name") or ""))
        params = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
        if force:
            params["force"] = "true"
        if dry_run:
            params["dryRun"] = "All"
        result: dict[str, Any] = self.request(
            "PATCH", path, params, body=dict(manifest), content_type="application/apply-patch+yaml"
        )
        return result

    def access_review(
        self,
        *,
        verb: str,
        resource: str,
        group: str = "",
        namespace: str = "",
        name: str = "",
        user: str = "",
        groups: tuple[str, ...] = (),
    ) -> tuple[bool | None, str]:
        """Say whether ``user`` (we ourselves where empty) may do something, and the server's reason.

        None means that the question itself is not permitted.
        """
        wanted = {"verb": verb, "resource": resource, "group": group, "namespace": namespace, "name": name}
        spec: dict[str, Any] = {"resourceAttributes": {key: value for key, value in wanted.items() if value}}
        kind, plural = "SelfSubjectAccessReview", "selfsubjectaccessreviews"
        if user:
            kind, plural = "SubjectAccessReview", "subjectaccessreviews"
            spec |= {"user": user, "groups": list(groups)}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
        try:
            status = self.request("POST", f"/apis/authorization.k8s.io/v1/{plural}", body=body).get("status") or {}
        except Forbidden as error:
            return None, str(error)
        return bool(status.get("allowed")), str(status.get("reason") or status.get("evaluationError") or "")

    # -- the server -------------------------------------------------------------------------------------------------

    def serves(self) -> bool:
        """Ask once whether the server calls itself ready; one that will not tell counts as ready.

        Raises :class:`Unreachable`. A server that just came up answers before it knows its roles and kinds.
        """
        what = asked("GET", "/readyz")
        try:
            self.read(self.send("GET", "/readyz", accept="*/*", read_timeout=LOG_TIMEOUT, what=what), what)
        except Unreachable:
            raise
        except KubeError as error:
            return error.status not in RETRYABLE_STATUS
        return True

    def server_version(self) -> str:
        """Return the server's version, such as ``v1.36.3``."""
        return str(self.request("GET", "/version").get("gitVersion") or "")

    def discovery(self) -> Discovery:
        """Return ``{group: {version: {plural: Kind}}}`` of all groups but the core one, preferred version first.

        One request. Servers before 1.30 that do not aggregate answer with groups and versions alone.
        """
        answer = self.request("GET", "/apis", accept=f"{_DISCOVERY},application/json")
        found: Discovery = {}
        if answer.get("kind") == "APIGroupDiscoveryList":
            for group in answer.get("items") or ():
                name = group["metadata"]["name"]
                found[name] = {version["version"]: _resources(name, version) for version in group.get("versions") or ()}
            return found
        for group in answer.get("groups") or ():
            preferred = (group.get("preferredVersion") or {}).get("version")
            versions = [version["version"] for version in group.get("versions") or ()]
            found[group["name"]] = {version: {} for version in sorted(versions, key=lambda item: item != preferred)}
        return found

    def forward(self, namespace: str, pod: str, port: int) -> PortForward:
        """Forward a free local port to a pod's port: ``with kube.forward(…) as forward: … forward.local_port``."""
        path = f"{resource_path('v1', known_kind('Pod'), namespace, pod)}/portforward"
        configuration = self.configuration
        target = Target(
            url=self.host.replace("http", "ws", 1) + quote(path) + f"?ports={port}",
            headers=self.headers,
            what=asked("POST", path),
            ca_cert=configuration.ssl_ca_cert,
            client_cert=configuration.cert_file,
            client_key=configuration.key_file,
            verify=bool(configuration.verify_ssl),
            server_name=getattr(configuration, "tls_server_name", None),
            proxy=configuration.proxy,
            no_proxy=configuration.no_proxy,
            on_request=self.count,
        )
        return PortForward(target)


def _selectors(labels: str, fields: str) -> dict[str, str]:
    return {key: value for key, value in (("labelSelector", labels), ("fieldSelector", fields)) if value}


def _resources(group: str, version: Mapping[str, Any]) -> dict[str, Kind]:
    return {
        entry["resource"]: Kind(
            str((entry.get("responseKind") or {}).get("kind") or ""),
            entry["resource"],
            group,
            version["version"],
            entry.get("scope") != "Cluster",
        )
        for entry in version.get("resources") or ()
    }


def _item_kind(answer: Mapping[str, Any]) -> tuple[str, str]:
    kind = str(answer.get("kind") or "")
    return kind[: -len("List")] if kind.endswith("List") else kind, str(answer.get("apiVersion") or "")


# -- connection -----------------------------------------------------------------------------------------------------


def connect(params: Mapping[str, Any], *, agent: str, **options: Any) -> Kube:
    """Make the connection that a module's parameters describe; ``agent`` is the module's name for the server's log.

    Raises :class:`InputError` where neither context nor host is given or the kubeconfig cannot be used. Nothing is
    sent yet.
    """
    if IMPORT_ERROR is not None:
        raise InputError(
            "the Python package kubernetes is missing where this module runs", remedy="Install kubernetes >= 31.0.0"
        )
    given = functools.partial(_given, params)
    if not given("context") and not given("host"):
        raise InputError(
            "no cluster was named",
            field="context",
            remedy="Give context (with kubeconfig) or host; the kubeconfig's current context is never used by itself",
        )
    configuration = kubernetes_client.Configuration()
    if given("context"):
        _load_kubeconfig(configuration, given("kubeconfig"), str(given("context")), bool(given("persist_config")))
    elif given("kubeconfig") and not _explicit_credentials(params):
        raise InputError("a kubeconfig was given without a context", field="context", remedy="Name the context to use")
    _apply_explicit(configuration, params)
    impersonate = (str(given("impersonate_user") or ""), tuple(given("impersonate_groups") or ()))
    pool = kubernetes_client.ApiClient(configuration).rest_client.pool_manager
    # Set here, as older clients know no such option; the pool opens its connections later.
    pool.connection_pool_kw.setdefault("socket_options", keepalive())
    return Kube(
        configuration, pool, agent=agent, context=str(given("context") or ""), impersonate=impersonate, **options
    )


def _given(params: Mapping[str, Any], name: str) -> Any:
    value = params.get(name)
    return None if value in ("", [], {}) else value


def _explicit_credentials(params: Mapping[str, Any]) -> bool:
    """As in kubernetes.core: a host with its own credentials needs no kubeconfig, even where one is set."""
    return any(
        all(_given(params, name) for name in names)
        for names in (("api_key",), ("username", "password"), ("client_cert", "client_key"))
    )


def _load_kubeconfig(configuration: Any, kubeconfig: Any, context: str, persist: bool) -> None:
    options: dict[str, Any] = {"context": context, "client_configuration": configuration}
    try:
        if isinstance(kubeconfig, Mapping):
            where = "kubeconfig (given as a mapping)"
            kubernetes_config.load_kube_config_from_dict(dict(kubeconfig), **options)
            return
        if kubeconfig is not None and (not isinstance(kubeconfig, str) or "\n" in kubeconfig):
            raise InputError("must be a file's path or a mapping", field="kubeconfig")
        where = kubeconfig or kubernetes_config.KUBE_CONFIG_DEFAULT_LOCATION
        if not any(os.path.exists(os.path.expanduser(part)) for part in where.split(os.pathsep)):
            raise InputError("there is no such kubeconfig file", where=where, field="kubeconfig")
        kubernetes_config.load_kube_config(config_file=where, persist_config=persist, **options)
    except kubernetes_config.ConfigException as error:
        if _lacks_context(kubeconfig, context):
            raise InputError(f"the kubeconfig has no context {context}", where=where, field="context") from None
        raise InputError(f"the kubeconfig cannot be used: {error}", where=where, field="kubeconfig") from None
    except InputError:
        raise
    except Exception as error:
        # The client raises whatever its YAML parser, its files or an exec plugin raise; a parser's text quotes content.
        raise InputError(
            f"the kubeconfig cannot be read ({type(error).__name__})", where=where, field="kubeconfig"
        ) from None


def _lacks_context(kubeconfig: Any, context: str) -> bool:
    try:
        if isinstance(kubeconfig, Mapping):
            contexts = kubeconfig.get("contexts") or []
        else:
            contexts = kubernetes_config.list_kube_config_contexts(config_file=kubeconfig)[0]
    except (kubernetes_config.ConfigException, TypeError):
        return False
    return context not in [entry.get("name") for entry in contexts]


def _apply_explicit(configuration: Any, params: Mapping[str, Any]) -> None:
    """Let options that were given replace what the kubeconfig says."""
    for option, attribute in (
        ("host", "host"),
        ("username", "username"),
        ("password", "password"),
        ("ca_cert", "ssl_ca_cert"),
        ("client_cert", "cert_file"),
        ("client_key", "key_file"),
        ("proxy", "proxy"),
        ("no_proxy", "no_proxy"),
    ):
        value = _given(params, option)
        if value is not None:
            setattr(configuration, attribute, value)
    for option in ("ca_cert", "client_cert", "client_key"):
        path = _given(params, option)
        if path is not None and not os.path.isfile(path):
            raise InputError("there is no such file", where=path, field=option)
    if params.get("validate_certs") is not None:
        configuration.verify_ssl = bool(params["validate_certs"])
    token = _given(params, "api_key")
    if token is not None:
        configuration.refresh_api_key_hook = None
        configuration.api_key = {"authorization": token if " " in token else f"Bearer {token}"}
        configuration.api_key_prefix = {}
    headers = {key: value for key, value in (_given(params, "proxy_headers") or {}).items() if value}
    if headers:
        configuration.proxy_headers = urllib3.util.make_headers(**headers)
