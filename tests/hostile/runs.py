# SPDX-License-Identifier: Apache-2.0
"""Runs of a model that are killed, meet each other, or have a full disk, closed descriptors, an odd world."""

from __future__ import annotations

import contextlib
import csv
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import folders
from verdict import REFUSED, SOON_S, Done, Fault, bounded, call, faults, forked

LONG = ("--experiment", "waves,barriers,pointer_chase,registers")  # a second or two
BRIEF = ("--experiment", "waves")
IN_USE = b"another run is writing there; wait for its end, or name another folder"
TRIES = 9  # to stop a run of a second or two before its end
LOCALE = "tr_TR.UTF-8"  # where i is no lower case of I, and a comma is the decimal point


def run_words(occbench: Path, *words: str) -> list[str | Path]:
    return [occbench, "run", "--device", "model:h200", "--preset", "quick", *words]


def rows(folder: Path) -> list[list[str]]:
    """The whole rows of cases.csv, none where there is no such file."""
    try:
        text = (folder / "cases.csv").read_text()
    except FileNotFoundError:
        return []
    return list(csv.reader(text[: text.rfind("\n") + 1].splitlines()))[1:]


def prepare(place: Path, occbench: Path) -> None:
    for name, words in (("long", LONG), ("brief", BRIEF)):
        assert call([*run_words(occbench, *words), "--output", place / name]).code == 0
    (place / "locales").mkdir()
    made = place / "locales" / LOCALE
    if not shutil.which("localedef") or call(["localedef", "-i", "tr_TR", "-f", "UTF-8", made]).code != 0:
        shutil.rmtree(place / "locales")
        print(f"skipped: no locale {LOCALE} (localedef and its sources are needed)", flush=True)


def whole(folder: Path, like: Path, label: str) -> list[Fault]:
    """Whether a folder's rows are those of an undisturbed run, each once, and `validate` agrees."""
    have, want = sorted(rows(folder)), sorted(rows(like))
    if have != want:
        return [Fault("lost rows", f"{label}: {len(have)} rows of {len(want)}, or others")]
    left = sorted(p.name for p in folder.iterdir())
    if [name for name in left if name != "findings.json"] != sorted(folders.FILES):
        return [Fault("lost rows", f"{label}: leaves {left}")]
    return faults(forked(folders.tools()["validate"], [str(folder)], folder), label, codes=frozenset({0}))


def resumed(occbench: Path, folder: Path, like: Path, label: str) -> list[Fault]:
    done = call([occbench, "run", "--resume", folder])
    return faults(done, f"{label}, resumed", codes=frozenset({0})) or whole(folder, like, label)


def kill(seed: int, cwd: Path, place: Path, occbench: Path) -> list[Fault]:
    """One run that is killed up to three times at random moments, and goes on each time."""
    dice = random.Random(seed)
    folder = cwd / "run"
    words = run_words(occbench, *LONG, "--output", str(folder))
    label, kept = "", rows(folder)
    for _ in range(dice.randrange(1, 4)):
        number = dice.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        with subprocess.Popen(words, stdout=-3, stderr=-1, preexec_fn=bounded) as run:
            time.sleep(dice.choice((0.02, 0.3, 2.5)) * dice.random())
            run.send_signal(number)
            try:
                err = run.communicate(timeout=SOON_S)[1]
            except subprocess.TimeoutExpired:
                run.kill()
                return [Fault("hang", f"{number.name} did not end the run")]
        label += f"{number.name} "
        had, kept = kept, rows(folder)
        # Before its own first row a run may not have begun to wait for signals.
        may = {0, -number} if number == signal.SIGKILL or len(kept) == len(had) else {0, 128 + number}
        if run.returncode not in may | ({128 + number} - {128 + signal.SIGKILL}) or b"Traceback" in err:
            return [Fault("wrong exit code", f"{label}: {run.returncode}: {err[-500:]!r}")]
        if not (folder / "env.json").exists():  # it had not begun, and leaves nothing
            left = sorted(p.name for p in folder.iterdir()) if folder.exists() else []
            if number == signal.SIGKILL and left == [".lock"]:  # nobody could take it away
                left = []
            if left:
                return [Fault("lost rows", f"{label}: leaves {left}, and no env.json")]
            shutil.rmtree(folder, ignore_errors=True)
            continue
        words = [occbench, "run", "--resume", folder]
        if missing := [row for row in kept if row not in rows(place / "long")]:
            return [Fault("lost rows", f"{label}: a row of its own: {missing[0]}")]
    if not folder.exists():
        return []
    before = rows(folder)
    found = resumed(occbench, folder, place / "long", label)
    if rows(folder)[: len(before)] != before:
        found.append(Fault("lost rows", f"{label}: rows that stood there moved or went"))
    return found


def part_of(run: Path, folder: Path, count: int) -> None:
    """A copy of a run that ended behind its first `count` rows."""
    shutil.copytree(run, folder)
    lines = (folder / "cases.csv").read_text().splitlines(keepends=True)
    (folder / "cases.csv").write_text("".join(lines[: 1 + count]))


def ended(run: subprocess.Popen[bytes]) -> Done:
    try:
        both = run.communicate(timeout=SOON_S)
    except subprocess.TimeoutExpired:
        run.kill()
        return Done(None, *run.communicate())
    return Done(run.returncode, *both)


def stopped(words: list[str | Path], folder: Path, count: int) -> subprocess.Popen[bytes] | None:
    """Starts a run and stops it (SIGSTOP) once its folder has `count` rows; None where it ended before."""
    run = subprocess.Popen(words, stdout=-1, stderr=-1, preexec_fn=bounded)
    until = time.monotonic() + SOON_S
    while len(rows(folder)) < count and run.poll() is None and time.monotonic() < until:
        time.sleep(0.001)
    if run.poll() is None:
        run.send_signal(signal.SIGSTOP)
        with contextlib.suppress(ChildProcessError):  # it had ended, and poll() knows how
            os.waitid(os.P_PID, run.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    if run.poll() is None:
        return run
    run.communicate()
    return None


def meeting(seed: int, cwd: Path, place: Path, occbench: Path) -> list[Fault]:
    """Two that come while another run is at work in their folder, which is stopped meanwhile."""
    dice = random.Random(seed)
    folder = cwd / "X"
    total = len(rows(place / "long"))
    has = dice.choice((0, 0, dice.randrange(total // 2)))
    words = run_words(occbench, *LONG, "--output", folder)
    fresh, resume = words, [occbench, "run", "--resume", folder]
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if has:
            part_of(place / "long", folder, has)
            words = resume
        count = dice.randrange(has + 1, total * 3 // 4)
        if first := stopped(words, folder, count):
            break
    else:
        return [Fault("hang", f"of the hunt itself: {TRIES} runs ended before they could be stopped")]
    label = f"beside a run with {len(rows(folder))} rows, resumed with {has}"
    before = folders.state(folder)
    others = [subprocess.Popen(other, stdout=-1, stderr=-1, preexec_fn=bounded) for other in (fresh, resume)]
    found = []
    for other, what in zip(others, ("run", "run --resume"), strict=True):
        done = ended(other)
        found += faults(done, f"{what} {label}", codes=REFUSED, one_line=True)
        if done.code in REFUSED and IN_USE not in done.err:
            found.append(Fault("words", f"{what} {label}: {done.err!r}"))
    if folders.state(folder) != before:
        found.append(Fault("lost rows", f"{label}: those who were refused changed the folder"))
    if kill := dice.random() < 0.3:  # its lock ends with it
        first.kill()
    first.send_signal(signal.SIGCONT)
    done = ended(first)
    if kill:
        return found + resumed(occbench, folder, place / "long", f"{label}, which was killed")
    found += faults(done, f"the first, {label}", codes=frozenset({0}))
    return found + whole(folder, place / "long", label)


def race(seed: int, cwd: Path, place: Path, occbench: Path) -> list[Fault]:
    """Two runs into one folder, two that resume one, a run and a reader."""
    if seed % 2:
        return meeting(seed, cwd, place, occbench)
    dice = random.Random(seed)
    folder = cwd / "X"
    words = [*run_words(occbench, *BRIEF), "--output", "X"]
    if resume := dice.random() < 0.5:
        part_of(place / "brief", folder, dice.randrange(len(rows(place / "brief")) + 1))
        words = [occbench, "run", "--resume", "X"]
    many = dice.choice((2, 2, 3))
    started = []
    for _ in range(many):
        started.append(subprocess.Popen(words, cwd=cwd, stdout=-1, stderr=-1, preexec_fn=bounded))
        time.sleep(dice.choice((0, 0, 0.05)) * dice.random())
    found = []
    if dice.random() < 0.2:
        beside = forked(folders.tools()["validate"], ["X"], cwd)  # of a folder that is written to
        found += faults(beside, "validate beside a run", codes=frozenset({0, 1, 4}))
    ends = [ended(run) for run in started]
    for done in ends:
        found += faults(done, f"race of {many}", codes=frozenset({0, 4}))
    if not any(done.code == 0 for done in ends):
        found.append(Fault("wrong exit code", f"none of {many} ran: {ends}"))
    if not resume and sum(done.code == 0 for done in ends) != 1:
        found.append(Fault("wrong exit code", f"{many} runs into one new folder, more than one ran"))
    return found or whole(folder, place / "brief", f"race of {many}, resume {resume}")


def misery(seed: int, cwd: Path, place: Path, occbench: Path) -> list[Fault]:
    """A run under a full disk, closed descriptors or an odd environment."""
    dice = random.Random(seed)
    folder = cwd / "X"
    words = [*run_words(occbench, *BRIEF), "--output", str(folder)]
    kind = dice.choice(("disk", "disk", "files", "closed", "environment"))
    if kind == "disk" and os.geteuid() == 0 and mounted(cwd / "disk", dice.randrange(1, 60)):
        try:
            words[-1] = str(cwd / "disk/X")
            done = call(words)
            found = faults(done, "full disk", codes=frozenset({0, 4}), one_line=True)
            call(["mount", "-o", "remount,size=10m", cwd / "disk"])
            if (cwd / "disk/X/env.json").exists():
                return found + resumed(occbench, cwd / "disk/X", place / "brief", "full disk")
            return found + faults(call(words), "after a full disk", codes=frozenset({0}))
        finally:
            call(["umount", cwd / "disk"])
    if kind in ("disk", "files"):
        limit = dice.randrange(30_000)

        def small() -> None:
            bounded()
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

        done = call(words, preexec_fn=small)  # with SIGXFSZ as a shell leaves it
        found = faults(done, f"files of {limit} bytes", codes=frozenset({0, 4}), one_line=True)
        if (folder / "env.json").exists():
            return found + resumed(occbench, folder, place / "brief", f"files of {limit} bytes")
        return found
    if kind == "closed":
        closed = dice.sample((0, 1, 2), dice.randrange(1, 4))

        def shut() -> None:
            bounded()
            for fd in closed:
                os.close(fd)

        done = call(words, preexec_fn=shut)
        right = frozenset({4 if 1 in closed else 0})
        found = [] if done.code in right else [Fault("wrong exit code", f"closed {closed}: {done}")]
        return found + whole(folder, place / "brief", f"closed {closed}")
    environment = dict(os.environ)
    for name in dice.sample(("HOME", "LANG", "LC_ALL", "TMPDIR", "PATH", "TERM", "COLUMNS", "TZ", "USER"), 3):
        odd = dice.choice((None, "", "/nowhere", "\x1b[31m", LOCALE, "x" * 5000, "-1", "C"))
        environment = environment | {name: odd} if odd is not None else {
            k: v for k, v in environment.items() if k != name
        }  # fmt: skip
    if (place / "locales").exists():
        environment["LOCPATH"] = str(place / "locales")
    mask = dice.choice((0o022, 0o077, 0o000, 0o777))
    done = call(words, env=environment, umask=mask)
    found = faults(done, f"environment, umask {mask:o}", codes=frozenset({0}))
    return found or whole(folder, place / "brief", "environment")


def mounted(disk: Path, kib: int) -> bool:
    """Whether a disk of so many KiB could be mounted."""
    disk.mkdir()
    pages = max(1, kib // 4)  # tmpfs counts pages
    return call(["mount", "-t", "tmpfs", "-o", f"size={pages * 4}k", "tmpfs", disk]).code == 0
