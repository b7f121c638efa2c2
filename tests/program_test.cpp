// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/program.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "harness/theory/simulator/lines.hpp"
#include "tests/quiet_machine.hpp"

namespace occbench::theory {
namespace {

TEST(Programs, CountInstructionCacheLines) {
  const auto lines = [](const std::string& text) { return loop_of(text).code_lines(); };
  EXPECT_EQ(lines("100*FFMA 4 - - 00 00 00\n"), 13U);
  EXPECT_EQ(lines("31*FFMA 4 - - 00 00 00\nBRA.TAKEN.31 5 - - 00 00 00\n31*FFMA 4 - - 00 00 00\n"
                  "BRA.TAKEN 5 - - 00 00 00\n8*FFMA 4 - - 00 00 00\n"),
            5U)
      << "two trips of a loop, and a line behind it";
}

TEST(Programs, MergeAdjacentStores) {
  const Program program =
      loop_of("STG.32 1 - - 00 00 00\n3*STG.32.NEXT 1 - - 00 00 00\nSTG.128 1 - - 00 00 00\n");
  EXPECT_EQ(program.store_places(), 2);
  EXPECT_EQ(program.bytes(Pipe::global_store), 4 * 4 + 16);
}

TEST(Programs, ReportTheLineOfAParseError) {
  const auto complaint = [](const std::string& text) {
    try {
      static_cast<void>(parse_programs(text));
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(complaint("# nothing\n\n"), "none");
  EXPECT_EQ(complaint("FFMA 4 - - 00 11 11\n"), "line 1: an instruction before the first variant");
  EXPECT_EQ(complaint("f v 16 0 0 0\n"), "line 1: a variant's line has seven words");
  EXPECT_EQ(complaint("f v 16 0 0 0 1\nFFMA 4 - -\n"), "line 2: an instruction has seven words");
  EXPECT_EQ(complaint("f v 16 0 0 0 1\nFFMA x - - 00 11 11\n"), "line 2: 'x' is not a number");
  const std::string fma = "FFMA 4 - - 00 11 11\n";
  EXPECT_EQ(complaint("f v 16 0 0 0 1\n2*{\n" + fma), "line 4: a block lacks its }");
  EXPECT_EQ(complaint("f v 16 0 0 0 1\n2*{\n" + fma + "f w 16 0 0 0 1\n"), "line 4: a block lacks its }");
  EXPECT_EQ(complaint("f v 16 0 0 0 1\n" + fma + "}\n"), "line 3: a } without its block");
  EXPECT_EQ(complaint("f v 16 0 0 0 1\n65536*{\n"), "line 2: '65536' is not 0 to 65535");
  const std::string no_room = "more instructions than the model has room for";
  EXPECT_EQ(complaint("f v 16 0 0 0 1\n65*{\n65535*" + fma + "}\n"), "line 4: " + no_room);
  EXPECT_EQ(complaint("f v 16 0 0 0 1\n65535*{\n65535*{\n65535*{\n" + fma + "}\n}\n}\n"),
            "line 7: " + no_room);
  std::string sharing;  // of one loop, each of which has it
  for (int i = 0; i < 65; ++i) sharing += "f v" + std::to_string(i) + " 16 0 0 0 1\n";
  EXPECT_EQ(complaint(sharing + "65535*" + fma), "line 67: " + no_room);
  EXPECT_EQ(complaint("f v 16 0 0 0 1\n65535*{\n}\n"), "none");
}

TEST(Programs, CountUnknownOpcodes) {
  const Programs programs = parse_programs(
      "f v 16 0 0 0 1\nf w 16 0 0 0 1\n6*FFMA 4 - - 00 11 11\nLOP3 4 - - 00 11 11\nS2R 4 0 - 00 00 00\n"
      "LDSM.16 4 0 - 00 00 00\nREDG.E 4 - - 01 00 00\nf x 16 0 0 0 1\nFADD 4 - - 00 11 11\nDSETP 4 - - 00 11 "
      "11\n");
  for (const char* name : {"v", "w"}) {
    EXPECT_EQ(programs.at({"f", name}).guessed, (std::vector<std::string>{"LDSM", "REDG"}));
    EXPECT_DOUBLE_EQ(programs.at({"f", name}).guessed_share(), 0.2);
  }
  EXPECT_EQ(programs.at({"f", "x"}).guessed.size(), 0);
  EXPECT_EQ(programs.at({"f", "x"}).guessed_share(), 0);
}

TEST(Programs, ExpandRepeatedBlocksAndSharedLoops) {
  const std::string add = "FADD 4 - - 00 11 11\n";
  const std::string fma = "FFMA 4 - - 00 11 11\n";
  const std::string back = "BRA.TAKEN.12 5 - - 00 00 00\n";
  const auto inner = fma + fma + "12*" + add + back;
  const Programs folded = parse_programs("f v 16 0 0 0 1\nf w 24 0 0 0 2\n" + add + "2*{\n3*{\n2*" + fma +
                                         "12*" + add + back + "}\n" + add + "}\nf x 8 0 0 0 1\n" + add);
  const Programs flat =
      parse_programs("f v 16 0 0 0 1\n" + add + inner + inner + inner + add + inner + inner + inner + add);
  const auto shown = [](const Program& program) {
    std::vector<std::pair<Pipe, int>> all;
    for (const Instruction& i : program.loop) all.emplace_back(i.pipe, i.line);
    return all;
  };
  EXPECT_EQ(shown(folded.at({"f", "v"})), shown(flat.at({"f", "v"})));
  EXPECT_EQ(shown(folded.at({"f", "w"})), shown(flat.at({"f", "v"})));
  EXPECT_EQ(folded.at({"f", "w"}).registers_per_thread, 24);
  EXPECT_EQ(folded.at({"f", "w"}).iterations, 2);
  EXPECT_EQ(folded.at({"f", "x"}).loop.size(), 1);
  const std::string none = add + "0*" + fma + "0*{\n" + fma + "}\n";
  EXPECT_EQ(parse_programs("f v 8 0 0 0 1\n" + none).at({"f", "v"}).loop.size(), 1);
}

}  // namespace
}  // namespace occbench::theory
