# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What quickstart and test share: finding, and on Debian and Ubuntu installing, what a build needs.
# Sourced; goes to the repository root. Exits with 5 where something is missing that it cannot install.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly CMAKE_AT_LEAST=3.25 NVCC_AT_LEAST=12.4
readonly CMAKE_PIN=cmake==3.31.10

# The same relative paths in every copy of the tree: one compiler cache serves them all.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

installed=()

die() {  # die STATUS SENTENCE
  printf '%s: %s\n' "${0##*/}" "$2" >&2
  exit "$1"
}

at_least() {  # at_least VERSION WANTED
  printf '%s\n' "$2" "$1" | sort --version-sort --check=quiet
}

has_gpu() {
  [[ $(nvidia-smi -L 2>/dev/null) == "GPU 0"* ]]
}

need_packages() {  # need_packages [PROBE PACKAGE]...: what a build needs, and these
  local probe package missing=()
  while read -r probe package; do  # a command or a file, and the package that brings it
    if [[ $probe == /* ]]; then [[ -e $probe ]]; else command -v "$probe" >/dev/null; fi ||
      missing+=("$package")
  done < <(
    ((!$#)) || printf '%s %s\n' "$@"
    cat <<'END'
g++ g++
cmake cmake
ninja ninja-build
ccache ccache
git git
/etc/ssl/certs/ca-certificates.crt ca-certificates
/usr/include/benchmark/benchmark.h libbenchmark-dev
/usr/include/CLI/CLI.hpp libcli11-dev
/usr/include/nlohmann/json.hpp nlohmann-json3-dev
/usr/include/gtest/gtest.h libgtest-dev
END
  )
  python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
  ((${#missing[@]})) || return 0

  command -v apt-get >/dev/null ||
    die 5 "install these first, by the names your distribution gives them: ${missing[*]}"
  local as_root=()
  if ((EUID)); then
    { sudo -n true || { [[ -t 0 ]] && command -v sudo; }; } >/dev/null 2>&1 ||
      die 5 "only root may install packages; ask for: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null ||
    die 5 "apt-get could not install: ${missing[*]}"
  installed+=("packages: ${missing[*]}")
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
  die 5 "nvcc $NVCC_AT_LEAST or newer is needed$too_old: install the CUDA toolkit (developer.nvidia.com/cuda-downloads) or name its folder in CUDA_HOME"
}

pip_install() {  # pip_install REQUIREMENT...: into build/venv, whose commands come first from then on
  local stamp
  stamp=build/venv/.$(cat tools/pyproject.toml - <<<"$*" | sha256sum | cut -c1-16)
  if [[ ! -e $stamp ]]; then
    # One that another Python made serves as well, and one whose Python is gone is made anew.
    build/venv/bin/python -m pip --version &>/dev/null || python3 -m venv --clear build/venv
    build/venv/bin/python -m pip install --quiet --disable-pip-version-check "$@" ||
      die 5 "pip could not install: $*"
    touch "$stamp"
    installed+=("in build/venv: $*")
  fi
  PATH=$PWD/build/venv/bin:$PATH
}

need_cmake() {
  local version
  version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version //p')
  at_least "${version:-0}" "$CMAKE_AT_LEAST" || pip_install "$CMAKE_PIN"
}

build() {  # build PRESET [--target TARGET]
  cmake --preset "$1" && cmake --build --preset "$1" --parallel "$(nproc)" "${@:2}"
}
