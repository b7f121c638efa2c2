# SPDX-License-Identifier: Apache-2.0
"""What occbench says to bad input: the sentence and the exit code, pinned. REFUSALS is the documentation of
errors. Rows marked gpu need a device.
"""

import json
import re
import shlex
import subprocess
import unittest
from typing import NamedTuple

from command import (
    CALC,
    HEADER,
    OCCBENCH,
    PARAMETERS,
    ROOT,
    content,
    occbench,
    on_device,
    parameters_but,
    working_folder,
)

PTXAS = (
    "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
    "ptxas info    : Used 40 registers, used 1 barriers, 2048 bytes smem\n"
)
NO_DEVICE = "answers without one"
KNOWN_EXPERIMENTS = "there are adam, barriers, black_scholes, block_size, "
NEEDS = "it needs device, block_size, registers_per_thread, static_smem_bytes, dynamic_smem_bytes"


class Refusal(NamedTuple):
    words: str
    code: int
    sentence: str  # a part of the one line on stderr
    files: dict[str, str] | None = None  # what lies in the working folder, and alone lies there afterwards
    stdin: str = ""
    gpu: bool = False


REFUSALS = [
    # 2: invalid arguments
    Refusal("", 2, "no command; `occbench --help` lists them"),
    Refusal("frobnicate", 2, "no command 'frobnicate'; `occbench --help` lists them"),
    Refusal("rnu", 2, "no command 'rnu'; did you mean 'run'?"),
    Refusal("../report", 2, "no command '../report'; "),
    Refusal("findings", 2, "folder is required; see `occbench findings --help`"),
    Refusal("findings /no/such/folder", 4, "holds no run (no env.json)"),
    Refusal("devices --frobnicate", 2, "not expected: --frobnicate; see `occbench devices --help`"),
    Refusal("devices --format xml", 2, "--format: xml not in {table,csv,json}"),
    Refusal("devices --device nope", 2, "--device: unknown device 'nope'; `occbench calc --device list` has"),
    Refusal("list --preset slow", 2, "no preset 'slow'; there are burn-in, quick, standard and full"),
    Refusal("list --experiment nope", 2, f"no experiment 'nope'; {KNOWN_EXPERIMENTS}"),
    Refusal("list --device nope", 2, "unknown device 'nope'; `occbench calc --device list` has all names"),
    Refusal("list --device model:nope", 2, "there is no model of 'nope'; name model:"),
    Refusal("list --device model:h200 --show-ncu", 2, "a model launches nothing to profile"),
    Refusal("list --variants --format csv", 2, "list --variants prints a table or json"),
    Refusal("run --frobnicate", 2, "run has no '--frobnicate'; see `occbench run --help`"),
    Refusal("run registers", 2, "run has no 'registers'; see `occbench run --help`"),
    Refusal("run --device model:h300", 2, "there is no model of 'h300'; name model:"),
    Refusal("run --device model:cc9.0", 2, "there is no model of 'cc9.0'; name model:"),
    Refusal("run --device model:p100", 2, "there is no model of 'p100'; name model:"),
    Refusal("run --device model:h200 --case nope", 2, "no case 'nope' in preset standard; "),
    Refusal("run --device model:h200 --require-quiet", 2, "a model is always quiet; omit --re"),
    Refusal("run --device model:h200 --wait-quiet 10", 2, "--wait-quiet: "),
    Refusal("run --device model:", 2, "there is no model of ''; name model:"),
    Refusal(f"run --device model:{PARAMETERS} --parameters p.json", 2, "--parameters goes with a GPU"),
    Refusal("run --resume run --parameters p.json", 2, "--parameters excludes --resume"),
    Refusal(f"run --device model:{PARAMETERS} --case nope", 2, "no case 'nope' in preset standard; "),
    Refusal(
        "run --resume run --device model:h200",
        2,
        "run is a run of a model, and resumes with it; omit --device",
        files={
            "run/env.json": json.dumps(
                {
                    "source": "model",
                    "parameters": {"file": "p.json", "content": json.loads(PARAMETERS.read_text())},
                }
            )
        },
    ),
    Refusal("run --preset slow", 2, "no preset 'slow'; there are burn-in, quick, standard and full"),
    Refusal("run --experiment registers,nope", 2, f"no experiment 'nope'; {KNOWN_EXPERIMENTS}"),
    Refusal("run --seed many", 2, "--seed: Value many not in range 0 to 1000000000"),
    Refusal("run --launches 3", 2, "--launches requires --case"),
    Refusal("run --profile", 2, "--profile requires --case"),
    Refusal("run --device model:h200 --case nope,other", 2, "no case 'nope' in preset standard; "),
    Refusal("list --show-ncu --variants", 2, "--variants excludes --show-ncu"),
    Refusal("list --show-ncu --show-nsys", 2, "--show-ncu excludes --show-nsys"),
    Refusal("run --case some --launches 0", 2, "--launches: "),
    Refusal("run --counters warps", 2, "takes occupancy, memory and stalls, or none alone; not 'warps'"),
    Refusal("run --counters none,memory", 2, "--counters takes occupancy, memory and stalls, or none alone"),
    Refusal("run --counters memory --resume run", 2, "--counters excludes --resume"),
    Refusal("run --counters memory --case some", 2, "--counters excludes --case"),
    Refusal(f"run --device model:{PARAMETERS} --counters memory", 2, "a model has no counters; "),
    Refusal("run --output a --resume b", 2, "--output excludes --resume"),
    Refusal("run --benchmark_nope", 2, "Google Benchmark has no flag '--benchmark_nope'"),
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
    Refusal("calc", 2, "calc needs --block-size and --registers, or FILE, or --batch FILE, or --tour"),
    Refusal("calc --block-size 256 --registers 32", 2, "no device given; --device h200, for one"),
    Refusal(
        "calc --device h300 --block-size 256 --registers 32",
        2,
        "unknown device 'h300'; close names: h100, h200",
    ),
    Refusal("calc --device cc9.9 --block-size 256 --registers 32", 2, "'cc9.9'"),
    Refusal(
        "calc --device h200 --registers 32 --block-size many", 2, "--block-size 'many' is not a whole number"
    ),
    Refusal("calc --device h200 --registers 32 --block-size -5", 2, "--block-size '-5' is negative"),
    Refusal("calc --device h200 --registers 32 --block-size 1e99", 2, "'1e99' is not a whole number"),
    Refusal(
        f"{CALC} --dynamic-smem 99999999999999999999", 2, "--dynamic-smem '99999999999999999999' is too large"
    ),
    Refusal(
        f"{CALC.replace('256', 'all')} --predict compute", 2, "--predict takes one block size, or a table of "
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
        "mixed needs an intensity of 0.25 to 128 FLOP per byte, not 999",
    ),
    Refusal(
        f"{CALC} --predict compute --cluster-size 2",
        2,
        "--predict does not support clusters; omit --cluster-size",
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
    Refusal("calc --hide 0 --device a100", 2, "--hide '0'"),
    Refusal("calc --hide ten --device a100", 2, "--hide 'ten'"),
    Refusal("calc --hide 200 --instructions 0 --device a100", 2, "--instructions '0'"),
    Refusal("calc --hide 200 --device a101", 2, "a101"),
    Refusal("calc --hide 200", 2, "no device given; --device h200, for one"),
    Refusal("calc --instructions 10", 2, "--instructions requires --hide"),
    Refusal("calc --hide 200 --block-size 256", 2, "excludes"),
    Refusal("calc --hide 200 --predict compute", 2, "excludes"),
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
    Refusal("calc missing.txt", 4, "cannot read 'missing.txt': No such file or directory"),
    Refusal("calc .", 4, "'.': cannot be read: Is a directory"),
    Refusal("calc -", 4, "standard input: is empty"),
    Refusal("calc -", 4, "standard input: holds no kernel: calc reads what", stdin="hello\n"),
    Refusal("calc -", 4, "standard input: is a table of footprints, which", stdin=f"{HEADER}\n"),
    Refusal("calc -", 4, "is a binary, which `occbench inspect FILE` reads", stdin="\x7fELF\x02"),
    Refusal("calc -", 4, "is a binary, which `occbench inspect FILE` reads", stdin="!<arch>\n"),
    Refusal("calc -", 4, "standard input: is an .ncu-rep; name the file", stdin="NVR\0"),
    Refusal("calc -", 4, "standard input: is not JSON: parse error at line", stdin='{"traceEvents": [{]}'),
    Refusal("calc -", 4, "standard input: is cut off: its JSON has no end", stdin='{"traceEvents": [{'),
    Refusal("calc -", 4, "standard input: is nested deeper than 256 levels", stdin="[" + '{"a":' * 300),
    Refusal("calc -", 4, "standard input: is a trace without a kernel; ", stdin="{}"),
    Refusal("calc -", 4, "holds no launch__registers_per_thread", stdin='"ID","Kernel Name"\n"0","k"\n'),
    Refusal("calc t.gz", 4, "'t.gz': ", files={"t.gz": "\x1f\x00"}),
    Refusal("calc -", 2, "standard input: gives no block size; add --block-size 256, or", stdin=PTXAS),
    Refusal("calc - --block-size 64 --kernel no", 2, "no kernel has 'no' in its name; there", stdin=PTXAS),
    Refusal("calc - --predict compute", 2, "FILE excludes --predict"),
    Refusal("calc - --tour", 2, "FILE excludes --tour"),
    Refusal("calc --kernel k", 2, "--kernel requires FILE"),
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
        "p.json: parameter 'launch': is 3400.0 s, which is implausible",
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
    Refusal("run --resume run", 4, "run/env.json: source is missing", files={"run/env.json": "{}"}),
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
        files={"run/env.json": '{"source": "measured", "gpu": {"name": "Other", "uuid": "GPU-0"}}'},
        gpu=True,
    ),
    Refusal("calibrate --device nope", 2, "no device matches 'nope'; this machine has: 0 ", gpu=True),
    Refusal(
        "calibrate --output p.json",
        4,
        "p.json: already exists; --force replaces it, --output names another file",
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
        "run: already holds a run; continue it with --resume, or name another folder",
        files={"run/env.json": "{}"},
        gpu=True,
    ),
]


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
                # Newer CLI11 writes a range as [0 - 9].
                self.assertIn(row.sentence, re.sub(r"\[(\d+) - (\d+)\]", r"\1 to \2", done.stderr))
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


@on_device
class RefusalsOnDevice(RefusalTable):
    def test_the_table(self) -> None:
        self.check_rows(gpu=True)


if __name__ == "__main__":
    unittest.main()
