# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What quickstart and test share: finding what a build needs; installing it on Debian and Ubuntu, where one may; and
# doing without where something else serves. Sourced; goes to the repository root.
# Exits with 5 where something is missing that nothing here can bring, and says the command that would.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly CMAKE_AT_LEAST=3.25 NVCC_AT_LEAST=12.4 PYTHON_AT_LEAST=3.11

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
  "${as_root[@]}" apt-get update -qq >&2 &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -qq -y --no-install-recommends "$@" >/dev/null || return 1
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
/usr/include/libelf.h libelf-dev go-on
/usr/include/lz4.h liblz4-dev go-on
/usr/include/zstd.h libzstd-dev go-on
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

need_nvcc() {
  local nvcc version too_old=
  while read -r nvcc; do
    [[ -x $nvcc ]] || continue
    version=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
    if at_least "$version" "$NVCC_AT_LEAST"; then
      [[ $(command -v nvcc) == "$nvcc" ]] || PATH=$(dirname "$nvcc"):$PATH
      return
    fi
    too_old+=", and $nvcc is $version"
  done < <(
    command -v nvcc || true
    echo "${CUDA_HOME:-}/bin/nvcc"
    find /usr/local -path '/usr/local/cuda*/bin/nvcc' 2>/dev/null | sort --version-sort --reverse
  )
  die 5 "nvcc $NVCC_AT_LEAST or newer is needed$too_old: name its folder in CUDA_HOME; as root, with the repository of developer.nvidia.com/cuda-downloads: apt-get install cuda-toolkit; without root: docs/tried.md"
}

make_venv() {  # build/venv; one that another Python made serves as well, and one too old or broken is made anew
  new_enough build/venv/bin/python && venv_pip --version &>/dev/null && return
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

pip_install() {  # pip_install LOCK: what tools/locks/LOCK.txt names into build/venv, whose commands come first from then on
  # LOCK is use (the tools, as users have them), test (the tools, and all to work on them), cmake or uv.
  local lock=tools/locks/$1.txt stamp
  stamp=build/venv/.$1-$(cat tools/pyproject.toml "$lock" | sha256sum | cut -c1-16)
  if [[ ! -e $stamp ]]; then
    find_python && make_venv || die 5 "no Python environment could be made in build/venv; $(how_to_get python3-venv)"
    # No source packages: what builds them would come unlocked.
    venv_pip install --quiet --require-hashes --only-binary :all: --requirement "$lock" ||
      die 5 "pip could not install what $lock names"
    if [[ $1 == use || $1 == test ]]; then
      venv_pip install --quiet --no-deps --no-build-isolation --editable tools ||
        die 5 "pip could not install the tools in build/venv"
    fi
    touch "$stamp"
    installed+=("in build/venv, what $lock names")
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
