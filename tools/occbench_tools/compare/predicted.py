# SPDX-License-Identifier: Apache-2.0
"""occbench compare OLD NEW --predict-for PROFILE: the predicted speed-up of each of its kernels."""

from pathlib import Path

import numpy as np
import pandas as pd

from occbench_tools.command import CommandError
from occbench_tools.compare.align import align
from occbench_tools.compare.digest import count_text, gpu
from occbench_tools.compare.speedup import times_text
from occbench_tools.devices import features, launched, predict, profiles, speedup
from occbench_tools.escape import as_json, csv
from occbench_tools.folder import Folder
from occbench_tools.lines import reason
from occbench_tools.screen import align_columns, digits, wrap

ROWS = 30  # kernels of the table, the longest ones


def table_of(old: Folder, new: Folder, profile: Path, attached: Path | None) -> pd.DataFrame:
    """A row per kernel, longest first: kernel, launches, time_s, dram, speedup, low, high, known.

    attached: the folder of `occbench attach` whose launches count. Raises CommandError.
    """
    pairs, _ = align(old.valid, new.valid, False)
    cases = speedup.pairs_of(old.valid, new.valid, pairs)
    if cases.empty:
        raise CommandError(2, f"{old.path} and {new.path} have no case in common")
    try:
        read = profile
        kernels = profiles.kernels_of(profile, old.env["gpu"])
        if attached:
            read = attached
            kernels = launched.with_launches(kernels, attached)
    except (OSError, ValueError) as error:
        raise CommandError(4, reason(read, error)) from None
    has_dram = kernels["dram"].notna()
    if not has_dram.any():
        raise CommandError(4, f"{profile}: no kernel's share of DRAM; ncu's metric is dram__throughput")
    # The trees see only the columns that all kernels have: missing values are not guessed.
    columns = [name for name in features.SHARED if kernels.loc[has_dram, name].notna().all()]
    known = features.of_rows(cases, old.env["gpu"])[columns]
    try:
        found = predict.predict(known, cases["speedup"], cases["experiment"], kernels.loc[has_dram, columns])
    except ImportError:
        missing = "--predict-for needs scikit-learn, which is not installed: pip install 'occbench[fleet]'"
        raise CommandError(5, missing) from None
    except ValueError as error:
        raise CommandError(2, str(error)) from None
    table = kernels[["kernel", "launches", "time_s", "dram"]].join(found)
    table["known"] = table["known"].eq(True)
    return table.assign(**{name: table[name].where(table["known"]) for name in ("speedup", "low", "high")})


def total_speedup(table: pd.DataFrame) -> tuple[float, float, float, float]:
    """Speed-up of the known kernels, its low and high, and their share of the time.

    low and high assume that all kernels err the same way, so they are bounds.
    """
    known = table[table["known"]]
    if known.empty:
        return np.nan, np.nan, np.nan, 0.0
    time = known["time_s"]
    middle, low, high = (float(time.sum() / (time / known[c]).sum()) for c in ("speedup", "low", "high"))
    return middle, low, high, float(time.sum() / table["time_s"].sum())


def screen(old: Folder, new: Folder, table: pd.DataFrame, width: int) -> list[str]:
    """One sentence on the whole, then a row per kernel."""
    middle, low, high, share = total_speedup(table)
    head = f"On {gpu(new)} instead of {gpu(old)}: "
    if share == 0:
        head += f"unknown; the suite has nothing like these {count_text(len(table), 'kernel')}."
    else:
        head += f"{times_text(middle)} times as fast ({times_text(low)} to {times_text(high)})"
        head += "." if share == 1 else f", of the {digits(share)} of the time that is known."
    rows = [["kernel", "launches", "time", "DRAM", "speed-up", "90 %"]]
    total = table["time_s"].sum()
    for row in table.head(ROWS).itertuples():
        dram = "" if pd.isna(row.dram) else digits(row.dram)
        gain = (
            [times_text(row.speedup), f"{times_text(row.low)}-{times_text(row.high)}"]
            if row.known
            else ["unknown", ""]
        )
        rows.append([row.kernel, f"{row.launches:,.0f}", digits(row.time_s / total), dram, *gain])
    lines = [*wrap(head, width), "", *align_columns(rows, width, 0)]
    if len(table) > ROWS:
        lines.append(f"{count_text(len(table) - ROWS, 'more kernel')}: --format csv")
    if not table["known"].all():
        lines += wrap("unknown: no DRAM share was measured, or the suite has nothing like it.", width)
    return lines


def text(old: Folder, new: Folder, profile: Path, attached: Path | None, form: str, width: int) -> str:
    """The output as table, csv or json. Raises CommandError."""
    table = table_of(old, new, profile, attached)
    if form == "csv":
        return csv(table)
    if form == "json":
        middle, low, high, share = (value if np.isfinite(value) else None for value in total_speedup(table))
        kernels = table.astype(object).where(table.notna(), None).to_dict("records")
        return as_json(dict(speedup=middle, low=low, high=high, known_share_of_time=share, kernels=kernels))
    return "\n".join(screen(old, new, table, width)) + "\n"
