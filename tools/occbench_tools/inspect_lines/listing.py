# SPDX-License-Identifier: Apache-2.0
"""nvdisasm's listing of one kernel: instructions, the registers that are live at each, and source lines.

nvdisasm prints live registers (-plr) or lines (-gi), never both: it runs twice, and offsets join the two.
For a cubin of an older ptxas nvdisasm 13 prints no live registers, only because of its header: it then reads
a copy with the header of CUDA 13.
"""

import contextlib
import os
import re
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from occbench_tools import sass
from occbench_tools.cubin import noted_spills, sections_of
from occbench_tools.inspect_lines.calls import with_calls
from occbench_tools.sass import Failure, Instruction, Skip

LONGEST = 200_000  # instructions of a kernel
SECTION = re.compile(r"//-+ (\.text\.\S+) +-+")
LABEL = re.compile(r"([.$\w]+):")
TO_LABEL = re.compile(r"`\(([.$\w]+)\)")
SOURCE = re.compile(r'\s*//## File "(.*?)", line (\d+)(?: inlined at "(.*?)", line (\d+))?')
COUNT = re.compile(r"\s*(\d+)? (.*)")
WRITES, READS_AND_WRITES = "^", "x"
LIVE = ["-plr", "-lrm", "narrow"]  # nvdisasm: live registers, one character each
SYMBOL_TABLE, SYMBOL_BYTES, FUNCTION = 2, 24, 2  # of ELF
ABI, VERSION, FLAGS = 7, 0x14, 0x30  # in ELF's header: EI_OSABI and EI_ABIVERSION, e_version, e_flags
REGISTER_COUNT = 0x2F  # EIATTR_REGCOUNT of .nv.info
OLD_ABI, NEW_ABI = b"\x33\x07", b"\x41\x08"  # the new one since CUDA 13; for sm_100 and later since 12.8


@dataclass(frozen=True)
class Line:
    file: str
    number: int


@dataclass(frozen=True)
class Step:
    """One instruction. `live`: state of each register there, as nvdisasm draws it: '^' written, 'v' read, 'x'
    both, ':' live, ' ' not live; empty where nvdisasm cannot tell. `chain`: its source line, innermost first,
    then the calls that were inlined."""

    instruction: Instruction
    live: str
    chain: tuple[Line, ...]
    is_spill: bool

    @property
    def live_count(self) -> int:
        return len(self.live) - self.live.count(" ")

    @property
    def spilled_bytes(self) -> int:
        """Bytes of a spilled register that one thread stores or loads here."""
        suffixes = self.instruction.opcode.split(".")[1:]
        return next((sass.WIDTHS[s] // 8 for s in suffixes if s in sass.WIDTHS), 4) if self.is_spill else 0


@dataclass
class Listing:
    symbol: str
    architecture: str
    steps: list[Step] = field(default_factory=list)

    @property
    def has_lines(self) -> bool:
        return any(step.chain for step in self.steps)

    @property
    def has_liveness(self) -> bool:
        return any(step.live for step in self.steps)


@contextlib.contextmanager
def cubins_of(file: Path, arch: str, folder: Path) -> Iterator[list[Path]]:
    """The cubins in `file` for `arch`: the file itself, or those that cuobjdump extracts."""
    with file.open("rb") as stream:
        head = stream.read(20)
    if head[:4] == b"\x7fELF" and head[18:20] == b"\xbe\x00":  # EM_CUDA
        yield [file.resolve()]
        return
    with tempfile.TemporaryDirectory() as scratch:
        environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"}
        words = [str(folder / "cuobjdump"), "-xelf", arch, str(file.resolve())]
        done = subprocess.run(
            words, cwd=scratch, env=environment, capture_output=True, text=True, errors="replace"
        )
        found = sorted(Path(scratch).glob("*.cubin"))
        if not found:
            output = (done.stdout + done.stderr).strip().splitlines()
            raise Failure(
                f"{file}: cuobjdump takes no cubin out of it: {output[-1] if output else 'it says nothing'}"
            )
        yield found


def function_index(cubin: bytes, symbol: str) -> int | None:
    """A function's index in the symbol table (ELF, 64 bits); None where it is not found."""
    name = symbol.encode() + b"\0"
    with contextlib.suppress(struct.error, StopIteration, IndexError):
        (table,) = struct.unpack_from("<Q", cubin, 0x28)
        entry_bytes, count = struct.unpack_from("<HH", cubin, 0x3A)
        sections = [struct.unpack_from("<IIQQQQI", cubin, table + n * entry_bytes) for n in range(count)]
        *_, start, size, link = next(section for section in sections if section[1] == SYMBOL_TABLE)
        names = sections[link][4]
        for n in range(min(size, len(cubin)) // SYMBOL_BYTES):
            at, kind = struct.unpack_from("<IB", cubin, start + n * SYMBOL_BYTES)
            if kind & 0xF == FUNCTION and cubin.startswith(name, names + at):
                return n
    return None


def with_new_header(cubin: bytes) -> bytes:
    """The cubin with the header that CUDA 13 writes, if it has an older one."""
    if cubin[ABI : ABI + 2] != OLD_ABI or len(cubin) < FLAGS + 4:
        return cubin
    changed = bytearray(cubin)
    changed[ABI : ABI + 2] = NEW_ABI
    struct.pack_into("<I", changed, VERSION, 1)
    struct.pack_into("<I", changed, FLAGS, 0x0600_0004 | cubin[FLAGS] << 8)  # of the architecture's number
    return bytes(changed)


def with_254_registers(cubin: bytes, symbol: str) -> bytes:
    """The cubin, with 254 registers for a kernel of 255, since nvdisasm of CUDA 13.0 to 13.2 prints no live
    registers for 255."""
    if (index := function_index(cubin, symbol)) is None:
        return cubin
    noted = struct.pack("<BBHI", 4, REGISTER_COUNT, 8, index)  # in .nv.info: 8 bytes, of this function
    return cubin.replace(noted + struct.pack("<I", 255), noted + struct.pack("<I", 254))


def lines_of(nvdisasm: Path, options: list[str], cubin: Path, symbol: str) -> list[str]:
    """The listing of one kernel; empty if the cubin has none of that name. Raises Failure."""
    section, inside, listing = f".text.{symbol}", False, []
    index = function_index(cubin.read_bytes(), symbol)
    selection = [] if index is None else ["-fun", str(index)]  # a library's code takes minutes
    with tempfile.TemporaryFile("w+", errors="replace") as errors, subprocess.Popen(
        [str(nvdisasm), "-c", *options, *selection, str(cubin)],
        stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace",
    ) as process:  # fmt: skip
        for line in process.stdout:
            if match := SECTION.match(line):
                inside = match[1] == section
            elif inside:
                listing.append(line.rstrip("\n"))
                if len(listing) > 4 * LONGEST:
                    process.kill()
                    raise Failure(f"{symbol}: more than {LONGEST:,} instructions")
        process.wait()
        errors.seek(0)
        complaint = errors.read(1 << 16).strip().splitlines()
    if process.returncode:  # its output may be incomplete
        raise Failure(f"{cubin.name}: nvdisasm: {complaint[-1] if complaint else 'failed'}")
    return listing


def parse_instructions(lines: list[str]) -> tuple[dict[int, Instruction], dict[int, str]]:
    """A listing's instructions and, where it has them, register states, by offset."""
    labels: dict[str, int] = {}
    waiting: list[str] = []
    for line in lines:
        if match := LABEL.match(line):
            waiting.append(match[1])
        elif match := sass.INSTRUCTION.match(line):
            labels.update(dict.fromkeys(waiting, int(match[1], 16)))
            waiting = []
    code: dict[int, Instruction] = {}
    live: dict[int, str] = {}
    for line in lines:
        text, _, columns = line.partition(" // |")
        text = TO_LABEL.sub(lambda match: hex(labels[match[1]]) if match[1] in labels else match[0], text)
        if not (match := sass.INSTRUCTION.match(text)):
            continue
        address, guard, opcode, operands = match.groups()
        offset = int(address, 16)
        operands = operands.partition("(*")[0].strip()
        code[offset] = Instruction(offset, guard or "", opcode, tuple(re.split(r",\s*", operands)))
        if columns and (states := COUNT.match(columns.partition("|")[0])) and states[1]:
            live[offset] = states[2].rstrip()
    return code, live


def parse_chains(lines: list[str]) -> dict[int, tuple[Line, ...]]:
    """The source lines of each offset in a listing with lines, innermost first."""
    chains: dict[int, tuple[Line, ...]] = {}
    chain: list[Line] = []
    is_open = False  # the next line continues the chain
    for line in lines:
        if match := SOURCE.match(line):
            if not is_open:
                chain = []
            chain.append(Line(match[1], int(match[2])))
            is_open = match[3] is not None
        elif match := sass.INSTRUCTION.match(line):
            chains[int(match[1], 16)] = tuple(chain)
            is_open = False
    return chains


def live_lines(nvdisasm: Path, cubin: Path, symbol: str) -> list[str]:
    """The listing with live registers; empty where nvdisasm cannot tell them."""
    with contextlib.suppress(Failure):
        return lines_of(nvdisasm, LIVE, cubin, symbol)
    as_it_is = cubin.read_bytes()
    changed = with_254_registers(with_new_header(as_it_is), symbol)
    if changed != as_it_is:
        with tempfile.NamedTemporaryFile(suffix=".cubin") as copy, contextlib.suppress(Failure):
            copy.write(changed)
            copy.flush()
            return lines_of(nvdisasm, LIVE, Path(copy.name), symbol)
    return []


def kernel_listing(nvdisasm: Path, cubin: Path, symbol: str, arch: str) -> Listing | None:
    """None if the cubin has no kernel of that name. Raises Failure."""
    if not (lines := lines_of(nvdisasm, ["-gi"], cubin, symbol)):
        return None
    code, live = parse_instructions(live_lines(nvdisasm, cubin, symbol) or lines)
    live = with_calls(code, live)
    try:
        spills = noted_spills(sections_of(cubin.read_bytes()).get(f".nv.info.{symbol}", b""))
    except (struct.error, ValueError, IndexError):
        raise Failure(f"{cubin.name}: damaged table of sections") from None
    chains = parse_chains(lines)
    spills = {at for at in spills if at in code and code[at].base in sass.LOCAL}
    steps = [Step(code[at], live.get(at, ""), chains.get(at, ()), at in spills) for at in sorted(code)]
    return Listing(symbol, arch, steps)


def read_listing(file: Path, arch: str, symbol: str) -> Listing:
    """Raises Skip where no disassembler serves, Failure where the kernel cannot be read."""
    complaints: list[str] = []
    for folder in dict.fromkeys(sass.tool_folders()):
        if not all(os.access(folder / tool, os.X_OK) for tool in ("cuobjdump", "nvdisasm")):
            continue
        try:
            with cubins_of(file, arch, folder) as cubins:
                for cubin in (path for path in cubins if symbol.encode() in path.read_bytes()):
                    if listing := kernel_listing(folder / "nvdisasm", cubin, symbol, arch):
                        return listing
        except Failure as failure:
            complaints.append(str(failure))
            continue
        complaints.append(f"{file}: {folder}/nvdisasm finds no code of {symbol} for {arch}")
    if complaints:
        raise Failure(complaints[0])
    raise Skip("no nvdisasm with cuobjdump: pip install 'occbench[audit]' brings them")
