# SPDX-License-Identifier: Apache-2.0
"""Parts and changed copies of a committed run, and a sweep of three points."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import made_up
import pandas as pd
from occbench_tools import NEWEST
from occbench_tools.folder import Folder, read_folder
from occbench_tools.validate import schema

RUN = made_up.newest_run("nvidia-h200")
# Two processes, the same card and build.
FIRST, RERUN = (Path(__file__).parent.parent / "data" / name for name in ("nvidia-h200", "nvidia-h200-rerun"))
PART = ("transpose", "nbody")  # the experiments that lay() takes, and how many valid cases they have
CASES = int(read_folder(RUN, samples=False).valid["experiment"].isin(PART).sum())


def scaled(run: Folder, factors: pd.Series) -> Folder:
    """A copy whose launches take so many times as long; factors by case_id."""
    samples, cases = run.samples.copy(), run.cases.copy()
    samples["time_s"] *= samples["case_id"].astype(object).map(factors).astype(float).fillna(1)
    factor = cases["case_id"].map(factors).fillna(1)
    for column in cases.columns[cases.columns.str.match(r"time_.*_s$")]:
        cases[column] *= factor
    for column in ("throughput", "percent_of_ceiling", "per_cycle_per_sm"):
        cases[column] /= factor
    return Folder(run.path, cases, run.env, samples)


def half(run: Folder, odd: bool) -> Folder:
    return Folder(run.path, run.cases, run.env, run.samples[run.samples["round"] % 2 == odd])


def lay(folder: Path, source: Path = RUN, env: dict[str, Any] | None = None,
        experiments: tuple[str, ...] = PART, slower: float = 1,
        odd: bool | None = None) -> Path:  # fmt: skip
    """Some experiments of a committed run, in a folder of their own; fields of env (and gpu) replaced.

    odd: only the visits of odd rounds, or of even ones.
    """
    folder.mkdir(exist_ok=True)
    run = read_folder(source)
    run = run if odd is None else half(run, odd)
    run = scaled(run, pd.Series(slower, run.cases["case_id"]))
    newest = [column["name"] for column in schema()["files"]["cases.csv"]["columns"]]
    cases = run.cases.reindex(columns=newest).assign(schema_version=NEWEST)
    cases["verified"] = cases["verified"].mask(cases["status"] == "valid", "repeat")
    cases["speeds"] = cases["speeds"].mask(cases["status"] == "valid", "one")
    keep = run.cases["experiment"].isin(experiments)
    told = run.samples["case_id"].isin(run.cases.loc[keep, "case_id"])
    samples = run.samples[told].assign(schema_version=NEWEST)
    for name, rows in (("cases", cases[keep]), ("samples", samples)):
        rows.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    change = dict(env or {})
    gpu = run.env["gpu"] | change.pop("gpu", {})
    said = run.env | dict(gpu=gpu, schema_version=NEWEST, bands=False, disturbance=[]) | change
    (folder / "env.json").write_text(json.dumps(said), encoding="utf-8")
    return folder


def modelled(source: Path, folder: Path) -> Path:
    """The same run as a model would have written it."""
    shutil.copytree(source, folder)
    cases = pd.read_csv(folder / "cases.csv", dtype=object, keep_default_na=False)
    cases["source"] = "model"
    measured = ["blocks_per_sm_api", "blocks_per_sm_resident", "time_ci95_low_s", "time_ci95_high_s",
                "time_p10_s", "time_p90_s", "verified", "speeds"]  # fmt: skip
    cases[measured] = ""
    cases.to_csv(folder / "cases.csv", index=False, lineterminator="\n")
    head = (folder / "samples.csv").read_text().splitlines(keepends=True)[0]
    (folder / "samples.csv").write_text(head)
    env = json.loads((folder / "env.json").read_text())
    env["source"], env["gpu"]["uuid"] = "model", "model:h200"
    (folder / "env.json").write_text(json.dumps(env))
    return folder


def pair(variant: str, first: float, second: float, **dials: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """Three points: two alike with 8 warps more than the third."""
    shape = dict(block=256, kind="dram", limiters="shared_memory")
    return [
        made_up.case("shared_memory", "stream", variant, rate, warps=warps, marks=f".s{smem}",
                     dynamic_smem_bytes=smem, **shape, **dials)
        for smem, warps, rate in ((0, 64, first), (1024, 64, first), (2048, 56, second))
    ]  # fmt: skip
