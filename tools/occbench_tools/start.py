# SPDX-License-Identifier: Apache-2.0
"""What the console scripts call: occbench-WORD is `start:WORD`, the main() of a tool.

Where a package is missing, one line says which and how to get it. The tools themselves could not: most import
pandas in their first lines, before there is a main() to call.
"""

import functools
import importlib
from collections.abc import Callable

from occbench_tools.lines import print_error

NAMED_ALIKE = (
    "audit", "caps", "compare", "explain", "import-ncu", "inspect-lines", "inspect-price",
    "machine-code", "plot", "predictions", "profile", "report", "teach", "validate",
)  # fmt: skip
TOOLS = {word: f"occbench_tools.{word.replace('-', '_')}" for word in NAMED_ALIKE} | {  # modules
    "cliffs": "occbench_tools.cliffs.command",
    "fleet": "occbench_fleet",
}
# By the name that is imported: the package, and the extra that brings it; numpy comes without one.
PACKAGES = {
    "matplotlib": ("matplotlib", "report"), "numpy": ("numpy", ""), "pandas": ("pandas", "report"),
    "PIL": ("pillow", "report"), "polars": ("polars", "fleet"),
    "rich": ("rich", "report"), "scipy": ("scipy", "fleet"), "sklearn": ("scikit-learn", "fleet"),
    "textalloc": ("textalloc", "report"),
}  # fmt: skip
MISSING = 5  # exit code


def start(word: str) -> int:
    """Runs the tool; its exit code."""
    try:
        return importlib.import_module(TOOLS[word]).main()
    except ModuleNotFoundError as error:
        if (name := (error.name or "").partition(".")[0]) not in PACKAGES:
            raise
        package, extra = PACKAGES[name]
        wanted = f"'occbench[{'fleet' if word == 'fleet' else extra}]'" if extra else package
        print_error("occbench", f"{word} needs {package}, which is not installed: pip install {wanted}")
        return MISSING


def __getattr__(name: str) -> Callable[[], int]:
    """start() of a word, its hyphens as underscores."""
    if (word := name.replace("_", "-")) not in TOOLS:
        raise AttributeError(name)
    return functools.partial(start, word)
