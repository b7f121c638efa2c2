# SPDX-License-Identifier: Apache-2.0
"""What a folder of `occbench attach` says in words: of a kernel, for a table's cells, and of the program."""

from __future__ import annotations

from math import floor

import pandas as pd

from occbench_tools.attached.verdicts import JUDGED, L1, NEEDS, SKIPPED

# As in harness/attach/analysis/verdict.hpp, parts of the time: what is worth its work, what is no change, and
# the gain of a whole program that is more than a bound.
WORTH_IT, NO_CHANGE, WORTH_SAYING = 0.03, 0.01, 0.005
ROOM = 44  # signs of a kernel's name in a table
IN_ROOM = 24  # and of an NVTX range behind it


def percent(share: float, digits: int = 1) -> str:
    """'9.2 %'"""
    return f"{100 * share:.{digits}f} %"


def signed(change: float) -> str:
    """'+17.6 %'"""
    return f"{100 * change:+.1f} %"


def time_of(seconds: float) -> str:
    """'32.9 us', '1.38 ms', '2.10 s'; a dash where none was timed."""
    if not seconds > 0:
        return "-"
    if seconds < 1e-3:
        return f"{1e6 * seconds:.1f} us"
    return f"{1e3 * seconds:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def counted(number: int, thing: str) -> str:
    """'1 kernel', '1,024 kernels'"""
    return f"{number:,} {thing}{'' if number == 1 else 'es' if thing.endswith(('s', 'ch')) else 's'}"


def short_name(name: str, room: int = ROOM) -> str:
    """A name without return type, anonymous namespaces and arguments; its two ends where it is too long."""
    name = name.removeprefix("void ").replace("(anonymous namespace)::", "")
    if name.endswith(")"):
        depth = 0
        for at in range(len(name) - 1, 0, -1):
            depth += {")": 1, "(": -1}.get(name[at], 0)
            if depth == 0:
                name = name[:at]
                break
    end = room // 3
    return name if len(name) <= room else f"{name[: room - end - 3]}...{name[-end:]}"


def name_of(row: pd.Series, room: int = ROOM) -> str:
    """Of a row of kernels.csv: 'gelu', 'gelu after softmax' where its launches were told apart so, 'gelu in
    forward' of an NVTX range.
    """
    after = row["after"]
    if not isinstance(after, str) or not after:
        return short_name(row["kernel"], room) + within(row)
    part = room * 5 // 8
    return f"{short_name(row['kernel'], part)} after {short_name(after, part)}{within(row)}"


def within(row: pd.Series) -> str:
    """' in forward', or nothing outside NVTX ranges."""
    return f" in {short_name(row['range'], IN_ROOM)}" if isinstance(row["range"], str) else ""


def shape(row: pd.Series, what: str) -> str:
    """'64x32', of the row's `grid` or `block`."""
    x, y, z = (row[f"{what}_{axis}"] for axis in "xyz")
    return f"{x}" + f"x{y}" * (y > 1 or z > 1) + f"x{z}" * (z > 1)


def grid(row: pd.Series) -> str:
    """'64x32', or '64x32 on 16 SMs' of a kernel that may not run on all (`part_sms` of Attached.kernels)."""
    return shape(row, "grid") + ("" if pd.isna(row["part_sms"]) else f" on {row['part_sms']:.0f} SMs")


def gain(row: pd.Series) -> str:
    """'-6.0 % (-8.9 to +1.2)': what the next step would save of the kernel's own time."""
    value, low, high = (100 * row[column] for column in ("gain", "gain_low", "gain_high"))
    return f"{-value:+.1f} % ({-high:+.1f} to {-low:+.1f})"


def next_step(row: pd.Series) -> str:
    """'87 registers fewer: -6.0 % (-8.9 to +1.2)', '8 registers fewer: not worth it', 'none'"""
    if not row["next_step"]:
        return "none"
    if pd.isna(row["gain"]):
        return row["next_step"]
    return f"{row['next_step']}: {'not worth it' if row['gain'] < NO_CHANGE else gain(row)}"


def occupancy(row: pd.Series) -> str:
    """'12.5 %'; a dash where the driver gave no answer."""
    return percent(row["occupancy"]) if row["blocks_per_sm"] > 0 else "-"


def verdict(row: pd.Series) -> str:
    """'needs occupancy, and L1 (+8.3 % without)', 'unknown: about 61 launches more'"""
    said = row["verdict"] or "observed"
    if said in (NEEDS, L1) and row["l1_change_low"] > WORTH_IT:
        said += f"{', and L1' if said == NEEDS else ''} ({signed(row['l1_change'])} without)"
    return f"{said}: {row['why']}" if row["why"] else said


def fewer_warps(levels: pd.DataFrame) -> str:
    """'+17.6 % ±0.7 at 75 %', and a line for each other share of the natural warps: slowdowns."""
    return "\n".join(
        f"{signed(one.slowdown)} ±{50 * (one.high - one.low):.1f} at {100 * one.warps:.0f} %"
        for one in levels.itertuples()
    )


def in_graphs(kernels: pd.DataFrame) -> pd.Series:
    """Rows of kernels within CUDA graphs: their times are the graph's."""
    return kernels["graph_id"].notna()


def are_graphs(kernels: pd.DataFrame) -> pd.Series:
    """Rows of whole CUDA graphs."""
    return (kernels["block_x"] == 0) & kernels["graph_kernels"].notna()


def sentence(kernels: pd.DataFrame) -> str:
    """The last line of `occbench attach`, on the whole program."""
    has_graphs = bool(are_graphs(kernels).any())
    kernels = kernels[~are_graphs(kernels)]
    judged = kernels.loc[kernels["verdict"].isin(JUDGED), "gpu_time_share"].sum()
    needing = kernels[kernels["verdict"] == NEEDS]
    held = needing["gpu_time_share"].sum()
    if judged == 0 and has_graphs and kernels["gpu_time_share"].sum() < WORTH_SAYING:
        return ""
    if judged == 0:
        return f"No kernel{' outside CUDA graphs' if has_graphs else ''} is known well enough to judge."
    if held == 0:
        part = percent(judged, 0)
        return f"No kernel needs more occupancy, of those judged, which hold {part} of GPU time."
    value, low, high = (
        needing["gpu_time_share"] * needing[column].fillna(0) for column in ("gain", "gain_low", "gain_high")
    )
    # What the law misses by is each kernel's own.
    below, above = ((((end - value) ** 2).sum()) ** 0.5 for end in (low, high))
    value = value.sum()
    if value == 0:
        what = ", and none has a next step"
    elif value + above < WORTH_SAYING:
        what = f"; their next steps would gain less than {percent(floor(1000 * (value + above) + 1) / 1000)}"
    else:
        least = round(100 * (value - below), 1) + 0.0  # never '-0.0'
        interval = f"{least:.1f} to {100 * (value + above):.1f}"
        what = f"; the next step in each would gain about {percent(value)} ({interval})"
    return (
        f"Kernels that need occupancy hold {percent(held, 0)} of GPU time{what}. "
        f"Judged: kernels with {percent(judged, 0)} of GPU time."
    )


def summary(kernels: pd.DataFrame, processes: int) -> str:
    """'11,915 launches of 62 kernels in 1 process, 3.1 s of GPU time'"""
    kernels = kernels[~in_graphs(kernels)]
    launches = int(kernels["launches"].sum())
    return (
        f"{counted(launches, 'launch')} of "
        f"{counted(len(kernels), 'kernel')} in {counted(processes, 'process')}, "
        f"{time_of(kernels['time_total_s'].sum())} of GPU time"
    )


def skipped(kernels: pd.DataFrame) -> pd.DataFrame:
    """By reason, the most GPU time first: why, kernels, share."""
    alone = (
        kernels[(kernels["verdict"] == SKIPPED) & ~in_graphs(kernels)]
        .groupby("why")["gpu_time_share"]
        .agg(["size", "sum"])
    )
    found = alone.rename(columns=dict(size="kernels", sum="share")).reset_index()
    return found.sort_values("share", ascending=False, kind="stable")
