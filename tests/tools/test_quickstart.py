# SPDX-License-Identifier: Apache-2.0
"""What tools/lib.sh does where tools are missing and nobody may install them: goes on, or says one line."""

import shutil
import subprocess
import sys
import zipfile
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
    shutil.copytree(LIB.parent / "locks", tmp_path / "tools/locks")
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
    assert done.stdout == "pip: cmake\n"


def test_a_virtual_environment_without_ensurepip(bare: Path) -> None:
    """Debian's python3 without python3-venv: `-m venv` fails, and pip fills a venv made without it."""
    python = f"""case "$*" in
  *"-P -m venv --clear --without-pip"*) mkdir -p build/venv/bin; ln -s "$0" build/venv/bin/python ;;
  *"-m venv"*) exit 1 ;;
  *ensurepip*) exit 1 ;;
  *"import pip"*) exit 1 ;;
  *"-m pip"*) shift 4; echo "pip $*" ;;
  *) exec {sys.executable} "$@" ;;
esac"""
    script(bare, "python3", python)
    link(bare, "ln", shutil.which("ln"))
    words = "find_python; make_venv; venv_pip install x"
    done = call(bare, words)
    assert (done.returncode, done.stdout) == (0, "pip --python build/venv/bin/python install x\n")


def test_pip_installs_by_hashes_alone_and_the_tools_without_what_they_ask_for(bare: Path) -> None:
    """Neither a dependency nor what builds a package comes past the lock; a second call installs nothing."""
    link(bare, "touch", shutil.which("touch"))
    words = 'find_python() { :; }; make_venv() { :; }; venv_pip() { echo "pip $*"; }; mkdir -p build/venv; '
    done = call(bare, words + 'pip_install use; pip_install use; pip_install cmake; echo "${installed[@]}"')
    by_hash = "pip install --quiet --require-hashes --only-binary :all: --requirement tools/locks/"
    assert done.stdout.splitlines() == [
        by_hash + "use.txt",
        "pip install --quiet --no-deps --no-build-isolation --editable tools",
        by_hash + "cmake.txt",
        "in build/venv, what tools/locks/use.txt names in build/venv, what tools/locks/cmake.txt names",
    ]


def test_a_package_with_another_hash_is_not_installed(bare: Path) -> None:
    wheel = bare / "planted-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("planted-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    (bare / "tools/locks/cmake.txt").write_text(f"planted==1.0 --hash=sha256:{'0' * 64}\n")
    words = "find_python() { :; }; make_venv() { :; }; venv_pip() { "
    words += f"{sys.executable} -P -m pip --isolated $* --no-index --find-links . --target here; }}; "
    done = call(bare, words + "pip_install cmake")
    assert done.returncode == 5
    assert "DO NOT MATCH THE HASHES" in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last == "quickstart: pip could not install what tools/locks/cmake.txt names"
    assert not (bare / "here").exists()


def test_packages_are_named_with_their_versions(bare: Path) -> None:
    link(bare, "paste", shutil.which("paste"))
    script(bare, "apt-get", "exit 0")
    script(bare, "sudo", '"$@"')
    script(bare, "dpkg-query", "echo 'g++ 4:12.2.0-3'; echo 'git 1:2.39.5-0'")
    done = call(bare, 'apt_install g++ git; echo "${installed[@]}"')
    assert done.stderr.splitlines()[-1] == "quickstart: installed packages g++ 4:12.2.0-3, git 1:2.39.5-0"
    assert done.stdout == "packages g++ 4:12.2.0-3, git 1:2.39.5-0\n"


@pytest.mark.parametrize("release", ["12.3", "13.0", None])
def test_nvcc_is_found_or_one_line_says_how_to_get_it(bare: Path, release: str | None) -> None:
    if release:
        script(bare, "nvcc", f"echo 'Cuda compilation tools, release {release}, V{release}.88'")
    done = call(bare, "find() { :; }; need_nvcc")  # not the machine's own below /usr/local
    assert done.returncode == (0 if release == "13.0" else 5)
    assert len(done.stderr.splitlines()) == (0 if release == "13.0" else 1)
    assert ("nvcc is 12.3" in done.stderr) == (release == "12.3")
