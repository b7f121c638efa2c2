# SPDX-License-Identifier: Apache-2.0
"""Files from elsewhere: their kind, size and depth are checked before they are read."""

import errno
import json
import math
import os
import re
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from occbench_tools.lines import reason

DEPTH = 64  # levels of JSON; what reads it calls itself at each
MIB = 1 << 20
# Bytes, as harness/io/files.hpp has them.
LIMITS = {"env.json": 16 * MIB, "samples.csv": 2048 * MIB, "launches.csv": 2048 * MIB}
GZIP = 16 + zlib.MAX_WBITS  # a gzip header
MOST_UNPACKED = 100  # times the packed bytes, above SMALL; real samples unpack to some 10 times
SMALL = 64 * MIB
LIMIT = 256 * MIB  # of any other: cases.csv, counters.csv, what ncu printed

# A string whole, so that its brackets do not count, or one bracket.
BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[][{}]', re.DOTALL)


HOLDS_ZEROS = "holds zero bytes, and is not UTF-8 text"


class NotRegular(OSError):
    """A pipe, device or folder in a file's place, or more than is read; says so in strerror."""


def plain_or_packed(path: Path) -> Path:
    """`path`, or its gzip file where only that exists: a run packs its samples at its end."""
    packed = path.with_name(f"{path.name}.gz")
    return packed if not path.exists() and packed.exists() else path


def read_untrusted(path: Path, first: int | None = None) -> bytes:
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
            raise NotRegular(errno.EINVAL, "is not a regular file", str(path))
        if status.st_size > limit:
            what = f"has {status.st_size // MIB} MiB, and at most {limit // MIB} are read"
            raise NotRegular(errno.EFBIG, what, str(path))
        # A hole reads as zeros, which no text has: no time is spent on bytes that are not on the disk.
        if status.st_size and os.lseek(file.fileno(), 0, os.SEEK_HOLE) < status.st_size:
            raise NotRegular(errno.EINVAL, HOLDS_ZEROS, str(path))
        file.seek(0)
        if path.suffix == ".gz":
            text = unpack(file.read(limit), path, limit, first)
        else:
            text = file.read(limit if first is None else first)
    if b"\0" in text:
        raise NotRegular(errno.EINVAL, HOLDS_ZEROS, str(path))
    return text


def unpack(content: bytes, path: Path, limit: int, first: int | None) -> bytes:
    """The content of all members of a gzip file, or its first `first` bytes. Raises NotRegular."""
    limit = min(limit, max(SMALL, MOST_UNPACKED * len(content)))
    wanted = limit + 1 if first is None else first
    text, rest, is_whole = b"", content, False
    try:
        while rest and len(text) < wanted:
            stream = zlib.decompressobj(GZIP)
            part = stream.decompress(rest, wanted - len(text))
            text = text + part if text else part
            rest, is_whole = stream.unused_data, stream.eof
            if not is_whole:
                break
    except zlib.error:
        raise NotRegular(errno.EINVAL, "is not a gzip file", str(path)) from None
    if first is None and len(text) > limit:
        raise NotRegular(errno.EFBIG, f"holds more than the {limit // MIB} MiB that are read", str(path))
    if first is None and not is_whole:
        raise NotRegular(errno.EINVAL, "is cut off", str(path))
    return text


def walk_folders(top: Path, unread: list[str]) -> Iterator[tuple[Path, list[str], list[str]]]:
    """The folders from `top` down, in order, each with its folders and files; links are not followed.

    A folder that cannot be read becomes a line of `unread`.
    """
    for where, folders, files in os.walk(top, onerror=lambda error: unread.append(reason(top, error))):
        folders.sort()
        yield Path(where), folders, files


def parse_json(text: str) -> Any:  # noqa: ANN401 - JSON is what it is
    """JSON of bounded depth, of numbers that a double or 64 bits hold, without NaN. Raises ValueError."""
    text = text.removeprefix("\ufeff")
    depth = 0
    for found in BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > DEPTH:
            raise ValueError(f"nested deeper than {DEPTH} levels")

    def refuse_constant(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not a number of JSON")

    def parse_number(digits: str) -> float:
        value = float(digits) if set(digits) & set(".eE") else int(digits) if len(digits) <= 20 else math.inf
        if not -(2**63) <= value < 2**64 and (isinstance(value, int) or math.isinf(value)):
            raise ValueError(f"{digits[:20]}... is out of range")
        return value

    return json.loads(text, parse_constant=refuse_constant, parse_int=parse_number, parse_float=parse_number)
