# SPDX-License-Identifier: Apache-2.0
"""The files that describe machine code to the model: FOLDER/ARCH/FAMILY.txt.gz, in the form of
describe.py. Plain FAMILY.txt is read as well, and replaced when it is written.

Which of them a build can judge is known by what it has machine code for. CI builds BUILT; a file of any other
architecture notes of which files of those it was written beside, so that it is known to be old when they
change. FOLDER/ARCH.audited is a hash of all that an audit depends on: where it is the same, so is what the
audit finds.
"""

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from occbench_tools.lines import make_folder, whole_file
from occbench_tools.sass import ARITHMETIC, TENSOR, Failure, Skip

BUILT = ("sm_80", "sm_90")  # by the preset 'ci'

HEAD = re.compile(r"# \S+ machine code of CUDA (\S+)$")
WORK = re.compile("|".join((*sorted((ARITHMETIC | TENSOR) - {"HFMA2"}), "LDG", "STG", "UBLKCP")))
BESIDE = re.compile(r"# beside .*: (\w+)$", re.MULTILINE)

Descriptions = dict[str, list[str]]  # by 'family/variant': its line, and those of its instructions


def by_family(descriptions: Descriptions) -> dict[str, Descriptions]:
    """The same, apart."""
    families: dict[str, Descriptions] = {}
    for name, lines in descriptions.items():
        families.setdefault(name.split("/")[0], {})[name] = lines
    return families


def body(descriptions: Iterable[list[str]]) -> list[str]:
    """Lines of a file: variants with the same instructions stand above them together."""
    sharing: dict[tuple[str, ...], list[str]] = {}
    for head, *lines in descriptions:
        sharing.setdefault(tuple(lines), []).append(head)
    return [line for lines, heads in sharing.items() for line in (*heads, *lines)]


def work(lines: list[str]) -> Counter[str]:
    """What an iteration of a described variant does, whoever compiled it: accesses and arithmetic, without
    integers and constants in halves."""
    done: Counter[str] = Counter()
    times = [1 / float(lines[0].split()[-1])]
    for line in lines[1:]:
        if line == "}":
            times.pop()
            continue
        name = line.split()[0]
        count = int(name.split("*")[0]) if "*" in name else 1
        if line.endswith("{"):
            times.append(times[-1] * count)
        elif WORK.match(name := name.split("*")[-1]):
            done[name.removesuffix(".SAME").removesuffix(".NEXT")] += times[-1] * count
    return done


def same_work(lines: list[str], reference: list[str]) -> None:
    """Raises Failure when the two do not do the same: where the compiler set the loops in another order, the
    trips that a variant declares are of the wrong ones."""
    done, wanted = work(lines), work(reference)
    if wrong := [
        f"{n} {done[n]:g}, not {wanted[n]:g}" for n in sorted(done | wanted) if done[n] != wanted[n]
    ]:
        raise Failure(f"its loops stand in another order: {'; '.join(wrong)}")


def files(folder: Path, family: str = "*") -> list[Path]:
    """Descriptions in a folder of one architecture, of one family or of all."""
    return sorted([*folder.glob(f"{family}.txt"), *folder.glob(f"{family}.txt.gz")])


def family_of(file: Path) -> str:
    return file.name.split(".")[0]


def content(file: Path) -> bytes:
    """Raises OSError, EOFError, or zlib.error."""
    data = file.read_bytes()
    return gzip.decompress(data) if file.suffix == ".gz" else data


def beside(folder: Path, family: str) -> str:
    """A hash of what BUILT has of the family."""
    digest = sha256()
    for arch in BUILT:
        for file in files(folder / arch, family):
            lines = content(file).splitlines(keepends=True)
            digest.update(b"".join(line for line in lines if not line.startswith(b"#")))
    return digest.hexdigest()[:16]


def write(folder: Path, arch: str, descriptions: Descriptions, toolkit: str) -> None:
    """A file per family, each whole or not at all, in the order of the file that is there. Raises OSError."""
    make_folder(folder / arch)
    for family, described in by_family(descriptions).items():
        each = described
        older = files(folder / arch, family)
        with suppress(Failure):
            before = [*(name for file in older for name in read(file)[1]), *described]
            each = dict(sorted(described.items(), key=lambda one: before.index(one[0])))
        lines = [
            f"# {arch} machine code of CUDA {toolkit}",
            "# written by occbench audit --describe; occbench_tools/describe.py says how to read it",
            *([] if arch in BUILT else [f"# beside {' and '.join(BUILT)}: {beside(folder, family)}"]),
            *body(each.values()),
        ]
        text = "\n".join(lines) + "\n"
        if [content(file).decode() for file in older] == [text]:
            continue  # packed by another zlib it may be other bytes
        with whole_file(folder / arch / f"{family}.txt.gz") as out:
            out.write(gzip.compress(text.encode(), mtime=0))
        (folder / arch / f"{family}.txt").unlink(missing_ok=True)


def read(file: Path) -> tuple[str, Descriptions]:
    """What write() wrote: toolkit, and descriptions. Raises Failure when it cannot be read."""
    try:
        head, *lines = content(file).decode().splitlines()
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise Failure(f"{file} cannot be read: {error}") from None
    if not (match := HEAD.match(head)):
        raise Failure(f"{file} cannot be read: it does not begin with '# ARCH machine code of CUDA VERSION'")
    descriptions: Descriptions = {}
    sharing: list[str] = []  # the variants that the next instructions are of
    begun = False
    for line in lines:
        if line[:1].islower():
            sharing = [] if begun else sharing
            begun = False
            sharing.append("/".join(line.split()[:2]))
            descriptions[sharing[-1]] = [line]
        elif not line.startswith("#"):
            begun = True
            for name in sharing:
                descriptions[name].append(line)
    return match[1], descriptions


def read_all(folder: Path) -> Descriptions:
    """Those of all families, without those that cannot be read."""
    found: Descriptions = {}
    for file in files(folder):
        with suppress(Failure):
            found |= read(file)[1]
    return found


def compare(
    folder: Path, arch: str, descriptions: Descriptions, toolkit: str, families: list[str] | None = None
) -> None:
    """Raises Failure, with one line, when FOLDER/ARCH does not say the same of the same variants, of these
    families alone; Skip when a file is of another toolkit, whose machine code may well be another."""
    known: Descriptions = {}
    now = dict(descriptions)
    others = {}
    for file in files(folder / arch):
        if families and family_of(file) not in families:
            continue
        known_toolkit, described = read(file)
        if known_toolkit == toolkit:
            known |= described
        else:
            others[file] = known_toolkit
            now = {name: lines for name, lines in now.items() if name.split("/")[0] != family_of(file)}
    wrong = {
        "lacks": [name for name in now if name not in known],
        "is stale on": [name for name in known if known[name] != now.get(name, known[name])],
        "still has": [name for name in known if name not in now],
    }
    complaints = [
        f"{what} {', '.join(names[:3])}" + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        for what, names in wrong.items()
        if names
    ]
    if complaints:
        mend = f"`occbench audit --arch {arch} --describe {folder}` writes it again"
        raise Failure(f"{folder / arch} {'; '.join(complaints)}; {mend}")
    for file, other in others.items():
        raise Skip(f"{file} is of CUDA {other}, this build of CUDA {toolkit}")


def old(folder: Path) -> list[Path]:
    """Files of architectures that CI does not build, and beside which something has changed."""
    return [
        file
        for file in files(folder, "sm_*/*")
        if file.parent.name not in BUILT
        and beside(folder, family_of(file)) not in BESIDE.findall(content(file).decode())
    ]
