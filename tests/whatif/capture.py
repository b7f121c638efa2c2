# SPDX-License-Identifier: Apache-2.0
"""Profiles the bases of changes.csv with ncu, as a user of `occbench whatif` would profile a kernel.

    OCCBENCH=build/occbench OUT=folder python3 tests/whatif/capture.py [SECONDS]

Wants the GPU of the run and the right to read counters. Begins no ncu after SECONDS (default 105), and writes
OUT/whatif_capture.tar.xz: what each ncu printed. One ncu reads fifteen cases; opcodes, which patch the code,
are a second call. The bases come in the order of the list: each family's first kernel, then the second ones.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path

HERE = Path(__file__).parent
RUN = HERE.parents[1] / "results" / "nvidia-h200" / "2026-11-28-94ada86ac786"
NCU = os.environ.get("NCU", "ncu")
AT_ONCE = 15
IF_KNOWN = ["launch__cluster_size", "launch__barrier_count", "launch__stack_size"]
OPCODES = ["sass__inst_executed_per_opcode"]
BY_ADDRESS = ["inst_executed"]  # how often each instruction ran; not every ncu takes it as a metric


def names(*words: str) -> set[str]:
    """Metrics that ncu lists."""
    said = subprocess.run(
        [NCU, "--config-file", "off", "--query-metrics", *words],
        check=False,
        capture_output=True,
        text=True,
    )
    return {line.split()[0] for line in said.stdout.splitlines() if line.strip()}


def read(cases: list[str], metrics: list[str], preset: str, log: Path) -> bool:
    """One call of ncu; its CSV goes to `log`. Whether it has all cases."""
    words = [
        NCU, "--config-file", "off", "--clock-control", "none", "--nvtx",
        "--nvtx-include", "regex:occbench@.+/", "--csv", "--page", "raw", "--print-units", "base",
        "--print-metric-instances", "details", "--print-kernel-base", "mangled",
        "--metrics", ",".join(metrics), "--log-file", str(log),
        os.environ["OCCBENCH"], "run", "--preset", preset, "--case", ",".join(cases),
        "--launches", "1", "--profile",
    ]  # fmt: skip
    begun = time.monotonic()
    ran = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)
    rows = log.read_text(errors="replace").count("occbench:") if log.exists() else 0
    print(
        f"{log.name}: exit {ran.returncode}, {rows} of {len(cases)}, {time.monotonic() - begun:.1f} s",
        flush=True,
    )
    if rows < len(cases):
        print(
            (log.read_text(errors="replace") if log.exists() else "")[:800],
            ran.stderr[-800:],
            flush=True,
        )
    return rows >= len(cases)


def source(cases: list[str], preset: str, work: Path) -> None:
    """The source page of some cases, as a report has it: machine code, with how often each line ran."""
    report = work.parent / "source.ncu-rep"
    words = [
        NCU, "--config-file", "off", "--clock-control", "none", "--nvtx",
        "--nvtx-include", "regex:occbench@.+/", "--section", "SourceCounters", "-f", "-o", str(report),
        os.environ["OCCBENCH"], "run", "--preset", preset, "--case", ",".join(cases), "--profile",
    ]  # fmt: skip
    try:
        subprocess.run(words, check=False, capture_output=True, timeout=40)
        words = [NCU, "--import", str(report), "--page", "source", "--csv", "--print-source", "sass"]
        said = subprocess.run(words, check=False, capture_output=True, timeout=20)
        (work / "source.csv").write_bytes(said.stdout + said.stderr)
    except subprocess.TimeoutExpired:
        print("source page: no end", flush=True)


def main() -> None:
    """Profiles until the time is over, and packs."""
    begun = time.monotonic()
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 105
    out = Path(os.environ["OUT"])
    with (HERE / "changes.csv").open(newline="") as file:
        bases = list(dict.fromkeys(row["base"] for row in csv.DictReader(file)))
    preset = json.loads((RUN / "env.json").read_text())["preset"]
    lines = (HERE / "metrics.txt").read_text().splitlines()
    listed = [name for line in lines if not line.startswith("#") for name in line.split()]
    wanted = [name for name in listed if not name.startswith("launch__")]
    known = names()
    counters = [name for name in wanted if name.split(".")[0] in known] if known else wanted
    known = names("--query-metrics-collection", "launch")
    launch = [name for name in listed if name.startswith("launch__")]
    launch += [name for name in IF_KNOWN if name in known]
    print("this GPU lacks", sorted(set(wanted) - set(counters)), flush=True)
    work = Path("whatif_capture")
    work.mkdir(exist_ok=True)
    opcodes = [*OPCODES, *BY_ADDRESS, *launch]
    for what in ("counters", "opcodes"):
        for first in range(0, len(bases), AT_ONCE):
            cases, log = bases[first : first + AT_ONCE], work / f"{what}_{first:02}.csv"
            if time.monotonic() - begun > seconds:
                print(f"{seconds:g} s are over before {log.name}", flush=True)
                break
            try:
                if what == "counters":
                    read(cases, counters + launch, preset, log)
                elif not read(cases, opcodes, preset, log) and len(opcodes) > len(OPCODES + launch):
                    opcodes = OPCODES + launch
                    read(cases, opcodes, preset, log)
            except subprocess.TimeoutExpired:
                print(f"{log.name}: no end after 60 s", flush=True)
    if time.monotonic() - begun < seconds:
        source(bases[:4], preset, work)
    with tarfile.open(out / "whatif_capture.tar.xz", "w:xz") as tar:
        tar.add(work)
    print(f"{time.monotonic() - begun:.0f} s in all")


if __name__ == "__main__":
    main()
