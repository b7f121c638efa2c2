# SPDX-License-Identifier: Apache-2.0
"""Files that somebody sent: of their kind, size and depth before any of it is read."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import zlib
from pathlib import Path
from typing import Any, NoReturn

DEPTH = 64  # levels of JSON; what reads it calls itself at each
MIB = 1 << 20
# Bytes, as harness/io/files.hpp has them.
LIMITS = {"env.json": 16 * MIB, "samples.csv": 2048 * MIB, "launches.csv": 2048 * MIB}
GZIP = 16 + zlib.MAX_WBITS  # a gzip header
LIMIT = 256 * MIB  # of any other: cases.csv, counters.csv, what ncu printed

# A string whole, so that its brackets do not count, or one bracket.
BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[][{}]', re.DOTALL)


class NotRegular(OSError):
    """A pipe, device or folder in a file's place, or more than is read; says so in strerror."""


def written(path: Path) -> Path:
    """`path`, or in its place its gzip file: a run's samples are packed at its end."""
    packed = path.with_name(f"{path.name}.gz")
    return packed if not path.exists() and packed.exists() else path


def read_sent(path: Path, first: int | None = None) -> bytes:
    """The bytes of a regular file, all or only the first so many; unpacked, where its name ends in .gz.

    Raises OSError, `path` in it.
    """
    limit = LIMITS.get(path.name.removesuffix(".gz"), LIMIT)
    # Without waiting for a pipe's other end.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISDIR(status.st_mode):
            raise NotRegular(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise NotRegular(errno.EINVAL, "is no regular file", str(path))
        if status.st_size > limit:
            what = f"has {status.st_size // MIB} MiB, and at most {limit // MIB} are read"
            raise NotRegular(errno.EFBIG, what, str(path))
        if path.suffix == ".gz":
            return unpacked(file.read(limit), path, limit, first)
        return file.read(limit if first is None else first)


def unpacked(content: bytes, path: Path, limit: int, first: int | None) -> bytes:
    """What a gzip file holds, all of it or the first so many bytes. Raises NotRegular."""
    stream = zlib.decompressobj(GZIP)
    try:
        text = stream.decompress(content, limit + 1 if first is None else first)
    except zlib.error:
        raise NotRegular(errno.EINVAL, "is no gzip file", str(path)) from None
    if first is None and len(text) > limit:
        raise NotRegular(errno.EFBIG, f"holds more than the {limit // MIB} MiB that are read", str(path))
    if first is None and not stream.eof:
        raise NotRegular(errno.EINVAL, "is cut off", str(path))
    return text


def parse_json(text: str) -> Any:  # noqa: ANN401 - JSON is what it is
    """JSON of bounded depth, without NaN and infinity. Raises ValueError."""
    depth = 0
    for found in BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > DEPTH:
            raise ValueError(f"nested deeper than {DEPTH} levels")

    def no_number(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no number of JSON")

    return json.loads(text, parse_constant=no_number)
