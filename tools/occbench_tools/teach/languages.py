# SPDX-License-Identifier: Apache-2.0
"""The languages of the lab: its lessons, the words around them, and its units, over the same figures.

English is in lessons_*.py and here. Another language is lessons.LANGUAGE.toml: texts by the same names.
Ids, verdicts and units in files of answers are English in every language: a class's files fit together.
"""

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from occbench_tools.teach.lesson import Lesson
from occbench_tools.teach.lessons import LESSONS

LANGUAGES = ("en", "zh")

WORDS = {
    "title": "Lab: occupancy on {label}",
    "heading": "Lab: occupancy",
    "introduction": (
        "Predict each number before you look. Then let the GPU answer, and find out what made the "
        "difference. The numbers of sections are those of Hwu, Kirk and El Hajj, Programming Massively "
        "Parallel Processors (PMPP), 4th edition."
    ),
    "note": "Footprints in the questions are chosen for {label}; each check asks for the GPU at hand.",
    "check": "Check: ",
    "prediction": "My prediction: ",
    "measured": "measured: ",
    "blank": "your prediction, {unit}, between the quotes",
    "not_here": "Not on this GPU: {why}.",
    "predicted": "{label}: predicted, nothing was measured",
    "answer": "your answer: {answer}",
    "see": "see: {command}",
    "right": "right",
    "wrong": "wrong",
    "not_answered": "not answered",
    "skipped": "skipped",
    "verdict": "{verdict}: {words}",
    "range": "{words} ({low} to {high})",
    "counts": "{right} of {all} right{rest}",
    "count": ", {number} {verdict}",
    "total": "{student}, {label}: {counts}",
    "model": "model of {gpu}",
    "before": "{place}  {title}: {answer}, {verdict}",
    "prompt": (
        "Type a number. Enter alone leaves a question open. Ctrl-C stops, and the same command continues: "
        "{file} keeps your answers."
    ),
    "again": "Earlier answers are shown. --again asks again; the file keeps all, and the last one counts.",
    "reads": "reads {folder}; delete it to run it again",
    "runs": "runs the lab's cases on {device} into {folder}",
    "interrupted": "interrupted; {file} keeps {given} of {all} answers, the same command continues",
    "not_a_number": "'{answer}' is not a number in plain digits, such as 1000 or 2.5",
    "other_unit": "'{answer}' has another unit: the question asks for {unit}",
    "no_choice": "'{answer}' is none of 1 to {most}",
    "negative": "'{answer}' is impossible: the answer is not negative",
    "too_many": "'{answer}' is impossible: at most {most} {unit} are possible here",
    "not_whole": "'{answer}' is impossible: the question asks for a whole number of {unit}",
    "fraction": "'{answer}': did you mean {percent} %? Type {percent}, or {answer} % if you mean that",
}
UNITS = {unit: unit for unit in ("percent", "times", "choice", "warps", "registers", "blocks", "KiB")}


class Language(NamedTuple):
    """lessons in the order of LESSONS; words by the names of WORDS; units by those of the lessons."""

    name: str
    lessons: tuple[Lesson, ...]
    words: dict[str, str]
    units: dict[str, str]

    def say(self, name: str, **figures: object) -> str:
        """One of the words, filled in."""
        return self.words[name].format(**figures)

    def label(self, label: str) -> str:
        """A run's label: 'model of T4' translated; a GPU's own name stays."""
        gpu = label.removeprefix("model of ")
        return label if gpu == label else self.say("model", gpu=gpu)


ENGLISH = Language("en", LESSONS, WORDS, UNITS)


def translate(lesson: Lesson, texts: dict[str, str | list[str]]) -> Lesson:
    """The lesson with other texts; conditions, figures and units stay."""
    pairs = {
        name: tuple((key, text) for (key, _), text in zip(getattr(lesson, name), texts[name], strict=True))
        for name in ("explain", "mistakes")
        if getattr(lesson, name)
    }
    choices = dict(choices=tuple(texts["choices"])) if lesson.choices else {}
    return lesson._replace(**{**texts, **choices, **pairs})


@lru_cache
def read_language(name: str) -> Language:
    """One of LANGUAGES."""
    if name == "en":
        return ENGLISH
    texts = tomllib.loads((Path(__file__).parent / f"lessons.{name}.toml").read_text(encoding="utf-8"))
    lessons = tuple(translate(lesson, texts["lessons"][lesson.id]) for lesson in LESSONS)
    return Language(name, lessons, texts["words"], texts["units"])
