# SPDX-License-Identifier: Apache-2.0
"""How right `occbench whatif` is: python tests/whatif/evaluate.py [--half "held out"] [--verbose] [--csv]

Each base of changes.csv is put to it as a stranger's kernel: what ncu said of it (profiles.csv.gz), and its
machine code out of the built program. What the suite declares of it stays hidden. Each change is asked for,
and the ratio held against that of the two cases' measured throughputs. The grid of a changed launch is given,
as its author would know it; and that a cap does not spill, where it did not.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from occbench_tools import machine_code, sass  # noqa: E402

HERE = Path(__file__).parent
RUN = ROOT / "results" / "nvidia-h200" / "2026-11-28-94ada86ac786" / "cases.csv"
OPTION = {"registers": "--registers", "block": "--block-size", "ballast": "--dynamic-smem"}
COLUMN = {"registers": "registers_per_thread", "block": "block_size", "ballast": "dynamic_smem_bytes"}
SMALL = 0.03  # a change by less has no sign
Row = dict[str, str]


def profiles() -> tuple[dict[str, Row], Row]:
    """What ncu said of each base, and the units."""
    with gzip.open(HERE / "profiles.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row["case"]: row for row in rows[1:]}, rows[0]


def parts(cell: str) -> list[tuple[str, float]]:
    """'12 (a: 5; b: 7)' as its parts."""
    inside = cell.partition(" (")[2].rstrip(")")
    pairs = (part.rpartition(": ") for part in inside.split("; "))
    return [(name, float(count.replace(",", ""))) for name, _, count in pairs if name]


def describe(binary: Path, rows: dict[str, Row]) -> dict[str, str]:
    """The machine code of each base as `occbench machine-code` describes it; or why it does not."""
    names = sorted({row["Kernel Name"] for row in rows.values()})
    usage = sass.cuobjdump(binary, "sm_90", ["-res-usage"], machine_code.parse_usage)
    functions = sass.disassemble(binary, "sm_90", names)
    found = {}
    for case, row in rows.items():
        code = functions[row["Kernel Name"]]
        ran = sorted((int(at, 16), count) for at, count in parts(row["inst_executed"]))
        counts = [0.0] * len(code)
        for address, count in ran:
            counts[(address - ran[0][0]) // 16] = count
        for base, what in (("LDG", "ld"), ("STG", "st")):
            requests = row[f"l1tex__t_requests_pipe_lsu_mem_global_op_{what}.sum"]
            counts = machine_code.subtract_predicated(code, counts, base, float(requests.replace(",", "")))
        threads = float(row["launch__block_size"].split()[0].replace(",", ""))
        grid = float(row["launch__grid_size"].split()[0].replace(",", ""))
        try:
            lines = machine_code.describe_kernel(
                code, counts, grid * -(-threads // 32), usage[row["Kernel Name"]]
            )
            found[case] = "\n".join(lines) + "\n"
        except sass.Failure as why:
            found[case] = f"refused: {why}"
    return found


def grid_rule(base: Row, other: Row) -> list[str]:
    """How its author says the grid of the changed launch: as many threads, or as many waves."""
    threads = int(base["grid_size"]) * int(base["block_size"])
    same_threads = int(other["grid_size"]) == -(-threads // int(other["block_size"]))
    return [] if same_threads else ["--grid", "waves"]


def ask(program: Path, folder: Path, base: str, changes: list[Row], cases: dict[str, Row]) -> list[Row]:
    """The answers' rows of changes of one base whose grids follow one rule; only `status` where refused."""
    report, code = folder / f"{base}.csv", folder / f"{base}.txt"
    if not code.exists():
        return [{"status": f"kernel: {(folder / f'{base}.why').read_text()}"}] * len(changes)
    others = [cases[change["changed"]] for change in changes]
    words = [program, "whatif", report, "--code", code, "--spilled", "0", "--format", "csv",
             *grid_rule(cases[base], others[0])]  # fmt: skip
    asked = [(c["dial"], int(o[COLUMN[c["dial"]]])) for c, o in zip(changes, others, strict=True)]
    for dial, value in asked:
        words += [OPTION[dial], str(value)]
    ran = subprocess.run(words, capture_output=True, text=True)
    rows = list(csv.DictReader(io.StringIO(ran.stdout)))
    if len(rows) < 2:
        return [{"status": f"kernel: {ran.stderr.strip().rpartition('> ')[2][-150:]}"}] * len(changes)
    answers = {(row["dial"], int(row["value"])): row for row in rows[1:]}
    found = [answers[COLUMN[dial], value] for dial, value in asked]
    for answer, other in zip(found, others, strict=True):
        assert answer["grid_size"] == other["grid_size"], f"{base}: another grid than {other['case_id']}"
    return found


def percent(part: int, whole: int) -> str:
    """'9 of 10 (90.0 %)'"""
    return f"{part} of {whole} ({100 * part / max(1, whole):.1f} %)"


def figures(rows: list[dict[str, object]]) -> dict[str, str]:
    """What is said of some changes, as a row of docs/data/whatif.csv."""
    said = [row for row in rows if "error" in row]
    errors = sorted(row["error"] for row in said)
    moved = [row for row in said if abs(row["measured"] - 1) > SMALL]
    right = sum((row["measured"] - 1) * (row["ratio"] - 1) > 0 for row in moved)  # "no change" is wrong
    held = sum(row["low"] <= row["measured"] <= row["high"] for row in said)
    refused = {row["base"] for row in rows if "error" not in row}
    return {
        "changes": f"{len(rows)} ({len({row['base'] for row in rows})} kernels)",
        "refused": f"{len(rows) - len(said)} ({len(refused)} kernels)",
        f"sign right, over {100 * SMALL:g} %": percent(right, len(moved)),
        "median error": f"{100 * statistics.median(errors):.1f} %",
        "mean": f"{100 * statistics.mean(errors):.1f} %",
        "worst": f"{100 * errors[-1]:.0f} %",
        "within 12 %": percent(sum(e <= 0.12 for e in errors), len(errors)),
        "in the 90 % band": percent(held, len(said)),
    }


def main() -> None:
    """Prints the figures by half, the held-out one first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--half", choices=["tuning", "held out"])
    parser.add_argument("--verbose", action="store_true", help="a line for every change")
    parser.add_argument("--csv", action="store_true", help="as docs/data/whatif.csv")
    built = os.environ.get("OCCBENCH", ROOT / "build/ci/benchmarks/occbench")
    parser.add_argument("--occbench", type=Path, default=Path(built))
    options = parser.parse_args()
    rows, units = profiles()
    with (HERE / "changes.csv").open(newline="") as file:
        changes = [row for row in csv.DictReader(file) if options.half in (None, row["half"])]
    with RUN.open(newline="") as file:
        cases = {row["case_id"]: row for row in csv.DictReader(file)}
    wanted = {change["base"] for change in changes}
    described = describe(options.occbench, {case: row for case, row in rows.items() if case in wanted})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case, text in described.items():
            columns = [column for column in units if column != "case"]
            with (folder / f"{case}.csv").open("w", newline="") as file:
                out = csv.writer(file, quoting=csv.QUOTE_ALL)
                out.writerows([columns, [units[c] for c in columns], [rows[case][c] for c in columns]])
            suffix = "why" if text.startswith("refused: ") else "txt"
            (folder / f"{case}.{suffix}").write_text(text.removeprefix("refused: "))
        together = defaultdict(list)  # one call asks for all of them
        for change in changes:
            rule = grid_rule(cases[change["base"]], cases[change["changed"]])
            together[change["base"], *rule].append(change)
        with ThreadPoolExecutor(2) as pool:
            answered = pool.map(
                lambda item: ask(options.occbench, folder, item[0][0], item[1], cases), together.items()
            )
            answers = {
                (change["base"], change["changed"]): answer
                for of, found in zip(together.values(), answered, strict=True)
                for change, answer in zip(of, found, strict=True)
            }
    results: list[dict[str, object]] = []
    for change in changes:
        answer = answers[change["base"], change["changed"]]
        base, other = cases[change["base"]], cases[change["changed"]]
        measured = float(base["throughput"]) / float(other["throughput"])
        result: dict[str, object] = {**change, "measured": measured, "status": answer["status"]}
        if answer.get("time_ratio"):
            ratio = float(answer["time_ratio"])
            result |= {"ratio": ratio, "error": abs(ratio / measured - 1)}
            result |= {"low": float(answer["time_ratio_low"]), "high": float(answer["time_ratio_high"])}
            result["off"] = float(answer["model_off"])
        results.append(result)
        if options.verbose:
            said = answer["status"]
            if "ratio" in result:
                said = f"{result['ratio']:.3f} (off {result['off']:+.1%})"
            print(f"{change['half'][:4]} {change['dial']:9} {measured:.3f} {said}  "
                  f"{change['base']} -> {change['changed'].rpartition('.b')[2]}")  # fmt: skip
    halves = defaultdict(list)
    for result in results:
        halves[result["half"]].append(result)
    lines = {half: figures(rows) for half, rows in sorted(halves.items())}
    if options.csv:
        out = csv.writer(sys.stdout, lineterminator="\n")
        out.writerow(["half", *next(iter(lines.values()))])
        out.writerows([half, *line.values()] for half, line in lines.items())
        return
    for half, line in lines.items():
        print(f"{half}: " + ", ".join(f"{name} {said}" for name, said in line.items()))
    why = Counter(str(row["status"]) for row in {r["base"]: r for r in results if "error" not in r}.values())
    for status, count in why.most_common():
        print(f"  {count} x {status}")


if __name__ == "__main__":
    main()
