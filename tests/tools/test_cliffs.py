# SPDX-License-Identifier: Apache-2.0
"""occbench cliffs on planted staircases, on curves without a step, on the H200's runs and on bad files."""

from __future__ import annotations

import csv as csv_module
import io
import json
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

import made_up
import numpy as np
import pandas as pd
from occbench_docs.committed import committed_runs
from occbench_tools import NEWEST, cliffs
from occbench_tools.analysis import read_folder
from occbench_tools.cliffs import command
from occbench_tools.cliffs.find import EXTRA
from occbench_tools.findings import ask
from occbench_tools.schema import schema
from outputs import OutputOf
from parts import pair

SWEEPS = 240
BANDS = (0.03, 0.05, 0.1, 0.2, 0.6)
# Curves over 0 < x <= 1. The parameter says how soon a curve turns, or how much a line climbs.
SHAPES: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "flat": lambda x, _: np.ones_like(x),
    "linear": lambda x, p: 1 + (2 * p - 0.4) * x,
    "saturating": lambda x, p: 1 - np.exp(-x / p),
    "tanh": lambda x, p: np.tanh(x / p),
    "knee": lambda x, p: np.minimum(1, x / p),
}


def sweep(name: str, rng: np.random.Generator, shapes: tuple[str, ...], planted: bool) -> tuple[list, dict]:
    """Rows of one sweep of ballast at the same residency, and the steps planted in it: to_value -> height.

    Noise: Student's t with 3 degrees of freedom, of 0.1 to 0.5 % standard deviation. Four runs of one build
    on an H200 differ by 0.05 % (median of all cases), 0.13 % (90th percentile), 0.8 % (99th), so that this
    is harder than most of what is measured; three points in two hundred lie five of its scales out.
    """
    count = int(rng.integers(24 if planted else 12, 73))
    x = np.arange(1.0, count + 1)
    if rng.random() < 0.3:  # uneven, as where edges are visited besides a grid
        x += np.sort(rng.uniform(0, 0.6, count))
    rates = SHAPES[str(rng.choice(shapes))](x / x[-1], rng.uniform(0.05, 0.6))
    steps = {}
    if planted:
        several = int(rng.integers(1, min(5, count // 6)))
        places = np.array([0])
        while np.diff([-1, *places, count - 1]).min() < 5:
            places = np.sort(rng.choice(np.arange(4, count - 5), several, replace=False))
        for place in places:
            height = float(np.exp(rng.uniform(np.log(BANDS[0]), np.log(BANDS[-1]))))
            rates[place + 1 :] *= 1 - height
            steps[round(4096 * x[place + 1])] = height
    spread = np.exp(rng.uniform(np.log(0.001), np.log(0.005)))
    rates = rates * np.exp(spread / np.sqrt(3) * rng.standard_t(3, count))
    rows = [
        made_up.case("shared_memory", "stream", name, 1e12 * rate, block=256, marks=f".s{4096 * at:.0f}",
                     dynamic_smem_bytes=round(4096 * at))
        for at, rate in zip(x, rates, strict=True)
    ]  # fmt: skip
    return rows, steps


@pytest.fixture(scope="module")
def simulated() -> dict[bool, tuple[pd.DataFrame, dict[str, dict[int, float]]]]:
    """Found cliffs and planted steps by sweep, of staircases (True) and of curves without a step (False)."""
    rng = np.random.default_rng(20)
    result = {}
    for planted, shapes in ((True, ("flat", "linear", "saturating")), (False, tuple(SHAPES))):
        rows, steps = [], {}
        for i in range(SWEEPS):
            name = "".join(chr(ord("a") + int(digit)) for digit in f"{i:03}")
            more, steps[name] = sweep(name, rng, shapes, planted)
            rows += more
        result[planted] = cliffs.find_cliffs(pd.DataFrame(rows), made_up.ENV), steps
    return result


def test_finds_synthetic_steps(simulated: dict) -> None:
    found, planted = simulated[True]
    places = {name: set(part["to_value"].astype(int)) for name, part in found.groupby("kernel")}
    hits = [
        (height, at in places.get(name, ()))
        for name, steps in planted.items() for at, height in steps.items()
    ]  # fmt: skip
    recall = np.mean([hit for _, hit in hits])
    bands = {
        f"{100 * low:g} to {100 * high:g} %": (len(part), round(float(np.mean(part)), 3))
        for low, high in pairwise(BANDS)
        if (part := [hit for height, hit in hits if low <= height < high])
    }
    wrong = len(found) - sum(hit for _, hit in hits)
    print(f"\n{len(hits)} steps in {SWEEPS} staircases: recall {recall:.3f}; {bands}; {wrong} besides")
    assert recall >= 0.95
    assert bands["10 to 20 %"][1] >= 0.98 and bands["20 to 60 %"][1] >= 0.98
    assert wrong <= 0.03 * len(hits)


def test_height_intervals_cover_at_least_85_percent(simulated: dict) -> None:
    """The 95 % interval holds the truth nearly as often: where a curve bends most, a line misses it."""
    found, planted = simulated[True]
    true = [planted[row.kernel].get(int(row.to_value)) for row in found.itertuples()]
    both = found.assign(true=true).dropna(subset="true")
    off = (both["drop"] - both["true"].astype(float)).abs()
    inside = (both["drop_low"] <= both["true"]) & (both["true"] <= both["drop_high"])
    print(f"\nheight off by {100 * off.median():.2f} % (median), in the interval {100 * inside.mean():.0f} %")
    assert off.median() < 0.005 and inside.mean() > 0.85


def test_false_alarms_are_at_most_2_percent(simulated: dict) -> None:
    found, planted = simulated[False]
    false = found["sweep"].nunique() / len(planted)
    print(f"\n{len(planted)} sweeps without a step: false alarms in {100 * false:.2f} %")
    assert false <= 0.02


def only(rows: list[dict[str, Any]], samples: pd.DataFrame | None = None) -> pd.Series:
    found = cliffs.find_cliffs(pd.DataFrame(rows), made_up.ENV, samples)
    assert list(found.columns) == [*cliffs.COLUMNS, *EXTRA] and len(found) == 1
    return found.iloc[0]


@pytest.mark.parametrize(
    ("second", "verdict"),
    [(0.9e12, "confirmed"), (1e12, "absent"), (0.995e12, "unclear"), (1.2e12, "absent")],
)
def test_verdicts(second: float, verdict: str) -> None:
    row = only(pair("read", 1e12, second, time_ci95_low_s=0.995e-3, time_ci95_high_s=1.005e-3))
    assert (row["verdict"], row["predicted"], row["cause"]) == (verdict, True, "shared memory")
    assert (row["from_value"], row["to_value"], row["blocks_from"], row["blocks_to"]) == (1024, 2048, 8, 7)
    assert row["drop"] == pytest.approx(1 - second / 1e12)
    assert row["drop_low"] < row["drop"] < row["drop_high"]
    # Two intervals of +-0.5 % and the spread between processes, in quadrature.
    assert row["drop_high"] - row["drop"] == pytest.approx(0.0072 * second / 1e12, rel=0.03)


def test_explains_absent_verdicts() -> None:
    assert "of the dram ceiling or more" in only(pair("read", 4.5e12, 4.5e12))["note"]
    assert "sweep's best" in only(pair("read", 1e12, 1e12))["note"]
    rows = pair("read", 1e12, 1.2e12)
    row = only(rows)
    assert "the other way, unexplained" in row["note"]
    assert (row["explained"], row["against_theory"]) == (False, True)
    for row, said in zip(rows, (1e12, 1e12, 1.3e12), strict=True):
        row |= dict(throughput_predicted=said, bound_predicted="latency")
    row = only(rows)
    assert "the model: -30.0 %; it goes the other way, as the model expects" in row["note"]
    assert (row["explained"], row["against_theory"]) == (True, True)


def test_p_value_of_samples() -> None:
    rows = pair("read", 1e12, 0.9e12)
    times = {row["case_id"]: 1e-3 / row["throughput"] * 1e12 for row in rows}
    samples = pd.DataFrame(
        dict(case_id=case, repetition=0, discarded=0, time_s=time * (1 + 0.0001 * i))
        for case, time in times.items() for i in range(20)
    )  # fmt: skip
    for row in rows:
        row["time_median_s"] = times[row["case_id"]]
    assert only(rows, samples)["p_value"] == pytest.approx(6.8e-8, rel=0.1)  # all of 20 beyond all of 20


def test_spills_and_the_tail() -> None:
    rows = [
        made_up.case("spilling", "register_pressure", f"update-live64-maxnreg{cap}", rate, kind="fp32",
                     register_cap=cap, live_values=64, register_route="maxnreg", local_bytes=spill)
        for cap, spill, rate in ((32, 64, 1e12), (40, 16, 1e12), (48, 0, 2e12), (56, 0, 2e12))
    ]  # fmt: skip
    row = only(rows)
    assert (row["cause"], row["from_value"], row["verdict"]) == ("spill onset", 40, "confirmed")
    assert row["kernel"] == "update" and "16 -> 0 B spilled" in row["note"]
    rows = [
        made_up.case("waves", "fma_chain", "two-operand-ilp1", 1e12 * waves / np.ceil(waves), kind="fp32",
                     waves=waves, marks=f".g{round(528 * waves)}")
        for waves in (0.5, 1, 1.25, 1.75, 2)
    ]  # fmt: skip
    row = only(rows)
    assert (row["cause"], row["dial"], row["to_value"]) == ("tail", "grid_size", 660)
    assert row["drop"] == pytest.approx(0.375) and row["verdict"] == "confirmed"


def test_idle_values_separate_sweeps() -> None:
    """Of the same caps: each is a sweep of its own; where idle values go along with the cap they are one."""
    caps = ((32, 64, 1e12), (40, 16, 1e12), (48, 0, 2e12), (56, 0, 2e12))
    shape = dict(kind="fp32", live_values=64, register_route="maxnreg")
    rows = [
        made_up.case("spilling", "register_pressure", f"update{hot}-maxnreg{cap}", rate, curve=f"update{hot}",
                     register_cap=cap, local_bytes=spill, idle_values=idle, **shape)
        for hot, idle in (("", None), ("-hot16", 48)) for cap, spill, rate in caps
    ]  # fmt: skip
    found = cliffs.find_cliffs(pd.DataFrame(rows), made_up.ENV)
    assert sorted(found["kernel"]) == ["update", "update-hot16"] and set(found["from_value"]) == {40}
    along = [row | dict(idle_values=row["register_cap"]) for row in rows[:4]]
    assert list(cliffs.find_cliffs(pd.DataFrame(along), made_up.ENV)["kernel"]) == ["update"]


def test_rejects_rows_that_are_not_a_sweep() -> None:
    """Two points, dials that change together, kernels of different names, values that come twice."""
    rows = pair("read", 1e12, 0.9e12)
    assert cliffs.find_cliffs(pd.DataFrame(rows[1:]), made_up.ENV).empty
    mixed = [row | dict(variant=name) for row, name in zip(rows, ("a", "b", "c"), strict=True)]
    assert cliffs.find_cliffs(pd.DataFrame(mixed), made_up.ENV).empty
    assert cliffs.find_cliffs(pd.DataFrame([*rows, rows[0]]), made_up.ENV).empty


H200 = committed_runs("nvidia-h200")


@pytest.mark.parametrize("run", H200, ids=lambda run: run.name)
def test_confirms_predicted_cliffs_on_h200(run: Path) -> None:
    """Predicted cliffs of registers and shared_memory are confirmed or explained; both caches stand out."""
    cases, env = read_folder(run)
    found = cliffs.find_cliffs(cases, env)
    assert not found.duplicated(["experiment", "dial", "sweep", "from_value"]).any()
    found = found[found["experiment"].isin(["registers", "shared_memory", "pointer_chase"])]
    predicted = found[found["predicted"].astype(bool) & (found["experiment"] != "pointer_chase")]
    print(f"\n{predicted.groupby(['experiment', 'verdict']).size().to_string()}")
    assert {28160, 32256, 37888, 45568, 57344, 76800, 115712} == set(
        predicted.loc[predicted["dial"] == "dynamic_smem_bytes", "from_value"]
    )
    assert {32, 40, 48, 64, 80, 128} <= set(predicted.loc[predicted["dial"] == "register_cap", "from_value"])
    unexplained = (predicted["verdict"] == "absent") & ~predicted["explained"]
    bad = predicted[(predicted["verdict"] == "unclear") | unexplained]
    assert bad.empty, bad[["sweep", "from_value", "drop", "note"]].to_string()
    reads = predicted[predicted["kernel"].str.startswith(("load", "read"))]
    assert (reads["verdict"] == "confirmed").all() and (reads["drop"] > 0.09).all()
    assert set(found.loc[found["verdict"] == "unpredicted", "cause"]) == {"L1 capacity?", "L2 capacity?"}


@pytest.mark.parametrize("run", H200, ids=lambda run: run.name)
def test_blind_search_finds_cliffs_on_h200(run: Path) -> None:
    """Told nothing of residency, the blind search finds the stairs of shared memory where theory has them."""
    cases, env = read_folder(run)
    cases = cases[cases["experiment"] == "shared_memory"].assign(warps_per_sm=64, blocks_per_sm=8)
    found = cliffs.find_cliffs(cases, env)
    assert (found["verdict"] == "unpredicted").all()
    reads = found.loc[found["kernel"].str.startswith("read"), "from_value"]
    assert list(reads) == [28160, 32256, 37888, 45568, 57344, 76800, 115712]
    assert list(found.loc[~found["kernel"].str.startswith("read"), "from_value"]) == [115712]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made_up.write(tmp_path / "run", pair("read", 1e12, 0.9e12))


def test_command(folder: Path, capsys: pytest.CaptureFixture[str], output_of: OutputOf) -> None:
    printed = output_of(command.main, folder, "--verbose")
    assert "shared_memory: 1 predicted: 1 confirmed; 0 unpredicted" in printed and "10.0 % (" in printed
    printed = output_of(command.main, folder)
    assert printed.startswith("run (A GPU): of 1 predicted step, 1 seen; none that nobody predicted.\n")
    assert "  10 %  shared memory 1 -> 2 KiB  shared_memory: read\n" in printed
    text = (folder / "cliffs.csv").read_text(encoding="utf-8")
    (row,) = csv_module.DictReader(io.StringIO(text))
    assert list(row) == cliffs.COLUMNS and row["predicted"] == "1" and row["from_value"] == "1024"
    assert not list(folder.glob(".cliffs*"))
    assert command.main([str(folder), "--output", str(folder / "else.csv")]) == 0
    assert (folder / "else.csv").read_text(encoding="utf-8") == text
    (folder / "cliffs.csv").unlink()
    capsys.readouterr()
    assert output_of(command.main, folder, "--output", "-") == text and not (folder / "cliffs.csv").exists()
    (row,) = json.loads(output_of(command.main, folder, "--output", "-", "--format", "json"))
    assert list(row) == cliffs.COLUMNS and row["predicted"] is True
    assert output_of(command.main, folder, folder, "--output", "-").startswith("folder,experiment,")
    assert (
        output_of(command.main, folder, "--format", "markdown")
        .splitlines()[2]
        .startswith("| shared_memory | read | dynamic_smem_bytes |")
    )


def test_table_omits_absent_cliffs(tmp_path: Path, output_of: OutputOf) -> None:
    folder = made_up.write(tmp_path / "run", pair("read", 1e12, 1e12))
    assert "sweep's best" not in output_of(command.main, folder, "--verbose")
    assert "sweep's best" in output_of(command.main, folder, "--all")


def test_a_hostile_name(tmp_path: Path, output_of: OutputOf) -> None:
    names = dict(variant='a|b[red]\x1b[31m,"', experiment="x[/]<img>\x1b[2J")
    rows = [row | names for row in pair("read", 1e12, 0.9e12)]
    folder = made_up.write(tmp_path / "run", rows)
    for words in ([], ["--verbose"]):
        printed = output_of(command.main, folder, *words)
        assert r"a|b[red]\x1b[31m" in printed and "\x1b" not in printed
    (row,) = csv_module.DictReader(io.StringIO((folder / "cliffs.csv").read_text(encoding="utf-8")))
    assert row["kernel"] == 'a|b[red]\\x1b[31m,"'
    printed = output_of(command.main, folder, "--format", "markdown")
    assert r"a\|b\[red\]" in printed and "&lt;img&gt;" in printed and "<img" not in printed


BAD = {
    "is not a number": lambda text: text.replace("1000000000000.0", "fast"),
    "finite number": lambda text: text.replace("1000000000000.0", "inf"),
    "above zero": lambda text: text.replace("1000000000000.0", "0"),
    "stands there twice": lambda text: text + text.splitlines(keepends=True)[-1],
    "schema_version 9": lambda text: text.replace(f"\n{NEWEST},", "\n9,"),
    "lacks limiters": lambda text: text.replace(",limiters,", ",limits,"),
    "lacks status": lambda text: text.replace(",status,", ",state,"),
    "lacks family": lambda text: text.replace(",family,", ",kin,"),
    "empty": lambda _: "",
}


@pytest.mark.parametrize("words", BAD)
def test_bad_files(folder: Path, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([str(made_up.with_cases(folder, BAD[words]))]) == 4
    printed = capsys.readouterr()
    assert words in printed.err and printed.err.count("\n") == 1 and not printed.out
    assert not (folder / "cliffs.csv").exists()


def with_samples(folder: Path, rows: list[str]) -> Path:
    """Beside its cases, 12 launches of each, and more rows."""
    ids = [row["case_id"] for row in pair("read", 1e12, 0.9e12)]
    lines = [",".join(column["name"] for column in schema()["files"]["samples.csv"]["columns"])]
    lines += [f"{NEWEST},{case},0,{n},{n},{1 + n / 1e4:g}e-4,1e9,0,1" for case in ids for n in range(12)]
    (folder / "samples.csv").write_text("\n".join([*lines, *rows]) + "\n", encoding="utf-8")
    return folder


BAD_SAMPLES = {
    f"{NEWEST},a;b,0,0,0,1e-4,1e9,0,1": "case_id: a;b does not match",
    f"{NEWEST},a,0,0.5,0,1e-4,1e9,0,1": "round: 0.5 is not an integer",
    f"{NEWEST},a,0,0,0,fast,1e9,0,1": "time_s: fast is not a number",
    f"{NEWEST},a,0,0,0,,1e9,0,1": "time_s: ",
    f"{NEWEST},a,0,0,0,1e-4,1e9,2,1": "discarded: 2",
    f"{NEWEST},a,0,0,0,1e-4,1e9": "samples.csv",
    f'{NEWEST},"a,0,0,0,1e-4,1e9,0,1': "samples.csv",
}


def test_rejects_dangling_samples_link(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("samples.csv", "samples.csv.gz"):
        (folder / name).unlink(missing_ok=True)
    (folder / "samples.csv").symlink_to("samples.csv")
    assert command.main([str(folder)]) == 4
    assert "samples.csv" in capsys.readouterr().err


@pytest.mark.parametrize("row", BAD_SAMPLES)
def test_damaged_samples(folder: Path, row: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By the reader of samples.csv here, and by the program's own where there is no findings.json."""
    assert command.main([str(with_samples(folder, []))]) == 0
    capsys.readouterr()
    assert command.main([str(with_samples(folder, [row]))]) == 4
    said = capsys.readouterr().err
    assert BAD_SAMPLES[row] in said and said.count("\n") == 1
    with pytest.raises(ValueError, match=r"^samples\.csv:38: ") as refusal:
        ask(folder)
    assert BAD_SAMPLES[row] in str(refusal.value)


BAD_CLIFFS = {
    "cliffs: 7 is not of type array": lambda _: 7,
    "cliffs[0]: 7 is not of type object": lambda _: [7],
    "cliffs[0].sweep: 7 is not of type string": lambda cliff: [cliff | dict(sweep=7)],
    "cliffs[0].drop: '1' is not of type number": lambda cliff: [cliff | dict(drop="1")],
    "cliffs[0].predicted: 1 is not of type boolean": lambda cliff: [cliff | dict(predicted=1)],
    "cliffs[0].blocks_to: 1e+300 is above 1000000": lambda cliff: [cliff | dict(blocks_to=1e300)],
    "cliffs[0].p_value: 1.5 is above 1": lambda cliff: [cliff | dict(p_value=1.5)],
    "cliffs[0].verdict: 'sure' is not one of": lambda cliff: [cliff | dict(verdict="sure")],
    "cliffs[1].note is missing": lambda cliff: [cliff, {n: v for n, v in cliff.items() if n != "note"}],
}


@pytest.mark.parametrize("words", BAD_CLIFFS)
def test_damaged_cliffs_of_a_stored_file(
    folder: Path, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document = ask(folder)
    stored = folder / "findings.json"
    stored.write_text(json.dumps(document), encoding="utf-8")
    assert command.main([str(folder)]) == 0
    capsys.readouterr()
    (folder / "cliffs.csv").unlink()
    document["cliffs"] = BAD_CLIFFS[words](document["cliffs"][0])
    stored.write_text(json.dumps(document), encoding="utf-8")
    assert command.main([str(folder)]) == 4
    printed = capsys.readouterr()
    assert f"findings.json: {words}" in printed.err and printed.err.count("\n") == 1
    assert not printed.out and not (folder / "cliffs.csv").exists()


def test_skips_truncated_last_row(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command.main([str(folder)])
    before = (folder / "cliffs.csv").read_text(encoding="utf-8")
    last = (folder / "cases.csv").read_text(encoding="utf-8").splitlines()[-1]
    assert command.main([str(made_up.with_cases(folder, lambda text: text + last[:-20]))]) == 0
    assert "cut off" in capsys.readouterr().err
    assert (folder / "cliffs.csv").read_text(encoding="utf-8") == before


def test_exit_codes(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([str(tmp_path / "nowhere")]) == 4
    assert "No such file" in capsys.readouterr().err
    assert command.main([str(folder), "--output", str(tmp_path / "no" / "where.csv")]) == 4
    assert command.main([str(folder), "--experiment", "waves"]) == 1
    assert "no cliff" in capsys.readouterr().err
    for words in ([str(folder), str(folder), "--output", "x.csv"], [str(folder), "--format", "xml"]):
        with pytest.raises(SystemExit, match=r"^2$"):
            command.main(words)


def test_rejects_empty_variant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    shutil.copytree(Path(__file__).with_name("runs") / "schema-3", folder)
    rows = pd.read_csv(folder / "cases.csv", dtype=str, keep_default_na=False)
    rows.assign(variant="").to_csv(folder / "cases.csv", index=False, lineterminator="\n")
    assert command.main([str(folder), "--output", "-"]) == 4
    assert "cases.csv:2: variant: (empty) is not allowed" in capsys.readouterr().err


@pytest.mark.parametrize(("first", "second"), [(5e-324, 5e-324), (1e12, 5e-324), (5e-324, 1e12)])
def test_overflowing_rate_ratios(first: float, second: float) -> None:
    a, _, b = pair("read", first, second)
    for row in (a, b):
        row |= dict(time_median_s=1e-3, time_ci95_low_s=9e-4, time_ci95_high_s=1.1e-3)
    (found,) = cliffs.find_cliffs(pd.DataFrame([a, _, b]), made_up.ENV)["drop"]
    assert found == 1 - second / first or np.isinf(second / first)
