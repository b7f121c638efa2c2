# SPDX-License-Identifier: Apache-2.0
"""occbench profile DIR: reads hardware counters of some cases of a run with Nsight Compute's ncu.

Needs the GPU of the run, and permission to read its counters. Like import_ncu it writes a folder beside DIR,
whose counters.csv `occbench predictions --bounds` reads. Each case is launched alone, by
`occbench run --case ID,... --launches N --profile`, and ncu profiles exactly these N, without fixing
clocks, and flushes caches before each replay. --as-timed replays the program instead of the kernel, and
leaves caches as for a timed launch: the L2 then starts with the data that a writing kernel leaves in it.
Twenty cases share one ncu process; counters.csv grows with each twenty, and cases already in it are not read
again. The cases are every n-th of the run by name: each experiment has its share.

Exit 0 all read, 1 some cases gave none, 2 invalid arguments, 3 no right to read counters, 4 a file
could not be read or written, 5 ncu is missing.
"""

import argparse
import io
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from occbench_tools import counters
from occbench_tools.analysis import read_folder
from occbench_tools.command import CommandError, add_folder, entry, newest, occbench, parser_of, reading
from occbench_tools.import_ncu import (
    COUNTERS,
    DRAM_BYTES,
    NCU,
    OCCUPANCY,
    NotNcu,
    csv_launches,
    find_ncu,
    output_of,
    per_case,
    summary,
    write_counters,
    write_run,
)
from occbench_tools.lines import make_folder, print_error, say
from occbench_tools.programs import run_program
from occbench_tools.untrusted_files import read_untrusted

METRICS = [OCCUPANCY, *DRAM_BYTES, *counters.METRICS]
AT_ONCE = 20  # cases per ncu: they share its start, and an interruption loses no more


def choose_cases(cases: pd.DataFrame, count: int, experiments: list[str] | None = None) -> list[str]:
    """Every n-th valid case by name, `count` at most, of these experiments, or of all inside the model."""
    inside = cases["experiment"].isin(experiments) if experiments else cases["outside_model"].isna()
    names = sorted(cases.loc[inside, "case_id"])
    places = np.linspace(0, len(names) - 1, min(count, len(names))).round().astype(int)
    return [names[place] for place in places]


def supported_metrics(ncu: str, metrics: list[str]) -> list[str]:
    """The metrics that ncu supports on this GPU; all where it lists none."""
    answer = run_program([ncu, *NCU, "--query-metrics"]).stdout
    names = {line.split()[0] for line in answer.splitlines() if line.strip()}
    found = [metric for metric in metrics if metric.split(".")[0] in names] or metrics
    if lacking := [metric for metric in metrics if metric not in found]:
        print_error("occbench profile", f"this GPU has no {', '.join(lacking)}")
    return found


def error_line(*texts: str) -> str:
    """ncu's first error, else the last line of output."""
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("==ERROR==")]
    return (errors[:1] or lines[-1:] or ["it said nothing"])[0].removeprefix("==ERROR==").strip()


def profile(options: argparse.Namespace, preset: str, what: list[str], cases: list[str]) -> pd.DataFrame:
    """One call of ncu: a row for each case that it read. Raises CommandError where it read none."""
    replay = ["application", "--cache-control", "none"] if options.as_timed else ["kernel"]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.csv"
        words = [
            options.ncu, *NCU, "--clock-control", "none", "--replay-mode", *replay,
            "--nvtx", "--nvtx-include", "regex:occbench@.+/",
            "--csv", "--page", "raw", "--print-units", "base", *what, "--log-file", str(log),
            str(options.occbench), "run", "--preset", preset, "--case", ",".join(cases),
            "--launches", str(options.launches), "--profile",
        ]  # fmt: skip
        ran = run_program(words)
        log_text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    if "ERR_NVGPUCTRPERM" in log_text + ran.stdout + ran.stderr:
        raise CommandError(
            3, "no right to read counters: be root, or ask for NVreg_RestrictProfilingToAdminUsers=0"
        )
    try:
        found = per_case(csv_launches(log_text.splitlines()))
    except NotNcu:
        found = per_case([])
    found = found[found["case_id"].isin(cases)]
    if found.empty:
        raise CommandError(
            1, f"ncu read nothing of {cases[0]} and what follows: {error_line(log_text, ran.stderr)}"
        )
    return found


def read_cases(options: argparse.Namespace, preset: str, wanted: list[str], output: Path) -> pd.DataFrame:
    """Reads the wanted cases that `output` lacks, until the time is over. Returns all in the file."""
    start = time.monotonic()
    path = output / COUNTERS
    table = per_case([])
    if path.exists():
        table = pd.read_csv(io.BytesIO(read_untrusted(path)), dtype={"case_id": "string"})
        if "case_id" not in table:
            raise CommandError(4, f"{path} has no case_id; name another --output")
    left = [case for case in wanted if case not in set(table["case_id"])]
    if path.exists() and not options.set and (other := set(options.metrics) - set(table)):
        raise CommandError(4, f"{path} has no {min(other)}; name another --output")
    what = ["--set", options.set] if options.set else ["--metrics", ",".join(options.metrics)]
    if left and options.metrics is METRICS and not options.set:
        what[1] = ",".join(supported_metrics(options.ncu, METRICS))
    for first in range(0, len(left), AT_ONCE):
        if time.monotonic() - start > options.seconds:
            print_error("occbench profile", f"{options.seconds:g} s are over; the same call reads the rest")
            break
        found = profile(options, preset, what, left[first : first + AT_ONCE])
        if not options.set:  # a column each, empty where this GPU has no such metric
            found = found.reindex(columns=["case_id", "launches", *options.metrics])
        table = pd.concat([table, found], ignore_index=True) if len(table) else found
        make_folder(output)
        write_counters(table, path)
        done = table["case_id"].isin(wanted).sum()
        print(f"{done} of {len(wanted)} cases, {time.monotonic() - start:.0f} s", flush=True)
    return table


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Runs the command. Raises CommandError, and as reading and writing do."""
    output = output_of(options.folder, options.output)
    cases, env = read_folder(options.folder)
    wanted = options.case or choose_cases(cases, options.count, options.experiment)
    if not wanted:
        parser.error(f"--experiment: {options.folder} has no valid case of {', '.join(options.experiment)}")
    if strangers := set(wanted) - set(cases["case_id"]):
        parser.error(f"--case: {min(strangers)} is not a valid case of {options.folder}")
    if not options.ncu or not shutil.which(options.ncu):
        raise CommandError(5, f"{options.ncu or 'ncu'} is missing: Nsight Compute brings it; or use --ncu")
    if not options.occbench or not os.access(options.occbench, os.X_OK):
        raise CommandError(
            4, f"{options.occbench or 'occbench'}: no such program; build it, or use --occbench"
        )
    found = read_cases(options, env["preset"], wanted, output)
    if len(found):
        write_run(options.folder, found, output)
        say(*summary(cases, found), output)
    missing = [case for case in wanted if case not in set(found["case_id"])]
    if missing:
        raise CommandError(1, f"{len(missing)} of {len(wanted)} cases have no counters, {missing[0]} first")


@entry("occbench profile")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = parser_of(
        "profile", "Read hardware counters of some cases of a run with ncu.", "occbench profile --count 20"
    )
    add_folder(parser)
    parser.add_argument(
        "--output", metavar="FOLDER", type=Path, help="default: DIR-ncu; goes on with one there"
    )
    parser.add_argument("--count", type=int, default=80, help="cases to read (default: 80)")
    parser.add_argument("--case", metavar="ID", action="append", help="this one instead; may be repeated")
    parser.add_argument("--experiment", metavar="NAME", action="append", help="cases of this one only")
    parser.add_argument("--launches", type=int, default=1, help="of each case (default: 1)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--metrics", metavar="NAME,...", type=lambda text: text.split(","), default=METRICS)
    which.add_argument("--set", help="of ncu's sections: basic, full ... instead of metrics")
    parser.add_argument(
        "--as-timed", action="store_true", help="leave the caches as a timed launch finds them"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=300,
        help="start no further batch of 20 cases after this time (default: 300)",
    )
    parser.add_argument(
        "--occbench", metavar="PATH", type=Path, default=occbench(),
        help="the program (default: $OCCBENCH, on the PATH, or built here)",
    )  # fmt: skip
    parser.add_argument("--ncu", default=find_ncu(), help="default: on the PATH, or in CUDA_HOME")
    options = parser.parse_args(arguments)
    for name in ("count", "launches"):
        if getattr(options, name) < 1:
            parser.error(f"--{name}: at least 1")
    options.folder = options.folder or newest("occbench profile", COUNTERS)
    with reading(options.folder):
        run(options, parser)
    return 0
