# SPDX-License-Identifier: Apache-2.0
"""The tables of caps: the resources of each build, kernel by kernel, and the cost of each step."""

import csv
import json
import shutil
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from occbench_tools.caps.builds import Build, Use
from occbench_tools.caps.ptx import Limit
from occbench_tools.caps.steps import Footprint, Residency, residencies
from occbench_tools.caps.timing import Change, Times, change, output_of, percent, verdict
from occbench_tools.escape import printable
from occbench_tools.inspect_lines.roles import Pool
from occbench_tools.programs import demangle
from occbench_tools.screen import elide

Footprints = Callable[..., Footprint]
NAME = 72


@lru_cache
def demangle_name(name: str) -> str:
    """The name as c++filt prints it, where there is one."""
    found = demangle([name]) if name.startswith("_Z") else None
    return found[0] if found else name


def words_of(build: Build) -> str:
    return build.limit.words() if build.limit else "as it is"


def join_roles(values: Iterable[Any]) -> str:
    return "/".join(map(str, values))


def spilled_by_role(pool: Pool) -> str:
    """'0/96'; '0/96, shared 16' where code that several roles run spills as well."""
    shared = f", shared {pool.shared_spilled_bytes}" if pool.shared_spilled_bytes else ""
    return join_roles(role.spilled_bytes for role in pool.roles) + shared


def smem_cost_text(use: Use, residency: Residency, plain: tuple[Use, Residency]) -> str:
    """The cost of spilling to shared memory: '19,456 B of shared memory, 3 blocks per SM in place of 8'."""
    smem = f"{use.static_smem_bytes - plain[0].static_smem_bytes:,} B of shared memory"
    if residency.blocks == plain[1].blocks:
        return smem
    return f"{smem}, {residency.blocks} blocks per SM in place of {plain[1].blocks}"


def cost_text(use: Use, residency: Residency, own: Use, base: Residency) -> str:
    """The change against the source as it is: '+12.5 points, 24 B more spilled'."""
    points = 100 * (residency.occupancy - base.occupancy)
    parts = [f"{points:+.1f} points" if points else "same occupancy"]
    spilled = use.spill_bytes - own.spill_bytes
    if spilled:
        parts.append(f"{abs(spilled):,} B {'more' if spilled > 0 else 'less'} spilled")
    code = use.code_bytes - own.code_bytes
    if code and own.code_bytes:
        parts.append(f"{100 * code / own.code_bytes:+.0f} % code")
    return ", ".join(parts) if len(parts) > 1 or points else "nothing changes"


def time_cells(timed: Times, base: Times, compared: int) -> dict[str, Any]:
    """The cells on a build's time and output, against those of the source as it is."""
    found: dict[str, Any] = {
        "time_median": float(np.median(timed.values)) if timed.values else None,
        "samples": len(timed.values),
        "output": output_of(timed, base),
    }
    if found["output"] == "differs":
        found["status"] = f"{words_of(timed.build)}: its output differs from that of the source as it is"
    if timed.why_not:
        found["status"] = timed.why_not
    elif timed is not base:
        against = change(timed, base, compared)
        found |= {
            "time_ratio": against.ratio, "time_ratio_low": against.low, "time_ratio_high": against.high
        }  # fmt: skip
    return found


def rows_of(
    program: Path | None,
    device: str,
    footprint: Footprints,
    kernel: str,
    builds: list[Build],
    times: list[Times],
) -> Iterable[dict[str, Any]]:
    """One kernel's rows, one per build; builds of equal code share the times of the timed one."""
    present = [build for build in builds if kernel in build.uses or build.why_not]
    footprints = [
        footprint(kernel, use.static_smem_bytes, use.registers, use.barriers)._replace(
            **({"block_size": build.limit.block_size} if build.limit and build.limit.block_size else {})
        )
        for build in present
        if (use := build.uses.get(kernel))
    ]
    found = iter(residencies(program, device, footprints))
    own, base = None, None
    plain: dict[Limit, tuple[Use, Residency]] = {}  # without spills to shared memory
    compared = sum(1 for each in times[1:] if not each.why_not)
    for build in present:
        row: dict[str, Any] = {"kernel": demangle_name(kernel), "build": words_of(build)}
        use = build.uses.get(kernel)
        if use is None:
            yield row | {"status": build.why_not}
            continue
        residency = next(found).limit_blocks(use.virtual_resources)
        if own is None or base is None:
            own, base = use, residency
        limit = build.limit or Limit()
        plain.setdefault(limit._replace(spills_to_smem=False), (use, residency))
        row |= {
            "registers_per_thread": use.registers, "spill_bytes": use.spill_bytes,
            "stack_bytes": use.stack_bytes, "code_bytes": use.code_bytes,
            "static_smem_bytes": use.static_smem_bytes,
            "blocks_per_sm": residency.blocks, "occupancy": residency.occupancy,
            "against_as_it_is": "" if build.limit is None else cost_text(use, residency, own, base),
            "status": build.why_not or build.remark or residency.status, "code": use.code,
        }  # fmt: skip
        if limit.spills_to_smem:
            smem = smem_cost_text(use, residency, plain[limit._replace(spills_to_smem=False)])
            row["against_as_it_is"] = f"{smem}; {row['against_as_it_is']}"
        if kernel in build.waits:
            row |= {"against_as_it_is": "would wait forever", "status": build.waits[kernel]}
        if build.pool:
            row |= {
                "live_by_role": join_roles(
                    "" if role.live is None else role.live for role in build.pool.roles
                ),
                "spilled_by_role": spilled_by_role(build.pool),
            }
        alike = (each for each in times if each.build.code() == build.code() and not build.why_not)
        if timed := next(alike, None):
            row |= time_cells(timed, times[0], compared)
        yield row


COLUMNS = (
    "kernel", "build", "registers_per_thread", "spill_bytes", "stack_bytes", "code_bytes",
    "static_smem_bytes", "blocks_per_sm", "occupancy", "live_by_role", "spilled_by_role", "time_median",
    "samples", "time_ratio", "time_ratio_low", "time_ratio_high", "output", "against_as_it_is", "status",
)  # fmt: skip
BY_ROLE = {"live_by_role": "live by role", "spilled_by_role": "spilled B by role"}


def cells(row: dict[str, Any], timed: bool) -> list[str]:
    if "occupancy" not in row:
        return [row["build"], row["status"]]
    found = [row["build"], *(f"{row[name]:,}" for name in COLUMNS[2:6]), f"{100 * row['occupancy']:.1f} %"]
    found += [row[name] for name in BY_ROLE if name in row]
    if timed:
        found.append(f"{row['time_median']:.4g}" if row.get("time_median") is not None else "-")
        ratios = [row.get(name) for name in ("time_ratio", "time_ratio_low", "time_ratio_high")]
        found.append("" if None in ratios else percent(Change(*ratios)))
    return [*found, row["against_as_it_is"]]


def merge_equal_builds(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, with neighbours of the same code merged: 'cap 255 to 80', 'bounds 128, 2 to 6'."""
    found: list[dict[str, Any]] = []
    for row in rows:
        before = found[-1] if found else {}
        kind, _, last = row["build"].rpartition(" ")
        first = before.get("build", "").split(" to ")[0]
        same = "code" in row and row["code"] == before.get("code")
        if same and row["build"] != "as it is" and first.rpartition(" ")[0] == kind:
            found[-1] = before | {"build": f"{first} to {last}"}
        else:
            found.append(row)
    return found


def paragraph(head: list[str], line: list[str], room: int) -> list[str]:
    """A build's cells, each behind its header, in lines that fit."""
    found = [f"  {head[0]} {line[0]}"]
    is_whole = len(line) == len(head)  # else the rest says why the build failed
    named = [f"{name} {cell}" for name, cell in zip(head[1:], line[1:], strict=False) if cell]
    for words in named if is_whole else line[1:]:
        if len(found) > 1 and len(found[-1]) + 3 + len(words) <= room:
            found[-1] += f"   {words}"
        else:
            found.append(f"    {words}")
    return found


def table(rows: list[dict[str, Any]], timed: bool, room: int | None = None) -> list[str]:
    """Lines of columns; a paragraph for each build where `room` is too little for them."""
    head = ["build", "registers", "spilled B", "stack B", "code B", "occupancy"]
    head += [words for name, words in BY_ROLE.items() if any(name in row for row in rows)]
    head += ["time", "against as it is"] if timed else []
    head.append("what it costs and gains")
    lines = [cells(row, timed) for row in merge_equal_builds(rows)]
    whole = [line for line in lines if len(line) == len(head)]
    widths = [max(len(line[n]) for line in [head, *whole]) for n in range(len(head))]
    shown = []
    for line in [head, *lines]:
        if len(line) < len(head):
            shown.append(f"  {line[0]:<{widths[0]}}   {line[1]}")
            continue
        middle = "   ".join(f"{cell:>{width}}" for cell, width in zip(line[1:-1], widths[1:-1], strict=True))
        shown.append(f"  {line[0]:<{widths[0]}}   {middle}   {line[-1]}".rstrip())
    if room is None or max(map(len, shown)) <= room:
        return shown
    short = [*head[:-1], "costs and gains"]
    return [words for line in lines for words in paragraph(short, line, room)]


def terminal_columns() -> int | None:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def show(
    form: str,
    program: Path | None,
    device: str,
    arch: str,
    footprint: Footprints,
    blocks: dict[str, int],
    builds: list[Build],
    times: list[Times],
) -> None:
    """Prints. Raises CommandError where calc does not know the device."""
    found = {kernel: list(rows_of(program, device, footprint, kernel, builds, times)) for kernel in blocks}
    if form == "csv":
        writer = csv.DictWriter(sys.stdout, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for rows in found.values():
            writer.writerows(
                {key: "" if value is None else value for key, value in row.items()} for row in rows
            )
        return
    if form == "json":
        verdict_text = verdict(times[0], times[1:]) if times else None
        rows = [{name: row.get(name) for name in COLUMNS} for rows in found.values() for row in rows]
        print(
            json.dumps(
                {"device": device, "architecture": arch, "verdict": verdict_text, "builds": rows}, indent=2
            )
        )
        return
    for kernel, rows in found.items():
        print(printable(elide(demangle_name(kernel), NAME)))
        print(f"  {arch} on {device}, blocks of {blocks[kernel]:,}\n")
        print("\n".join(map(printable, table(rows, bool(times), terminal_columns()))))
        notes = sorted({row["status"] for row in rows if "occupancy" in row and row["status"] != "ok"})
        print("".join(f"\n  {printable(note)}" for note in notes) + "\n" if notes else "")
    if times:
        print(verdict(times[0], times[1:]))
        if output_of(times[0], times[0]) == "varies":
            print("Outputs were not compared: those of the source as it is vary from run to run.")
