# SPDX-License-Identifier: Apache-2.0
"""Bad words by grammar: every command and option, with values that nobody meant."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import re
import threading
import time
from pathlib import Path

import folders
from verdict import CODES, Fault, call, faults, forked

# What stands before the words of a tool, and behind those of a command that takes another.
FIRST = {"fleet": ["check"]}
LAST = {"attach": ["--", "true"], "caps": ["--", "false"]}
# The words that keep a run short, unless another word undoes them.
SHORT = ("--device", "model:h200", "--preset", "quick", "--experiment", "waves")
NUMBERS = (
    *("", "0", "-1", "1", "32", "256", "1024", "1025", "99999999999999999999", "2147483648", "1e9", "0x20"),
    *("NaN", "32K", "48KiB", "1.5K", "-0", "٣", " 1", "1 "),
)
NAMES = (
    *("abc", "h200", "a100", "cc9.0", "cc99.9", "model:h200", "model:", "model:/dev/zero"),
    *("model:missing.json"),
    *("quick", "csv", "json", "table", "xml", "waves", "waves,waves", ",", "a,,b", "true"),
    *("false", "none", "all"),
)
PATHS = (
    *("/dev/null", "/dev/full", "/dev/zero", ".", "..", "/", "missing", "missing/x"),
    *("fifo", "file", "env.json", "lab.csv", "lab.html", "lab.ipynb"),
    *("hostile", "x" * 300, "y/" * 2000, "z" * 100_000),
)
SIGNS = (
    *("=cmd()", "$(true)", "`true`", "%s%n", "\x1b[31m", "\n", "a\tb", "é", "🙂", "--"),
    *("-", "--help", "*", "["),
    *("(", "(a|a)*b", "([a-z]+)+!", "\\"),
)
VALUES = (*NUMBERS, *NAMES, *PATHS, *SIGNS)
BYTES = (b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80")
COMMAND = re.compile(r"^  ([a-z][a-z-]+) +[A-Z]", re.M)
OPTION = re.compile(r"^ +(?:-\w,? ?(?:\S+, )?)?(--[a-z][a-z-]+)", re.M)


@functools.cache
def built_in() -> tuple[str, ...]:
    """The program's own commands, as its help names them."""
    text = call([os.environ["OCCBENCH"], "--help"]).out.decode()
    return tuple(sorted(set(COMMAND.findall(text)) - folders.tools().keys()))


@functools.cache
def options() -> dict[str, list[str]]:
    """Each command's own, as its help names them."""
    occbench = os.environ["OCCBENCH"]
    texts = {word: call([occbench, word, "--help"]).out for word in built_in()}
    texts |= {word: forked(main, ["--help"], Path()).out for word, main in folders.tools().items()}
    flags = "filter list_tests repetitions format out out_format min_time color nope".split()  # noqa: SIM905
    named = {word: sorted(set(OPTION.findall(text.decode()))) for word, text in texts.items()}
    return named | {"run": named["run"] + [f"--benchmark_{flag}" for flag in flags]}


@functools.cache
def cards() -> list[str]:
    """What --device takes, as nvidia-smi prints it, and as the command line has it."""
    lines = call([os.environ["OCCBENCH"], "calc", "--device", "list"]).out.decode().splitlines()[1:]
    return [word for line in lines for word in re.split(r"  +", line.strip())[:2]]


def value(dice: random.Random) -> str:
    if dice.random() < 0.1:
        card = dice.choice(cards())
        return card if dice.random() < 0.5 else card[dice.randrange(len(card)) :].swapcase()
    return dice.choice(VALUES) if dice.random() < 0.9 else dice.choice(VALUES) + dice.choice(VALUES)


def sentence(word: str, dice: random.Random) -> list[str]:
    """A command with options and values in no order that makes sense."""
    said: list[str] = []
    for _ in range(dice.choice((0, 1, 1, 2, 2, 3, 5))):
        option = dice.choice([*options()[word], "--nope", "-x"])
        if dice.random() < 0.15:  # cut short, or misspelt
            option = option[: dice.randrange(2, len(option) + 1)] + dice.choice(("", "x"))
        kind = dice.random()
        if kind < 0.45:
            said += [option, value(dice)]
        elif kind < 0.8:
            said.append(f"{option}={value(dice)}")
        else:
            said.append(option)
    if dice.random() < 0.3:
        said.insert(dice.randrange(len(said) + 1), value(dice))
    return said


def usable(words: list[str]) -> bool:
    """What no program could be called with, and what would measure for long."""
    text = " ".join(words)
    long = "--preset=full" in text or "--preset full" in text or "--preset=standard" in text
    long |= "/" in words and words[0] in ("inspect", "fleet")  # a walk over the whole machine
    long |= "repetitions=1024" in text or "repetitions 1024" in text
    return "\x00" not in text and sum(map(len, words)) < 120_000 and not long


def codes_of(word: str, words: list[str]) -> frozenset[int]:
    """The exit codes that are right: 2 alone where the first word is not an option of any command.

    attach and caps end as what they call does, with 125, 126 and 127 of their own. 3: there may be no device.
    """
    if words[:1] == ["--nope"] and not any(
        word.startswith(("-h", "--h")) for word in words
    ):  # help goes first
        return frozenset({2, 125} if word in LAST else {2})
    return CODES | {3} | ({125, 126, 127} if word in LAST else set())


# As the machine has them before the first trial.
DEVICES = [name for name in ("/dev/null", "/dev/full", "/dev/zero") if Path(name).is_char_device()]


def replaced() -> list[Fault]:
    """Root may rename a file over a device, which takes it away from everyone."""
    return [Fault("lost rows", f"{name} was replaced") for name in DEVICES if not Path(name).is_char_device()]


def serve(pipe: Path) -> None:
    """Keeps a pipe empty: its readers find a writer that closes it, its writers a reader that takes all."""
    while pipe.exists():
        with contextlib.suppress(OSError):  # ENXIO: nobody reads
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        with contextlib.suppress(OSError), open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb", 0) as end:
            while end.read(1 << 16) != b"":  # None: a writer has it open
                time.sleep(0.01)
        time.sleep(0.05)


def trial(seed: int, cwd: Path, place: Path, occbench: Path) -> list[Fault]:
    dice = random.Random(seed)
    os.mkfifo(cwd / "fifo")
    threading.Thread(target=serve, args=(cwd / "fifo",), daemon=True).start()
    (cwd / "file").write_text("device,block_size\nh200,1\n")
    (cwd / "env.json").write_text("{}")
    (cwd / "hostile").symlink_to(place / "h200")
    found = []
    for _ in range(4):
        word = dice.choice((*built_in(), "calc", "run", "list", "nope", ""))
        is_known = word in built_in()
        words = sentence(word, dice) if is_known else [value(dice) for _ in range(dice.randrange(3))]
        words += LAST.get(word, [])
        if word == "run" and dice.random() < 0.95:
            words = [*SHORT, *words]
        whole: list[str | bytes] = [each for each in [word, *words] if each or dice.random() < 0.5]
        if not usable([word, *words]):
            continue
        if dice.random() < 0.1:
            whole.insert(dice.randrange(len(whole) + 1), dice.choice(BYTES))
        label = f"occbench {whole!r}"[:1500]
        # The library's own words may stand beside the line.
        found += faults(
            call([occbench, *whole], cwd=cwd), label, codes_of(word, words),
            one_line=not any("--v" in w for w in words),
        )  # fmt: skip
    word = dice.choice(list(folders.tools()))
    words = [*FIRST.get(word, []), *sentence(word, dice), *LAST.get(word, [])]
    if dice.random() < 0.5:
        words[len(FIRST.get(word, [])) :] = ["hostile", *words[len(FIRST.get(word, [])) :]]
    if usable([word, *words]) and word != "plot":
        done = forked(folders.tools()[word], words, cwd)
        found += faults(done, f"{word} {words!r}"[:1500], codes_of(word, words))
    if not (cwd / "fifo").is_fifo():
        found.append(Fault("lost rows", "a pipe was replaced"))
    return found + replaced()
