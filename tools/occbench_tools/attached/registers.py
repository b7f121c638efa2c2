# SPDX-License-Identifier: Apache-2.0
"""The report's section on register-limited kernels of `occbench attach`: the source lines that hold their
registers, and the gain by a step of fewer registers.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from occbench_tools.attached.folder import Attached
from occbench_tools.attached.text import count_text, percent, short_name
from occbench_tools.inspect_lines.pressure import LineUse, Pressure
from occbench_tools.inspect_lines.show import (
    changed_sources,
    loops_text,
    place_of,
    source_lines,
    source_text,
    uses_by_line,
)
from occbench_tools.inspect_price import Price, gain_lines, pressure_in, reason_text, why_not
from occbench_tools.sass import Skip

LARGEST = 10  # kernels
MOST_PLACES = 10  # of a kernel, that write registers
MOST_LINES = 300  # of source, of a kernel
CONTEXT = 2  # lines of source beside those with code
WIDEST = 200  # characters of a line of source
HEAD = ["registers", "written at", "source", "last read at"]
NO_FILE = (
    "`occbench report DIR --binary FILE` shows the source lines that hold them, where FILE is the program or "
    "library with these kernels."
)


def text_block(text: str) -> dict[str, Any]:
    return dict(kind="text", text=text)


def step_gain(row: dict[str, Any]) -> tuple[float, float]:
    """The program's gain by a step of registers, then the kernel's own share."""
    return (0 if why_not(row) else row["gain"] * row["gpu_time_share"], row["gpu_time_share"])


def limited_kernels(folder: Attached) -> list[dict[str, Any]]:
    """Rows of kernels.csv whose occupancy registers limit, the largest gain first."""
    rows = folder.kernels[folder.kernels["limiter"].fillna("").str.contains("registers")]
    return sorted(rows.to_dict("records"), key=step_gain, reverse=True)


def unique_code(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first row of each kernel: launches of other shapes have the same code."""
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        first.setdefault((row["symbol"], row["gpu_uuid"]), row)
    return list(first.values())


def section(folder: Attached, files: list[Path]) -> dict[str, Any] | None:
    """The section; None where registers limit no kernel. `files`: may hold the kernels' code."""
    rows = limited_kernels(folder)
    if not rows:
        return None
    share = percent(sum(row["gpu_time_share"] for row in rows))
    rows = unique_code(rows)
    blocks: list[dict[str, Any]] = []
    try:
        for row in rows[:LARGEST] if files else []:
            pressure = pressure_in(files, row, folder.env["gpus"])
            blocks += kernel_blocks(row, pressure)
            if isinstance(pressure, Pressure) and (changed := changed_sources(pressure.listing, files)):
                blocks.append(text_block(f"Sources {changed}."))
    except (Skip, OSError, ValueError) as error:
        blocks.append(text_block(f"Not shown: {error}."))
    if not files:
        blocks.append(text_block(NO_FILE))
    elif len(rows) > LARGEST:
        blocks.append(
            text_block(
                f"{count_text(len(rows) - LARGEST, 'kernel')} more: `occbench inspect FILE --lines KERNEL`."
            )
        )
    first = f"Registers limit {count_text(len(rows), 'kernel')} with {share} of GPU time."
    return dict(
        id="registers", title="Registers by source line", experiment=None, first=first, before=blocks,
        lead=f"{first} What a step gains is extrapolated from the times with fewer warps.",
    )  # fmt: skip


def kernel_blocks(row: dict[str, Any], pressure: Pressure | str) -> list[dict[str, Any]]:
    """The page's blocks on one kernel. `pressure`: a text says why it is not known."""
    reason = why_not(row)
    price = f"A step is {reason_text(reason)}" if reason else " ".join(gain_lines(row))
    heading = dict(
        kind="heading", text=f"{short_name(row['kernel'])}, {percent(row['gpu_time_share'])} of GPU time"
    )
    if isinstance(pressure, str):
        return [heading, text_block(f"{price}. Source lines are not known: {pressure}.")]
    one = Price(row, pressure)
    peak = pressure.listing.steps[pressure.peak]
    place = f"{place_of(peak.chain)}, {loops_text(pressure.depths[pressure.peak])}"
    blocks = [
        heading,
        text_block(f"{price}. {pressure.peak_registers} registers are live at the peak ({place})."),
    ]
    if not pressure.listing.has_lines:
        return [*blocks, text_block("The code has no source lines: build it with nvcc's `-lineinfo`.")]
    groups = [(group, ", unused in the loop") for group in one.waiting] + [
        (group, "") for group in one.others
    ]
    body = [
        [
            f"{len(group.registers)}",
            place_of(group.chain) + remark,
            source_text(group.chain),
            place_of(group.last_read),
        ]
        for group, remark in groups[:MOST_PLACES]
    ]
    return [*blocks, dict(kind="table", head=HEAD, body=body), source(pressure)]


def source(pressure: Pressure) -> dict[str, Any]:
    """A fold of the source with the registers of each line; of long kernels the lines with most."""
    ranked = sorted(uses_by_line(pressure).items(), key=lambda item: item[1].rank, reverse=True)
    shown = [(line, use) for line, use in ranked if line][:MOST_LINES]
    by_file: dict[str, dict[int, LineUse]] = defaultdict(dict)
    for line, use in shown:
        by_file[line.file][line.number] = use
    files = [
        dict(name=Path(file).name, lines=list(source_rows(file, uses))) for file, uses in by_file.items()
    ]
    left = sum(line is not None for line, _ in ranked) - len(shown)
    gone = [Path(file).name for file in by_file if not source_lines(file)]
    parts: list[dict[str, Any]] = [dict(kind="source", peak=pressure.peak_registers, files=files)]
    parts += [text_block(f"Not here, and so without text: {', '.join(gone)}.")] * bool(gone)
    parts += [text_block(f"{count_text(left, 'line')} with fewer live registers are not shown.")] * bool(left)
    return dict(kind="fold", title=f"Source: {count_text(len(shown), 'line')} with code", parts=parts)


def source_rows(file: str, uses: dict[int, LineUse]) -> Iterable[list[Any]]:
    """[number, text, live registers, loops, bytes of spills stored, loaded]; the last four None for a line
    without code."""
    text = source_lines(file)
    near = {n for number in uses for n in range(number - CONTEXT, number + CONTEXT + 1) if 0 < n <= len(text)}
    for number in sorted(near | set(uses)):
        line = text[number - 1][:WIDEST] if number <= len(text) else ""
        if (use := uses.get(number)) is None:
            yield [number, line, None, None, None, None]
        else:
            yield [number, line, use.live, use.depth, use.stored_bytes, use.loaded_bytes]
