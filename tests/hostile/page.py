# SPDX-License-Identifier: Apache-2.0
"""The calculator's page: its module is asked what no page asks, with files that no tool wrote."""

from __future__ import annotations

import copy
import json
import random
import shutil
import sys
from pathlib import Path

import folders
import forms
from verdict import Fault, call, faults

sys.path.append(str(folders.ROOT / "tests"))
from calculator_test import DRIVER, NUMBERS

ASKED = (
    "answer",
    "answer",
    "text",
    "curves",
    "map",
    "kernels",
    "kernels",
    "batch",
    "catalogue",
    "nothing",
    "",
)
LIMITS = ("sm_count", "max_threads_per_sm", "registers_per_sm", "smem_per_sm_bytes", "max_threads_per_block")
QUESTIONS = 40  # of a trial
VALUES = [v for v in folders.VALUES if not isinstance(v, (int, float)) or abs(v) < 1e18]  # JavaScript's own
DEVICES = ("h200", "a100", "cc8.6", "p100", "")


def prepare(place: Path, occbench: Path) -> None:
    if not shutil.which("node"):
        print("skipped: page (no node)", flush=True)
        return
    done = call([occbench, "calc", "--page", place / "page.html"])
    assert done.code == 0, done.err


def value(dice: random.Random) -> object:
    if dice.random() < 0.5:
        return str(dice.choice((0, 1, 32, 255, 256, 1024, 1025, 65536, 2**31, 2**63, -1, "48K", "all")))
    return copy.deepcopy(dice.choice(VALUES))


def question(dice: random.Random) -> dict[str, object]:
    asked: dict[str, object] = {"ask": dice.choice(ASKED), "device": dice.choice(DEVICES)}
    asked["query"] = {"block_size": "256", "registers_per_thread": "32"}
    for _ in range(dice.randrange(4)):
        asked["query"][dice.choice(NUMBERS)] = value(dice)
    if dice.random() < 0.3:
        asked["limits"] = {dice.choice(LIMITS): value(dice)}
    if dice.random() < 0.4:
        asked[dice.choice(("ask", "device", "query", "limits", "format", "source", "block_size"))] = value(
            dice
        )
    return asked


def trial(seed: int, cwd: Path, place: Path, occbench: Path) -> list[Fault]:
    if not (place / "page.html").exists():
        return []
    dice = random.Random(seed)
    questions = []
    for n in range(QUESTIONS):
        file, _ = dice.choice(forms.asked())
        content = file.read_bytes()
        if file.suffix != ".gz" and dice.random() < 0.7:
            content = folders.mutated_bytes(content, dice)
        (cwd / f"{n}").write_bytes(b"" if content[:2] == b"\x1f\x8b" else content)  # the page unpacks
        questions.append([question(dice), str(cwd / f"{n}")])
    text = json.dumps(questions)
    done = call(["node", "-e", DRIVER, place / "page.html"], input=text.encode(), preexec_fn=None)
    found = faults(done, "the page's module", frozenset({0}))
    answers = [json.loads(line) for line in done.out.splitlines()] if not found else []
    if not found and len(answers) != QUESTIONS:
        found.append(Fault("lost rows", f"the page answers {len(answers)} of {QUESTIONS} questions"))
    for (asked, _), answer in zip(questions, answers, strict=False):
        if not isinstance(answer, dict) or not answer or "unexpected: " in str(answer.get("error", "")):
            found.append(Fault("traceback", f"the page, asked {asked!r:.500}: {answer!r:.300}"))
    return found
