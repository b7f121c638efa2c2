# SPDX-License-Identifier: Apache-2.0
"""A folder of results that somebody sent, beside which lies what must not be run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import made_up
from occbench_tools.start import TOOLS
from pages import cases, write

# The words that an installed wheel brings, and their modules.
ENTRIES = TOOLS
PROGRAMS = ("ncu", "nvcc", "nm", "cuobjdump", "nvdisasm", "occbench", "git", "fc-list", "python3")


def imported() -> set[str]:
    """Every module that the tools import, and all of the standard library besides."""
    script = f"""
import importlib, json, sys
for module in {sorted(ENTRIES.values())}: importlib.import_module(module)
import polars, scipy.spatial, sklearn.ensemble
print(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True)
    found = {*json.loads(done.stdout), *sys.stdlib_module_names}
    assert {"csv", "pandas", "rich", "occbench_tools", "matplotlib", "scipy", "sklearn"} <= found
    return found | {"sitecustomize", "usercustomize", "numexpr", "bottleneck", "planted"}


def plant(folder: Path) -> Path:
    """A small run beside which lie a module of every name, programs, and files of configuration."""
    rows = [made_up.with_prediction(row) for row in cases() if row["experiment"] in ("waves", "registers")]
    write(folder, rows)
    for name in imported():
        (folder / f"{name}.py").write_text(f"open({str(marker(folder))!r}, 'a').write(__file__ + '\\n')\n")
    for name in PROGRAMS:
        (folder / name).write_text(f"#!/bin/sh\necho $0 >>'{marker(folder)}'\n")
        (folder / name).chmod(0o755)
    listing = '{"variants": [], "cuda_toolkit": "13.0"}'
    (folder / "program").write_text(f"#!/bin/sh\necho '{listing}'\n")
    (folder / "program").chmod(0o755)
    (folder / "counted.ncu-rep").touch()
    # A key that matplotlib does not know: it would complain on stderr.
    (folder / "matplotlibrc").write_text("planted.key: 1\nbackend: module://planted\ntext.usetex: True\n")
    (folder / "config.ncu-cfg").write_text("[Import]\n--section-folder = .\n")
    return folder


def marker(folder: Path) -> Path:
    """Where everything that was planted says that it was run."""
    return folder / "was run"
