// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/cards.hpp"

#include <iterator>
#include <string>
#include <vector>

#include "benchmarks/report/columns.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/theory/occupancy/cards.hpp"

namespace occbench::commands {

void print_cards(std::ostream& out) {
  static constexpr TextColumn<theory::Card> columns[] = {
      {"--device", [](const theory::Card& c) { return std::string(c.name); }},
      {"as nvidia-smi prints it", [](const theory::Card& c) { return std::string(c.product); }},
      {"cc", [](const theory::Card& c) { return text("%d.%d", c.cc / 10, c.cc % 10); }},
      {"SMs", [](const theory::Card& c) { return std::to_string(c.sm_count); }},
      {"GiB", [](const theory::Card& c) { return text("%g", c.memory_gib); }},
      {"numbers from", [](const theory::Card& c) { return std::string(theory::source_name(c.numbers)); }},
  };
  print_aligned(out, table_of(columns, std::vector(std::begin(theory::cards), std::end(theory::cards))));
}

}  // namespace occbench::commands
