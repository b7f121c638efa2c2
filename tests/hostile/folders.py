# SPDX-License-Identifier: Apache-2.0
"""Folders of results, made hostile by mutation of a real one, and every command that reads them."""

from __future__ import annotations

import copy
import csv
import functools
import gzip
import importlib
import io
import json
import os
import random
import shutil
import socket
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from occbench_docs.committed import committed_runs
from occbench_tools.schema import of_version, schema, version_of
from occbench_tools.schema_checks import NUMBER, cell_check
from verdict import REFUSED, Fault, call, faults, forked, left_out

ROOT = Path(__file__).resolve().parents[2]
FILES = ("cases.csv", "samples.csv", "env.json")
MUTABLE = (*FILES, "samples.csv.gz", "kernels.csv", "arms.csv", "registers.csv", "launches.csv.gz")
CASES = 100
PLOT_EVERY = 20  # plot draws for seconds where the others read
LONGEST = 4000  # bytes of a line on stderr
STOPS_S = 20  # a run whose env.json now asks for all experiments

CELLS = (
    *("", " ", "0", "-0", "-1", "1", "2", "5e-324", "1e308", "-1e308", "1e400", "nan", "NaN", "inf", "-inf"),
    *("1e-300", "0x10", "1_000", "١٢", "1,5", "9" * 400, "9" * 30, "-9223372036854775809", "true"),
    *("a" * 100_000, "=cmd()", "@x", "<script>alert(1)</script>", "[red]", "$x$", "\\frac{", "%s%n"),
    *("None", "../../x"),
    *("\x1b]0;owned\x07", "\x00", "\x7f\x9b31m", "a\nb", "a\r\nb", '"', '""', "'", "`", "|"),
    *("\u202e", "\ud7ff", "\U0001f600", "ﷺ", "\ufeff", "valid", "invalid", "impossible"),
    *("skipped", "byte/s", "dram", "none"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1e308, 5e-324, 10**400, 10**5000, "", "x", [], {}, [[]], {"a": 1}, "\ud800"),
    *(float("nan"), float("inf"), "9" * 400, "\x1b[31m", "<b>", "model", "measured", 3, 2, 99),
)


@functools.cache
def tools() -> dict[str, Callable[[list[str]], int]]:
    """main() of each tool; pandas and the like are imported once, before any fork."""
    from occbench_tools.start import TOOLS

    return {word: importlib.import_module(name).main for word, name in TOOLS.items() if word != "audit"}


# What each may end with, of a folder that may be read: 2 is compare's and report's for a model beside
# measurements, and compare's for no case in common; 1 is what compare, validate, predictions and import-ncu
# find, and cliffs' for no sweep.
MAY = {
    "cliffs": {0, 1, 4}, "compare": {0, 1, 2, 4}, "explain": {0, 4}, "findings": {0, 4},
    "import-ncu": {0, 1, 4}, "plot": {0, 4}, "predictions": {0, 1, 4}, "profile": {1, 2, 4, 5},
    "report": {0, 2, 4}, "teach": {0, 4},
    "validate": {0, 1, 4},
}  # fmt: skip
OF_SAMPLES = ("compare", "cliffs")  # read them, as validate does


def readers(hostile: str, good: str, seed: int) -> list[tuple[str, list[str]]]:
    """Each command that reads a folder, and its words."""
    calls = [
        ("validate", [hostile]), ("explain", [hostile, "--all"]),
        ("explain", [hostile, "--format", ("markdown", "json")[seed % 2]]),
        ("report", [hostile, "--output", "report.html"]),
        ("report", [good, hostile, "--output", "both.html"]),
        ("teach", [hostile, "--output", "teach.html", "--occbench", os.environ["OCCBENCH"]]),
        ("teach", [hostile, "--check", "lab.csv", "--export", "class.csv"]),
        ("compare", [good, hostile]), ("compare", [hostile, good, "--verbose"]),
        ("compare", [hostile, good, "--format", ("csv", "json", "markdown", "html")[seed % 4]]),
        ("cliffs", [hostile, "--output", "-", "--format", ("csv", "json", "markdown", "table")[seed % 4]]),
        ("cliffs", [hostile, "--output", "cliffs.csv", "--all"]),
        ("predictions", [hostile]), ("predictions", [hostile, "--plain", "--model", good]),
        ("import-ncu", [hostile, str(ROOT / "tests/tools/ncu_raw.csv"), "--output", "ncu"]),
        ("profile", [hostile, "--ncu", "/bin/false", "--occbench", os.environ["OCCBENCH"], "--count", "1"]),
    ]  # fmt: skip
    if seed % PLOT_EVERY == 0:
        calls.append(("plot", [hostile]))
    return calls


def cut(run: Path, folder: Path, every: int) -> Path:
    """A run's every n-th case of each experiment, with the first samples of each."""
    folder.mkdir(parents=True)
    with (run / "cases.csv").open(newline="") as text:
        header, *rows = list(csv.reader(text))
    kept = rows[::every][:CASES]
    ids = {row[header.index("case_id")] for row in kept}
    with gzip.open(run / "samples.csv.gz", "rt", newline="") as text:
        head, *samples = list(csv.reader(text))
    place = head.index("case_id")
    some = [row for row in samples if row[place] in ids]
    for name, table in (("cases.csv", [header, *kept]), ("samples.csv", [head, *some[:1500]])):
        with (folder / name).open("w", newline="") as text:
            csv.writer(text, lineterminator="\n").writerows(table)
    shutil.copy(run / "env.json", folder)
    return folder


def prepare(place: Path, occbench: Path) -> None:
    """What the trials copy: real rows of two GPUs, and half a run of a model."""
    for name in ("h200", "h100"):
        run = next(run for run in committed_runs() if run.parent.name.startswith(f"nvidia-{name}"))
        folder = cut(run, place / name, 24)
        if name == "h100":  # as a run leaves it
            (folder / "samples.csv.gz").write_bytes(gzip.compress((folder / "samples.csv").read_bytes()))
            (folder / "samples.csv").unlink()
    words = [occbench, "run", "--device", "model:h200", "--preset", "quick"]
    done = call([*words, "--experiment", "waves,barriers,pointer_chase", "--output", place / "model"])
    assert done.code == 0, done.err
    rows = (place / "model/cases.csv").read_text().splitlines(keepends=True)
    (place / "model/cases.csv").write_text("".join(rows[: len(rows) // 2]))


def mutated_table(text: bytes, dice: random.Random) -> bytes:
    try:
        rows = list(csv.reader(io.StringIO(text.decode(errors="replace"), newline="")))
    except csv.Error:  # of an earlier mutation
        return mutated_bytes(text, dice)
    if not rows or not rows[0]:
        return text
    width = len(rows[0])

    def at(first: int = 1) -> int:
        return dice.randrange(first, len(rows)) if len(rows) > first else 0

    what = dice.randrange(15)
    column = dice.randrange(width)
    if what < 4:  # some cells, or a whole column
        value = dice.choice(CELLS)
        for row in rows[1:] if dice.random() < 0.4 else [rows[at()] for _ in range(dice.randrange(1, 9))]:
            if column < len(row):
                row[column] = value
    elif what == 4:  # a cell each of a column
        for row in rows[1:]:
            if column < len(row):
                row[column] = dice.choice(CELLS)
    elif what == 5:  # a row each of its own
        rows[at()] = [dice.choice(CELLS) for _ in range(width)]
    elif what == 6:
        rows[0][column] = dice.choice((*CELLS, rows[0][dice.randrange(width)]))
    elif what == 7:
        for row in rows:
            del row[column : column + 1]
    elif what == 8:
        for row in rows:
            row[column:column] = row[column : column + 1] * dice.choice((1, 2, 2000))
    elif what == 9:
        rows[at()] = rows[at()][: dice.randrange(width)] + ["x"] * dice.choice((0, 1, 200))
    elif what == 10:
        rows = rows[: dice.randrange(3)]
    elif what == 11:
        rows += [list(rows[at()]) for _ in range(dice.choice((1, 3, 500)))]
    elif what == 12:
        dice.shuffle(rows)
    elif what == 13:
        order = dice.sample(range(width), width)
        rows = [[row[i] for i in order if i < len(row)] for row in rows]
    else:  # all rows of one experiment, or alike
        rows = [rows[0], *([rows[at()]] * dice.choice((1, 4, 40)))]
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=dice.choice(("\n", "\n", "\r\n", "\r"))).writerows(rows)
    return out.getvalue().encode(errors="surrogatepass")


def written(tree: object) -> bytes:
    """JSON with integers of any length; those who read it keep to Python's limit."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return json.dumps(tree).encode()
    finally:
        sys.set_int_max_str_digits(limit)


def mutated_json(text: bytes, dice: random.Random) -> bytes:
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):  # of an earlier mutation
        return text
    for _ in range(dice.choice((1, 1, 3, 30))):
        node = tree
        while isinstance(node, dict) and node:
            key = dice.choice(list(node))
            if not isinstance(node[key], dict) or dice.random() < 0.3:
                break
            node = node[key]
        if isinstance(node, dict) and node:
            if dice.random() < 0.3:
                del node[key]
            else:
                node[key] = copy.deepcopy(dice.choice(VALUES))  # a later step may change what lies in it
    kind = dice.randrange(8)
    if kind == 0:
        levels = dice.choice((65, 900, 20_000, 100_000))
        deep = "[" * levels + "]" * dice.choice((0, levels))
        return written(tree)[:-1] + f', "deep": {deep}}}'.encode()
    if kind == 1:
        return written(dice.choice(VALUES)) if dice.random() < 0.9 else b"\xef\xbb\xbf{}"
    return written(tree)


def mutated_bytes(text: bytes, dice: random.Random) -> bytes:
    kind = dice.randrange(9)
    if kind == 0:
        return text[: dice.randrange(len(text) + 1)]
    if kind == 1:
        return b""
    if kind == 2:
        return text.decode(errors="replace").encode(dice.choice(("utf-16", "utf-32", "utf-8-sig", "utf-7")))
    if kind == 3:
        return text.replace(b"\n", dice.choice((b"\r", b"\r\n", b"\n\n", b"\x00", b"")))
    if kind == 4:
        at = dice.randrange(len(text) + 1)
        return text[:at] + dice.choice((b'"', b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\x1b[2J")) + text[at:]
    if kind == 5:
        return dice.randbytes(dice.choice((1, 100, 100_000)))
    if kind == 6:
        return text * 3
    flipped = bytearray(text)
    for _ in range(dice.choice((1, 10, 1000))):
        if flipped:
            flipped[dice.randrange(len(flipped))] = dice.randrange(256)
    return bytes(flipped)


def made_otherwise(file: Path, dice: random.Random) -> None:
    """The file's name as something that is no small file."""
    file.unlink(missing_ok=True)
    kind = dice.randrange(9)
    if kind == 0:
        os.mkfifo(file)
    elif kind == 1:
        file.mkdir()
    elif kind == 2:
        file.symlink_to(dice.choice(("/dev/zero", "/dev/full", "/dev/null", "/proc/self/mem", "/etc/shadow")))
    elif kind == 3:
        file.symlink_to(file.name)
    elif kind == 4:
        with file.open("wb") as sparse:
            sparse.truncate(dice.choice((240 << 20, 1 << 30, 3 << 30, 1 << 40)))
    elif kind == 5:
        here = os.open(file.parent, os.O_RDONLY)  # a socket's path may have 108 bytes
        try:
            socket.socket(socket.AF_UNIX).bind(f"/proc/self/fd/{here}/{file.name}")
        finally:
            os.close(here)
    elif kind == 6:
        file.symlink_to("nowhere")
    elif kind == 7:
        file.write_bytes(b"\n" * (1 << 20))


def is_small(file: Path) -> bool:
    return file.is_file() and not file.is_symlink() and file.stat().st_size < 1 << 26


def state(folder: Path) -> tuple[list[tuple[str, int, int]], dict[str, bytes]]:
    """What a folder holds, for whether something in it changed."""
    entries = [(p.name, p.lstat().st_mode, p.lstat().st_size) for p in sorted(folder.iterdir())]
    return entries, contents(folder)


def mutate(folder: Path, dice: random.Random) -> None:
    """Makes a folder hostile, in one to three places at least."""
    before, wanted = state(folder), dice.choice((1, 1, 1, 2, 3))
    while wanted > 0 or state(folder) == before:
        wanted -= 1
        plain = [file for file in map(folder.joinpath, MUTABLE) if is_small(file)]
        if not plain:
            break  # all are made otherwise
        file = dice.choice(plain)
        kind = dice.random()
        if kind < 0.08:
            made_otherwise(file, dice)
        elif file.suffix == ".gz" and kind < 0.5 and file.stat().st_size > 1:  # a copy that ended early
            file.write_bytes(file.read_bytes()[: dice.randrange(1, file.stat().st_size)])
        elif kind < 0.2 or file.suffix == ".gz":
            file.write_bytes(mutated_bytes(file.read_bytes(), dice))
        elif file.name == "env.json":
            file.write_bytes(mutated_json(file.read_bytes(), dice))
        elif file.stat().st_size:
            file.write_bytes(mutated_table(file.read_bytes(), dice))


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if is_small(p)}


def a_cell(folder: Path, dice: random.Random, value: str) -> None:
    """A number of cases.csv becomes text, which is quoted in what is said of it."""
    with (folder / "cases.csv").open(newline="") as text:
        rows = list(csv.reader(text))
    dice.choice(rows[1:])[rows[0].index("time_median_s")] = value
    with (folder / "cases.csv").open("w", newline="") as text:
        csv.writer(text, lineterminator="\n").writerows(rows)


def long_cell(folder: Path, dice: random.Random) -> None:
    a_cell(folder, dice, "a" * 100_000)


def steering_cell(folder: Path, dice: random.Random) -> None:
    a_cell(folder, dice, dice.choice(("\x1b]0;owned\x07", "\x9b31m", "\u202e1", "a\rb")))


def cut_copy(folder: Path, dice: random.Random) -> None:
    """The packed samples, of which the end is missing."""
    plain, packed = folder / "samples.csv", folder / "samples.csv.gz"
    content = packed.read_bytes() if packed.exists() else gzip.compress(plain.read_bytes())
    plain.unlink(missing_ok=True)
    packed.write_bytes(content[: dice.randrange(20, len(content))])


def holes(folder: Path, dice: random.Random) -> None:
    with (folder / dice.choice(("cases.csv", "cases.csv", "env.json"))).open("r+b") as sparse:
        sparse.truncate(dice.choice((15 << 20, 240 << 20)))


def other_type(folder: Path, dice: random.Random) -> None:
    env = json.loads((folder / "env.json").read_bytes())
    where = dice.choice((env, env["gpu"], env["gpu"]))
    where[dice.choice(sorted(where))] = copy.deepcopy(dice.choice(VALUES[:-5]))
    (folder / "env.json").write_bytes(written(env))


# In its turn each is all that a folder suffers, so that the short form has them all.
ALONE = (long_cell, steering_cell, cut_copy, holes, other_type)


def is_json(file: Path) -> bool:
    """Whether it is an object of JSON in a regular file; what this says no to no reader may take."""
    try:
        return file.is_file() and file.stat().st_size < 1 << 26 and isinstance(
            json.loads(file.read_bytes().decode("utf-8-sig")), dict)  # fmt: skip
    except (OSError, ValueError, RecursionError):
        return False


def is_table(file: Path) -> bool:
    """Whether it is text in a regular file, with a line; of gzip whole, and all of it."""
    try:
        if not file.is_file() or file.stat().st_size > 1 << 26:
            return False
        text = file.read_bytes()
        text = gzip.decompress(text) if file.suffix == ".gz" else text
        return b"\n" in text and b"\0" not in text and bool(text.decode("utf-8-sig"))
    except (OSError, ValueError, EOFError, zlib.error):
        return False


def is_damaged(cases: Path) -> bool:
    """Whether a cell of cases.csv holds what its column may not, which no reader may take."""
    content = cases.read_bytes()
    columns = of_version(schema(), version_of(content))["files"]["cases.csv"]["columns"]
    checks = {column["name"]: cell_check(column) for column in columns}
    try:
        header, *rows = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
    except csv.Error:
        return False  # by its quotes
    whole = [row for row in rows if len(row) == len(header)]
    return any(
        cell and name in checks and (wrong := checks[name](cell.strip())) and not is_whole_number(cell, wrong)
        for row in whole
        for name, cell in zip(header, row, strict=True)
    )


def is_whole_number(cell: str, wrong: str) -> bool:
    """An integer that is written as a number passes readers, and validate alone asks for its form."""
    return wrong.endswith("not an integer") and bool(NUMBER.fullmatch(cell)) and float(cell).is_integer()


def right(word: str, folder: Path) -> frozenset[int]:
    """The exit codes that are right for a command on this folder, judged by what its files are alone."""
    packed = folder / "samples.csv.gz"
    samples = packed if packed.exists() and not (folder / "samples.csv").exists() else folder / "samples.csv"
    whole = is_json(folder / "env.json") and is_table(folder / "cases.csv")
    has_none = word == "cliffs" and not any(map(os.path.lexists, (samples, packed)))  # found without them
    whole = whole and (word not in (*OF_SAMPLES, "validate") or has_none or is_table(samples))
    if word == "validate":
        return frozenset(MAY[word] if whole else {1, 4})
    if not whole or is_damaged(folder / "cases.csv"):
        return REFUSED
    # A run that was killed may have left a row that is cut off: it is left out, said, and 1.
    is_cut = not (folder / "cases.csv").read_bytes().endswith(b"\n")
    return frozenset(MAY[word]) | ({1} if is_cut else set())


def trial(seed: int, cwd: Path, place: Path, occbench: Path) -> list[Fault]:
    """One hostile folder before all readers, and one half of a run before --resume."""
    dice = random.Random(seed)
    found = []
    hostile, good = cwd / "hostile", cwd / "good"
    shutil.copytree(place / dice.choice(("h200", "h100", "model")), hostile)
    shutil.copytree(place / dice.choice(("h200", "h100")), good)
    if seed % (2 * len(ALONE)) < len(ALONE):
        ALONE[seed % (2 * len(ALONE))](hostile, dice)
    else:
        mutate(hostile, dice)
    before = contents(hostile), contents(good)
    for word, words in readers("hostile", "good", seed):
        done = forked(tools()[word], words, cwd)
        codes = right(word, hostile) | left_out(word, done)
        found += faults(done, f"{word} {' '.join(words)}", codes, longest=LONGEST)
        if word != "plot" and before != (contents(hostile), contents(good)):
            found.append(Fault("lost rows", f"{word} changed what it reads"))
            before = contents(hostile), contents(good)
    found += faults(
        call([occbench, "findings", "hostile"], cwd=cwd), "findings hostile", right("findings", hostile)
    )
    half = cwd / "half"
    shutil.copytree(place / "model", half)
    mutate(half, dice)
    done = call([occbench, "run", "--resume", "half", "--stop-after", f"{STOPS_S}s"], cwd=cwd)
    return found + faults(done, "run --resume half", resumes(half), one_line=True)


def resumes(half: Path) -> frozenset[int]:
    """Those right for --resume: 1 where a case is invalid or time was over, 2 where env.json asks so.

    3 where env.json has become that of a run on a GPU.
    """
    if not is_json(half / "env.json"):
        return REFUSED
    if json.loads((half / "env.json").read_bytes().decode("utf-8-sig")).get("source") == "measured":
        return frozenset({2, 3, 4})
    cases = half / "cases.csv"
    if not cases.is_symlink() and (not cases.exists() or (cases.is_file() and is_without_header(cases))):
        return frozenset({0, 1, 2, 4})  # of a run that was killed as it began
    if not is_table(cases):
        return REFUSED | {2}
    return frozenset({2, 4} if is_damaged(cases) else {0, 1, 2, 4})


def is_without_header(cases: Path) -> bool:
    return cases.stat().st_size < 1 << 26 and b"\n" not in cases.read_bytes()
