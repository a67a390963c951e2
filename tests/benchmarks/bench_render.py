# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long rendering takes and how much memory it needs: ``bench_render FOLDER``.

Renders every DGD input below FOLDER (the recorded answers' inputs) on all pathways in one process, with pods, and
compares the time with that of parsing the same files. Without the folder it takes a few graphs of our own. Exits 1
where a limit is passed.
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import RenderRequest, render
from ansible_collections.inference_ops.dynamo.plugins.module_utils.manifests import load_yaml
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import alpha, beta, service

PATHWAYS = ("deployment", "lws", "grove")
RELEASES = ("1.1", "1.5")


def inputs(folder: Path) -> list[tuple[str, str]]:
    """Return release and text of each input."""
    found = [
        (release, path.read_text(encoding="utf-8"))
        for release in RELEASES
        for path in sorted((folder / release).glob("*/input.yaml"))
    ]
    if found:
        return found
    print(f"bench-render: no inputs in {folder}; taking graphs of our own")
    many = alpha({f"W{number}": service(gpus="8", multinode={"nodeCount": 2}) for number in range(20)})
    return [(release, yaml.safe_dump(graph)) for release in RELEASES for graph in (alpha(), many)] + [
        ("1.5", yaml.safe_dump(beta()))
    ]


def main(argv: list[str]) -> int:
    """Measure, print, and say whether the limits were kept."""
    parser = argparse.ArgumentParser(prog="bench_render", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--max-seconds", type=float, default=3.0)
    parser.add_argument("--max-megabytes", type=float, default=300.0)
    options = parser.parse_args(argv)
    texts = inputs(options.folder)

    began = time.process_time()
    for _unused, text in texts:
        list(yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    plain = time.process_time() - began
    began = time.process_time()
    graphs: list[tuple[str, Mapping[str, Any]]] = [(release, load_yaml(text, "input")[0]) for release, text in texts]
    strict = time.process_time() - began

    gc.collect()
    clock, began = time.perf_counter(), time.process_time()
    refused = pods = 0
    for release, graph in graphs:
        for pathway in PATHWAYS:
            result = render(RenderRequest(graph, release=release, pathway=pathway))  # type: ignore[arg-type]  # literals
            refused += bool(result.errors)
            pods += len(result.pods)
    spent, wall = time.process_time() - began, time.perf_counter() - clock

    runs = len(graphs) * len(PATHWAYS)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024)
    print(f"render: {len(graphs)} inputs, {runs} runs ({refused} refused), {pods} pods")
    print(f"  processor       {spent:8.3f} s   ({1000 * spent / runs:.2f} ms a run)")
    print(f"  wall            {wall:8.3f} s   (more than the processor's only where others use the machine)")
    print(f"  strict parsing  {strict:8.3f} s   ({strict / plain:.1f} x PyYAML's {plain:.3f} s)")
    print(f"  a run against parsing its file with PyYAML: {spent / runs / (plain / len(graphs)):.2f} x")
    print(f"  peak memory     {peak:8.0f} MB")
    kept = spent <= options.max_seconds and peak <= options.max_megabytes
    print(f"  limits          {options.max_seconds:g} s, {options.max_megabytes:g} MB: {'kept' if kept else 'PASSED'}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
