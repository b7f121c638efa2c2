// SPDX-License-Identifier: Apache-2.0
// `occbench calc --block-size all`: block sizes by occupancy.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "benchmarks/commands/calc/query.hpp"

namespace occbench::commands {

struct RankedSize {
  Query query;
  Answer answer;
};

/// Every whole number of warps up to the device's largest block: highest occupancy first, then smallest
/// block, and at the end those that cannot launch.
[[nodiscard]] std::vector<RankedSize> rank_block_sizes(const CalcDevice& device, const Query& query);

/// What cudaOccupancyMaxPotentialBlockSize would pick.
[[nodiscard]] std::optional<int> api_pick(const CalcDevice& device, const Query& query);

/// `format`: table, csv or json.
void print_ranked(std::ostream& out, const std::string& format, const CalcDevice& device, const Query& query);

}  // namespace occbench::commands
