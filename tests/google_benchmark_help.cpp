// SPDX-License-Identifier: Apache-2.0
// Called with --help: the flags of the Google Benchmark that is installed, for google_benchmark_test.py.
#include <benchmark/benchmark.h>

int main(int argc, char** argv) { benchmark::Initialize(&argc, argv); }
