# SPDX-License-Identifier: Apache-2.0
"""Folders of `occbench attach`: what report, explain, compare and validate say of good and of bad ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("pandas")

import occbench_tools.findings
from occbench_tools import NEWEST, compare, explain, plot, report, validate
from occbench_tools.attached import changes, text
from outputs import OutputOf
from pages import EVIL, assert_quiet, document, opened
from programs import FASTER, FLAT, NEEDS, PROGRAM, break_, change, kernel, write

Said = pytest.CaptureFixture[str]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return write(tmp_path / "old")


def sections(page: Path) -> dict[str, dict[str, Any]]:
    return {each["id"]: each for each in document(page)["sections"]}


def test_explain_lists_what_to_work_on(program: Path, output_of: OutputOf) -> None:
    found = json.loads(output_of(explain.main, program, "--format", "json"))
    assert found["the whole program"] == [
        "Kernels that need occupancy take 49 % of GPU time; the next step in each would gain about 2.7 % "
        "(1.5 to 3.9).",
        "GPU time with a verdict: 94.8 % by fewer warps. Without: 4.9 % cooperative launch, 0.3 % unknown.",
        "Kernels that run faster with fewer warps take 12.2 % of GPU time; the best level of each would gain "
        f"7.3 %: `occbench attach --apply best --from {program}`",
    ]
    assert found["work on first"] == [
        "`needs<float>` (grid 4096, 48.6 % of GPU time): 8 registers fewer would save about 5.6 % of its "
        "time (3.0 to 8.0), 2.7 % of all."
    ]
    assert found["faster with fewer warps"] == [
        "`faster` (grid 4096, 12.2 % of GPU time) takes 60.0 % less time with 25 % of its warps: 6,144 B "
        "more dynamic shared memory, at a carve-out of 100 %."
    ]
    assert "1 kernel, 24.3 % of GPU time, the largest `flat`" in found["not worth it"][0]
    unknown, alone = found["not known"]
    assert unknown.startswith("Unknown: ") and alone.startswith("Skipped, cooperative launch: 1 kernel")


def test_apply_is_not_suggested_for_split_kernels(program: Path, output_of: OutputOf) -> None:
    table = pd.read_csv(program / "kernels.csv", dtype=str, keep_default_na=False)
    table.loc[table["verdict"] == "faster at lower occupancy", "after"] = (
        "softmax"  # told apart by what ran before
    )
    table.to_csv(program / "kernels.csv", index=False)
    said = output_of(explain.main, program, "--format", "json")
    assert "less time with 25 %" in said and "--apply" not in said


def test_small_gain_is_given_as_a_bound(program: Path, output_of: OutputOf) -> None:
    table = pd.read_csv(program / "kernels.csv", dtype=str, keep_default_na=False)
    needing = table["verdict"] == "needs occupancy"
    table.loc[needing, ["gain", "gain_low", "gain_high"]] = "0.001", "-0.003", "0.005"
    table.to_csv(program / "kernels.csv", index=False)
    said = output_of(explain.main, program, "--format", "json")
    assert "49 % of GPU time; their next steps would gain less than 0.3 %." in said


def test_uncertain_gain_is_not_worth_it(program: Path, output_of: OutputOf) -> None:
    table = pd.read_csv(program / "kernels.csv", dtype=str, keep_default_na=False)
    table.loc[table["verdict"] == "needs occupancy", "gain_low"] = "-0.01"
    table.to_csv(program / "kernels.csv", index=False)
    found = json.loads(output_of(explain.main, program, "--format", "json"))
    assert "work on first" not in found
    words_of_it = "The next step may bring nothing: 1 kernel, 48.6 % of GPU time"
    assert found["not worth it"][0].startswith(words_of_it)


def test_compare_names_the_damaged_folder(program: Path, tmp_path: Path, capsys: Said) -> None:
    bad = write(tmp_path / "bad")
    table = pd.read_csv(bad / "kernels.csv", dtype=str, keep_default_na=False)
    table.loc[2, "time_mean_s"] = "abc"
    table.to_csv(bad / "kernels.csv", index=False)
    for folders in ([program, bad], [bad, program]):
        assert compare.main([str(path) for path in folders]) == 4
        assert capsys.readouterr().err.startswith(f"occbench compare: {bad}: kernels.csv:4: time_mean_s")
    (bad / "env.json").unlink()
    assert compare.main([str(program), str(bad)]) == 4
    assert capsys.readouterr().err == f"occbench compare: {bad}/env.json: No such file or directory\n"


def test_explain_names_the_sm_count_of_a_partial_gpu(tmp_path: Path, output_of: OutputOf) -> None:
    folder = write(tmp_path / "green", (NEEDS | dict(cells=NEEDS["cells"] | dict(sm_count=16)), FLAT))
    said = json.loads(output_of(explain.main, folder, "--format", "json"))
    assert said["work on first"][0].startswith("`needs<float>` (grid 4096 on 16 SMs, ")
    assert " SMs" not in said["not worth it"][0]


def test_explain_shows_three_per_kind_unless_all(tmp_path: Path, output_of: OutputOf) -> None:
    many = tuple(NEEDS | dict(name=f"needs_{n}") for n in range(5))
    folder = str(write(tmp_path / "many", many))
    for form, sign in (("plain", "would save"), ("markdown", "- `needs_")):
        assert output_of(explain.main, folder, "--format", form).count(sign) == 3
        assert output_of(explain.main, folder, "--format", form, "--all").count(sign) == 5


def test_observed_run_has_no_verdicts(tmp_path: Path, output_of: OutputOf) -> None:
    folder = write(tmp_path / "run", (kernel("seen", verdict=""),), observe=True)
    assert validate.main([str(folder)]) == 0
    assert "Only observed (--observe)" in output_of(explain.main, folder)


def test_page_starts_with_the_terminals_sentence(program: Path, output_of: OutputOf) -> None:
    assert output_of(report.main, program) == f"{program}/report.html\n"
    page = program / "report.html"
    assert page.stat().st_size < 250_000
    told = document(page)
    assert told["lead"].startswith("Kernels that need occupancy take 49 % of GPU time;")
    assert told["lead"].endswith(f"would gain 7.3 %: occbench attach --apply best --from {program}")
    assert [each["id"] for each in told["sections"]] == ["largest", "kernels", "skipped"]


def test_picture_shows_the_synthetic_kernels(program: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert report.main([str(program), "--output", str(page)]) == 0
    (block,) = sections(page)["largest"]["before"]
    pictured = {each["name"]: each for each in block["of"]}
    assert list(pictured) == ["needs<float>", "flat", "faster", "l1"]  # the others have no time
    assert pictured["needs<float>"]["verdict"] == "needs occupancy"
    assert pictured["needs<float>"]["more"][1] == "8 registers fewer: -5.6 % (-8.0 to -3.0)"
    for name, slope in (("needs<float>", 50), ("flat", 0), ("faster", -20)):
        points = pictured[name]["points"]
        assert [warps for warps, *_ in points] == [75, 50, 25]
        for warps, value, low, high in points:
            assert value == pytest.approx(slope * (100 / warps - 1), abs=1e-3)
            assert low < value < high


def test_picture_has_ten_kernels_and_table_all(tmp_path: Path) -> None:
    many = tuple(FLAT | dict(name=f"flat_{n}", time_s=1e-3 / (n + 1)) for n in range(14))
    page = tmp_path / "page.html"
    assert report.main([str(write(tmp_path / "run", many)), "--output", str(page)]) == 0
    assert len(sections(page)["largest"]["before"][0]["of"]) == 10
    assert len(sections(page)["kernels"]["before"][0]["body"]) == 14


def test_page_in_a_browser(browser: Any, tmp_path: Path) -> None:  # noqa: ANN401
    evil = tuple(one | dict(name=f"{one['name']}{EVIL * 20}") for one in PROGRAM)
    folder = write(tmp_path / "evil", evil, program=["python", EVIL], complaints=[EVIL], git_commit=EVIL)
    page = tmp_path / "page.html"
    assert report.main([str(folder), "--output", str(page)]) == 0
    opened(browser, page)
    body = browser.find_element("tag name", "body").text
    assert "undefined" not in body and "NaN" not in body
    assert EVIL in browser.title
    assert browser.execute_script("return [window.hacked, document.images.length]") == [None, 0]
    assert len(browser.find_elements("css selector", ".panels figure")) == 4
    assert len(browser.find_elements("css selector", ".panels svg .point")) == 4 * 3

    def column(number: int) -> list[str]:
        return browser.execute_script(
            "return [...document.querySelectorAll(`.kernels tbody td:nth-child(${arguments[0]})`)]"
            ".map((cell) => cell.innerText)", number,
        )  # fmt: skip

    assert column(2) == ["48.6 %", "24.3 %", "12.2 %", "9.7 %", "4.9 %", "0.3 %"]
    head = browser.find_elements("css selector", ".kernels th button")
    browser.execute_script("arguments[0].click()", head[4])  # with fewer warps
    assert column(2)[0] == "48.6 %" and column(2)[3] == "12.2 %"
    assert column(5)[-2:] == ["", ""]
    browser.execute_script("arguments[0].click()", head[4])
    assert column(2)[0] == "12.2 %" and column(5)[-2:] == ["", ""]
    browser.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert EVIL in browser.find_element("css selector", ".kernels details code").text
    browser.set_window_size(500, 900)
    wide = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert browser.execute_script(wide)
    browser.set_window_size(1440, 900)
    whole = "const at = document.querySelector('.kernels'); return at.scrollWidth <= at.clientWidth"
    assert browser.execute_script(whole)
    assert_quiet(browser, page)


def test_identical_folders_have_no_change(program: Path, output_of: OutputOf) -> None:
    found = json.loads(output_of(compare.main, program, program, "--format", "json"))
    assert found["verdicts"] == {"SAME": 5, "AMBIGUOUS": 1}
    assert (found["gone"], found["new"], found["together"]["change"]) == ([], [], 0)
    # All kernels may move together from run to run, however many there are.
    low, high = (found["together"][name] for name in ("change_low", "change_high"))
    assert low <= -changes.MARGIN and high >= changes.MARGIN


def test_overlapped_launches_are_not_compared(program: Path, tmp_path: Path, output_of: OutputOf) -> None:
    crowded = write(tmp_path / "crowded")
    (path,) = crowded.glob("launches.csv*")
    launches = pd.read_csv(path)
    beside = launches.assign(overlapped=1, time_s=3 * launches["time_s"])
    pd.concat([launches, beside]).to_csv(path, index=False)
    found = json.loads(output_of(compare.main, program, crowded, "--format", "json"))
    assert found["together"]["change"] == 0


def test_changes_are_reported_with_intervals(program: Path, tmp_path: Path, output_of: OutputOf) -> None:
    """One kernel takes 10 % less time and no more needs occupancy, one 20 % more; one is gone, one new."""
    faster = NEEDS | dict(time_s=1.8e-3, cells=FLAT["cells"])
    slower = FLAT | dict(time_s=1.2e-3)
    new = write(tmp_path / "new", (faster, slower, FASTER, kernel("fresh", verdict="saturated")))
    found = json.loads(output_of(compare.main, program, new, "--format", "json", code=1))
    by_name = {row["kernel"]: row for row in found["kernels"]}
    expected = {NEEDS["name"]: (-0.1, "FASTER"), "flat": (0.2, "SLOWER"), "faster": (0, "SAME")}
    for name, (value, verdict) in expected.items():
        row = by_name[name]
        assert row["change"] == pytest.approx(value, abs=1e-9) and row["change_verdict"] == verdict
        assert row["change_low"] < value - 0.015 and value + 0.015 < row["change_high"]
    assert by_name[NEEDS["name"]]["verdict_new"] == "saturated"
    assert {row["kernel"] for row in found["gone"]} == {"l1", "few", "sync"}
    assert [row["kernel"] for row in found["new"]] == ["fresh"]
    for form in ("table", "markdown", "html", "csv"):
        said = output_of(compare.main, program, new, "--format", form, code=1)
        assert "needs occupancy" in said and "saturated" in said
    lines = output_of(compare.main, program, new, "--width", "80", code=1).splitlines()
    assert max(map(len, lines)) <= 80 and len(lines) <= 24
    assert any("3 kernels gone" in line for line in lines) and any("1 kernel new" in line for line in lines)


def test_change_below_threshold_is_ignored(program: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new", (FLAT | dict(time_s=1.02e-3), NEEDS))
    assert compare.main([str(program), str(new)]) == 0
    new = write(tmp_path / "newer", (FLAT | dict(time_s=1.06e-3), NEEDS))
    assert compare.main([str(program), str(new)]) == 1
    assert compare.main([str(program), str(new), "--threshold", "10"]) == 0


def test_matches_signatures_present_in_both_runs(tmp_path: Path, output_of: OutputOf) -> None:
    """Two kinds of launches under one name: by their arguments; where these differ there is no verdict."""

    def kinds(*arguments: str) -> tuple[dict[str, Any], ...]:
        return tuple(
            kernel("kinds", time_s, verdict="saturated", arguments=each)
            for time_s, each in zip((1e-3, 3e-3), arguments, strict=True)
        )

    old = write(tmp_path / "old", kinds("a", "b"))
    for arguments, count, notes in ((("a", "b"), 2, {""}), (("c", "d"), 1, {"launches of several kinds"})):
        new = write(tmp_path / "-".join(arguments), kinds(*arguments))
        rows = json.loads(output_of(compare.main, old, new, "--format", "json"))["kernels"]
        assert (len(rows), {row["note"] for row in rows}) == (count, notes)


HEAD = "kernel_id,kernel,symbol,"
# A file, what stands in it (nothing: all of it), what comes in its place, and what is said of that.
BROKEN = {
    "half a folder": ("kernels.csv", "", None, "kernels.csv: No such file"),
    "no arms": ("arms.csv", "", None, "arms.csv: No such file"),
    "a cut header": ("kernels.csv", HEAD, "kernel,symbol,", "lacks kernel_id"),
    "cut in its header": ("kernels.csv", "", "kernel_id,kern", "kernels.csv holds no row"),
    "another column": ("arms.csv", "samples", "sample", "lacks samples and has extra sample"),
    "a negative time": ("kernels.csv", ",0.002,", ",-0.002,", "is beyond the minimum, 0"),
    "a negative count": ("kernels.csv", ",100,0,", ",-100,0,", "is beyond the minimum, 0"),
    "a word for a number": ("arms.csv", ",8,0.002,", ",8,fast,", "is not a number"),
    "infinity": ("arms.csv", ",8,0.002,", ",8,inf,", "is not a finite number"),
    "a stranger": ("arms.csv", "\n0,untouched", "\n99,untouched", "99 is not a kernel's"),
    "a kernel twice": ("kernels.csv", "\n1,", "\n0,", "0 stands there twice"),
    "an arm twice": ("arms.csv", "lower,4", "lower,6", "has this arm twice"),
    "no JSON": ("env.json", "", '{"kind": "attach"', "env.json"),
    "an old version": ("env.json", f'"schema_version": {NEWEST}', '"schema_version": 1', "schema_version 1"),
    "no program": ("env.json", '"program"', '"programme"', "program is missing"),
    "a list of numbers": ("env.json", '"complaints": []', '"complaints": [1]', "complaints[0]: 1 is"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_bad_input_is_one_line_with_an_exit_code(program: Path, how: str, capsys: Said) -> None:
    *broken, words_ = BROKEN[how]
    break_(program, *broken)
    good = str(write(program.parent / "good"))
    for main, arguments in ((report.main, []), (explain.main, []), (compare.main, [good])):
        code = main([str(program), *arguments])
        said = capsys.readouterr()
        assert (code, said.out, said.err.count("\n")) == (4, "", 1), said.err
        assert words_ in said.err
    assert not (program / "report.html").exists()
    assert validate.main([str(program)]) in (1, 4)


def test_no_kernels(tmp_path: Path, program: Path, capsys: Said) -> None:
    empty = str(write(tmp_path / "empty", ()))
    for main, other, code in ((report.main, [], 1), (explain.main, [], 1), (compare.main, [str(program)], 2)):
        assert main([empty, *other]) == code
        said = capsys.readouterr()
        assert (said.out, said.err.count("\n")) == ("", 1)
    assert validate.main([empty]) == 0


def test_beside_a_run(program: Path, run: Path, capsys: Said) -> None:
    """A folder of attach is not a run, wherever it stands, and some options are for runs alone."""
    a, b = str(program), str(run)
    calls = [
        (compare.main, [a, b]), (compare.main, [b, a]), (compare.main, [a, a, a]),
        (compare.main, [a, a, "--by", "time"]), (report.main, [a, b]), (report.main, [b, a]),
        (report.main, [a, a]), (report.main, [a, "--png", b]),
    ]  # fmt: skip
    for main, arguments in calls:
        assert main(arguments) == 2
        said = capsys.readouterr()
        assert (said.out, said.err.count("\n")) == ("", 1) and "attach" in said.err
    with pytest.raises(SystemExit, match="2"):
        explain.main([a, "registers"])
    assert plot.main([a]) == 4
    assert "report, explain and compare read it" in capsys.readouterr().err


def test_escapes_kernel_names(tmp_path: Path, capsys: Said) -> None:
    name = "\x1b[31m`red`\n" + EVIL + "x" * 5000
    folder = str(write(tmp_path / "run", tuple(one | dict(name=one["name"] + name) for one in PROGRAM)))
    for main, words_ in (
        (explain.main, [folder]), (explain.main, [folder, "--format", "markdown"]),
        *((compare.main, [folder, folder, "--format", form]) for form in ("table", "markdown", "html")),
    ):  # fmt: skip
        assert main(words_) == 0
        said = capsys.readouterr().out
        assert "\x1b" not in said and max(map(len, said.splitlines())) < 5000
        assert "<script>" not in said or "html" not in words_


def test_newest_folder_may_be_an_attach_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    write(tmp_path / "results/attach/train.py")
    monkeypatch.chdir(tmp_path)
    assert explain.main([]) == validate.main([]) == report.main([]) == 0
    assert (tmp_path / "results/attach/train.py/report.html").exists()


def test_short_name_removes_arguments() -> None:
    assert text.short_name("void a::(anonymous namespace)::k<f(int)>(int*, f(*)(int))", 60) == "a::k<f(int)>"
    assert len(text.short_name("k" * 1000, 32)) == 32


def test_reads_verdicts_of_schema_6(program: Path, capsys: Said) -> None:
    assert explain.main([str(program)]) == 0
    today = capsys.readouterr().out
    table = pd.read_csv(program / "kernels.csv", dtype=str, keep_default_na=False)
    retired = {"faster at lower occupancy": "faster lower", "skipped": "left alone"}  # retired
    assert set(retired) <= set(table["verdict"])
    table["verdict"] = table["verdict"].replace(retired)
    table.drop(columns=["sm_verdict", "spare_sms"]).to_csv(program / "kernels.csv", index=False)
    for name in ("launches.csv.gz", "arms.csv"):
        table = pd.read_csv(program / name, dtype=str, keep_default_na=False)
        table.drop(columns="sm_count").to_csv(program / name, index=False)
    change(program, "env.json", f'"schema_version": {NEWEST}', '"schema_version": 6')
    assert validate.main([str(program)]) == 0
    capsys.readouterr()
    assert explain.main([str(program)]) == 0
    assert capsys.readouterr().out == today


def test_findings_json_is_ignored_for_changed_tables(
    program: Path, capsys: Said, output_of: OutputOf
) -> None:
    """What the program wrote is shown as it stands; of changed tables the program is asked again."""
    asked = occbench_tools.findings.ask(program)
    (program / "findings.json").write_text(
        json.dumps(asked | dict(headings=[dict(title="x", sentences=["y."])]))
    )
    assert validate.main([str(program)]) == 0
    capsys.readouterr()
    assert json.loads(output_of(explain.main, program, "--format", "json")) == {"x": ["y."]}
    change(program, "kernels.csv", "8 registers", "9 registers")
    assert "9 registers fewer would save" in output_of(explain.main, program, "--format", "json")
    (program / "findings.json").write_text(json.dumps(asked | dict(verdicts=7)))
    assert "verdicts: 7 is not of type array" in output_of(validate.main, program, code=1)


def test_valid_folder_passes(program: Path, output_of: OutputOf) -> None:
    assert output_of(validate.main, program) == "1 folder, 6 kernels, 172 launches: 0 violations\n"


def test_verdict_at_a_threshold_is_valid(program: Path, capsys: Said) -> None:
    table = pd.read_csv(program / "kernels.csv", dtype=str, keep_default_na=False)
    for why, wrong in (("a step down costs 0.9 % (0.6 to 1.2), at the threshold of 1 %", 0), ("so", 1)):
        table.loc[table["verdict"] == "saturated", "why"] = why
        table.to_csv(program / "kernels.csv", index=False)
        assert validate.main([str(program)]) == wrong
    assert "why: so, and the verdict is saturated" in capsys.readouterr().out


GAIN, LAUNCH, ARM = "0.0556,0.03,0.08", "\nprocess-1-0,", "0,untouched,8,0,8,"
VIOLATIONS = {
    "gain": ("kernels.csv", GAIN, "0.0556,0.06,0.08", "is outside its interval"),
    "half a gain": ("kernels.csv", GAIN, "0.0556,0.03,", "only a part"),
    "share": ("kernels.csv", ",0.243", ",0.343", "gpu_time_share"),
    "no reason": ("kernels.csv", "cooperative launch", "", "why: empty"),
    "a verdict": ("kernels.csv", "saturated", "fine", "verdict: 'fine' is not one of"),
    "timed": ("launches.csv", f"{LAUNCH}4,7,", f"{LAUNCH}1,7,", "timed: 8, but launches.csv has 7"),
    "median": ("arms.csv", f"{ARM}0.002,", f"{ARM}0.001999,", "but its launches' is"),
    "samples": ("arms.csv", ARM, "0,untouched,8,0,9,", "samples: 9, but launches.csv has 8"),
    "a stranger": ("launches.csv", f"{LAUNCH}5,", f"{LAUNCH}9,", "9 is not in kernels.csv"),
    "a time": ("launches.csv", "untouched,8,0.00199", "untouched,8,-0.00199", "is below 0"),
    "a GPU": ("env.json", '"gpus": [\n  {', '"gpus": [\n  7,\n  {', "gpus[0]: 7 is not of type object"),
    "a complaint": ("env.json", '"complaints": []', '"complaints": [1]', "complaints[0]: 1"),
    "a process": ("env.json", '"command": "python', '"words": "python', "processes[0].command is missing"),
}


@pytest.mark.parametrize("how", VIOLATIONS)
def test_validate_names_violations(program: Path, how: str, output_of: OutputOf) -> None:
    *broken, words_ = VIOLATIONS[how]
    break_(program, *broken)
    assert words_ in output_of(validate.main, program, code=1)


def test_report_works_without_the_sm_count(program: Path) -> None:
    env = json.loads((program / "env.json").read_text())
    for gpu in env["gpus"]:
        gpu.pop("sm_count", None)
    (program / "env.json").write_text(json.dumps(env))
    assert report.main([str(program)]) == 0


def test_rejects_a_malformed_row(program: Path, capsys: Said) -> None:
    header, row, *rest = (program / "kernels.csv").read_text().splitlines(keepends=True)
    (program / "kernels.csv").write_text("".join([header, row.rsplit(",", 2)[0] + "\n", *rest]))
    assert report.main([str(program)]) == 4
    assert "kernels.csv:2: " in capsys.readouterr().err


def test_truncated_last_row_is_skipped_and_reported(program: Path, capsys: Said) -> None:
    path = program / "kernels.csv"
    path.write_text(path.read_text().rstrip("\n"))
    assert report.main([str(program)]) == 1
    assert "the last row is cut off" in capsys.readouterr().err
    assert validate.main([str(program)]) == 1


def test_compare_reports_different_timing_sources(program: Path, tmp_path: Path, capsys: Said) -> None:
    recorded = [dict(id="process-1-0", command="python train.py", timing="activity", why_events="")]
    other = write(tmp_path / "new", processes=recorded)
    for folder, is_said in ((other, True), (program, False)):
        assert compare.main([str(program), str(folder)]) == 0
        said = capsys.readouterr()
        assert ("only one was timed by events" in said.out + said.err) == is_said
