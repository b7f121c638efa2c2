# SPDX-License-Identifier: Apache-2.0
"""What compilers and profilers wrote, by the program: what `occbench calc FILE` answers."""

import json
import os
import subprocess
import warnings
from typing import Any

LAUNCHES = (0, 1)  # exit codes: all kernels launch; some cannot


def calc(path: str | os.PathLike[str], **options: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """The occupancy of each kernel in a file that a compiler or profiler wrote; needs no GPU.

    One dict per kernel, with the names, bytes and microseconds of `occbench calc FILE --format json`; None is
    not known. `options` are calc's own, with underscores: `device="h100"`, `kernel="gemm"`, and numbers that
    replace the file's, as `block_size=256`. What of the file is left out or refused is warned of.
    FileNotFoundError without the file or the program, ValueError where the file cannot be read or lacks a
    number.
    """
    from occbench_tools.command import occbench

    os.stat(path)
    program = occbench()
    if program is None:
        raise FileNotFoundError("no program occbench: install the wheel, or name it in OCCBENCH")
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    done = subprocess.run(
        [program, "calc", "--format", "json", *words, "--", os.path.abspath(path)],
        capture_output=True, text=True, errors="replace",
    )  # fmt: skip
    lines = " ".join(done.stderr.split()).split("occbench: ")[1:]
    if done.returncode not in LAUNCHES:
        raise ValueError("; ".join(lines) or f"{program} ended with {done.returncode}")
    for line in lines:
        warnings.warn(line.strip(), stacklevel=2)
    return json.loads(done.stdout)
