# SPDX-License-Identifier: Apache-2.0
"""occbench validate DIR...: are folders of results as schema.json says?

One line per violation, `file:line: what is wrong`, of many alike the first few, then a summary. Exit 0
without one, 1 with some, 2 invalid arguments, 4 a file is missing or could not be read.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from occbench_tools.attached import check as attached
from occbench_tools.attached import is_attached
from occbench_tools.command import ALL, add_folder, entry, folders_of, parser_of
from occbench_tools.findings import of_json
from occbench_tools.schema import (
    HEAD,
    WORK,
    field_violations,
    of_version,
    rename_entries,
    schema,
    version_of,
)
from occbench_tools.schema_checks import Report, Row, RunFacts, check_env, close, readable, rows
from occbench_tools.untrusted_files import parse_json, plain_or_packed, read_untrusted


def numbers(row: Row, *names: str) -> list[float] | None:
    """These cells; None where one is empty, or a version has none."""
    return [float(row[n]) for n in names] if all(row.get(n) for n in names) else None


def case_violations(row: Row, columns: list[dict[str, Any]], facts: RunFacts) -> Iterator[str]:
    """What is wrong between the cells of one row of cases.csv; each cell is already right by itself."""
    yield from fill_violations(row, columns, facts)
    if row["status"] == "valid":
        yield from wrong_source(row)
        yield from wrong_residency(row)
        yield from wrong_occupancy(row, facts.max_warps)
        yield from wrong_times(row)
        yield from wrong_rates(row)


def fill_violations(row: Row, columns: list[dict[str, Any]], facts: RunFacts) -> Iterator[str]:
    """Cells that are empty and must not be, or the other way round."""
    status = row["status"]
    valid = status == "valid"
    modelled = row.get("source") == "model"
    measured = valid and not modelled
    counted = measured and row["experiment"] not in facts.user_kernels
    required = {"valid": valid, "measured": measured, "counted": counted, "not valid": not valid}
    for column in columns:
        name, when = column["name"], column.get("required_when")
        if when and not row[name] and required[when]:
            yield f"{name}: empty in a row with status {status}"
        if modelled and when in ("measured", "counted") and row[name]:
            yield f"{name}: {row[name]}, and source is model"
    if valid and row["reason"]:
        yield "reason: must be empty in a valid row"


def wrong_source(row: Row) -> Iterator[str]:
    """A model's row has no samples, and its throughput is the prediction; a prediction lies in its band."""
    modelled = row.get("source") == "model"
    if modelled != (row["stop_reason"] == "model"):
        yield f"stop_reason: {row['stop_reason']}, and source is {row.get('source', 'measured')}"
    if modelled and row["samples"] != "0":
        yield f"samples: {row['samples']}, and source is model"
    if modelled and (got := numbers(row, "throughput", "throughput_predicted")) and not close(*got):
        yield f"throughput: {got[0]:.9g} in a row of the model, which predicts {got[1]:.9g}"
    band = [f"throughput_predicted{end}" for end in ("_low", "", "_high")]
    if (got := numbers(row, *band)) and got != sorted(got):
        yield f"throughput_predicted: {got[1]:.9g} outside its band, {got[0]:.9g} to {got[2]:.9g}"


def wrong_residency(row: Row) -> Iterator[str]:
    """Theory, API and observation agree. A GPC holds whole clusters, so that an SM may hold fewer blocks: of
    them the device's count must agree."""
    in_clusters = bool(row["clusters_api"])
    observed = [] if in_clusters or not row["blocks_per_sm_resident"] else ["blocks_per_sm_resident"]
    if (got := numbers(row, "blocks_per_sm", "blocks_per_sm_api", *observed)) and len(set(got)) > 1:
        yield (
            f"blocks_per_sm: theory {row['blocks_per_sm']}, API {row['blocks_per_sm_api']} and "
            f"residency {row['blocks_per_sm_resident']} differ"
        )
    if in_clusters and row["clusters_resident"] != row["clusters_api"]:
        seen = row["clusters_resident"] or "empty"
        yield f"clusters_resident: {seen}, and the API says {row['clusters_api']}"


def wrong_occupancy(row: Row, max_warps: int | None) -> Iterator[str]:
    """It is warps over the SM's, and the sum of its parts."""
    if max_warps and (got := numbers(row, "occupancy_theoretical", "warps_per_sm")):
        expected = got[1] / max_warps
        if not close(got[0], expected, absolute=1e-4):
            of = f"{got[1]:g} warps of {max_warps}"
            yield f"occupancy_theoretical: {got[0]:g}, but {of} are {expected:g}"
    if row.get("source") == "model" and row.get("occupancy_launch"):
        yield f"occupancy_launch: {row['occupancy_launch']}, and source is model"
    parts = [name for name in row if name == "occupancy_launch" or name.startswith("lost_to_")]
    if (got := numbers(row, "occupancy_theoretical", *parts)) and parts and not close(got[0], sum(got[1:])):
        yield f"occupancy_theoretical: {got[0]:g}, but launch and parts add up to {sum(got[1:]):g}"


def wrong_times(row: Row) -> Iterator[str]:
    """The median lies in its interval and between the tenths; two speeds are fast and slow."""
    if (got := numbers(row, "time_ci95_low_s", "time_median_s", "time_ci95_high_s")) and sorted(got) != got:
        yield f"time_median_s: {got[1]:g} is outside its interval [{got[0]:g}, {got[2]:g}]"
    if (got := numbers(row, "time_p10_s", "time_median_s", "time_p90_s")) and sorted(got) != got:
        yield f"time_median_s: {got[1]:g} is outside the tenths [{got[0]:g}, {got[2]:g}]"
    two = row.get("speeds", "").startswith("two")
    for name in ("time_fast_s", "time_slow_s", "slow_share"):
        if two != bool(row.get(name)):
            yield f"{name}: {row.get(name) or 'empty'}, and speeds is {row.get('speeds') or 'empty'}"
    if two and (got := numbers(row, "time_fast_s", "time_slow_s")) and got[0] >= got[1]:
        yield f"time_fast_s: {got[0]:g} is not under time_slow_s, {got[1]:g}"


def wrong_rates(row: Row) -> Iterator[str]:
    """Throughput is work over time, in percent of the ceiling; cycles are time x clock / iterations."""
    work = WORK.get(row["throughput_unit"])
    if work and not row[work]:
        yield f"{work}: empty, and throughput_unit is {row['throughput_unit']}"
    elif work and (got := numbers(row, "throughput", work, "time_median_s")):
        if got[2] == 0:
            yield "time_median_s: 0 is not a time"
        elif not close(got[0], got[1] / got[2]):
            yield f"throughput: {got[0]:.9g}, but {work} / time_median_s is {got[1] / got[2]:.9g}"
    if (got := numbers(row, "percent_of_ceiling", "throughput", "ceiling")) and (
        got[2] == 0 or not close(got[0], 100 * got[1] / got[2], relative=1e-4)
    ):
        yield f"percent_of_ceiling: {got[0]:g} is not 100 x throughput / ceiling"
    if bool(row["ceiling"]) != bool(row["percent_of_ceiling"]):
        yield "ceiling: only one of it and percent_of_ceiling is empty"
    if row["ceiling_kind"] == "none" and row["ceiling"]:
        yield f"ceiling: {row['ceiling']}, and ceiling_kind is none"
    if got := numbers(row, "cycles_per_iteration", "time_median_s", "sm_clock_hz", "iterations"):
        if got[3] == 0:
            yield "iterations: 0 iterations have no time"
        elif not close(got[0], expected := got[1] * got[2] / got[3]):
            yield f"cycles_per_iteration: {got[0]:.9g}, but time x clock / iterations is {expected:.9g}"


@dataclass
class Samples:
    """Repetition 0 of one case."""

    kept: "array[float]" = field(default_factory=lambda: array("d"))
    discarded: int = 0


def check_cases(path: Path, rules: dict[str, Any], facts: RunFacts, report: Report) -> dict[str, tuple]:
    """Checks cases.csv. Returns (line, row or None unless valid and whole) by case_id."""
    found: dict[str, tuple[int, Row | None]] = {}
    columns = rename_entries(rules["files"]["cases.csv"]["columns"])
    names = [c["name"] for c in columns]
    for line, cells, good in rows(path, rules, report):
        report.cases += 1
        row = dict(zip(names, cells, strict=True))
        case = row["case_id"]
        if case in found:
            report.violation(path, line, f"case_id: {case} is already on line {found[case][0]}")
            continue
        if good:
            for what in case_violations(row, columns, facts):
                report.violation(path, line, what)
            if facts.source and row.get("source", "measured") != facts.source:
                report.violation(path, line, f"source: {row['source']}, and env.json says {facts.source}")
        found[case] = (line, row if good and row["status"] == "valid" else None)
    return found


def check_samples(
    path: Path, rules: dict[str, Any], cases: dict[str, tuple], report: Report
) -> dict[str, Samples]:
    """Checks samples.csv. Returns repetition 0 by case_id."""
    found: dict[str, Samples] = {}
    strangers: set[str] = set()
    for line, (_, case, repetition, _, _, time_s, _, discarded, _), good in rows(path, rules, report):
        report.samples += 1
        if case not in cases and case not in strangers:
            strangers.add(case)
            report.violation(path, line, f"case_id: {case} is not in cases.csv")
        if good and repetition == "0":
            samples = found.get(case) or found.setdefault(case, Samples())
            if discarded == "1":
                samples.discarded += 1
            else:
                samples.kept.append(float(time_s))
    return found


def check_summaries(path: Path, cases: dict[str, tuple], samples: dict[str, Samples], report: Report) -> None:
    """Do the valid rows of cases.csv sum up their samples?"""
    for case, (line, row) in cases.items():
        if row is None:
            continue
        mine = samples.get(case, Samples())
        for name, count in (("samples", len(mine.kept)), ("discarded", mine.discarded)):
            if row[name] and int(row[name]) != count:
                report.violation(path, line, f"{name}: {row[name]}, but samples.csv has {count}")
        if mine.kept and row["time_median_s"] and not close(float(row["time_median_s"]), median(mine.kept)):
            report.violation(
                path,
                line,
                f"time_median_s: {row['time_median_s']}, but its samples' is {median(mine.kept):.9g}",
            )


def check_findings(path: Path, rules: dict[str, Any], report: Report) -> None:
    """Checks what the program wrote of a run's findings."""
    try:
        document = parse_json(read_untrusted(path).decode("utf-8"))
        of_json(document)
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        report.violation(path, 1, str(error).removeprefix("findings.json: "))
        return
    for name, what in field_violations(document, rules["files"]["findings.json"]["fields"]):
        report.violation(path, 1, f"{name}: {what}")


def check_folder(folder: Path, rules: dict[str, Any], report: Report) -> None:
    """Checks the files of one folder of results, as far as they can be read."""
    if not folder.is_dir():
        report.missing(folder, "no such folder")
        return
    if is_attached(folder):
        attached.check(folder, rules | dict(files=rules["attach"]), report)
        return
    facts, cases, samples = RunFacts(), None, None
    with readable(path := folder / "env.json", report):
        facts = check_env(path, rules, report)
    with readable(path := folder / "cases.csv", report):
        its = of_version(rules, version_of(read_untrusted(path, HEAD)))
        cases = check_cases(path, its, facts, report)
    with readable(path := plain_or_packed(folder / "samples.csv"), report):
        its = of_version(rules, version_of(read_untrusted(path, HEAD)))
        samples = check_samples(path, its, cases or {}, report)
    if (path := folder / "findings.json").exists():
        with readable(path, report):
            check_findings(path, rules, report)
    if cases is not None and samples is not None:
        check_summaries(folder / "cases.csv", cases, samples, report)


@entry("occbench validate")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = parser_of(
        "validate",
        "Check folders of results against their schema.",
        "occbench validate results/*/*",
    )
    add_folder(parser, many=True, holds="cases.csv, samples.csv, env.json")
    folders = folders_of(parser.parse_args(arguments), "occbench validate", of=ALL)
    report, rules = Report(), schema()
    for folder in folders:
        check_folder(folder, rules, report)
    report.report_rest()
    print(
        f"{len(folders)} folder{'s' * (len(folders) != 1)}, {report.counts()}: "
        f"{report.violations} violation{'s' * (report.violations != 1)}"
        + (f", {report.unreadable} unreadable" if report.unreadable else "")
    )
    return 4 if report.unreadable else 1 if report.violations else 0
