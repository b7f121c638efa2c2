# SPDX-License-Identifier: Apache-2.0
"""Binaries, logs and traces that are cut off, change while they are read, or claim far more than they have.

Nothing is left out in silence: what cannot be read is named, with exit code 4. A small file is little work.
"""

import csv
import ctypes
import gzip
import io
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from command import HEADER, OCCBENCH, ROOT, SANITIZED

sys.path.insert(0, str(ROOT / "tools"))
from occbench_tools.escape import printable, unprintable

SAMPLES = ROOT / "tests/samples"
CORPUS = ROOT / "tests/fuzz/corpus/binaries"
CUBIN = SAMPLES / "inspect.cubin"
KERNELS = 9  # of it
PR_CAPBSET_DROP = 24  # <linux/prctl.h>
READS_ALL = (1, 2)  # <linux/capability.h>: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, which root has
PRCTL = ctypes.CDLL(None).prctl
MEMORY = 2 << 30  # more than any of these files is worth


def run(
    *words: object, obeys_modes: bool = False, memory: int = MEMORY, **more: object
) -> "subprocess.CompletedProcess[str]":
    """The command, which must end soon and without much memory; `obeys_modes` even as root."""

    def limits() -> None:
        if "asan" not in str(OCCBENCH):
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        for capability in READS_ALL if obeys_modes else ():
            PRCTL(PR_CAPBSET_DROP, capability, 0, 0, 0)

    command = [OCCBENCH, *map(str, words)]
    longest_s = 300 if "asan" in str(OCCBENCH) else 60  # not optimised, and every access is checked
    more = dict(capture_output=True) | more
    return subprocess.run(
        command, text=True, errors="surrogateescape", timeout=longest_s, preexec_fn=limits,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": "-1"}, **more,
    )  # fmt: skip


def rows(done: "subprocess.CompletedProcess[str]") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(done.stdout)))


def host_of(*sections: tuple[int, int], content: bytes) -> bytes:
    """A library of .nv_fatbin sections, each an offset and a size within the content."""
    names = b"\0.nv_fatbin\0.shstrtab\0"
    begin = 64 + len(content)
    table = begin + len(names) + -(begin + len(names)) % 8

    def section(name: int, kind: int, at: int, size: int) -> bytes:
        return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, at, size, 0, 0, 1, 0)

    headers = bytes(64) + section(11, 3, begin, len(names))
    headers += b"".join(section(1, 1, 64 + at, size) for at, size in sections)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    count = len(sections) + 2
    header = ident + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, table, 0, 64, 56, 0, 64, count, 1)
    return (header + content + names).ljust(table, b"\0") + headers


def log_of(*names: str) -> bytes:
    """What `ptxas -v` says of kernels of these names."""
    kernel = "ptxas info : Compiling entry function '{}' for 'sm_90'\nptxas info : Used 10 registers\n"
    return "".join(kernel.format(name) for name in names).encode(errors="surrogateescape")


def doubling(levels: int) -> str:
    """f(P<int, int>, P<that, that>, ...): each parameter is twice as long as the one before."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return "_Z1f1PIiiE" + "".join(f"S_IS{digits[n]}_S{digits[n]}_E" for n in range(levels))


class WithFiles(unittest.TestCase):
    """Tests of files in a folder of their own."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.folder.chmod(0o755)

    def file(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def refused(self, done: "subprocess.CompletedProcess[str]", sentence: str, lines: int = 1) -> None:
        self.assertEqual(done.returncode, 4, done.stderr[-500:])
        self.assertIn(sentence, done.stderr)
        self.assertEqual(done.stderr.count("\n"), lines, done.stderr[-500:])


class DamagedInput(WithFiles):
    def test_names_an_unreadable_folder(self) -> None:
        self.file("tree/k.cubin", CUBIN.read_bytes())
        for name in ("tree/closed/k.cubin", "tree/k2.cubin"):
            closed = self.file(name, CUBIN.read_bytes())
            place = closed.parent if "closed" in name else closed
            place.chmod(0)
            with self.subTest(name):
                words = ("inspect", self.folder / "tree", "--format", "csv", "--fail-on", "registers<1")
                done = run(*words, obeys_modes=True)
                self.refused(done, f"{place.name}")
                self.assertIn("Permission denied", done.stderr)
                self.assertEqual(len(rows(done)), KERNELS)
                ignored = run(*words, "--ignore-unreadable", obeys_modes=True)
                self.assertEqual((ignored.returncode, ignored.stdout), (0, done.stdout))
                self.assertEqual(ignored.stderr, done.stderr)
                fails = run(*words[:-1], "registers>1", "--ignore-unreadable", obeys_modes=True)
                self.assertEqual(fails.returncode, 1)
            place.chmod(0o755)
            if place.is_dir():
                closed.unlink()

    def test_links(self) -> None:
        self.file("tree/deep/k.cubin", CUBIN.read_bytes())
        (self.folder / "tree/again").symlink_to("deep")
        (self.folder / "tree/loop").symlink_to(".")
        (self.folder / "tree/itself").symlink_to("itself")
        (self.folder / "tree/nowhere").symlink_to("no such file")
        done = run("inspect", self.folder / "tree", "--format", "csv")
        self.assertEqual((done.returncode, done.stderr, len(rows(done))), (0, "", KERNELS))
        self.file("beside/k.cubin", CUBIN.read_bytes())
        (self.folder / "tree/out").symlink_to("../beside")
        done = run("inspect", self.folder / "tree", "--format", "csv")
        self.refused(done, "out': is a link to another folder; name that as well")
        done = run("inspect", self.folder / "tree", self.folder / "tree/out", "--format", "csv")
        self.assertEqual(len(rows(done)), 2 * KERNELS)

    def test_limits_and_counts_error_messages(self) -> None:
        self.file("tree/k.cubin", CUBIN.read_bytes())
        for n in range(50):
            self.file(f"tree/{n}.cubin", CUBIN.read_bytes()[:3000])
        done = run("inspect", self.folder / "tree", "--format", "csv")
        self.refused(done, "50 files, folders or parts could not be read", 21)

    def test_file_truncated_while_reading_does_not_crash(self) -> None:
        begun = time.monotonic()
        run("inspect", OCCBENCH)
        takes = time.monotonic() - begun
        path = self.folder / "program"
        trials = 6 if SANITIZED else 16
        for n in range(trials):
            shutil.copy(OCCBENCH, path)
            shrink = threading.Timer(takes * n / trials, os.truncate, (path, 5000))
            shrink.start()
            done = run("inspect", path)
            shrink.join()
            self.assertIn(done.returncode, (0, 4), done.stderr)

    def test_reads_overlapping_sections_once(self) -> None:
        fatbin = (CORPUS / "plain_fatbin").read_bytes()
        one = self.file("one.so", host_of((0, len(fatbin)), content=fatbin))
        once = run("inspect", one, "--format", "csv")
        self.assertEqual((once.returncode, once.stderr), (0, ""))
        self.assertGreater(len(rows(once)), 0)
        many = host_of(*[(0, len(fatbin))] * 3000, content=fatbin)
        done = run("inspect", self.file("many.so", many), "--format", "csv")
        self.refused(done, "has sections of GPU code that overlap")
        self.assertEqual(len(rows(done)), len(rows(once)))

    def test_rejects_cubin_with_overlapping_sections(self) -> None:
        cubin = bytearray(CUBIN.read_bytes())
        (table,) = struct.unpack_from("<Q", cubin, 40)
        size, count = struct.unpack_from("<HH", cubin, 58)
        for at in range(table, table + size * count, size):
            kind, flags = struct.unpack_from("<IQ", cubin, at + 4)
            if kind == 1 and flags & 4:  # code
                struct.pack_into("<QQ", cubin, at + 24, 0, len(cubin))
        self.refused(run("inspect", self.file("k.cubin", cubin)), "has sections that overlap")

    def test_rejects_huge_sparse_files(self) -> None:
        fatbin = (CORPUS / "plain_fatbin").read_bytes()
        for name, size, sentence in (
            ("huge", 256 << 30, "has 256 GiB, and at most 16 are read"),
            ("large", 15 << 30, "holds more than 1 MiB of zeros in place of fatbins"),
        ):
            for ending in ("fatbin", "cubin"):
                path = self.file(f"{name}.{ending}", fatbin if ending == "fatbin" else CUBIN.read_bytes())
                os.truncate(path, size)
                done = run("inspect", path)
                is_large_cubin = (name, ending) == ("large", "cubin")
                self.refused(done, "is a cubin of more than 512 MiB" if is_large_cubin else sentence)

    def test_out_of_memory_is_not_a_finding(self) -> None:
        """Exit code 1 says that --fail-on holds."""
        path = self.file("k.cubin", CUBIN.read_bytes())
        os.truncate(path, 500 << 20)
        if "asan" in str(OCCBENCH):
            self.skipTest("a sanitizer takes all addresses")
        self.refused(run("inspect", path, memory=400 << 20), "out of memory")

    def test_rejects_decompression_bombs_in_fatbins(self) -> None:
        block = 128 << 10
        zeros = 4000 * block
        # RFC 8878: a frame of one segment, whose blocks each repeat one byte.
        frame = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", zeros)
        frame += struct.pack("<I", block << 3 | 1 << 1)[:3].ljust(4, b"\0") * 3999
        frame += struct.pack("<I", block << 3 | 1 << 1 | 1)[:3].ljust(4, b"\0")
        size = len(frame)
        part = struct.pack("<HHIQIIHHIIIQQQ", 2, 257, 64, size, size, 0, 0, 0, 90, 0, 0, 0x8000, 0, zeros)
        parts = (part + frame) * 300
        container = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(parts)) + parts
        done = run("inspect", self.file("many.fatbin", container), CUBIN)
        self.refused(done, "would unpack to far more than its file has bytes", 21)
        self.assertIn("300 files, folders or parts", done.stderr)

    def test_rejects_truncated_log(self) -> None:
        log = log_of(*(f"kernel_{n}_{os.urandom(8).hex()}" for n in range(2000)))
        packed = gzip.compress(log)
        words = ("--block-size", "256", "--format", "csv")
        for name, content, sentence in (
            ("cut.gz", packed[: len(packed) // 2], "it is cut off"),
            ("checksum.gz", packed[:-8], "it is cut off"),
            ("second.gz", packed + packed[: len(packed) // 2], "it is cut off"),
            ("header.gz", packed + packed[:5], "it is cut off"),
            ("followed.gz", packed + b"text", "something else follows the packed part"),
            ("wrong.gz", packed[:500] + bytes(100) + packed[600:], "it is damaged"),
        ):
            with self.subTest(name):
                done = run("calc", self.file(name, content), *words)
                self.refused(done, sentence)
                self.assertEqual(done.stdout, "")
        for content, count in ((packed, 2000), (packed + packed, 4000), (packed + bytes(512), 2000)):
            done = run("calc", self.file("whole.gz", content), *words)
            self.assertEqual((done.returncode, len(rows(done))), (0, count), done.stderr)

    def test_rejects_truncated_ncu_table(self) -> None:
        text = (ROOT / "tests/forms/ncu_rounded/twice.csv").read_bytes().rstrip(b"\n")
        for at in range(text.rindex(b"\n") + 2, text.rindex(b",") + 2):
            with self.subTest(ends=text[at - 10 : at]):
                done = run("calc", self.file("twice.csv", text[:at]), "--format", "csv")
                self.refused(done, "is cut off: a row of its table has no end")
                self.assertEqual(done.stdout, "")

    def test_truncated_log_names_the_last_kernel(self) -> None:
        """Wherever it is cut, each kernel that was begun is answered or named."""
        words = ("--block-size", "256", "--device", "h200", "--format", "csv")
        for name, begun, ended in (
            ("ptxas.txt", "Compiling entry function '", " smem\n"),
            ("res_usage.txt", " Function _Z", "SAMPLER:0"),
        ):
            text = (SAMPLES / name).read_text()
            begin, end = text.rindex(begun) + len(begun), text.rindex(ended) + 1
            for at in range(text.rindex("\n", 0, begin) + 3, text.rindex(" ", 0, begin) + 2):
                with self.subTest(name, ends=text[at - 30 : at]):
                    done = run("calc", self.file(name, text[:at].encode()), *words)
                    self.refused(done, "is cut off within its last line")
            for at in sorted({begin, begin + 1, *range(begin + 2, end, 17), end - 1}):
                with self.subTest(name, ends=text[at - 30 : at]):
                    done = run("calc", self.file(name, text[:at].encode()), *words)
                    self.refused(done, "is cut off or incomplete: it does not say what kernel '")
                    self.assertEqual(done.stdout, "")
            for at in (end + len(ended.rstrip()), len(text)):
                done = run("calc", self.file(name, text[:at].encode()), *words)
                self.assertEqual((done.returncode, done.stderr, len(rows(done))), (0, "", 4))
        kernel = "ptxas info : Compiling entry function '{}' for 'sm_90'\n"
        failed = kernel.format("first") + "ptxas error : Entry function 'first' uses too much shared data\n"
        done = run("calc", self.file("failed", failed.encode() + log_of("second")), *words)
        self.refused(done, "it does not say what kernel 'first' uses")

    def test_linked_kernels_take_linear_time(self) -> None:
        """Eight times the kernels take some eight times the CPU time, and not 64 times."""
        linked = "nvlink info : Function properties for '{}':\n" \
                 "nvlink info : used 30 registers, 0 stack, 0 bytes smem, 400 bytes cmem[0]\n"  # fmt: skip
        took_s = []
        for count in (600, 4_800) if SANITIZED else (6_000, 48_000):
            names = [f"kernel_with_a_name_of_some_length_{n}" for n in range(count)]
            log = log_of(*names) + "".join(map(linked.format, reversed(names))).encode()
            file = self.file("log", log)
            begun = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            done = run("calc", file, "--block-size", "256", "--device", "h200", "--format", "csv")
            took_s.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begun)
            self.assertEqual((done.returncode, done.stderr, len(rows(done))), (0, "", count))
        self.assertLess(took_s[1], 24 * took_s[0])

    def test_rejects_truncated_table_or_trace(self) -> None:
        table = (ROOT / "tests/tools/ncu_raw.csv").read_bytes()
        row = table.rstrip().rindex(b"\n") + 1
        trace = (SAMPLES / "pytorch_trace.json").read_bytes().rstrip()
        for name, content in (
            ("row", table[: row + (len(table) - row) // 2]), ("quote", table[: table.rstrip().rindex(b'"')]),
            ("trace", trace[: len(trace) // 2]), ("end", trace[:-1]), ("string", trace[: trace.rindex(b'"')]),
        ):  # fmt: skip
            with self.subTest(name):
                done = run("calc", self.file(name, content), "--device", "h200", "--format", "csv")
                self.refused(done, "is cut off")

    def test_rejects_trace_with_zero_bytes(self) -> None:
        """Some parsers take a zero byte for the end."""
        trace = (SAMPLES / "pytorch_trace.json").read_bytes()
        for content in (trace + bytes(9), trace.replace(b",", b"\0,", 1)):
            done = run("calc", self.file("trace.json", content), "--device", "h200")
            self.refused(done, "is not JSON: holds zero bytes")

    def test_limits_decompressed_trace(self) -> None:
        long = b'{"traceEvents": [{"name": "' + b"a" * (20 << 20) + b'"}]}'
        for name, content in (("trace.json", long), ("trace.gz", gzip.compress(long, 1))):
            done = run("calc", self.file(name, content), "--device", "h200")
            self.refused(done, "has a string of more than 16 MiB")
        for begin in (b"", b'{"traceEvents": ['):
            blanks = gzip.compress(begin + b"\n" * (64 << 20), 1)
            done = run("calc", self.file("blanks.gz", blanks), "--device", "h200")
            self.refused(done, "unpacks to more than 100 times its size")

    def test_limits_decompressed_samples(self) -> None:
        folder = self.folder / "run"
        run("run", "--device", "model:t4", "--experiment", "waves", "--output", folder)
        header, *_ = (folder / "samples.csv").read_bytes().partition(b"\n")
        (folder / "samples.csv").unlink()
        row = b",".join([b"1." + b"0" * 30] * (header.count(b",") + 1)) + b"\n"  # much text in few rows
        (folder / "samples.csv.gz").write_bytes(gzip.compress(header + b"\n" + row * (1 << 17), 9))
        self.refused(run("findings", folder), "samples.csv.gz: unpacks to more than 100 times its size")

    def test_rejects_run_with_zero_bytes(self) -> None:
        self.file("run/env.json", b"{}")
        with self.file("run/cases.csv", b"case_id,status\n").open("r+b") as cases:
            cases.truncate(240 << 20)
        self.refused(run("findings", self.folder / "run"), "cases.csv: holds zero bytes")
        self.file("run/cases.csv", b"experiment,case_id,status\n")
        self.file("run/env.json", b"{}" + bytes(9))
        self.refused(run("findings", self.folder / "run"), "env.json: is not JSON: holds zero bytes")

    def test_long_sweep_is_fast(self) -> None:
        """Of grids, each of which begins another wave: a step that is predicted."""
        columns = "experiment,family,variant,curve,case_id,status,throughput,throughput_unit,"
        columns += "register_route,occupancy_theoretical,warps_per_sm,blocks_per_sm,iterations,time_median_s,"
        columns += "waves,grid_size\n"
        row = "e,f,v,c,i{0},valid,1e12,byte/s,free,1,64,8,1,1e-3,{0},{0}\n"
        self.file("run/env.json", b'{"experiments": {"e": {"dial": "grid_size"}}}')
        count = 4_000 if SANITIZED else 40_000
        self.file("run/cases.csv", (columns + "".join(map(row.format, range(1, count + 1)))).encode())
        done = run("findings", self.folder / "run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(json.loads(done.stdout)["cliffs"]), count - 1)

    def test_many_colour_codes_are_fast(self) -> None:
        coloured = self.file("log", log_of("_Z1gi") + b"\x1b[m" * (3 << 20))
        done = run("calc", coloured, "--block-size", "256", "--format", "csv")
        self.assertEqual((done.returncode, [row["kernel"] for row in rows(done)]), (0, ["g(int)"]))

    def test_keeps_names_that_would_demangle_too_long(self) -> None:
        bombs = [doubling(n) for n in (20, 30, 35)]
        bombs.append("_Z1fIJiiiiiiiiiiEEvDp1PIDp1PIDp1PIDp1PIDp1PIDp1PIDp1PIDp1PIDp1PIDpT_EEEEEEEEE")
        log = self.file("log", log_of(*bombs, "_Z1gi"))
        done = run("calc", log, "--block-size", "256", "--format", "csv")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([row["kernel"] for row in rows(done)], [*bombs, "g(int)"])

    def test_a_byte_order_mark(self) -> None:
        for source in (SAMPLES / "pytorch_trace.json", ROOT / "tests/tools/ncu_raw.csv"):
            words = ("--device", "h200", "--format", "csv")
            plain = run("calc", source, *words)
            marked = run("calc", self.file("marked", b"\xef\xbb\xbf" + source.read_bytes()), *words)
            self.assertEqual((marked.returncode, marked.stderr), (plain.returncode, ""))
            self.assertEqual(marked.stdout, plain.stdout)

    def test_escapes_names_in_tables(self) -> None:
        """The program prints what the tools would: both have it of one table."""
        firsts, ends = unprintable()
        codes = sorted({code for first, (last, _) in zip(firsts, ends, strict=True)
                        for code in (first - 1, first, last, last + 1)})  # fmt: skip
        codes = [c for c in codes if 0 <= c < 0x110000 and c not in (10, 13) and not 0xD800 <= c < 0xE000]
        text = "".join(map(chr, codes))
        names = ["k" + text[n : n + 100] + "k" for n in range(0, len(text), 100)]
        names = [name.replace("'", "") for name in names] + ["k\udcffk", "=1+1\x1b", "\uff1dcmd"]
        done = run("calc", self.file("log", log_of(*names)), "--block-size", "256", "--format", "csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        expected = [("'" if name[0] in "=\uff1d" else "") + printable(name) for name in names]
        self.assertEqual([row["kernel"] for row in rows(done)], expected)

    def test_escapes_file_names_in_tables(self) -> None:
        for n, sign in enumerate(("\x1b[31m", "\u202e", "\x9b", "\u2028", "\udcff", "\x7f")):
            self.file(f"old/{n}{sign}.cubin", CUBIN.read_bytes())
        self.file("new/k.cubin", (SAMPLES / "inspect_capped.cubin").read_bytes())
        for form in ("table", "csv", "json", "markdown"):
            for words in ((self.folder / "old",), ("--diff", self.folder / "old", self.folder / "new")):
                done = run("inspect", *words, "--format", form)
                self.assertEqual(done.returncode, 0, done.stderr)
                shown = done.stdout.replace("\n", "")
                self.assertTrue(shown.isprintable(), ascii([c for c in shown if not c.isprintable()][:5]))
        self.assertIn("\\u202e", json.dumps([row["file"] for row in rows(
            run("inspect", self.folder / "old", "--format", "csv"))]))  # fmt: skip

    def test_full_output_device_is_an_error(self) -> None:
        table = self.file("table.csv", HEADER.encode() + b"\n" + b"h200,256,32,0,0\n" * 9000)
        calls = (
            "--version", "--help", "--help-all", "help calc", "calc --tour", "completion bash", "list",
            "calc --device h200 --block-size 256 --registers 32", f"calc --batch {table}",
            "calc --device h200 --block-size all --registers 32 --format json", "devices",
            f"calc --block-size 256 {SAMPLES}/ptxas.txt", "inspect --help", "run --help",
            *(f"inspect {CUBIN} --format {form}" for form in ("table", "csv", "json", "markdown")),
            f"inspect --diff {CUBIN} {SAMPLES}/inspect_capped.cubin",
        )  # fmt: skip
        for words in calls:
            with self.subTest(words), open("/dev/full", "w") as full:
                ended = run(*words.split()).returncode
                if ended == 3:
                    continue  # no device
                done = run(*words.split(), stdout=full, stderr=subprocess.PIPE, capture_output=False)
                self.refused(done, "standard output c")


if __name__ == "__main__":
    unittest.main()
