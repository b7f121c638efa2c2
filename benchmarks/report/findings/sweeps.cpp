// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/findings/sweeps.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "benchmarks/report/findings/columns.hpp"
#include "benchmarks/report/format.hpp"

namespace occbench::findings {

namespace {

constexpr std::size_t min_values = 3;

/// What has to be the same along a sweep, besides the dials.
const std::vector<std::string>& fixed_columns() {
  static const std::vector<std::string> columns = columns_of({"fixed"}, {}, {"idle_values"});
  return columns;
}

/// A sweep of a dial that is compiled into a kernel goes through several kernels of one form.
bool is_compiled(const std::string& dial) {
  const ColumnFacts* facts = facts_of(dial);
  return facts != nullptr && facts->is_compiled;
}

/// Grids are sized to the blocks that an SM holds, iterations to the time that a launch takes: both follow
/// from any other dial, and make a sweep of the grid only where the iterations stay.
const std::vector<std::string> grid_columns{"iterations", "blocks_per_sm"};

/// Columns that may change with a dial, for rows that have no sweep otherwise.
const std::map<std::string, std::set<std::string>, std::less<>> followers{
    {"register_cap", {"live_values", "idle_values"}},
    {"live_values", {"idle_values"}},
    {"block_size", {"dynamic_smem_bytes", "working_set_bytes"}},  // so many bytes per thread
    {"stages", {"dynamic_smem_bytes", "bytes_in_flight"}},
};

/// Of each row, the rank of its cell among the column's different ones; rows that agree have one code.
using Codes = std::vector<std::uint32_t>;

Codes ranks(const std::vector<Cell>& cells) {
  std::vector<Cell> different = cells;
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  Codes codes;
  for (const Cell& cell : cells)
    codes.push_back(static_cast<std::uint32_t>(std::lower_bound(different.begin(), different.end(), cell) -
                                               different.begin()));
  return codes;
}

/// A grid's whole waves: 0 where it fills less than one.
double whole_waves(double waves) {
  if (waves < 1) return 0;
  return std::isnan(waves) ? 1 : std::nearbyint(waves * 1000) / 1000;
}

Cell cell_of(double value) {
  return {.is_empty = std::isnan(value), .number = std::isnan(value) ? 0 : value};
}

class SweepSearch {
 public:
  explicit SweepSearch(const Rows& rows) : rows_(rows) {
    for (const auto* names : {&swept_dials(), &fixed_columns(), &grid_columns})
      for (const std::string& name : *names) add(name);
    for (const char* name : {"experiment", "family", "variant", "form"}) add(name);
    std::vector<Cell> whole;
    for (std::size_t row = 0; row < rows.size(); ++row)
      whole.push_back(cell_of(whole_waves(rows.number(row, "waves"))));
    codes_["whole"] = ranks(whole);
  }

  std::vector<Sweep> run() {
    RowIndices rows;
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (!rows_.text(row, "experiment").empty() && !rows_.text(row, "family").empty()) rows.push_back(row);
    for (const RowIndices& places : group_by({&codes_.at("experiment"), &codes_.at("family")}, rows))
      for (const std::string& dial : swept_dials()) {
        RowIndices on_dial;
        for (const std::size_t place : places)
          if (!std::isnan(rows_.number(place, dial))) on_dial.push_back(place);
        if (values_of(rows_, on_dial, dial) >= min_values) sweep_along(dial, on_dial);
      }
    return std::move(found_);
  }

 private:
  void add(const std::string& name) {
    std::vector<Cell> cells;
    for (std::size_t row = 0; row < rows_.size(); ++row) cells.push_back(rows_.cell(row, name));
    codes_[name] = ranks(cells);
  }

  /// Groups of rows that agree in all keys, sorted by these; rows of a group keep their order.
  static std::vector<RowIndices> group_by(const std::vector<const Codes*>& keys, RowIndices places) {
    const auto compare = [&](std::size_t a, std::size_t b) {
      for (const Codes* key : keys)
        if ((*key)[a] != (*key)[b]) return (*key)[a] < (*key)[b] ? -1 : 1;
      return 0;
    };
    std::ranges::stable_sort(places, [&](std::size_t a, std::size_t b) { return compare(a, b) < 0; });
    std::vector<RowIndices> groups;
    for (const std::size_t place : places) {
      if (groups.empty() || compare(groups.back().front(), place) != 0) groups.emplace_back();
      groups.back().push_back(place);
    }
    return groups;
  }

  /// Of one experiment and family: first with the dial's followers fixed, then of the other rows without.
  void sweep_along(const std::string& dial, RowIndices places) {
    swept_.clear();
    std::vector<std::string> keys{is_compiled(dial) ? "form" : "variant"};
    for (const std::string& other : swept_dials())
      if (other != dial && other != "grid_size") keys.push_back(other);
    keys.insert(keys.end(), fixed_columns().begin(), fixed_columns().end());
    if (dial == "grid_size")
      keys.insert(keys.end(), grid_columns.begin(), grid_columns.end());
    else
      keys.emplace_back("whole");
    std::ranges::sort(places, {}, [&](std::size_t place) { return rows_.number(place, dial); });
    add_sweeps(dial, keys, places, {});
    const auto loose = followers.find(dial);
    if (loose == followers.end()) return;
    std::erase_if(places, [&](std::size_t place) { return swept_.contains(place); });
    std::erase_if(keys, [&](const std::string& key) { return loose->second.contains(key); });
    Codes bytes_per_thread;
    if (dial == "block_size") {
      std::vector<Cell> cells(rows_.size());
      for (const std::size_t place : places)
        cells[place] = cell_of(rows_.number(place, "dynamic_smem_bytes") / rows_.number(place, dial));
      bytes_per_thread = ranks(cells);
    }
    add_sweeps(dial, keys, places, bytes_per_thread);
  }

  /// The sweeps of places, in the order of the dial, that agree in all keys, and in `more` unless it is
  /// empty.
  void add_sweeps(const std::string& dial, const std::vector<std::string>& keys, const RowIndices& places,
                  const Codes& more) {
    std::vector<const Codes*> split_by;
    std::vector<std::string> shown;  // a variant's name has its fixed columns
    const bool is_form = keys.front() == "form";
    for (const std::string& key : keys) {
      const Codes& codes = codes_.at(key);
      if (std::ranges::all_of(places,
                              [&](std::size_t place) { return codes[place] == codes[places.front()]; }))
        continue;
      split_by.push_back(&codes);
      if (contains(swept_dials(), key) || key == "iterations" || (is_form && contains(fixed_columns(), key)))
        shown.push_back(key);
    }
    if (!more.empty()) split_by.push_back(&more);
    for (const RowIndices& part : group_by(split_by, places)) {
      if (part.size() < min_values || values_of(rows_, part, dial) < part.size()) continue;
      swept_.insert(part.begin(), part.end());
      found_.push_back(make_sweep(dial, shown, part));
    }
  }

  [[nodiscard]] Sweep make_sweep(const std::string& dial, const std::vector<std::string>& shown,
                                 const RowIndices& places) const {
    const std::size_t first = places.front();
    Sweep sweep{.experiment = rows_.text(first, "experiment"),
                .family = rows_.text(first, "family"),
                .dial = dial,
                .places = places};
    for (const char* column : {"family", "form", "curve", "variant"})
      if (const std::string& common = rows_.text(first, column);
          !common.empty() &&
          std::ranges::all_of(places, [&](std::size_t place) { return rows_.text(place, column) == common; }))
        sweep.kernel = common;
    sweep.name = sweep.kernel;
    for (const std::string& column : shown)
      if (const Cell cell = rows_.cell(first, column); !cell.is_empty)
        sweep.name += ", " + column + " " + (is_text_column(column) ? cell.text : text("%g", cell.number));
    return sweep;
  }

  static bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  }

  const Rows& rows_;
  std::map<std::string, Codes, std::less<>> codes_;  ///< by column
  std::set<std::size_t> swept_;                      ///< places in a sweep of the current dial
  std::vector<Sweep> found_;
};

}  // namespace

const std::vector<std::string>& swept_dials() {
  static const std::vector<std::string> dials =
      columns_of({"dial", "sweep"},
                 {"dynamic_smem_bytes", "register_cap", "block_size", "grid_size", "live_values", "barriers",
                  "cluster_size", "carveout_percent", "working_set_bytes", "stages"},
                 {"tile_width"});
  return dials;
}

std::vector<Sweep> find_sweeps(const Rows& rows) { return SweepSearch(rows).run(); }

}  // namespace occbench::findings
