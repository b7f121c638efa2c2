// SPDX-License-Identifier: Apache-2.0
// What clauses on single experiments read, and these clauses: one function per experiment.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmarks/report/findings/own.hpp"
#include "benchmarks/report/findings/phrases.hpp"
#include "harness/statistics/statistics.hpp"

namespace occbench::findings {

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();
using Sentences = std::vector<SpecificFinding>;

/// The rows of one experiment, with the queries that its own clauses share.
struct View {
  const Rows& rows;
  const RowIndices& places;
  const nlohmann::json& environment;

  [[nodiscard]] double number(std::size_t row, std::string_view column) const {
    return rows.number(row, column);
  }
  [[nodiscard]] const std::string& text(std::size_t row, std::string_view column) const {
    return rows.text(row, column);
  }
  [[nodiscard]] std::string speed(std::size_t row, bool has_unit = true) const {
    return findings::speed(rows.rate(row), has_unit ? rows.unit(row) : "");
  }
  [[nodiscard]] std::string what(std::size_t row) const { return subject(rows, row); }

  template <typename Keep>
  [[nodiscard]] static RowIndices only(const RowIndices& some, Keep keep) {
    RowIndices kept;
    std::ranges::copy_if(some, std::back_inserter(kept), keep);
    return kept;
  }
  template <typename Keep>
  [[nodiscard]] RowIndices only(Keep keep) const {
    return only(places, keep);
  }
  [[nodiscard]] RowIndices of_form(std::string_view form) const {
    return only([&](std::size_t p) { return text(p, "form") == form; });
  }
  /// The first row of the largest number in a column, of those that have one; `some` is not empty.
  [[nodiscard]] std::size_t most(const RowIndices& some, std::string_view column = "throughput") const {
    return extreme(some, column, std::greater{});
  }
  [[nodiscard]] std::size_t least(const RowIndices& some, std::string_view column) const {
    return extreme(some, column, std::less{});
  }
  template <typename Better>
  [[nodiscard]] std::size_t extreme(const RowIndices& some, std::string_view column, Better better) const {
    std::size_t found = some.front();
    for (const std::size_t p : some)
      if (!std::isnan(number(p, column)) &&
          (std::isnan(number(found, column)) || better(number(p, column), number(found, column))))
        found = p;
    return found;
  }
  /// The first row at so many warps of each of 1 and 16 lanes that branch away.
  [[nodiscard]] RowIndices split_lanes(double warps) const {
    RowIndices found;
    for (const double lanes : {1.0, 16.0})
      for (const std::size_t p : of_form("split-lane"))
        if (number(p, "lanes_apart") == lanes && number(p, "warps_per_sm") == warps) {
          found.push_back(p);
          break;
        }
    return found;
  }
  [[nodiscard]] std::map<double, RowIndices> by(const RowIndices& some, std::string_view column) const {
    std::map<double, RowIndices> groups;
    for (const std::size_t p : some)
      if (!std::isnan(number(p, column))) groups[number(p, column)].push_back(p);
    return groups;
  }
};

inline double median(std::vector<double> values) {
  std::erase_if(values, [](double v) { return std::isnan(v); });
  return values.empty() ? no_value : statistics::median(values);
}

template <typename Value>
std::pair<double, double> ends_of(const RowIndices& places, Value value) {
  std::pair ends{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const std::size_t p : places) ends = {std::min(ends.first, value(p)), std::max(ends.second, value(p))};
  return ends;
}

/// Operations of one thread or chain in one loop iteration: what a launch does, over who does it.
inline double operations_each(const View& v, std::size_t row, double workers) {
  return v.number(row, "operations_per_launch") / workers / v.number(row, "iterations");
}

inline double cycles_by_events(const View& v, std::size_t row) {
  return v.number(row, "cycles_per_iteration");
}

Sentences barriers(const View& v);
Sentences block_size_pick(const View& v);
Sentences clusters(const View& v);
Sentences divergence(const View& v);
Sentences energy(const View& v);
Sentences intensity(const View& v);
Sentences pointer_chase(const View& v);
Sentences registers(const View& v);
Sentences same_occupancy(const View& v);
Sentences shared_latency(const View& v);
Sentences smem_spilling(const View& v);
Sentences warp_roles(const View& v);
Sentences waves(const View& v);

}  // namespace occbench::findings
