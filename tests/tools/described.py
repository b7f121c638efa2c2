# SPDX-License-Identifier: Apache-2.0
"""What a made-up run says of its experiments and kernels, as the program does in env.json and in columns."""

from __future__ import annotations

import re
from typing import Any

from occbench_tools.schema_upgrade import PLAIN, SUFFIXES

WHY = "a reason of its own"
# What an experiment says beside PLAIN.
MORE: dict[str, dict[str, Any]] = {
    "barriers": dict(dial="block_size", split_by=["warps_per_sm"]),
    "block_size": dict(dial="block_size", scale="best"),
    "block_size_pick": dict(dial="block_size", scale="best"),
    "bulk_copy": dict(dial="bytes_in_flight", split_by=["warps_per_sm"]),
    "cache_reuse": dict(outside_model=WHY),
    "carveout": dict(dial="carveout_percent"),
    "clusters": dict(dial="cluster_size", split_by=["block_size"], outside_model=WHY),
    "constant_memory": dict(outside_model=WHY),
    "divergence": dict(dial="lanes_apart", split_by=["warps_per_sm"], scale="ceiling"),
    "energy": dict(scale="best"),
    "intensity": dict(scale="ceiling"),
    "launch_bounds_roulette": dict(
        dial="registers_per_thread", split_by=["register_route", "block_size"], scale="best",
        compares_kernels=True, outside_model=WHY,
    ),
    "pointer_chase": dict(dial="working_set_bytes", scale="cycles", compares_kernels=True),
    "registers": dict(
        dial="registers_per_thread", split_by=["register_route", "block_size"], scale="best"
    ),
    "same_occupancy": dict(dial="occupancy_theoretical", split_by=["carveout_percent"]),
    "shared_memory": dict(dial="dynamic_smem_bytes", scale="best"),
    "spilling": dict(
        dial="registers_per_thread", split_by=["register_route", "block_size", "carveout_percent"]
    ),
    "tiled_matmul": dict(dial="occupancy_theoretical"),
    "waves": dict(dial="waves", split_by=["blocks_per_sm"]),
}  # fmt: skip
# The first of these that a kernel's name begins with is its form.
FORMS = (
    "read", "copy", "triad", "two-operand", "three-operand", "sync", "free", "exchange-uneven", "uneven-free",
    "exchange", "named-runtime", "named", "split-lane", "nested", "uniform", "branch-on-warp",
    "branch-on-block", "vector", "image", "full-tested", "full-untested", "smem-read", "dsmem-read",
    "dsmem-spread", "dsmem-latency", "loaded", "walk", "l2-line", "l1", "l2", "dram", "chain", "load", "fma",
    "update", "mma", "wgmma-specialised", "wgmma-pipelined", "wgmma", "textbook", "register", "shared",
    "constant", "indexed", "kogge_stone", "shuffles", "d2q9", "d3q19", "gemm", "hash", "stencil", "bulk",
    "async",
)  # fmt: skip
# What a curve's name lacks of a kernel's.
OF_DIAL = re.compile(
    r"-live\d+|-(free|maxnreg\d+)$|(?<=walk)-.*|(?<=l2-line)\d+|(?<=split-lane)-\d+|(?<=nested)-\d+"
    r"|(?<=bulk|sync)-s\d+"
)
BASELINES = (
    (r"sync-(.*)", r"free-\1"), ("exchange-uneven", "uneven-free"), (r"(.*)-timed", r"\1"),
    (r"(?:split-lane|nested|branch|uniform).*", "uniform"), (r"(?:vector|image|full)-.*", "full-untested"),
)  # fmt: skip


def experiment(name: str) -> dict[str, Any]:
    """env.json's description of it."""
    return PLAIN | dict(question=f"What does {name} cost?") | MORE.get(name, {})


def kernel(variant: str, marks: str) -> dict[str, object]:
    """curve, form, baseline and asked dials of a case; `marks`: what its name has behind the block."""
    form = next((form for form in FORMS if variant.startswith(form)), "")
    found = {column: re.search(mark, marks) for column, mark in SUFFIXES.items()}
    asked: dict[str, float] = {
        column: int(match[1]) for column, match in found.items() if match and int(match[1]) > 0
    }
    if "asked_block_s" in asked:
        asked["asked_block_s"] /= 1e6
    baseline = next(
        (re.sub(rule, other, variant) for rule, other in BASELINES if re.fullmatch(rule, variant)), ""
    )
    form = "timed" if variant.endswith("-timed") else form
    curve = OF_DIAL.sub("", variant)
    if "asked_block_s" in asked:
        curve = "partial waves" if "asked_grid_size" in asked else "whole waves of short blocks"
    named = dict(curve=curve, form=form, baseline=baseline)
    return {column: word for column, word in named.items() if word} | asked
