# SPDX-License-Identifier: Apache-2.0
"""A profile's kernels with the launches and times of the whole program by `occbench attach`.

A profiler sees few launches and slows the others down; attach sees every launch, but not DRAM. The two are
joined by the kernels' names, which ncu and the C++ library spell differently.
"""

import re
from pathlib import Path

import pandas as pd

from occbench_tools.attached.folder import read_attached
from occbench_tools.attached.text import strip_arguments
from occbench_tools.devices.features import SHARED
from occbench_tools.import_ncu import NotNcu

UNNAMED = re.compile(r"\(anonymous namespace\)|<unnamed>")
CAST = re.compile(r"\((?:(?:un)?signed )?(?:bool|char|short|int|long|long long)\)")  # ncu's: (int)128
SUFFIX = re.compile(r"(?<=\d)[ul]+\b")  # the C++ library's: 128ul


def plain_name(name: str) -> str:
    """The common part of both spellings of a kernel's name: no result, arguments, casts or blanks."""
    name = SUFFIX.sub("", CAST.sub("", UNNAMED.sub("{}", name.strip()))).removeprefix("void ")
    return strip_arguments(name).replace("true", "1").replace("false", "0").replace(" ", "")


def with_launches(kernels: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """The rows of profiles.kernels_of() as the program launched them, longest first.

    A kernel that the profile lacks has no DRAM share; one that the program did not launch has no row. Raises
    OSError, ValueError, and NotNcu where no kernel is in both.
    """
    program = read_attached(folder).kernels
    program = program[program["time_total_s"] > 0]
    names = program["kernel"].map(plain_name)
    known = kernels.assign(name=kernels["kernel"].map(plain_name)).drop_duplicates("name").set_index("name")
    if not names.isin(known.index).any():
        raise NotNcu(f"{folder}: launched no kernel of the profile")
    totals = program.groupby(names, sort=False).agg(
        kernel=("kernel", "first"), launches=("launches", "sum"), time_s=("time_total_s", "sum")
    )
    found = totals.join(known[list(SHARED)]).sort_values("time_s", ascending=False, kind="stable")
    return found.reset_index(drop=True)
