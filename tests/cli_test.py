# SPDX-License-Identifier: Apache-2.0
"""What occbench says to bad input and bad luck: the sentence and the exit code, pinned.

REFUSALS and CELLS are the documentation of errors. Rows marked gpu and classes named OnDevice need a device
and are skipped without one; all others hide it, so that they read the same everywhere. OCCBENCH names the
binary.
"""

import contextlib
import csv
import gzip
import io
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
OCCBENCH = Path(os.environ.get("OCCBENCH", ROOT / "build/ci/benchmarks/occbench")).resolve()
HAS_GPU = subprocess.run([OCCBENCH, "devices"], capture_output=True).returncode == 0
on_device = unittest.skipUnless(HAS_GPU, "needs a GPU")
NO_DEVICE = "answers without one"
KNOWN_EXPERIMENTS = "there are adam, barriers, black_scholes, block_size, "
HEADER = "device,block_size,registers_per_thread,static_smem_bytes,dynamic_smem_bytes"
NEEDS = "it needs device, block_size, registers_per_thread, static_smem_bytes, dynamic_smem_bytes"
CALC = "calc --device h200 --block-size 256 --registers 32"
PARAMETERS = ROOT / "tests/made_up_parameters.json"


def parameters_but(**changed: object) -> str:
    """The made-up parameters file with some parameters replaced by these, or left out where None."""
    content = json.loads(PARAMETERS.read_text())
    content["parameters"] |= changed
    content["parameters"] = {k: v for k, v in content["parameters"].items() if v is not None}
    return json.dumps(content)


def validated(folder: Path) -> "subprocess.CompletedProcess[str]":
    """`occbench validate FOLDER`, of this tree."""
    words = [sys.executable, "-m", "occbench_tools.validate", folder]
    tools = os.environ | {"PYTHONPATH": str(ROOT / "tools")}
    return subprocess.run(words, text=True, capture_output=True, env=tools)


class Refusal(NamedTuple):
    words: str
    code: int
    sentence: str  # a part of the one line on stderr
    files: dict[str, str] | None = None  # what lies in the working folder, and alone lies there afterwards
    stdin: str = ""
    gpu: bool = False


REFUSALS = [
    # 2: the words of the call
    Refusal("", 2, "which command? `occbench --help` names them all"),
    Refusal("frobnicate", 2, "no command 'frobnicate'; `occbench --help` names them all"),
    Refusal("rnu", 2, "no command 'rnu'; did you mean 'run'?"),
    Refusal("../report", 2, "no command '../report'; "),
    Refusal("findings", 2, "'findings' is `occbench explain` now"),
    Refusal("devices --frobnicate", 2, "not expected: --frobnicate; see `occbench devices --help`"),
    Refusal("devices --format xml", 2, "--format: xml not in {table,csv,json}"),
    Refusal("list --preset slow", 2, "no preset 'slow'; there are quick, standard and full"),
    Refusal("list --experiment nope", 2, f"no experiment 'nope'; {KNOWN_EXPERIMENTS}"),
    Refusal("list --device nope", 2, "unknown device 'nope'; known: "),
    Refusal("list --device model:nope", 2, "there is no model of 'nope'; name model:"),
    Refusal("list --device model:h200 --show-ncu", 2, "a model launches nothing that a profiler could see"),
    Refusal("list --variants --format csv", 2, "list --variants prints a table or json"),
    Refusal("run --frobnicate", 2, "run knows no '--frobnicate'; see `occbench run --help`"),
    Refusal("run registers", 2, "run knows no 'registers'; see `occbench run --help`"),
    Refusal("run --device model:h300", 2, "there is no model of 'h300'; name model:"),
    Refusal("run --device model:cc9.0", 2, "there is no model of 'cc9.0'; name model:"),
    Refusal("run --device model:p100", 2, "there is no model of 'p100'; name model:"),
    Refusal("run --device model:h200 --case nope", 2, "no case 'nope' in preset standard; "),
    Refusal("run --device model:", 2, "there is no model of ''; name model:"),
    Refusal(f"run --device model:{PARAMETERS} --parameters p.json", 2, "--parameters goes with a GPU"),
    Refusal("run --resume run --parameters p.json", 2, "--parameters excludes --resume"),
    Refusal(f"run --device model:{PARAMETERS} --case nope", 2, "no case 'nope' in preset standard; "),
    Refusal(
        "run --resume run --device model:h200",
        2,
        "run is a run of a model, and goes on with it; leave --device away",
        files={
            "run/env.json": json.dumps(
                {
                    "source": "model",
                    "parameters": {"file": "p.json", "content": json.loads(PARAMETERS.read_text())},
                }
            )
        },
    ),
    Refusal("run --preset slow", 2, "no preset 'slow'; there are quick, standard and full"),
    Refusal("run --experiment registers,nope", 2, f"no experiment 'nope'; {KNOWN_EXPERIMENTS}"),
    Refusal("run --seed many", 2, "--seed: Value many not in range 0 to 1000000000"),
    Refusal("run --launches 3", 2, "--launches requires --case"),
    Refusal("run --profile", 2, "--profile requires --case"),
    Refusal("run --device model:h200 --case nope,other", 2, "no case 'nope' in preset standard; "),
    Refusal("list --show-ncu --variants", 2, "--variants excludes --show-ncu"),
    Refusal("list --show-ncu --show-nsys", 2, "--show-ncu excludes --show-nsys"),
    Refusal("run --case some --launches 0", 2, "--launches: "),
    Refusal("run --counters warps", 2, "knows occupancy, memory and stalls, or none alone; not 'warps'"),
    Refusal("run --counters none,memory", 2, "--counters knows occupancy, memory and stalls, or none alone"),
    Refusal("run --counters memory --resume run", 2, "--counters excludes --resume"),
    Refusal("run --counters memory --case some", 2, "--counters excludes --case"),
    Refusal(f"run --device model:{PARAMETERS} --counters memory", 2, "a model has no counters; "),
    Refusal("run --output a --resume b", 2, "--output excludes --resume"),
    Refusal("run --benchmark_nope", 2, "Google Benchmark knows no flag '--benchmark_nope'"),
    Refusal("run --benchmark_repetitions=abc", 2, "=abc: the value must be a whole number"),
    Refusal("run --benchmark_time_unit=fortnight", 2, "the value must be ns, us, ms or s"),
    Refusal(
        "run --device model:h200 --anonymous --benchmark_out=x.json",
        2,
        "writes the host's name into its file; an anonymous run goes without --benchmark_out",
    ),
    Refusal("run --resume ''", 2, "--resume: is empty"),
    Refusal("run --output ''", 2, "--output: is empty"),
    Refusal("run --resume run --preset quick", 2, "--preset excludes --resume"),
    Refusal("run --benchmark_format=xml", 2, "--benchmark_format"),
    Refusal("run '--benchmark_filter=('", 2, "--benchmark_filter '(' is not a regular expression"),
    Refusal("calibrate --frobnicate", 2, "not expected: --frobnicate; see `occbench calibrate --help`"),
    Refusal("calibrate --output ''", 2, "--output: is empty"),
    Refusal("calibrate --device", 2, "--device: 1 required"),
    Refusal("calc", 2, "calc needs --block-size and --registers (or --batch FILE, or --tour)"),
    Refusal("calc --block-size 256 --registers 32", 2, "no device is named; --device h200, for one"),
    Refusal("calc --device h300 --block-size 256 --registers 32", 2, "unknown device 'h300'; known: p100 "),
    Refusal("calc --device cc9.9 --block-size 256 --registers 32", 2, "'cc9.9'"),
    Refusal(
        "calc --device h200 --registers 32 --block-size many", 2, "--block-size 'many' is not a whole number"
    ),
    Refusal("calc --device h200 --registers 32 --block-size -5", 2, "--block-size '-5' is negative"),
    Refusal("calc --device h200 --registers 32 --block-size 1e99", 2, "'1e99' is not a whole number"),
    Refusal(
        f"{CALC} --dynamic-smem 99999999999999999999", 2, "--dynamic-smem '99999999999999999999' is too large"
    ),
    Refusal(f"{CALC} --dynamic-smem 8589934592G", 2, "--dynamic-smem '8589934592G' is too large"),
    Refusal(f"{CALC} --cluster-size 17", 2, "--cluster-size '17' is too large (at most 16)"),
    Refusal(f"{CALC} --carveout -2", 2, "--carveout '-2' is less than -1"),
    Refusal(f"{CALC} --format xml", 2, "--format: xml not in {table,csv,json}"),
    Refusal(
        f"{CALC} --predict nope",
        2,
        "no kernel class 'nope'; there are streaming, compute, shared_memory and mixed",
    ),
    Refusal(f"{CALC} --predict ''", 2, "--predict: is empty"),
    Refusal(f"{CALC} --ilp 2", 2, "--ilp requires --predict"),
    Refusal(f"{CALC} --predict streaming --ilp 0", 2, "--ilp '0' is less than 1"),
    Refusal(f"{CALC} --predict streaming --ilp 9", 2, "--ilp '9' is too large (at most 8)"),
    Refusal(
        f"{CALC} --predict streaming --bytes-per-access 5", 2, "bytes per access 5 is none of 4, 8 and 16"
    ),
    Refusal(
        f"{CALC} --predict streaming --intensity 2",
        2,
        "--intensity is a dial of mixed, and streaming has none",
    ),
    Refusal(f"{CALC} --predict streaming --operands 2", 2, "--operands is a dial of compute"),
    Refusal(f"{CALC} --predict compute --operands 4", 2, "operands 4 is neither 2 nor 3"),
    Refusal(
        f"{CALC} --predict compute --bytes-per-access 4",
        2,
        "--bytes-per-access is a dial of classes that load",
    ),
    Refusal(f"{CALC} --predict mixed", 2, "mixed needs --intensity, in FLOP per byte from DRAM"),
    Refusal(
        f"{CALC} --predict mixed --intensity much", 2, "--intensity 'much' is not a number of FLOP per byte"
    ),
    Refusal(
        f"{CALC} --predict mixed --intensity 999",
        2,
        "mixed wants an intensity of 0.25 to 128 FLOP per byte, not 999",
    ),
    Refusal(
        f"{CALC} --predict compute --cluster-size 2",
        2,
        "--predict knows no clusters; leave --cluster-size away",
    ),
    Refusal(
        "calc --device p100 --block-size 256 --registers 32 --predict compute",
        2,
        "no parameters of p100 are known, only of ",
    ),
    Refusal(
        f"{CALC.replace('h200', 'p100')} --predict compute --parameters {ROOT}/harness/parameters/h200.json",
        2,
        "h200.json: is of NVIDIA H200 (h200), and --device says p100",
    ),
    Refusal(
        "calc --batch - --predict mixed",
        2,
        "mixed needs --intensity",
        stdin=f"{HEADER}\n",
    ),
    Refusal("calc --tour --predict compute", 2, "--tour excludes --predict"),
    Refusal(f"{CALC} --batch -", 2, "excludes"),
    Refusal(
        "calc --batch -",
        2,
        f"standard input: the header lacks device, block_size, registers_per_thread, "
        f"static_smem_bytes, dynamic_smem_bytes; {NEEDS}",
    ),
    Refusal(
        "calc --batch t.csv",
        2,
        f"'t.csv': the header lacks registers_per_thread, dynamic_smem_bytes; {NEEDS}",
        files={"t.csv": "device,block_size,static_smem_bytes\nh200,256,0\n"},
    ),
    Refusal("calc --batch -", 2, "standard input: column device appears twice", stdin=f"device,{HEADER}\n"),
    # 3: no usable device
    Refusal("devices", 3, NO_DEVICE),
    Refusal("run", 3, NO_DEVICE),
    Refusal("run --device h200", 3, NO_DEVICE),
    Refusal("run --output new", 3, NO_DEVICE),
    Refusal("run --benchmark_out=new.json", 3, NO_DEVICE),
    Refusal("calibrate", 3, NO_DEVICE),
    Refusal("calibrate --device h200 --output p.json", 3, NO_DEVICE),
    # 4: a file
    Refusal(
        f"{CALC} --predict compute --parameters p.json",
        4,
        "p.json: cannot be read: No such file or directory",
    ),
    Refusal(
        "calc --batch - --predict compute --parameters p.json",
        4,
        "p.json: cannot be read: No such file or directory",
        stdin=f"{HEADER}\n",
    ),
    Refusal("calc --batch missing.csv", 4, "cannot read 'missing.csv': No such file or directory"),
    Refusal("calc --batch .", 4, "cannot read '.': Is a directory"),
    Refusal("run --benchmark_out=missing/x.json", 4, "missing/x.json: cannot be written (--benchmark_out)"),
    Refusal("run --device model:p.json", 4, "p.json: cannot be read: No such file or directory"),
    Refusal("run --parameters p.json", 4, "p.json: cannot be read: No such file or directory"),
    Refusal("run --device model:p.json", 4, "p.json: is not JSON: ", files={"p.json": "{"}),
    Refusal("run --device model:p.json", 4, "p.json: is not a JSON object", files={"p.json": "1"}),
    Refusal(
        "run --device model:p.json",
        4,
        "p.json: lacks dram_latency; `occbench calibrate` writes a whole file",
        files={"p.json": parameters_but(dram_latency=None)},
    ),
    Refusal(
        "run --device model:p.json",
        4,
        "p.json: the model knows no parameter 'warp_drive'",
        files={"p.json": parameters_but(warp_drive=1)},
    ),
    Refusal(
        "run --device model:p.json",
        4,
        "p.json: parameter 'launch': is in 'us', and must be in 's'",
        files={"p.json": parameters_but(launch=dict(value=3.4, unit="us", source="", method=""))},
    ),
    Refusal(
        "run --device model:p.json",
        4,
        "p.json: parameter 'launch': is 3400.0 s, which no device is near to",
        files={"p.json": parameters_but(launch=dict(value=3400.0, unit="s", source="", method=""))},
    ),
    Refusal(
        f"{CALC} --predict compute --parameters p.json",
        4,
        "p.json: lacks sm_clock; `occbench calibrate` writes a whole file",
        files={"p.json": parameters_but(sm_clock=None)},
    ),
    Refusal(
        f"{CALC} --predict streaming --parameters p.json",
        2,
        "the device's parameters lack 'dram_latency', which the class streaming needs",
        files={"p.json": parameters_but(dram_latency=dict(value=None, unit="s", source="", method=""))},
    ),
    Refusal(
        "run --device model:p.json",
        4,
        "p.json: parameter 'launch': is -1, and must be greater than 0",
        files={"p.json": parameters_but(launch=dict(value=-1, unit="s", source="", method=""))},
    ),
    Refusal(
        "run --device model:p.json",
        4,
        "p.json: is not JSON: ",
        files={"p.json": parameters_but(launch=dict(value=float("nan"), unit="s", source="", method=""))},
    ),
    Refusal("run --resume missing", 4, "missing: holds no run (no env.json)"),
    Refusal("run --resume run", 4, "run/env.json: is not JSON: parse error", files={"run/env.json": "{"}),
    # with a device
    Refusal("run --device nope", 2, "no device matches 'nope'; this machine has: 0 ", gpu=True),
    Refusal("run --device 99", 2, "no device matches '99'; this machine has: 0 ", gpu=True),
    Refusal(
        "run --case nope",
        2,
        "no case 'nope' in preset standard; `occbench list --format csv` names them all",
        gpu=True,
    ),
    Refusal(
        "run --resume run",
        2,
        "run was measured on another device (Other GPU-0), not on GPU-",
        files={"run/env.json": '{"gpu": {"name": "Other", "uuid": "GPU-0"}}'},
        gpu=True,
    ),
    Refusal("calibrate --device nope", 2, "no device matches 'nope'; this machine has: 0 ", gpu=True),
    Refusal(
        "calibrate --output p.json",
        4,
        "p.json: is there already; --force replaces it, --output names another",
        files={"p.json": "mine"},
        gpu=True,
    ),
    Refusal("calibrate --output .", 4, ".: is a folder, not a file", gpu=True),
    Refusal(
        "calibrate --output taken/p.json",
        4,
        "taken: cannot be created: ",
        files={"taken": "mine"},
        gpu=True,
    ),
    Refusal("run --output taken", 4, "taken: is a file, not a folder", files={"taken": "mine"}, gpu=True),
    Refusal(
        "run --output taken/run",
        4,
        "taken/run: cannot be created: Not a directory",
        files={"taken": "mine"},
        gpu=True,
    ),
    Refusal("run --output /proc/run", 4, "/proc/run: cannot be created: No such file or directory", gpu=True),
    Refusal(
        "run --output run",
        4,
        "run: already holds a run; go on with --resume, or name another folder",
        files={"run/env.json": "{}"},
        gpu=True,
    ),
]

# One row of a table that cannot be read or launched says so; the rows around it are answered all the same.
CELLS = [
    ("h200,256,32,0,0", "8,64,1,warps+registers,ok"),
    (
        "H 200,256,32K,0,0",
        "0,0,0,registers,cannot launch: 32,768 registers per thread: a thread has at most 255",
    ),
    ("nope,256,32,0,0", ",,,,invalid: unknown device 'nope'; known: "),
    (",256,32,0,0", ",,,,invalid: no device is named; --device h200, for one"),
    (
        "h200,many,32,0,0",
        ",,,,invalid: block_size 'many' is not a whole number (write 256, 32K, 48KiB or 1M)",
    ),
    ("h200,,32,0,0", ",,,,invalid: block_size '' is not a whole number (write 256, 32K, 48KiB or 1M)"),
    ("h200,nan,32,0,0", ",,,,invalid: block_size 'nan' is not a whole number"),
    ("h200,256,-32,0,0", ",,,,invalid: registers_per_thread '-32' is negative"),
    (
        "h200,256,32,0,99999999999999999999",
        ",,,,invalid: dynamic_smem_bytes '99999999999999999999' is too large",
    ),
    (
        "h200,256,32,0,9223372036854775807",
        "0,0,0,shared_memory,cannot launch: 0 B static + "
        "9,223,372,036,854,775,807 B dynamic shared memory exceeds the 232,448 B a block may have on cc 9.0",
    ),
    ("h200,4294967552,32,0,0", ",,,,invalid: block_size '4294967552' is too large (at most 2147483647)"),
    (
        "h200,2048,32,0,0",
        "0,0,0,warps,cannot launch: block size 2,048 exceeds the device's 1,024 threads per block",
    ),
    ("h200,0,32,0,0", "0,0,0,none,cannot launch: "),
    ("h200,256,256,0,0", "0,0,0,registers,cannot launch: 256 registers per thread: a thread has at most 255"),
    (
        "h200,256,32,0,300K",
        "0,0,0,shared_memory,cannot launch: 0 B static + 307,200 B dynamic shared memory exceeds "
        "the 232,448 B a block may have on cc 9.0",
    ),
    ("h200,256,32,0", ",,,,invalid: the row has 4 fields where the header has 5"),
    ("h200,256,32,0,0,0", ",,,,invalid: the row has 6 fields where the header has 5"),
    ("a100,512,33,0,0", "3,48,0.75,registers,ok"),
]


def occbench(
    *words: str, stdin: str = "", gpu: bool = True, room_bytes: int | None = None
) -> "subprocess.CompletedProcess[str]":
    """Runs it to its end. `room_bytes` is the size at which its files stop growing: a full disk."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room_bytes, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    environment = os.environ if gpu else os.environ | {"CUDA_VISIBLE_DEVICES": "-1"}
    before = None if room_bytes is None else limit
    return subprocess.run(
        [OCCBENCH, *words],
        input=stdin,
        text=True,
        capture_output=True,
        env=environment,
        timeout=300,
        preexec_fn=before,
    )


@contextlib.contextmanager
def working_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        try:
            yield Path()
        finally:
            os.chdir(before)


def content(folder: Path) -> dict[str, str]:
    return {str(p): p.read_text() if p.is_file() else "" for p in sorted(folder.rglob("*")) if not p.is_dir()}


def rows(path: Path) -> list[dict[str, str]]:
    """Those of a CSV file; of samples also where they are packed."""
    with path.open(newline="") if path.exists() else gzip.open(f"{path}.gz", "rt", newline="") as file:
        return list(csv.DictReader(file))


def some_cases(count: int) -> list[str]:
    """Of preset quick; each has its dials within the reach of any device."""
    cases = json.loads(occbench("list", "--preset", "quick", "--format", "json").stdout)["cases"]
    return [case["case_id"] for case in cases[:count]]


class RefusalTable(unittest.TestCase):
    def check_rows(self, gpu: bool) -> None:
        for row in REFUSALS:
            if row.gpu != gpu:
                continue
            with self.subTest(row.words), working_folder() as folder:
                files = row.files or {}
                for name, text in files.items():
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_text(text)
                done = occbench(*shlex.split(row.words), stdin=row.stdin, gpu=row.gpu)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertTrue(done.stderr.startswith("occbench: "), done.stderr)
                self.assertIn(row.sentence, done.stderr)
                self.assertEqual(done.returncode, row.code)
                self.assertEqual(done.stdout, "")
                self.assertEqual(content(folder), files)


class Refusals(RefusalTable):
    def test_the_table(self) -> None:
        self.check_rows(gpu=False)

    def test_a_full_standard_output(self) -> None:
        for words in ("list", "list --format csv", CALC, "calc --tour"):
            with self.subTest(words), open("/dev/full", "w") as full:
                done = subprocess.run(
                    [OCCBENCH, *words.split()], stdout=full, stderr=subprocess.PIPE, text=True
                )
                self.assertRegex(done.stderr, r"^occbench: standard output (cannot|could not) be written\n$")
                self.assertEqual(done.returncode, 4)


class Batch(unittest.TestCase):
    def test_bad_rows_get_a_status_and_the_others_an_answer(self) -> None:
        table = "\n".join([HEADER, *(cells for cells, _ in CELLS)]) + "\n"
        done = occbench("calc", "--batch", "-", stdin=table, gpu=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        header, *answers = csv.reader(io.StringIO(done.stdout))
        self.assertEqual(
            header, [*HEADER.split(","), "blocks_per_sm", "warps_per_sm", "occupancy", "limiters", "status"]
        )
        self.assertEqual(len(answers), len(CELLS))
        for (cells, expected), answer in zip(CELLS, answers, strict=True):
            with self.subTest(cells):
                self.assertEqual(len(answer), len(header))
                self.assertTrue(",".join(answer[5:]).startswith(expected), answer)

    def test_predictions_come_behind_the_answers(self) -> None:
        table = f"""{HEADER},kernel_class
h200,256,32,0,0,
h200,256,32,0,0,compute
h200,256,32,0,0,nope
p100,256,32,0,0,
h200,2048,32,0,0,
"""
        words = ("calc", "--batch", "-", "--predict", "mixed", "--intensity", "4")
        done = occbench(*words, stdin=table, gpu=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual(
            list(rows[0])[-4:],
            ["status", "kernel_class", "predicted_percent_of_peak", "predicted_bound"],
        )
        self.assertEqual(
            [r["kernel_class"] for r in rows],
            ["mixed", "compute", "", "mixed", "mixed"],
        )
        mixed, compute, unknown, unmodelled, unlaunchable = rows
        self.assertEqual((mixed["status"], mixed["predicted_bound"]), ("ok", "latency"))
        self.assertEqual((compute["status"], compute["predicted_bound"]), ("ok", "pipe"))
        for row in mixed, compute:
            self.assertTrue(30 < float(row["predicted_percent_of_peak"]) <= 100, row)
        self.assertIn("invalid: no kernel class 'nope'", unknown["status"])
        self.assertIn("ok; not predicted: no parameters of p100 are known", unmodelled["status"])
        self.assertEqual(unmodelled["blocks_per_sm"], "8")
        self.assertIn("cannot launch", unlaunchable["status"])
        for row in unknown, unmodelled, unlaunchable:
            self.assertEqual((row["predicted_percent_of_peak"], row["predicted_bound"]), ("", ""))
        again = occbench(*words, stdin=done.stdout, gpu=False)  # earlier answers are replaced
        self.assertEqual(next(csv.DictReader(io.StringIO(again.stdout))), mixed)

    def test_a_prediction_is_the_same_in_every_format(self) -> None:
        words = shlex.split("calc --device h200 --block-size 512 --registers 36 --predict streaming")
        table = occbench(*words, gpu=False).stdout
        now, *cliffs = csv.DictReader(io.StringIO(occbench(*words, "--format", "csv", gpu=False).stdout))
        said = json.loads(occbench(*words, "--format", "json", gpu=False).stdout)["prediction"]
        self.assertIn(said["answer"], table)
        self.assertIn(
            "Freeing 4 registers (36 -> 32) raises occupancy from 75.0 % to 100.0 %",
            said["answer"],
        )
        self.assertEqual(float(now["predicted_percent_of_peak"]), said["percent_of_peak"])
        self.assertIn(f"now: {said['percent_of_peak']:.1f} % of peak, bound by latency", table)
        self.assertEqual([row["cliff"] for row in cliffs], [step["dial"] for step in said["cliffs"]])
        for row, step in zip(cliffs, said["cliffs"], strict=True):
            self.assertEqual(int(row[step["dial"]]), step["value"])
            self.assertEqual(float(row["occupancy"]), step["occupancy"])
            self.assertEqual(float(row["predicted_percent_of_peak"]), step["percent_of_peak"])
            self.assertIn(f"{step['percent_of_peak']:.1f} %", table)


class ProfilerCalls(unittest.TestCase):
    def test_lines_to_paste(self) -> None:
        """Each names its case to the tool and to this program, which takes the words as a shell gives."""
        for flag, tool in (("--show-ncu", "ncu"), ("--show-nsys", "nsys")):
            listed = occbench("list", "--preset", "quick", "--experiment", "registers", "--format", "csv")
            cases = [row["case_id"] for row in csv.DictReader(io.StringIO(listed.stdout))]
            done = occbench("list", "--preset", "quick", "--experiment", "registers", flag)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            lines = done.stdout.splitlines()
            for case, line in zip(cases, lines, strict=True):
                words = shlex.split(line)
                self.assertEqual(words[0], tool)
                if tool == "ncu":
                    self.assertEqual(words[words.index("--nvtx-include") + 1], f"occbench@{case}/")
                self.assertEqual(words[words.index("--case") + 1], case)
            named = occbench("list", "--preset", "quick", "--device", "h200", flag)
            words = shlex.split(named.stdout.splitlines()[0])
            self.assertEqual(words[words.index("--device") + 1], "h200")
            words = shlex.split(lines[0])
            refused = occbench(*words[words.index(str(OCCBENCH)) + 1 :], "--device", "model:h200")
            self.assertEqual(refused.returncode, 2)
            self.assertIn("--case is for profilers", refused.stderr)


@on_device
class RefusalsOnDevice(RefusalTable):
    def test_the_table(self) -> None:
        self.check_rows(gpu=True)


class BadLuck:
    """Runs that end early: each finished row is readable, and --resume does the rest."""

    RUN: tuple[str, ...]
    LIST: tuple[str, ...]

    def assert_completes(self, folder: Path) -> None:
        early = {row["case_id"] for row in rows(folder / "cases.csv")}
        done = occbench("run", "--resume", str(folder))
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        ids = [row["case_id"] for row in rows(folder / "cases.csv")]
        self.assertEqual(len(ids), len(set(ids)), "a case has two rows")
        planned = json.loads(occbench("list", *self.LIST, "--format", "json").stdout)["cases"]
        self.assertEqual(set(ids), {case["case_id"] for case in planned})
        self.assertLessEqual(early, set(ids))
        check = validated(folder)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)

    def run_and_signal(self, folder: Path, number: signal.Signals) -> "tuple[int, str]":
        """Sends the signal once some cases are on disk; exit code and what was said."""
        for _ in range(10):  # a model may be done before the signal reaches it
            with subprocess.Popen(
                [OCCBENCH, "run", *self.RUN, "--output", folder],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            ) as process:
                cases, end = folder / "cases.csv", time.monotonic() + 120
                while process.poll() is None and (not cases.exists() or cases.read_bytes().count(b"\n") < 40):
                    self.assertLess(time.monotonic(), end, "no case was finished in time")
                    time.sleep(0.001)
                process.send_signal(number)
                said = process.communicate()[0]
            if process.returncode != 0:
                break
            shutil.rmtree(folder)
        return process.returncode, said

    def test_kill(self) -> None:
        with working_folder() as folder:
            code, _ = self.run_and_signal(folder / "run", signal.SIGKILL)
            self.assertEqual(code, -signal.SIGKILL)
            text = (folder / "run/cases.csv").read_text()
            whole = text[: text.rindex("\n") + 1]
            self.assertGreaterEqual(len(list(csv.DictReader(io.StringIO(whole)))), 39)
            self.assert_completes(folder / "run")

    def test_interrupt(self) -> None:
        with working_folder() as folder:
            code, said = self.run_and_signal(folder / "run", signal.SIGINT)
            self.assertEqual(code, 130, said)
            self.assertRegex(" ".join(said.split()), r": interrupted after [\d,]+ of [\d,]+ cases, in ")
            self.assertIn("next   occbench run --resume run\n", said)
            text = (folder / "run/cases.csv").read_text()
            self.assertTrue(text.endswith("\n"))
            self.assertGreaterEqual(len(rows(folder / "run/cases.csv")), 39)
            self.assert_completes(folder / "run")

    def test_full_disk(self) -> None:
        with working_folder() as folder:
            done = occbench("run", *self.RUN, "--output", "run", room_bytes=64_000)
            self.assertEqual(done.returncode, 4, done.stderr)
            line = done.stderr.splitlines()[-1]
            self.assertIn(
                ": File too large; every row before is kept, make room and go on with --resume", line
            )
            for name in ("cases.csv", "samples.csv"):
                self.assertTrue((folder / "run" / name).read_text().endswith("\n"), name)
            self.assert_completes(folder / "run")

    def test_no_room_at_all(self) -> None:
        with working_folder() as folder:
            done = occbench("run", *self.RUN, "--output", "run", room_bytes=1000)
            self.assertEqual((done.returncode, done.stdout), (4, ""))
            self.assertIn("File too large", done.stderr)
            self.assertEqual(content(folder), {})


@on_device
class BadLuckOnDevice(BadLuck, unittest.TestCase):
    RUN = LIST = ("--preset", "quick")


class BadLuckOfAModel(BadLuck, unittest.TestCase):
    # Many cases that are soon predicted: what is tested is how they are kept.
    EXPERIMENTS = "barriers,bulk_copy,cache_reuse,pointer_chase,shared_latency,tensor_core,tiled_matmul"
    LIST = ("--preset", "standard", "--experiment", EXPERIMENTS, "--device", "h200")
    RUN = (*LIST[:-1], f"model:{PARAMETERS}")


class ModelRun(unittest.TestCase):
    """The whole program on a model: everything but silicon."""

    BANNER = "MODEL of H200: nothing here was measured"
    MEASURED = ("blocks_per_sm_api", "blocks_per_sm_resident", "time_ci95_low_s", "time_p90_s", "power_w")

    def run_model(self, *words: str) -> "subprocess.CompletedProcess[str]":
        done = occbench("run", "--device", f"model:{PARAMETERS}", *words, gpu=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_quick(self) -> None:
        with working_folder() as folder:
            lines = self.run_model("--preset", "quick").stdout.splitlines()
            self.assertTrue(lines[0].startswith(self.BANNER), lines[0])
            self.assertEqual(lines[-1], self.BANNER)
            self.assertLessEqual(len(lines[1:]), 25, "what follows the progress")
            self.assertLessEqual(max(map(len, lines[1:])), 80)
            self.assertRegex(lines[1], r"^The model of an H200 predicts \d+ cases in ")
            self.assertNotIn("measured", " ".join(lines[1:-1]))
            too_few = r"\d+ experiments: too few points for a curve in quick; --preset "
            self.assertRegex("\n".join(lines), too_few)
            self.assertRegex(lines[-2], r"^next   occbench report    occbench explain [a-z_]+$")
            (run,) = folder.glob("results/*/*")
            self.assertEqual(run.parent.name, "model-h200")
            env = json.loads((run / "env.json").read_text())
            self.assertEqual((env["source"], env["gpu"]["uuid"]), ("model", "model:h200"))
            self.assertEqual(env["parameters"]["file"], str(PARAMETERS))
            self.assertEqual(env["parameters"]["content"], json.loads(PARAMETERS.read_text()))
            self.assertEqual(rows(run / "samples.csv"), [])
            check = validated(run)
            self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
            valid = 0
            for row in rows(run / "cases.csv"):
                self.assertEqual((row["source"], row["samples"]), ("model", "0"))
                self.assertEqual({row[name] for name in self.MEASURED}, {""})
                self.assertIn(row["status"], ("valid", "impossible", "skipped"))
                self.assertEqual(bool(row["reason"]), row["status"] != "valid")
                for name in ("throughput", "time_median_s", "throughput_predicted", "bound_predicted"):
                    self.assertEqual(bool(row[name]), row["status"] == "valid", row["case_id"])
                valid += row["status"] == "valid"
            self.assertGreater(valid, 300)

    def test_verbose_lists_the_experiments_first(self) -> None:
        with working_folder():
            words = ("--experiment", "registers,adam", "--verbose", "--output", "elsewhere")
            lines = self.run_model("--preset", "quick", *words).stdout.splitlines()
            closing = [line.startswith("The model of an H200 predicts") for line in lines].index(True)
            listing = "\n".join(lines[:closing])
            too_few = r"\nadam: .*\n(  .*\n)*  at most 2 points on a curve: too few for its shape"
            self.assertRegex(listing, too_few)
            self.assertRegex(listing, r"\nregisters: .*\n(  .*\n)*    90.* % of it at [\d.]+ % occupancy")
            self.assertIn("next   occbench report elsewhere    occbench explain elsewhere registers", lines)

    def test_what_a_kernel_needs_and_nobody_knows(self) -> None:
        with working_folder():
            unknown = dict(value=None, unit="byte/s", source="nobody", method="not measured")
            Path("p.json").write_text(parameters_but(dram_write_bandwidth=unknown))
            done = occbench(
                *("run", "--device", "model:p.json", "--preset", "quick", "--output", "run"),
                *("--experiment", "registers,tensor_core"),
                gpu=False,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(rows(Path("run/cases.csv")))
            for row in rows(Path("run/cases.csv")):
                loads = row["variant"].startswith("load")
                lacks = "the device's parameters lack 'dram_write_bandwidth', which this kernel needs"
                if row["status"] != "impossible" and loads:
                    self.assertEqual((row["status"], row["reason"]), ("skipped", lacks), row["case_id"])

    def test_the_machine_code_that_the_build_holds_does_for_every_case(self) -> None:
        with working_folder():
            self.run_model("--preset", "quick", "--experiment", "barriers,tiled_matmul", "--output", "run")
            for row in rows(Path("run/cases.csv")):
                self.assertNotIn("no description of its machine code", row["reason"])

    def test_google_benchmark_says_it_too(self) -> None:
        with working_folder():
            done = self.run_model("--experiment", "registers", "--benchmark_format=json")
            self.assertEqual(json.loads(done.stdout)["context"]["source"], "model")
            self.assertIn(self.BANNER, done.stderr)

    def test_anonymous(self) -> None:
        """Neither host nor user nor a path; the run is valid, and goes on as it was begun."""
        with working_folder():
            mine = Path.cwd() / "home-of-somebody"
            mine.mkdir()
            shutil.copy(PARAMETERS, mine / "card.json")
            words = ("--anonymous", "--experiment", "registers", "--output", str(mine / "run"))
            device = f"model:{mine / 'card.json'}"
            self.assertEqual(occbench("run", "--device", device, *words, gpu=False).returncode, 0)
            text = "".join(file.read_text() for file in (mine / "run").iterdir())
            for word in ("home-of-somebody", str(Path.cwd()), f'"{os.uname().nodename}"', "/home"):
                self.assertFalse(word in text, word)
            env = json.loads((mine / "run/env.json").read_text())
            said = (env["anonymous"], env["host"], env["command_line"])
            self.assertEqual(said, (True, None, "occbench run --anonymous"))
            self.assertEqual(env["parameters"]["file"], "card.json")
            self.assertEqual(validated(mine / "run").returncode, 0)
            whole = (mine / "run/cases.csv").read_text()
            (mine / "run/cases.csv").write_text("".join(whole.splitlines(keepends=True)[:5]))
            refused = occbench("run", "--resume", str(mine / "run"), "--benchmark_out=out.json", gpu=False)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("an anonymous run goes without --benchmark_out", refused.stderr)
            self.assertEqual(occbench("run", "--resume", str(mine / "run"), gpu=False).returncode, 0)
            self.assertEqual(len(rows(mine / "run/cases.csv")), whole.count("\n") - 1)

    def test_list_names_what_run_would(self) -> None:
        for model in ("model:h200", "model:v100", f"model:{PARAMETERS}"):
            words = ("--device", model, "--experiment", "registers", "--format", "csv")
            listed = occbench("list", *words, gpu=False)
            ids = [row["case_id"] for row in csv.DictReader(io.StringIO(listed.stdout))]
            words = ("run", "--device", model, "--experiment", "registers", "--benchmark_list_tests")
            self.assertEqual(ids, occbench(*words, gpu=False).stdout.split())
            self.assertTrue(ids)

    def test_list(self) -> None:
        with working_folder() as folder:
            done = self.run_model("--experiment", "registers", "--benchmark_list_tests")
            self.assertTrue(all(name.startswith("registers.") for name in done.stdout.split()), done.stdout)
            self.assertEqual(content(folder), {})

    def test_two_models_runs_of_a_day_have_two_folders(self) -> None:
        with working_folder() as folder:
            for _ in range(2):
                self.run_model("--preset", "quick", "--experiment", "registers")
            self.assertEqual(len(list(folder.glob("results/model-h200/*"))), 2)


class Speed(unittest.TestCase):
    """Of an optimised build, in processor time, as this machine may be busy."""

    def test_a_hundred_thousand_rows_take_two_seconds(self) -> None:
        sizes = [(32 + 32 * (i % 32), 16 + i % 240, 128 * (i % 1000)) for i in range(100_000)]
        table = HEADER + "\n" + "".join(f"h200,{b},{r},0,{s}\n" for b, r, s in sizes)
        before = os.times()
        done = occbench("calc", "--batch", "-", stdin=table, gpu=False)
        after = os.times()
        self.assertEqual(len(done.stdout.splitlines()), 100_001)
        processor_s = sum(after[2:4]) - sum(before[2:4])  # of the child
        self.assertLess(processor_s, 2)

    def test_whose_machine_code_it_is(self) -> None:
        said = {
            "a100": ("sm_80", ["sm_80"], ""),
            "l40s": ("sm_89", ["sm_89"], ""),
            "h100": ("sm_90", ["sm_90"], ""),
            # its compiler sets two loops of pointer_chase in another order
            "b200": (
                "sm_100",
                ["sm_90", "sm_100"],
                "; machine code of sm_90 stands in for sm_100's in some kernels",
            ),
            "v100": ("sm_70", ["sm_80"], "; machine code of sm_80 stands in for sm_70's"),
        }
        with working_folder():
            for name, (own, described, borrowed) in said.items():
                words = ("--preset", "quick", "--experiment", "reduction", "--output", name)
                done = occbench("run", "--device", f"model:{name}", *words, gpu=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"parameters: {name}.json (built in){borrowed}\n", done.stdout + done.stderr)
                environment = json.loads(Path(name, "env.json").read_text())
                self.assertEqual(environment["machine_code"], {"architecture": own, "described": described})

    def test_standard_takes_less_than_a_minute(self) -> None:
        with working_folder():
            before = os.times()
            words = ("run", "--device", f"model:{PARAMETERS}", "--preset", "standard")
            self.assertEqual(occbench(*words, gpu=False).returncode, 0)
            after = os.times()
            processor_s = sum(after[2:4]) - sum(before[2:4])  # of the child
            self.assertLess(processor_s, 2 * 60, "a minute of two cores")


@on_device
class GoogleBenchmarkFlagsOnDevice(unittest.TestCase):
    FILTER = "--benchmark_filter=^registers[.]"

    def run_registers(self, *flags: str) -> "tuple[subprocess.CompletedProcess[str], set[str]]":
        """A filtered run, and the ids of its rows."""
        done = occbench("run", "--preset", "quick", "--output", "run", self.FILTER, *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        ids = {row["case_id"] for row in rows(Path("run/cases.csv"))}
        self.assertTrue(ids)
        self.assertTrue(all(name.startswith("registers.") for name in ids), ids)
        return done, ids

    def test_filter(self) -> None:
        with working_folder():
            done, ids = self.run_registers()
            self.assertIn(f": {len(ids)} cases in ", done.stdout)

    def test_json(self) -> None:
        with working_folder():
            done, ids = self.run_registers("--benchmark_format=json", "--benchmark_out=out.json")
            for text in (done.stdout, Path("out.json").read_text()):
                names = {entry["name"].split("/")[0] for entry in json.loads(text)["benchmarks"]}
                self.assertTrue(names)
                self.assertLessEqual(names, ids)

    def test_repetitions(self) -> None:
        with working_folder():
            self.run_registers("--benchmark_repetitions=2")
            samples = rows(Path("run/samples.csv"))
            self.assertEqual({row["repetition"] for row in samples}, {"0", "1"})

    def test_anonymous(self) -> None:
        """The card is known by a name of its own, the same in each run, and the run goes on there."""
        with working_folder():
            self.run_registers("--anonymous")
            uuid = json.loads(Path("run/env.json").read_text())["gpu"]["uuid"]
            self.assertRegex(uuid, "^anonymous-[0-9a-f]{16}$")
            text = "".join(file.read_text() for file in Path("run").iterdir() if file.suffix != ".gz")
            self.assertNotRegex(text, "GPU-[0-9a-f]{8}")
            self.assertNotIn(f'"{os.uname().nodename}"', text)
            self.assertEqual(validated(Path("run")).returncode, 0)
            self.assertEqual(occbench("run", "--resume", "run").returncode, 0)
            again = occbench("run", "--preset", "quick", "--output", "again", self.FILTER, "--anonymous")
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertEqual(json.loads(Path("again/env.json").read_text())["gpu"]["uuid"], uuid)

    def test_list(self) -> None:
        with working_folder() as folder:
            done = occbench("run", "--preset", "quick", self.FILTER, "--benchmark_list_tests")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            names = done.stdout.split()
            self.assertTrue(names)
            self.assertTrue(all(name.startswith("registers.") for name in names), names)
            self.assertEqual(content(folder), {})

    def test_cases_for_a_profiler(self) -> None:
        cases = some_cases(2)
        with working_folder() as folder:
            done = occbench(
                "run", "--preset", "quick", "--case", ",".join(cases), "--launches", "3", "--profile"
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(
                [line.split()[0] for line in done.stdout.splitlines()], [cases[0]] * 3 + [cases[1]] * 3
            )
            self.assertEqual(content(folder), {})

    def test_ncu_sees_exactly_these_launches(self) -> None:
        ncu = shutil.which("ncu")
        if not ncu:
            self.skipTest("needs ncu")
        cases = some_cases(2)
        call = [ncu, "--nvtx", "--nvtx-include", f"occbench@{cases[1]}/", "--csv", "--page", "raw"]
        call += ["--metrics", "gpu__time_duration.sum", OCCBENCH, "run", "--preset", "quick"]
        call += ["--case", ",".join(cases), "--launches", "3"]
        with working_folder():
            done = subprocess.run(call, capture_output=True, text=True)
        if "ERR_NVGPUCTRPERM" in done.stdout + done.stderr:
            self.skipTest("needs the right to read counters")
        launches = [line for line in done.stdout.splitlines() if re.match(r'"\d+",', line)]
        self.assertEqual(len(launches), 3, done.stdout + done.stderr)
        for line in launches:
            self.assertIn(f"occbench:{cases[1]}:", line)


if __name__ == "__main__":
    unittest.main()
