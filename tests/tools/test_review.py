# SPDX-License-Identifier: Apache-2.0
"""occbench in review: SARIF with source lines, tools/action/check on a repository with a planted regression,
and occbench_check() of CMake."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_up import REPOSITORY
from pages import built

CHECK = REPOSITORY / "tools/action/check"
BUILD = "nvcc -arch=sm_90 -lineinfo -cubin -o k.cubin k.cu"
CLEAN = """// Eight values a thread.
__global__ void sums(const float* in, float* out, int n) {
  float sum[32];
  for (int i = 0; i < 32; ++i) sum[i] = in[i * n + threadIdx.x];
  for (int trip = 0; trip < n; ++trip)
    for (int i = 0; i < 32; ++i) sum[i] = sum[i] * sum[(i + 1) % 32] + 1;
  for (int i = 0; i < 32; ++i) out[i * n + threadIdx.x] = sum[i];
}
"""
CAPPED = CLEAN.replace("void sums", "void __maxnreg__(24) sums")
BOUND = """
__global__ void __launch_bounds__(256, 5) staged(float* data) {
  __shared__ float tile[12000];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[255 - threadIdx.x];
}
"""
needs_tools = pytest.mark.skipif(
    not (built() and shutil.which("nvcc") and shutil.which("git")), reason="no occbench, nvcc or git"
)
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two commits: CLEAN, and CAPPED with BOUND behind it; k.cubin is built of the second."""
    folder = tmp_path_factory.mktemp("scratch")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "init.defaultBranch=main"]
    subprocess.run([*git, "init", "-q"], cwd=folder, check=True)
    (folder / "part").mkdir()
    (folder / "part/CMakeLists.txt").touch()
    for text in (CLEAN, CAPPED + BOUND):
        (folder / "k.cu").write_text(text)
        subprocess.run([*git, "add", "k.cu", "part"], cwd=folder, check=True)
        subprocess.run([*git, "commit", "-q", "-m", "change"], cwd=folder, check=True)
    subprocess.run(BUILD.split(), cwd=folder, check=True)
    return folder


@pytest.fixture
def run(repository: Path) -> Run:
    def run(*words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        path = f"{built().parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            list(map(str, words)), cwd=repository, env={**os.environ, "PATH": path, **more},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def results_of(text: str) -> dict[str, dict[str, Any]]:
    (log,) = json.loads(text)["runs"]
    return {result["ruleId"]: result for result in log["results"]}


def line_of(result: dict[str, Any]) -> tuple[str, int]:
    place = result["locations"][0]["physicalLocation"]
    return place["artifactLocation"]["uri"], place["region"]["startLine"]


@needs_tools
def test_findings_have_source_lines(run: Run) -> None:
    done = run("occbench", "inspect", "k.cubin", "--format", "sarif", "--fail-on", "barriers>0")
    found = results_of(done.stdout)
    assert done.returncode == 1 and set(found) == {"spills", "bound_not_met", "fail_on"}
    file, line = line_of(found["spills"])
    assert file == "k.cu" and line in (4, 6, 7)  # of the array that does not fit
    assert line_of(found["bound_not_met"]) == ("k.cu", 10) == line_of(found["fail_on"])
    assert "asks for 5 blocks per SM, and 4 fit" in found["bound_not_met"]["message"]["text"]


@needs_tools
def test_without_line_info_findings_name_the_binary(run: Run, tmp_path: Path) -> None:
    bare = tmp_path / "a b%.cubin"
    assert run("nvcc", "-arch=sm_90", "-cubin", "-o", bare, "k.cu").returncode == 0
    found = results_of(run("occbench", "inspect", bare, "--format", "sarif").stdout)
    assert set(found) == {"spills"}  # the request of __launch_bounds__ is in the PTX that -lineinfo keeps
    place = found["spills"]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("/a%20b%25.cubin") and "region" not in place


@needs_tools
def test_unreadable_file_is_a_sarif_notification(run: Run, tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"\x7fELF")
    done = run("occbench", "inspect", "k.cubin", tmp_path / "broken", "--format", "sarif")
    (invocation,) = json.loads(done.stdout)["runs"][0]["invocations"]
    assert done.returncode == 4 and not invocation["executionSuccessful"]
    assert "broken" in invocation["toolExecutionNotifications"][0]["message"]["text"]


@needs_tools
def test_annotates_a_regression_at_its_line(run: Run, tmp_path: Path) -> None:
    summary, sarif = tmp_path / "summary.md", tmp_path / "k.sarif"
    words = [CHECK, "--build", BUILD, "--file", "k.cubin", "--base", "HEAD~1", "--sarif", sarif]
    done = run(*words, GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == 1, done.stderr
    file, line = line_of(results_of(sarif.read_text())["spills"])
    assert f"::warning title=occbench%3A spills,file={file},line={line}::sums (sm_90): spills " in done.stdout
    assert "::warning title=occbench%3A bound_not_met,file=k.cu,line=10::staged" in done.stdout
    assert "| sums" in summary.read_text() and "staged" in summary.read_text()
    assert run("git", "worktree", "list").stdout.count("\n") == 1


@needs_tools
@pytest.mark.parametrize(
    ("changed", "code", "complaint"),
    [
        (["--base", "HEAD"], 0, ""),
        (["--base", "nowhere"], 4, "cannot check out 'nowhere'"),
        (["--build", "exit 3"], 4, "the build ended with 3"),
        (["--fail-on", "nope>0"], 2, "no column 'nope'"),
        (["--file", "gone.cubin"], 4, "gone.cubin"),
        (["--base", "HEAD", "--file", "/k.cubin"], 2, "with --base it is relative"),
        (["--base=--force"], 4, "git cannot check out '--force'"),
    ],
)
def test_exit_codes(run: Run, changed: list[str], code: int, complaint: str) -> None:
    done = run(CHECK, "--build", BUILD, "--file", "k.cubin", *changed)
    assert done.returncode == code and complaint in done.stderr and not done.stdout


@needs_tools
def test_unwritable_file_is_one_line(run: Run) -> None:
    words = (CHECK, "--build", "true", "--file", "k.cubin", "--sarif")
    done = run(*words, "missing/x")
    assert (done.returncode, done.stderr.splitlines()[1:]) == (4, [])
    assert run(*words, "", GITHUB_STEP_SUMMARY="/dev/full").returncode == 4
    assert run(*words, "").returncode == 0


@needs_tools
def test_builds_a_subfolder_in_both_commits(run: Run, repository: Path) -> None:
    build = f"ls CMakeLists.txt >&2; cp {repository}/k.cubin ."
    words = f"cd part && {CHECK} --build '{build}' --file k.cubin --base HEAD"
    assert run("bash", "-c", words).returncode == 0


@needs_tools
@pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ('FAIL_ON "spill_bytes<0"', ""),
        ('FAIL_ON "spill_bytes>0"', "'spill_bytes>0' is true for 1 kernel: sums"),
        ('DIFF k.cubin FAIL_ON "spill_bytes>old_spill_bytes"', ""),
        ("", "occbench_check(kernels): wants a target and FAIL_ON CONDITION"),
    ],
)
def test_build_fails_if_the_condition_holds(
    run: Run, repository: Path, tmp_path: Path, words: str, complaint: str
) -> None:
    shutil.copy(repository / "k.cubin", tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(review LANGUAGES C)\n"
        f"include({REPOSITORY}/cmake/Check.cmake)\nadd_library(kernels STATIC k.cubin)\n"
        "set_source_files_properties(k.cubin PROPERTIES EXTERNAL_OBJECT ON)\n"
        f"set_property(TARGET kernels PROPERTY LINKER_LANGUAGE C)\n"
        f"occbench_check(kernels {words})\n"
    )
    configured = run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build")
    done = configured if configured.returncode else run("cmake", "--build", tmp_path / "build")
    assert (done.returncode != 0) == bool(complaint)
    assert complaint in " ".join((done.stdout + done.stderr).split())
