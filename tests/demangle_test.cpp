// SPDX-License-Identifier: Apache-2.0
#include "harness/io/demangle.hpp"

#include <gtest/gtest.h>

#include <string>

namespace occbench {
namespace {

TEST(Demangle, DemanglesKernelNames) {
  for (const auto& [mangled, plain] : {
           std::pair("_Z5scaleIdLi256EEvPT_i", "void scale<double, 256>(double*, int)"),
           {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEENS_"
            "6detail5ArrayIPcLi3EEEEEviT0"
            "_T1_",
            "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
            "at::detail::Array<"
            "char*, 3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)"},
           {"_Z1fIJifdEEvDpT_", "void f<int, float, double>(int, float, double)"},
           {"_Z1fIiEvNSt9enable_ifIXsr3std8is_floatIT_EE5valueES1_E4typeE",
            "void f<int>(std::enable_if<std::is_float<int>::value, int>::type)"},
           {"_ZN12_GLOBAL__N_11kEv", "(anonymous namespace)::k()"},
           {"_Z1fN1AUt_1BES2_", "f(A::{unnamed type#1}::B, A::{unnamed type#1}::B)"},
           {"_Z1fN1AUlvE_1BES1_", "f(A::{lambda()#1}::B, A::{lambda()#1}::B)"},
           {"plain", "plain"},
           {"i", "i"},
           {"_Z", "_Z"},
           {"_Z5scal", "_Z5scal"},
       })
    EXPECT_EQ(demangle(mangled), plain);
}

/// f(P<int, int>, P<that, that>, ...)
std::string doubling(int levels) {
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string name = "_Z1f1PIiiE";
  for (int n = 0; n < levels; ++n) {
    const std::string id = {'S', digits[static_cast<std::size_t>(n)], '_'};
    name += "S_I" + id + id + "E";
  }
  return name;
}

TEST(Demangle, KeepsNamesThatWouldGrowTooLong) {
  EXPECT_GT(demangle(doubling(5)).size(), 300U);
  for (int levels = 1; levels < 36; ++levels) {
    const std::string name = doubling(levels);
    EXPECT_LE(demangle(name).size(), (1U << 15) + 128 * name.size());
    if (levels > 15) {
      EXPECT_EQ(demangle(name), name);
    }
  }
}

/// Nothing is printed of an empty pack, but the C++ library looks for it in all parts of the pattern, each
/// time.
TEST(Demangle, KeepsExponentialEmptyPacks) {
  std::string name = "_Z1fIJEEvDp" + std::string("1PIT_T_E");
  for (const char id : std::string("123456789ABCDEFGHIJKLMNOPQRSTUVWXY"))
    name += std::string("DpS_IS") + id + "_S" + id + "_E";
  EXPECT_EQ(demangle(name), name);
}

TEST(Demangle, BoundsLongAndDeepNames) {
  for (const std::string& name :
       {"_Z1f" + std::string(1000, 'P') + "i", "_Z1f" + std::string(100'000, 'P') + "i",
        "_Z70000" + std::string(70'000, 'a') + "v", "_Z1f" + std::string(3000, 'F') + "v"})
    EXPECT_LE(demangle(name).size(), (1U << 15) + 128 * name.size());
}

}  // namespace
}  // namespace occbench
