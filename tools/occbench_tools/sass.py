# SPDX-License-Identifier: Apache-2.0
"""Machine code of the built executable: its instructions as `cuobjdump -sass` prints them, their loops, and
which kernel is whose. Needs no GPU.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ARITHMETIC = {"FFMA", "FFMA2", "DFMA", "FADD", "FADD2", "DADD", "FMUL", "FMUL2", "DMUL", "HFMA2", "MUFU"}
TENSOR = {"HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "QGMMA", "BGMMA"}
ACCESS = {"LDG", "STG", "LDS", "STS", "LD", "ST", "LDGSTS"}  # counted by width
LOCAL = {"LDL", "STL"}
AUDITED = ARITHMETIC | TENSOR | LOCAL | {"BAR", "UBLKCP"}
INTEGER = {"IMAD", "LOP3", "SHF", "IADD3", "PRMT"}  # counted where declared: addresses use them everywhere
WIDTHS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256}

FUNCTION = re.compile(r"\s*Function : (\S+)")
INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)\s*([^;]*?)\s*;")
ENCODING = re.compile(r"\s*/\* 0x([0-9a-f]{16}) \*/")  # the upper half, on a line of its own


class Failure(Exception):
    """What was read is not as it must be; the message is the sentence that says how."""


class Skip(Exception):
    """What cannot be done here; the message is one line on why."""


@dataclass(frozen=True)
class Instruction:
    """One line of SASS: byte address in its function, guard predicate, opcode with suffixes, operands, and
    the upper half of its encoding, in which the compiler schedules it (0 where the listing has none)."""

    address: int
    guard: str
    opcode: str
    operands: tuple[str, ...]
    encoding: int = 0

    @property
    def base(self) -> str:
        """The opcode without its suffixes."""
        return self.opcode.split(".")[0]

    @property
    def audited_class(self) -> str | None:
        """'FFMA', 'LDG.128', ...; None for what the audit does not count."""
        base, *suffixes = self.opcode.split(".")
        if self.guard == "!PT":
            return None  # never runs: ptxas sets such loads beside LDGSTS
        if base in ACCESS:
            return f"{base}.{next((WIDTHS[s] for s in suffixes if s in WIDTHS), 32)}"
        if base == "HFMA2" and self.operands[1:3] == ("-RZ", "RZ"):
            return None  # how the compiler writes 'move a constant'
        return base if base in AUDITED | INTEGER else None

    @property
    def target(self) -> int:
        """Where a branch or call goes. Raises Failure when a register decides."""
        try:
            return int(self.operands[-1], 16)
        except (IndexError, ValueError):
            raise Failure(f"{self.opcode} at {self.address:#x} is an indirect branch") from None

    @property
    def next_addresses(self) -> list[int]:
        """Addresses (byte) that may run after this instruction; a call is taken to return."""
        base, following = self.base, self.address + 16
        if base in ("BRA", "JMP"):
            conditional = self.guard not in ("", "PT") or len(self.operands) > 1 or ".DIV" in self.opcode
            return [self.target, following] if conditional else [self.target]
        if base in ("BRX", "BRXU", "JMX", "JMXU"):
            return [self.target]
        if base in ("EXIT", "RET", "KILL"):
            return [following] if self.guard not in ("", "PT") else []
        return [self.target, following] if base == "CALL" else [following]


def parse_sass(lines: Iterable[str]) -> dict[str, list[Instruction]]:
    """The functions in the output of `cuobjdump -sass`, by mangled name, in address order.

    A name that stands for two different functions maps to an empty list.
    """
    functions: dict[str, list[Instruction]] = {}
    code: list[Instruction] = []
    name = ""

    def finish() -> None:
        if name:
            functions[name] = code if functions.get(name, code) == code else []

    for line in lines:
        if match := INSTRUCTION.match(line):
            address, guard, opcode, operands = match.groups()
            code.append(
                Instruction(int(address, 16), guard or "", opcode, tuple(re.split(r",\s*", operands)))
            )
        elif code and (match := ENCODING.match(line)):
            code[-1] = replace(code[-1], encoding=int(match[1], 16))
        elif match := FUNCTION.match(line):
            finish()
            name, code = match[1], []
    finish()
    return functions


@dataclass
class Loop:
    """A natural loop: addresses of header and body, and the audited classes outside its inner loops."""

    header: int
    body: set[int]
    counts: Counter[str]

    def __str__(self) -> str:
        return f"{self.header:#06x} ({spell(self.counts)})"


def spell(counts: dict[str, int]) -> str:
    """'FFMA 64, LDG.128 1'"""
    return ", ".join(f"{name} {n}" for name, n in sorted(counts.items())) or "nothing"


def dominators(entry: int, successors: dict[int, list[int]]) -> tuple[list[int], dict[int, int]]:
    """Reverse postorder of what `entry` reaches, and each node's immediate dominator (Cooper et al. 2001)."""
    order: list[int] = []
    seen, stack = {entry}, [(entry, iter(successors[entry]))]
    while stack:
        node, rest = stack[-1]
        if (child := next((s for s in rest if s not in seen), None)) is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(child)
            stack.append((child, iter(successors[child])))
    order.reverse()
    rank = {node: i for i, node in enumerate(order)}
    parents: dict[int, list[int]] = {node: [] for node in order}
    for node in order:
        for child in successors[node]:
            parents[child].append(node)
    idom, changed = {entry: entry}, True
    while changed:
        changed = False
        for node in order[1:]:
            new = -1
            for parent in parents[node]:
                a, b = parent, new
                if a not in idom:
                    continue
                while b >= 0 and a != b:
                    a, b = (idom[a], b) if rank[a] > rank[b] else (a, idom[b])
                new = a
            if idom.get(node) != new:
                idom[node], changed = new, True
    return order, idom


def loops(code: list[Instruction]) -> list[Loop]:
    """The natural loops of one function, by header address.

    Raises Failure on control flow that no natural loop describes.
    """
    at = {i.address: i for i in code}
    successors = {i.address: [a for a in i.next_addresses if a in at] for i in code}
    order, idom = dominators(code[0].address, successors)
    rank = {node: i for i, node in enumerate(order)}
    parents: dict[int, list[int]] = {node: [] for node in order}
    bodies: dict[int, set[int]] = {}
    for node in order:
        for child in successors[node]:
            parents[child].append(node)
    for node in order:
        for header in (s for s in successors[node] if rank[s] <= rank[node]):
            above = node
            while above not in (header, idom[above]):
                above = idom[above]
            if above != header:
                raise Failure(f"the loop through {header:#x} has two entrances")
            body, todo = bodies.setdefault(header, {header}), [node]
            while todo:
                if (inside := todo.pop()) not in body:
                    body.add(inside)
                    todo += parents[inside]
    result = []
    for header, body in sorted(bodies.items()):
        inner = set().union(*(b for h, b in bodies.items() if h != header and h in body))
        classes = (at[a].audited_class for a in body - inner)
        result.append(Loop(header, body, Counter(c for c in classes if c)))
    return result


def tool_folders() -> Iterator[Path]:
    """Folders that may hold cuobjdump and nvdisasm: the toolkit, the PATH, this Python's packages."""
    if nvcc := shutil.which("nvcc"):
        yield Path(nvcc).resolve().parent
    for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if root:
            yield Path(root) / "bin"
    yield from map(Path, os.environ.get("PATH", "").split(os.pathsep))
    for site in map(Path, sys.path):
        yield from sorted(site.glob("nvidia/*/bin"), reverse=True)
        yield site / "triton" / "backends" / "nvidia" / "bin"


def cuobjdump(
    binary: Path, arch: str, options: list[str], parse: Callable[[Iterable[str]], dict[str, Any]]
) -> dict[str, Any]:
    """What `parse` makes of its output. Raises Skip when there is no machine code for `arch` or no tool."""
    complaints = []
    for folder in dict.fromkeys(tool_folders()):
        if not all(os.access(folder / tool, os.X_OK) for tool in ("cuobjdump", "nvdisasm")):
            continue
        path = f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"  # where cuobjdump looks for nvdisasm
        command = [str(folder / "cuobjdump"), *options, "-arch", arch, str(binary)]
        with subprocess.Popen(
            command,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            tail: list[str] = []
            parsed = parse(note_tail(process.stdout, tail))
        if process.returncode == 0:
            if parsed:
                return parsed
            raise Skip(f"{binary} holds no machine code for {arch}")
        if tail and "does not contain device code" in tail[0]:
            raise Skip(f"{binary} holds no machine code")
        complaints.append(f"{command[0]}: {tail[0].strip() if tail else 'failed'}")
    raise Skip(
        "; ".join(complaints) or "no cuobjdump with nvdisasm: pip install 'occbench[audit]' brings them"
    )


def disassemble(binary: Path, arch: str, kernels: Iterable[str] = ()) -> dict[str, list[Instruction]]:
    """The machine code of `binary` for `arch` by kernel, of these alone if any are named, which takes a
    fraction of the time. Raises Skip as cuobjdump() does."""
    named = ["-fun", ",".join(kernels)] if kernels else []
    return cuobjdump(binary, arch, ["-sass", *named], parse_sass)


def note_tail(lines: Iterable[str], tail: list[str]) -> Iterator[str]:
    """Passes lines on, keeping the last that is not empty."""
    for line in lines:
        if line.strip():
            tail[:] = [line]
        yield line


def symbols(binary: Path) -> dict[int, list[str]]:
    """Names of the functions of a position-independent executable by offset from its load base."""
    listing = subprocess.run(
        ["nm", "--defined-only", str(binary)], capture_output=True, text=True, check=True
    )
    names: dict[int, list[str]] = {}
    for line in listing.stdout.splitlines():
        address, kind, name = line.split(maxsplit=2)
        if kind in "tTwW":
            names.setdefault(int(address, 16), []).append(name)
    return names


def kernel_name(offset: int, names: dict[int, list[str]], functions: Mapping[str, Sized], arch: str) -> str:
    """What `functions` calls the kernel whose host stub is at `offset`.

    Raises Failure when it cannot be told.
    """
    stubs = names.get(offset, [])
    if not stubs:
        raise Failure(f"no symbol at its entry {offset:#x}: a stripped executable?")
    # A stub with internal linkage carries an L that the kernel's own name lacks.
    spellings = [s[:i] + s[i + 1 :] for s in stubs for i, letter in enumerate(s) if letter == "L"]
    kernels = dict.fromkeys(name for name in stubs + spellings if name in functions)
    if not kernels:
        raise Failure(f"no machine code for {arch} of {stubs[0]}")
    name, *others = kernels
    if others or not functions[name]:
        raise Failure(f"several kernels are called {name}")
    return name
