# SPDX-License-Identifier: Apache-2.0
"""What the registers of a program's lines cost: what `occbench inspect FILE --price DIR` calls.

DIR is of `occbench attach`, which measured what a step of occupancy is worth to each kernel; FILE has their
code. For each kernel that a step of registers makes faster: the lines that hold them, and what it gains.

Exit 0 answered, 2 invalid arguments, 4 FILE or DIR cannot be read, 5 no disassembler is here.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from occbench_tools.attached.folder import Attached, read_attached
from occbench_tools.attached.text import count_text, percent, short_name
from occbench_tools.command import CommandError, entry, parser_of
from occbench_tools.inspect_lines.listing import Listing, read_listing
from occbench_tools.inspect_lines.pressure import (
    FEWER,
    Pressure,
    Values,
    pressure_of,
    values_at_peak,
    values_waiting,
)
from occbench_tools.inspect_lines.show import COLUMNS, place_of, shorten, source_text, values_json
from occbench_tools.lines import print_error, reason, say
from occbench_tools.sass import Failure, Skip

MOST = 10  # kernels
MOST_PLACES = 3  # lines of a kernel
# Begins of reasons that are of the answer, not of the kernel.
UNPRICED = ("behind", "not in", "nvdisasm", "without a name", "unknown", "skipped", "only observed")
MEASURED = ("gain", "gain_low", "gain_high", "next_blocks_per_sm")  # empty where a step was not tried
DEAR = ("needs occupancy", "small gain")  # verdicts of kernels that a step makes faster


@dataclass
class Price:
    """A kernel with a step of registers. `gain`: of its time, with its interval; `share`: of the GPU time."""

    row: dict[str, Any]  # of kernels.csv
    pressure: Pressure

    @property
    def fewer(self) -> int:
        return int(FEWER.match(self.row["next_step"])[1])

    @property
    def of_program(self) -> float:
        return self.row["gain"] * self.row["gpu_time_share"]

    @cached_property
    def waiting(self) -> list[Values]:
        """Live through the loop with most live registers and unused there: the first to move."""
        return [group for group in values_waiting(self.pressure)[1] if group.chain]

    @cached_property
    def others(self) -> list[Values]:
        """Of the rest, live at the peak."""
        taken = {register for group in self.waiting for register in group.registers}
        groups = values_at_peak(self.pressure)
        return [group for group in groups if group.chain and not taken.issuperset(group.registers)]


def why_not(row: dict[str, Any]) -> str:
    """Why no step of registers is worth it; empty where one may be."""
    if row["verdict"] not in DEAR:
        return row["verdict"] or "only observed"
    if not FEWER.match(row["next_step"]):
        return "the next step is not of registers alone" if row["next_step"] else "no next step"
    is_measured = all(pd.notna(row[name]) for name in MEASURED)
    return "" if is_measured and row["gain"] > 0 else "no gain"


def capability_of(gpus: list[dict[str, Any]], uuid: str) -> tuple[int, int]:
    """A GPU's compute capability. Raises ValueError."""
    text = next((str(gpu.get("compute_capability")) for gpu in gpus if gpu.get("uuid") == uuid), "")
    if not (found := re.fullmatch(r"([0-9]{1,2})\.([0-9])", text)):
        raise ValueError(f"env.json: no compute capability of {uuid}")
    return int(found[1]), int(found[2])


def listing_of(files: list[Path], row: dict[str, Any], capability: tuple[int, int]) -> Listing | None:
    """Of the code that the GPU runs: its own architecture's, or that of the nearest before. Raises Skip."""
    major, minor = capability
    for arch in (f"sm_{major}{n}" for n in range(minor, -1, -1)):
        for file in files:
            try:
                return read_listing(file, arch, row["symbol"])
            except Failure:
                continue
    return None


def pressure_in(files: list[Path], row: dict[str, Any], gpus: list[dict[str, Any]]) -> Pressure | str:
    """What holds the registers of a row of kernels.csv, or why that is not known. Raises Skip, ValueError."""
    if not isinstance(row["symbol"], str):
        return "without a name"
    listing = listing_of(files, row, capability_of(gpus, row["gpu_uuid"]))
    if listing is None:
        return "not in FILE"
    if not listing.has_liveness:
        return "nvdisasm does not tell its live registers"
    step = {"gains_with": row["next_step"], "registers_per_thread": int(row["registers_per_thread"])}
    return pressure_of(listing, step)


def price(files: list[Path], attached: Attached) -> tuple[list[Price], dict[str, list[dict[str, Any]]]]:
    """Kernels by what the step is worth to the program, and the others by the reason. Raises Skip."""
    others: dict[str, list[dict[str, Any]]] = {}
    prices: list[Price] = []
    for row in attached.kernels.to_dict("records"):
        why = why_not(row)
        if why:
            others.setdefault(why, []).append(row)
    rows = [row for row in attached.kernels.to_dict("records") if not why_not(row)]
    rows.sort(key=lambda row: -row["gain"] * row["gpu_time_share"])
    for row in rows:
        if len(prices) == MOST:
            others.setdefault(f"behind the first {MOST}", []).append(row)
            continue
        pressure = pressure_in(files, row, attached.env["gpus"])
        if isinstance(pressure, str):
            others.setdefault(pressure, []).append(row)
        else:
            prices.append(Price(row, pressure))
    return prices, others


def interval(row: dict[str, Any]) -> str:
    return f"{percent(row['gain'])} ({100 * row['gain_low']:.1f} to {100 * row['gain_high']:.1f})"


def gain_lines(row: dict[str, Any]) -> Iterator[str]:
    """What a step of registers gains, of a row with one."""
    blocks = int(row["next_blocks_per_sm"] - row["blocks_per_sm"])
    more = "one block more" if blocks == 1 else f"{blocks} blocks more"
    fewer = FEWER.match(row["next_step"])[1]
    yield f"{fewer} of {int(row['registers_per_thread'])} registers fewer is {more}:"
    yield f"{interval(row)} of this kernel, {percent(row['gain'] * row['gpu_time_share'])} of the program"


def price_lines(one: Price) -> Iterator[str]:
    pressure = one.pressure
    peak = pressure.listing.steps[pressure.peak]
    yield from gain_lines(one.row)
    yield f"{peak.live_count} are live at the peak, {place_of(peak.chain)}, written at"
    groups = [(group, ", unused in the loop") for group in one.waiting] + [
        (group, "") for group in one.others
    ]
    for group, remark in groups[:MOST_PLACES]:
        yield f"{len(group.registers):6}  {place_of(group.chain)}{remark}"
        if text := source_text(group.chain):
            yield " " * 8 + text
    if rest := sum(len(group.registers) for group, _ in groups[MOST_PLACES:]):
        yield f"{rest:6}  at other lines"
    if not groups:
        yield "        no source lines: build it with nvcc's -lineinfo"


def reason_text(why: str) -> str:
    return f"not priced: {why}" if why.startswith(UNPRICED) else f"not worth it: {why}"


def as_text(prices: list[Price], others: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    for n, one in enumerate(prices, 1):
        yield shorten(
            f"{n}. {short_name(one.row['kernel'])}, {percent(one.row['gpu_time_share'])} of GPU time", COLUMNS
        )
        yield from (shorten(f"   {line}", COLUMNS) for line in price_lines(one))
        yield ""
    if not prices:
        yield "no kernel gains by a step of registers"
    for why, rows in others.items():
        share = percent(sum(row["gpu_time_share"] for row in rows))
        count = count_text(len(rows), "kernel")
        yield shorten(
            f"{reason_text(why)}: {count}, {share} of GPU time, first {short_name(rows[0]['kernel'])}",
            COLUMNS,
        )


def as_json(prices: list[Price], others: dict[str, list[dict[str, Any]]]) -> str:
    return json.dumps(
        {
            "kernels": [
                {
                    "kernel": one.row["kernel"],
                    "symbol": one.row["symbol"],
                    "gpu_time_share": one.row["gpu_time_share"],
                    "registers_fewer": one.fewer,
                    "gain": one.row["gain"],
                    "gain_low": one.row["gain_low"],
                    "gain_high": one.row["gain_high"],
                    "gain_of_program": one.of_program,
                    "live_registers": one.pressure.peak_registers,
                    "unused_in_loop": [values_json(group) for group in one.waiting],
                    "live_at_peak": [values_json(group) for group in one.others],
                }
                for one in prices
            ],
            "not_priced": [
                {"why": why, "kernel": row["kernel"], "gpu_time_share": row["gpu_time_share"]}
                for why, rows in others.items()
                for row in rows
            ],
        }
    )


@entry("occbench")
def main(argv: list[str] | None = None) -> int:
    parser = parser_of(
        "inspect-price", __doc__.splitlines()[0], "occbench inspect-price results/attach/app app"
    )
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    options = parser.parse_args(argv)
    try:
        attached = read_attached(options.folder)
        for file in options.files:
            if file.exists() and not file.is_file():  # a pipe's other end may never come
                raise CommandError(4, f"{file}: is not a regular file")
            file.open("rb").close()
        prices, others = price(options.files, attached)
    except Skip as error:
        raise CommandError(5, str(error)) from None
    except (OSError, ValueError) as error:
        raise CommandError(4, reason(options.folder, error)) from None
    for warning in attached.warnings:
        print_error("occbench", warning)
    say(*([as_json(prices, others)] if options.format == "json" else as_text(prices, others)))
    return 0
