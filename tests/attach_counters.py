# SPDX-License-Identifier: Apache-2.0
"""`occbench attach --counters` held against Nsight Compute, kernel by kernel. On a GPU:

    METRICS=$(python tests/attach_counters.py)
    ncu --nvtx --nvtx-include one/ --cache-control none --clock-control none --metrics $METRICS \
        --csv --page raw --print-units base --log-file NCU.csv python tests/pytorch/counters.py 1 [mixed]
    occbench attach --observe --counters --output ATTACHED -- python tests/pytorch/counters.py 500 [mixed]
    python tests/attach_counters.py NCU.csv ATTACHED

The first prints ncu's metrics. The last prints a CSV row a kernel of 50 us and more that both have once: its
time, and of each unit the percent of its peak by attach and by ncu; on stderr, how many are within 3 points.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import defaultdict
from pathlib import Path

OF_PEAK = ".avg.pct_of_peak_sustained_elapsed"
DURATION = "gpu__time_duration.sum"
METRICS = {  # a column of counters.csv -> ncu's
    "dram": "dram__throughput" + OF_PEAK,
    "l1": "l1tex__throughput" + OF_PEAK,
    "tensor_cores": "sm__pipe_tensor_cycles_active" + OF_PEAK,
    "fp32": "sm__inst_executed_pipe_fma" + OF_PEAK,
    "issue_slots": "sm__inst_executed" + OF_PEAK,
}
SHORTEST_NS, LEAST_SAMPLES, CLOSE = 50e3, 10, 3.0
SPELLED = {
    "lambda", "instance", "int", "bool", "void", "const", "unsigned", "long", "std", "true", "false",
    "native", "cutlass", "arch", "operator", "type", "char", "short", "anonymous", "namespace", "unnamed",
}  # fmt: skip
Key = tuple[frozenset[str], str, str]


def words_of(name: str) -> frozenset[str]:
    """What two demanglers agree on."""
    return frozenset(
        w for w in re.findall(r"[A-Za-z_]\w\w+", name) if w not in SPELLED and not w[1:].isdigit()
    )


def by_ncu(file: Path) -> dict[Key, list[dict[str, float]]]:
    rows = csv.DictReader(line for line in file.read_text().splitlines() if line.startswith('"'))
    next(rows)  # units
    found: dict[Key, list[dict[str, float]]] = defaultdict(list)
    for row in rows:
        shape = [row[name].strip("()").replace(" ", "") for name in ("Grid Size", "Block Size")]
        values = {
            name: float(row[name].replace(",", "")) for name in (*METRICS.values(), DURATION) if row[name]
        }
        found[(words_of(row["Kernel Name"]), *shape)].append(values)
    return found


def by_attach(folder: Path) -> dict[Key, list[dict[str, str]]]:
    with (folder / "counters.csv").open() as file:
        counted = {row["kernel_id"]: row for row in csv.DictReader(file)}
    found: dict[Key, list[dict[str, str]]] = defaultdict(list)
    with (folder / "kernels.csv").open() as file:
        for row in csv.DictReader(file):
            shape = [",".join(row[f"{of}_{axis}"] for axis in "xyz") for of in ("grid", "block")]
            found[(words_of(row["kernel"]), *shape)].append(row | counted.get(row["kernel_id"], {}))
    return found


def main() -> None:
    if len(sys.argv) == 1:
        print(",".join((*METRICS.values(), DURATION)))
        return
    theirs, ours = by_ncu(Path(sys.argv[1])), by_attach(Path(sys.argv[2]))
    off: dict[str, list[float]] = defaultdict(list)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(
        ["kernel", "grid", "time_us", *(f"{unit}_{by}" for unit in METRICS for by in ("attach", "ncu"))]
    )
    for key, launches in sorted(theirs.items(), key=lambda pair: -pair[1][0][DURATION]):
        rows = ours.get(key, [])
        if len(rows) != 1 or len(launches) != 1 or launches[0][DURATION] < SHORTEST_NS:
            continue
        if int(rows[0].get("samples") or 0) < LEAST_SAMPLES:
            continue
        pairs = {unit: (100 * float(rows[0][unit]), launches[0][name]) for unit, name in METRICS.items()}
        for unit, (here, there) in pairs.items():
            off[unit].append(abs(here - there))
        figures = (f"{value:.1f}" for pair in pairs.values() for value in pair)
        out.writerow([rows[0]["kernel"], key[1], f"{launches[0][DURATION] / 1e3:.0f}", *figures])
    for unit, distances in off.items():
        close = sum(distance <= CLOSE for distance in distances)
        print(
            f"{unit}: {close} of {len(distances)} within 3 points, {max(distances):.1f} at most",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
