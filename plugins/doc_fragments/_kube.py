# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private documentation fragment: the connection options, named as in kubernetes.core."""

from __future__ import annotations


class ModuleDocFragment:
    """The options of ``module_utils._argspec.KUBE_ARGS``."""

    DOCUMENTATION = r"""
options:
  kubeconfig:
    description:
      - Path of a kubeconfig file, several paths separated by C(:), or the kubeconfig itself as a mapping.
      - Can also be given as the environment variable E(K8S_AUTH_KUBECONFIG). Where O(context) is given without it,
        the client's default file is read.
      - Needs O(context). The file's current context is never used by itself.
    type: raw
  context:
    description:
      - Name of a context in the kubeconfig. This or O(host) must be given.
      - Can also be given as the environment variable E(K8S_AUTH_CONTEXT).
    type: str
  host:
    description:
      - URL of the API server. This or O(context) must be given. With both, O(host) replaces the context's server.
      - Can also be given as the environment variable E(K8S_AUTH_HOST).
    type: str
  api_key:
    description:
      - Bearer token. Can also be given as the environment variable E(K8S_AUTH_API_KEY).
    type: str
  username:
    description:
      - User name for HTTP basic authentication. Can also be given as the environment variable E(K8S_AUTH_USERNAME).
    type: str
  password:
    description:
      - Password for HTTP basic authentication. Can also be given as the environment variable E(K8S_AUTH_PASSWORD).
    type: str
  client_cert:
    description:
      - Path of a client certificate. Can also be given as the environment variable E(K8S_AUTH_CERT_FILE).
    type: path
    aliases: [cert_file]
  client_key:
    description:
      - Path of the client certificate's key. Can also be given as the environment variable E(K8S_AUTH_KEY_FILE).
    type: path
    aliases: [key_file]
  ca_cert:
    description:
      - Path of the CA certificate that the API server's certificate is checked against.
        Can also be given as the environment variable E(K8S_AUTH_SSL_CA_CERT).
    type: path
    aliases: [ssl_ca_cert]
  validate_certs:
    description:
      - Whether to check the API server's certificate. Can also be given as the environment variable
        E(K8S_AUTH_VERIFY_SSL).
    type: bool
    aliases: [verify_ssl]
  proxy:
    description:
      - URL of an HTTP proxy. Can also be given as the environment variable E(K8S_AUTH_PROXY).
    type: str
  no_proxy:
    description:
      - Hosts that are reached without the proxy, separated by commas. Can also be given as the environment variable
        E(K8S_AUTH_NO_PROXY).
    type: str
  proxy_headers:
    description:
      - Headers for the HTTP proxy.
    type: dict
    suboptions:
      proxy_basic_auth:
        description:
          - User name and password for the proxy, separated by a colon. Can also be given as the environment variable
            E(K8S_AUTH_PROXY_HEADERS_PROXY_BASIC_AUTH).
        type: str
      basic_auth:
        description:
          - User name and password for basic authentication, separated by a colon. Can also be given as the environment
            variable E(K8S_AUTH_PROXY_HEADERS_BASIC_AUTH).
        type: str
      user_agent:
        description:
          - User agent shown to the proxy. Can also be given as the environment variable
            E(K8S_AUTH_PROXY_HEADERS_USER_AGENT).
        type: str
  persist_config:
    description:
      - Whether refreshed tokens are saved in the kubeconfig file. Can also be given as the environment variable
        E(K8S_AUTH_PERSIST_CONFIG).
    type: bool
  impersonate_user:
    description:
      - User to act as. Can also be given as the environment variable E(K8S_AUTH_IMPERSONATE_USER).
    type: str
  impersonate_groups:
    description:
      - Groups to act as. Can also be given as the environment variable E(K8S_AUTH_IMPERSONATE_GROUPS), separated by
        commas.
    type: list
    elements: str
"""

    # Beside the standard fragment, by modules that ask a cluster.
    USED = r"""
options: {}
requirements:
  - kubernetes >= 31.0.0
notes:
  - The module refuses to run on an ambient current context. Give O(context) or O(host).
  - Inside a pod give O(host=https://kubernetes.default.svc) with the mounted service account's token as O(api_key) and
    its certificate as O(ca_cert).
"""

    # Beside the standard fragment, by modules that ask none.
    UNUSED = r"""
options: {}
notes:
  - The connection options are accepted, so that one C(module_defaults) entry serves the whole action group. They are
    not used.
"""
