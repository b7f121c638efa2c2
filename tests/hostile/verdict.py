# SPDX-License-Identifier: Apache-2.0
"""What a call may do, whatever it is given: end soon, with a known code and one line; steer no terminal."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NamedTuple

FAULTS = ("traceback", "crash", "hang", "lost rows", "wrong exit code", "words")
SOON_S = 60  # for what takes a second, on a machine that is busy
MEMORY = 6 << 30
# C0, C1, marks of direction (U+202A to 202E, 2066 to 2069), and a carriage return alone.
STEERS = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]|\r(?!\n)"
)
CODES = frozenset({0, 1, 2, 4, 5})  # of words that nobody meant: no call of the hunt needs a device
REFUSED = frozenset({4})  # where a file cannot be what it should be


class Fault(NamedTuple):
    kind: str  # one of FAULTS
    what: str


class Done(NamedTuple):
    """How a call ended: code is negative for a signal, None where it had to be killed."""

    code: int | None
    out: bytes
    err: bytes


def bounded() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def as_a_user() -> None:
    """Takes from root what lets it read what modes forbid: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH.

    From the bounding set as well (PR_CAPBSET_DROP), or a program that is executed has them anew.
    """
    libc, header = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(0x20080522, 0)
    for capability in (1, 2):
        libc.prctl(24, capability)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, each of 64 bits
    if libc.capget(header, sets) == 0:
        sets[0] &= ~0b110
        libc.capset(header, sets)


def call(words: Sequence[str | bytes | Path], **options: object) -> Done:
    """Runs a program with no input, unless `stdin` or `input` is among the options of subprocess.run."""
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("preexec_fn", bounded)
    try:
        run = subprocess.run(words, capture_output=True, timeout=SOON_S, **options)
    except subprocess.TimeoutExpired as late:
        return Done(None, late.stdout or b"", late.stderr or b"")
    return Done(run.returncode, run.stdout, run.stderr)


def forked(
    main: Callable[[list[str]], int], words: list[str], cwd: Path, before: Callable[[], None] = bounded
) -> Done:
    """The same of a tool's main(), in a child of this process, which has imported it already.

    `before` is called there first.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os._exit(_in_child(main, words, cwd, out, err, before))
        code = _waited(child)
        out.seek(0)
        err.seek(0)
        return Done(code, out.read(), err.read())


def _in_child(
    main: Callable[[list[str]], int], words: list[str], cwd: Path, out: IO[bytes], err: IO[bytes],
    before: Callable[[], None],
) -> int:  # fmt: skip
    try:
        bounded()
        before()
        os.chdir(cwd)
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, errors="backslashreplace")
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        sys.stdout.flush()
        sys.stderr.flush()
        return int(code or 0)
    except BaseException:  # what Python itself would print
        os.write(2, traceback.format_exc().encode(errors="backslashreplace"))
        return 1


def _waited(child: int) -> int | None:
    until = time.monotonic() + SOON_S
    pause = 0.002
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def left_out(word: str, done: Done) -> frozenset[int]:
    """1, where a page was written and rows are said to be left out of it, or no valid row is left."""
    is_said = any(words in done.err for words in (b"left out", b": no valid case\n"))
    return frozenset({1} if word in ("report", "teach", "plot") and is_said else ())


def faults(
    done: Done, label: str, codes: frozenset[int], one_line: bool = False, longest: int | None = None
) -> list[Fault]:
    """What is wrong with how a call ended.

    codes: the exit codes that are right for it. longest: bytes of a line on stderr, of a call of short words.
    """
    said = done.err[-2000:].decode(errors="backslashreplace")
    if done.code is None:
        return [Fault("hang", f"{label}: still running after {SOON_S} s")]
    if b"Traceback (most recent" in done.err or b"occbench: unexpected:" in done.err:
        return [Fault("traceback", f"{label}: {said}")]
    if done.code < 0 or b"AddressSanitizer" in done.err or b"runtime error:" in done.err:
        return [Fault("crash", f"{label}: ended by {done.code}: {said}")]
    if done.code not in codes:
        return [Fault("wrong exit code", f"{label}: {done.code}: {said}")]
    if done.code >= 2 and not (done.err + done.out).strip():
        return [Fault("words", f"{label}: {done.code} and not a word")]
    if one_line and done.code >= 2 and done.err.count(b"\n") != 1:
        return [Fault("words", f"{label}: {done.code} and not one line: {said}")]
    if longest and (line := max(done.err.splitlines(), key=len, default=b"")) and len(line) > longest:
        return [Fault("words", f"{label}: a line of {len(line):,} bytes: {line[:200]!r}...")]
    for stream in (done.err, done.out):
        if found := STEERS.search(stream):
            around = stream[max(0, found.start() - 40) : found.end() + 40]
            return [Fault("words", f"{label}: a control character: {around!r}")]
    return []
