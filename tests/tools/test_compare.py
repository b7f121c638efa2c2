# SPDX-License-Identifier: Apache-2.0
"""occbench compare, the command: exit codes, folders that do not fit, formats, and tables over many runs."""

from __future__ import annotations

import html.parser
import io
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("pandas")
pytest.importorskip("rich")

import numpy as np
import pandas as pd
from occbench_tools import compare
from occbench_tools.compare import environment, summary
from occbench_tools.folder import Folder, read_folder
from outputs import OutputOf
from parts import CASES, RUN, lay, modelled

CLIFFS = [
    "experiment", "family", "kernel", "sweep", "dial", "from_value", "to_value", "cause", "drop", "verdict",
]  # fmt: skip


def cliff(
    where: float,
    verdict: str = "confirmed",
    cause: str = "registers",
    kernel: str = "load",
    drop: float = 0.2,
) -> list:
    place = ["registers", "pressure", kernel, "", "registers_per_thread", where, where + 1]
    return [*place, cause, drop, verdict]


@pytest.fixture(autouse=True)
def no_cliffs(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[list]]]:
    """Instead of the finder: the cliffs that a test puts under the UUID of a device."""
    found: dict[str, list[list]] = {}
    module = ModuleType("occbench_tools.cliffs")
    module.find_cliffs = lambda _, env: pd.DataFrame(found.get(env["gpu"]["uuid"], []), columns=CLIFFS)
    monkeypatch.setitem(sys.modules, "occbench_tools.cliffs", module)
    yield found


@pytest.fixture(scope="module")
def whole() -> Folder:
    return read_folder(RUN)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return lay(tmp_path / "base")


def test_exit_codes_and_thresholds(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow, fast = (lay(tmp_path / name, slower=by) for name, by in (("slow", 1.03), ("fast", 1 / 1.03)))
    assert compare.main([str(base), str(base)]) == 0
    assert compare.main([str(base), str(fast)]) == 0
    assert compare.main([str(base), str(slow)]) == 1
    assert compare.main([str(base), str(slow), "--threshold", "5"]) == 0
    assert compare.main([str(base), str(fast), str(slow)]) == 1
    out = capsys.readouterr()
    assert out.err == "" and "1 of 2 runs" not in out.out and "2 of 2 runs differ from base" in out.out
    assert compare.main([str(base), str(fast), str(slow), "--verbose"]) == 1
    assert "Over all cards" in capsys.readouterr().out
    for words in (["--threshold", "0"], ["--threshold", "x"], ["--by", "joules"], []):
        with pytest.raises(SystemExit, match="2"):
            compare.main([str(base), *([str(slow)] if words else []), *words])


def test_rejects_runs_without_common_cases(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = lay(tmp_path / "other", experiments=("waves",))
    assert compare.main([str(base), str(other)]) == 2
    error = capsys.readouterr().err
    assert "no case in common" in error and error.count("\n") == 1


def test_rejects_unreadable_folders(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.main([str(base), str(tmp_path / "nowhere")]) == 4
    assert "nowhere/env.json: No such file" in capsys.readouterr().err
    broken = shutil.copytree(base, tmp_path / "broken")
    text = (broken / "samples.csv").read_text()
    (broken / "samples.csv").write_text(text.replace("\n3,", "\n3,", 1).replace(",0.00", ",zero", 1))
    assert compare.main([str(base), str(broken)]) == 4
    error = capsys.readouterr().err
    assert f"{broken}: samples.csv:2: time_s: zero" in error and error.count("\n") == 1
    assert compare.main([str(base), str(base), "--export-bencher", str(tmp_path / "no" / "bmf.json")]) == 4
    assert capsys.readouterr().err.endswith("no/bmf.json: No such file or directory\n")


def test_ignores_samples_of_unknown_cases(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    other = shutil.copytree(base, tmp_path / "other")
    samples = pd.read_csv(other / "samples.csv", dtype=str)
    samples.assign(case_id="another").to_csv(other / "samples.csv", index=False, lineterminator="\n")
    assert compare.main([str(base), str(other)]) == 0
    out = capsys.readouterr().out
    assert f"none of {CASES} cases is decided (no samples)" in " ".join(out.split())
    compare.main([str(base), str(other), "--verbose"])
    assert "0 SAME" in (out := capsys.readouterr().out) and "no samples" in out
    assert not [str(warning.message) for warning in recwarn]


def test_reports_truncated_row(base: Path, tmp_path: Path, output_of: OutputOf) -> None:
    cut = shutil.copytree(base, tmp_path / "cut")
    with (cut / "samples.csv").open("a") as stream:
        stream.write("3,transpose")
    out = " ".join(output_of(compare.main, base, cut).split())
    assert "! " in out and "the last row is cut off" in out


def test_marks_model_runs(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], output_of: OutputOf
) -> None:
    model = modelled(base, tmp_path / "model")
    for words in ([str(base), str(model)], [str(model), str(base)]):
        assert compare.main(words) == 2
        assert "--allow-model" in capsys.readouterr().err
    out = " ".join(output_of(compare.main, base, model, "--allow-model").split())
    assert out.startswith("model (model of NVIDIA H200) against base (NVIDIA H200, measured): of ")
    assert f"of {CASES} cases, none differs" in out
    assert "the 3 % that the model leaves to chance" in out
    out = output_of(compare.main, base, model, "--allow-model", "--verbose")
    assert "nothing of candidate was measured" in out
    titles = ("what differs", "Cases, by", "Cases that", "Did the cliff")
    heads = [line for line in out.splitlines() if any(title in line for title in titles)]
    assert len(heads) == 4 and all("MODEL" in head for head in heads)
    table = pd.read_csv(io.StringIO(output_of(compare.main, base, model, "--allow-model", "--format", "csv")))
    assert set(table["source"]) == {"model"} and set(table["verdict"]) == {"SAME"}
    assert compare.main([str(model), str(model)]) == 0


def test_environments(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another driver, toolkit, power cap and card of the kind; and a clock that is 9 % lower."""
    gpu = dict(uuid="GPU-2", power_limit_w=500.0, driver_version="999.1")
    other = lay(tmp_path / "other", env=dict(gpu=gpu, cuda_toolkit="14.0", git_dirty=True))
    for name in ("cases.csv", "samples.csv"):
        table = pd.read_csv(other / name, dtype=dict(variant=str))
        table["sm_clock_hz"] *= 0.91
        table.to_csv(other / name, index=False, lineterminator="\n")
    compare.main([str(base), str(other), "--format", "json"])
    found = json.loads(capsys.readouterr().out)["comparisons"][0]
    assert found["relation"] == "same kind of device" and found["threshold"] == 0.03
    fields = {row["field"]: row for row in found["environment"]}
    assert set(fields) == {
        "SM clock, median of the cases", "gpu.uuid", "gpu.power_limit_w", "gpu.driver_version",
        "cuda_toolkit", "git_dirty",
    }  # fmt: skip
    assert fields["gpu.power_limit_w"]["base"] == "700" and fields["gpu.power_limit_w"]["candidate"] == "500"
    assert "registers" in fields["cuda_toolkit"]["means"]
    clocks = "the SM clock differs by 9 %: seconds (--by time) compare clocks"
    assert any(clocks in said for said in found["warnings"])
    times, cycles = zip(*((row["time_change"], row["cycles_change"]) for row in found["cases"]), strict=True)
    assert np.allclose(times, 0) and np.allclose(cycles, -0.09, atol=1e-3)


HOSTILE = '<script>alert("x")</script> [red]|\x1b[31m`'


def test_matches_anonymous_run_to_its_card() -> None:
    named, other = "GPU-5a1a5745-0000-4000-8000-0123456789ab", "GPU-5a1a5745-0000-4000-8000-0123456789ac"
    hidden = "anonymous-de57f6ba4fc2c993"  # as harness/record/environment.cpp says it
    same = environment.SAME_DEVICE
    for a, b in ((named, hidden), (hidden, named), (hidden, hidden), (named, named)):
        assert environment.device_relation(dict(uuid=a), dict(uuid=b)) == same
    assert environment.device_relation(dict(uuid=hidden), dict(uuid=other)) != same
    assert environment.device_relation(dict(uuid=""), dict(uuid="")) != same


@pytest.mark.parametrize("form", ["table", "markdown", "html", "json", "csv"])
def test_hostile_names(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    other = lay(tmp_path / "other", env=dict(gpu=dict(name=HOSTILE), host=HOSTILE, preset=HOSTILE))
    assert compare.main([str(base), str(other), "--format", form]) in (0, 1)
    out = capsys.readouterr().out
    assert "\x1b" not in out
    if form in ("html", "markdown"):
        assert "<script" not in out and "&lt;script&gt;" in out
    if form == "html":
        parser = html.parser.HTMLParser()
        seen: set[str] = set()
        parser.handle_starttag = lambda tag, attributes: seen.add(tag)
        parser.feed(out)
        assert seen == {"html", "meta", "title", "style", "h1", "h2", "p", "table", "tr", "th", "td"}
        assert "http" not in out
    if form == "markdown":
        widths = [line.replace("\\|", "").count("|") for line in out.splitlines() if line.startswith("| gpu")]
        assert widths and set(widths) == {5}
    if form == "table":
        assert "<script>" in out and "[red]|" in out
        compare.main([str(base), str(other), "--verbose"])
        out = capsys.readouterr().out
        assert "<script>" in out and "[red]|" in out and "\x1b" not in out


def test_formats(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = lay(tmp_path / "slow", slower=1.03)
    compare.main([str(base), str(slow), "--format", "csv"])
    table = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert len(table) == CASES and table["candidate"].unique().tolist() == ["slow"]
    sure = table[table["verdict"] == "SLOWER"]
    assert len(sure) > 40
    assert sure["change"].median() == pytest.approx(0.03, abs=1e-6)
    assert sure["ceiling_change"].median() == pytest.approx(0.03, abs=1e-6)
    assert (sure["change_low"] < 0.03).all() and (sure["change_high"] > 0.03).all()
    compare.main([str(base), str(slow), "--verbose"])
    out = capsys.readouterr().out
    assert f"{len(sure) - 20} more SLOWER" in out
    compare.main([str(base), str(slow), "--all"])
    assert "more SLOWER" not in capsys.readouterr().out


def test_exports(base: Path, tmp_path: Path) -> None:
    slow = lay(tmp_path / "slow", slower=1.03)
    words = ["--export-benchmark", tmp_path / "gb.json", "--export-bencher", tmp_path / "bmf.json"]
    assert compare.main(list(map(str, [base, slow, *words]))) == 1
    runs = [json.loads((tmp_path / f"gb-{name}.json").read_text()) for name in ("base", "1")]
    names = [[entry["name"] for entry in run["benchmarks"]] for run in runs]
    assert names[0] == names[1] and len(names[0]) > CASES * 5
    ratios = [b["real_time"] / a["real_time"] for a, b in zip(*(r["benchmarks"] for r in runs), strict=True)]
    assert np.allclose(ratios, 1.03)
    for entry in runs[0]["benchmarks"]:
        assert entry["run_type"] == "iteration" and entry["time_unit"] == "ns" and entry["cpu_time"] > 0
        assert entry["repetition_index"] < entry["repetitions"]
    metrics = json.loads((tmp_path / "bmf.json").read_text())
    cases = pd.read_csv(slow / "cases.csv").set_index("case_id")
    assert set(metrics) == set(cases.index[cases["status"] == "valid"])
    for case, measures in metrics.items():
        latency = measures["latency"]
        assert latency["value"] == pytest.approx(1e9 * cases.at[case, "time_median_s"])
        assert latency["lower_value"] <= latency["value"] <= latency["upper_value"]
        assert measures["throughput"]["value"] == pytest.approx(cases.at[case, "throughput"])
    assert compare.main([str(base), str(slow), "--export-bencher", str(tmp_path / "no" / "file")]) == 4


def test_compares_two_cards_of_one_model(tmp_path: Path, output_of: OutputOf) -> None:
    """Halves of a run as two cards measured them, one of which lacks an experiment."""
    halves = [
        lay(tmp_path / name, env=dict(gpu=dict(uuid=name)), experiments=experiments, odd=odd)
        for name, odd, experiments in (("GPU-1", False, ("transpose", "nbody", "waves")),
                                       ("GPU-2", True, ("transpose", "nbody")))
    ]  # fmt: skip
    found = json.loads(output_of(compare.main, *map(str, halves), "--format", "json"))["comparisons"][0]
    assert found["relation"] == "same kind of device"
    assert found["verdicts"]["SAME"] > 0.9 * len(found["cases"])
    alone = {row["why"] for row in found["without_partner"]}
    assert alone == {"no such experiment"}


def test_names_changed_registers(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = shutil.copytree(base, tmp_path / "other")
    cases = pd.read_csv(other / "cases.csv", dtype=object, keep_default_na=False)
    mine = (cases["variant"] == "tile128-bodies4") & (cases["status"] == "valid")
    before = set(cases.loc[mine, "registers_per_thread"])
    assert mine.any() and len(before) == 1
    cases.loc[mine, "registers_per_thread"] = "63"
    cases.loc[mine, "local_bytes"] = "8"
    cases.to_csv(other / "cases.csv", index=False, lineterminator="\n")
    compare.main([str(base), str(other), "--format", "json"])
    drift = json.loads(capsys.readouterr().out)["comparisons"][0]["drift"]
    assert [(row["variant"], row["registers_per_thread"], row["cases"]) for row in drift] == [
        ("tile128-bodies4", f"{before.pop()} -> 63", int(mine.sum()))
    ]
    compare.main([str(base), str(other)])
    assert "1 kernel with other registers" in capsys.readouterr().out
    compare.main([str(base), str(other), "--verbose"])
    assert "machine code took other registers" in capsys.readouterr().out


def test_moved_cliffs(whole: Folder, no_cliffs: dict[str, list[list]]) -> None:
    cases = pd.DataFrame(
        [["c", "registers", "pressure", name, "valid"] for name in ("load", "fma", "lone")],
        columns=["case_id", "experiment", "family", "variant", "status"],
    )
    base, other = (Folder(Path(uuid), cases, dict(gpu=dict(uuid=uuid))) for uuid in ("a", "b"))
    other.cases = cases[cases["variant"] != "lone"]
    no_cliffs["a"] = [
        cliff(32), cliff(64), cliff(128), cliff(40, cause="shared_memory"), cliff(200, "unclear"),
        cliff(80, "absent", drop=0), cliff(32, kernel="fma"), cliff(32, kernel="lone"),
        cliff(16, "absent", kernel="fma", drop=0.005), cliff(48, "absent", kernel="fma", drop=0),
    ]  # fmt: skip
    no_cliffs["b"] = [
        cliff(32, "unpredicted"), cliff(72), cliff(128, "unclear"), cliff(250, cause="tail"),
        cliff(32, "absent", kernel="fma", drop=0), cliff(16, kernel="fma", drop=0.02),
        cliff(48, kernel="fma"), cliff(90, kernel="fma", cause="tail", drop=0.01),
    ]  # fmt: skip
    found = summary.moved_cliffs(base, other)
    told = {tuple(row) for row in found[["kernel", "base", "candidate", "verdict"]].itertuples(index=False)}
    assert told == {
        ("load", "32 -> 33", "32 -> 33", "SAME"),
        ("load", "64 -> 65", "72 -> 73", "MOVED"),
        ("load", "128 -> 129", "128 -> 129", "UNCLEAR"),
        ("load", "40 -> 41", "", "GONE"),
        ("load", "", "250 -> 251", "NEW"),
        ("fma", "32 -> 33", "32 -> 33", "GONE"),
        ("fma", "16 -> 17", "16 -> 17", "UNCLEAR"),
        ("fma", "48 -> 49", "48 -> 49", "NEW"),
        ("fma", "", "90 -> 91", "UNCLEAR"),
    }
    no_cliffs.clear()
    assert summary.moved_cliffs(base, other).empty


def test_finds_outlier_among_cards() -> None:
    """Five cards, one of them 4 % slower in one experiment."""
    chance = np.random.default_rng(3)
    tables = {}
    for card in ("one", "two", "three", "four", "five"):
        changes = chance.normal(0, 0.002, 40)
        changes[:20] += 0.04 * (card == "three")
        tables[card] = pd.DataFrame(dict(experiment=["waves"] * 20 + ["registers"] * 20, change=changes))
    table, said = summary.across_devices(tables, 0.03)
    assert said == [s for s in said if s.startswith("three is an outlier in waves (+4.")] and len(said) == 1
    assert table.set_index("experiment").at["waves", "spread"] > 0.035
