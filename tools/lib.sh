# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What quickstart and test share: finding what a build needs; installing it on Debian and Ubuntu, where one may, or
# from PyPI into build/venv; and doing without where something else serves. Sourced; goes to the repository root.
# Exits with 5 where something is missing that nothing here can bring, and says the command that would; with 4 where
# the checkout cannot be written to.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly CMAKE_AT_LEAST=3.25 NVCC_AT_LEAST=12.4 PYTHON_AT_LEAST=3.11
readonly PYPI_CUDA=13.0  # of tools/locks/cuda.txt

# The same relative paths in every copy of the tree: one compiler cache serves them all.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

installed=()   # what this call installed, in words
to_fetch=()    # packages of libraries that are not here: CMake fetches their sources

die() {  # die STATUS SENTENCE
  say "$2"
  exit "$1"
}

say() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
}

begin() {  # begin MEGABYTES: build/ is this call's alone, and has room
  local free
  { mkdir -p build && exec 9>>build/.lock; } 2>/dev/null || die 4 "$PWD cannot be written to; copy it to where it can"
  # The lock ends with the last process that has it: the compilers of a call that was killed still count.
  flock --nonblock 9 || die 1 "another tools/quickstart or tools/test is at work in this checkout; wait until it ends"
  free=$(df --output=avail --block-size=1M build | tail -1)
  ((free >= $1)) || die 4 "$1 MB are needed for $PWD/build, and $((free)) MB are free there"
}

at_least() {  # at_least VERSION WANTED
  printf '%s\n' "$2" "$1" | sort --version-sort --check=quiet
}

has_gpu() {
  [[ $(nvidia-smi -L 2>/dev/null) == "GPU 0"* ]]
}

how_to_get() {  # how_to_get PACKAGE...
  if command -v apt-get >/dev/null; then
    echo "as root: apt-get install $*"
  else
    echo "install, by the names your distribution gives them: $*"
  fi
}

apt_install() {  # apt_install PACKAGE...; fails where there is no apt-get, or where one may not install
  local as_root=()
  command -v apt-get >/dev/null || return 1
  if ((EUID)); then
    { sudo -n true || { [[ -t 0 ]] && command -v sudo; }; } >/dev/null 2>&1 || return 1
    as_root=(sudo)
  fi
  say "installing packages: $*"
  mkdir -p build
  { "${as_root[@]}" apt-get update -qq -o APT::Update::Error-Mode=any &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -qq -y --no-install-recommends "$@"; } >build/apt.log 2>&1 || return 1
  installed+=("packages $(versions "$@")")
  say "installed ${installed[-1]}"
}

versions() {  # versions PACKAGE...: each with the version that is here
  dpkg-query --show --showformat='${Package} ${Version}\n' "$@" | paste -s -d, | sed 's/,/, /g'
}

new_enough() {  # new_enough PYTHON
  "$1" -I -c 'import sys; sys.exit(sys.version_info < tuple(map(int, sys.argv[1].split("."))))' "$PYTHON_AT_LEAST" 2>/dev/null
}

find_python() {  # sets python to the first that is new enough
  for python in python3 python3.1{4,3,2,1}; do
    ! new_enough "$python" || return 0
  done
  return 1
}

python_can_install() {  # has venv with pip, or pip, which fills a venv as well
  find_python && { "$python" -I -c 'import ensurepip, venv' || "$python" -P -m pip --version; } &>/dev/null
}

need_packages() {  # need_packages [PROBE PACKAGE INSTEAD]...: what a build needs, and these
  # PROBE is a command or a file, PACKAGE what brings it, INSTEAD what serves without it: the PyPI, CMake's fetch of
  # the sources, going on as we are, or nothing.
  local probe package instead missing=() required=()
  while read -r probe package instead; do
    if [[ $probe == /* ]]; then [[ -e $probe ]]; else command -v "$probe" >/dev/null; fi && continue
    missing+=("$package")
    case $instead in
      fetch) to_fetch+=("$package") ;;
      nothing) required+=("$package") ;;
    esac
  done < <(
    cat <<END_OF_LIST
${CXX:-g++} g++ nothing
cmake cmake pypi
ninja ninja-build pypi
git git fetch
/etc/ssl/certs/ca-certificates.crt ca-certificates go-on
/usr/include/benchmark/benchmark.h libbenchmark-dev fetch
/usr/include/CLI/CLI.hpp libcli11-dev fetch
/usr/include/nlohmann/json.hpp nlohmann-json3-dev fetch
/usr/include/re2/re2.h libre2-dev fetch
/usr/include/zlib.h zlib1g-dev fetch
/usr/include/lz4.h liblz4-dev fetch
/usr/include/zstd.h libzstd-dev fetch
END_OF_LIST
    ((!$#)) || printf '%s %s %s\n' "$@"
  )
  if ! python_can_install; then
    missing+=(python3-venv)
    required+=(python3-venv)
  elif ! "$python" -I -c 'import ensurepip, venv' &>/dev/null; then
    missing+=(python3-venv)
  fi
  if ((${#missing[@]})); then
    if apt_install "${missing[@]}"; then
      to_fetch=()
    elif ((${#required[@]})); then
      die 5 "${required[*]} cannot be done without; $(how_to_get "${missing[@]}")"
    fi
  fi
  # Ubuntu 22.04's own python3 is 3.10, and the newer one is a package beside it.
  find_python || { apt_install python3.11-venv && find_python; } ||
    die 5 "Python $PYTHON_AT_LEAST or newer is needed; $(how_to_get python3.11-venv)"
}

driver_cuda() {  # the newest CUDA that this machine's driver runs, as 12.4; nothing without a driver
  { nvidia-smi 2>/dev/null || true; } | sed -n 's/.*CUDA Version: *\([0-9.]*\).*/\1/p'
}

is_whole() {  # is_whole NVCC: the rest of its toolkit is there: headers, CUDA's runtime, the compiler behind it
  local root part
  root=$(dirname "$(dirname "$(readlink -f "$1")")")
  for part in {"$root","$root"/targets/*,/usr}/include/cuda_runtime.h; do [[ -e $part ]] && break; done
  [[ -e $part ]] || return 1
  for part in "$root"/lib*/libcudart_static.a {"$root"/targets/*/lib,/usr/lib/*}/libcudart_static.a; do
    [[ -e $part ]] && break
  done
  [[ -e $part ]] || return 1
  for part in {"$root/nvvm",/usr/lib/nvidia-cuda-toolkit}/bin/cicc; do [[ -x $part ]] && break; done
  [[ -x $part ]]
}

find_nvcc() {  # puts the first nvcc that serves on the PATH; fails without one, and `unfit` says why others do not serve
  local nvcc version driver
  driver=$(driver_cuda)
  unfit=
  while read -r nvcc; do
    [[ -x $nvcc ]] || continue
    version=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
    if ! at_least "$version" "$NVCC_AT_LEAST"; then
      unfit+=", and $nvcc is $version"
    elif ! is_whole "$nvcc"; then
      unfit+=", and $nvcc is without the rest of its toolkit"
    elif ! [[ ${model:-} ]] && [[ $driver ]] && ((${version%%.*} > ${driver%%.*})); then
      unfit+=", and $nvcc is $version where the driver runs CUDA $driver at most"
    else
      [[ $(command -v nvcc) == "$nvcc" ]] || PATH=$(dirname "$nvcc"):$PATH
      return
    fi
  done < <(
    command -v nvcc || true
    echo "${CUDA_HOME:-}/bin/nvcc"
    find /usr/local -path '/usr/local/cuda*/bin/nvcc' 2>/dev/null | sort --version-sort --reverse
  )
  return 1
}

plan_nvcc() {  # before anything is installed: nvcc is here, or PyPI's will serve
  local driver unfit
  ! find_nvcc || return 0
  driver=$(driver_cuda)
  if ! [[ ${model:-} ]] && [[ $driver ]] && ! at_least "$driver" "$PYPI_CUDA"; then
    die 5 "nvcc $NVCC_AT_LEAST to $driver is needed$unfit: install a toolkit that the driver runs (CUDA $driver) and name its folder in CUDA_HOME, since PyPI has nvcc from $PYPI_CUDA on; calc, inspect and a model of a GPU need no GPU: tools/quickstart --model"
  fi
  nvcc_from_pypi=1
  compgen -G 'build/venv/.cuda-*' >/dev/null ||
    say "nvcc $NVCC_AT_LEAST or newer is needed$unfit: taking CUDA $PYPI_CUDA from PyPI"
}

need_nvcc() {  # after plan_nvcc and need_packages
  [[ ${nvcc_from_pypi:-} ]] || return 0
  pip_install cuda
  CUDA_HOME=$(echo "$PWD"/build/venv/lib/python3*/site-packages/nvidia/cu13)
  # As NVIDIA's installer lays it out, for whoever links with it: a build outside this tree as well.
  ln -sfn lib "$CUDA_HOME/lib64"
  ln -sf libcudart.so.13 "$CUDA_HOME/lib/libcudart.so"
  export CUDA_HOME PATH=$CUDA_HOME/bin:$PATH
  say "CUDA $PYPI_CUDA of PyPI is in build/venv: nvcc $(nvcc --version | sed -n 's/.*, V//p'), $(du -sm "$CUDA_HOME" | cut -f1) MB"
}

make_venv() {  # build/venv; one that another Python made serves as well; one too old, broken or half filled is made anew
  [[ ! -e build/venv/.unfinished ]] && new_enough build/venv/bin/python && venv_pip --version &>/dev/null && return
  "$python" -P -m venv --clear build/venv &>/dev/null && return
  # Debian's python3 without python3-venv: the environment goes without pip.
  "$python" -P -m venv --clear --without-pip build/venv
}

venv_pip() {  # venv_pip WORD...: pip for build/venv: its own, or that of the Python that made it
  if build/venv/bin/python -I -c 'import pip' &>/dev/null; then
    build/venv/bin/python -P -m pip --disable-pip-version-check "$@"
  else
    "$python" -P -m pip --disable-pip-version-check --python build/venv/bin/python "$@"
  fi
}

add_tools() {  # this tree's Python packages and their commands, into build/venv; pip would build the program as well
  build/venv/bin/python -I - <<'END'
import shlex, sys, sysconfig, tomllib
from pathlib import Path

paths = sysconfig.get_paths()
Path(paths["purelib"], "occbench.pth").write_text("".join(f"{Path.cwd() / part}\n" for part in ("tools", "python")))
for name, main in tomllib.loads(Path("pyproject.toml").read_text())["project"]["scripts"].items():
    module, function = main.split(":")
    script = Path(paths["scripts"], name)
    # By a shell, as no path with a blank may follow #!.
    call = f"import sys; from {module} import {function}; sys.argv[0] = '{name}'; sys.exit({function}())"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -c "{call}" "$@"\n')
    script.chmod(0o755)
END
}

borrow_packages() {  # what the tools want, of the Python that makes build/venv; fails where it is too old there, or missing
  "$python" -P - <<'END' 2>/dev/null
import re, sysconfig, tomllib
from importlib.metadata import version
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())
wanted = project["project"]["dependencies"] + project["project"]["optional-dependencies"]["report"]
for requirement in wanted:
    name, least = re.match(r"([a-z-]+)>=([\d.]+)", requirement).groups()
    numbers = [[int(part) for part in re.findall(r"\d+", text)] for text in (version(name), least)]
    assert numbers[0] >= numbers[1]
(site,) = Path("build/venv").glob("lib/python3*/site-packages")
paths = sysconfig.get_paths()
(site / "borrowed.pth").write_text("".join(f"{path}\n" for path in {paths["purelib"], paths["platlib"]}))
END
}

pip_install() {  # pip_install LOCK: what tools/locks/LOCK.txt names into build/venv, whose commands come first from then on
  # LOCK is use (the tools, as users have them), test (the tools, and all to work on them), cuda, cmake, release or uv.
  local lock=tools/locks/$1.txt stamp
  stamp=build/venv/.$1-$(cat pyproject.toml "$lock" | sha256sum | cut -c1-16)
  if [[ ! -e $stamp ]]; then
    find_python && make_venv || die 5 "no Python environment could be made in build/venv; $(how_to_get python3-venv)"
    : >build/venv/.unfinished
    # No source packages: what builds them would come unlocked.
    if venv_pip install --quiet --require-hashes --only-binary :all: --requirement "$lock" >build/pip.log 2>&1; then
      installed+=("in build/venv, what $lock names")
    elif [[ $1 == use ]] && borrow_packages; then
      say "pip could not install what $lock names (build/pip.log says why): the packages of $python serve"
    else
      die 5 "pip could not install what $lock names: build/pip.log says why"
    fi
    [[ $1 != use && $1 != test ]] || add_tools
    rm build/venv/.unfinished
    : >"$stamp"
  fi
  PATH=$PWD/build/venv/bin:$PATH
}

need_cmake() {  # and ninja, at those versions
  local version
  version=$({ cmake --version 2>/dev/null || true; } | sed -n 's/^cmake version //p')
  if ! at_least "${version:-0}" "$CMAKE_AT_LEAST" || ! command -v ninja >/dev/null; then pip_install cmake; fi
}

configure() {  # configure PRESET [CMAKE'S WORDS]...: quietly, unless it fails
  local log=build/$1.log
  mkdir -p build
  cmake --preset "$@" >"$log" 2>&1 && return
  # No network to fetch from: one line says the way out.
  if grep -q -e -subbuild -e 'git.*FetchContent' "$log"; then
    ((${#to_fetch[@]})) || die 5 "a library is too old here, and CMake could not fetch a newer one: $log says which"
    die 5 "${to_fetch[*]}: neither found nor fetched ($log says why); $(how_to_get "${to_fetch[@]}")"
  fi
  cat "$log" >&2
  return 1
}

compile() {  # compile PRESET [--target TARGET]
  cmake --build --preset "$1" --parallel "$(nproc)" "${@:2}"
}
