# SPDX-License-Identifier: Apache-2.0
"""The lab: each lesson asks, then checks the answer by the run or by calc, and explains the difference.

Answers are saved in a CSV file one by one, so that an interrupted lab continues where it stopped, and a
class's files can be concatenated.
"""

import contextlib
import csv
import io
import math
import re
import shlex
import shutil
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from occbench_tools.caps.steps import MOST as MOST_REGISTERS
from occbench_tools.command import CommandError
from occbench_tools.escape import printable
from occbench_tools.lines import reason, say, width_of, write_whole
from occbench_tools.teach.answers import Figures, warp_slots
from occbench_tools.teach.calculator import Footprint
from occbench_tools.teach.figures import Skipped, StudentGpu, all_hold
from occbench_tools.teach.languages import ENGLISH, Language, read_language
from occbench_tools.teach.lesson import Lesson
from occbench_tools.teach.lessons import LESSONS
from occbench_tools.untrusted_files import read_untrusted

COLUMNS = (
    "student",
    "device",
    "lesson",
    "answer",
    "tries",
    "verdict",
    "expected",
    "low",
    "high",
    "unit",
    "overlooked",
)
RIGHT, WRONG, OPEN, SKIPPED = "right", "wrong", "not answered", "skipped"
# A number, perhaps after 'about' or Chinese 'percent', with an optional unit after it, in any script; blanks
# are single.
NUMBER = re.compile(
    r"(?:about |\u5927?\u7ea6|[~\u2248])? ?(?P<percent>\u767e\u5206\u4e4b)? ?"
    r"(?P<number>[-+]?\d+(?:,\d{3})*(?:\.\d*)?|[-+]?\.\d+) ?(?P<unit>%|[^\W\d_]+(?: of [0-9x ]+)?)?"
)
# The lessons' unit for a unit after an answer, by its first word; '': of no lesson.
UNIT_OF = {"%": "percent", "percent": "percent", "x": "times", "times": "times"}
UNIT_OF |= {f"{unit}{end}": f"{unit}s" for unit in ("warp", "block", "register") for end in ("", "s")}
UNIT_OF |= dict.fromkeys(("kib", "kb", "k"), "KiB")
UNIT_OF |= dict.fromkeys(("b", "byte", "bytes", "mb", "mib", "thread", "threads"), "")
UNIT_OF |= {word: unit for unit, word in read_language("zh").units.items()}
WHOLE = ("warps", "blocks", "registers")


class Checked(NamedTuple):
    """One answered lesson: its verdict, the expected figures, and what was overlooked."""

    lesson: Lesson
    answer: str
    verdict: str
    figures: Figures
    overlooked: str = ""

    @property
    def explanation(self) -> str:
        """The lesson's explanation by the rows; '' where it was skipped."""
        if not self.figures:
            return ""
        return next(
            text for condition, text in self.lesson.explain if all_hold(condition, self.figures)
        ).format(**self.figures)


def number_of(answer: str, language: Language = ENGLISH, unit: str = "choice") -> float:
    """The number of an answer to a question for `unit`. Raises ValueError in one line."""
    # An input method for Chinese types wide digits and points.
    found = NUMBER.fullmatch(" ".join(unicodedata.normalize("NFKC", answer).split()))
    if not found:
        raise ValueError(language.say("not_a_number", answer=printable(answer[:40])))
    given = "%" if found["percent"] else (found["unit"] or "").lower().partition(" ")[0]
    parts = dict(answer=printable(answer[:40]), unit=language.units[unit])
    if unit != "choice" and UNIT_OF.get(given, unit) != unit:
        raise ValueError(language.say("other_unit", **parts))
    value = float(found["number"].replace(",", ""))
    if unit == "percent" and not given and 0 < abs(value) < 1:
        raise ValueError(language.say("fraction", percent=f"{100 * value:.4g}", **parts))
    if unit in WHOLE and value != int(value):
        raise ValueError(language.say("not_whole", **parts))
    return value


def most_of(gpu: StudentGpu, unit: str) -> float:
    """The highest possible number of a unit on this GPU."""
    if unit == "blocks":
        return gpu.calc(Footprint(32, 16), "blocks_per_sm").value
    if unit == "warps":
        return warp_slots(gpu).value
    return dict(percent=100, registers=MOST_REGISTERS).get(unit, math.inf)


def value_of(gpu: StudentGpu, lesson: Lesson, answer: str, language: Language = ENGLISH) -> float:
    """The number of a possible answer. Raises ValueError in one line for any other, and CommandError."""
    value = number_of(answer, language, lesson.unit)
    parts = dict(answer=printable(answer[:40]), unit=language.units[lesson.unit])
    if lesson.choices:
        if value not in range(1, len(lesson.choices) + 1):
            raise ValueError(language.say("no_choice", most=len(lesson.choices), **parts))
    elif value < 0 and not lesson.may_be_negative:
        raise ValueError(language.say("negative", **parts))
    elif value > (most := most_of(gpu, lesson.unit)):
        raise ValueError(language.say("too_many", most=f"{most:.0f}", **parts))
    return value


@contextlib.contextmanager
def skipping() -> Iterator[None]:
    """Raises Skipped also where the run lacks rows or columns that the block needs."""
    try:
        yield
    except (KeyError, ValueError, IndexError, ZeroDivisionError) as error:
        raise Skipped(f"the run cannot answer it: {error}") from error


def figures_at(gpu: StudentGpu, lesson: Lesson) -> Figures:
    """The lesson's figures on this GPU. Raises Skipped."""
    with skipping():
        return lesson.given(gpu) | lesson.figures(gpu)


def question(gpu: StudentGpu, lesson: Lesson) -> str:
    """The lesson's question on this GPU. Raises Skipped."""
    with skipping():
        return lesson.ask.format(**lesson.given(gpu))


def check(gpu: StudentGpu, lesson: Lesson, answer: str) -> Checked:
    """An answer checked by the run. Raises ValueError if it cannot be one, and Skipped."""
    figures = figures_at(gpu, lesson)
    value = value_of(gpu, lesson, answer)
    expected, margin = figures["answer"], lesson.precision / 2
    if expected.low - margin - 1e-9 <= value <= expected.high + margin + 1e-9:
        return Checked(lesson, answer, RIGHT, figures)
    for name, overlooked in lesson.mistakes:
        if math.isclose(figures[name].value, value, abs_tol=margin + 1e-9, rel_tol=0.005):
            return Checked(lesson, answer, WRONG, figures, overlooked)
    return Checked(lesson, answer, WRONG, figures)


def expected_of(checked: Checked, language: Language = ENGLISH) -> str:
    """'8 warps', '75 %', 'blocks of 64'"""
    figure, lesson = checked.figures["answer"], checked.lesson
    if lesson.choices:
        return lesson.choices[int(figure.value) - 1]
    words = str(figure) if lesson.unit == "percent" else f"{figure} {language.units[lesson.unit]}"
    low, high = (figure.spec.format(end) for end in (figure.low, figure.high))
    return words if low == high else language.say("range", words=words, low=low, high=high)


@dataclass
class Answers:
    """A student's file of answers, by lesson; written whole after each."""

    path: Path
    student: str
    device: str = ""  # of the run that the answers are for; '' where the file has none
    by_lesson: dict[str, list[str]] = field(
        default_factory=dict
    )  # the answers of each lesson; the last one counts
    notes: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> "Answers":
        """Reads a file, which need not exist yet. Raises CommandError."""
        answers = cls(path, path.stem)
        try:
            if not path.exists():
                return answers
            text = read_untrusted(path).decode("utf-8-sig")
            rows = csv.DictReader(io.StringIO(text), strict=True)
            missing = {"lesson", "answer"} - set(rows.fieldnames or ())
            if missing:
                raise CommandError(
                    4, f"{path}: no column {min(missing)}; a file of answers has lesson,answer"
                )
            known = {lesson.id for lesson in LESSONS}
            unknown: list[str] = []
            for row in rows:
                lesson = (row["lesson"] or "").strip()
                if lesson in known:
                    student = (row.get("student") or "").strip() or answers.student
                    if answers.by_lesson and student != answers.student:
                        raise CommandError(4, f"{path}: holds answers of {answers.student} and of {student}")
                    answers.keep(lesson, (row["answer"] or "").strip())
                    answers.student = student
                    answers.device = (row.get("device") or "").strip() or answers.device
                elif lesson:
                    unknown.append(f"{path}:{rows.line_num}: there is no lesson '{lesson[:40]}'")
            more = [f"{path}: {len(unknown) - 1:,} more rows of no lesson"] if len(unknown) > 1 else []
            answers.notes = unknown[:1] + more
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise CommandError(4, f"{path}: {getattr(error, 'strerror', None) or error}") from error
        return answers

    def keep(self, lesson: str, answer: str) -> None:
        """Appends an answer, unless it repeats the last one."""
        if answer and answer not in self.by_lesson.get(lesson, [])[-1:]:
            self.by_lesson.setdefault(lesson, []).append(answer)

    def last(self, lesson: Lesson) -> str:
        """The answer that counts; '' without any."""
        return self.by_lesson.get(lesson.id, [""])[-1]

    def add(self, lesson: Lesson, answer: str) -> None:
        """Adds an answer and writes the file. Raises CommandError."""
        self.keep(lesson.id, answer)
        who = dict(student=self.student, device=self.device)
        rows = [who | dict(lesson=name, answer=text) for name, all in self.by_lesson.items() for text in all]
        write_csv(self.path, ("student", "device", "lesson", "answer"), rows)


def write_csv(path: Path, columns: tuple[str, ...], rows: list[dict[str, str]]) -> None:
    """Raises CommandError. A cell that a spreadsheet would take for a formula gets a ' before it."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: escape_formula(printable(value)) for name, value in row.items()})
    try:
        write_whole(path, text.getvalue())
    except OSError as error:
        raise CommandError(4, reason(path, error)) from error


def escape_formula(value: str) -> str:
    return f"'{value}" if value[:1] in ("=", "@", "\t") or re.match(r"[-+](?![\d.])", value) else value


def rows_of(
    answers: Answers, device: str, results: list[Checked], language: Language = ENGLISH
) -> Iterator[dict[str, str]]:
    """A student's rows of a class's table: the answers, and the expected ones."""
    for each in results:
        row = dict(student=answers.student, device=device, lesson=each.lesson.id, answer=each.answer)
        row |= dict(tries=str(len(answers.by_lesson.get(each.lesson.id, []))), verdict=each.verdict)
        row |= dict(unit=each.lesson.unit, overlooked=each.overlooked)
        if each.figures:
            expected = each.figures["answer"]
            ends = dict(low=f"{expected.low:.6g}", high=f"{expected.high:.6g}")
            row |= dict(expected=expected_of(each, language), **ends)
        yield row


def is_typed() -> bool:
    """Whether standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def prompt_answer(gpu: StudentGpu, lesson: Lesson, answer: str, language: Language) -> str | None:
    """The answer, else one from the prompt, until it is possible; None for an empty one or at the end."""
    while True:
        if answer:
            try:
                value_of(gpu, lesson, answer, language)
                return answer
            except ValueError as error:
                say(error)
        try:
            answer = input(f"{language.units[lesson.unit]}> " if is_typed() else "").strip()
        except (EOFError, RuntimeError):  # at its end, or closed
            return None
        except UnicodeDecodeError as error:
            raise CommandError(4, f"standard input: not UTF-8: {error.reason}") from None
        if not answer:
            return None


def verdict_of(verdict: str, language: Language) -> str:
    """A verdict in words."""
    return language.words[verdict.replace(" ", "_")]


def earlier_answer(gpu: StudentGpu, lesson: Lesson, answers: Answers) -> Checked | None:
    """The earlier answer, checked; None without one, or where it cannot be checked."""
    try:
        return check(gpu, lesson, answers.last(lesson))
    except (ValueError, Skipped):
        return None


def ask_and_check(
    gpu: StudentGpu, lesson: Lesson, answers: Answers, again: bool, language: Language
) -> Checked:
    """One lesson: introduction, question, answer, verdict, explanation. Raises CommandError."""
    earlier = answers.last(lesson)
    try:
        figures_at(gpu, lesson)  # raises before a question that cannot be checked
        say(lesson.claim, question(gpu, lesson))
        answer = prompt_answer(gpu, lesson, "" if again else earlier, language) or ""
        if again and not answer and earlier_answer(gpu, lesson, answers):
            answer = earlier
        if not answer:
            say(verdict_of(OPEN, language))
            return Checked(lesson, earlier, OPEN, {})
        say(language.say("answer", answer=answer))
        if answer != earlier:
            answers.add(lesson, answer)
        done = check(gpu, lesson, answer)
    except Skipped as reason:
        say(language.say("verdict", verdict=verdict_of(SKIPPED, language), words=reason))
        return Checked(lesson, earlier, SKIPPED, {}, str(reason))
    verdict = verdict_of(done.verdict, language)
    say(language.say("verdict", verdict=verdict, words=expected_of(done, language)))
    say(*filter(None, (done.overlooked, done.explanation)))
    for line in command_lines(language.say("see", command=""), attempt(gpu, lesson, done.figures)):
        print(printable(line))  # to be pasted: broken nowhere else
    return done


def work_through(
    gpu: StudentGpu,
    answers: Answers,
    only: list[str] | None = None,
    language: Language = ENGLISH,
    again: bool = False,
) -> list[Checked]:
    """The lessons in order, or only some; `again`: also those that were answered. Raises CommandError."""
    results = []
    before = set(answers.by_lesson)
    is_brief = is_typed() and any(lesson.id not in before for lesson in LESSONS) and not only and not again
    for place, lesson in enumerate(language.lessons, 1):
        if only and lesson.id not in only:
            continue
        if is_brief and (known := earlier_answer(gpu, lesson, answers)):
            results.append(known)
            parts = dict(answer=known.answer, verdict=verdict_of(known.verdict, language))
            say(language.say("before", place=f"{place}/{len(LESSONS)}", title=lesson.title, **parts))
            continue
        say("", f"{place}/{len(LESSONS)}  {lesson.title} ({lesson.source}, `{lesson.id}`)")
        results.append(ask_and_check(gpu, lesson, answers, again, language))
    if is_typed() and not again and any(each.lesson.id in before for each in results):
        say("", language.say("again"))
    return results


def attempt(gpu: StudentGpu, lesson: Lesson, figures: Figures) -> list[str]:
    """The words of the command that shows the lesson's answer."""
    folder = shlex.quote(str(gpu.run.folder)) if gpu.run else "DIR"
    words = lesson.attempt.format(device=gpu.device, **figures).split()
    return [folder if word == "DIR" else word for word in words]


def command_lines(prefix: str, words: list[str]) -> list[str]:
    """A command in lines of at most 80 columns, fewer on a narrower terminal, that a shell joins again."""
    columns = min(80, shutil.get_terminal_size().columns)
    lines = [f"{prefix}{words[0]}"]
    for word in words[1:]:
        if width_of(f"{lines[-1]} {word} \\") > columns:
            lines[-1] += " \\"
            lines.append(f"  {word}")
        else:
            lines[-1] += f" {word}"
    return lines


def summary(results: list[Checked], language: Language = ENGLISH) -> str:
    """'9 of 15 right, 4 wrong, 1 not answered, 1 skipped'"""
    count = {
        verdict: sum(each.verdict == verdict for each in results) for verdict in (RIGHT, WRONG, OPEN, SKIPPED)
    }
    rest = "".join(
        language.say("count", number=number, verdict=verdict_of(verdict, language))
        for verdict, number in count.items()
        if number and verdict != RIGHT
    )
    return language.say("counts", right=count[RIGHT], all=len(results), rest=rest)
