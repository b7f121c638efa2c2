# SPDX-License-Identifier: Apache-2.0
"""occbench inspect --lines: registers and spills of planted kernels, by lines that are known to hold them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from made_up import REPOSITORY
from occbench_tools import inspect_lines, sass
from occbench_tools.inspect_lines.listing import (
    Listing,
    Step,
    function_index,
    parse_chains,
    parse_instructions,
    read_listing,
    with_new_header,
)
from occbench_tools.inspect_lines.pressure import LineUse, pressure_of
from occbench_tools.programs import run_program
from pages import built

SOURCE = Path(__file__).with_name("planted_registers.cu")
OLD = REPOSITORY / "tests/forms/spill_notes/spills_12.4_90.cubin"
NEW = REPOSITORY / "tests/forms/spill_notes/spills_13_90.cubin"  # of the same PTX
MARKS = {
    match[1]: number
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1)
    if (match := re.search(r"// ([A-Z]+)$", line))
}


def has_disassembler() -> bool:
    return any((folder / "nvdisasm").exists() for folder in sass.tool_folders())


def version() -> str:
    return run_program(["nvcc", "--version"]).stdout if shutil.which("nvcc") else ""


needs_tools = pytest.mark.skipif(
    not (built() and shutil.which("nvcc") and has_disassembler()), reason="no occbench, nvcc or nvdisasm"
)
Inspect = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """planted.cubin, with lines, and bare.cubin, without."""
    folder = tmp_path_factory.mktemp("planted")
    for name, options in (("planted", ["-lineinfo"]), ("bare", [])):
        words = ["nvcc", "-arch=sm_90", "-cubin", *options, "-o", folder / f"{name}.cubin", SOURCE]
        subprocess.run(list(map(str, words)), check=True)
    return folder


@pytest.fixture
def inspect(folder: Path) -> Inspect:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(built()), "inspect", *words], cwd=folder, capture_output=True, text=True, check=False
        )

    return run


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_tools
def test_names_lines_of_values_unused_in_a_loop(inspect: Inspect) -> None:
    found = answer(inspect("planted.cubin", "--lines", "waiting", "--format", "json"))
    (waiting,) = found["values_waiting_in_loop"]
    assert waiting["lines"][0]["line"] == MARKS["KEPT"] and len(waiting["registers"]) == 8
    assert waiting["last_read"][0]["line"] == MARKS["READ"]


@needs_tools
def test_peak_and_next_step_match_register_count(inspect: Inspect) -> None:
    found = answer(inspect("planted.cubin", "--lines", "waiting", "--device", "h200", "--format", "json"))
    registers = found["registers_per_thread"]
    assert registers - 4 <= found["live_registers"] <= registers - 2
    assert found["live_registers_for_next_step"] == 32 - 2
    above = sum(line["instructions_above_next_step"] for line in found["lines"])
    assert 0 < above < sum(line["instructions"] for line in found["lines"])


@needs_tools
def test_spills_by_line_sum_to_ptxas(inspect: Inspect, folder: Path) -> None:
    found = answer(inspect("planted.cubin", "--lines", "spilled", "--format", "json"))
    (row,) = json.loads(inspect("planted.cubin", "--kernel", "spilled", "--format", "json").stdout)
    spilled = sum(line["spill_stored_bytes"] + line["spill_loaded_bytes"] for line in found["lines"])
    assert spilled == row["spill_bytes"] > 0
    inlined = [line for line in found["lines"] if line["lines"][0]["line"] == MARKS["BLEND"]]
    assert sum(line["spill_loaded_bytes"] for line in inlined) > 0
    assert all(len(line["lines"]) == 2 for line in inlined)  # blend() in the kernel


def ncu_table(
    kernel: str, opcodes: list[str], executed: list[int], column: str = "Instructions Executed"
) -> str:
    """As `ncu --page source --csv` prints a launch: with what fills the section behind the code."""
    opcodes, executed = [*opcodes, "BRA", "NOP"], [*executed, 0, 0]
    rows = "".join(
        f'"0x7f{0xF00 + 16 * n:05x}","      @!P0 {opcode}.X R1, c[0x0][0x28]","0","{count}"\n'
        for n, (opcode, count) in enumerate(zip(opcodes, executed, strict=True))
    )
    return f'"Kernel Name","{kernel}",\n"Address","Source","# Samples","{column}"\n{rows}\n'


@needs_tools
def test_executed_counts_come_from_the_kernels_launches(inspect: Inspect, folder: Path) -> None:
    symbol = answer(inspect("planted.cubin", "--lines", "spilled", "--format", "json"))["symbol"]
    listing = inspect_lines.read_listing(folder / "planted.cubin", "sm_90", str(symbol))
    opcodes = [step.instruction.base for step in listing.steps]
    counts = [100 * step.is_spill + 1 for step in listing.steps]
    spills = sum(step.is_spill for step in listing.steps)
    report = folder / "executed.csv"
    report.write_text(
        "==PROF== Connected\n"
        + ncu_table("spilled(float*)", opcodes, counts)
        + ncu_table("another(int)", opcodes[1:], counts[1:])
        + ncu_table("spilled(float*)", opcodes, counts)
    )
    words = ("planted.cubin", "--lines", "spilled", "--executed", report.name)
    found = answer(inspect(*words, "--format", "json"))
    assert found["launches_executed"] == 2
    assert sum(line["executed_instructions"] for line in found["lines"]) == 2 * sum(counts)
    assert sum(line["executed_spills"] for line in found["lines"]) == 2 * 101 * spills > 0
    text = inspect(*words).stdout
    assert f"{2 * sum(counts):,} instructions were executed by the warps of 2 launches;" in text
    assert f"{202 * spills:,} of them" in text and max(map(len, text.splitlines())) <= 80


@needs_tools
@pytest.mark.parametrize(
    ("report", "why"),
    [
        (ncu_table("k", ["MOV"], [1]), "no launch has the"),
        (ncu_table("k", ["MOV"], [1], "Count"), "has no column 'Instructions Executed'"),
        (ncu_table("k", ["MOV"], [1]).replace('"1"', '"n/a"'), "line 3: is not an instruction"),
        ('"ID","Kernel Name"\n"0","k"\n', "has no kernel's instructions"),
        ("", "has no kernel's instructions"),
    ],
)
def test_rejects_unusable_report_in_one_line(inspect: Inspect, folder: Path, report: str, why: str) -> None:
    (folder / "bad.csv").write_text(report)
    done = inspect("planted.cubin", "--lines", "spilled", "--executed", "bad.csv")
    assert done.returncode == 4 and not done.stdout
    assert done.stderr.count("\n") == 1 and why in done.stderr, done.stderr


@needs_tools
@pytest.mark.parametrize("kernel", ["waiting", "spilled"])
def test_text_fits_80_columns_and_shows_the_source(inspect: Inspect, kernel: str) -> None:
    done = inspect("planted.cubin", "--lines", kernel)
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 80
    assert "return a * b + b;" in done.stdout


@needs_tools
def test_warns_about_code_without_line_info(inspect: Inspect) -> None:
    done = inspect("bare.cubin", "--lines", "waiting")
    assert done.returncode == 0 and "-lineinfo" in done.stderr
    assert "registers are live at the peak" in done.stdout


@needs_tools
def test_warns_about_newer_source(inspect: Inspect, folder: Path) -> None:
    shutil.copy(folder / "planted.cubin", folder / "old.cubin")
    os.utime(folder / "old.cubin", (1, 1))
    done = inspect("old.cubin", "--lines", "waiting")
    assert done.returncode == 0 and f"lines may have moved: {SOURCE.name}" in done.stderr
    assert "may have moved" not in inspect("planted.cubin", "--lines", "waiting").stderr


@needs_tools
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--lines", "nope"], "no kernel has 'nope' in its name"),
        (["--lines", "i"], "means 2 kernels: spilled (sm_90), waiting (sm_90)"),
        (["--lines", "waiting", "--fail-on", "spill_bytes>0"], "--lines goes with neither"),
    ],
)
def test_rejects_ambiguous_or_unknown_kernel(inspect: Inspect, words: list[str], complaint: str) -> None:
    done = inspect("planted.cubin", *words)
    assert done.returncode == 2 and complaint in done.stderr and not done.stdout


@needs_tools
def test_full_name_selects_one_kernel(inspect: Inspect, folder: Path) -> None:
    """Although another kernel has it in its own."""
    source = folder / "names.cu"
    source.write_text(
        "__global__ void sum(float* p) { *p = 1; }\n__global__ void sums(float* p) { *p = 2; }\n"
    )
    subprocess.run(["nvcc", "-arch=sm_90", "-cubin", "-lineinfo", source], cwd=folder, check=True)
    assert answer(inspect("names.cubin", "--lines", "sum", "--format", "json"))["symbol"] == "_Z3sumPf"


# As nvdisasm 13.5 prints a kernel of sm_90, cut.
LIVE = """
.text.k:                                                     // |     :        |
        /*0000*/                   LDC R1, c[0x0][0x28] ;     // |  1  ^        |        |
.L_x_1:                                                      // |  1  :        |
        /*0010*/                   STL [R1], R0; // |  2 v:        |        |
        /*0020*/              @!P0 BRA `(.L_x_1) ;            // |     :        |  1     |
"""
LINES = """
\t//## File "/tmp/a b.cuh", line 2 inlined at "/tmp/k.cu", line 20
\t//## File "/tmp/k.cu", line 20
        /*0000*/                   LDC R1, c[0x0][0x28] ;
\t//## File "/tmp/k.cu", line 21
        /*0010*/                   STL [R1], R0 ;
        /*0020*/              @!P0 BRA `(.L_x_1) ;
"""


@pytest.mark.parametrize(
    "row", ["x", "5", "[]", "{}", "[1]", "[{}]", '[{"architecture": 5}]', "[" * 100_000, "9" * 5000]
)
def test_rejects_invalid_row_argument(row: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        inspect_lines.main(["k.cubin", "k", row])
    assert "is not a row of" in capsys.readouterr().err


def test_parses_listing() -> None:
    code, live = parse_instructions(LIVE.splitlines())
    assert [code[at].opcode for at in (0, 16, 32)] == ["LDC", "STL", "BRA"]
    assert code[32].next_addresses == [16, 48]  # its label is the address behind it
    assert live == {0: " ^", 16: "v:"}
    chains = parse_chains(LINES.splitlines())
    assert [(line.file, line.number) for line in chains[0]] == [("/tmp/a b.cuh", 2), ("/tmp/k.cu", 20)]
    assert [line.number for line in chains[16]] == [21] == [line.number for line in chains[32]]


def test_line_with_two_callers_has_the_larger_peak() -> None:
    for live in ((9, 4), (4, 9)):
        uses = [LineUse((), each, depth=each, instructions=each, stored_bytes=each) for each in live]
        uses[0].add(uses[1])
        assert uses[0] == LineUse((), 9, depth=9, instructions=13, stored_bytes=13)


def test_finds_function_in_symbol_table() -> None:
    cubin = (REPOSITORY / "tests/samples/inspect.cubin").read_bytes()
    plain = function_index(cubin, "_Z5plainPf")
    assert plain is not None and plain != function_index(cubin, "_Z6sharedPf")
    assert function_index(cubin, "_Z5plain") is None  # of a part of a name
    for size in range(0, len(cubin), 97):
        assert function_index(cubin[:size], "_Z5plainPf") in (None, plain)


@pytest.mark.skipif(not has_disassembler(), reason="no nvdisasm")
@pytest.mark.parametrize("kernel", ["array_alone", "array_and_spills"])
def test_liveness_of_older_ptxas_matches_cuda_13(kernel: str) -> None:
    old, new = (read_listing(cubin, "sm_90", kernel) for cubin in (OLD, NEW))
    assert old.has_liveness
    for one, other in zip(old.steps, new.steps, strict=True):
        same = (text.replace(".reuse", "") for text in other.instruction.operands)
        assert [text.replace(".reuse", "") for text in one.instruction.operands] == list(same)
    assert [step.live for step in old.steps] == [step.live for step in new.steps]


def test_old_cubin_gets_only_a_new_header() -> None:
    old, new = OLD.read_bytes(), NEW.read_bytes()
    changed = with_new_header(old)
    assert changed is not None and changed[:0x18] == new[:0x18] and changed[0x30:0x34] == new[0x30:0x34]
    assert changed[0x34:] == old[0x34:] and changed[0x18:0x30] == old[0x18:0x30]
    assert all(with_new_header(cubin) == cubin for cubin in (new, old[:9], b""))


@needs_tools
def test_255_registers_have_liveness_in_each_nvdisasm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of CUDA 13.0 to 13.2 refuses the number."""
    source = tmp_path / "wide.cu"
    source.write_text(
        "__global__ void wide(float* p, int n) { float v[260];\n"
        "for (int i = 0; i < 260; ++i) v[i] = p[i * n];\n"
        "for (int k = 0; k < n; ++k) for (int i = 0; i < 260; ++i) v[i] = v[i] * v[(i + 1) % 260] + k;\n"
        "for (int i = 0; i < 260; ++i) p[i * n] = v[i]; }\n"
    )
    subprocess.run(["nvcc", "-arch=sm_90", "-cubin", source], cwd=tmp_path, check=True)
    cubin = tmp_path / "wide.cubin"
    expected = read_listing(cubin, "sm_90", "_Z4widePfi")
    assert expected.has_liveness
    folder = next(f for f in sass.tool_folders() if all((f / t).exists() for t in ("nvdisasm", "cuobjdump")))
    (tmp_path / "cuobjdump").symlink_to(folder / "cuobjdump")
    old = tmp_path / "nvdisasm"  # refuses as the older ones do
    count = r"\x04\x2f\x08\x00....\xff\x00\x00\x00"
    old.write_text(
        f"#!/bin/sh\nfor file; do :; done\n"
        f'case "$*" in *-plr*) ! LC_ALL=C grep -qaP \'{count}\' "$file" || exit 1;; esac\n'
        f'exec {folder}/nvdisasm "$@"\n'
    )
    old.chmod(0o755)
    monkeypatch.setattr(sass, "tool_folders", lambda: [tmp_path])
    assert read_listing(cubin, "sm_90", "_Z4widePfi") == expected


@pytest.mark.skipif(not has_disassembler(), reason="no nvdisasm")
def test_spills_match_ptxas_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """nvdisasm 13.2 and earlier do not print the notes."""
    found = {}
    for kernel in ("array_alone", "array_and_spills"):
        found[kernel] = [step.is_spill for step in read_listing(NEW, "sm_90", kernel).steps]
    assert sum(found["array_and_spills"]) > 0 == sum(found["array_alone"])
    folder = next(f for f in sass.tool_folders() if all((f / t).exists() for t in ("nvdisasm", "cuobjdump")))
    (tmp_path / "cuobjdump").symlink_to(folder / "cuobjdump")
    old = tmp_path / "nvdisasm"
    old.write_text(f'#!/bin/sh\n{folder}/nvdisasm "$@" | sed \'s/(."SpillRefill".)//\'\n')
    old.chmod(0o755)
    monkeypatch.setattr(sass, "tool_folders", lambda: [tmp_path])
    for kernel, spills in found.items():
        assert [step.is_spill for step in read_listing(NEW, "sm_90", kernel).steps] == spills


@pytest.mark.parametrize(("spill_bytes", "stored"), [(4, 4), (0, 0), (None, 0)])
def test_unmarked_spills_match_inspect(spill_bytes: int | None, stored: int) -> None:
    code, live = parse_instructions(LIVE.splitlines())
    steps = [Step(code[at], live.get(at, ""), (), False) for at in code]
    pressure = pressure_of(Listing("k", "sm_90", steps), {"spill_bytes": spill_bytes})
    assert [use.stored_bytes for use in pressure.line_uses()] == [stored]
    assert any("does not mark" in warning for warning in pressure.warnings) == (spill_bytes is None)


@needs_tools
def test_docs_example_gains_the_step(tmp_path: Path) -> None:
    """docs/registers.md, which moves the line that --lines names."""
    removed, _, added = (REPOSITORY / "docs/registers.md").read_text().partition("\n@@\n")
    line = removed.rpartition("\n-")[2].partition("\n")[0] + "\n"
    reader = added.partition("\n+")[2].split("\n")[1].removeprefix(" ") + "\n"
    early = (REPOSITORY / "docs/examples/lookup.cu").read_text()
    late = early.replace(line, "").replace(reader, line + reader)
    assert early.count(line) == early.count(reader) == late.count(line) == 1

    def inspect(source: str, *words: str) -> str:
        (tmp_path / "lookup.cu").write_text(source)
        subprocess.run(["nvcc", "-arch=sm_90", "-cubin", "-lineinfo", "lookup.cu"], cwd=tmp_path, check=True)
        words = (str(built()), "inspect", "lookup.cubin", *words, "--device", "h200", "--format", "json")
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    waiting = json.loads(inspect(early, "--lines", "follow"))["values_waiting_in_loop"]
    assert waiting[0]["lines"][0]["line"] == early[: early.index(line)].count("\n") + 1
    rows = [json.loads(inspect(source, "--kernel", "follow"))[0] for source in (early, late)]
    assert [row["occupancy"] for row in rows] == [0.75, 1]


def test_sample_source_has_its_markers() -> None:
    assert set(MARKS) == {"BLEND", "KEPT", "READ"} and REPOSITORY in SOURCE.parents


@needs_tools
@pytest.mark.skipif("release 13.0," not in version(), reason="the page shows code of CUDA 13.0")
def test_docs_match_the_output(inspect: Inspect) -> None:
    page = (REPOSITORY / "docs/data/inspect-lines.txt").read_text().split("\n", 2)[2]
    assert inspect("planted.cubin", "--lines", "waiting", "--device", "h200").stdout == page
