# SPDX-License-Identifier: Apache-2.0
"""How each experiment is drawn: its question, its dial, what makes a line, and which lines are seen first."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from occbench_tools.analysis import routes

ROUTE = r"-(free|maxnreg\d+|maxrregcount\d+|bounds\d+x\d+)"


class Layout(NamedTuple):
    """question and dial are the program's own (a test compares them).

    strip: what the variant's name says of the dial, and the line's does not. groups: columns that part the
    rows of one kernel into lines, unless x is one of them. show: patterns of lines, those seen first. y: see
    `scales` in chart.js.
    """

    question: str
    dial: str
    strip: str = ""
    groups: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    y: str = ""


LAYOUTS = {
    "latency_hiding": Layout(
        "How many warps hide the latency, when each brings more independent work?",
        "warps_per_sm",
        show=("^read-f32-4B-ilp[14]$", "^read-f32-16B-ilp[14]$", "^two-operand-ilp[14]$"),
        y="GB/s",
    ),
    "intensity": Layout(
        "How does the need for warps change with the arithmetic on each byte?",
        "warps_per_sm",
        show=("^ilp1", "^ilp4-fma(0|32|128)$"),
        y="ceiling",
    ),
    "same_occupancy": Layout(
        "Does it matter by which resource an occupancy came about?",
        "occupancy_theoretical",
        groups=("carveout_percent",),
        show=("^L1.*50 %",),
        y="GB/s",
    ),
    "block_size": Layout(
        "Which block size, when the number of resident warps follows from it?", "block_size", y="best"
    ),
    "block_size_pick": Layout(
        "Is the block size that the occupancy API picks the fastest?",
        "block_size",
        show=("^stencil", "^exchange", "^read", "^two-operand", "^ilp1-8KiB"),
        y="best",
    ),
    "registers": Layout(
        "What does one more register per thread cost?",
        "registers_per_thread",
        strip=r"-live\d+" + ROUTE,
        groups=("register_route", "block_size"),
        show=("^(load|fma), maxnreg, 512", "^(load|fma), maxnreg, 256"),
        y="best",
    ),
    "spilling": Layout(
        "Is spilling worth the occupancy that a register cap buys?",
        "registers_per_thread",
        strip=ROUTE,
        groups=("register_route", "block_size", "carveout_percent"),
        show=("maxnreg, 256 threads", "launch_bounds, 256 threads"),
    ),
    "launch_bounds_roulette": Layout(
        "Is spilling worth the occupancy that __launch_bounds__ or -maxrregcount buys?",
        "registers_per_thread",
        strip=ROUTE,
        groups=("register_route", "block_size"),
        show=("^(gemm|hash|stencil), (maxnreg|launch_bounds), 256",),
        y="best",
    ),
    "shared_memory": Layout(
        "What does one more byte of shared memory per block cost?", "dynamic_smem_bytes", y="best"
    ),
    "tiled_matmul": Layout(
        "How wide a tile of a matrix product, and how many of them on an SM?", "occupancy_theoretical"
    ),
    "transpose": Layout(
        "How many warps does a transpose need, and what do they buy under bank conflicts?", "warps_per_sm"
    ),
    "nbody": Layout(
        "Warps or bodies per thread: what brings all pairs of gravity to full speed?",
        "warps_per_sm",
        show=("bodies[124]$",),
    ),
    "reduction": Layout(
        "How many warps hide the barriers of a row's sum, in blocks of which size?", "warps_per_sm"
    ),
    "softmax": Layout(
        "How many warps does a softmax take, whose rows wait in the registers of a warp or a block?",
        "warps_per_sm",
        show=("-16B$",),
    ),
    "layer_norm": Layout(
        "Does a layer normalization take fewer warps with a row per warp, or a row per block?",
        "warps_per_sm",
        show=("-row1024-16B$", "^warp-.*-16B$"),
    ),
    "scan": Layout(
        "Barriers, shuffles or elements per thread: how many warps does a prefix sum take?",
        "warps_per_sm",
        show=(r"-block256-elements\d$",),
    ),
    "black_scholes": Layout(
        "Does an elementwise kernel at the cusp want warps, options per thread, or registers?", "warps_per_sm"
    ),
    "adam": Layout(
        "How many warps does an optimizer's step take, which reads four arrays and writes three?",
        "warps_per_sm",
        show=("^(4|16)B-ilp[14]$",),
    ),
    "dequantize": Layout(
        "Warps or bytes per thread: what does it take to turn 8-bit weights into floats?",
        "warps_per_sm",
        show=("^(4|16)B-ilp[14]$",),
    ),
    "lattice_boltzmann": Layout(
        "Registers or warps: what does a step of a lattice-Boltzmann fluid take, of 9 or 19 arrays?",
        "warps_per_sm",
        show=(r"^d2q9-sites[14]$", r"^d3q19-sites\d$"),
    ),
    "electrostatic": Layout(
        "Work per thread or warps: what brings a map of electrostatic potentials to full speed?",
        "warps_per_sm",
        show=("^block128-points[148]$",),
    ),
    "monte_carlo": Layout(
        "Warps or paths per thread: what overlaps a simulation's integers and special functions?",
        "warps_per_sm",
        show=("^paths[14](-maxnreg48)?$",),
    ),
    "mri": Layout(
        "Warps or points per thread: what makes an MRI reconstruction fast?",
        "warps_per_sm",
        show=("^shared128-points[14]$",),
    ),
    "constant_memory": Layout(
        "Does constant memory feed warps as well as tiles in shared memory do?",
        "warps_per_sm",
        show=("^(shared128|constant|indexed)-points[14]$",),
    ),
    "sha256": Layout(
        "Warps, chains per thread or unrolled rounds: what makes SHA-256 fast?",
        "warps_per_sm",
        show=("^chains[14]-rounds16$", "^chains1-rounds64$"),
    ),
    "gemv": Layout(
        "How many warps does a matrix times a vector take, with loads of which width and number?",
        "warps_per_sm",
        show=("^block256-",),
    ),
    "convolution": Layout(
        "More outputs per thread or more warps: what brings a filter over an image to full speed?",
        "warps_per_sm",
        show=("^radius[13]-rows4-points[14]$",),
    ),
    "carveout": Layout(
        "What does shared memory that nobody uses cost, when the warps stay the same?", "carveout_percent"
    ),
    "cache_reuse": Layout("When do more resident blocks spoil the L1 that they share?", "warps_per_sm"),
    "bulk_copy": Layout(
        "How few warps saturate DRAM, when copies run ahead of them into shared memory?",
        "bytes_in_flight",
        strip=r"-s\d+(?=-\d+B)",
        groups=("warps_per_sm",),
        show=("^bulk-(4096|8192|32768)B, 1 warp", "^async-2048B, [14] warp"),
    ),
    "pointer_chase": Layout(
        "How long does one load take, at each level of the memory and under load?",
        "working_set_bytes",
        strip=r"(?<=walk)-.*|(?<=l2-line)\d+",
        show=("^walk", "^(l1|l2|dram)$"),
        y="own",
    ),
    "shared_latency": Layout(
        "How many loads from shared memory fill its pipe, and how many when banks conflict?",
        "warps_per_sm",
        show=("^read-ilp[148]-conflict1$", "^read-ilp4-conflict(4|32)$"),
        y="GB/s",
    ),
    "tensor_core": Layout(
        "How many warps fill the tensor cores?",
        "warps_per_sm",
        show=("^mma-acc[128]$", "^wgmma-n(64|256)-ss1$", "^wgmma-n256-ss2$"),
    ),
    "barriers": Layout(
        "What does waiting for the slowest warp cost, and what does naming barriers?",
        "block_size",
        groups=("warps_per_sm",),
        show=("^sync-fma1,", "^exchange-uneven"),
    ),
    "divergence": Layout(
        "What do lanes that part ways cost, and do more warps hide it?",
        "lanes_apart",
        strip=r"(?<=split-lane)-\d+",
        groups=("warps_per_sm",),
        show=("^split-lane", "^uniform"),
        y="ceiling",
    ),
    "waves": Layout(
        "What does a last, partial wave cost, and what the turnover from block to block?",
        "waves",
        groups=("blocks_per_sm",),
        show=("^partial waves",),
    ),
    "clusters": Layout(
        "What does a cluster cost: a neighbour's shared memory, and idle SMs?",
        "cluster_size",
        groups=("block_size",),
        show=("^(dsmem-(read|spread)|smem-read)",),
        y="GB/s",
    ),
    "energy": Layout("Which occupancy does a unit of work with the least energy?", "warps_per_sm", y="best"),
}


def layout(experiment: str) -> Layout:
    """That of an experiment; a plain one for those that nobody described."""
    return LAYOUTS.get(experiment, Layout("", "warps_per_sm"))


def kernels(rows: pd.DataFrame, experiment: str) -> pd.Series:
    """The name of each row's kernel, without what the dial says of it.

    A variant that two families give its name to has the family before it.
    """
    if experiment == "same_occupancy":
        by_route = routes(rows)
        return by_route["kernel"] + ", by " + by_route["route"]
    names = rows["variant"]
    if experiment == "waves":
        partial = rows["case_id"].str.contains(r"\.g\d+", regex=True)
        return partial.map({True: "partial waves", False: "whole waves of short blocks"})
    if strip := layout(experiment).strip:
        names = names.str.replace(strip, "", regex=True)
    families = rows.groupby(names)["family"].transform("nunique")
    return names.where(families == 1, rows["family"] + " " + names)
