# SPDX-License-Identifier: Apache-2.0
"""Names and figures of kernels, for the cells of tables."""

import pandas as pd

ROOM = 44  # characters of a kernel's name in a table
IN_ROOM = 24  # and of an NVTX range behind it


def percent(share: float, digits: int = 1) -> str:
    """'9.2 %'"""
    return f"{100 * share:.{digits}f} %"


def signed_percent(change: float) -> str:
    """'+17.6 %'"""
    return f"{100 * change:+.1f} %"


def time_of(seconds: float) -> str:
    """'32.9 us', '1.38 ms', '2.10 s'; a dash where none was timed."""
    if not seconds > 0:
        return "-"
    if seconds < 1e-3:
        return f"{1e6 * seconds:.1f} us"
    return f"{1e3 * seconds:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def count_text(number: int, thing: str) -> str:
    """'1 kernel', '1,024 kernels'"""
    return f"{number:,} {thing}{'' if number == 1 else 'es' if thing.endswith(('s', 'ch')) else 's'}"


def strip_arguments(name: str) -> str:
    """A demangled name up to the parenthesis that opens its last group, if it ends with one."""
    depth = 0
    for at in range(len(name) - 1 if name.endswith(")") else 0, 0, -1):
        depth += {")": 1, "(": -1}.get(name[at], 0)
        if depth == 0:
            return name[:at]
    return name


def short_name(name: str, room: int = ROOM) -> str:
    """A name without return type, anonymous namespaces and arguments; its two ends where it is too long."""
    name = strip_arguments(name.removeprefix("void ").replace("(anonymous namespace)::", ""))
    end = room // 3
    return name if len(name) <= room else f"{name[: room - end - 3]}...{name[-end:]}"


def name_of(row: pd.Series, room: int = ROOM) -> str:
    """The name in a row of kernels.csv: 'gelu', 'gelu after softmax' where launches are split by the kernel
    before, 'gelu in forward' for an NVTX range.
    """
    after = row["after"]
    if not isinstance(after, str) or not after:
        return short_name(row["kernel"], room) + range_suffix(row)
    part = room * 5 // 8
    return f"{short_name(row['kernel'], part)} after {short_name(after, part)}{range_suffix(row)}"


def range_suffix(row: pd.Series) -> str:
    """' in forward'; empty outside NVTX ranges."""
    return f" in {short_name(row['range'], IN_ROOM)}" if isinstance(row["range"], str) else ""


def shape(row: pd.Series, what: str) -> str:
    """'64x32', of the row's `grid` or `block`."""
    x, y, z = (row[f"{what}_{axis}"] for axis in "xyz")
    return f"{x}" + f"x{y}" * (y > 1 or z > 1) + f"x{z}" * (z > 1)


def grid(row: pd.Series) -> str:
    """'64x32', or '64x32 on 16 SMs' for a kernel that may not run on all (`part_sms`)."""
    return shape(row, "grid") + ("" if pd.isna(row["part_sms"]) else f" on {row['part_sms']:.0f} SMs")


def occupancy(row: pd.Series) -> str:
    """'12.5 %'; a dash where the driver gave no answer."""
    return percent(row["occupancy"]) if row["blocks_per_sm"] > 0 else "-"


def fewer_warps(levels: list[dict[str, float]]) -> str:
    """'+17.6 % ±0.7 at 75 %', and a line for each other share of the natural warps: slowdowns."""
    return "\n".join(
        f"{signed_percent(one['slowdown'])} ±{50 * (one['high'] - one['low']):.1f} "
        f"at {100 * one['warps']:.0f} %"
        for one in levels
    )


def is_in_graph(kernels: pd.DataFrame) -> pd.Series:
    """Whether each kernel is within a CUDA graph, so that its times are the graph's."""
    return kernels["graph_id"].notna()
