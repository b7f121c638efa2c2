# SPDX-License-Identifier: Apache-2.0
"""occbench profile with a made-up ncu: what it is asked, what is read of its answer, and its failures."""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("pandas")

import made_up
from occbench_tools import counters, profile
from occbench_tools.analysis import read_folder

RANGE = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"

# Runs what it is given, and answers for each launch as Nsight Compute does.
NCU = f"""#!{sys.executable}
import os, subprocess, sys
assert sys.argv[1:3] == ["--config-file", "off"]  # no configuration of the folder that it runs in
words = sys.argv[3:]
if words == ["--query-metrics"]:
    print("Device A GPU\\n--- ---")
    for name in os.environ["KNOWN"].split():
        print(name, "Counter", "%", "# of something")
    sys.exit()
if os.environ.get("FAIL"):
    print(os.environ["FAIL"], file=sys.stderr)
    sys.exit(1)
with open(os.environ["CALLS"], "a") as calls:
    print(*words, file=calls)
metrics = words[words.index("--metrics") + 1].split(",") if "--metrics" in words else ["sm__a.sum"]
log = words.index("--log-file") + 1
out = subprocess.run(words[log + 1 :], capture_output=True, text=True, check=True).stdout
with open(words[log], "w") as log:
    print("==PROF== Connected to process 1", file=log)
    for number, line in enumerate(["ID", ""] + out.split()):
        cells = {{
            "ID": ["ID", "Process ID", "{RANGE}", "Kernel Name", *metrics],
            "": ["", "", "", "", *["%"] * len(metrics)],
        }}.get(line, [str(number), "7", '7 ""occbench:' + line + ':none:none""', "k(a, b)"]
               + [f"1,23{{number % 2}}.5"] * len(metrics))
        print(",".join('"' + cell + '"' for cell in cells), file=log)
"""
# The cases of its list, each as often as it is to be launched.
OCCBENCH = """#!/bin/sh
for id in $(echo "$5" | tr , ' '); do
  for i in $(seq "$7"); do echo "$id"; done
done
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run, an ncu on the PATH that knows every metric, and an occbench that prints its cases."""
    for name, text in (("ncu", NCU), ("occbench", OCCBENCH)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("KNOWN", " ".join(metric.split(".")[0] for metric in profile.METRICS))
    return made_up.write(tmp_path / "run", made_up.cases())


def run(folder: Path, *words: str) -> int:
    return profile.main([str(folder), "--occbench", str(folder.parent / "occbench"), *words])


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def counted(folder: Path) -> list[dict[str, str]]:
    return rows(folder.parent / "run-ncu" / "counters.csv")


def calls(folder: Path) -> list[str]:
    return (folder.parent / "calls").read_text().splitlines()


def test_profiles_20_cases_per_call_and_each_once(folder: Path) -> None:
    assert run(folder, "--count", "25") == 0
    found = counted(folder)
    assert len({row["case_id"] for row in found}) == 25
    assert {row["case_id"].split(".")[0] for row in found}.isdisjoint({"clusters"})
    assert [*found[0]] == ["case_id", "launches", *profile.METRICS]
    assert {row["launches"] for row in found} == {"1"}
    words = calls(folder)
    assert len(words) == 2
    assert "--clock-control none --replay-mode kernel --nvtx --nvtx-include regex:occbench@.+/" in words[0]
    first = ",".join(row["case_id"] for row in found[:20])
    assert words[0].endswith(f"occbench run --preset standard --case {first} --launches 1 --profile")
    joined = {row["case_id"]: row for row in rows(folder.parent / "run-ncu" / "cases.csv")}
    assert float(joined[found[0]["case_id"]]["occupancy_achieved"]) == pytest.approx(12.305)
    assert sum(row["counter_status"] == "ok" for row in joined.values()) == 25
    assert run(folder, "--count", "25") == 0 and calls(folder) == words
    assert len(counters.read_counters(folder.parent / "run-ncu" / "counters.csv")) == 25


def test_launches_metrics_and_replay(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = made_up.cases()[7]["case_id"]
    words = ("--case", case, "--launches", "3", "--metrics", "sm__a.sum,sm__b.sum", "--as-timed")
    assert run(folder, *words) == 0
    assert counted(folder) == [
        {"case_id": case, "launches": "3", "sm__a.sum": "1230.5", "sm__b.sum": "1230.5"}
    ]
    assert "--replay-mode application --cache-control none" in calls(folder)[0]
    assert capsys.readouterr().out.splitlines()[0].startswith("1 of 1 cases, ")
    assert run(folder, "--case", case, "--set", "full", "--output", str(folder.parent / "other")) == 0
    assert " --set full --log-file" in calls(folder)[1] and "--metrics" not in calls(folder)[1]
    with pytest.raises(SystemExit) as stop:
        run(folder, "--case", "strange")
    assert stop.value.code == 2 and "strange is not a valid case" in capsys.readouterr().err


def test_rejects_metrics_missing_from_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "--count", "3", "--metrics", "sm__a.sum") == 0
    assert run(folder, "--count", "3", "--metrics", "sm__b.sum") == 4
    assert "counters.csv has no sm__b.sum; name another --output" in capsys.readouterr().err


def test_every_nth_case(folder: Path) -> None:
    cases, _ = read_folder(folder)
    inside = cases[cases["outside_model"].isna()]
    assert profile.choose_cases(cases, 10**6) == sorted(inside["case_id"])
    some = profile.choose_cases(cases, 60)
    assert len(set(some)) == 60 and some == sorted(some) == profile.choose_cases(cases[::-1], 60)
    assert len({case.split(".")[0] for case in some}) > 15
    assert {case.split(".")[0] for case in profile.choose_cases(cases, 9, ["waves", "clusters"])} == {
        "waves",
        "clusters",
    }


def test_skips_metrics_the_gpu_lacks(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KNOWN", os.environ["KNOWN"].replace("sm__pipe_fp64_cycles_active", ""))
    lacking = "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed"
    assert run(folder, "--count", "2") == 0
    assert f"this GPU has no {lacking}\n" in capsys.readouterr().err
    assert lacking not in calls(folder)[0]
    assert {row[lacking] for row in counted(folder)} == {""}
    assert run(folder, "--count", "4") == 0 and len(counted(folder)) == 4
    assert len(counters.read_counters(folder.parent / "run-ncu" / "counters.csv")) == 4


@pytest.mark.parametrize(
    ("said", "code", "why"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", 3, "no right to read counters"),
        ("first\n==ERROR== Failed to find metric x\nlast", 1, "Failed to find metric x"),
        ("cannot open", 1, "cannot open"),
    ],
)
def test_ncu_fails(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    said: str,
    code: int,
    why: str,
) -> None:
    monkeypatch.setenv("FAIL", said)
    assert run(folder, "--count", "2") == code
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1 and why in errors[0]
    assert not (folder.parent / "run-ncu").exists()


def test_case_without_result(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    last = profile.choose_cases(read_folder(folder)[0], 10**6)[-1]
    first = made_up.cases()[0]["case_id"]
    (folder.parent / "occbench").write_text(f"#!/bin/sh\necho {first}\n")
    assert run(folder, "--case", first, "--case", last) == 1
    assert f"1 of 2 cases have no counters, {last} first" in capsys.readouterr().err
    assert [row["case_id"] for row in counted(folder)] == [first]


def test_time_limit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "--count", "12", "--seconds", "-1") == 1
    said = capsys.readouterr().err
    assert "the same call reads the rest" in said and "12 of 12 cases have no counters" in said
    assert not (folder.parent / "run-ncu").exists()


def test_missing_inputs(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "none") == 4
    assert run(folder, "--ncu", "no-such-ncu") == 5
    assert profile.main([str(folder), "--occbench", str(tmp_path / "none")]) == 4
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 3 and "no-such-ncu is missing" in errors[1] and "no such program" in errors[2]
    for words in (["--count", "0"], ["--launches", "0"], ["--experiment", "nope"]):
        with pytest.raises(SystemExit, match=r"^2$"):
            run(folder, *words)
