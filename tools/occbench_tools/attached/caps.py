# SPDX-License-Identifier: Apache-2.0
"""The table of caps of a folder of `occbench attach --registers`."""

from typing import Any

import pandas as pd

from occbench_tools.attached.folder import Attached
from occbench_tools.attached.text import ROOM, count_text, short_name, signed_percent


def caps_by_kernel(folder: Attached) -> list[tuple[pd.Series, pd.DataFrame]]:
    """Each kernel's row with its caps, most GPU time first; empty where no cap was tried."""
    if folder.caps is None:
        return []
    rows = dict(list(folder.caps.groupby("kernel_id")))
    kernels = folder.kernels[folder.kernels["kernel_id"].isin(rows)]
    return [(kernel, rows[kernel["kernel_id"]]) for _, kernel in kernels.iterrows()]


HEAD = ["kernel", "cap", "registers", "local memory", "blocks per SM", "launches", "time"]


def table(folder: Attached, most: int) -> dict[str, Any] | None:
    """The page's section on at most `most` kernels; None where no cap was tried."""
    tried = caps_by_kernel(folder)
    if not tried:
        return None
    body = []
    for kernel, rows in tried[:most]:
        fastest = folder.verdicts[kernel["kernel_id"]].get("fastest_cap")
        registers, blocks = kernel["registers_per_thread"], kernel["blocks_per_sm"]
        name = short_name(kernel["kernel"], ROOM)
        body.append([name, "as it is", f"{registers}", f"{kernel['local_bytes']} B", f"{blocks}", "", ""])
        for _, one in rows.iterrows():
            body.append(
                ["", f"{one['register_cap']:.0f}", f"{one['registers_per_thread']:.0f}",
                 f"{one['local_bytes']:.0f} B", f"{one['blocks_per_sm']:.0f}", f"{one['samples']:.0f}",
                 change_text(one) + (" (fastest)" if one["register_cap"] == fastest else "")]
            )  # fmt: skip
    lead = "Launches took turns between the kernel as it is and with caps; local memory is spills and arrays."
    if len(tried) > most:
        lead += f" {count_text(len(tried) - most, 'kernel')} more in registers.csv."
    if (same := folder.env.get("same_stdout")) is not None:
        lead += (
            " The program's stdout was the same with caps, byte for byte."
            if same
            else " The program's stdout DIFFERS with caps, and not between plain runs."
        )
    return dict(
        id="caps", title="Caps on registers", lead=lead, experiment=None, first=folder.findings["program"],
        before=[dict(kind="table", head=HEAD, body=body)],
    )  # fmt: skip


def change_text(one: pd.Series) -> str:
    """'-58.3 % ±0.2': the change of the time against the kernel as it is."""
    if pd.isna(one["change"]):
        return "too few launches"
    return f"{signed_percent(one['change'])} ±{50 * (one['change_high'] - one['change_low']):.1f}"
