# SPDX-License-Identifier: Apache-2.0
"""The kernels of a profile that was taken on the old device, in the numbers of features.SHARED.

Input: the output of `ncu --csv` (page raw or details), an .ncu-rep, or a plain CSV with the columns kernel,
time_s, dram_percent and optionally others of PLAIN.
"""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from occbench_tools.devices.features import SHARED, start_rate
from occbench_tools.import_ncu import LABELS, LaunchKey, NotNcu, ncu_rows, number, refuse_cut, rows_of
from occbench_tools.untrusted_files import read_untrusted

# Columns of a plain CSV, by cases.csv's names, and their names in features.SHARED.
PLAIN = {
    "dram_percent": "dram", "occupancy_theoretical": "occupancy", "occupancy_achieved": "achieved",
    "registers_per_thread": "registers", "grid_size": "grid_size", "local_bytes": "local_bytes",
    "issue_active": "issue", "fma_active": "fma", "tensor_active": "tensor",
    "time_s": "time_s", "launches": "launches",
}  # fmt: skip
# ncu's metrics, and its labels on the details page.
METRICS = {
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "dram", "DRAM Throughput": "dram",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "dram",
    "sm__maximum_warps_per_active_cycle_pct": "occupancy", "Theoretical Occupancy": "occupancy",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "achieved", "Achieved Occupancy": "achieved",
    "launch__registers_per_thread": "registers", "Registers Per Thread": "registers",
    "launch__grid_size": "grid_size", "Grid Size": "grid_size",
    "sm__issue_active.avg.pct_of_peak_sustained_active": "issue", "Issue Slots Busy": "issue",
    "sm__inst_issued.avg.pct_of_peak_sustained_active": "issue",
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active": "fma",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active": "tensor",
    "gpu__time_duration.sum": "time_ns", "Duration": "time_ns",
    "dram__bytes_read.sum": "read_bytes", "dram__bytes_write.sum": "write_bytes",
}  # fmt: skip
PERCENT = ("dram", "occupancy", "achieved", "issue", "fma", "tensor")  # as ncu has them


def kernels_of(path: Path, gpu: dict[str, Any]) -> pd.DataFrame:
    """A row per kernel name, longest first: launches, time_s (of all), and SHARED; NaN for missing values.

    gpu: env.json's of the profiled old device. Raises OSError, or NotNcu with the file's name.
    """
    try:
        if path.suffix == ".ncu-rep":
            from occbench_tools.import_ncu import report_text

            text = report_text(path)
        else:
            text = read_untrusted(path).decode("utf-8", "replace")
        launches = ncu_launches(text) if '"ID"' in text or "\nID," in f"\n{text}" else plain_launches(text)
        refuse_cut(text)
        return per_kernel(launches, gpu)
    except NotNcu as error:
        raise NotNcu(f"{path}: {error}") from None


def ncu_launches(text: str) -> pd.DataFrame:
    """A row per launch: kernel, cc, and the fields of METRICS as fractions, in s and byte."""
    found: dict[LaunchKey, dict[str, Any]] = {}
    for key, row, counted in ncu_rows(rows_of(text.splitlines())):
        launch = found.setdefault(key, dict(kernel=row.get("Kernel Name", ""), cc=row.get("CC", "")))
        for name, cell, unit in counted:
            field = METRICS.get(name) or METRICS.get(LABELS.get(name, ""))
            # The first columns of a page share names with labels: 'Grid Size' is (792, 1, 1) there.
            if field and (value := number(cell, unit)) is not None:
                launch[field] = value / 100 if field in PERCENT else value
    table = pd.DataFrame(list(found.values()))
    if table.empty:
        raise NotNcu("holds no launch")
    if "time_ns" in table:
        table["time_s"] = table["time_ns"] / 1e9
    return table


def plain_launches(text: str) -> pd.DataFrame:
    """The launches of a plain CSV, whose numbers have cases.csv's names and units."""
    try:
        table = pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""], dtype=str)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError):
        raise NotNcu(
            "is neither ncu's CSV nor one with the columns kernel, time_s and dram_percent"
        ) from None
    if lacks := [name for name in ("kernel", "time_s", "dram_percent") if name not in table]:
        raise NotNcu(f"is not ncu's CSV, and as a plain one lacks {', '.join(lacks)}")
    table = table[["kernel", *(name for name in PLAIN if name in table)]].rename(columns=PLAIN)
    for name in table.columns.drop("kernel"):
        values = pd.to_numeric(table[name], errors="coerce")
        bad = table[name].notna() & ~(np.isfinite(values) & (values >= 0))
        if bad.any():
            raise NotNcu(f"column {name}: {str(table.loc[bad, name].iloc[0])[:40]} is not a number from 0 on")
        table[name] = values
    return table.assign(dram=table["dram"] / 100)


def per_kernel(launches: pd.DataFrame, gpu: dict[str, Any]) -> pd.DataFrame:
    """Launches of one name become one row, weighted by their time. Raises NotNcu."""
    if "time_s" not in launches or not (launches["time_s"] > 0).any():
        raise NotNcu("has no duration of a kernel: ncu's metric gpu__time_duration.sum")
    own = str(gpu.get("compute_capability") or "")
    others = sorted({cc for cc in launches.get("cc", pd.Series(dtype=str)).dropna() if cc and cc != own})
    if others and own:
        raise NotNcu(f"was taken on a GPU of compute capability {others[0]}, and the old device has {own}")
    table = launches[launches["time_s"] > 0].reset_index(drop=True)
    peak = gpu.get("dram_bytes_per_s_theoretical")
    if "dram" not in table:
        table["dram"] = np.nan
    if peak and {"read_bytes", "write_bytes"} <= set(table):
        moved = (table["read_bytes"] + table["write_bytes"]) / table["time_s"] / peak
        table["dram"] = table["dram"].fillna(moved)
    table["launches"] = table["launches"].fillna(1) if "launches" in table else 1
    if "grid_size" in table:
        sms = gpu.get("sm_count") or 1
        table["grid"] = (table["grid_size"] / sms).clip(upper=1)
        blocks = (table["grid_size"] * table["launches"]).where(table["grid_size"] > 0)
        table["starts"] = start_rate(blocks, table["time_s"], sms)
    if "local_bytes" in table:
        table["local_bytes"] = np.log1p(table["local_bytes"])
    fields = [name for name in SHARED if name in table]
    weights = table["time_s"]
    sums = table[fields].mul(weights, axis=0).groupby(table["kernel"]).sum(min_count=1)
    known = table[fields].notna().mul(weights, axis=0).groupby(table["kernel"]).sum()
    found = (sums / known.where(known > 0)).reindex(columns=list(SHARED))
    totals = table.groupby("kernel")[["launches", "time_s"]].sum()
    return totals.join(found).sort_values("time_s", ascending=False, kind="stable").reset_index()
