# SPDX-License-Identifier: Apache-2.0
"""occbench explain on rows made by known laws."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

pytest.importorskip("pandas")

import described
import made_up
import occbench_tools.findings
import worded
from occbench_docs.committed import committed_runs
from occbench_tools import NEWEST as NEWEST_SCHEMA
from occbench_tools import READ, analysis, command, explain
from occbench_tools.escape import markdown
from occbench_tools.findings import Sentences, ask, of_json
from outputs import OutputOf
from worded import rows_of

NAMES = sorted(made_up.ENV["experiments"])
TOO_FEW = "Not enough points for a finding"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up.write(tmp_path_factory.mktemp("run"), made_up.cases())


# What a folder that many tests share says, worked out once.
said_once = functools.cache(explain.sentences_of)


def test_sentences_of_a_folder(run: Path) -> None:
    """Every experiment that is known, its sentences apart; those without rows have none."""
    found = said_once(run)
    assert sorted(found) == NAMES and all(found.values())
    assert worded.own("divergence", rows_of(run, "divergence"), made_up.ENV) == found["divergence"][:3]


def test_experiment_order() -> None:
    """What people ask first, then by the largest effect in any run; what has too few points is last."""
    said = explain.Sentences
    sizes = dict(
        adam=0.1, softmax=2, spilling=0, gemv=1.5, registers=-1, latency_hiding=0.2, energy=0, nbody=-1
    )
    sizes |= dict(block_size=3, shared_memory=1)
    found = {name: [said(["."], size), said(["."], size / 2)] for name, size in sizes.items()}
    found["waves"] = [said([]), said(["."], 1.7)]
    first = ["latency_hiding", "registers", "shared_memory", "block_size", "spilling"]
    assert explain.reading_order(found) == [*first, "softmax", "waves", "gemv", "adam", "energy", "nbody"]


def test_plain_text_paragraphs(run: Path, output_of: OutputOf) -> None:
    """By default: at most three sentences each, 80 columns, and how many more there are."""
    out = output_of(explain.main, run)
    assert out.startswith("What A GPU says, by ") and all(len(line) <= 80 for line in out.splitlines()[1:])
    assert "`" not in out and "nan" not in out
    found = said_once(run)
    spoken = {name: words for name, words in found.items() if TOO_FEW not in words[0]}
    assert [line for line in out.splitlines() if line in NAMES] == list(spoken)
    left = sum(max(0, len(words) - explain.MAIN) for words in spoken.values())
    assert out.endswith(f"\n{left} sentences more: --all\n")
    everything = " ".join(output_of(explain.main, run, "--all").split())
    assert all(words.replace("`", "") in everything for each in spoken.values() for words in each)


def test_selects_experiments(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a folder, and without one in the newest below ./results."""
    assert explain.main([str(run), "divergence", "registers"]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line in NAMES] == ["registers", "divergence"]
    home = run.parent / "home"
    shutil.copytree(run, home / "results" / "gpu" / "2026")
    monkeypatch.chdir(home)
    assert explain.main(["registers"]) == 0
    assert (
        "\nregisters\n  From 31 to 33 registers loads lose 24.3 % and FMA chains lose nothing (blocks"
        in capsys.readouterr().out
    )


def test_without_a_run_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert explain.main([]) == 4
    assert "no results under ./results" in capsys.readouterr().err


def test_for_programs(run: Path, output_of: OutputOf) -> None:
    assert json.loads(output_of(explain.main, run, "--format", "json", "--all")) == said_once(run)
    found = json.loads(output_of(explain.main, run, "--format", "json"))
    assert found == {name: words[:3] for name, words in said_once(run).items()}


def test_table(run: Path, output_of: OutputOf) -> None:
    lines = output_of(explain.main, run, "--format", "markdown").splitlines()
    found = said_once(run)
    assert lines[:2] == ["| experiment | picture | what this run says |", "|---|---|---|"]
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {markdown(name)}" for name in found]
    for name, line in zip(found, lines[2:], strict=True):
        assert (
            f"| ![{markdown(name)}]({run}/{name}.png) |" in line
            and explain.ABSENT not in line
            and "nan" not in line
        )
    assert "lose 75 % by 96 registers" in "\n".join(lines)


def test_achieved_occupancy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A launch of 60 % of the warp slots where theory has 100; two of three counters agree with records."""
    parts = dict(
        occupancy_theoretical=1.0, occupancy_resident=0.8, occupancy_launch=0.6, lost_to_ramp=0.05,
        lost_to_turnover=0.0, lost_to_tail=0.25, lost_to_imbalance=0.1, lost_to_unused_places=0.0,
    )  # fmt: skip
    rows = [row | parts for row in made_up.cases() if row["experiment"] == "waves"][:4]
    for row, counted in zip(rows, (0.8, 0.81, 0.7, None), strict=True):
        row["occupancy_achieved"] = counted
    assert explain.main([str(made_up.write(tmp_path / "run", rows))]) == 0
    assert explain.occupancy_text(tmp_path / "run") == (
        "40.0 points of occupancy are lost between theory and the launch, in the mean of 4 cases. "
        "They go to the tail (25.0), imbalance (10.0), the ramp (5.0), turnover (0.0), places never used "
        "(0.0). "
        "Block records and the hardware counter agree within 2 points in 2 of 3 cases (66.7 %), in the "
        "median "
        "within 1.00. "
        f"They are furthest apart in `{rows[2]['case_id']}`: 80 % by records, 70 % by the counter."
    )
    assert "achieved occupancy\n  40.0 points" in capsys.readouterr().out


def test_reports_experiments_not_run(run: Path, tmp_path: Path, output_of: OutputOf) -> None:
    folder = made_up.write(
        tmp_path / "few", [row for row in made_up.cases() if row["experiment"] == "waves"][:2]
    )
    lines = output_of(explain.main, folder, "--format", "markdown").splitlines()[2:]
    without = {f"| {markdown(name)} |  | Not in this run. |" for name in NAMES if name != "waves"}
    assert {line for line in lines if not line.startswith("| waves")} == without
    assert output_of(explain.main, folder, "registers").endswith("\n\nregisters\n  Not in this run.\n")


@pytest.mark.parametrize("experiment", NAMES)
def test_partial_run_is_not_an_error(run: Path, experiment: str) -> None:
    rows = rows_of(run, experiment)
    for some in (rows[::2], rows[1::3], *(rows[i : i + 1] for i in range(len(rows)))):
        words = worded.explain_made_up(experiment, some, made_up.ENV).sentences
        assert words and all(each.endswith(".") for each in words)
    found = worded.explain_made_up(experiment, rows, made_up.ENV)
    assert found.headline(experiment) == found.sentences[0]


def test_a_model_predicts(tmp_path: Path, output_of: OutputOf) -> None:
    rows = [row for row in made_up.cases() if row["experiment"] == "block_size"]
    folder = made_up.write(tmp_path / "model", rows)
    env = (folder / "env.json").read_text()
    env = env.replace('"source": "measured"', '"source": "model"').replace('"A GPU"', '"model of a GPU"')
    (folder / "env.json").write_text(env)
    first, _, *others = output_of(explain.main, folder).splitlines()
    assert first == "What the model of a GPU predicts; nothing here was measured."
    assert others[0] == "block_size"


@pytest.mark.slow
@pytest.mark.parametrize("folder", committed_runs(), ids=lambda folder: folder.name)
def test_sentences_are_short(folder: Path) -> None:
    """No sentence over 30 words, none of numbers that are not there; of the default's at most three are "
    "said."""
    found = explain.sentences_of(folder)
    words = [
        *(each for words in found.values() for each in words),
        *explain.occupancy_text(folder).split(". "),
    ]
    assert [each for each in words if len(each.split()) > 30 or " nan" in each] == []
    for paragraph in explain.plain_text(folder).split("\n\n"):
        name, *lines = paragraph.splitlines()
        if name in NAMES:
            assert 1 <= sum(not line.startswith("    ") for line in lines) <= 3


def test_curve_needs_four_points() -> None:
    assert not analysis.is_curve([8, 16, 32, 32, 16, float("nan")])
    assert analysis.is_curve([8, 16, 32, 64])


NEWEST = {folder.parent.name: folder for folder in committed_runs()}  # of each GPU


@pytest.mark.slow
@pytest.mark.parametrize("gpu", NEWEST)
def test_preset_standard_has_enough_points(gpu: str) -> None:
    if analysis.read_folder(NEWEST[gpu])[1]["schema_version"] < 5:
        pytest.skip("a run from before experiments described themselves")
    if not (program := command.occbench()):
        pytest.skip("no occbench on the PATH or built here")
    found = explain.sentences_of(NEWEST[gpu])
    few = [name for name, words in found.items() if words and TOO_FEW in words[0]]
    measured = analysis.read_folder(NEWEST[gpu])[0]["experiment"].value_counts()
    for name in few:  # it has been given more points since, or it has too few to this day
        words = ["list", "--preset", "standard", "--experiment", name, "--format", "csv"]
        done = subprocess.run([program, *words], check=True, capture_output=True, text=True)
        assert len(done.stdout.splitlines()) - 1 > measured[name], name


def test_preset_quick_reports_too_few_points(tmp_path: Path) -> None:
    """By the program, of a model: two points are no finding, and what has a curve says one."""
    if not (program := command.occbench()):
        pytest.skip("no occbench on the PATH or built here")
    few, enough = ["carveout", "layer_norm"], ["block_size", "registers"]
    words = ["run", "--device", "model:h200", "--preset", "quick", "--output", str(tmp_path / "quick")]
    words += ["--experiment", ",".join(few + enough)]
    subprocess.run([program, *words], check=True, capture_output=True, cwd=tmp_path)
    found = explain.sentences_of(tmp_path / "quick")
    for name in few:
        assert found[name][0] == "Not enough points for a finding (preset standard has them)."
    assert all(TOO_FEW not in found[name][0] for name in enough)


def test_too_few_points_are_not_a_finding(run: Path) -> None:
    """Three values of the dial are no finding, four are; and a quick run says what has more."""
    rows = rows_of(run, "softmax")
    three = rows[rows["warps_per_sm"] < 64]
    words = "Not enough points for a finding (preset standard has them)."
    assert worded.explain_made_up("softmax", three, made_up.ENV | dict(preset="quick")).sentences == [words]
    one = worded.explain_made_up("softmax", three[:1], made_up.ENV)
    assert one.sentences == ["Not enough points for a finding."] and one.is_too_few
    assert len(worded.explain_made_up("softmax", rows, made_up.ENV).sentences) > 1
    for name in [name for name, it in described.MORE.items() if it.get("compares_kernels")]:
        assert TOO_FEW not in worded.explain_made_up(name, rows_of(run, name)[:1], made_up.ENV).sentences[0]


def test_reports_truncated_row(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(run, tmp_path / "cut")
    cases = tmp_path / "cut/cases.csv"
    cases.write_bytes(cases.read_bytes()[:-30])
    assert explain.main([str(tmp_path / "cut")]) == 1
    told = capsys.readouterr()
    assert told.out.startswith("What ")
    assert told.err == (
        f"occbench explain: {cases}: the last row is cut off (no line feed at its end) and left out\n"
    )


def test_another_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_up.write(tmp_path / "old", [made_up.cases()[0] | dict(schema_version=1)])
    assert explain.main([str(folder)]) == 4
    assert f"schema_version 1, and this tool reads {READ}" in capsys.readouterr().err


def test_missing_folder(tmp_path: Path) -> None:
    assert explain.main([str(tmp_path / "none")]) == 4


def test_usage(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--colour"], [str(run), "regsters"]):
        with pytest.raises(SystemExit, match=r"^2$"):
            explain.main(words)
    assert "no experiment regsters in" in capsys.readouterr().err


def test_shows_findings_of_the_program(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of these rows, and of this schema; of others the program is asked."""
    folder = shutil.copytree(run, tmp_path / "run")
    content = (folder / "cases.csv").read_bytes()
    finding = dict(kind="own", sentence="Loads gain 3 %.", effect=0.1, score=0)
    document = dict(
        schema_version=NEWEST_SCHEMA,
        cases=dict(bytes=len(content), crc32=f"{zlib.crc32(content):08x}"),
        experiments=dict(registers=dict(effect=0.1, findings=[finding])),
        cliffs=[],
    )
    (folder / "findings.json").write_text(json.dumps(document))
    monkeypatch.setattr(occbench_tools.findings, "occbench", lambda: None)
    assert explain.explain_folder(folder)["registers"] == Sentences(["Loads gain 3 %."], 0.1, 1)
    (folder / "cases.csv").write_bytes(content[: content[:-1].rfind(b"\n") + 1])
    with pytest.raises(command.CommandError):
        explain.explain_folder(folder)


def test_row_order_does_not_matter(tmp_path: Path) -> None:
    """A resumed run has its rows in another order: ties are not to be decided by it."""
    found = []
    for order in (1, -1):
        folder = tmp_path / str(order)
        shutil.copytree(NEWEST["nvidia-h200"], folder, ignore=shutil.ignore_patterns("*.gz"))
        head, *rows = (folder / "cases.csv").read_text("utf-8").splitlines(keepends=True)
        (folder / "cases.csv").write_text("".join([head, *rows[::order]]), encoding="utf-8")
        found.append(ask(folder)["experiments"])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "entry",
    [3, [], dict(effect=1), dict(effect="1", findings=[]), dict(effect=1, findings=[dict(kind="own")])],
)
def test_rejects_malformed_findings(entry: object) -> None:
    with pytest.raises(ValueError, match=r"findings\.json: registers: not an effect and a list of findings"):
        of_json(dict(experiments=dict(registers=entry)))
    for cases in (3, "case", [3]):
        found = dict(effect=1, findings=[dict(kind="own", sentence="Words.", cases=cases)])
        with pytest.raises(ValueError, match=r"findings\.json: registers: cases is not a list of words"):
            of_json(dict(experiments=dict(registers=found)))
    for document in ([], dict(), dict(experiments=[])):
        with pytest.raises(ValueError, match=r"findings\.json: not an object"):
            of_json(document)
