# SPDX-License-Identifier: Apache-2.0
"""Folders of `occbench attach`: kernels of somebody's program, with their times at fewer warps, and no cases.

report, explain, compare and validate read such a folder with the modules of this package.
"""

from pathlib import Path

from occbench_tools.command import CommandError
from occbench_tools.untrusted_files import parse_json, read_untrusted


def is_attached(folder: Path) -> bool:
    """Whether its env.json is of `occbench attach`; where that cannot be read, whether its tables are.

    CommandError where it is of `occbench attach --apply`, which no other command reads.
    """
    try:
        env = parse_json(read_untrusted(folder / "env.json").decode("utf-8"))
    except (OSError, ValueError):
        return (folder / "kernels.csv").exists() and not (folder / "cases.csv").exists()
    kind = env.get("kind") if isinstance(env, dict) else None
    if kind == "attach_apply":
        raise CommandError(2, f"{folder}: of `occbench attach --apply`, whose times are in runs.csv")
    return kind == "attach"
