# SPDX-License-Identifier: Apache-2.0
"""The output of occbench compare for two folders of `occbench attach`: a screen, or tables in a format."""

import argparse
from pathlib import Path

import pandas as pd

from occbench_tools.attached.changes import Changes, compare, total_change
from occbench_tools.attached.folder import Attached, read_attached
from occbench_tools.attached.text import (
    count_text,
    grid,
    occupancy,
    percent,
    range_suffix,
    shape,
    short_name,
    time_of,
)
from occbench_tools.command import CommandError
from occbench_tools.compare import digest, show
from occbench_tools.compare.comparison import names_of
from occbench_tools.compare.environment import DIFFERENT, SAME_DEVICE, device_relation
from occbench_tools.compare.verdicts import AMBIGUOUS, FASTER, SAME, SLOWER
from occbench_tools.escape import as_json as json_text
from occbench_tools.escape import csv, records
from occbench_tools.lines import reason
from occbench_tools.screen import LINES, align_columns, columns, elide, paint, wrap

WORDS = {SLOWER: "slower", FASTER: "faster", AMBIGUOUS: "unsure", SAME: "same"}
WIDE = 120  # columns of a terminal where the whole table fits
NARROW = [0, 1, 3, 5, 7]  # columns of the table on narrower ones
ROOM = 60  # characters of a kernel's name in tables without a width limit
OF_A_RUN = ("by", "predict_for", "export_benchmark", "export_bencher", "allow_model")


def run(options: argparse.Namespace) -> int:
    """Compares and prints; the exit code. Raises CommandError, LookupError, and as read_attached does."""
    if len(options.candidates) > 1:
        raise CommandError(2, "folders of `occbench attach` are compared two at a time: name one CANDIDATE")
    if option := next((name for name in OF_A_RUN if getattr(options, name)), None):
        raise CommandError(2, f"--{option.replace('_', '-')} is not for folders of `occbench attach`")
    threshold = None if options.threshold is None else options.threshold / 100
    old, new = (read(path) for path in (options.base, options.candidates[0]))
    changes = compare(old, new, threshold)
    if options.format == "csv":
        text = csv(changes.kernels)
    elif options.format == "json":
        text = as_json(changes)
    elif options.format == "table" and not (options.verbose or options.all):
        text = paint(screen(changes, columns(options.width)), digest.style)
    else:
        parts = sections(changes)
        if options.format == "table":
            text = show.terminal(parts, options.width)
        else:
            text = dict(markdown=show.markdown, html=show.page)[options.format](parts)
    print(text, end="")
    return int(SLOWER in changes.verdicts)


def read(path: Path) -> Attached:
    """The folder. Raises CommandError with its name where it cannot be read."""
    try:
        return read_attached(path, launches=True)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CommandError(4, reason(path, error)) from error


def headline(changes: Changes) -> list[str]:
    """Lines on the compared runs, how many kernels changed, and the program as a whole."""
    old, new = changes.old, changes.new
    relation = device_relation(*((folder.env["gpus"] or [{}])[0] for folder in (old, new)))
    names = [elide(name, digest.NAME) for name in names_of([new.path, old.path])]
    device = "the same card" if relation == SAME_DEVICE else f"another {new.gpus}"
    if relation == DIFFERENT:
        device = f"{new.gpus} against {old.gpus}"
    counts = [changes.verdicts.get(verdict, 0) for verdict in (SLOWER, FASTER, AMBIGUOUS)]
    lines = [
        f"{names[0]} against {names[1]}, {device}: of {count_text(len(changes.kernels), 'kernel')}, "
        f"{counts[0]} slower and {counts[1]} faster by {100 * changes.threshold:g} % or more; "
        f"{counts[2]} cannot be told."
    ]
    if total := total_change(changes):
        value, low, high, share = total
        lines.append(
            f"Launched as often as before, kernels with {percent(share, 0)} of GPU time take "
            f"{100 * value:+.1f} % ({100 * low:+.1f} to {100 * high:+.1f})."
        )
    before, after = (percent(run.findings["needing"]["gpu_time_share"], 0) for run in (old, new))
    lines.append(f"GPU time in kernels that need occupancy: {before} -> {after}.")
    return lines


def warnings(changes: Changes) -> list[str]:
    """Warnings on differences that may mislead."""
    old, new = changes.old, changes.new
    lines = [*old.warnings, *new.warnings]
    if old.env["program"] != new.env["program"]:
        lines.append(f"the command lines differ: {old.program} -> {new.program}")
    if old.env.get("options") != new.env.get("options"):
        lines.append("attach had other options: verdicts may differ for that alone")
    timings = [{p.get("timing", "events") for p in run.env["processes"]} for run in (old, new)]
    if timings[0] != timings[1]:
        lines.append("only one was timed by events alone, which read some microseconds more for each launch")
    return lines


def rows(kernels: pd.DataFrame, room: int) -> list[list[str]]:
    """The head, then a kernel a row, before -> after."""
    head = ["", "kernel", "grid", "GPU time", "one launch", "change", "occupancy", "attach says"]
    table = [head]
    for _, row in kernels.iterrows():
        after = row_of_new_run(row)
        half = 50 * (row["change_high"] - row["change_low"])
        change = row["note"] if pd.isna(row["change"]) else f"{100 * row['change']:+.1f} % ±{half:.1f}"
        pairs = [
            (percent(row["share"]), percent(after["share"])),
            (time_of(row["median_s"]), time_of(after["median_s"])),
            (occupancy(row), occupancy(after)),
            (row["verdict"] or "observed", after["verdict"] or "observed"),
        ]
        share, time, warps, verdict = (a if a == b else f"{a} -> {b}" for a, b in pairs)
        word = WORDS[row["change_verdict"]]
        name, size = short_name(row["kernel"], room), shape(row, "grid")
        if row["signature"]:  # the signature has them; without it several are merged
            name, size = name + range_suffix(row), grid(row)
        table.append([word, name, size, share, time, change, warps, verdict])
    return table


def row_of_new_run(row: pd.Series) -> pd.Series:
    """The new run's part of a row, by the old run's column names."""
    part = row[[name for name in row.index if name.endswith("_new")]]
    return part.rename(lambda name: name.removesuffix("_new"))


def kernels_text(kernels: pd.DataFrame, what: str) -> list[str]:
    """'2 kernels gone, 3.1 % of GPU time: a, b'; empty without kernels."""
    if kernels.empty:
        return []
    names = ", ".join(short_name(name, 32) for name in kernels["kernel"].head(3))
    more = f" and {len(kernels) - 3} more" if len(kernels) > 3 else ""
    share = percent(kernels["share"].sum())
    return [f"{count_text(len(kernels), 'kernel')} {what}, {share} of GPU time: {names}{more}."]


def screen(changes: Changes, width: int) -> list[str]:
    """One screen: kernels that changed first, by their effect on the whole; then the largest."""
    kernels = changes.kernels
    weight = (kernels["change"].fillna(0).abs() * kernels["share"]).where(
        kernels["change_verdict"].isin([SLOWER, FASTER]), -1 + kernels["share"]
    )
    kernels = kernels.loc[weight.sort_values(ascending=False, kind="stable").index]
    lines = [line for text in headline(changes) for line in wrap(text, width)]
    lines += [line for text in warnings(changes) for line in wrap(f"! {text}", width)]
    end = [*kernels_text(changes.gone, "gone"), *kernels_text(changes.new_ones, "new")]
    end = [line for text in end for line in wrap(text, width)]
    room = max(LINES - len(lines) - len(end) - 4, 5)
    if len(kernels) > room:
        end.append(f"{count_text(len(kernels) - room, 'kernel')} more: --verbose, or --format csv")
    table = rows(kernels.head(room), ROOM)
    if width < WIDE:
        table = [[row[i] for i in NARROW] for row in table]
    table = align_columns(table, width, 1, left=tuple(range(len(table[0]))))
    return [*lines, "", *table, "", *end] if end else [*lines, "", *table]


def sections(changes: Changes) -> list[show.Section]:
    """All tables."""

    def kernels_section(kernels: pd.DataFrame, title: str) -> list[show.Section]:
        table = [
            [short_name(row["kernel"], ROOM), shape(row, "grid"), shape(row, "block"), percent(row["share"]),
             time_of(row["median_s"]), occupancy(row), row["verdict"] or "observed"]
            for _, row in kernels.iterrows()
        ]  # fmt: skip
        head = ["kernel", "grid", "block", "GPU time", "one launch", "occupancy", "attach says"]
        return [show.Section(title, [], [head, *table])] if table else []

    programs = [
        f"{name}: {words}" for name, folder in named_folders(changes) if (words := folder.findings["program"])
    ]
    return [
        show.Section("Program", [*headline(changes), *programs], [], warnings(changes)),
        show.Section("Kernels of both", [], rows(changes.kernels, ROOM)),
        *kernels_section(changes.gone, "Kernels that are gone"),
        *kernels_section(changes.new_ones, "Kernels that are new"),
    ]


def named_folders(changes: Changes) -> list[tuple[str, Attached]]:
    folders = [changes.old, changes.new]
    return list(zip(names_of([folder.path for folder in folders]), folders, strict=True))


def as_json(changes: Changes) -> str:
    """All tables; absent numbers are null."""

    total = total_change(changes)
    names = ("change", "change_low", "change_high", "share")
    return json_text(
        dict(
            base=str(changes.old.path), candidate=str(changes.new.path), threshold=changes.threshold,
            verdicts=changes.verdicts, warnings=warnings(changes),
            together=dict(zip(names, total, strict=True)) if total else None,
            kernels=records(changes.kernels), gone=records(changes.gone), new=records(changes.new_ones),
        )
    )  # fmt: skip
