# SPDX-License-Identifier: Apache-2.0
"""Shared by all commands: their one line on stderr, and atomic writes of files."""

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
import textwrap
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from occbench_tools.escape import printable

DEVICES = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))  # a path there is meant as such
# Of Chinese text, what stays on a line: blanks, or a wide sign or a word with the punctuation around it.
WIDE = r"\u2e80-\u9fff\uff00-\uffef"
OPENING, CLOSING = (
    r"\u2018\u201c\u300a\uff08",
    r"\u2019\u201d\u3001\u3002\u300b\uff01\uff09\uff0c\uff1a\uff1b\uff1f",
)
PIECE = re.compile(
    rf"\s+|[{OPENING}]*(?:\d[\d.,]* %|[^\s{WIDE}{OPENING}{CLOSING}]+|[^\s{OPENING}{CLOSING}])?[{CLOSING}]*"
)


def print_error(program: str, words: object) -> None:
    """One line on stderr; broken between words on a terminal."""
    print(for_terminal(f"{program}: {printable(' '.join(str(words).split()))}"), file=sys.stderr)


def say(*lines: object) -> None:
    """Printable lines on stdout, broken as print_error()'s on a terminal."""
    for line in lines:
        print(for_terminal(printable(str(line)), sys.stdout))


def for_terminal(line: str, stream: TextIO | None = None) -> str:
    """The line for a stream, else stderr: broken between words where that is a terminal."""
    stream = stream or sys.stderr
    if not stream.isatty():
        return line
    columns = os.get_terminal_size(stream.fileno()).columns or 80
    if any(unicodedata.east_asian_width(sign) == "W" for sign in line):
        return "\n".join(break_chinese(line, columns))
    return textwrap.fill(line, columns, break_long_words=False, break_on_hyphens=False)


def width_of(text: str) -> int:
    """The columns of Chinese text; a sign of ambiguous width, such as a quote, may take two."""
    return sum(2 if unicodedata.east_asian_width(sign) in "WFA" else 1 for sign in text)


def break_chinese(line: str, columns: int) -> list[str]:
    """Lines of at most so many columns: broken at blanks and between wide signs, which have no blanks."""
    lines = [""]
    for piece in PIECE.findall(line):
        if lines[-1].strip() and width_of(f"{lines[-1]}{piece}".rstrip()) > columns:
            lines.append("")
        lines[-1] += piece if lines[-1] or len(lines) == 1 else piece.lstrip()
    return [each.rstrip() for each in lines]


def reason(where: object, error: Exception) -> str:
    """One line on an error in reading or writing: where, what and what to do. `where`: if it names no file.

    A broken pipe is raised again, for command.entry().
    """
    if isinstance(error, BrokenPipeError):
        raise error
    if isinstance(error, OSError):
        return f"{error.filename or where}: {error.strerror or error}"
    what = f"no {error.args[0]}" if type(error) is KeyError and error.args else error
    return f"{where}: {what}; see `occbench validate`"


def make_folder(folder: Path) -> None:
    """Makes the folder and those above it, if missing. Raises OSError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except RecursionError:  # mkdir() calls itself for each folder of the path
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), str(folder)) from None


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that replaces `path` at the end of the block: all of it or nothing.

    Made beside it under a random name. A link at `path` is replaced, never followed: folders of
    results come from others. Anything but a regular file is refused, except /dev/stdout and the like.
    Raises OSError with `path` in it.
    """
    if path.parent in DEVICES and not path.is_dir():
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC), "wb") as file:
            yield file
        return
    beside = path.parent / f".{path.name[:100]}.{secrets.token_hex(8)}"
    try:
        with contextlib.suppress(FileNotFoundError):
            kind = os.lstat(path).st_mode
            if stat.S_ISDIR(kind):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if not (stat.S_ISREG(kind) or stat.S_ISLNK(kind)):
                raise OSError(errno.EINVAL, "not a regular file; name another")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def write_whole(path: Path, content: str | bytes) -> None:
    """All of the file or nothing, as whole_file() has it. Raises OSError."""
    with whole_file(path) as file:
        file.write(content.encode("utf-8", "replace") if isinstance(content, str) else content)
