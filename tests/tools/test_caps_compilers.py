# SPDX-License-Identifier: Apache-2.0
"""occbench caps with the real nvcc, ptxas and nvlink."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numpy")

from made_up import REPOSITORY
from occbench_tools import caps
from pages import built

needs_nvcc = pytest.mark.skipif(not (built() and shutil.which("nvcc")), reason="no nvcc or no occbench")

SOURCE = """
extern "C" __global__ void __launch_bounds__(256, 2) big(float* p) {
  float t[40];
#pragma unroll
  for (int i = 0; i < 40; ++i) t[i] = p[i * 32 + threadIdx.x];
  for (int k = 0; k < 100; ++k)
#pragma unroll
    for (int i = 0; i < 40; ++i) t[i] = fmaf(t[i], t[(i * 7 + 3) % 40], p[k]);
  float s = 0;
#pragma unroll
  for (int i = 0; i < 40; ++i) s += t[i];
  p[threadIdx.x] = s;
}
int main() { return 0; }
"""


@pytest.mark.slow
@needs_nvcc
def test_a_kernel_with_launch_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OCCBENCH", str(built()))
    Path("k.cu").write_text(SOURCE)
    nvcc = ["nvcc", "-O3", "-arch=sm_90", "-maxrregcount=200", "-o", "app", "k.cu"]
    alone = subprocess.run(
        [*nvcc[:-3], "-Xptxas", "-v", "-cubin", "-o", "a", "k.cu"], capture_output=True, text=True
    )
    Path("a").unlink()
    words = ["--format", "csv", "--bounds", "128", "--rounds", "6", "--run", "./app"]
    assert caps.main([*words, "--", *nvcc]) == 0
    rows = {row["build"]: row for row in csv.DictReader(io.StringIO(capsys.readouterr().out))}
    (registers,) = re.findall(r"Used (\d+) registers", alone.stderr)
    assert rows["as it is"]["registers_per_thread"] == registers
    for name, row in rows.items():
        if name.startswith("cap "):
            assert int(row["registers_per_thread"]) <= int(name.split()[1])
    at_32, bounded = rows["cap 32"], rows["bounds 128, 16"]
    assert at_32["registers_per_thread"] == bounded["registers_per_thread"] == "32"
    assert int(at_32["spill_bytes"]) > 0 and float(at_32["occupancy"]) == 1
    assert int(at_32["code_bytes"]) > int(rows["as it is"]["code_bytes"]) > 0
    assert float(at_32["time_ratio_low"]) <= float(at_32["time_ratio"]) <= float(at_32["time_ratio_high"])
    assert [path.name for path in tmp_path.iterdir()] == ["k.cu"]


@needs_nvcc
def test_a_source_that_does_not_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OCCBENCH", str(built()))
    Path("k.cu").write_text("__global__ void k(float* p) { p[0] = nope; }\n")
    Path("host.cu").write_text("int main() { return 0; }\n")
    for words, code, sentence in (
        ("-c k.cu", 2, 'k.cu(1): error: identifier "nope" is undefined'),
        ("-c missing.cu", 1, "missing.cu"),
        ("-ptx host.cu", 2, "nvcc would not call ptxas: omit -ptx"),
        ("-c host.cu", 2, "the file holds no kernel"),
    ):
        assert caps.main(["--", "nvcc", "-arch=sm_90", *words.split()]) == code
        out, err = capsys.readouterr()
        assert out == "" and sentence in err and len(err.splitlines()) == 1, err


RDC = {
    "main.cu": "__device__ float ext(const float* p, int n);\n"
    "__global__ void step(float* o, int n) { o[threadIdx.x] = ext(o, n); }\n"
    "int main() { step<<<1, 1>>>(nullptr, 0); }\n",
    "ext.cu": "__device__ float ext(const float* p, int n) {\n"
    "  float a[64], s = 0;\n"
    "#pragma unroll\n"
    "  for (int i = 0; i < 64; ++i) a[i] = p[i * n];\n"
    "  for (int k = 0; k < n; ++k)\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 64; ++i) { a[i] = a[i] * a[(i + 1) % 64] + s; s += a[i]; }\n"
    "  return s;\n}\n",
}


def answers(words: str, folder: Path) -> list[dict[str, str]]:
    call = [sys.executable, "-m", "occbench_tools", "caps", "--format", "csv", *words.split()]
    env = os.environ | {"PYTHONPATH": str(REPOSITORY / "tools"), "OCCBENCH": str(built())}
    said = subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True)
    return list(csv.DictReader(io.StringIO(said.stdout)))


@needs_nvcc
def test_counts_registers_after_device_linking(tmp_path: Path) -> None:
    for name, text in RDC.items():
        (tmp_path / name).write_text(text)
    nvcc = "--block-size 512 --caps 32 -- nvcc -arch=sm_86 -rdc=true"
    own, capped = answers(f"{nvcc} main.cu ext.cu -o app", tmp_path)
    assert int(own["registers_per_thread"]) > 128 and own["blocks_per_sm"] == "0"
    assert "calls function" in capped["status"] and not capped["registers_per_thread"]
    own, _ = answers(f"{nvcc} -c main.cu", tmp_path)
    assert own["status"].startswith("not linked: at least")


@needs_nvcc
def test_marks_a_cap_below_the_setmaxnreg_pool(tmp_path: Path) -> None:
    (tmp_path / "ws.cu").write_text(
        "__global__ void __launch_bounds__(384, 1) ws(float* o, int n) {\n"
        '  if (threadIdx.x < 128) { asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); o[0] = n; }\n'
        '  else { asm volatile("setmaxnreg.inc.sync.aligned.u32 232;"); o[threadIdx.x] = n * 3; }\n}\n'
        "int main() { return 0; }\n"
    )
    build = "nvcc -gencode arch=compute_90a,code=sm_90a ws.cu -o app"
    words = f"--caps 80 --rounds 2 --run ./app -- {build}"
    own, capped = answers(words, tmp_path)
    assert (own["registers_per_thread"], capped["registers_per_thread"]) == ("168", "80")
    assert capped["against_as_it_is"] == "would wait forever"
    assert (own["samples"], capped["samples"]) == ("2", "")
    assert "fewer than 168 at the launch" in capped["status"]


@needs_nvcc
def test_tensor_memory_limits_the_blocks(tmp_path: Path) -> None:
    (tmp_path / "tensor.cu").write_text(
        "__global__ void tensor() {\n  __shared__ unsigned at;\n"
        '  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 512;" ::'
        ' "r"((unsigned)__cvta_generic_to_shared(&at)) : "memory");\n}\n'
    )
    words = "--block-size 128 --caps 64 -- nvcc -gencode arch=compute_100a,code=sm_100a -c tensor.cu"
    own, _ = answers(words, tmp_path)
    assert (own["blocks_per_sm"], own["occupancy"]) == ("1", "0.0625")
    assert "128 virtual resources per block" in own["status"]
