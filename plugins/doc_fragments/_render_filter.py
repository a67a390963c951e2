# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private documentation fragment: what a filter that renders a DGD is told of it and of the cluster."""

from __future__ import annotations


class ModuleDocFragment:
    """The options of ``module_utils.render_filters``, but for the release; ``DGD`` are those that name the DGD."""

    DGD = r"""
options:
  _input:
    description: The DGD as data, or a list of objects that holds it.
    type: raw
    required: true
  name:
    description: The DGD to take, where there are several.
    type: str
"""

    DOCUMENTATION = r"""
options:
  namespace:
    description: The namespace that the DGD goes to. Must agree with the manifest's own.
    type: str
  pathway:
    description: The kind of workload, as in M(inference_ops.dynamo.dgd_render).
    type: str
    choices: [auto, deployment, lws, grove]
    default: auto
  operator_config:
    description: Settings of the operator that differ from those of its Helm chart.
    type: dict
  pull_secrets:
    description: Names and registries of the namespace's pull secrets.
    type: list
    elements: dict
  snapshot:
    description: A cluster's snapshot, as M(inference_ops.dynamo.cluster_info) returns it.
    type: dict
"""
