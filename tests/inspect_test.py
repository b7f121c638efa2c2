# SPDX-License-Identifier: Apache-2.0
"""`occbench inspect`: kernels of whatever holds machine code, what is said of them, what cannot be read."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from command import OCCBENCH, ROOT, occbench, on_terminal

NVCC = os.environ.get("NVCC", "nvcc")
SOURCE = ROOT / "tests/samples/inspect.cu"
ARCHITECTURES = ("75", "80", "86", "89", "90", "90a", "100", "120")  # before and since CUDA 13's new format
KERNELS = {
    "plain", "hungry", "bounded", "single", "shared", "local_array", "named_barriers", "any_barrier",
    "space::templated<7>",
}  # fmt: skip


def nvcc(*words: str | Path) -> None:
    subprocess.run([NVCC, *words], check=True, capture_output=True, text=True)


def said(*words: str | Path, code: int = 0) -> list[dict[str, str]]:
    """The rows that it prints as CSV."""
    done = occbench("inspect", *map(str, words), "--format", "csv", gpu=False)
    assert done.returncode == code, (done.returncode, done.stderr)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def short(row: dict[str, str]) -> str:
    return row["kernel"].split("(")[0].removeprefix("void ")


def named(rows: list[dict[str, str]]) -> dict[str, dict[str, str]]:
    return {short(row): row for row in rows}


def cuobjdump() -> str | None:
    """As occbench_tools.sass finds it: on the PATH or in the Python environment."""
    beside = Path(sys.prefix) / f"lib/python3.{sys.version_info.minor}/site-packages/nvidia/cu13/bin"
    return shutil.which("cuobjdump", path=os.pathsep.join([os.environ["PATH"], str(beside)]))


def resources(file: Path) -> Counter[tuple[str, ...]]:
    """Architecture, name, registers, stack and shared memory of each function, as cuobjdump says."""
    text = subprocess.run(
        [cuobjdump(), "-res-usage", file], check=True, capture_output=True, text=True
    ).stdout
    found: Counter[tuple[str, ...]] = Counter()
    architecture = "sm_90"  # a cubin's alone it does not say
    for line in text.splitlines():
        if match := re.match(r"arch = (sm_\d+)", line):
            architecture = match[1]
        if "REG:" in line:
            registers, stack, smem = (
                int(re.search(rf"{key}:(\d+)", line)[1]) for key in ("REG", "STACK", "SHARED")
            )
            # From 9.0 on it counts the 1,024 B that the driver reserves, where a kernel has any of its own.
            smem -= 1024 * (int(architecture[3:]) >= 90 and smem >= 1024)
            found[architecture, str(registers), str(stack), str(smem)] += 1
    return found


def ours(rows: list[dict[str, str]]) -> Counter[tuple[str, ...]]:
    names = ("registers_per_thread", "stack_bytes", "static_smem_bytes")
    return Counter((row["architecture"].rstrip("af"), *(row[name] for name in names)) for row in rows)


class Inspect(unittest.TestCase):
    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        codes = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in ARCHITECTURES]
        nvcc("-c", "--threads", "0", *codes, SOURCE, "-o", cls.folder / "all.o")
        nvcc("-cubin", "-arch=sm_90", SOURCE, "-o", cls.folder / "new.cubin")
        nvcc("-cubin", "-arch=sm_90", "-maxrregcount=24", SOURCE, "-o", cls.folder / "capped.cubin")
        nvcc("-ptx", "-arch=compute_90", SOURCE, "-o", cls.folder / "only.ptx")
        nvcc("-c", "-arch=compute_90", "-code=compute_90", SOURCE, "-o", cls.folder / "ptx.o")
        (cls.folder / "host.c").write_text("int main(void) { return 0; }\n")
        nvcc("-o", cls.folder / "host.o", "-c", "-x", "c", cls.folder / "host.c")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.temporary.cleanup()

    def test_lists_every_kernel_of_every_architecture(self) -> None:
        rows = said(self.folder / "all.o")
        found = {(short(row), row["architecture"]) for row in rows}
        self.assertEqual(found, {(kernel, f"sm_{a}") for kernel in KERNELS for a in ARCHITECTURES})
        self.assertEqual(len(rows), len(found))

    def test_reads_attributes_from_machine_code(self) -> None:
        for file, caps in ((self.folder / "all.o", False), (self.folder / "capped.cubin", True)):
            for row in said(file):
                with self.subTest(file=file.name, kernel=short(row), architecture=row["architecture"]):
                    name = short(row)
                    if not (caps and name == "hungry"):
                        self.assertEqual(row["spill_bytes"], "0")  # as ptxas says, beside an array too
                    self.assertEqual(row["has_local_array"], str(int(name == "local_array")))
                    self.assertEqual(row["static_smem_bytes"], "12000" if name == "shared" else "0")
                    self.assertEqual(row["launch_bound"], {"bounded": "128", "single": "1"}.get(name, ""))
                    barriers = {"shared": "1", "named_barriers": "6", "any_barrier": "16"}
                    self.assertEqual(row["barriers"], barriers.get(name, "0"))
                    self.assertEqual("runtime_barrier" in row["findings"], name == "any_barrier")

    def test_spills_match_ptxas(self) -> None:
        log = subprocess.run(
            [NVCC, "-cubin", "-arch=sm_90", "-maxrregcount=24", "-Xptxas=-v", SOURCE, "-o", os.devnull],
            capture_output=True, text=True, check=True,
        ).stderr  # fmt: skip
        own = log[log.index("Function properties for _Z6hungry") :]
        stores, loads = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", own).groups()
        row = named(said(self.folder / "capped.cubin"))["hungry"]
        self.assertGreater(int(stores), 0)
        self.assertEqual(int(row["spill_bytes"]), int(stores) + int(loads))
        self.assertIn("spills", row["findings"])

    @unittest.skipUnless(cuobjdump(), "no cuobjdump")
    def test_matches_cuobjdump(self) -> None:
        for file in (self.folder / "all.o", self.folder / "capped.cubin", OCCBENCH):
            rows = said(file)
            self.assertGreater(len(rows), 8)
            self.assertEqual(ours(rows), resources(file))

    def test_kinds_of_files(self) -> None:
        cubin = self.folder / "new.cubin"
        whole = ours(said(cubin))
        tree = self.folder / "kinds"
        (tree / "deep").mkdir(parents=True)
        subprocess.run(
            ["ar", "rcs", tree / "all.a", self.folder / "all.o", self.folder / "host.o"], check=True
        )
        self.assertEqual(ours(said(tree / "all.a")), ours(said(self.folder / "all.o")))
        self.assertIn("all.a(all.o)", said(tree / "all.a")[0]["file"])
        for words in ("-fatbin", "-fatbin -Xfatbin -compress-all"):
            nvcc(*words.split(), "-arch=sm_90", SOURCE, "-o", tree / "a.fatbin")
            self.assertEqual(ours(said(tree / "a.fatbin")), whole)
        nvcc("-shared", "-Xcompiler", "-fPIC", "-arch=sm_90", SOURCE, "-o", tree / "libk.so")
        self.assertEqual(ours(said(tree / "libk.so")), whole)
        shutil.copy(cubin, tree / "deep/k.cubin")
        (tree / "notes.txt").write_text("no code")
        count = len(KERNELS)
        self.assertEqual(len(said(tree)), count * (len(ARCHITECTURES) + 3))
        self.assertEqual(len(said(cubin, tree / "deep")), 2 * count)

    def test_triton_cache_gives_the_launch(self) -> None:
        cache = self.folder / "triton/ABC"
        cache.mkdir(parents=True)
        shutil.copy(self.folder / "new.cubin", cache / "k.cubin")
        (cache / "k.json").write_text(json.dumps(dict(num_warps=4, shared=65536, name="k")))
        row = named(said(self.folder / "triton"))["plain"]
        self.assertEqual((row["block_size"], row["dynamic_smem_bytes"]), ("128", "65536"))
        self.assertEqual((row["occupancy"], row["limiters"]), ("0.1875", "shared_memory"))

    def test_block_sizes(self) -> None:
        cubin = self.folder / "new.cubin"
        chosen = named(said(cubin))
        self.assertEqual({chosen[name]["block_size"] for name in ("plain", "shared")}, {"256"})
        self.assertEqual((chosen["bounded"]["block_size"], chosen["single"]["block_size"]), ("128", "1"))
        self.assertEqual(chosen["single"]["status"], "ok")
        self.assertEqual(named(said(cubin, "--block-size", "64"))["plain"]["block_size"], "64")
        ranked = said(cubin, "--block-size", "128..512", "--kernel", "plain")
        self.assertEqual(sorted(int(row["block_size"]) for row in ranked), list(range(128, 513, 32)))
        shares = [float(row["occupancy"]) for row in ranked]
        self.assertEqual(shares, sorted(shares, reverse=True))
        shape = "--block-size 192 --static-smem 12000 --registers " + chosen["shared"]["registers_per_thread"]
        calc = occbench(*f"calc --device h200 --format csv {shape}".split(), gpu=False)
        answer = next(csv.DictReader(io.StringIO(calc.stdout)))
        row = said(cubin, "--kernel", "shared", "--block-size", "192", "--device", "h200")[0]
        self.assertEqual(float(row["occupancy"]), float(answer["occupancy"]))

    def test_filters_and_order(self) -> None:
        both = said(self.folder / "all.o", "--kernel", "space::", "--arch", "sm_90a")
        self.assertEqual([(short(r), r["architecture"]) for r in both], [("space::templated<7>", "sm_90a")])
        self.assertEqual({r["architecture"] for r in said(self.folder / "all.o", "--device", "l4")},
                         {"sm_80", "sm_86", "sm_89"})  # fmt: skip
        registers = [int(r["registers_per_thread"])
                     for r in said(self.folder / "new.cubin", "--sort", "registers_per_thread")]  # fmt: skip
        self.assertEqual(registers, sorted(registers, reverse=True))
        cubin = self.folder / "new.cubin"
        self.assertEqual(said(cubin, "--sort", "registers"), said(cubin, "--sort", "registers_per_thread"))

    def test_formats(self) -> None:
        cubin = str(self.folder / "new.cubin")
        rows = json.loads(occbench("inspect", cubin, "--format", "json", gpu=False).stdout)
        cells = said(cubin)
        self.assertEqual([row["kernel"] for row in rows], [row["kernel"] for row in cells])
        self.assertEqual(list(rows[0]), list(cells[0]))
        table = occbench("inspect", cubin, gpu=False).stdout
        self.assertIn(f"{len(KERNELS)} kernels for sm_90; occupancy on cc9.0", table.splitlines()[0])
        self.assertIn("any_barrier: a barrier's id is in a register", table)
        markdown = occbench("inspect", cubin, "--format", "markdown", gpu=False).stdout
        self.assertIn("|---|---:|", markdown)
        self.assertIn("| named\\_barriers ", markdown)

    def test_narrow_terminal_shows_paragraphs(self) -> None:
        """Of the same facts as the table that a pipe gets, in lines that fit."""
        for words in (f"inspect {self.folder}/new.cubin", f"inspect {self.folder}/new.cubin --block-size all",
                      f"inspect --diff {self.folder}/new.cubin {self.folder}/capped.cubin",
                      "calc --device h200 --block-size 256 --registers 65"):  # fmt: skip
            with self.subTest(words):
                piped = occbench(*words.split(), gpu=False).stdout
                narrow, wide = (on_terminal(columns, *words.split()) for columns in (80, 400))
                self.assertEqual(wide, piped)
                lines = narrow.splitlines()[1:]  # the first names the user's own path
                self.assertLessEqual(max(map(len, lines)), 80, narrow)
                self.assertLessEqual(
                    set(piped.replace("*", " ").split()), set(narrow.replace("*", " ").split())
                )

    def test_conditions(self) -> None:
        capped = self.folder / "capped.cubin"
        for condition, holds in (
            ("spill_bytes>0", True), ("spill_bytes>=100000", False), ("spill_bytes == unknown", False),
            ("occupancy<0.5 or registers_per_thread>24", False), ("not (registers_per_thread<=24)", False),
            ("barriers==16 and code_bytes<100", False), ("barriers!=16", True), ("registers>24", False),
            ("cluster_size!=2", False),  # which no kernel has
        ):  # fmt: skip
            with self.subTest(condition):
                done = occbench("inspect", str(capped), "--fail-on", condition, gpu=False)
                self.assertEqual(done.returncode, int(holds), done.stderr)
                self.assertEqual(f"--fail-on '{condition}' is true for" in done.stderr, holds)
        done = occbench("inspect", str(capped), "--fail-on", "spill_bytes>0", gpu=False)
        self.assertIn("is true for 1 kernel: hungry", done.stderr)

    def test_difference(self) -> None:
        new, capped = (str(self.folder / f"{name}.cubin") for name in ("new", "capped"))
        rows = said("--diff", new, capped)
        self.assertEqual([row["change"] for row in rows], ["changed"] * 2)
        self.assertEqual([short(row) for row in rows], ["hungry", "local_array"])
        self.assertEqual(rows[0]["registers_per_thread"], "24")
        self.assertGreater(int(rows[0]["old_registers_per_thread"]), 24)
        self.assertGreater(int(rows[0]["spill_bytes"]), int(rows[0]["old_spill_bytes"]))
        self.assertEqual(said("--diff", new, new), [])
        table = occbench("inspect", "--diff", new, capped, gpu=False).stdout
        self.assertIn(f"{len(KERNELS)} in both, 2 changed, 0 gone, 0 new", table)
        for condition, code in (("spill_bytes>old_spill_bytes", 1), ("occupancy<old_occupancy", 0)):
            done = occbench("inspect", "--diff", new, capped, "--fail-on", condition, gpu=False)
            self.assertEqual(done.returncode, code, done.stderr)

    def test_diff_sorts_by_largest_loss(self) -> None:
        source = self.folder / "shared.cu"
        kernel = """extern "C" __global__ void {0}(char* p) {{
          __shared__ char s[{1}]; s[threadIdx.x] = *p; __syncthreads(); *p = s[*p]; }}\n"""
        for name, sizes in (("small", (500, 500)), ("large", (30_000, 45_000))):
            source.write_text("".join(map(kernel.format, ("loses_little", "loses_much"), sizes)))
            nvcc("-cubin", "-arch=sm_90", source, "-o", self.folder / f"{name}_shared.cubin")
        small, large = (self.folder / f"{name}_shared.cubin" for name in ("small", "large"))
        rows = said("--diff", small, large, "--block-size", "256")
        self.assertEqual([short(row) for row in rows], ["loses_much", "loses_little"])

    def refusals(self) -> Iterator[tuple[str, int, str]]:
        new, everything = self.folder / "new.cubin", self.folder / "all.o"
        (self.folder / "text").write_text("no ELF file")
        (self.folder / "empty").write_text("")
        (self.folder / "cut.o").write_bytes(everything.read_bytes()[:20_000])
        (self.folder / "cut.cubin").write_bytes(new.read_bytes()[:3_000])
        (self.folder / "nothing").mkdir(exist_ok=True)
        yield "", 2, "FILE"
        yield "/nowhere/a.so", 4, "/nowhere/a.so: No such file or directory"
        yield f"{self.folder}/text", 4, "is not a cubin, fatbin, object, archive, library or program"
        yield f"{self.folder}/empty", 4, "is not a cubin, fatbin, object, archive, library or program"
        yield "/dev/zero", 4, "is not a regular file"
        yield f"{self.folder}/nothing", 4, "holds no file with GPU code"
        yield f"{self.folder}/host.o", 4, "holds no GPU code; it is for the CPU alone"
        yield f"{self.folder}/only.ptx", 4, "is PTX, which has no registers yet; `ptxas -arch=sm_90` makes"
        yield str(SOURCE), 4, "is a source file; `nvcc -cubin -arch=sm_90` makes a cubin of it"
        yield f"{self.folder}/ptx.o", 4, "has PTX for compute_90 and no machine code"
        yield f"{self.folder}/cut.o", 4, "is cut off"
        yield f"{self.folder}/cut.cubin", 4, "is cut off"
        yield f"{new} --kernel nope", 2, "no kernel has 'nope' in its name; there are "
        yield f"{new} --arch sm_12", 2, "no code for sm_12; it has code for sm_90"
        yield (
            f"{new} --device a100",
            2,
            "none of its code runs on --device; it has code for sm_90",
        )
        yield f"{new} --device h300", 2, "unknown device 'h300'; close names: h100, h200"
        yield f"{new} --block-size 0", 2, "--block-size '0' is less than 1"
        yield f"{new} --block-size 512..64", 2, "--block-size '512..64' is an empty range"
        yield f"{new} --dynamic-smem -1", 2, "--dynamic-smem '-1' is negative"
        yield f"{new} --sort nope", 2, "no column 'nope'; there are kernel, "
        yield f"{new} --sort block", 2, "no column 'block'; there are kernel, "  # block_size, blocks_per_sm
        yield (
            f"{new} --fail-on spill_bytes",
            2,
            "condition 'spill_bytes': expected one of < <= > >= == != at its end",
        )
        yield f"{new} --fail-on nope>1", 2, "no column 'nope'; there are "
        yield f"{new} --fail-on kernel==1", 2, "column 'kernel' holds text, not numbers"
        yield f"{new} --fail-on old_barriers==1", 2, "no column 'old_barriers'"
        yield f"{new} --format xml", 2, "--format: xml not in {table,markdown,csv,json,sarif}"
        yield f"--diff {new}", 2, "--diff takes two files: OLD NEW"
        yield f"--diff {new} {new} --block-size all", 2, "--diff takes one block size"

    def test_device_list_matches_calc(self) -> None:
        listed = occbench("calc", "--device", "list", gpu=False).stdout
        self.assertIn("h200", listed)
        for command in ("inspect", "devices", "caps"):
            with self.subTest(command):
                done = occbench(command, "--device", "list", gpu=False)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, listed, ""))

    def test_marks_register_counts_before_linking(self) -> None:
        nvcc("-arch=sm_90", "-dc", SOURCE, "-o", self.folder / "unlinked.o")
        for name, is_linked in (("unlinked.o", "0"), ("new.cubin", "1")):
            self.assertEqual({row["is_linked"] for row in said(self.folder / name)}, {is_linked})
        table = occbench("inspect", str(self.folder / "unlinked.o"), gpu=False).stdout
        self.assertRegex(table, r"hungry +>= \d+")

    def test_refusals(self) -> None:
        for words, code, sentence in self.refusals():
            with self.subTest(words):
                done = occbench("inspect", *words.split(), gpu=False)
                self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    unittest.main()
