# SPDX-License-Identifier: Apache-2.0
"""What tools/lib.sh does where tools are missing and nobody may install them: goes on, or says one line.
And what tools/quickstart says at its end."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pages import H200, built

LIB = Path(__file__).resolve().parents[2] / "tools/lib.sh"
# Of the machine's own commands a bare system has these; apt-get and sudo are not among them.
BARE = (
    "bash", "cat", "cut", "dirname", "env", "find", "grep", "mkdir", "readlink", "rm", "sed", "sha256sum",
    "sort",
)  # fmt: skip


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A checkout that holds tools/lib.sh, and a bin/ that is the whole PATH."""
    for name in BARE:
        link(tmp_path, name, shutil.which(name))
    (tmp_path / "tools").mkdir()
    shutil.copy(LIB, tmp_path / "tools")
    shutil.copy(LIB.parents[1] / "pyproject.toml", tmp_path)
    shutil.copytree(LIB.parent / "locks", tmp_path / "tools/locks")
    return tmp_path


def link(root: Path, name: str, target: str) -> None:
    (root / "bin").mkdir(parents=True, exist_ok=True)
    (root / "bin" / name).symlink_to(target)


def script(root: Path, name: str, text: str) -> None:
    (root / "bin").mkdir(parents=True, exist_ok=True)
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


def test_missing_compiler_is_one_line(bare: Path) -> None:
    link(bare, "python3", sys.executable)
    done = call(bare, "need_packages")
    assert done.returncode == 5
    assert len(done.stderr.splitlines()) == 1
    assert "quickstart: g++ cannot be done without; install, by the names your distribution" in done.stderr


def test_suggests_apt_get_if_present(bare: Path) -> None:
    link(bare, "python3", sys.executable)
    script(bare, "apt-get", "exit 100")  # no network, or no rights
    done = call(bare, "need_packages")
    assert done.returncode == 5
    assert "as root: apt-get install g++ cmake ninja-build git" in done.stderr.splitlines()[-1]


def test_packages_available_elsewhere_do_not_stop(bare: Path) -> None:
    link(bare, "python3", sys.executable)
    script(bare, "g++", "exit 0")
    done = call(bare, "need_packages /nowhere/x.h libx-dev fetch nowhere faster go-on; echo ${to_fetch[@]}")
    assert (done.returncode, done.stderr) == (0, "")
    assert "git" in done.stdout.split()  # needed for fetching alone
    assert "libx-dev" in done.stdout.split()
    assert "faster" not in done.stdout.split()


def test_accepts_another_compiler(bare: Path) -> None:
    link(bare, "python3", sys.executable)
    script(bare, "clang++", "exit 0")
    assert call(bare, "CXX=clang++; need_packages").returncode == 0


@pytest.mark.parametrize("newer", [True, False])
def test_skips_python_that_is_too_old(bare: Path, newer: bool) -> None:
    script(bare, "g++", "exit 0")
    script(bare, "python3", "exit 1")  # what new_enough hears of 3.10
    if newer:
        link(bare, "python3.12", sys.executable)
    done = call(bare, "need_packages; echo $python")
    assert (done.returncode, done.stdout) == ((0, "python3.12\n") if newer else (5, ""))


def test_failed_fetch_names_the_packages(bare: Path) -> None:
    script(bare, "cmake", "echo 'CMake Error at benchmark-subbuild/x.cmake: Could not resolve host'; exit 1")
    done = call(bare, "to_fetch=(libbenchmark-dev libcli11-dev); configure release")
    assert done.returncode == 5
    assert len(done.stderr.splitlines()) == 1
    assert "libbenchmark-dev libcli11-dev: neither found nor fetched (build/release.log" in done.stderr
    assert "Could not resolve host" in (bare / "build/release.log").read_text()
    done = call(bare, "configure release")  # all packages are there, and one is of an older version
    assert (done.returncode, len(done.stderr.splitlines())) == (5, 1)
    assert "a library is too old here" in done.stderr


def test_shows_other_cmake_errors_in_full(bare: Path) -> None:
    script(bare, "cmake", "echo 'CMake Error: no CUDA compiler'; exit 1")
    done = call(bare, "to_fetch=(libbenchmark-dev); configure release; echo unreached")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "CMake Error: no CUDA compiler\n"


@pytest.mark.parametrize("older", [True, False])
def test_installs_missing_cmake_from_pypi(bare: Path, older: bool) -> None:
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


def test_pip_requires_hashes_and_no_dependencies(bare: Path) -> None:
    """Neither a dependency nor what builds a package comes past the lock; a second call installs nothing."""
    link(bare, "touch", shutil.which("touch"))
    words = 'find_python() { :; }; make_venv() { :; }; venv_pip() { echo "pip $*" >&3; }; exec 3>&1; '
    words += "add_tools() { echo tools; }; mkdir -p build/venv; "
    done = call(bare, words + 'pip_install use; pip_install use; pip_install cmake; echo "${installed[@]}"')
    by_hash = "pip install --quiet --require-hashes --only-binary :all: --requirement tools/locks/"
    assert done.stdout.splitlines() == [
        by_hash + "use.txt",
        "tools",
        by_hash + "cmake.txt",
        "in build/venv, what tools/locks/use.txt names in build/venv, what tools/locks/cmake.txt names",
    ]


def test_rejects_package_with_wrong_hash(bare: Path) -> None:
    wheel = bare / "planted-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("planted-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    (bare / "tools/locks/cmake.txt").write_text(f"planted==1.0 --hash=sha256:{'0' * 64}\n")
    words = "find_python() { :; }; make_venv() { mkdir -p build/venv; }; venv_pip() { "
    words += f"{sys.executable} -P -m pip --isolated $* --no-index --find-links . --target here; }}; "
    done = call(bare, words + "pip_install cmake")
    assert done.returncode == 5
    assert "DO NOT MATCH THE HASHES" in (bare / "build/pip.log").read_text()
    assert done.stderr == (
        "quickstart: pip could not install what tools/locks/cmake.txt names: build/pip.log says why\n"
    )
    assert not (bare / "here").exists()


def test_reports_installed_package_versions(bare: Path) -> None:
    link(bare, "paste", shutil.which("paste"))
    script(bare, "apt-get", "exit 0")
    script(bare, "sudo", '"$@"')
    script(bare, "dpkg-query", "echo 'g++ 4:12.2.0-3'; echo 'git 1:2.39.5-0'")
    done = call(bare, 'apt_install g++ git; echo "${installed[@]}"')
    assert done.stderr.splitlines()[-1] == "quickstart: installed packages g++ 4:12.2.0-3, git 1:2.39.5-0"
    assert done.stdout == "packages g++ 4:12.2.0-3, git 1:2.39.5-0\n"


@pytest.fixture
def toolkit(bare: Path) -> Path:
    """A whole toolkit of CUDA 13.0 by its files, on the PATH; and no other on this machine."""
    root = bare / "cuda"
    script(root, "nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'")
    for part in ("include/cuda_runtime.h", "lib64/libcudart_static.a", "nvvm/bin/cicc"):
        (root / part).parent.mkdir(parents=True, exist_ok=True)
        (root / part).touch(mode=0o755)
    link(bare, "nvcc", str(root / "bin/nvcc"))
    return root


def driver(bare: Path, cuda: str) -> None:
    script(bare, "nvidia-smi", f"echo '| NVIDIA-SMI 5   Driver Version: 5   CUDA Version: {cuda}     |'")


def plan(bare: Path, words: str = "plan_nvcc") -> subprocess.CompletedProcess[str]:
    return call(bare, f"find() {{ :; }}; {words}; echo ${{nvcc_from_pypi:-here}}")  # not the machine's own


def test_uses_present_nvcc(bare: Path, toolkit: Path) -> None:
    driver(bare, "13.0")
    done = plan(bare)
    assert (done.returncode, done.stdout, done.stderr) == (0, "here\n", ""), toolkit


def test_plans_nvcc_from_pypi_if_missing(bare: Path) -> None:
    done = plan(bare)
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert done.stderr == "quickstart: nvcc 12.4 or newer is needed: taking CUDA 13.0 from PyPI\n"


@pytest.mark.parametrize("part", ["include/cuda_runtime.h", "lib64/libcudart_static.a", "nvvm/bin/cicc"])
def test_skips_incomplete_toolkit(bare: Path, toolkit: Path, part: str) -> None:
    (toolkit / part).unlink()
    done = plan(bare)
    assert done.stdout == "1\n" and len(done.stderr.splitlines()) == 1
    assert f"{bare}/bin/nvcc is without the rest of its toolkit: taking CUDA 13.0 from PyPI" in done.stderr


def test_skips_older_nvcc(bare: Path, toolkit: Path) -> None:
    script(toolkit, "nvcc", "echo 'Cuda compilation tools, release 12.3, V12.3.52'")
    done = plan(bare)
    assert done.stdout == "1\n" and f"{bare}/bin/nvcc is 12.3: taking" in done.stderr


def test_older_driver_gets_advice(bare: Path, toolkit: Path) -> None:
    driver(bare, "12.4")
    done = plan(bare)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (5, "", 1), toolkit
    assert "nvcc is 13.0 where the driver runs CUDA 12.4 at most" in done.stderr
    assert "CUDA_HOME" in done.stderr and "tools/quickstart --model" in done.stderr
    assert plan(bare, "model=1; plan_nvcc").stdout == "here\n"  # no kernel will run


def test_accepts_nvcc_with_newer_minor_version(bare: Path, toolkit: Path) -> None:
    script(toolkit, "nvcc", "echo 'Cuda compilation tools, release 13.5, V13.5.1'")
    driver(bare, "13.0")
    assert plan(bare).stdout == "here\n"


@pytest.mark.skipif(not shutil.which("flock"), reason="no flock here")
def test_lock_and_disk_space_errors_are_one_line(bare: Path) -> None:
    for name in ("flock", "df", "tail", "sleep"):
        link(bare, name, shutil.which(name))
    second = call(bare, "begin 1; exec bash -c 'exec 8>&9; source tools/lib.sh; begin 1' quickstart")
    assert (second.returncode, len(second.stderr.splitlines())) == (1, 1)
    assert "another tools/quickstart or tools/test is at work in this checkout; wait" in second.stderr
    room = call(bare, "begin 999999999")
    assert room.returncode == 4 and len(room.stderr.splitlines()) == 1
    assert f"999999999 MB are needed for {bare}/build, and " in room.stderr
    assert call(bare, "begin 1").returncode == 0


def test_read_only_checkout(bare: Path) -> None:
    (bare / "build").touch()  # in the way, as a read-only file system is: also for root
    done = call(bare, "begin 1")
    said = f"quickstart: {bare} cannot be written to; copy it to where it can\n"
    assert (done.returncode, done.stderr) == (4, said)


def test_pip_failure_is_one_line_and_recreates_the_venv(bare: Path) -> None:
    words = "find_python() { python=python3; }; "
    words += 'venv_pip() { echo "no matching distribution" >&2; return 1; }; '
    script(bare, "python3", 'echo "$*" >>venvs; mkdir -p build/venv/bin; exit 0')
    done = call(bare, words + "pip_install cuda")
    assert done.returncode == 5
    said = "pip could not install what tools/locks/cuda.txt names: build/pip.log says why"
    assert done.stderr == f"quickstart: {said}\n"
    assert "no matching distribution" in (bare / "build/pip.log").read_text()
    assert (bare / "build/venv/.unfinished").exists()
    # Half filled: the next call begins with a new one, though Python and pip are in it.
    call(bare, words + "new_enough() { :; }; venv_pip() { :; }; pip_install cmake")
    assert (bare / "venvs").read_text().count("-m venv --clear build/venv") == 2
    assert not (bare / "build/venv/.unfinished").exists()


def test_tree_commands_work_in_a_path_with_blanks(tmp_path: Path) -> None:
    tree = tmp_path / "a tree"
    (tree / "tools/occbench_tools").mkdir(parents=True)
    shutil.copytree(LIB.parent / "locks", tree / "tools/locks")
    shutil.copy(LIB, tree / "tools")
    module = "def main():\n    print('hello', __file__)\n    return 3\n"
    (tree / "tools/occbench_tools/hello.py").write_text(module)
    (tree / "pyproject.toml").write_text('[project.scripts]\noccbench-hello = "occbench_tools.hello:main"\n')
    for name in (*BARE, "ln", "touch"):
        link(tree, name, shutil.which(name))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tree / "build/venv"], check=True)
    assert call(tree, "add_tools").returncode == 0
    hello = tree / "build/venv/bin/occbench-hello"
    done = subprocess.run([hello], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, f"hello {tree}/tools/occbench_tools/hello.py\n"), done.stderr


def skip_building(tree: Path) -> None:
    steps = ("plan_nvcc", "need_packages", "need_nvcc", "pip_install", "need_cmake", "configure", "compile")
    with open(tree / "tools/lib.sh", "a") as file:
        file.write("".join(f"{step}() {{ :; }}\n" for step in steps))


@pytest.mark.parametrize("elsewhere", [True, False])
def test_prints_cd_if_called_from_elsewhere(tmp_path: Path, elsewhere: bool) -> None:
    tree = tmp_path / "a tree"
    shutil.copytree(LIB.parent, tree / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    skip_building(tree)
    (tree / "results").mkdir()
    shutil.copy(LIB.parents[1] / "results/committed.txt", tree / "results")
    folder = "results/model-h200/1"
    program = f'[ "$1" != run ] || {{ mkdir -p {folder}; : >{folder}/cases.csv; }}'
    script(tree, "occbench", program)
    (tree / "build/release").mkdir(parents=True)
    (tree / "build/release/benchmarks").symlink_to(tree / "bin")
    words = [tree / "tools/quickstart", "--model"]
    ran = subprocess.run(words, cwd=tmp_path if elsewhere else tree, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert f"pictures:  {folder}/*.png\n" in ran.stdout
    said = re.findall(
        r"^folder: +(cd .+)\n +the paths and commands below start there$", ran.stdout, re.MULTILINE
    )
    assert said == ([f"cd {tmp_path}/a\\ tree"] if elsewhere else [])


@pytest.mark.slow
@pytest.mark.skipif(not built(), reason="no occbench is built")
def test_printed_paths_and_commands_exist(tmp_path: Path) -> None:
    """quickstart on a model, where all is installed and built already."""
    root = LIB.parents[1]
    shutil.copytree(root / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(H200, tmp_path / H200.relative_to(root))
    for name in ("schema.json", "committed.txt"):
        shutil.copy(root / "results" / name, tmp_path / "results")
    (tmp_path / "build/release").mkdir(parents=True)
    (tmp_path / "build/release/benchmarks").symlink_to(built().parent)
    skip_building(tmp_path)
    displays = ("DISPLAY", "WAYLAND_DISPLAY")
    environment = {name: value for name, value in os.environ.items() if name not in displays}
    words = [tmp_path / "tools/quickstart", "--model"]
    ran = subprocess.run(
        words, cwd="/", env=environment | {"PRESET": "quick"}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    ending = ran.stdout[ran.stdout.index("look: ") :]
    pages = re.findall(r"^look: +(\S+) \(open it in a browser\)$", ending, re.MULTILINE)
    pictures = re.findall(r"^pictures: +(\S+)$", ending, re.MULTILINE)
    commands = re.findall(r"^next: +(.+)$", ending, re.MULTILINE)
    assert (len(pages), len(pictures), len(commands)) == (2, 1, 5), ending
    assert all((tmp_path / page).stat().st_size > 300_000 for page in pages)
    assert len(list(tmp_path.glob(pictures[0]))) > 30
    for command in commands:
        if command.startswith("cmake --install"):  # tests/install_test.py calls it
            continue
        ran = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL)
        assert ran.returncode == 0, command


@pytest.mark.slow
def test_uses_installed_packages_without_pypi(tmp_path: Path) -> None:
    """As on a machine of a cluster, whose Python has what the tools want."""
    root = LIB.parents[1]
    (tmp_path / "tools").mkdir()
    shutil.copy(LIB, tmp_path / "tools")
    shutil.copytree(LIB.parent / "locks", tmp_path / "tools/locks")
    shutil.copy(root / "pyproject.toml", tmp_path)
    words = "pip_install use; python -c 'import pandas, occbench_tools; print(pandas.__file__)'"
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    environment |= {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}

    def run() -> subprocess.CompletedProcess[str]:
        command = ["bash", "-c", f"source tools/lib.sh; {words}", "quickstart"]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    (tmp_path / "tools/occbench_tools").mkdir()
    (tmp_path / "tools/occbench_tools/__init__.py").touch()
    done = run()
    assert done.returncode == 0, done.stderr
    assert "what tools/locks/use.txt names (build/pip.log says why): the packages of " in done.stderr
    import pandas

    assert done.stdout.strip() == pandas.__file__
    project = (root / "pyproject.toml").read_text().replace('"pandas>=2.2.3', '"pandas>=99')
    (tmp_path / "pyproject.toml").write_text(project)
    shutil.rmtree(tmp_path / "build")
    done = run()
    assert (done.returncode, done.stdout) == (5, "") and len(done.stderr.splitlines()) == 1
