# SPDX-License-Identifier: Apache-2.0
"""What the calculator's page shows beside a prediction: throughput of the committed runs by warps."""

import csv
import json

from occbench_docs import ROOT
from occbench_docs.committed import committed_runs

FILE = ROOT / "benchmarks/calculator/page/measured.json"
KERNELS = {"streaming": "read-f32-4B-ilp{}", "compute": "two-operand-ilp{}"}  # as the page predicts them
IN_FLIGHT = (1, 2, 4, 8)


def text() -> str:
    """{device: {"run": folder, "streaming 1": [[warps per SM, bytes or FLOP per second], ...], ...}}."""
    devices = {}
    for folder in committed_runs():
        gpu = json.loads((folder / "env.json").read_text(encoding="utf-8"))["gpu"]["name"]
        device = {"run": f"{folder.parent.name}/{folder.name}"}
        with (folder / "cases.csv").open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file)
                    if row["experiment"] == "latency_hiding" and row["status"] == "valid"]  # fmt: skip
        for kind, variant in KERNELS.items():
            for ilp in IN_FLIGHT:
                points = [(int(row["warps_per_sm"]), round(float(row["throughput"])))
                          for row in rows if row["variant"] == variant.format(ilp)]  # fmt: skip
                device[f"{kind} {ilp}"] = sorted(points)
        devices[gpu] = device
    return json.dumps(devices, separators=(",", ":")).replace("},", "},\n") + "\n"
