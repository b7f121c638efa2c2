# SPDX-License-Identifier: Apache-2.0
"""The output as text of 80 columns, and as JSON."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from occbench_tools.inspect_lines.allocation import excess_of
from occbench_tools.inspect_lines.listing import Line, Listing
from occbench_tools.inspect_lines.pressure import (
    RESERVED,
    Chain,
    LineUse,
    Pressure,
    Values,
    values_at_peak,
    values_waiting,
)
from occbench_tools.inspect_lines.roles import UNIT, Pool, Role, pool_of

COLUMNS = 80
MOST_ROWS = 20  # of a table
LARGEST_SOURCE = 16 << 20  # bytes


@cache
def source_lines(file: str) -> list[str]:
    """A file's lines; empty where it is missing, no regular file, or too long."""
    path = Path(file)
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_SOURCE:
            return []
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []


def changed_sources(listing: Listing, binaries: list[Path]) -> str:
    """A remark on sources that were written after all of the binaries; empty if none was."""
    built = max(path.stat().st_mtime for path in binaries)
    files = {line.file for step in listing.steps for line in step.chain}
    newer = [file for file in files if source_lines(file) and Path(file).stat().st_mtime > built]
    names = ", ".join(sorted(map(os.path.basename, newer)))
    return f"written after the binary, so lines may have moved: {names}" if names else ""


def source_text(chain: Chain) -> str:
    if not chain:
        return ""
    lines = source_lines(chain[0].file)
    number = chain[0].number
    return " ".join(lines[number - 1].split()) if 0 < number <= len(lines) else ""


def place_text(line: Line) -> str:
    return f"{os.path.basename(line.file)}:{line.number}"


def place_of(chain: Chain) -> str:
    """'tap.cuh:12, in k.cu:24': the innermost line, and the call in the kernel that it was inlined from."""
    if not chain:
        return "no line"
    inner, outer = chain[0], chain[-1]
    if len(chain) == 1:
        return place_text(inner)
    return (
        f"{place_text(inner)}, in {f'line {outer.number}' if inner.file == outer.file else place_text(outer)}"
    )


def shorten(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(room - 3, 0)] + "..."


def loops_text(depth: int) -> str:
    return ("no loop", "1 loop")[depth] if depth < 2 else f"{depth} loops"


def percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"


def step_lines(pressure: Pressure) -> Iterator[str]:
    """Lines on the step to the next higher occupancy."""
    row = pressure.row
    if row["gains_with"] is None:
        yield f"occupancy {percent(row['occupancy'])}: no resource alone raises it"
    elif pressure.bound is None:
        yield f"occupancy {percent(row['occupancy'])}; {row['gains_with']}: {percent(row['gains_occupancy'])}"
    else:
        above = pressure.above_bound
        yield f"occupancy {percent(row['occupancy'])}; {row['gains_with']}: {percent(row['gains_occupancy'])}"
        if above:
            yield (
                f"that takes at most {pressure.bound} live registers: {len(above):,} of "
                f"{len(pressure.listing.steps):,} instructions have more"
            )
        else:
            yield (
                f"that takes at most {pressure.bound} live registers, and no instruction has more than "
                f"{pressure.peak_registers}:"
            )
            yield "a cap may reach it without spills; `occbench caps` tries"


def range_text(numbers: tuple[int, ...]) -> str:
    """'0', '1-2', '1+3'; '?' for none."""
    if len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}-{numbers[-1]}"
    return "+".join(map(str, numbers)) or "?"


def sum_text(roles: Mapping[Role, int]) -> str:
    """'40 + 2 x 232'"""
    return " + ".join(
        f"{len(r.warpgroups)} x {n}" if len(r.warpgroups) > 1 else str(n) for r, n in roles.items()
    )


def role_lines(pool: Pool) -> Iterator[str]:
    """The warp roles, and whether their requests fit into what the launch allocates."""
    yield ""
    yield f"{pool.groups} warpgroups share {pool.groups} x {pool.own} registers per thread (setmaxnreg):"
    yield "  warpgroups  ask for   live  spilled  from"
    for role in pool.roles:
        live = "" if role.live is None else role.live
        yield (
            f"  {range_text(role.warpgroups):>10}  {role.request:7}  {live:>5}  "
            f"{role.spilled_bytes or '':>7}  {place_of(role.chain)}"
        )
    if pool.shared_spilled_bytes:
        yield f"{pool.shared_spilled_bytes} B more are spilled in code that no role runs alone"
    if not pool.is_read:
        yield "which warpgroup takes which branch cannot be read: the roles are in the order of the code"
        return
    request_sum = sum_text({role: role.request for role in pool.roles})
    if pool.total_request > pool.allocated:
        yield (
            f"{request_sum} = {pool.total_request}, and the launch has {pool.allocated}: "
            "a warpgroup waits forever"
        )
        return
    rest = pool.allocated - pool.total_request
    yield f"{request_sum} = {pool.total_request} of {pool.allocated}" + (
        f": {rest} are never used" if rest else ""
    )
    if split := pool.better_split():
        yield f"{sum_text(split)} holds all that is live, with more for the largest role"
        launch = pool.launch_with(max(split.values()))
        if launch > pool.own:
            yield f"(the launch then gets {pool.groups} x {launch} = {pool.groups * launch})"


def excess_lines(pressure: Pressure) -> Iterator[str]:
    """Lines on the registers that are not live at the peak."""
    if (excess := excess_of(pressure)) is None:
        return
    peak, count = pressure.peak_registers, pressure.row["registers_per_thread"]
    if excess.warp_roles:
        yield f"{count} registers at the launch; setmaxnreg then changes what a warp has"
        return
    fewer = -(-(count - excess.would_fit) // UNIT) < -(-count // UNIT)
    outcome = "`occbench caps` tries" if fewer else "no block gains by it"
    yield f"{count} registers: {peak} live at the peak, {RESERVED} reserved, {excess.registers} more:"
    for registers, reason in (
        (excess.lifetimes, "hold values for which no lower register is free all the while"),
        (excess.vectors, "hold vectors for which no lower registers in a row are free"),
        (excess.would_fit, f"not needed: what they hold has room below; {outcome}"),
        (excess.called_functions, "with a call that cannot be followed: its registers are not known"),
        (excess.not_explained, "not explained"),
    ):
        if registers:
            yield f"  {registers:9}  {reason}"


def as_text(pressure: Pressure) -> Iterator[str]:
    row, steps = pressure.row, pressure.listing.steps
    yield f"{row['kernel']}, {row['architecture']}: {row['registers_per_thread']} registers"
    if row.get("occupancy") is not None and pressure.listing.has_liveness:
        yield from step_lines(pressure)
    if pool := pool_of(pressure.listing, row):
        yield from role_lines(pool)
    elif "requests_ignored" in (row.get("findings") or ""):
        yield "ptxas ignored its setmaxnreg: it needs __launch_bounds__"
    if pressure.listing.has_liveness:
        peak = steps[pressure.peak]
        yield ""
        yield (
            f"{peak.live_count} registers are live at the peak, {place_of(peak.chain)} "
            f"({loops_text(pressure.depths[pressure.peak])}):"
        )
        yield from value_lines(values_at_peak(pressure))
        if not pool:
            yield from excess_lines(pressure)
        first, waiting = values_waiting(pressure)
        if waiting:
            yield ""
            yield f"live in the loop at {place_of(steps[first].chain)}, and unused there:"
            yield from value_lines(waiting)
    yield from executed_lines(pressure)
    yield ""
    yield from annotated_source(pressure)


def executed_lines(pressure: Pressure) -> Iterator[str]:
    """Lines on the share of spills among the executed instructions."""
    if (executed := pressure.executed) is None:
        return
    total = sum(executed.counts)
    spills = sum(use.executed_spills for use in pressure.line_uses())
    launches = "1 launch" if executed.launches == 1 else f"{executed.launches:,} launches"
    yield ""
    yield f"{total:,} instructions were executed by the warps of {launches};"
    share = f" ({percent(spills / total)})" if total else ""
    yield f"{spills:,} of them{share} store or load spills"


def value_lines(values: list[Values]) -> Iterator[str]:
    for group in values[:MOST_ROWS]:
        yield shorten(f"  {len(group.registers):9}  written at {place_of(group.chain)}", COLUMNS)
        for text in (
            source_text(group.chain),
            f"last read at {place_of(group.last_read)}" if group.last_read else "",
        ):
            if text:
                yield " " * 13 + shorten(text, COLUMNS - 13)
    if len(values) > MOST_ROWS:
        yield f"  and {len(values) - MOST_ROWS} more lines (--format json has all)"


def uses_by_line(pressure: Pressure) -> dict[Line | None, LineUse]:
    """The use of each source line, over all calls it was inlined from; None: instructions without a line."""
    by_line: dict[Line | None, LineUse] = {}
    for use in pressure.line_uses():
        line = use.chain[0] if use.chain else None
        by_line.setdefault(line, LineUse(use.chain)).add(use)
    return by_line


def annotated_source(pressure: Pressure) -> Iterator[str]:
    """The source lines with most live registers, or most spills where those are unknown."""
    by_line = uses_by_line(pressure)
    ranked = sorted(by_line, key=lambda line: by_line[line].rank, reverse=True)
    shown = sorted((line for line in ranked[:MOST_ROWS] if line), key=lambda line: (line.file, line.number))
    weight = "executed" if pressure.executed else "loops"
    yield f"   live  {weight}  stored  loaded  line (stored, loaded: bytes of spills)"
    file = ""
    for line in shown:
        if line.file != file:
            file = line.file
            yield f"  {os.path.basename(file)}"
        use = by_line[line]
        live = use.live if pressure.listing.has_liveness else ""
        times = f"{use.executed:8.3g}" if pressure.executed else f"{use.depth:5}"
        numbers = f"  {live:>5}  {times}  {use.stored_bytes or '':>6}  {use.loaded_bytes or '':>6}"
        yield shorten(f"{numbers}  {line.number:5}  {source_text((line,))}", COLUMNS).rstrip()
    if gone := sorted({line.file for line in shown if not source_lines(line.file)}):
        yield f"  not here, and so without their text: {', '.join(map(os.path.basename, gone))}"
    if None in by_line:
        use = by_line[None]
        spills = f"{use.stored_bytes} B of spills stored, {use.loaded_bytes} B loaded"
        yield f"  no line: {use.instructions:,} instructions, {spills}"
    if len(ranked) > MOST_ROWS:
        yield f"  and {len(ranked) - MOST_ROWS} more lines (--format json has all)"


def chain_json(chain: Chain) -> list[dict[str, Any]]:
    return [{"file": line.file, "line": line.number} for line in chain]


def values_json(values: Values) -> dict[str, Any]:
    return {
        "lines": chain_json(values.chain),
        "registers": values.registers,
        "last_read": chain_json(values.last_read),
    }


def pool_json(pool: Pool) -> dict[str, Any]:
    return {
        "warpgroups": pool.groups,
        "registers_allocated": pool.allocated,
        "registers_asked": pool.total_request if pool.is_read else None,
        "roles": [
            {
                "warpgroups": role.warpgroups or None,
                "request": role.request,
                "live_registers": role.live,
                "spill_bytes": role.spilled_bytes,
                "lines": chain_json(role.chain),
            }
            for role in pool.roles
        ],
        "shared_spill_bytes": pool.shared_spilled_bytes,
        "better_requests": list((pool.better_split() or {}).values()) if pool.is_read else [],
    }


def as_json(pressure: Pressure) -> Iterator[str]:
    has_liveness = pressure.listing.has_liveness
    steps = pressure.listing.steps
    peak = steps[pressure.peak]
    values = values_at_peak(pressure) if has_liveness else []
    waiting = values_waiting(pressure)[1] if has_liveness else []
    pool = pool_of(pressure.listing, pressure.row)
    excess = excess_of(pressure)
    yield json.dumps(
        {
            "kernel": pressure.row["kernel"],
            "symbol": pressure.listing.symbol,
            "architecture": pressure.row["architecture"],
            "registers_per_thread": pressure.row["registers_per_thread"],
            "live_registers": pressure.peak_registers if has_liveness else None,
            "registers_above_peak": asdict(excess) if excess else None,
            "live_registers_for_next_step": pressure.bound if has_liveness else None,
            "peak": {"offset": peak.instruction.address, "lines": chain_json(peak.chain)}
            if has_liveness
            else None,
            "launches_executed": pressure.executed.launches if pressure.executed else None,
            "warp_roles": pool_json(pool) if pool else None,
            "values_at_peak": [values_json(group) for group in values],
            "values_waiting_in_loop": [values_json(group) for group in waiting],
            "lines": [
                {
                    "lines": chain_json(use.chain),
                    "live_registers": use.live if has_liveness else None,
                    "loop_depth": use.depth,
                    "instructions": use.instructions,
                    "instructions_above_next_step": use.above_bound,
                    "spill_stored_bytes": use.stored_bytes,
                    "spill_loaded_bytes": use.loaded_bytes,
                    "executed_instructions": use.executed if pressure.executed else None,
                    "executed_spills": use.executed_spills if pressure.executed else None,
                }
                for use in pressure.line_uses()
            ],
        }
    )
