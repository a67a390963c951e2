#!/usr/bin/env bash
# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Build the collection, install the tarball into an empty folder, and use a module and a playbook from there.
#   package.sh FOLDER        (BIN's tools are on PATH)
set -euo pipefail

work=$1
rm -rf "$work"
mkdir -p "$work"
# The checkout's own link must not count as the installed collection.
export ANSIBLE_COLLECTIONS_PATH=$work/installed
ansible-galaxy collection build --force --output-path "$work" . >/dev/null
# --no-deps: kubernetes.core is beside ansible-core already, and no collection server is asked.
ansible-galaxy collection install --no-deps --collections-path "$work/installed" "$work"/inference_ops-dynamo-*.tar.gz >/dev/null
root=$work/installed/ansible_collections/inference_ops/dynamo

for leftover in build tests/output .git .venv; do
	[ ! -e "$root/$leftover" ] || { echo "the tarball holds $leftover" >&2; exit 1; }
done

cd "$work"
for module in $(sed -n '/^  dynamo:/,$s/^    - //p' "$root/meta/runtime.yml"); do
	ansible-doc -t module "inference_ops.dynamo.$module" >/dev/null
done
ansible-playbook inference_ops.dynamo.plan --syntax-check >/dev/null
ansible localhost -m inference_ops.dynamo.dgd_render \
	-a "src=$root/docs/examples/vllm-agg/deploy.yaml namespace=demo" >"$work/render.out"
grep -q '"kind": "Deployment"' "$work/render.out"
echo "installed from the tarball: $(find "$root/plugins/modules" -name '*.py' ! -name __init__.py | wc -l) modules documented, plan playbook found, a recipe rendered"
