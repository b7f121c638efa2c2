// SPDX-License-Identifier: Apache-2.0
// No prediction iterations what the hardware can do: every GPU whose parameters are part of the program,
// every family, blocks that make one iteration and blocks that make many, 1 to 400 waves of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "harness/device/parameters.hpp"
#include "harness/measure/model_session.hpp"
#include "harness/measure/predict.hpp"
#include "tests/sanitized.hpp"

namespace occbench {
namespace {

constexpr double max_percent = 100.5;
constexpr double one_iteration_s = 1e-12;

/// Cases of every family that have no cluster; `variants_of_each` of it, spread over those that there are.
std::vector<CaseSpec> specs(std::size_t variants_of_each, std::span<const int> block_sizes,
                            std::span<const int> waves, std::span<const double> blocks_s) {
  std::map<std::string, std::vector<const Variant*>> families;
  for (const Variant& v : variants())
    if (!v.in_clusters && !v.user_kernel) families[v.family].push_back(&v);
  std::vector<CaseSpec> all;
  for (const auto& [family, of_it] : families) {
    const std::size_t step = (of_it.size() + variants_of_each - 1) / variants_of_each;
    for (std::size_t i = 0; i < of_it.size(); i += step)
      for (const int block : block_sizes) {
        if (of_it[i]->fixed_block_size > 0 && block != block_sizes.front()) continue;
        for (const int w : waves)
          for (const double s : blocks_s)
            all.push_back({.experiment = "ceiling",
                           .variant = of_it[i],
                           .block_size = of_it[i]->fixed_block_size > 0 ? 0 : block,
                           .waves = w,
                           .block_s = s});
      }
  }
  return all;
}

/// Of DRAM's bandwidth as the parameters have it, what the launch's bytes take in the time predicted.
double percent_of_bandwidth(const CaseResult& r, const theory::Parameters& p) {
  const double best = std::max({p.dram_read_bytes_per_s, p.dram_write_bytes_per_s, p.dram_mixed_bytes_per_s});
  if (r.planned.spec.variant->ceiling != Ceiling::dram || best == 0) return 0;
  return 100 * r.work.bytes / r.time_s.median / best;
}

/// How many predictions there were.
int hold_against_ceilings(const std::string& device_name, const std::vector<CaseSpec>& all) {
  const Device device = model_device(theory::find_device(device_name));
  const theory::Parameters parameters = model_parameters(device_name).values;
  ModelSession session(device, {},
                       [&](std::span<const Case> cases) { return predict(cases, device, parameters); });
  std::vector<Case> cases;
  for (const CaseSpec& spec : all) cases.push_back(resolve(spec, device, session.arena(), 1e-3));
  int predicted = 0;
  session.measure(
      cases, 0,
      [&](const CaseResult& r, std::span<const SampleRow>) {
        if (r.planned.status != Status::valid) return;
        ++predicted;
        const std::string which = device_name + ": " + r.planned.id + " x " +
                                  std::to_string(r.planned.spec.waves) + " waves of " +
                                  std::to_string(r.planned.iterations) + " iterations";
        EXPECT_GT(r.time_s.median, 0) << which;
        if (r.ceiling > 0) {
          EXPECT_LE(100 * r.throughput / r.ceiling, max_percent) << which;
        }
        EXPECT_LE(percent_of_bandwidth(r, parameters), max_percent) << which;
      },
      false);
  return predicted;
}

TEST(Ceiling, PredictionsStayBelowTheCeilings) {
  constexpr int block_sizes[] = {128};
  constexpr int waves[] = {1, 40};
  constexpr double short_blocks[] = {one_iteration_s};
  std::vector<std::string> devices = parameter_devices();
  if (is_sanitized) devices.resize(1);
  for (const std::string& device : devices)
    EXPECT_GT(hold_against_ceilings(device, specs(1, block_sizes, waves, short_blocks)), 20) << device;
}

// Minutes, by hand: --gtest_also_run_disabled_tests
TEST(Ceiling, DISABLED_PredictionsStayBelowTheCeilingsOfManyShapes) {
  constexpr int block_sizes[] = {32, 1024};
  constexpr int waves[] = {1, 2, 8, 15, 17, 100, 400};
  constexpr double blocks_s[] = {one_iteration_s, 20e-6};
  for (const std::string& device : parameter_devices())
    EXPECT_GT(hold_against_ceilings(device, specs(3, block_sizes, waves, blocks_s)), 800) << device;
}

}  // namespace
}  // namespace occbench
