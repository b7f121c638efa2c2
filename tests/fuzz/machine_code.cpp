// SPDX-License-Identifier: Apache-2.0
// Descriptions of machine code: refused with the line's number, or within what the model's tables have room
// for.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "harness/theory/simulator/program.hpp"
#include "tests/fuzz/target.hpp"

using namespace occbench;

namespace {

void check(const theory::Instruction& i) {
  for (const int scoreboard : {i.write, i.read})
    fuzz::expect(scoreboard >= -1 && scoreboard <= 5, "a scoreboard is 0 to 5 or none");
  fuzz::expect(i.wait < 64, "a mask has six scoreboards");
  fuzz::expect(i.line >= 0, "code stands behind its beginning");
}

void check(const theory::Program& program) {
  fuzz::expect(program.registers_per_thread >= 0 && program.registers_per_thread <= 255, "registers exist");
  fuzz::expect(program.block_limit >= 0 && program.block_limit <= 1024, "a block exists");
  fuzz::expect(std::isfinite(program.iterations) && program.iterations > 0, "a trip makes iterations");
  std::ranges::for_each(program.loop, [](const theory::Instruction& i) { check(i); });
  fuzz::expect(program.code_lines() <= program.loop.size(), "a line of code holds an instruction");
  fuzz::expect(program.store_places() <= static_cast<int>(program.loop.size()), "a place is stored to");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    for (const auto& [name, program] : theory::parse_programs(fuzz::text_of(data, size))) {
      fuzz::expect(name.first == program.family && name.second == program.variant, "a program has its name");
      check(program);
    }
  } catch (const std::invalid_argument& refused) {
    fuzz::expect(std::string(refused.what()).starts_with("line "), "a refusal names its line");
  }
  return 0;
}
