#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz targets with clang++ (no nvcc, in build/fuzz) and runs each of them, or those that are named.
# What they find worth keeping grows in build/fuzz/corpus; what ends them lies in build/fuzz/crashes.
# usage: tests/fuzz/run.sh [--runs N | --seconds N] [--jobs N] [--seed N] [TARGET...]
#   --runs N      executions of each target (100000)
#   --seconds N   time for each target instead
#   --jobs N      targets at the same time (1)
#   --seed N      of every target's chances (drawn, and printed)
# One line a target: 'NAME N executions, N s, seed N'. Behind one that failed: the command that fails again.
# Exits with 0 if nothing failed, 1 if something did, 2 on wrong words, 5 if a build tool is missing.
# shellcheck source-path=SCRIPTDIR source=../../tools/lib.sh
source "$(dirname "$0")/../../tools/lib.sh"

mapfile -t known < <(sed -n 's/^ *occbench_fuzz(\([a-z_]*\) .*/\1/p' tests/fuzz/CMakeLists.txt)
limit=-runs=100000 jobs=1 seed=$((RANDOM * 32768 + RANDOM + 1)) targets=()
while (($#)); do
  case $1 in
    --runs | --seconds | --jobs | --seed)
      [[ ${2:-} =~ ^[1-9][0-9]{0,15}$ ]] || die 2 "$1 wants a whole number from 1 on"
      case $1 in
        --runs) limit=-runs=$2 ;;
        --seconds) limit=-max_total_time=$2 ;;
        --jobs) jobs=$2 ;;
        --seed) seed=$2 ;;
      esac
      shift 2
      ;;
    *)
      [[ " ${known[*]} " == *" $1 "* ]] || die 2 "there is no target '$1'; there are ${known[*]}"
      targets+=("$1")
      shift
      ;;
  esac
done

can_fuzz() {  # can_fuzz COMPILER: it has libFuzzer, and std::source_location, which clang++ 14 lacks
  command -v "$1" >/dev/null && "$1" -std=c++20 -fsanitize=fuzzer,address -x c++ -o /dev/null - 2>/dev/null <<'END'
#include <cstddef>
#include <source_location>
extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, std::size_t) {
  return std::source_location::current().line() == 0;
}
END
}

find_compiler() {  # sets compiler to the first that can
  for compiler in clang++ clang++-{21..15}; do
    ! can_fuzz "$compiler" || return 0
  done
  return 1
}

need_packages "$@"  # none of ours: all were shifted away
need_cmake
find_compiler || { apt_install clang-16 libclang-rt-16-dev && find_compiler; } ||
  die 5 "clang++ 15 or newer with its libFuzzer is needed; $(how_to_get clang-16 libclang-rt-16-dev)"
log=build/fuzz.build.log
mkdir -p build
exec 9>build/fuzz.lock  # one call builds, another waits for it
flock 9
{ configure fuzz -D CMAKE_CXX_COMPILER="$compiler" && compile fuzz >"$log" 2>&1; } || {
  [[ ! -e $log ]] || tail -n 40 "$log" >&2
  die 1 "the targets could not be built"
}
exec 9>&-

fuzz() {  # fuzz TARGET
  local program=build/fuzz/tests/fuzz/fuzz_$1 grown=build/fuzz/corpus/$1 crashes=build/fuzz/crashes/$1
  local log=build/fuzz/logs/$1.$seed words=(-seed=$((seed % 4294967295 + 1)) "$limit") status=0
  mkdir -p "$grown" "$crashes" "${log%/*}"
  [[ ! -e tests/fuzz/$1.dict ]] || words+=(-dict="tests/fuzz/$1.dict")
  SECONDS=0
  nice -n 19 "$program" "${words[@]}" -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$crashes/" "$grown" "tests/fuzz/corpus/$1" >"$log" 2>&1 || status=$?
  printf '%s %s executions, %s s, seed %s\n' "$1" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | grep . || echo 0)" "$SECONDS" "$seed"
  ((status)) || return 0
  grep -m 3 -e 'not so' -e ERROR -e 'runtime error' "$log" >&2
  local input
  input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
  say "$1 failed ($log); again: $program ${input:-}"
  return 1
}
export -f fuzz say
export limit seed

((${#targets[@]})) || targets=("${known[@]}")
# shellcheck disable=SC2016  # the inner bash expands it
printf '%s\0' "${targets[@]}" | xargs -0 -n 1 -P "$jobs" bash -c 'fuzz "$1"' "$0" || exit 1
