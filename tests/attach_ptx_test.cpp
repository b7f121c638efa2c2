// SPDX-License-Identifier: Apache-2.0
// Which kernels of a PTX module may be compiled again with a cap, and the text that is then compiled.
#include <gtest/gtest.h>

#include "harness/attach/preload/ptx.hpp"

namespace occbench::attach {
namespace {

using Names = std::vector<std::string>;

const std::string head = "// made by hand\n.version 9.0\n.target sm_90a, debug\n.address_size 64\n";

TEST(AttachPtx, RecognizesPtxByItsVersionDirective) {
  EXPECT_TRUE(is_ptx(head));
  EXPECT_TRUE(is_ptx("/* .global */ \n  .version 8.0"));
  for (const char* other : {"",
                            "\x7f"
                            "ELF",
                            "ABC .version", "// .version 9.0"})
    EXPECT_FALSE(is_ptx(other));
  EXPECT_EQ(target_of(head), 90);
  EXPECT_EQ(target_of(".version 9.0"), 0);
}

TEST(AttachPtx, ExcludesKernelsThatUseModuleVariables) {
  const std::string module =
      head +
      ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
      ".func (.param .b32 r) later(.param .b32 x);\n"
      ".global .align 4 .b8 table[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n"
      ".const .align 4 .f32 c = 0f3F800000;\n"
      ".extern .shared .align 16 .b8 ballast[];\n"
      ".func inner(.param .b32 x) { ld.global.b8 %r1, [table+1]; }\n"
      ".func (.param .b32 r) outer(.param .b32 x) { call inner, (x); }\n"
      ".func (.param .b32 r) later(.param .b32 x) { mov.b32 %r1, %r2; }\n"
      ".visible .entry plain(.param .u64 p) { st.shared.b32 [ballast], %r1; { ret; } }\n"
      ".entry calls(.param .u64 p) { call (r), later, (x); // table\n }\n"
      ".visible .entry by_call(.param .u64 p) { call (r), outer, (x); }\n"
      ".visible .entry constant(.param .u64 p) { ld.const.f32 %f1, [c]; }\n"
      ".visible .entry prints(.param .u64 p) { call (r), vprintf, (a, b); }\n"
      ".visible .entry tables(.param .u64 p) { ret; }\n";
  EXPECT_EQ(kernels_without_variables(module), (Names{"plain", "calls", "tables"}));
  EXPECT_EQ(kernels_without_variables(module + ".alias a, b;"), Names{});
}

TEST(AttachPtx, ReplacesAnExistingMaxnreg) {
  const std::string before =
      head + ".global .u32 n;\n.entry a(.param .u64 p)\n.maxntid 256, 1, 1\n.maxnreg 64\n";
  const std::string capped =
      with_register_cap(before + "{ ret; }\n.entry b() { ld.global.u32 %r1, [n]; }\n", 40);
  EXPECT_NE(capped.find(".maxntid 256, 1, 1\n\n.maxnreg 40\n{ ret; }\n.entry b() { ld"), std::string::npos)
      << capped;
  EXPECT_EQ(capped.find("64\n{"), std::string::npos);
}

TEST(AttachPtx, AcceptsMalformedPtxWithoutCrashing) {
  for (const char* text :
       {"", "{", "}", "}}}{{{", ".entry", ".entry {", ".func (", ".func ;", "/*", "\"", "//", ".entry x {"}) {
    static_cast<void>(kernels_without_variables(text));
    EXPECT_EQ(with_register_cap(text, 32).find(text), 0U);
  }
}

}  // namespace
}  // namespace occbench::attach
