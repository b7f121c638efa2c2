# SPDX-License-Identifier: Apache-2.0
"""Optional modules of experiments with a picture of their own, found by the experiment's name.

A module has `picture(rows, env, plot)`: its Figure of the experiment's scaled rows by
occbench_tools.plot.sheet, or None for the plain one.
"""

import importlib
import importlib.util
import re
from types import ModuleType


def module_of(experiment: str) -> ModuleType | None:
    """The module of that name here; None where there is none."""
    name = f"{__name__}.{experiment}"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", experiment) or importlib.util.find_spec(name) is None:
        return None
    return importlib.import_module(name)
