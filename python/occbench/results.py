# SPDX-License-Identifier: Apache-2.0
"""Folders of results as data frames, by occbench-tools where they are installed."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from occbench_tools.folder import Folder


def read(folder: str | PathLike[str], samples: bool = True) -> Folder:
    """One folder that `occbench run` wrote: `.cases` and `.samples` are pandas data frames, `.env` is a dict.

    Units stand in the columns' names; `.valid` are the cases that were measured. OSError where a file cannot
    be read, ValueError where it breaks a promise of the schema, ImportError without occbench-tools.
    """
    try:
        from occbench_tools.folder import read_folder
    except ImportError:
        raise ImportError(
            "occbench.read needs occbench-tools: pip install ./tools, of the source tree"
        ) from None
    return read_folder(Path(folder), samples=samples)
