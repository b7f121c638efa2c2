// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calc.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "benchmarks/commands/numbers.hpp"
#include "benchmarks/commands/payoff.hpp"
#include "benchmarks/commands/tour.hpp"
#include "benchmarks/words.hpp"
#include "harness/io/check.hpp"
#include "harness/io/csv.hpp"
#include "harness/io/lines.hpp"
#include "harness/theory/cliffs.hpp"

namespace occbench::commands {
namespace {

struct Query {
  theory::Footprint footprint;
  int cluster_size = 1;
};

/// One number of a query: its option on the command line and its column in a file.
struct Field {
  const char* option;
  const char* column;
  const char* help;
  bool required;
  std::int64_t least, most;
  void (*set)(Query&, std::int64_t);
};

constexpr Field fields[] = {
    {"--block-size", "block_size", "Threads per block", true, 0, INT_MAX,
     [](Query& q, std::int64_t v) { q.footprint.block_size = static_cast<int>(v); }},
    {"--registers", "registers_per_thread", "Registers per thread, as ptxas -v reports", true, 0, INT_MAX,
     [](Query& q, std::int64_t v) { q.footprint.registers_per_thread = static_cast<int>(v); }},
    {"--static-smem", "static_smem_bytes", "Static shared memory per block, bytes (32K, 48KiB)", true, 0,
     INT64_MAX,
     [](Query& q, std::int64_t v) { q.footprint.static_smem_bytes = static_cast<std::size_t>(v); }},
    {"--dynamic-smem", "dynamic_smem_bytes", "Dynamic shared memory per block, bytes", true, 0, INT64_MAX,
     [](Query& q, std::int64_t v) { q.footprint.dynamic_smem_bytes = static_cast<std::size_t>(v); }},
    {"--barriers", "barriers", "Named barriers, as ptxas -v reports (16 if an id is not constant)", false, 0,
     INT_MAX, [](Query& q, std::int64_t v) { q.footprint.barriers = static_cast<int>(v); }},
    {"--cluster-size", "cluster_size", "Blocks per cluster", false, 1, 16,
     [](Query& q, std::int64_t v) { q.cluster_size = static_cast<int>(v); }},
    {"--carveout", "carveout_percent", "Preferred shared memory, percent; -1 is the driver's choice", false,
     -1, 100, [](Query& q, std::int64_t v) { q.footprint.carveout_percent = static_cast<int>(v); }},
    {"--max-block-size", "max_block_size", "The kernel's own limit (__launch_bounds__)", false, 1, INT_MAX,
     [](Query& q, std::int64_t v) { q.footprint.max_block_size = static_cast<int>(v); }},
};
constexpr const char* answer_columns[] = {"blocks_per_sm", "warps_per_sm", "occupancy", "limiters", "status"};

struct Answer {
  theory::Occupancy occupancy;
  std::string status;  ///< "ok", with a remark where one is due, or "cannot launch: why"
  std::optional<int> active_clusters = {};
};

Answer answer(const CalcDevice& device, const Query& query) {
  const theory::SmLimits& sm = device.facts.sm;
  Answer a{theory::occupancy(sm, query.footprint), "ok"};
  if (a.occupancy.launchable() && query.cluster_size > 1 && sm.cc_major < 9) {
    a.occupancy.blocks_per_sm = a.occupancy.warps_per_sm = 0;
    a.occupancy.fraction = 0;
    a.occupancy.limiters = theory::Limiter::none;
    a.occupancy.unlaunchable = "clusters need compute capability 9.0 or newer";
  }
  if (!a.occupancy.launchable()) a.status = "cannot launch: " + a.occupancy.unlaunchable;
  if (!a.occupancy.launchable() || query.cluster_size == 1) return a;
  const std::string clusters = "clusters of " + std::to_string(query.cluster_size);
  if (device.active_clusters) a.active_clusters = device.active_clusters(query.footprint, query.cluster_size);
  if (!a.active_clusters) {
    a.status = "ok per SM; how many " + clusters + " fit, only a device that is here can say" +
               (device.active_clusters ? ", and it refuses" : ": name it by its index");
  } else if (*a.active_clusters == 0) {
    a.status = "cannot launch: not one of the " + clusters + " fits the device";
  } else {
    const int blocks = *a.active_clusters * query.cluster_size;
    a.status = "ok; the device holds " + std::to_string(*a.active_clusters) + " " + clusters +
               " at once: " + std::to_string(blocks) + " blocks, of " +
               std::to_string(a.occupancy.blocks_per_sm * sm.sm_count) + " without clusters";
  }
  return a;
}

std::array<std::string, std::size(answer_columns)> cells(const Answer& a) {
  const theory::Occupancy& o = a.occupancy;
  return {std::to_string(o.blocks_per_sm), std::to_string(o.warps_per_sm), shortest(o.fraction),
          theory::to_string(o.limiters), a.status};
}

/// Rows of cells, each column as wide as its widest cell: the first flush left, the others right.
void print_aligned(std::ostream& out, const std::vector<csv::Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const csv::Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const csv::Row& row : rows) {
    std::string line = "  ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + pad : "   " + pad + row[i];
    }
    out << line << '\n';
  }
}

/// What was asked of the model, and its answer.
struct Predicted {
  ParameterFile parameters;
  theory::KernelClass kernel;
  theory::Peak peak;
  std::optional<Payoff> payoff;  ///< nullopt if the footprint cannot be launched

  [[nodiscard]] std::string origin() const {
    return printable(parameters.name + ", " + parameters.content.value("origin", "of unknown origin"));
  }
};

Predicted predicted(const CalcDevice& device, const Query& query, const Answer& a, const ClassWords& words,
                    const std::string& file) {
  const theory::KernelClass kernel = words.read(true);
  if (query.cluster_size > 1)
    throw UserError(Exit::usage, "--predict knows no clusters; leave --cluster-size away");
  ParameterFile parameters = parameters_for(device.facts.name, file);
  Forecaster forecaster(kernel, device.facts, parameters.values);
  std::optional<Payoff> result;
  if (a.occupancy.launchable()) result = payoff(forecaster, device.facts, parameters.values, query.footprint);
  return {std::move(parameters), kernel, forecaster.model().peak(), std::move(result)};
}

void print_table(std::ostream& out, const theory::CatalogueEntry& device, const Query& query,
                 const Answer& a) {
  const theory::SmLimits& sm = device.sm;
  const theory::Footprint& f = query.footprint;
  const theory::Occupancy& o = a.occupancy;
  const theory::Slack unused = theory::slack(sm, f);

  out << device.name << " (cc " << sm.cc_major << '.' << sm.cc_minor << "): " << grouped(f.block_size)
      << " threads x " << grouped(f.registers_per_thread) << " registers, " << grouped(f.static_smem_bytes)
      << " B static + " << grouped(f.dynamic_smem_bytes) << " B dynamic shared memory, " << f.barriers
      << (f.barriers == 1 ? " barrier" : " barriers")
      << (f.carveout_percent < 0 ? "" : ", carve-out " + std::to_string(f.carveout_percent) + " %") << '\n';
  if (o.launchable()) {
    out << "  " << o.blocks_per_sm << " blocks, " << o.warps_per_sm << " warps, "
        << grouped(o.blocks_per_sm * f.block_size) << " threads per SM: occupancy " << percent(o.fraction)
        << ", limited by " << theory::to_string(o.limiters) << '\n';
    if (a.status != "ok") out << "  " << a.status << '\n';
  } else {
    out << "  " << a.status << '\n';
  }
  out << "  textbook (plain division): " << percent(theory::textbook_occupancy(sm, f)) << "\n\n";

  const auto limit = [&](const std::optional<int>& blocks, theory::Limiter resource) {
    return (blocks ? std::to_string(*blocks) : "-") + (theory::has(o.limiters, resource) ? " <" : "  ");
  };
  print_aligned(
      out, {{"resource", "blocks it allows  ", "taken per block", "unused per SM"},
            {"warps", limit(o.warp_limit, theory::Limiter::warps), grouped(theory::warps_per_block(sm, f)),
             grouped(unused.warps)},
            {"block slots", limit(o.block_limit, theory::Limiter::blocks), "1", grouped(unused.blocks)},
            {"registers", limit(o.register_limit, theory::Limiter::registers),
             grouped(o.allocated_registers_per_block), grouped(unused.registers)},
            {"shared memory, B", limit(o.smem_limit, theory::Limiter::shared_memory),
             grouped(o.allocated_smem_per_block_bytes), grouped(unused.smem_bytes)},
            {"barriers", limit(o.barrier_limit, theory::Limiter::barriers), grouped(f.barriers),
             unused.barriers ? grouped(*unused.barriers) : "-"}});

  const auto cliff = [](const std::optional<theory::Cliff>& c) -> std::string {
    if (!c) return "none";
    return grouped(c->value) + (c->delta > 0 ? " (+" : " (") + grouped(c->delta) + "): " +
           (c->blocks_per_sm == 0
                ? "cannot launch"
                : std::to_string(c->blocks_per_sm) + (c->blocks_per_sm == 1 ? " block, " : " blocks, ") +
                      percent(c->occupancy));
  };
  std::vector<csv::Row> rows = {{"next cliff", "now", "more loses a block", "less gains one"}};
  for (const Dial& dial : dials(sm, f))
    rows.push_back({dial.name, grouped(dial.own), cliff(dial.cliffs.loses), cliff(dial.cliffs.gains)});
  out << '\n';
  print_aligned(out, rows);
}

/// "4,406 GB/s", "66.9 TFLOP/s"
std::string rate(const theory::Peak& peak) {
  char text[32];
  if (peak.unit == "FLOP/s")
    std::snprintf(text, sizeof text, "%.1f T", peak.rate * 1e-12);
  else
    std::snprintf(text, sizeof text, "%s G", grouped(std::llround(peak.rate * 1e-9)).c_str());
  return std::string(text) + (peak.unit == "FLOP/s" ? "FLOP/s" : "B/s");
}

void print_prediction(std::ostream& out, const theory::SmLimits& sm, const Answer& a, const Predicted& p) {
  const int slots = sm.max_warps_per_sm();
  out << "\npredicted, " << theory::describe(p.kernel) << " (" << p.origin() << ")\n";
  out << "  peak: " << rate(p.peak) << ", " << p.peak.basis << '\n';
  if (!p.payoff) {
    out << "  nothing, for it cannot launch\n";
    return;
  }
  const Payoff& payoff = *p.payoff;
  out << "  now: " << percent(payoff.now.share_of_peak) << " of peak, bound by "
      << theory::to_string(payoff.now.bound) << "; ";
  if (payoff.warps_enough)
    out << *payoff.warps_enough << " warps per SM suffice for 95 %\n\n";
  else
    out << "no number of warps suffices for 95 % (" << slots
        << " per SM: " << percent(payoff.full.share_of_peak) << ")\n\n";

  std::vector<csv::Row> rows = {{"footprint", "occupancy", "of peak", "throughput", "bound"},
                                {"as it is", percent(a.occupancy.fraction), percent(payoff.now.share_of_peak),
                                 "", std::string(theory::to_string(payoff.now.bound))}};
  for (const Payoff::Step& step : payoff.steps) {
    csv::Row row = {std::string(step.dial.name) + " " + grouped(step.cliff.value) +
                    (step.cliff.delta > 0 ? " (+" : " (") + grouped(step.cliff.delta) + ")"};
    if (step.outcome) {
      char gain[16];
      std::snprintf(gain, sizeof gain, "%+.1f %%", 100 * step.gain);
      row.insert(row.end(), {percent(step.cliff.occupancy), percent(step.outcome->share_of_peak), gain,
                             std::string(theory::to_string(step.outcome->bound))});
    } else {
      row.insert(row.end(), {"cannot launch", "", "", ""});
    }
    rows.push_back(row);
  }
  print_aligned(out, rows);
  out << "\n  " << payoff.answer
      << "\n  Not predicted: spills, where a kernel needs the registers; other data per block. Under 3 % is "
         "chance.\n";
}

/// The query's numbers by column name, in the order of `fields`.
std::array<std::pair<const char*, std::int64_t>, std::size(fields)> numbers(const Query& query) {
  const theory::Footprint& f = query.footprint;
  const std::int64_t values[] = {f.block_size,
                                 f.registers_per_thread,
                                 static_cast<std::int64_t>(f.static_smem_bytes),
                                 static_cast<std::int64_t>(f.dynamic_smem_bytes),
                                 f.barriers,
                                 query.cluster_size,
                                 f.carveout_percent,
                                 f.max_block_size};
  std::array<std::pair<const char*, std::int64_t>, std::size(fields)> named;
  for (std::size_t i = 0; i < named.size(); ++i) named[i] = {fields[i].column, values[i]};
  return named;
}

using Json = nlohmann::ordered_json;

Json prediction_json(const Predicted& p) {
  const theory::KernelClass& k = p.kernel;
  const bool computes = k.kind == theory::Kind::compute;
  Json json = {{"kernel_class", theory::to_string(k.kind)},
               {"ilp", k.ilp},
               {"bytes_per_access", computes ? Json(nullptr) : Json(k.bytes_per_access)},
               {"operands", computes ? Json(k.operands) : Json(nullptr)},
               {"intensity_flop_per_byte", k.kind == theory::Kind::mixed ? Json(k.intensity) : Json(nullptr)},
               {"parameters", p.parameters.name},
               {"parameters_origin", p.parameters.content.value("origin", "")},
               {"peak", p.peak.rate},
               {"peak_unit", p.peak.unit},
               {"peak_basis", p.peak.basis}};
  if (!p.payoff) return json;
  const Payoff& payoff = *p.payoff;
  json["percent_of_peak"] = 100 * payoff.now.share_of_peak;
  json["bound"] = theory::to_string(payoff.now.bound);
  json["warps_for_95_percent"] = payoff.warps_enough ? Json(*payoff.warps_enough) : Json(nullptr);
  json["percent_of_peak_full_occupancy"] = 100 * payoff.full.share_of_peak;
  json["cliffs"] = Json::array();
  for (const Payoff::Step& step : payoff.steps) {
    const auto& o = step.outcome;
    json["cliffs"].push_back({{"dial", step.dial.name},
                              {"value", step.cliff.value},
                              {"delta", step.cliff.delta},
                              {"blocks_per_sm", step.cliff.blocks_per_sm},
                              {"occupancy", step.cliff.occupancy},
                              {"percent_of_peak", o ? Json(100 * o->share_of_peak) : Json(nullptr)},
                              {"gain_percent", o ? Json(100 * step.gain) : Json(nullptr)},
                              {"bound", o ? Json(theory::to_string(o->bound)) : Json(nullptr)}});
  }
  json["answer"] = payoff.answer;
  return json;
}

void print_json(std::ostream& out, const theory::CatalogueEntry& device, const Query& query, const Answer& a,
                const std::optional<Predicted>& p) {
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  const theory::SmLimits& sm = device.sm;
  const theory::Occupancy& o = a.occupancy;
  const theory::Slack unused = theory::slack(sm, query.footprint);

  Json json = {{"device", device.name},
               {"compute_capability", std::to_string(sm.cc_major) + "." + std::to_string(sm.cc_minor)}};
  for (const auto& [name, value] : numbers(query)) json[name] = value;
  json["blocks_per_sm"] = o.blocks_per_sm;
  json["warps_per_sm"] = o.warps_per_sm;
  json["threads_per_sm"] = o.blocks_per_sm * query.footprint.block_size;
  json["occupancy"] = o.fraction;
  json["occupancy_textbook"] = theory::textbook_occupancy(sm, query.footprint);
  json["limiters"] = theory::to_string(o.limiters);
  json["status"] = a.status;
  json["active_clusters"] = or_null(a.active_clusters);
  json["blocks_allowed_by"] = {{"warps", or_null(o.warp_limit)},
                               {"blocks", or_null(o.block_limit)},
                               {"registers", or_null(o.register_limit)},
                               {"shared_memory", or_null(o.smem_limit)},
                               {"barriers", or_null(o.barrier_limit)}};
  json["allocated_registers_per_block"] = o.allocated_registers_per_block;
  json["allocated_smem_per_block_bytes"] = o.allocated_smem_per_block_bytes;
  json["unused_per_sm"] = {{"warps", unused.warps},
                           {"blocks", unused.blocks},
                           {"registers", unused.registers},
                           {"smem_bytes", unused.smem_bytes},
                           {"barriers", or_null(unused.barriers)}};
  const auto cliff = [](const std::optional<theory::Cliff>& c) {
    return c ? Json{{"value", c->value},
                    {"delta", c->delta},
                    {"blocks_per_sm", c->blocks_per_sm},
                    {"occupancy", c->occupancy}}
             : Json(nullptr);
  };
  for (const Dial& dial : dials(sm, query.footprint))
    json["cliffs"][dial.name] = {{"loses", cliff(dial.cliffs.loses)}, {"gains", cliff(dial.cliffs.gains)}};
  if (p) json["prediction"] = prediction_json(*p);
  out << json.dump(2) << '\n';
}

/// The class, the share of its peak and the bound; empty where nothing is predicted.
constexpr const char* predicted_columns[] = {"kernel_class", "predicted_percent_of_peak", "predicted_bound"};
using PredictedCells = std::array<std::string, std::size(predicted_columns)>;

PredictedCells predicted_cells(const theory::KernelClass& kernel,
                               const std::optional<theory::ClassModel::Outcome>& outcome) {
  const std::string kind(theory::to_string(kernel.kind));
  if (!outcome) return {kind, "", ""};
  return {kind, shortest(100 * outcome->share_of_peak), std::string(theory::to_string(outcome->bound))};
}

/// A header and the footprint's row; with a prediction, one row more for each cliff, which names its dial.
void print_csv(std::ostream& out, const CalcDevice& device, const Query& query, const Answer& a,
               const std::optional<Predicted>& p) {
  const auto print_row = [&](const Query& q, const Answer& its, const char* cliff,
                             const std::optional<theory::ClassModel::Outcome>& outcome) {
    csv::Row row = {csv::no_formula(device.facts.name)};
    for (const auto& [name, value] : numbers(q)) row.push_back(std::to_string(value));
    for (std::string& cell : cells(its)) row.push_back(std::move(cell));
    row.push_back(shortest(theory::textbook_occupancy(device.facts.sm, q.footprint)));
    if (p) {
      row.emplace_back(cliff);
      for (std::string& cell : predicted_cells(p->kernel, outcome)) row.push_back(std::move(cell));
    }
    out << csv::format(row);
  };
  csv::Row header = {"device"};
  for (const auto& [name, value] : numbers(query)) header.emplace_back(name);
  header.insert(header.end(), std::begin(answer_columns), std::end(answer_columns));
  header.emplace_back("occupancy_textbook");
  if (p) {
    header.emplace_back("cliff");
    header.insert(header.end(), std::begin(predicted_columns), std::end(predicted_columns));
  }
  out << csv::format(header);
  if (!p || !p->payoff) return print_row(query, a, "", {});
  print_row(query, a, "", p->payoff->now);
  for (const Payoff::Step& step : p->payoff->steps) {
    const Query there{.footprint = step.footprint};
    print_row(there, answer(device, there), step.dial.name, step.outcome);
  }
}

struct Options {
  std::string device, format = "table", batch, parameters;
  std::array<std::string, std::size(fields)> texts;
  ClassWords kernel;  ///< of no kind if nothing is to be predicted
  bool tour = false;
};

/// A table of footprints in, the same table with its answers out (columns of earlier answers are replaced). A
/// row that cannot be read says so in its status and leaves its answers empty; the others are answered. What the model
/// cannot predict, its status says behind the occupancy's.
class Batch {
 public:
  Batch(const csv::Row& header, const std::string& source, const Options& options,
        const DeviceResolver& resolve)
      : width_(header.size()), options_(options), resolve_(resolve) {
    answers_.assign(std::begin(answer_columns), std::end(answer_columns));
    if (predicts())
      answers_.insert(answers_.end(), std::begin(predicted_columns), std::end(predicted_columns));
    std::string missing;
    const auto column = [&](const char* name, bool required) -> std::optional<std::size_t> {
      const auto found = std::ranges::find(header, name);
      if (found == header.end()) {
        if (required) missing += std::string(missing.empty() ? "" : ", ") + name;
        return std::nullopt;
      }
      if (std::find(found + 1, header.end(), name) != header.end())
        throw UserError(Exit::usage, source + ": column " + name + " appears twice");
      return static_cast<std::size_t>(found - header.begin());
    };
    device_ = column("device", true);
    for (std::size_t i = 0; i < std::size(fields); ++i)
      columns_[i] = column(fields[i].column, fields[i].required);
    if (!missing.empty())
      throw UserError(Exit::usage, source + ": the header lacks " + missing +
                                       "; it needs device, block_size, registers_per_thread, "
                                       "static_smem_bytes, dynamic_smem_bytes");
    for (std::size_t i = 0; i < width_; ++i)
      if (std::ranges::find(answers_, header[i]) == answers_.end()) passed_on_.push_back(i);
    if (!predicts()) return;
    class_ = column("kernel_class", false);
    static_cast<void>(options_.kernel.read(!class_));
    if (!options_.parameters.empty()) static_cast<void>(read_parameters(options_.parameters));
  }

  [[nodiscard]] csv::Row header(const csv::Row& input) const { return joined(input, answers_); }

  /// A line that is no record, with the reason as its status.
  [[nodiscard]] csv::Row refused(const std::string& line, const std::string& why) const {
    return joined({line}, invalid(why));
  }

  [[nodiscard]] csv::Row answered(const csv::Row& input) {
    try {
      if (input.size() != width_)
        throw std::invalid_argument("the row has " + std::to_string(input.size()) +
                                    " fields where the header has " + std::to_string(width_));
      Query query;
      for (std::size_t i = 0; i < std::size(fields); ++i) {
        const Field& field = fields[i];
        if (!columns_[i] || (!field.required && input[*columns_[i]].empty())) continue;
        field.set(query, parse_size(input[*columns_[i]], field.column, field.least, field.most));
      }
      Known& known = device(input[*device_]);
      Answer a = answer(known.device, query);
      PredictedCells prediction;
      if (predicts()) prediction = predict(known, query, a, class_ ? input[*class_] : "");
      const auto answered = cells(a);
      csv::Row row(answered.begin(), answered.end());
      if (predicts()) row.insert(row.end(), prediction.begin(), prediction.end());
      return joined(input, row);
    } catch (const std::exception& error) {
      return joined(input, invalid(error.what()));
    }
  }

 private:
  struct Model {
    std::optional<Forecaster> forecaster;
    std::string why_not;
  };
  struct Known {
    CalcDevice device;
    std::string why_not;
    std::unordered_map<std::string, Model> models;  ///< by the cell of the class
  };

  [[nodiscard]] bool predicts() const { return !options_.kernel.kind.empty(); }

  /// The input's cells, less earlier answers, and the answers (or their names, for the header).
  [[nodiscard]] csv::Row joined(const csv::Row& input, const csv::Row& answers) const {
    csv::Row row;
    row.reserve(passed_on_.size() + answers.size());
    for (const std::size_t i : passed_on_) row.push_back(i < input.size() ? csv::no_formula(input[i]) : "");
    row.insert(row.end(), answers.begin(), answers.end());
    return row;
  }

  [[nodiscard]] csv::Row invalid(const std::string& why) const {
    csv::Row row(answers_.size());
    row[std::size(answer_columns) - 1] = "invalid: " + why;
    return row;
  }

  /// Adds to the status why there is no prediction. Throws std::invalid_argument on an unknown class.
  PredictedCells predict(Known& known, const Query& query, Answer& a, const std::string& kind) {
    ClassWords words = options_.kernel;
    if (!kind.empty()) words.kind = kind;
    const theory::KernelClass kernel = words.read(!class_);
    if (!a.occupancy.launchable()) return predicted_cells(kernel, {});
    auto [entry, is_new] = known.models.try_emplace(kind);
    Model& model = entry->second;
    if (is_new) {
      try {
        const ParameterFile file = parameters_for(known.device.facts.name, options_.parameters);
        model.forecaster.emplace(kernel, known.device.facts, file.values);
      } catch (const std::exception& error) {
        model.why_not = error.what();
      }
    }
    if (model.forecaster && query.cluster_size == 1)
      return predicted_cells(kernel,
                             model.forecaster->at(query.footprint.block_size, a.occupancy.blocks_per_sm));
    a.status += "; not predicted: " + (model.forecaster ? "the model knows no clusters" : model.why_not);
    return predicted_cells(kernel, {});
  }

  Known& device(const std::string& word) {
    auto [known, is_new] = devices_.try_emplace(word);
    if (is_new) {
      try {
        known->second.device = resolve_(word.empty() ? options_.device : word);
      } catch (const std::exception& error) {
        known->second.why_not = error.what();
      }
    }
    if (!known->second.why_not.empty()) throw std::invalid_argument(known->second.why_not);
    return known->second;
  }

  std::size_t width_;
  const Options& options_;
  const DeviceResolver& resolve_;
  csv::Row answers_;  ///< their columns
  std::optional<std::size_t> device_, class_;
  std::array<std::optional<std::size_t>, std::size(fields)> columns_;
  std::vector<std::size_t> passed_on_;
  std::unordered_map<std::string, Known> devices_;
};

/// Answers come line by line, before the next is waited for: a row is one line, and a quote that is never closed costs
/// its own row alone.
void run_batch(Descriptor file, const std::string& source, std::ostream& out, const Options& options,
               const DeviceResolver& resolve) {
  LineReader lines(std::move(file), source, [&] { out.flush(); });
  std::string line;
  lines.next(line);
  const std::string too_long = "is longer than " + std::to_string(LineReader::longest) + " bytes";
  if (lines.is_cut()) throw UserError(Exit::file, source + ": its first line " + too_long);
  const csv::Row header = csv::parse(line).fields;
  Batch batch(header, source, options, resolve);
  out << csv::format(batch.header(header));
  while (out && lines.next(line)) {
    if (lines.is_cut()) {
      out << csv::format(batch.refused(line.substr(0, 80), "the line " + too_long));
      continue;
    }
    if (line.empty()) continue;
    const csv::Record record = csv::parse(line);
    out << csv::format(record.complete ? batch.answered(record.fields)
                                       : batch.refused(line, "a quote is opened and never closed"));
  }
}

void run_one(const Options& options, const DeviceResolver& resolve, std::ostream& out) {
  Query query;
  for (std::size_t i = 0; i < std::size(fields); ++i)
    if (!options.texts[i].empty())
      fields[i].set(query, parse_size(options.texts[i], fields[i].option, fields[i].least, fields[i].most));
  const CalcDevice device = resolve(options.device);
  const Answer a = answer(device, query);
  std::optional<Predicted> prediction;
  if (!options.kernel.kind.empty())
    prediction = predicted(device, query, a, options.kernel, options.parameters);
  if (options.format == "json") {
    print_json(out, device.facts, query, a, prediction);
  } else if (options.format == "csv") {
    print_csv(out, device, query, a, prediction);
  } else {
    print_table(out, device.facts, query, a);
    if (prediction) print_prediction(out, device.facts.sm, a, *prediction);
  }
}

void run(const Options& options, const DeviceResolver& resolve, std::ostream& out) {
  if (options.tour) {
    print_tour(out);
  } else if (options.batch == "-") {
    run_batch(Descriptor(dup(STDIN_FILENO)), "standard input", out, options, resolve);
  } else if (!options.batch.empty()) {
    Descriptor file(open(options.batch.c_str(), O_RDONLY | O_CLOEXEC));  // or a pipe: `--batch <(...)`
    if (file.get() < 0)
      throw UserError(Exit::file, "cannot read '" + options.batch + "': " + std::strerror(errno));
    run_batch(std::move(file), "'" + options.batch + "'", out, options, resolve);
  } else if (options.texts[0].empty() || options.texts[1].empty()) {
    throw UserError(Exit::usage, "calc needs --block-size and --registers (or --batch FILE, or --tour)");
  } else {
    run_one(options, resolve, out);
  }
  if (!out.flush()) throw UserError(Exit::file, "standard output could not be written");
}

}  // namespace

CalcDevice resolve_offline(const std::string& word) {
  if (word.empty()) throw std::invalid_argument("no device is named; --device h200, for one");
  return {.facts = theory::find_device(word)};
}

void add_calc(CLI::App& app, DeviceResolver resolve) {
  CLI::App* calc =
      app.add_subcommand("calc", "Exact occupancy of a kernel, and its next cliffs; needs no GPU");
  calc->group("Look")->footer(
      "Example\n  occbench calc --device h200 --block-size 256 --registers 33 --dynamic-smem 32K");
  const auto options = std::make_shared<Options>();
  calc->add_option("--device", options->device, "Index, UUID, name (h200, a100, rtx5090, ...) or ccX.Y")
      ->type_name("NAME");
  std::vector<CLI::Option*> numbers;
  for (std::size_t i = 0; i < std::size(fields); ++i)
    numbers.push_back(calc->add_option(fields[i].option, options->texts[i], fields[i].help)->type_name("N"));
  CLI::Option* format = calc->add_option("--format", options->format, "table, csv or json")
                            ->type_name("FORMAT")
                            ->check(CLI::IsMember({"table", "csv", "json"}));
  CLI::Option* batch =
      calc->add_option("--batch", options->batch, "CSV of footprints in, CSV out; - is stdin")
          ->type_name("FILE");
  CLI::Option* tour =
      calc->add_flag("--tour", options->tour, "The course text's examples beside the hardware");
  for (CLI::Option* number : numbers) batch->excludes(number), tour->excludes(number);
  batch->excludes(format), tour->excludes(format), tour->excludes(batch);

  CLI::Option* predict =
      calc->add_option(
              "--predict", options->kernel.kind,
              "The share of its peak that a kernel reaches, now and at the next cliffs, by the model: "
              "streaming, compute, shared_memory or mixed (a batch's column kernel_class goes first)")
          ->type_name("KIND:{streaming,compute,shared_memory,mixed}")
          ->check([](const std::string& text) { return text.empty() ? std::string("is empty") : ""; });
  tour->excludes(predict);
  const auto dial = [&](const char* option, std::string& text, const char* help) {
    return calc->add_option(option, text, help)->type_name("N")->needs(predict);
  };
  dial("--bytes-per-access", options->kernel.bytes_per_access,
       "Of that kernel's loads: 4 (default), 8 or 16");
  dial("--ilp", options->kernel.ilp, "Its loads or chains of FMAs in flight per thread: 1 (default) to 8");
  dial("--operands", options->kernel.operands,
       "Different registers that its FMAs read (compute): 2 (default) or 3");
  dial("--intensity", options->kernel.intensity, "Its FLOP per byte from DRAM (mixed): 0.25 to 128");
  dial("--parameters", options->parameters,
       "What `occbench calibrate` wrote on the device (default: known GPUs' own)")
      ->type_name("FILE");

  calc->callback([options, resolve = std::move(resolve)] {
    try {
      run(*options, resolve, std::cout);
    } catch (const std::invalid_argument& error) {
      throw UserError(Exit::usage, error.what());
    }
  });
}

}  // namespace occbench::commands
