# SPDX-License-Identifier: Apache-2.0
"""Footprints, and what `occbench calc` says of them: the lab has no arithmetic of occupancy of its own."""

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from occbench_tools.command import Refused, occbench
from occbench_tools.programs import run_program

Answer = dict[str, Any]  # what `occbench calc --format json` says of one footprint


class Footprint(NamedTuple):
    """Registers per thread; threads and bytes of dynamic shared memory per block."""

    threads: int
    registers: int = 32
    smem: int = 0

    def words(self) -> str:
        """'512 threads, 33 registers'"""
        words = [f"{self.threads} threads", f"{self.registers} registers"]
        return ", ".join(words + [f"{self.smem / 1024:g} KiB shared"] * (self.smem > 0))

    def command(self, device: str) -> list[str]:
        """The words after `occbench` that ask for it."""
        words = f"calc --device {device} --block-size {self.threads} --registers {self.registers}".split()
        return words + ["--dynamic-smem", str(self.smem)] * (self.smem > 0)


class Calculator:
    """`occbench calc`; Refused where there is none, or where it fails."""

    def __init__(self, program: Path | None) -> None:
        found = program or occbench()
        if not found:
            raise Refused(4, "no occbench to compute with: build it, or name it with --occbench PATH")
        self.program = str(found)
        self.known: dict[tuple[Footprint, str], Answer] = {}

    def ask(self, footprint: Footprint, device: str) -> Answer:
        """What it says of a footprint on a device that it knows by name or as ccX.Y. Raises Refused."""
        if (footprint, device) not in self.known:
            self.known[footprint, device] = self.run(footprint.command(device))
        return self.known[footprint, device]

    def run(self, words: list[str]) -> Answer:
        """The answer to a command's words. Raises Refused."""
        command = [self.program, *words, "--format", "json"]
        code = 4
        try:
            done = run_program(command, limit_s=60)
            if done.returncode in (0, 1):  # 1: it cannot launch, and that is the answer
                return json.loads(done.stdout)
            code = 2 if done.returncode == 2 else 4  # 2: a device that it does not know
            why = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[0]
        except OSError as error:
            why = str(error.strerror)
        except (ValueError, subprocess.TimeoutExpired) as error:
            why = str(error)
        raise Refused(code, f"{' '.join(command)}: {why}")
