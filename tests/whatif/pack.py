# SPDX-License-Identifier: Apache-2.0
"""Makes profiles.csv.gz, a row a base, of what capture.py brought: python tests/whatif/pack.py FOLDER

What ncu printed, of whatif's metrics alone; the column `case` goes before its own.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import subprocess
import sys
from pathlib import Path

OWN = ["ID", "Process ID", "Kernel Name", "Block Size", "Grid Size", "CC"]


def main() -> None:
    """Reads all of FOLDER's CSVs, counters and opcodes of a case as one row."""
    command = subprocess.run([sys.argv[2], "whatif", "--print-ncu-command"], capture_output=True, text=True)
    metrics = re.search(r"--metrics (\S+)", command.stdout)[1].split(",")
    found: dict[str, dict[str, str]] = {}
    units: dict[str, str] = {}
    for path in sorted(Path(sys.argv[1]).glob("*_*.csv")):
        with path.open(newline="", errors="replace") as file:
            rows = list(csv.reader(line for line in file if not line.startswith("==")))
        head, unit = rows[0], rows[1]
        units |= dict(zip(head, unit, strict=True))
        for cells in rows[2:]:
            row = dict(zip(head, cells, strict=True))
            case = re.search(r'"occbench:([^:]+):', " ".join(cells[:6]))[1]
            kept = found.setdefault(case, {})
            kept |= {name: row[name] for name in [*OWN, *metrics] if name in row}
    columns = [*OWN, *metrics]
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["case", *columns])
    out.writerow(["", *(units.get(name, "") for name in columns)])
    for case, row in found.items():
        out.writerow([case, *(row.get(name, "") for name in columns)])
    with gzip.GzipFile(Path(__file__).parent / "profiles.csv.gz", "wb", mtime=0) as file:
        file.write(text.getvalue().encode())
    print(f"{len(found)} cases")


if __name__ == "__main__":
    main()
