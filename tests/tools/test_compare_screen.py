# SPDX-License-Identifier: Apache-2.0
"""What occbench compare says on one screen: few and narrow lines, whole names, a verdict that is true."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("rich")

import pandas as pd
from occbench_docs.committed import committed_runs
from occbench_tools import compare
from parts import CASES, lay, modelled


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return lay(tmp_path / "base")


def words(text: str) -> str:
    """Without the breaks of lines."""
    return " ".join(text.split())


LISTED = {"faster", "slower", "nearer", "further", "better", "worse", "unsure"}
COMMITTED = committed_runs()


def fits(out: str, width: int) -> list[str]:
    """The lines of a screen, once seen to be few and narrow."""
    lines = out.splitlines()
    assert len(lines) <= 25 and max(map(len, lines)) <= width
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("candidates", [1, 2])
def test_summary_of_whole_runs_fits_one_screen(
    candidates: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Committed runs: the counts are the table's, and names of cases whole, or elided in the middle."""
    folders = [str(run) for run in (COMMITTED[0], *COMMITTED[-candidates:])]
    compare.main([*folders, "--format", "json"])
    found = json.loads(capsys.readouterr().out)["comparisons"]
    ids = pd.Series([row["case_id"] for one in found for row in one["cases"]])
    changed = [sum(one["verdicts"].get(name, 0) for name in ("FASTER", "SLOWER")) for one in found]
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        compare.main(folders)
        lines = fits(capsys.readouterr().out, width)
        verdict = words(" ".join(lines[: lines.index("")]))
        if candidates == 1:
            assert verdict.startswith("NVIDIA H200 against NVIDIA H100 80GB HBM3: ")
            assert f"times as fast (90 % of {len(ids):,} cases)" in verdict
            counts = found[0]["verdicts"]
            assert f"{counts['FASTER']:,} FASTER, {counts['SLOWER']:,} SLOWER" in verdict
            assert "more than chance (" in verdict
        else:
            assert verdict.startswith("3 runs: NVIDIA H200 is fastest, ")
        rows = [re.split(" {2,}", line) for line in lines]
        listed = [row[-1] for row in rows if row[0] in LISTED]
        assert candidates == 1 or (len(listed) > 0) == (max(changed) > 0)
        for name in listed:
            head, dots, tail = name.partition("...")
            assert any(ids.str.startswith(head) & ids.str.endswith(tail) & (bool(dots) | (ids == head)))


@pytest.mark.slow
def test_verdict_sentence_matches_the_comparison(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One case, a run against itself, a threshold that was asked for, another device or card, three runs."""
    monkeypatch.setenv("COLUMNS", "80")

    def said(*arguments: object) -> str:
        compare.main(list(map(str, arguments)))
        out = capsys.readouterr().out
        fits(out, 80)
        return words(out.split("\n\n")[0])

    assert said(base, base).startswith(f"base against itself: of {CASES} cases, none differs in time by more")
    slow = lay(tmp_path / "slow", slower=1.03)
    assert said(base, slow).startswith(f"slow against base, the same card: of {CASES} cases, ")
    assert "differ in time by up to 3.0 % (" in said(base, slow)
    assert "slower), more than chance (0.5 % on one card)" in said(base, slow)
    assert "differ in SM cycles by up to 3.0 % (" in said(base, slow, "--by", "cycles")
    assert "none differs in time by more than the 5 % asked for" in said(base, slow, "--threshold", 5)
    card = lay(tmp_path / "card", slower=1.05, env=dict(gpu=dict(uuid="GPU-2")))
    assert said(base, card).startswith(f"card against base, another NVIDIA H200: of {CASES} cases, ")
    assert "more than chance (3 % between two cards)" in said(base, card)
    # Of another device the speed-up comes first, in seconds; the share of the ceiling on request.
    device = lay(tmp_path / "device", slower=1.25, env=dict(gpu=dict(name="NVIDIA H100", uuid="GPU-3")))
    text = said(base, device)
    assert text.startswith(f"NVIDIA H100 against NVIDIA H200: 0.80 to 0.80 times as fast (90 % of {CASES} ")
    assert f"median 0.80. 0 FASTER, {CASES} SLOWER, 0 SAME, 0 AMBIGUOUS: in seconds" in text
    text = said(base, device, "--by", "ceiling")
    assert text.startswith(f"NVIDIA H100 (device) against NVIDIA H200 (base): of {CASES} cases, ")
    assert "share of their own ceiling" in text and "up to 20 % (" in text
    assert "faster" not in text.split("In ")[0]
    assert "In seconds: 0.80 times as fast (median)" in text
    one = lay(tmp_path / "one", slower=1.1)
    cases = pd.read_csv(one / "cases.csv", dtype=str, keep_default_na=False)
    keep = cases[cases["case_id"].str.startswith("transpose.")].head(1)
    keep.to_csv(one / "cases.csv", index=False, lineterminator="\n")
    samples = pd.read_csv(one / "samples.csv", dtype=str, keep_default_na=False)
    samples = samples[samples["case_id"].isin(keep["case_id"])]
    samples.to_csv(one / "samples.csv", index=False, lineterminator="\n")
    assert "of 1 case, 1 differs in time by 10 % (1 slower), more than" in said(base, one)
    compare.main([str(base), str(one)])  # which has no sweep, so that nothing is said of cliffs
    assert "gone" not in capsys.readouterr().out
    assert "None of 3 runs differs from base by more than chance." in said(base, base, base, base)


def test_names_models_as_models(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone, beside a measured run, and among several."""
    monkeypatch.setenv("COLUMNS", "80")
    model = modelled(base, tmp_path / "model")
    other = modelled(base, tmp_path / "other")
    env = json.loads((other / "env.json").read_text())
    env["gpu"]["name"] = "model of H200"  # as the program writes it
    (other / "env.json").write_text(json.dumps(env))

    def said(*arguments: object) -> str:
        compare.main(["--allow-model", *map(str, arguments)])
        out = capsys.readouterr().out
        fits(out, 80)
        return out

    assert said(model, other).startswith("model of H200 against model of NVIDIA H200: 1.00 to 1.00 times as")
    by = words(said(model, other, "--by", "ceiling"))
    assert by.startswith("other (model of H200) against model (model of NVIDIA H200): of")
    text = words(said(base, other))
    assert text.startswith("other (model of H200) against base (NVIDIA H200, measured): of")
    assert "the 3 % that the model leaves to chance" in text and "source" not in text
    assert "1  other (model)" in said(base, other, base)


@pytest.mark.slow
def test_many_differences_and_long_names_fit(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every field of the environment differs; paths are longer than a line; a dozen candidates."""
    monkeypatch.setenv("COLUMNS", "80")
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    gpu = dict(uuid="GPU-2", power_limit_w=500.0, driver_version="9" * 90, throttle_reasons="sw " * 40,
               memory_clock_hz=1e9, name=f"NVIDIA {'y' * 90}")  # fmt: skip
    env = dict(gpu=gpu, cuda_toolkit="1" * 90, git_commit="f" * 90, build_type="Debug", git_dirty=True)
    other = lay(deep / ("z" * 100), env=env, slower=1.2)
    for by in ([], ["--by", "ceiling"]):
        compare.main([str(base), str(other), *by])
        lines = fits(capsys.readouterr().out, 80)
        assert any(line.startswith("! gpu.") for line in lines)
        assert any("see --verbose" in line for line in lines)
        compare.main([str(base), *[str(base), str(other)] * 6, *by])
        fits(capsys.readouterr().out, 80)
