# SPDX-License-Identifier: Apache-2.0
"""Fleets with a card that is hidden, folders of attach, binaries and traces, and programs under attach."""

from __future__ import annotations

import csv
import functools
import gzip
import io
import json
import os
import random
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

import folders
from verdict import REFUSED, SOON_S, Done, Fault, as_a_user, bounded, call, faults, forked, left_out

ROOT = folders.ROOT
SAMPLES = ROOT / "tests/samples"
CARDS = 5
SLOWER = 1.05  # of a planted card, in seconds
ENDS = ("return", "exit42", "_exit", "fork", "exec", "threads", "capture", "close")  # of fake_driver's


def fake_driver(occbench: Path) -> Path:
    """Where the build of the program has it; see tests/attached.py."""
    beside = occbench.parents[1] / "tests/fake_driver"
    return Path(os.environ.get("FAKE_DRIVER", beside)).resolve()


def environment(occbench: Path) -> dict[str, str]:
    return {**os.environ, "LD_LIBRARY_PATH": str(fake_driver(occbench) / "lib-13000")}


def prepare(place: Path, occbench: Path) -> None:
    """A fleet of cards alike, a folder of attach, and binaries."""
    for n in range(CARDS):
        folder = place / f"fleet/node{n}/GPU-{n}"
        shutil.copytree(place / "h200", folder)
        env = json.loads((folder / "env.json").read_text())
        env["gpu"]["uuid"] = f"GPU-{n}"
        (folder / "env.json").write_text(json.dumps(env))
    if (program := fake_driver(occbench) / "attach_linked").exists():
        words = [occbench, "attach", "--output", place / "attached", "--", program, "linked", "half", "200"]
        done = call(words, env=environment(occbench))
        assert done.code == 0, done.err
    else:
        print(f"skipped: programs and attach (no {program})", flush=True)
    (place / "binaries").mkdir()
    for name in ("inspect.cubin", "inspect_capped.cubin", "pytorch_trace.json", "ptxas.txt"):
        shutil.copy(SAMPLES / name, place / "binaries")
    (place / "binaries/some.a").write_bytes(archive(3))
    code = place / "binaries/inspect.cubin"
    with zipfile.ZipFile(place / "binaries/some.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.write(code, "some/code.cubin")
        wheel.write(place / "binaries/some.a", "some/lib.a")
    with tarfile.open(place / "binaries/some.tar", "w") as tar:
        tar.add(code, "code.cubin")
        tar.add(place / "binaries/some.whl", "some.whl")
    trace = (SAMPLES / "pytorch_trace.json").read_bytes()
    (place / "binaries/trace.json.gz").write_bytes(gzip.compress(trace))


def archive(members: int) -> bytes:
    """A static library of so many cubins."""
    content = (SAMPLES / "inspect.cubin").read_bytes()
    content += b"\n" * (len(content) % 2)
    heads = (b"%-16s%-12d%-6d%-6d%-8o%-10d`\n" % (b"%d.o/" % n, 0, 0, 0, 0o644, len(content))
             for n in range(members))  # fmt: skip
    return b"!<arch>\n" + b"".join(head + content for head in heads)


def slowed(folder: Path) -> None:
    """The card takes longer in all that it does."""
    with (folder / "cases.csv").open(newline="") as text:
        header, *rows = list(csv.reader(text))
    for name in ("time_median_s", "time_ci95_low_s", "time_ci95_high_s"):
        place = header.index(name)
        for row in rows:
            row[place] = repr(float(row[place]) * SLOWER) if row[place] else ""
    with (folder / "cases.csv").open("w", newline="") as text:
        csv.writer(text, lineterminator="\n").writerows([header, *rows])


def hide(node: Path, how: str) -> None:
    """Makes a node one that fleet check cannot read."""
    card = next(node.iterdir())
    if how == "mode":
        card.chmod(0)
    elif how == "node's mode":
        node.chmod(0)
    elif how == "rows' mode":
        (card / "cases.csv").chmod(0)
    elif how == "no files":
        for file in card.iterdir():
            file.unlink()
    elif how == "link":
        node.symlink_to(node.rename(node.parent.parent / "elsewhere"))
    else:
        shutil.rmtree(node)
        node.symlink_to("/nowhere")


HOWS = ("mode", "node's mode", "rows' mode", "no files", "link", "link to nothing")


def fleet(seed: int, cwd: Path, place: Path, occbench: Path) -> list[Fault]:
    """A fleet of which a card may be odd, and one is hidden or holds what it should not."""
    dice = random.Random(seed)
    shutil.copytree(place / "fleet", cwd / "fleet")
    nodes = sorted((cwd / "fleet").iterdir())
    odd = dice.randrange(CARDS) if dice.random() < 0.5 else None
    if odd is not None:
        slowed(nodes[odd] / f"GPU-{odd}")
    check = folders.tools()["fleet"]

    def judged(*words: str) -> Done:
        return forked(check, ["check", "fleet", "--width", "400", *words], cwd, as_a_user)

    found = faults(judged(), "fleet as it was made", frozenset({int(odd is not None)}))
    spoilt = dice.randrange(CARDS)
    is_odd = int(odd not in (None, spoilt))
    if seed % 2:  # so that the short form has each
        how = dice.choice(HOWS)
        hide(nodes[spoilt], how)
        label = f"fleet, {how} of {nodes[spoilt].name}"
        done = judged()
        found += faults(done, label, REFUSED)
        if nodes[spoilt].name.encode() not in done.out:
            found.append(Fault("words", f"{label}: not named"))
        found += faults(judged("--ignore-unreadable"), f"{label}, ignored", frozenset({is_odd}))
        for folder in (nodes[spoilt], nodes[spoilt] / f"GPU-{spoilt}"):
            if folder.exists():
                folder.chmod(0o755)
        return found
    card = nodes[spoilt] / f"GPU-{spoilt}"
    if seed % 4 == 0:
        env = json.loads((card / "env.json").read_text())
        env["experiments"] = dice.choice((["waves", 1], [None, "waves"], [{}, []]))
        (card / "env.json").write_text(json.dumps(env))
    else:
        folders.mutate(card, dice)
    bad = not (folders.is_json(card / "env.json") and folders.is_table(card / "cases.csv"))
    done = judged("--format", dice.choice(("text", "json", "junit", "prometheus")))
    found += faults(done, "fleet with a hostile card", frozenset({1, 4} if bad or is_odd else {0, 1, 4}))
    others = (b"%d cards judged" % (CARDS - 1), b"%d cards judged" % CARDS)
    text = judged()
    if not any(words in text.out for words in others) and text.code is not None:
        found.append(Fault("lost rows", f"fleet: the other cards are not judged: {text.out[:300]!r}"))
    return found


def programs(seed: int, cwd: Path, place: Path, occbench: Path) -> list[Fault]:
    """A hostile folder of attach before all that read such folders."""
    if not (place / "attached").exists():
        return []
    dice = random.Random(seed)
    for name in ("hostile", "good"):
        shutil.copytree(place / "attached", cwd / name)
    folders.mutate(cwd / "hostile", dice)
    whole = folders.is_json(cwd / "hostile/env.json") and folders.is_table(cwd / "hostile/kernels.csv")
    whole = whole and folders.is_table(cwd / "hostile/arms.csv")
    launches = whole and folders.is_table(cwd / "hostile/launches.csv.gz")
    (cwd / "plain.csv").write_text("kernel,time_s,dram_percent\nhalf,1e-3,50\n")
    found = []
    for word, words, codes, needs in (
        ("validate", ["hostile"], {0, 1, 4}, True), ("explain", ["hostile"], {0, 4}, whole),
        ("report", ["hostile", "--output", "page.html"], {0, 4}, whole),
        ("compare", ["hostile", "good"], {0, 1, 2, 4}, launches),
        ("compare", ["good", "hostile", "--format", "json"], {0, 1, 2, 4}, launches),
        ("inspect-price", ["hostile", str(place / "binaries/inspect.cubin")], {0, 4, 5}, whole),
    ):  # fmt: skip
        done = forked(folders.tools()[word], words, cwd)
        right = frozenset(codes if needs else {2, 4})  # 2: env.json, as it is, is not of attach
        right |= left_out(word, done)
        found += faults(done, f"{word} {' '.join(words)} (of attach)", right)
    return found


def is_cut(file: Path, whole: bytes) -> bool:
    """Whether it holds the first bytes of what it was, and not all."""
    text = file.read_bytes()
    return len(text) < len(whole) and whole.startswith(text)


def binaries(seed: int, cwd: Path, place: Path, occbench: Path) -> list[Fault]:
    """Binaries, wheels and traces that were changed or cut, and folders of them that cannot be read whole."""
    dice = random.Random(seed)
    shutil.copytree(place / "binaries", cwd / "in")
    file = dice.choice(sorted((cwd / "in").iterdir()))
    whole = file.read_bytes()
    while file.read_bytes() == whole:
        file.write_bytes(folders.mutated_bytes(whole, dice))
    how = dice.choice(("table", "csv", "json", "markdown", "sarif"))
    is_text = file.suffix in (".json", ".txt", ".gz")
    found = []
    if is_text:
        codes = REFUSED if is_cut(file, whole) and file.suffix == ".gz" else frozenset({0, 1, 2, 4})
        words = [file, "--device", "h200", "--format", how if how in ("csv", "json") else "table"]
        done = call([occbench, "calc", *words], cwd=cwd)
        found += faults(done, f"calc {file.name}", codes)
    else:
        done = call([occbench, "inspect", file, "--format", how], cwd=cwd)
        is_refused = file.suffix in (".a", ".tar", ".whl") and is_cut(file, whole)
        is_refused &= whole[file.stat().st_size :].strip(b"\0") != b""  # a tar may end with many zeros
        codes = REFUSED if is_refused else frozenset({0, 4})
        found += faults(done, f"inspect {file.name}", codes)
        words = ["--diff", place / "binaries/inspect.cubin", file, "--fail-on", "spill_bytes>0"]
        found += faults(call([occbench, "inspect", *words], cwd=cwd), f"inspect --diff {file.name}",
                        frozenset({0, 1, 4}))  # fmt: skip
        words = [str(file), "--kernel", "x", "--warps", "1"]
        done = forked(folders.tools()["machine-code"], words, cwd)
        found += faults(done, f"machine-code {file.name}", frozenset({1, 2, 4, 5}))
        if file.suffix == ".cubin" and seed % 2:
            row = json.dumps([{"kernel": "k", "architecture": "sm_90", "registers_per_thread": 32,
                               "occupancy": 0.5, "gains_with": None, "gains_occupancy": None}])  # fmt: skip
            done = forked(folders.tools()["inspect-lines"], [str(file), "_Z5plainPf", row], cwd)
            found += faults(done, f"inspect-lines {file.name}", frozenset({0, 4, 5}))
    (cwd / "in/below").mkdir()
    shutil.copy(place / "binaries/inspect.cubin", cwd / "in/below")
    (cwd / "in/below").chmod(0)
    done = call([occbench, "inspect", "in", "--fail-on", "spill_bytes<0"], cwd=cwd, preexec_fn=as_a_user)
    (cwd / "in/below").chmod(0o755)
    found += faults(done, "inspect of a folder that cannot be read whole", REFUSED)
    found += cut_log(dice, cwd, occbench)
    return found + shrinking(dice, cwd, place, occbench) + whatif(dice, cwd, occbench)


def cut_log(dice: random.Random, cwd: Path, occbench: Path) -> list[Fault]:
    """What `ptxas -v` says, cut anywhere: each kernel that was begun is answered, or the log is refused."""
    whole = (SAMPLES / "ptxas.txt").read_text()
    text = whole[: dice.randrange(1, len(whole))]
    (cwd / "cut.txt").write_text(text)
    begun, ended = text.count("Compiling entry function "), len(re.findall(r"Used \d+ registers", text))
    done = call([occbench, "calc", "cut.txt", "--block-size", "256", "--format", "csv"], cwd=cwd)
    # A line of registers that is cut between two of its items looks whole.
    may_look_whole = "Used " in text[text.rfind("\n") :]
    last = text[text.rfind("\n") + 1 :]
    is_short = (
        begun > ended or not begun or (last and "ptxas info    : Compiling entry function '".startswith(last))
    )
    right = REFUSED if is_short else REFUSED | {0} if may_look_whole else frozenset({0})
    label = f"calc of a log that ends with {text[-40:]!r}"
    found = faults(done, label, right, one_line=True)
    if done.code == 0 and (rows := len(list(csv.DictReader(io.StringIO(done.out.decode()))))) != begun:
        found.append(Fault("lost rows", f"{label}: {rows} rows of {begun}"))
    return found


def shrinking(dice: random.Random, cwd: Path, place: Path, occbench: Path) -> list[Fault]:
    """A library that is cut while it is read, which takes two seconds."""
    file = cwd / "large.a"
    file.write_bytes(archive(2000))
    with subprocess.Popen([occbench, "inspect", file], stdout=-3, stderr=-1, preexec_fn=bounded) as run:
        time.sleep(0.1 + dice.random())
        os.truncate(file, 4096)
        try:
            err = run.communicate(timeout=SOON_S)[1]
        except subprocess.TimeoutExpired:
            run.kill()
            return [Fault("hang", "inspect of a file that shrinks")]
    return faults(Done(run.returncode, b"", err), "inspect of a file that shrinks", frozenset({0, 4}))


def whatif(dice: random.Random, cwd: Path, occbench: Path) -> list[Fault]:
    """whatif on a report or machine code that was changed."""
    for name in ("intensity_ncu.csv", "intensity_code.txt"):
        shutil.copy(SAMPLES / name, cwd)
    file = cwd / dice.choice(("intensity_ncu.csv", "intensity_code.txt"))
    words = [occbench, "whatif", "intensity_ncu.csv", "--code", "intensity_code.txt", "--block-size", "256"]
    found = faults(call(words, cwd=cwd), "whatif as it was", frozenset({0, 1}))
    whole = file.read_bytes()
    while file.read_bytes() == whole:
        file.write_bytes(folders.mutated_bytes(whole, dice))
    return found + faults(call(words, cwd=cwd), f"whatif, {file.name}", frozenset({0, 1, 2, 4}))


@functools.cache
def plain_output(program: Path, kernel: str, end: str, variables: tuple[tuple[str, str], ...]) -> Done:
    with tempfile.TemporaryDirectory() as cwd:  # one of the ends writes a file
        return call([program, "linked", kernel, "40", end], env=dict(variables), cwd=Path(cwd))


def attach(seed: int, cwd: Path, place: Path, occbench: Path) -> list[Fault]:
    """A program of the fake driver, which ends as it would alone, whatever becomes of attach's folder."""
    program = fake_driver(occbench) / "attach_linked"
    if not program.exists():
        return []
    dice = random.Random(seed)
    end = dice.choice(ENDS)
    alone = plain_output(program, "half", end, tuple(environment(occbench).items()))
    output = dice.choice(("out", "out", "file/out", "x" * 300, "there"))
    (cwd / "file").write_text("")
    (cwd / "there").mkdir()
    (cwd / "there/note").write_text("mine")
    words = [occbench, "attach", "--output", output, *dice.choice(([], ["--observe"], ["--all"]))]
    done = call([*words, "--", program, "linked", "half", "40", end], env=environment(occbench), cwd=cwd)
    label = f"attach --output {output[:20]} of {end}"
    if (cwd / "there/note").read_text() != "mine":
        return [Fault("lost rows", f"{label}: wrote over what lay there")]
    if output not in ("out", "there"):  # refused before the program begins
        return faults(done, label, frozenset({125}))
    found = faults(done, label, frozenset({alone.code if alone.code is not None else 0}))
    if done.out != alone.out:
        both = f"{done.out[-200:]!r}, alone {alone.out[-200:]!r}"
        found.append(Fault("lost rows", f"{label}: another stdout: {both}"))
    if not found and not (cwd / output / "kernels.csv").exists():
        found.append(Fault("lost rows", f"{label}: no kernels.csv"))
    return found + handled(dice.choice(("_exit", "exit", "nodefer", "reset")), cwd, occbench)


def handled(how: str, cwd: Path, occbench: Path) -> list[Fault]:
    """A program whose signal handlers end it while it launches: each of its processes ends."""
    program = fake_driver(occbench) / "attach_handlers"
    words = [occbench, "attach", "--output", "handled", "--", program, how, "12"]
    done = call(words, env=environment(occbench), cwd=cwd)
    found = faults(done, f"attach of handlers that end by {how}", frozenset({0}))
    if not found and done.out.strip() != b"well 12, hung 0":
        found.append(Fault("hang", f"attach of handlers that end by {how}: {done.out!r}"))
    return found
