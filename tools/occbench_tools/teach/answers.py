# SPDX-License-Identifier: Apache-2.0
"""The figures of each lesson, from `occbench calc` and rows of the run; 'answer' is the expected one."""

import pandas as pd

from occbench_tools.teach.calculator import Footprint
from occbench_tools.teach.figures import Figure, Skipped, StudentGpu, cell, constant, loss, number_list, ratio

Figures = dict[str, Figure]
KIB = 1024
PERCENT, GBPS = "{:.3g} %", "{:,.0f} GB/s"


def one_more_block(gpu: StudentGpu) -> Figures:
    rows = gpu.rows("waves", curve="partial waves", blocks_per_sm=1)
    full, more = rows[rows["waves"] == 1], rows[rows["waves"] > 1]
    if full.empty or more.empty:
        raise Skipped("the run has no full wave with one block more")
    whole, extra = full.iloc[0], more.loc[more["waves"].idxmin()]
    grid = cell(whole, "grid_size")
    return dict(
        answer=ratio(extra, whole, "time_median_s"),
        grid=grid,
        more=cell(extra, "grid_size"),
        shared=constant(float(extra["grid_size"]) / float(whole["grid_size"])),
    )


def all_warps(gpu: StudentGpu) -> Figures:
    return dict(warps=warp_slots(gpu))


def barriers(gpu: StudentGpu) -> Figures:
    small, large = (
        gpu.rows(
            "barriers", variant="sync-fma1", block_size=size, warps_per_sm=int(warp_slots(gpu).value)
        ).iloc[0]
        for size in (64, 512)
    )
    times = ratio(large, small, "throughput")  # ratio of work done, so of the time of small blocks
    return dict(
        answer=constant(1 if times.low > 1.05 else 2 if times.high < 1 / 1.05 else 3),
        times=times,
        inverse=ratio(small, large, "throughput"),
        warps=cell(small, "warps_per_sm"),
    )


def half_a_warp(gpu: StudentGpu) -> Figures:
    foot = Footprint(48)
    blocks = gpu.calc(foot, "blocks_per_sm")
    return dict(
        answer=gpu.calc(foot, "occupancy", PERCENT),
        blocks=blocks,
        warps=gpu.calc(foot, "warps_per_sm"),
        in_threads=constant(100 * blocks.value * foot.threads / (32 * warp_slots(gpu).value)),
    )


def one_lane(gpu: StudentGpu) -> Figures:
    rows = gpu.rows("divergence", curve="split-lane")
    rows = rows[rows["warps_per_sm"] == rows["warps_per_sm"].max()]
    by_lanes = {int(row["lanes_apart"]): row for _, row in rows.iterrows()}
    if not {0, 1, 16} <= set(by_lanes):
        raise Skipped("the run lacks divergence with 0, 1 and 16 lanes apart")
    return dict(
        answer=ratio(by_lanes[0], by_lanes[1], "throughput"),
        sixteen=ratio(by_lanes[0], by_lanes[16], "throughput"),
        warps=cell(by_lanes[0], "warps_per_sm"),
        share=constant(33 / 32),
    )


def least_warps(rows: pd.DataFrame, best: pd.Series) -> Figures:
    """The fewest warps that reach 90 % of the throughput of `best`, and the step of the sweep below them."""
    rows = rows.sort_values("warps_per_sm")
    enough = rows[rows["throughput"] >= 0.9 * best["throughput"]]
    if enough.empty:
        raise Skipped("no number of warps of the run reaches 90 % of the best")
    least = enough.iloc[0]
    below = rows[rows["warps_per_sm"] < least["warps_per_sm"]]
    before = below.iloc[-1] if len(below) else least
    # Steps of the sweep on either side of the threshold, where the run's interval does not decide.
    share, share_before = (
        ratio(least, best, "throughput", "{:.0f} %"),
        ratio(before, best, "throughput", "{:.0f} %"),
    )
    warps = cell(least, "warps_per_sm")
    low = before["warps_per_sm"] if share_before.high >= 90 else least["warps_per_sm"]
    return dict(
        answer=Figure(warps.value, float(low), warps.value, warps.spec, warps.source),
        share=share,
        before=cell(before, "warps_per_sm"),
        share_before=share_before,
        most=cell(rows.iloc[-1], "warps_per_sm"),
        half=constant(rows["warps_per_sm"].max() / 2),
    )


def slowest_above(rows: pd.DataFrame, best: pd.Series, warps: Figure) -> Figures:
    """The slowest row of more warps than these; the best row if there is none."""
    rows = rows[rows["warps_per_sm"] > warps.value]
    slowest = rows.loc[rows["throughput"].idxmin()] if len(rows) else best
    return dict(dip=cell(slowest, "warps_per_sm"), dip_share=ratio(slowest, best, "throughput", "{:.0f} %"))


STANDARD_WARPS = (4, 8, 12, 16, 20, 24, 32, 40, 48, 64)  # warps per SM, by preset standard


def warp_counts(gpu: StudentGpu, variant: str) -> Figures:
    """The numbers of warps in the run; without a run those of preset standard."""
    if gpu.run:
        return dict(
            tried=number_list(sorted(set(gpu.rows("latency_hiding", variant=variant)["warps_per_sm"])))
        )
    return dict(tried=number_list(warps for warps in STANDARD_WARPS if warps <= warp_slots(gpu).value))


def best_of(rows: pd.DataFrame) -> pd.Series:
    return rows.loc[rows["throughput"].idxmax()]


def fma_warps(gpu: StudentGpu) -> Figures:
    rows = gpu.rows("latency_hiding", variant="two-operand-ilp1")
    best = best_of(rows)
    figures = least_warps(rows, best)
    return (
        figures
        | slowest_above(rows, best, figures["answer"])
        | dict(best=cell(best, "throughput", "{:.1f} TFLOP/s"))
    )


def load_warps(gpu: StudentGpu) -> Figures:
    rows = gpu.rows("latency_hiding", variant="read-f32-4B-ilp1")
    return least_warps(rows, best_of(rows)) | dict(best=cell(best_of(rows), "throughput", GBPS))


def wide_warps(gpu: StudentGpu) -> Figures:
    narrow, wide = (gpu.rows("latency_hiding", variant=f"read-f32-{v}") for v in ("4B-ilp1", "16B-ilp4"))
    figures = least_warps(wide, best_of(narrow)) | dict(best=cell(best_of(narrow), "throughput", GBPS))
    return figures | dict(narrow=load_warps(gpu)["answer"], wide_best=cell(best_of(wide), "throughput", GBPS))


def warp_slots(gpu: StudentGpu) -> Figure:
    """The warps that an SM holds: blocks of 64 threads with few registers fill it."""
    return gpu.calc(Footprint(64, 16), "warps_per_sm")


def small_blocks(gpu: StudentGpu) -> Figures:
    foot = Footprint(32)
    return dict(
        answer=gpu.calc(foot, "occupancy", PERCENT),
        slots=gpu.calc(foot, "blocks_per_sm"),
        warps=warp_slots(gpu),
        all=constant(100),
    )


def cliff_of(gpu: StudentGpu) -> Footprint:
    """The first footprint of 512 threads that loses a block for its registers."""
    return Footprint(512, int(gpu.calc(Footprint(512, 16), "cliffs.registers_per_thread.loses.value").value))


def register_cliff(gpu: StudentGpu) -> Figures:
    start, over = Footprint(512, 16), cliff_of(gpu)
    last = over._replace(registers=over.registers - 1)
    return dict(
        answer=gpu.calc(start, "cliffs.registers_per_thread.loses.value"),
        book=constant(33),
        last=constant(last.registers),
        blocks=gpu.calc(start, "blocks_per_sm"),
        fewer=gpu.calc(over, "blocks_per_sm"),
        occupancy=gpu.calc(last, "occupancy", PERCENT),
        lower=gpu.calc(over, "occupancy", PERCENT),
        room=gpu.calc(over, "allocated_registers_per_block"),
        held=gpu.calc(last, "allocated_registers_per_block"),
        warps=warp_slots(gpu),
    )


def cost_of_cliff(gpu: StudentGpu) -> Figures:
    over = cliff_of(gpu)

    def rows_beside_cliff(curve: str) -> tuple[pd.Series, pd.Series]:
        rows = gpu.rows("registers", curve=curve, block_size=512, register_route="maxnreg", local_bytes=0)
        rows = rows.sort_values("registers_per_thread")
        below, above = (
            rows[rows["registers_per_thread"] < over.registers],
            rows[rows["registers_per_thread"] >= over.registers],
        )
        if below.empty or above.empty:
            raise Skipped(f"the run has no {curve} kernel on either side of {over.registers} registers")
        return below.iloc[-1], above.iloc[0]

    before, after = rows_beside_cliff("load")
    fma_before, fma_after = rows_beside_cliff("fma")
    last = over._replace(registers=over.registers - 1)
    whole, lower = gpu.calc(last, "occupancy", PERCENT), gpu.calc(over, "occupancy", PERCENT)
    return dict(
        answer=loss(after, before),
        fma=loss(fma_after, fma_before),
        occupancy=whole,
        lower=lower,
        last=cell(before, "registers_per_thread"),
        over=cell(after, "registers_per_thread"),
        cliff=constant(over.registers),
        lost=constant(100 - 100 * lower.value / whole.value, "{:.0f} %"),
    )


def rounded_footprint(gpu: StudentGpu) -> tuple[Footprint, bool]:
    """A footprint whose occupancy plain division gets wrong, and True; else the last one, and False."""
    foot = Footprint(256, 33)
    for registers in (33, 41, 65, 49, 73):
        for threads in (256, 128, 64):
            foot = Footprint(threads, registers)
            if abs(gpu.ask(foot)["occupancy"] - gpu.ask(foot)["occupancy_textbook"]) > 0.001:
                return foot, True
    return foot, False


def rounded_footprint_figures(gpu: StudentGpu) -> Figures:
    foot, _ = rounded_footprint(gpu)
    return dict(threads=constant(foot.threads), registers=constant(foot.registers))


def register_units(gpu: StudentGpu) -> Figures:
    foot, _ = rounded_footprint(gpu)
    return dict(
        answer=gpu.calc(foot, "occupancy", PERCENT),
        divided=gpu.calc(foot, "occupancy_textbook", PERCENT),
        warps=gpu.calc(foot, "warps_per_sm"),
        room=gpu.calc(foot, "allocated_registers_per_block"),
        asked=constant(foot.threads * foot.registers),
    )


def no_launch(gpu: StudentGpu) -> Figures:
    foot, fewer = Footprint(320, 200), Footprint(256, 200)
    return dict(
        answer=gpu.calc(foot, "blocks_per_sm"),
        divided=constant(1),
        one=gpu.calc(fewer, "blocks_per_sm"),
        promised=gpu.calc(foot, "occupancy_textbook", PERCENT),
    )


def shared_per_sm(gpu: StudentGpu) -> Figures:
    foot = Footprint(256)
    answer = gpu.ask(foot)
    used = answer["blocks_per_sm"] * answer["allocated_smem_per_block_bytes"]
    total = (used + answer["unused_per_sm"]["smem_bytes"]) / KIB
    return dict(answer=constant(total, "{:.0f}"), block=constant(48))


def footprint_with_reserve(gpu: StudentGpu) -> Footprint:
    """A footprint of shared memory whose blocks plain division gets wrong, if there is one."""
    for kib in (32, *range(8, 49)):
        foot = Footprint(256, 32, kib * KIB)
        if (answer := gpu.ask(foot))["occupancy"] != answer["occupancy_textbook"] and answer["blocks_per_sm"]:
            return foot
    return Footprint(256, 32, 32 * KIB)


def reserve_figures(gpu: StudentGpu) -> Figures:
    return dict(kib=constant(footprint_with_reserve(gpu).smem / KIB))


def shared_memory(gpu: StudentGpu) -> Figures:
    foot = footprint_with_reserve(gpu)
    own = gpu.calc(foot, "allocated_smem_per_block_bytes", "{:.0f} KiB")
    divided = (
        gpu.ask(foot)["occupancy_textbook"] / gpu.ask(foot)["occupancy"] * gpu.ask(foot)["blocks_per_sm"]
    )
    return dict(
        answer=gpu.calc(foot, "blocks_per_sm"),
        taken=own,
        divided=constant(round(divided)),
        occupancy=gpu.calc(foot, "occupancy", PERCENT),
        asked=constant(foot.smem / KIB, "{:.0f} KiB"),
        reserved=constant(own.value - foot.smem / KIB, "{:.0f} KiB"),
    )


def tiles(gpu: StudentGpu) -> Figures:
    text = best_of(gpu.rows("tiled_matmul", variant="textbook-tile16"))
    registers = best_of(gpu.rows("tiled_matmul", variant="register-8x8"))
    times = ratio(registers, text, "throughput", "{:.1f}")
    return dict(
        answer=constant(1 if times.high < 1 / 1.05 else 2 if times.low > 1.05 else 3),
        times=times,
        full=cell(text, "occupancy_theoretical", PERCENT),
        part=cell(registers, "occupancy_theoretical", PERCENT),
    )
