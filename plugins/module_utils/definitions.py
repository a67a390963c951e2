# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What filters that compare DGDs share: data as Ansible hands it over in, the core's view out."""

from __future__ import annotations

from .core.dgdview import DgdView, view_dgd
from .core.manifest import choose_dgd, documents_of
from .manifests import config_maps
from .plain import to_plain


def view_of(definition: object, where: str) -> DgdView:
    """Return the view of the DGD in a mapping or a list of objects; raise :class:`InputError` naming what is wrong."""
    documents = documents_of(to_plain(definition, where), where)
    dgd = choose_dgd(documents)
    return view_dgd(dgd.data, dgd.place, config_maps(documents))
