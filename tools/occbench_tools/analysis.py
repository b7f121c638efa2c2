# SPDX-License-Identifier: Apache-2.0
"""A folder of results as data frames, and what is computed from its rows: for pictures and findings alike."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from occbench_tools import folder as folder_reader

UNITS = {"byte/s": (1e9, "GB/s"), "flop/s": (1e12, "TFLOP/s"), "operation/s": (1e9, "G operations/s")}
WORK = {"byte/s": "bytes_per_launch", "flop/s": "flop_per_launch", "operation/s": "operations_per_launch"}


def read_folder(folder: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Valid rows of cases.csv, and env.json. Raises OSError or ValueError.

    env["source"] is "measured" or "model". A version without predictions gets their columns, empty. Column
    `outside_model`: why no figure of the model is counted in the row's experiment; empty where it is.
    """
    run = folder_reader.read_folder(folder, samples=False, strict=False)
    said = {name: it["outside_model"] for name, it in run.env["experiments"].items()}
    why = {name: words for name, words in said.items() if isinstance(words, str)}
    rows = with_predictions(run.valid)
    return rows.assign(outside_model=rows["experiment"].map(why).astype(object)), run.env


def with_predictions(cases: pd.DataFrame) -> pd.DataFrame:
    """The rows; those of a version without predictions get their columns, empty."""
    columns = ("throughput_predicted", "bound_predicted", "throughput_baseline")
    return cases.assign(**{column: np.nan for column in columns if column not in cases})


def scaled(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of one experiment with three columns more.

    rate and unit (the throughput in words for people) and percent (of the variant's own best).
    """
    scale = rows["throughput_unit"].map({unit: scale for unit, (scale, _) in UNITS.items()}).fillna(1)
    unit = rows["throughput_unit"].map({unit: name for unit, (_, name) in UNITS.items()})
    best = rows.groupby(["family", "variant"])["throughput"].transform("max")
    return rows.assign(
        rate=rows["throughput"] / scale,
        unit=unit.fillna(rows["throughput_unit"]),
        percent=100 * rows["throughput"] / best,
    )


# Two points lie on any law, and three on most. Below so many distinct values of its dial a line is its
# marks alone, and nothing is said of where it is best, what suffices, or how it bends.
CURVE_POINTS = 4  # as many as the doublings 8, 16, 32, 64 of an SM's warps


def is_curve(values: Iterable[float]) -> bool:
    """Whether points at these values of a dial are joined by a line, and may be spoken of as one."""
    return len({value for value in values if pd.notna(value)}) >= CURVE_POINTS


def many(count: float, thing: str) -> str:
    """'1 warp', '4 warps'"""
    return f"{count:g} {thing}{'' if count == 1 else 's'}"


def least(rows: pd.DataFrame, x: str, share: float, y: str = "throughput") -> float:
    """The least x at which y reaches `share` of its largest value."""
    return rows.loc[rows[y] >= share * rows[y].max(), x].min()


def best(rows: pd.DataFrame, y: str = "throughput") -> pd.Series:
    """The row with the largest y."""
    return rows.loc[rows[y].idxmax()]


def reached(rows: pd.DataFrame, x: str, y: str, level: float) -> float:
    """The x at which y first comes to `level`, on straight lines from the origin and between points."""
    rows = rows.sort_values(x)
    xs, ys = ([0.0, *rows[column]] for column in (x, y))
    for i in range(1, len(xs)):
        if ys[i] >= level:
            return xs[i - 1] + (level - ys[i - 1]) / (ys[i] - ys[i - 1]) * (xs[i] - xs[i - 1])
    return np.nan


def cusp(rows: pd.DataFrame) -> pd.DataFrame:
    """Experiment intensity: the warps that come to one share of the roof, by ilp and fma_per_load.

    `share`, in percent: the largest multiple of 5 that every fma_per_load of this ilp comes to. `best`: the
    share at the best.
    """
    needed = []
    roof = "percent_of_ceiling"
    for ilp, part in rows.dropna(subset=roof).groupby("ilp"):
        lines = [
            (fmas, line) for fmas, line in part.groupby("fma_per_load") if is_curve(line["warps_per_sm"])
        ]
        if not lines:
            continue
        share = min(line[roof].max() for _, line in lines) // 5 * 5
        needed += [
            (ilp, fmas, share, reached(line, "warps_per_sm", roof, share), line[roof].max())
            for fmas, line in lines
            if share > 0
        ]
    return pd.DataFrame(needed, columns=["ilp", "fma_per_load", "share", "warps", "best"])


def has_cusp(line: pd.DataFrame) -> bool:
    """Whether one ilp of cusp() needs most warps neither with the fewest FMAs per load nor with the most."""
    warps = line.sort_values("fma_per_load")["warps"]
    return len(warps) > 2 and warps.iloc[1:-1].max() > warps.iloc[[0, -1]].max()


def in_flight(rows: pd.DataFrame) -> pd.Series:
    """Experiment bulk_copy: bytes that an SM's asynchronous copies have under way at most."""
    return rows["bytes_in_flight"] * rows["warps_per_sm"]


def sawtooth(rows: pd.DataFrame) -> pd.DataFrame:
    """Experiment waves: grids that are no whole number of waves.

    For each row `expected`, one wave's time x the waves rounded up, and `off`, how much longer it took
    (fraction).
    """
    grids = rows[rows["asked_grid_size"].notna()]
    one = grids[grids["waves"] == 1].groupby("blocks_per_sm")["time_median_s"].first()
    expected = np.ceil(grids["waves"]) * grids["blocks_per_sm"].map(one)
    return grids.assign(expected=expected, off=grids["time_median_s"] / expected - 1).dropna(
        subset="expected"
    )


def turnover(rows: pd.DataFrame) -> pd.DataFrame:
    """Experiment waves: SM cycles that each wave after the first adds, by blocks_per_sm and block_us.

    With one block per SM that is a turnover, from a block's end to the next one's first pass; with several
    the others work meanwhile, and it is what is left. Computed as the time of w waves of short blocks less
    that of one wave that makes as many passes, over w - 1. Where rounding let them make a few passes more or
    less, those are taken off at the long blocks' time per pass. low and high bound the 95 % interval: those
    of the two medians, in quadrature. `sure`: half of it is less than half of the value, or than 100 cycles.
    """
    block_us = (1e6 * rows["asked_block_s"]).round(3)
    rows = rows.assign(block_us=block_us)[rows["asked_grid_size"].isna()]
    lone = rows["waves"] == 1
    found = []
    for _, many in rows[~lone & rows["block_us"].notna()].iterrows():
        waves = round(many["waves"])
        passes = waves * many["iterations"]
        whole = rows[
            lone & (rows["blocks_per_sm"] == many["blocks_per_sm"]) & (rows["variant"] == many["variant"])
        ]
        whole = whole[(whole["iterations"] / passes - 1).abs() < 0.25]
        if whole.empty:
            continue
        one = whole.loc[(whole["iterations"] - passes).abs().idxmin()]
        same_work_s = one["time_median_s"] * passes / one["iterations"]
        cycles = many["sm_clock_hz"] / (waves - 1)
        up, down = (
            np.hypot(
                many[f"time_ci95_{end}_s"] - many["time_median_s"],
                one[f"time_ci95_{other}_s"] - one["time_median_s"],
            )
            for end, other in (("high", "low"), ("low", "high"))
        )
        middle = many["time_median_s"] - same_work_s
        found.append(
            (
                many["blocks_per_sm"],
                many["block_us"],
                *(cycles * s for s in (middle, middle - down, middle + up)),
            )
        )
    turns = pd.DataFrame(found, columns=["blocks_per_sm", "block_us", "cycles", "low", "high"], dtype=float)
    half = (turns["high"] - turns["low"]) / 2
    return turns.assign(sure=half < np.maximum(turns["cycles"].abs() / 2, 100))


def picks(rows: pd.DataFrame) -> pd.DataFrame:
    """Experiment block_size_pick: the API's block size, the best, and what the pick loses (fraction)."""
    found = []
    for (family, variant), line in rows.groupby(["family", "variant"]):
        picked = line[line["block_size"] == line["block_size_api"]]
        if len(picked):
            pick, top = best(picked), best(line)
            loss = 1 - pick["throughput"] / top["throughput"]
            found.append((family, variant, pick["block_size"], top["block_size"], loss))
    return pd.DataFrame(found, columns=["family", "variant", "pick", "best", "loss"])


def tooth(grids: pd.DataFrame) -> pd.Series:
    """What one block beyond w waves costs, in waves, by w: of sawtooth()'s rows of one blocks_per_sm."""
    times = grids.set_index("grid_size")["time_median_s"]
    wave = grids["grid_size"] / grids["waves"]
    whole = grids.loc[(grids["waves"] % 1 == 0) & (grids["waves"] > 0), "waves"]
    size = round(wave.iloc[0]) if len(wave) else 0
    found = {
        w: (times[size * w + 1] - times[size * w]) / times[size]
        for w in whole.astype(int)
        if {size, size * w + 1} <= set(times.index)
    }
    return pd.Series(found, dtype=float)


def busy(rows: pd.DataFrame) -> pd.Series:
    """Experiment energy: a single launch's time over that from launch to launch while energy was counted."""
    return rows["time_median_s"] * rows["power_w"] / rows["energy_per_launch_j"]


def waited(rows: pd.DataFrame, env: dict[str, Any]) -> pd.Series:
    """Experiment energy: where the device idled between launches, so that its joules are not the work's.

    A device that is less busy because it runs at its power limit did not.
    """
    limit = env["gpu"].get("power_limit_w") or np.inf
    return (busy(rows) < 0.9) & (rows["power_w"] < 0.9 * limit)


def per_joule(rows: pd.DataFrame) -> pd.Series:
    """Experiment energy: work (byte, flop or operation) per joule of the board; NaN if not measured."""
    work = [row[WORK[row["throughput_unit"]]] for _, row in rows.iterrows()]
    return pd.Series(work, rows.index, dtype=float) / rows["energy_per_launch_j"]


def routes(rows: pd.DataFrame) -> pd.DataFrame:
    """Experiment same_occupancy: `kernel`, and the `route` by which it came to its occupancy.

    Ballast is asked for; the others are block sizes that do not fit, and registers. A kernel that reuses a
    working set is one for all blocks whose warps reuse as much each.
    """
    ballast = rows["asked_resident_blocks"].notna()
    usual = rows.loc[ballast, "block_size"].mode()
    misfit = rows["block_size"] != (usual.iloc[0] if len(usual) else 0)
    per_warp = rows["working_set_bytes"] / 1024 / (rows["block_size"] / 32)
    form = rows["form"].where(rows["form"].notna(), rows["curve"])
    return rows.assign(
        kernel=form.mask(per_warp.notna(), per_warp.map("L1, {:g} KiB per warp".format)),
        route=np.select([ballast, misfit], ["shared memory", "block size"], "registers"),
    )


def behind_routes(rows: pd.DataFrame) -> pd.DataFrame:
    """Of one kernel of routes(): what each route loses (fraction) to the fastest with as large an L1.

    By occupancy, carve-out and route, where there are two routes or more.
    """
    key = ["occupancy_theoretical", "carveout_percent"]
    arms = rows.groupby([*key, "route"])["throughput"].max().reset_index()
    several = arms[arms.groupby(key)["route"].transform("size") > 1]
    top = several.groupby(key)["throughput"].transform("max")
    return several.assign(loss=1 - several["throughput"] / top)


def alone(rows: pd.DataFrame, column: str) -> pd.Series:
    """For each row the least of a column among its baseline's rows at as many warps; NaN where there is none.

    A row whose baseline is itself is its own.
    """
    least_ = rows.groupby(["family", "variant", "warps_per_sm"])[column].min()
    key = pd.MultiIndex.from_frame(rows[["family", "baseline", "warps_per_sm"]])
    return pd.Series(least_.reindex(key).to_numpy(), rows.index, float)


def cycles(rows: pd.DataFrame) -> pd.Series:
    """SM cycles of a loop iteration: by the kernel's own clock, where it has one, else by events."""
    own = rows["own_cycles_per_pass"] if "own_cycles_per_pass" in rows else pd.Series(np.nan, rows.index)
    return own.where(own > 0, rows["cycles_per_pass"])


def meetings(rows: pd.DataFrame) -> pd.DataFrame:
    """Experiment barriers: what meeting costs, beside the same work without.

    cycles_per_round (a round is one meeting, or one exchange) and `ratio`: the time over that of the variant
    that never waits, at as many warps; NaN where that was not measured.
    """
    warps = rows["grid_size"] * rows["block_size"] / 32
    rounds = rows["operations_per_launch"] / warps / rows["iterations"]
    ratio = rows["cycles_per_pass"] / alone(rows, "cycles_per_pass")
    return rows.assign(cycles_per_round=rows["cycles_per_pass"] / rounds, ratio=ratio)


def parted(rows: pd.DataFrame) -> pd.DataFrame:
    """Experiment divergence: `ratio`, the time of a loop iteration over the baseline's at as many warps.

    `loss`, the part of the baseline's useful rate that is lost, and `outside`, the part of the lanes that
    stand outside (both fractions).
    """
    lane_flop = rows["flop_per_launch"] / rows["grid_size"] / rows["block_size"] / rows["iterations"]
    rows = rows.assign(lane_flop=lane_flop)
    return rows.assign(
        ratio=rows["cycles_per_pass"] / alone(rows, "cycles_per_pass"),
        loss=1 - rows["throughput"] / alone(rows, "throughput"),
        outside=1 - lane_flop / alone(rows, "lane_flop"),
    )


# L1 and shared memory together, and the sizes that shared memory can be set to, KiB, by compute capability:
# CUDA C++ Programming Guide, 'Compute Capabilities'.
UNIFIED_KIB = {
    "7.0": (128, (0, 8, 16, 32, 64, 96)), "7.5": (96, (32, 64)),
    "8.0": (192, (0, 8, 16, 32, 64, 100, 132, 164)), "8.6": (128, (0, 8, 16, 32, 64, 100)),
    "8.9": (128, (0, 8, 16, 32, 64, 100)), "9.0": (256, (0, 8, 16, 32, 64, 100, 132, 164, 196, 228)),
    "10.0": (256, (0, 8, 16, 32, 64, 100, 132, 164, 196, 228)), "12.0": (128, (0, 8, 16, 32, 64, 100)),
}  # fmt: skip


def l1_kib(rows: pd.DataFrame, env: dict[str, Any]) -> pd.Series:
    """KiB of L1 that each row's carve-out and blocks leave; NaN for a GPU that is not in the table."""
    unified, sizes = UNIFIED_KIB.get(env["gpu"].get("compute_capability"), (np.nan, (0,)))
    asked = rows["carveout_percent"].clip(lower=0) / 100 * sizes[-1]
    block = (rows["dynamic_smem_bytes"] + rows["static_smem_bytes"].fillna(0)) / 1024 + 1  # the driver's KiB
    need = np.maximum(asked, rows["blocks_per_sm"] * block).fillna(0).clip(upper=sizes[-1])
    return unified - need.map(lambda kib: next(size for size in sizes if size >= kib))
