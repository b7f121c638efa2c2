// SPDX-License-Identifier: Apache-2.0
// A pattern for names of cases: refused as a word of the call, or it parts all names in two, soon.
#include <algorithm>
#include <string>

#include "benchmarks/framework/benchmark_flags.hpp"
#include "harness/io/check.hpp"
#include "tests/fuzz/target.hpp"

using namespace occbench;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string names[] = {"", "registers.fma_chain.ilp1.b256.o25", std::string(200, 'a') + '!'};
  const std::string pattern(fuzz::text_of(data, size));
  try {
    const auto selects = benchmark_filter(pattern);
    fuzz::expect(size <= 4097, "a pattern has at most 4,096 bytes, behind a '-'");
    const bool negates = pattern.starts_with('-');
    const bool takes_all = pattern.empty() || pattern == "all" || pattern == "-" || pattern == "-all";
    if (takes_all) fuzz::expect(selects(names[1]) != negates, "'all' and nothing select every name");
    if (negates || size >= 4096) {
      std::ranges::for_each(names, [&](const std::string& name) { selects(name); });
      return 0;
    }
    const auto others = benchmark_filter('-' + pattern);
    for (const std::string& name : names)
      fuzz::expect(selects(name) != others(name), "a leading '-' turns a pattern round");
  } catch (const UserError& refused) {
    fuzz::expect(refused.code() == Exit::usage, "a pattern is a word of the call");
  }
  return 0;
}
