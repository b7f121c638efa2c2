# SPDX-License-Identifier: Apache-2.0
"""Folders of `occbench attach`: kernels of somebody's program, with their times at fewer warps, and no cases.

report, explain, compare and validate read such a folder by the rooms of this package.
"""

from __future__ import annotations

from pathlib import Path

from occbench_tools.sent import parse_json, read_sent


def is_attached(folder: Path) -> bool:
    """Whether its env.json is of `occbench attach`; where that cannot be read, whether its tables are."""
    try:
        env = parse_json(read_sent(folder / "env.json").decode("utf-8"))
    except (OSError, ValueError):
        return (folder / "kernels.csv").exists() and not (folder / "cases.csv").exists()
    return isinstance(env, dict) and env.get("kind") == "attach"
