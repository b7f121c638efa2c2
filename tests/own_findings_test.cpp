// SPDX-License-Identifier: Apache-2.0
// What the experiments on spills say of made-up results.
#include <gtest/gtest.h>

#include <list>
#include <numeric>
#include <string>
#include <vector>

#include "benchmarks/report/findings/own.hpp"
#include "benchmarks/report/findings/rows.hpp"
#include "tests/made_up_results.hpp"

namespace occbench {
namespace {

std::vector<std::string> texts_of(const std::string& experiment, const std::vector<CaseResult>& results) {
  const findings::Rows rows = findings::Rows::of(results);
  findings::RowIndices places(rows.size());
  std::iota(places.begin(), places.end(), 0U);
  std::vector<std::string> words;
  for (const auto& clause : findings::specific_findings(rows, places, experiment, {}))
    words.push_back(clause.words);
  return words;
}

CaseResult measured(const Variant& variant, int blocks, std::size_t local_bytes, double throughput) {
  CaseResult r = valid_result();
  r.planned.spec.variant = &variant;
  r.planned.spec.curve = variant.series;
  r.planned.occupancy.blocks_per_sm = blocks;
  r.planned.attributes.local_bytes = local_bytes;
  r.throughput = throughput;
  r.planned.id = r.planned.spec.id();
  return r;
}

/// Splits by the consumers' registers, each with its stack and throughput.
struct Splits {
  std::list<Variant> variants;  // which the results point to
  std::vector<CaseResult> results;
  void add(int registers, std::size_t local_bytes, double throughput) {
    variants.push_back({.family = "f",
                        .name = "split-" + std::to_string(registers),
                        .series = "split",
                        .form = "split",
                        .dials = {.register_cap = registers}});
    results.push_back(measured(variants.back(), 1, local_bytes, throughput));
  }
};

TEST(ExperimentFindings, WarpRoleSplitIsFlatUntilARoleSpills) {
  Splits splits;
  splits.add(168, 208, 19e12);
  splits.add(240, 0, 100e12);
  splits.add(184, 48, 90e12);
  splits.add(200, 0, 100e12);
  const auto words = texts_of("warp_roles", splits.results);
  ASSERT_EQ(words.size(), 2U);
  EXPECT_EQ(words[0],
            "`split` spill below 200 registers per consumer thread: -10.0 % with 184, -81.0 % with 168");
  EXPECT_EQ(words[1],
            "from 200 to 240 registers per consumer thread nothing spills, and the rate does not change");
}

TEST(ExperimentFindings, HandlesSplitsThatAllOrNeverSpill) {
  Splits clean;
  clean.add(232, 0, 102e12);
  clean.add(240, 0, 100e12);
  EXPECT_EQ(
      texts_of("warp_roles", clean.results),
      std::vector<std::string>{
          "from 232 to 240 registers per consumer thread nothing spills, and the rate changes by 2.0 %"});
  Splits spilling;
  spilling.add(168, 208, 19e12);
  EXPECT_TRUE(texts_of("warp_roles", spilling.results).empty());
}

const Variant local{.family = "f", .name = "k", .series = "k", .form = "k"};
const Variant smem{.family = "f", .name = "smem-k", .series = "smem-k", .form = "smem-k", .baseline = "k"};
const Variant local_free{.family = "f", .name = "k-free", .series = "k", .form = "k"};
const Variant smem_free{
    .family = "f", .name = "smem-k-free", .series = "smem-k", .form = "smem-k", .baseline = "k-free"};

TEST(ExperimentFindings, ComparesSmemSpillsAtEqualAndLowerResidency) {
  const std::vector<CaseResult> results{measured(local, 4, 80, 10e12), measured(smem, 4, 8, 15e12),
                                        measured(local_free, 8, 176, 10e12),
                                        measured(smem_free, 5, 160, 7e12)};
  EXPECT_EQ(texts_of("smem_spilling", results),
            (std::vector<std::string>{
                "`smem-k` gain 50.0 % against local memory with as many blocks per SM",
                "`smem-k` lose 30.0 % against local memory with fewer blocks (8 to 5 per SM)"}));
}

TEST(ExperimentFindings, ComparesSpillsOnlyAtTheSameResidency) {
  std::vector<CaseResult> results{measured(local, 4, 80, 10e12), measured(local, 2, 80, 4e12),
                                  measured(smem, 2, 8, 4.01e12)};
  for (const std::size_t n : {1U, 2U}) {
    results[n].planned.spec.resident_blocks = 2;
    results[n].planned.id = results[n].planned.spec.id();
  }
  EXPECT_EQ(
      texts_of("smem_spilling", results),
      std::vector<std::string>{"`smem-k` lose nothing against local memory with as many blocks per SM"});
  results.erase(results.begin() + 1);  // without its own
  EXPECT_TRUE(texts_of("smem_spilling", results).empty());
}

}  // namespace
}  // namespace occbench
