# SPDX-License-Identifier: Apache-2.0
"""What all commands do alike: their one line on stderr, and files that are written whole."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path


def printable(text: object) -> str:
    """One line that cannot steer a terminal: names and reasons come from files that others wrote."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def complain(program: str, words: object) -> None:
    """One line on stderr."""
    print(f"{program}: {printable(' '.join(str(words).split()))}", file=sys.stderr)


def reason(where: object, error: Exception) -> str:
    """What, where and how to mend, of an error in reading or writing; `where`, if the error does not say.

    A pipe that nobody reads any more is nothing to tell: raised anew, for command.entry().
    """
    if isinstance(error, BrokenPipeError):
        raise error
    if isinstance(error, OSError):
        return f"{error.filename or where}: {error.strerror or error}"
    what = f"no {error.args[0]}" if type(error) is KeyError and error.args else error
    return f"{where}: {what}; see `occbench validate`"


def write_whole(path: Path, content: str | bytes) -> None:
    """All of the file or nothing: written beside it, then renamed. Raises OSError with `path` in it.

    What is no plain file, as /dev/stdout, is written to as it is.
    """
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    path = path.resolve()  # a link stays one
    try:
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(beside, 0o644)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
