# SPDX-License-Identifier: Apache-2.0
"""What a folder of `occbench attach --registers` says of caps: in sentences, and in a table's cells."""

from __future__ import annotations

from typing import Any

import pandas as pd

from occbench_tools.attached.folder import Attached
from occbench_tools.attached.text import NO_CHANGE, ROOM, counted, percent, shape, short_name, signed


def best(caps: pd.DataFrame) -> pd.Series | None:
    """Of one kernel's rows the fastest whose whole interval is below no change, as attach itself picks it."""
    faster = caps[(caps["change"] < -NO_CHANGE) & (caps["change_high"] < 0)]
    return None if faster.empty else faster.loc[faster["change"].idxmin()]


def by_kernel(folder: Attached) -> list[tuple[pd.Series, pd.DataFrame]]:
    """Each kernel's row with its caps; most GPU time first. Nothing where no cap was tried."""
    if folder.caps is None:
        return []
    rows = dict(list(folder.caps.groupby("kernel_id")))
    kernels = folder.kernels[folder.kernels["kernel_id"].isin(rows)]
    return [(kernel, rows[kernel["kernel_id"]]) for _, kernel in kernels.iterrows()]


def whole(folder: Attached) -> str:
    """One sentence or two on the program. Of a folder in which caps were tried."""
    tried = by_kernel(folder)
    share = percent(sum(kernel["gpu_time_share"] for kernel, _ in tried), 0)
    said = f"Caps on registers were tried in {counted(len(tried), 'kernel')} with {share} of GPU time"
    found = [(kernel["gpu_time_share"], one) for kernel, rows in tried if (one := best(rows)) is not None]
    if not found:
        return f"{said}: none is faster than the kernel as it is."
    value, low, high = (
        [-part * one[end] for part, one in found] for end in ("change", "change_high", "change_low")
    )
    # Each kernel's error is its own.
    below, above = (
        sum((end - mid) ** 2 for end, mid in zip(ends, value, strict=True)) ** 0.5 for ends in (low, high)
    )
    total = sum(value)
    return (
        f"{said}; the fastest of each would save about {percent(total)} of all GPU time "
        f"({100 * (total - below):.1f} to {100 * (total + above):.1f})."
    )


def sentences(folder: Attached, room: int) -> list[str]:
    """Of each kernel that a cap makes faster, what saves most first; then the others together."""
    gains, same, few = [], [], []
    for kernel, rows in by_kernel(folder):
        if (one := best(rows)) is not None:
            gains.append((kernel["gpu_time_share"] * -one["change"], kernel, one))
        else:
            (few if rows["change"].isna().any() else same).append(kernel)
    said = []
    for saves, kernel, one in sorted(gains, key=lambda each: -each[0]):
        name = short_name(kernel["kernel"], room).replace("`", "'")
        low, high = -100 * one["change_high"], -100 * one["change_low"]
        said.append(
            f"`{name}` (grid {shape(kernel, 'grid')}, {percent(kernel['gpu_time_share'])} of GPU time): "
            f"at most {one['register_cap']:.0f} registers in place of {kernel['registers_per_thread']} take "
            f"{percent(-one['change'])} less time ({low:.1f} to {high:.1f}), {percent(saves)} of all; "
            f"{one['blocks_per_sm']:.0f} blocks per SM, not {kernel['blocks_per_sm']}, "
            f"and {one['local_bytes']:.0f} B of local memory, not {kernel['local_bytes']}."
        )
    for what, kernels in (
        ("No cap is faster than the kernel as it is", same),
        ("Too few launches to tell of some cap: run longer", few),
    ):
        if kernels:
            share = percent(sum(kernel["gpu_time_share"] for kernel in kernels))
            name = short_name(kernels[0]["kernel"], room).replace("`", "'")
            said.append(
                f"{what}: {counted(len(kernels), 'kernel')}, {share} of GPU time, the largest `{name}`."
            )
    return said


HEAD = ["kernel", "cap", "registers", "local memory", "blocks per SM", "launches", "time"]


def table(folder: Attached, most: int) -> dict[str, Any] | None:
    """The page's section, of at most so many kernels; None where no cap was tried."""
    tried = by_kernel(folder)
    if not tried:
        return None
    body = []
    for kernel, rows in tried[:most]:
        fastest = best(rows)
        registers, blocks = kernel["registers_per_thread"], kernel["blocks_per_sm"]
        name = short_name(kernel["kernel"], ROOM)
        body.append([name, "as it is", f"{registers}", f"{kernel['local_bytes']} B", f"{blocks}", "", ""])
        for _, one in rows.iterrows():
            is_best = fastest is not None and one["register_cap"] == fastest["register_cap"]
            body.append(
                ["", f"{one['register_cap']:.0f}", f"{one['registers_per_thread']:.0f}",
                 f"{one['local_bytes']:.0f} B", f"{one['blocks_per_sm']:.0f}", f"{one['samples']:.0f}",
                 changed(one) + (" (fastest)" if is_best else "")]
            )  # fmt: skip
    lead = "Launches took turns between the kernel as it is and with caps; local memory is spills and arrays."
    if len(tried) > most:
        lead += f" {counted(len(tried) - most, 'kernel')} more in registers.csv."
    if (same := folder.env.get("same_stdout")) is not None:
        lead += (
            " The program's stdout was the same with caps, byte for byte."
            if same
            else " The program's stdout DIFFERS with caps, and not between plain runs."
        )
    return dict(
        id="caps", title="Caps on registers", lead=lead, experiment=None, first=whole(folder),
        before=[dict(kind="table", head=HEAD, body=body)],
    )  # fmt: skip


def changed(one: pd.Series) -> str:
    """'-58.3 % ±0.2': against the kernel as it is."""
    if pd.isna(one["change"]):
        return "too few launches"
    return f"{signed(one['change'])} ±{50 * (one['change_high'] - one['change_low']):.1f}"
