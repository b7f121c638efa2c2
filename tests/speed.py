# SPDX-License-Identifier: Apache-2.0
"""Processor seconds of the model's commands, of an optimised build: OCCBENCH=PROGRAM python -P tests/speed.py

A hundred thousand rows of `calc --batch` should take less than 2, preset standard on a model less than 90,
which is 45 s on two cores. No test: what a machine takes is not a property of the code.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from command import HEADER, PARAMETERS, occbench, working_folder


def timed(what: str, call: Callable[[], object]) -> None:
    before = os.times()
    call()
    after = os.times()
    print(f"{what}: {sum(after[2:4]) - sum(before[2:4]):.1f} s of processor")


if __name__ == "__main__":
    sizes = [(32 + 32 * (i % 32), 16 + i % 240, 128 * (i % 1000)) for i in range(100_000)]
    table = HEADER + "\n" + "".join(f"h200,{b},{r},0,{s}\n" for b, r, s in sizes)
    timed("calc, 100,000 rows", lambda: occbench("calc", "--batch", "-", stdin=table, gpu=False))
    with working_folder():
        words = ("run", "--device", f"model:{PARAMETERS}", "--preset", "standard")
        timed("run of a model, standard", lambda: occbench(*words, gpu=False))
