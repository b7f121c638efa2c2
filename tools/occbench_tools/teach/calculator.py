# SPDX-License-Identifier: Apache-2.0
"""Footprints, and the answers of `occbench calc` on them: the lab has no occupancy arithmetic of its own."""

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from occbench_tools.command import CommandError, occbench
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
        """The arguments of `occbench` that compute it."""
        words = f"calc --device {device} --block-size {self.threads} --registers {self.registers}".split()
        return words + ["--dynamic-smem", str(self.smem)] * (self.smem > 0)


class Calculator:
    """`occbench calc`; CommandError where there is none, or where it fails."""

    def __init__(self, program: Path | None) -> None:
        found = program or occbench()
        if not found:
            raise CommandError(4, "no occbench to compute with: build it, or name it with --occbench PATH")
        self.program = str(found)
        self.answers: dict[tuple[Footprint, str], Answer] = {}

    def ask(self, footprint: Footprint, device: str) -> Answer:
        """calc's answer on a footprint and a device, which is a name or ccX.Y. Raises CommandError."""
        if (footprint, device) not in self.answers:
            self.answers[footprint, device] = self.run(footprint.command(device))
        return self.answers[footprint, device]

    def run(self, words: list[str]) -> Answer:
        """The answer to a command. Raises CommandError."""
        command = [self.program, *words, "--format", "json"]
        code = 4
        try:
            done = run_program(command, limit_s=60)
            if done.returncode in (0, 1):  # 1: it cannot launch, and that is the answer
                return json.loads(done.stdout)
            code = 2 if done.returncode == 2 else 4  # 2: a device that it does not know
            reason = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[0]
        except OSError as error:
            reason = str(error.strerror)
        except (ValueError, subprocess.TimeoutExpired) as error:
            reason = str(error)
        raise CommandError(code, f"{' '.join(command)}: {reason}")
