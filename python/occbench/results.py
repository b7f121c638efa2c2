# SPDX-License-Identifier: Apache-2.0
"""Folders of results as data frames, by what `occbench[report]` installs."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from occbench_tools.folder import Folder


def read(folder: str | PathLike[str], samples: bool = True) -> Folder:
    """One folder that `occbench run` wrote: data frames `.cases` and `.samples`, and a dict `.env`.

    Columns are named with their units; `.valid` are the cases that were measured. For one release, `.cases`
    takes a column by its name of schema 6 too, with a FutureWarning. OSError where a file cannot be read,
    ValueError where it is not as results/schema.json says, ImportError without pandas.
    """
    try:
        from occbench_tools.folder import read_folder
        from occbench_tools.schema_upgrade import Cases
    except ImportError:
        raise ImportError("occbench.read needs pandas: pip install 'occbench[report]'") from None
    found = read_folder(Path(folder), samples=samples)
    found.cases = Cases(found.cases)
    return found
