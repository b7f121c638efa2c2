# SPDX-License-Identifier: Apache-2.0
"""nvcc's own steps (--dryrun), run one by one: those up to PTX once, the later ones once for each build."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from occbench_tools.command import CommandError

NOT_RUNNABLE, NOT_FOUND, OWN_FAILURE = 126, 127, 125
# Options that would write beside the user's files; they do not affect machine code.
DEPENDENCIES = {"-M": 0, "-MD": 0, "-MMD": 0, "-MP": 0, "-MF": 1, "-MT": 1, "--dependency-output": 1}
OUTPUT = re.compile(r"(-o|--output-file)(=?)(.*)")
OUT = "occbench-caps-output"


class StepError(Exception):
    """A failed step: its exit code, and the most telling line of its output."""

    def __init__(self, code: int, output: str) -> None:
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        errors = [
            line
            for line in lines
            if re.search(r"\b(error|fatal|undefined|multiple definition)\b", line, re.IGNORECASE)
        ]
        super().__init__((errors or lines or [f"exit code {code}, and no word"])[0])
        self.code = code


class Children:
    """Running programs, in sessions of their own; all of them can be ended at once."""

    def __init__(self) -> None:
        self.running: set[subprocess.Popen[str]] = set()
        self.lock = threading.Lock()
        self.over = False

    def run(
        self, words: list[str], env: dict[str, str], cwd: Path | None = None, limit_s: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program, both streams as one. Raises OSError, and subprocess.TimeoutExpired."""
        with self.lock:
            if self.over:
                raise StepError(130, "interrupted")
            child = subprocess.Popen(
                words, env=env, cwd=cwd, text=True, errors="replace", start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            self.running.add(child)
        try:
            out, _ = child.communicate(timeout=limit_s)
            return subprocess.CompletedProcess(words, child.returncode, out)
        except BaseException:
            kill(child)
            if child.stdout:
                child.stdout.close()
            raise
        finally:
            with self.lock:
                self.running.discard(child)

    def end(self) -> None:
        """Ends all running programs, and lets none start."""
        with self.lock:
            self.over = True
            for child in self.running:
                kill(child)


def kill(child: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


@dataclass(frozen=True)
class Ptxas:
    """One call of ptxas: from which PTX, for which architecture."""

    command: str
    ptx: Path
    cubin: Path
    arch: str


@dataclass
class Script:
    """nvcc's steps. Their paths are in `folder`; in_folder() moves them to another."""

    folder: Path
    env: dict[str, str]
    front: list[str] = field(default_factory=list)  # up to the PTX
    back: list[str | Ptxas] = field(default_factory=list)  # from it on

    @property
    def ptxas(self) -> list[Ptxas]:
        return [step for step in self.back if isinstance(step, Ptxas)]

    def in_folder(self, folder: Path) -> "Script":
        """The same steps on copies of the files (links, where the file system has them)."""
        shutil.copytree(self.folder, folder, copy_function=link_or_copy)

        def move_step(step: str | Ptxas) -> str | Ptxas:
            if isinstance(step, str):
                return step.replace(str(self.folder), str(folder))
            return replace(
                step, command=str(move_step(step.command)), ptx=Path(str(move_step(str(step.ptx)))),
                cubin=Path(str(move_step(str(step.cubin)))),
            )  # fmt: skip

        return Script(folder, self.env, self.front, [move_step(step) for step in self.back])


def link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def compiler_words(words: list[str]) -> tuple[list[str], str | None]:
    """nvcc's command without a launcher before it, -o and dependency options; and the file of -o."""
    at = next((n for n, word in enumerate(words) if Path(word).name.startswith("nvcc")), None)
    if at is None:
        raise CommandError(2, f"'{words[0]}' is not nvcc; write: occbench caps -- nvcc -O3 kernel.cu -c")
    compiler, output, rest = [words[at]], None, iter(words[at + 1 :])
    for word in rest:
        if word in DEPENDENCIES:
            for _ in range(DEPENDENCIES[word]):
                next(rest, None)
        elif (found := OUTPUT.fullmatch(word)) and (found[2] or not found[3] or found[1] == "-o"):
            output = found[3] or next(rest, None)
        else:
            compiler.append(word)
    return compiler, output


def dryrun(words: list[str], folder: Path, children: Children) -> Script:
    """The steps of nvcc's words. Raises CommandError, with nvcc's own code where it refuses them."""
    env = os.environ | {"TMPDIR": str(folder.parent)}
    call = [*words, "-o", str(folder / OUT), "--dryrun", "--keep", "--keep-dir", str(folder)]
    try:
        ran = children.run(call, env)
    except FileNotFoundError:
        raise CommandError(NOT_FOUND, f"{words[0]}: not found") from None
    except OSError as error:
        raise CommandError(NOT_RUNNABLE, f"{words[0]}: cannot be run: {error.strerror}") from None
    lines = [line.removeprefix("#$ ") for line in ran.stdout.splitlines() if line.startswith("#$ ")]
    if ran.returncode:
        raise CommandError(ran.returncode, f"{words[0]}: {StepError(ran.returncode, ran.stdout)}")
    script = Script(folder, env)
    for line in lines:
        if assigned := re.match(r"([A-Za-z_]\w*)=(.*)", line):
            script.env[assigned[1]] = assigned[2].strip()
        elif not line.startswith("rm "):  # of earlier files
            add_step(script, line)
    if not script.ptxas:
        raise CommandError(2, "nvcc would not call ptxas: omit -ptx, -E and -dlto, and name a real -arch")
    return script


def add_step(script: Script, line: str) -> None:
    words = shlex.split(line)
    program = Path(words[0]).name
    if program == "ptxas":
        arch = next((word.split("=")[1] for word in words if re.fullmatch(r"-arch=sm_\w+", word)), None)
        ptx = next((word for word in words[1:] if word.endswith(".ptx")), None)
        if arch and ptx and "-o" in words[:-1]:  # else it only checks the PTX that was asked for
            script.back.append(Ptxas(line, Path(ptx), Path(words[words.index("-o") + 1]), arch))
    elif program in ("cudafe++", "cicc") or "-E" in words:
        script.front.append(line)
    else:
        script.back.append(line)


def run_steps(steps: list[str], env: dict[str, str], children: Children) -> str:
    """Runs each step by a shell, as nvcc does. Returns their output. Raises StepError."""
    output = ""
    for step in steps:
        ran = children.run(["/bin/sh", "-c", step], env)
        output += ran.stdout
        if ran.returncode:
            raise StepError(ran.returncode, ran.stdout)
    return output


@contextmanager
def ending_children(children: Children) -> Iterator[Children]:
    """Ends the children however the block ends."""
    try:
        yield children
    finally:
        children.end()
