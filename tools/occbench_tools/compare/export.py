# SPDX-License-Identifier: Apache-2.0
"""Runs in other formats: Google Benchmark's JSON and Bencher Metric Format."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from occbench_tools.compare.verdicts import visits_of
from occbench_tools.folder import Folder
from occbench_tools.lines import write_whole


def labelled_path(file: Path, label: str, several: bool) -> Path:
    """FILE, or FILE with the label before its suffix where several are written."""
    return file.with_name(f"{file.stem}-{label}{file.suffix}") if several else file


def benchmark_json(run: Folder) -> dict[str, Any]:
    """The JSON that --benchmark_out writes; each visit is a repetition, for tools/compare.py's U test."""
    visits = visits_of(run)
    rows = run.valid.set_index("case_id")
    entries = []
    for case, row in rows.iterrows():
        times = [row["time_median_s"]]
        if case in visits.cases.index:
            start, count = visits.cases.loc[case, ["start", "count"]].astype(int)
            times = np.exp(visits.time[start : start + count]).tolist()
        rate = {"byte/s": "bytes_per_second"}.get(row["throughput_unit"], "items_per_second")
        entries += [
            dict(
                name=case, run_name=case, run_type="iteration", repetitions=len(times), repetition_index=i,
                threads=1, iterations=1, real_time=1e9 * time, cpu_time=1e9 * time, time_unit="ns",
                **{rate: row["throughput"] * row["time_median_s"] / time},
            )
            for i, time in enumerate(times)
        ]  # fmt: skip
    context = dict(
        date=run.env.get("created_utc"), host_name=run.env.get("host"), executable="occbench",
        library_build_type="release", source=run.env["source"], gpu=run.env["gpu"].get("name"),
    )  # fmt: skip
    return dict(context=context, benchmarks=entries)


def bencher_json(run: Folder) -> dict[str, Any]:
    """Bencher Metric Format: latency in ns with its interval, throughput in units of work per second."""

    def metric(**values: float) -> dict[str, float]:
        return {name: value for name, value in values.items() if np.isfinite(value)}

    return {
        row["case_id"]: dict(
            latency=metric(
                value=1e9 * row["time_median_s"],
                lower_value=1e9 * row["time_ci95_low_s"],
                upper_value=1e9 * row["time_ci95_high_s"],
            ),
            throughput=metric(value=row["throughput"]),
        )
        for _, row in run.valid.iterrows()
    }


def write(file: Path, content: dict[str, Any]) -> None:
    """Raises OSError."""
    write_whole(file, json.dumps(content, indent=1, allow_nan=False) + "\n")
