# SPDX-License-Identifier: Apache-2.0
"""`occbench calc FILE`: what compilers and profilers wrote, named or piped, packed or not."""

import csv
import gzip
import io
import json
import os
import stat
import subprocess
import unittest
from pathlib import Path

from command import OCCBENCH, ROOT, occbench, working_folder

SAMPLES = ROOT / "tests/samples"
NCU = ROOT / "tests/tools/ncu_raw.csv"


def asked(*words: str | Path, stdin: str = "") -> list[dict[str, str]]:
    """The rows that calc prints as CSV."""
    done = occbench("calc", *map(str, words), "--format", "csv", stdin=stdin, gpu=False)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def facts(row: dict[str, str]) -> tuple[str, ...]:
    names = ("device", "registers_per_thread", "static_smem_bytes", "barriers")
    return (row["kernel"].split("(")[0].removeprefix("void "), *(row[name] for name in names))


class Compilers(unittest.TestCase):
    def test_ptxas(self) -> None:
        rows = asked(SAMPLES / "ptxas.txt", "--block-size", "256")
        self.assertEqual(len(rows), 8)
        self.assertEqual(facts(rows[2]), ("scale<double, 256>", "cc8.0", "12", "2048", "1"))
        self.assertEqual(facts(rows[5]), ("plain", "cc9.0", "10", "0", "1"))
        spilled = rows[4]  # of the second architecture
        self.assertEqual((spilled["stack_bytes"], spilled["spill_bytes"]), ("64", str(108 + 116)))
        self.assertEqual(spilled["barriers"], "0")

    def test_cuobjdump_agrees_with_ptxas(self) -> None:
        """Both are of one compilation; cuobjdump counts 1,024 B of reserved shared memory on cc 9.0."""
        words = ("--block-size", "256")
        ptxas, dump = (asked(SAMPLES / name, *words) for name in ("ptxas.txt", "res_usage.txt"))
        same = [(*facts(row)[:4], row["stack_bytes"]) for row in ptxas]
        self.assertEqual([(*facts(row)[:4], row["stack_bytes"]) for row in dump], same)

    def test_device_selects_the_code_of_its_architecture(self) -> None:
        for device, count in (("h200", 4), ("a100", 4), ("l4", 8)):
            rows = asked(SAMPLES / "ptxas.txt", "--block-size", "64", "--device", device)
            self.assertEqual([row["device"] for row in rows], [device] * count)

    def test_piped_and_gzipped_input_is_equivalent(self) -> None:
        text = (SAMPLES / "ptxas.txt").read_text()
        words = ("--block-size", "96")
        named = asked(SAMPLES / "ptxas.txt", *words)
        self.assertEqual(asked("-", *words, stdin="[1/2] Building CUDA object\n" + text), named)
        with working_folder() as folder:
            (folder / "log.gz").write_bytes(gzip.compress(text.encode()))
            self.assertEqual(asked("log.gz", *words), named)

    def test_command_line_values_override_the_input(self) -> None:
        words = (SAMPLES / "ptxas.txt", "--kernel", "plain", "--device", "h200", "--block-size", "256")
        (row,) = asked(*words, "--dynamic-smem", "100K", "--registers", "96")
        numbers = "--device h200 --block-size 256 --registers 96 --dynamic-smem 100K --format csv"
        alone = occbench("calc", *numbers.split(), gpu=False)
        (other,) = csv.DictReader(io.StringIO(alone.stdout))
        self.assertEqual({key: row[key] for key in other}, other)
        self.assertIn("cudaFuncSetAttribute", row["status"])

    def test_block_size_all_lists_every_size_per_kernel(self) -> None:
        rows = asked(SAMPLES / "ptxas.txt", "--device", "h200", "--block-size", "all")
        self.assertEqual(len(rows), 4 * 32)
        table = occbench("calc", str(SAMPLES / "ptxas.txt"), "--device", "h200", "--block-size", "all").stdout
        self.assertIn("100.0 % with 64, 128, 256, 512, 1,024", table)

    def test_cannot_launch_returns_exit_code_and_reason(self) -> None:
        words = ("calc", str(SAMPLES / "ptxas.txt"), "--block-size", "256", "--static-smem", "64K")
        done = occbench(*words, gpu=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"hidden, plain, .* and 1 more: cannot launch: 65,536 B of static")

    def test_csv_rows_round_trip_through_batch(self) -> None:
        words = ("calc", str(SAMPLES / "ptxas.txt"), "--block-size", "96", "--format", "csv")
        table = occbench(*words, gpu=False).stdout
        again = occbench("calc", "--batch", "-", stdin=table, gpu=False).stdout
        first, second = (list(csv.DictReader(io.StringIO(text))) for text in (table, again))
        self.assertEqual([row | second[n] for n, row in enumerate(first)], first)


class Profilers(unittest.TestCase):
    def test_ncu_and_theory_agree(self) -> None:
        (row,) = asked(NCU)
        self.assertEqual((row["launches"], row["block_size"]), ("3", "256"))
        said = json.loads(occbench("calc", str(NCU), "--format", "json", gpu=False).stdout)[0]
        table = csv.DictReader(line for line in NCU.read_text().splitlines() if not line.startswith("=="))
        counted = next(row for row in table if row["ID"] == "0")
        for resource in ("registers", "warps", "blocks"):
            ncu = int(counted[f"launch__occupancy_limit_{resource}"])
            self.assertEqual(said["blocks_allowed_by"][resource], ncu, resource)

    def test_reads_ncu_details_page(self) -> None:
        names = ("ID", "Process ID", "Kernel Name", "Block Size", "CC", "Metric Name", "Metric Unit")
        head = ",".join(f'"{name}"' for name in (*names, "Metric Value")) + "\n"
        rows = (("Registers Per Thread", "register/thread", "40"), ("Duration", "us", "1,024.5"),
                ("Static Shared Memory Per Block", "Kbyte/block", "2.05"),
                ("Dynamic Shared Memory Per Block", "byte/block", "65,536"))  # fmt: skip
        text = head + "".join(f'"0","7","k","(16, 16, 1)","9.0","{n}","{u}","{v}"\n' for n, u, v in rows)
        (row,) = asked("-", stdin=f"==PROF== Connected\n{text}")
        self.assertEqual(facts(row), ("k", "cc9.0", "40", "2048", "1"))
        self.assertEqual((row["block_size"], row["dynamic_smem_bytes"]), ("256", "65536"))
        self.assertEqual((float(row["time_us"]), row["status"]), (1024.5, "ok"))  # it ran: it has opted in

    def test_sums_of_times_have_no_rounding_noise(self) -> None:
        """0.1 + 0.2 is 0.30000000000000004 in binary."""
        names = ("ID", "Kernel Name", "Block Size", "CC", "launch__registers_per_thread",
                 "launch__shared_mem_per_block_dynamic", "gpu__time_duration.sum")  # fmt: skip
        rows = (names, ("",) * 6 + ("us",), ("1", "k", "64", "9.0", "32", "0", "0.1"),
                ("2", "k", "64", "9.0", "32", "0", "0.2"))  # fmt: skip
        text = "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in rows)
        (row,) = asked("-", stdin=text)
        self.assertEqual(row["time_us"], "0.3")
        done = occbench("calc", "-", "--format", "json", stdin=text, gpu=False)
        self.assertIn('"time_us": 0.3,', done.stdout)

    def test_reads_ncu_rep_through_ncu(self) -> None:
        with working_folder() as folder:
            (folder / "p.ncu-rep").write_bytes(b"NVR\0binary")
            fake = folder / "ncu"
            fake.write_text(f'#!/bin/sh\n[ "$4" = p.ncu-rep ] && cat {NCU}\n')
            fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
            path = {"PATH": f"{folder.resolve()}:{os.environ['PATH']}", "CUDA_VISIBLE_DEVICES": ""}
            words = [OCCBENCH, "calc", "p.ncu-rep", "--format", "csv"]
            done = subprocess.run(words, capture_output=True, text=True, env=os.environ | path)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            expected = [row | {"form": "ncu report"} for row in asked(NCU)]
            self.assertEqual(list(csv.DictReader(io.StringIO(done.stdout))), expected)
            fake.write_text("#!/bin/sh\necho ==ERROR== broken; exit 1\n")
            done = subprocess.run(words, capture_output=True, text=True, env=os.environ | path)
            self.assertEqual((done.returncode, done.stdout), (4, ""))
            self.assertIn("p.ncu-rep: ncu cannot read it: ==ERROR== broken", done.stderr)
            fake.unlink()
            nowhere = path | {"PATH": str(folder.resolve()), "CUDA_HOME": "", "CUDA_PATH": ""}
            if not Path("/usr/local/cuda/bin/ncu").exists():
                done = subprocess.run(words, capture_output=True, text=True, env=os.environ | nowhere)
                self.assertEqual((done.returncode, done.stdout), (5, ""))
                self.assertIn("p.ncu-rep: ncu reads it, and is not here; ", done.stderr)

    def test_reads_pytorch_trace(self) -> None:
        gemm, triton, add = asked(SAMPLES / "pytorch_trace.json")  # longest first
        self.assertEqual((gemm["block_size"], gemm["dynamic_smem_bytes"]), ("384", "213120"))
        self.assertEqual((gemm["device"], gemm["status"]), ("cc9.0", "ok"))
        self.assertEqual((triton["launches"], float(triton["time_us"])), ("3", 15.0))
        self.assertEqual((add["block_size"], add["launches"]), ("128", "1"))

    def test_reads_trace_without_the_outer_object(self) -> None:
        events = json.dumps(json.loads((SAMPLES / "pytorch_trace.json").read_text())["traceEvents"])
        rows = asked("-", "--device", "h200", stdin=events)
        self.assertEqual([row["launches"] for row in rows], ["1", "3", "1"])


if __name__ == "__main__":
    unittest.main()
