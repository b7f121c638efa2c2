# SPDX-License-Identifier: Apache-2.0
"""What tools/lib.sh does where tools are missing and nobody may install them: goes on, or says one line."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LIB = Path(__file__).resolve().parents[2] / "tools/lib.sh"
# Of the machine's own commands a bare system has these; apt-get and sudo are not among them.
BARE = ("bash", "cat", "cut", "dirname", "env", "find", "grep", "mkdir", "sed", "sha256sum", "sort")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A checkout that holds tools/lib.sh, and a bin/ that is the whole PATH."""
    for name in BARE:
        link(tmp_path, name, shutil.which(name))
    (tmp_path / "tools").mkdir()
    shutil.copy(LIB, tmp_path / "tools")
    shutil.copy(LIB.parent / "pyproject.toml", tmp_path / "tools")
    return tmp_path


def link(root: Path, name: str, target: str) -> None:
    (root / "bin").mkdir(exist_ok=True)
    (root / "bin" / name).symlink_to(target)


def script(root: Path, name: str, text: str) -> None:
    (root / "bin").mkdir(exist_ok=True)
    file = root / "bin" / name
    file.write_text(f"#!{shutil.which('bash')}\n{text}\n")
    file.chmod(0o755)


def call(root: Path, words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [shutil.which("bash"), "-c", f"source tools/lib.sh; {words}", "quickstart"],
        cwd=root,
        env={"PATH": str(root / "bin"), "HOME": str(root), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_compiler_cannot_be_done_without_and_one_line_says_so(bare: Path) -> None:
    link(bare, "python3", sys.executable)
    done = call(bare, "need_packages")
    assert done.returncode == 5
    assert len(done.stderr.splitlines()) == 1
    assert "quickstart: g++ cannot be done without; install, by the names your distribution" in done.stderr


def test_where_apt_get_is_the_line_is_its_call(bare: Path) -> None:
    link(bare, "python3", sys.executable)
    script(bare, "apt-get", "exit 100")  # no network, or no rights
    done = call(bare, "need_packages")
    assert done.returncode == 5
    assert "as root: apt-get install g++ cmake ninja-build git" in done.stderr.splitlines()[-1]


def test_what_pypi_and_cmake_bring_stops_nothing(bare: Path) -> None:
    link(bare, "python3", sys.executable)
    script(bare, "g++", "exit 0")
    done = call(bare, "need_packages /nowhere/x.h libx-dev fetch nowhere faster go-on; echo ${to_fetch[@]}")
    assert (done.returncode, done.stderr) == (0, "")
    assert "git" in done.stdout.split()  # needed for fetching alone
    assert "libx-dev" in done.stdout.split()
    assert "faster" not in done.stdout.split()


def test_another_compiler_serves(bare: Path) -> None:
    link(bare, "python3", sys.executable)
    script(bare, "clang++", "exit 0")
    assert call(bare, "CXX=clang++; need_packages").returncode == 0


@pytest.mark.parametrize("newer", [True, False])
def test_a_python_too_old_is_passed_over(bare: Path, newer: bool) -> None:
    script(bare, "g++", "exit 0")
    script(bare, "python3", "exit 1")  # what new_enough hears of 3.10
    if newer:
        link(bare, "python3.12", sys.executable)
    done = call(bare, "need_packages; echo $python")
    assert (done.returncode, done.stdout) == ((0, "python3.12\n") if newer else (5, ""))


def test_a_fetch_that_fails_names_the_packages_in_one_line(bare: Path) -> None:
    script(bare, "cmake", "echo 'CMake Error at benchmark-subbuild/x.cmake: Could not resolve host'; exit 1")
    done = call(bare, "to_fetch=(libbenchmark-dev libcli11-dev); configure release")
    assert done.returncode == 5
    assert len(done.stderr.splitlines()) == 1
    assert "libbenchmark-dev libcli11-dev: neither found nor fetched (build/release.log" in done.stderr
    assert "Could not resolve host" in (bare / "build/release.log").read_text()
    done = call(bare, "configure release")  # all packages are there, and one is of an older version
    assert (done.returncode, len(done.stderr.splitlines())) == (5, 1)
    assert "a library is too old here" in done.stderr


def test_any_other_failure_of_cmake_is_shown_whole(bare: Path) -> None:
    script(bare, "cmake", "echo 'CMake Error: no CUDA compiler'; exit 1")
    done = call(bare, "to_fetch=(libbenchmark-dev); configure release; echo unreached")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "CMake Error: no CUDA compiler\n"


@pytest.mark.parametrize("older", [True, False])
def test_cmake_and_ninja_come_from_pypi_where_they_lack(bare: Path, older: bool) -> None:
    if older:
        script(bare, "cmake", "echo 'cmake version 3.22.1'")
    done = call(bare, 'pip_install() { echo "pip: $*"; }; need_cmake')
    assert re.fullmatch(r"pip: cmake==[\d.]+\npip: ninja==[\d.]+\n", done.stdout)


def test_a_virtual_environment_without_ensurepip(bare: Path) -> None:
    """Debian's python3 without python3-venv: `-m venv` fails, and pip fills a venv made without it."""
    python = f"""case "$*" in
  *"-P -m venv --clear --without-pip"*) mkdir -p build/venv/bin; ln -s "$0" build/venv/bin/python ;;
  *"-m venv"*) exit 1 ;;
  *ensurepip*) exit 1 ;;
  *"-m pip"*) echo "pip ${{*: -1}}" ;;
  *) exec {sys.executable} "$@" ;;
esac"""
    script(bare, "python3", python)
    link(bare, "ln", shutil.which("ln"))
    done = call(bare, "find_python; make_venv")
    assert (done.returncode, done.stdout) == (0, "pip pip\n")


@pytest.mark.parametrize("release", ["12.3", "13.0", None])
def test_nvcc_is_found_or_one_line_says_how_to_get_it(bare: Path, release: str | None) -> None:
    if release:
        script(bare, "nvcc", f"echo 'Cuda compilation tools, release {release}, V{release}.88'")
    done = call(bare, "find() { :; }; need_nvcc")  # not the machine's own below /usr/local
    assert done.returncode == (0 if release == "13.0" else 5)
    assert len(done.stderr.splitlines()) == (0 if release == "13.0" else 1)
    assert ("nvcc is 12.3" in done.stderr) == (release == "12.3")
