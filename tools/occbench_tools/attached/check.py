# SPDX-License-Identifier: Apache-2.0
"""occbench validate, of a folder of `occbench attach`: each file by its schema, and against the others.

Needs the standard library alone.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from occbench_tools.attached.findings import violation
from occbench_tools.schema import of_version, rename_entries
from occbench_tools.schema_checks import Report, Row, check_env, close, readable, rows
from occbench_tools.untrusted_files import parse_json, plain_or_packed, read_untrusted

CHANGES = ("l1_change", "gain")
WITHOUT = ("unknown", "skipped", "left alone")  # verdicts with a reason in `why`; the last is retired
BY_COUNTERS = ("throughput limit", "latency", "no single limit")  # verdicts with the limit in `why`
AT_THRESHOLD = ", at the threshold of "  # in `why` of any verdict near its threshold
Kernels = dict[str, tuple[int, Row]]  # (line, row) of whole rows, by kernel_id
Arms = dict[tuple[str, ...], list[float]]  # times that count, by arm


def arm_of(row: Row) -> tuple[str, ...]:
    """Older versions have no sm_count."""
    return row["kernel_id"], row["arm"], row["blocks_per_sm"], row.get("sm_count", "")


def check(folder: Path, rules: dict[str, Any], report: Report) -> None:
    """Checks the files, as far as they can be read; registers.csv and counters.csv are optional."""
    kernels: Kernels | None = None
    with readable(path := folder / "env.json", report):
        rules = of_version(rules, check_env(path, rules, report).version)
    with readable(path := folder / "kernels.csv", report):
        kernels = check_kernels(path, rules, report)
    times: Arms | None = None
    with readable(path := plain_or_packed(folder / "launches.csv"), report):
        times = check_launches(path, rules, kernels, report)
    with readable(path := folder / "arms.csv", report):
        check_arms(path, rules, kernels, times, report)
    if (path := folder / "registers.csv").exists():
        with readable(path, report):
            check_registers(path, rules, kernels, report)
    if (path := folder / "counters.csv").exists():
        with readable(path, report):
            check_counters(path, rules, kernels, report)
    if (path := folder / "findings.json").exists():
        with readable(path, report):
            check_findings(path, rules, report)


def check_findings(path: Path, rules: dict[str, Any], report: Report) -> None:
    """Checks findings.json by its schema."""
    try:
        wrong = violation(parse_json(read_untrusted(path).decode("utf-8")), rules)
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        wrong = str(error)
    if wrong:
        report.violation(path, 1, wrong)


def whole_rows(path: Path, rules: dict[str, Any], report: Report) -> Iterator[tuple[int, Row, bool]]:
    """(line, row, whether each cell is valid by itself) of rows that have all cells."""
    names = [c["name"] for c in rename_entries(rules["files"][path.name.removesuffix(".gz")]["columns"])]
    for line, cells, good in rows(path, rules, report):
        if len(cells) == len(names):
            yield line, dict(zip(names, cells, strict=True)), good


def rows_of_kernels(
    path: Path, rules: dict[str, Any], kernels: Kernels | None, report: Report
) -> Iterator[tuple[int, Row, bool]]:
    """whole_rows(); a kernel_id that is not in kernels.csv is reported once."""
    seen: set[str] = set()
    for line, row, good in whole_rows(path, rules, report):
        kernel_id = row["kernel_id"]
        if kernels and kernel_id not in kernels and kernel_id not in seen:
            report.violation(path, line, f"kernel_id: {kernel_id} is not in kernels.csv")
        seen.add(kernel_id)
        yield line, row, good


def check_kernels(path: Path, rules: dict[str, Any], report: Report) -> Kernels:
    found: Kernels = {}
    total = 0.0
    for line, row, good in whole_rows(path, rules, report):
        report.kernels += 1
        if row["kernel_id"] in found:
            first = found[row["kernel_id"]][0]
            report.violation(path, line, f"kernel_id: {row['kernel_id']} is already on line {first}")
            continue
        if good:
            found[row["kernel_id"]] = line, row
            total += float(row["time_total_s"])
            for what in kernel_violations(row):
                report.violation(path, line, what)
    for line, row in found.values():
        share = float(row["time_total_s"]) / total if total else 0
        if not close(float(row["gpu_time_share"]), share, absolute=1e-6):
            what = f"gpu_time_share: {row['gpu_time_share']}, but its part is {share:.9g}"
            report.violation(path, line, what)
    return found


def kernel_violations(row: Row) -> Iterator[str]:
    """Violations between the cells of one kernel, whose cells are valid by themselves."""
    launches, captured = int(row["launches"]), int(row["captured"])
    for name, most in (("captured", launches), ("timed", launches), ("overlapped", int(row["timed"]))):
        if int(row[name]) > most:
            yield f"{name}: {row[name]}, of {most}"
    total = float(row["time_mean_s"]) * (launches - captured)
    if not close(float(row["time_total_s"]), total):
        yield f"time_total_s: {row['time_total_s']}, but mean x launches is {total:.9g}"
    for name in CHANGES:
        cells = [row[f"{name}_low"], row[name], row[f"{name}_high"]]
        if all(cells) and sorted(map(float, cells)) != list(map(float, cells)):
            yield f"{name}: {row[name]} is outside its interval [{cells[0]}, {cells[2]}]"
        elif any(cells) and not all(cells):
            yield f"{name}: only a part of it and its interval is empty"
    has_added_reason = bool(row["verdict"]) and any(
        each in row["why"] for each in (AT_THRESHOLD, "but counters have")
    )
    if (row["verdict"] in (*WITHOUT, *BY_COUNTERS)) != bool(row["why"]) and not has_added_reason:
        yield f"why: {row['why'] or 'empty'}, and the verdict is {row['verdict'] or 'empty'}"
    if bool(row["next_step"]) != bool(row["next_blocks_per_sm"]):
        yield "next_step: only one of it and next_blocks_per_sm is empty"


def check_launches(path: Path, rules: dict[str, Any], kernels: Kernels | None, report: Report) -> Arms:
    """Returns the times that arms.csv sums up."""
    times: Arms = defaultdict(list)
    timed: dict[str, int] = defaultdict(int)
    for _, row, good in rows_of_kernels(path, rules, kernels, report):
        report.launches += 1
        timed[row["kernel_id"]] += 1
        if good and (row["drawn"], row["overlapped"]) == ("1", "0"):
            times[arm_of(row)].append(float(row["time_s"]))
    for kernel_id, (line, row) in (kernels or {}).items():
        if int(row["timed"]) != timed[kernel_id]:
            what = f"timed: {row['timed']}, but launches.csv has {timed[kernel_id]}"
            report.violation(path.with_name("kernels.csv"), line, what)
    return times


def check_arms(
    path: Path, rules: dict[str, Any], kernels: Kernels | None, times: Arms | None, report: Report
) -> None:
    for line, row, good in rows_of_kernels(path, rules, kernels, report):
        cells = [row[name] for name in ("time_ci95_low_s", "time_median_s", "time_ci95_high_s")]
        if not good:
            continue
        if all(cells) != (row["samples"] != "0") or any(cells) != all(cells):
            report.violation(path, line, f"time_median_s: {cells[1] or 'empty'}, of {row['samples']} samples")
        elif all(cells) and sorted(map(float, cells)) != list(map(float, cells)):
            report.violation(path, line, f"time_median_s: {cells[1]} is outside [{cells[0]}, {cells[2]}]")
        if times is None:
            continue
        mine = times.get(arm_of(row), [])
        if int(row["samples"]) != len(mine):
            report.violation(path, line, f"samples: {row['samples']}, but launches.csv has {len(mine)}")
        elif mine and cells[1] and not close(float(cells[1]), median(mine)):
            what = f"time_median_s: {cells[1]}, but its launches' is {median(mine):.9g}"
            report.violation(path, line, what)


def check_counters(path: Path, rules: dict[str, Any], kernels: Kernels | None, report: Report) -> None:
    seen: set[str] = set()
    for line, row, _ in rows_of_kernels(path, rules, kernels, report):
        if row["kernel_id"] in seen:
            report.violation(path, line, f"kernel_id: {row['kernel_id']} is there already")
        seen.add(row["kernel_id"])


def check_registers(path: Path, rules: dict[str, Any], kernels: Kernels | None, report: Report) -> None:
    caps: set[tuple[str, str]] = set()
    for line, row, good in rows_of_kernels(path, rules, kernels, report):
        if (key := (row["kernel_id"], row["register_cap"])) in caps:
            report.violation(path, line, f"register_cap: kernel {key[0]} has {key[1]} already")
        caps.add(key)
        if not good:
            continue
        if int(row["registers_per_thread"]) > int(row["register_cap"]):
            what = (
                f"registers_per_thread: {row['registers_per_thread']}, and the cap is {row['register_cap']}"
            )
            report.violation(path, line, what)
        if bool(row["time_median_s"]) != (row["samples"] != "0"):
            what = f"time_median_s: {row['time_median_s'] or 'empty'}, of {row['samples']} samples"
            report.violation(path, line, what)
        report_interval(path, line, row, report)


def report_interval(path: Path, line: int, row: Row, report: Report) -> None:
    """A change lies within its interval, or is empty with it."""
    cells = [row[name] for name in ("change_low", "change", "change_high")]
    if any(cells) != all(cells):
        report.violation(path, line, "change: only a part of it and its interval is empty")
    elif all(cells) and sorted(map(float, cells)) != list(map(float, cells)):
        report.violation(path, line, f"change: {cells[1]} is outside its interval [{cells[0]}, {cells[2]}]")
