# SPDX-License-Identifier: Apache-2.0
"""Other programs that the tools run to their end, with their output as text."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path


def run_program(
    words: Sequence[str | Path], *, stdin: str | None = None, limit_s: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a program. Raises OSError where it cannot be started, subprocess.TimeoutExpired."""
    return subprocess.run(
        list(map(str, words)), input=stdin, timeout=limit_s, capture_output=True, text=True, errors="replace"
    )


def demangle(names: Sequence[str]) -> list[str] | None:
    """The names as c++filt prints them; None where there is no c++filt, or it fails."""
    tool = shutil.which("cu++filt") or shutil.which("c++filt")
    done = run_program([tool], stdin="\n".join(names)) if tool else None
    return done.stdout.splitlines() if done and not done.returncode else None
