// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "benchmarks/commands/calc/answers.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/theory/occupancy/cards.hpp"

namespace occbench::commands {

namespace {

/// "4,406 GB/s", "66.9 TFLOP/s"
std::string rate(const theory::Peak& peak) {
  return peak.unit == "FLOP/s" ? text("%.1f TFLOP/s", peak.rate * 1e-12)
                               : with_thousands(std::llround(peak.rate * 1e-9)) + " GB/s";
}

Json prediction_json(const ClassPrediction& p) {
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
  if (!p.cliffs) return json;
  const CliffPredictions& cliffs = *p.cliffs;
  json["percent_of_peak"] = 100 * cliffs.now.share_of_peak;
  json["bound"] = theory::to_string(cliffs.now.bound);
  json["warps_for_95_percent"] =
      cliffs.warps_for_95_percent ? Json(*cliffs.warps_for_95_percent) : Json(nullptr);
  json["percent_of_peak_full_occupancy"] = 100 * cliffs.full.share_of_peak;
  json["cliffs"] = Json::array();
  for (const CliffPredictions::Step& step : cliffs.steps) {
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
  json["answer"] = cliffs.conclusion;
  return json;
}

std::string dial_value(const theory::Cliff& c) {
  return with_thousands(c.value) + (c.delta > 0 ? " (+" : " (") + with_thousands(c.delta) + ")";
}

/// Waves follow from the number of SMs, which NVIDIA has not published of every card.
std::string sm_count_source(const theory::DeviceSpec& device) {
  const auto* const card = std::ranges::find(theory::cards, device.name, &theory::Card::name);
  if (card == std::end(theory::cards) || card->numbers != theory::Numbers::database) return {};
  return text(" (%d SMs: ", card->sm_count) + theory::source_name(card->numbers) + ")";
}

std::string grid_text(const theory::DeviceSpec& device, const Query& query, const Answer& a) {
  const std::string grid =
      "grid of " + with_thousands(query.grid_blocks) + (query.grid_blocks == 1 ? " block: " : " blocks: ");
  if (!a.grid) return grid + "the number of SMs is unknown; name the device (--device h200)";
  const theory::GridFill& fill = *a.grid;
  std::string words =
      grid + significant(fill.waves) + " waves of " + with_thousands(fill.wave_blocks) + " blocks; ";
  if (fill.idle_sms > 0) words += text("%d of %d SMs get no block; ", fill.idle_sms, device.sm.sm_count);
  if (fill.waves > 1 && fill.tail_share > 0)
    words += "the partial last wave takes up to " + percent(fill.tail_share) + " of the time; ";
  return words + "occupancy of the device " + percent(fill.occupancy) + sm_count_source(device);
}

void print_summary(std::ostream& out, const theory::DeviceSpec& device, const Query& query, const Answer& a) {
  const theory::SmLimits& sm = device.sm;
  const theory::Footprint& f = query.footprint;
  const theory::Occupancy& o = a.occupancy;
  print_wrapped(out, device.name + text(" (cc %d.%d): ", sm.cc_major, sm.cc_minor) +
                         with_thousands(f.block_size) + " threads x " +
                         with_thousands(f.registers_per_thread) + " registers, " +
                         with_thousands(f.static_smem_bytes) + " B static + " +
                         with_thousands(f.dynamic_smem_bytes) + " B dynamic shared memory, " +
                         std::to_string(f.barriers) + (f.barriers == 1 ? " barrier" : " barriers") +
                         (f.carveout_percent < 0 ? "" : text(", carve-out %d %%", f.carveout_percent)));
  if (o.is_launchable())
    print_wrapped(out,
                  text("%d blocks, %d warps, ", o.blocks_per_sm, o.warps_per_sm) +
                      with_thousands(o.blocks_per_sm * f.block_size) + " threads per SM: occupancy " +
                      percent(o.fraction) + ", limited by " + theory::to_string(o.limiters),
                  "  ");
  if (!o.is_launchable() || a.status != "ok") print_wrapped(out, a.status, "  ");
  if (query.grid_blocks > 0 && o.is_launchable()) print_wrapped(out, grid_text(device, query, a), "  ");
  out << "  textbook (plain division): " << percent(theory::textbook_occupancy(sm, f)) << "\n\n";
}

void print_resources(std::ostream& out, const theory::SmLimits& sm, const theory::Footprint& f,
                     const theory::Occupancy& o) {
  const theory::Unused unused = theory::unused_resources(sm, f);
  const auto limit = [&](const std::optional<int>& blocks, theory::Limiter resource) {
    return (blocks ? std::to_string(*blocks) : "-") + (theory::has(o.limiters, resource) ? " <" : "  ");
  };
  print_aligned(
      out,
      {{"resource", "blocks it allows  ", "taken per block", "unused per SM"},
       {"warps", limit(o.warp_limit, theory::Limiter::warps), with_thousands(theory::warps_per_block(sm, f)),
        with_thousands(unused.warps)},
       {"block slots", limit(o.block_limit, theory::Limiter::blocks), "1", with_thousands(unused.blocks)},
       {"registers", limit(o.register_limit, theory::Limiter::registers),
        with_thousands(o.allocated_registers_per_block), with_thousands(unused.registers)},
       {"shared memory, B", limit(o.smem_limit, theory::Limiter::shared_memory),
        with_thousands(o.allocated_smem_per_block_bytes), with_thousands(unused.smem_bytes)},
       {"barriers", limit(o.barrier_limit, theory::Limiter::barriers), with_thousands(f.barriers),
        unused.barriers ? with_thousands(*unused.barriers) : "-"}});
}

std::string cliff_text(const std::optional<theory::Cliff>& c) {
  if (!c) return "none";
  return dial_value(*c) + ": " +
         (c->blocks_per_sm == 0
              ? "cannot launch"
              : std::to_string(c->blocks_per_sm) + (c->blocks_per_sm == 1 ? " block, " : " blocks, ") +
                    percent(c->occupancy));
}

void print_cliffs(std::ostream& out, const theory::SmLimits& sm, const theory::Footprint& f) {
  static constexpr TextColumn<Dial> columns[] = {
      {"next cliff", [](const Dial& d) { return std::string(d.name); }},
      {"now", [](const Dial& d) { return with_thousands(d.own); }},
      {"loses occupancy", [](const Dial& d) { return cliff_text(d.cliffs.loses); }},
      {"gains occupancy", [](const Dial& d) { return cliff_text(d.cliffs.gains); }},
  };
  const auto all = dials(sm, f);
  out << '\n';
  print_aligned(out, table_of(columns, std::vector(all.begin(), all.end())));
  if (const auto joint = theory::gains_together(sm, f))
    out << "  together " << with_thousands(joint->registers.value) << " registers (" << joint->registers.delta
        << ") and " << with_thousands(joint->dynamic_smem.value) << " B ("
        << with_thousands(joint->dynamic_smem.delta) << "): " << joint->registers.blocks_per_sm << " blocks, "
        << percent(joint->registers.occupancy) << '\n';
}

/// A line of the prediction's table: the footprint as it is, or at a cliff.
struct PredictedLine {
  std::string footprint;
  double occupancy = 0;
  std::optional<theory::ClassModel::Outcome> outcome;
  std::optional<double> gain;
};

constexpr TextColumn<PredictedLine> predicted_line_columns[] = {
    {"footprint", [](const PredictedLine& l) { return l.footprint; }},
    {"occupancy", [](const PredictedLine& l) { return l.outcome ? percent(l.occupancy) : "cannot launch"; }},
    {"of peak", [](const PredictedLine& l) { return l.outcome ? percent(l.outcome->share_of_peak) : ""; }},
    {"throughput",
     [](const PredictedLine& l) { return l.outcome && l.gain ? text("%+.1f %%", 100 * *l.gain) : ""; }},
    {"bound",
     [](const PredictedLine& l) {
       return l.outcome ? std::string(theory::to_string(l.outcome->bound)) : std::string();
     }},
};

std::vector<PredictedLine> predicted_lines(const Answer& a, const CliffPredictions& cliffs) {
  std::vector<PredictedLine> lines = {{"as it is", a.occupancy.fraction, cliffs.now, std::nullopt}};
  for (const CliffPredictions::Step& step : cliffs.steps)
    lines.push_back({std::string(step.dial.name) + " " + dial_value(step.cliff), step.cliff.occupancy,
                     step.outcome, step.gain});
  return lines;
}

void print_prediction(std::ostream& out, const theory::SmLimits& sm, const Answer& a,
                      const ClassPrediction& p) {
  const std::string origin = p.parameters.content.value("origin", "of unknown origin");
  out << '\n';
  print_wrapped(out, "predicted, " + theory::describe(p.kernel) + " (" +
                         printable(p.parameters.name + ", " + origin) + ")");
  print_wrapped(out, "peak: " + rate(p.peak) + ", " + std::string(p.peak.basis), "  ");
  if (!p.cliffs) {
    out << "  no prediction: it cannot launch\n";
    return;
  }
  const CliffPredictions& cliffs = *p.cliffs;
  const std::string warps =
      cliffs.warps_for_95_percent
          ? std::to_string(*cliffs.warps_for_95_percent) + " warps per SM suffice for 95 %"
          : text("no number of warps suffices for 95 %% (%d per SM: ", sm.max_warps_per_sm()) +
                percent(cliffs.full.share_of_peak) + ")";
  print_wrapped(out,
                "now: " + percent(cliffs.now.share_of_peak) + " of peak, bound by " +
                    std::string(theory::to_string(cliffs.now.bound)) + "; " + warps,
                "  ");
  out << '\n';
  print_aligned(out, table_of(predicted_line_columns, predicted_lines(a, cliffs)));
  out << '\n';
  print_wrapped(out, cliffs.conclusion, "  ");
  print_wrapped(out,
                "Not predicted: spills under a lower register cap; effects of another amount of data per "
                "block. Changes under 3 % are within the model's error.",
                "  ");
}

void print_json(std::ostream& out, const theory::DeviceSpec& device, const Query& query, const Answer& a,
                const std::optional<ClassPrediction>& p) {
  Json json = answer_json(device, query, a);
  if (p) json["prediction"] = prediction_json(*p);
  out << json.dump(2) << '\n';
}

void print_answer_csv(std::ostream& out, const CalcDevice& device, const Query& query, const Answer& a,
                      const std::optional<ClassPrediction>& p) {
  std::vector<Column<AnswerRow>> columns = csv_columns();
  if (p) {
    columns.push_back(cliff_column);
    columns.insert(columns.end(), predicted_columns().begin(), predicted_columns().end());
  }
  out << csv::format(csv_header(columns));
  AnswerRow own{device.facts, query, a};
  if (p) own.kernel = &p->kernel;
  if (p && p->cliffs) own.outcome = p->cliffs->now;
  out << csv::format(csv_row(columns, own));
  if (!p || !p->cliffs) return;
  for (const CliffPredictions::Step& step : p->cliffs->steps) {
    const Query query_there{.footprint = step.footprint};
    const Answer answer_there = answer(device, query_there);
    out << csv::format(csv_row(columns, AnswerRow{device.facts, query_there, answer_there, &p->kernel,
                                                  step.outcome, step.dial.name}));
  }
}

}  // namespace

void print_answer(std::ostream& out, const std::string& format, const CalcDevice& device, const Query& query,
                  const Answer& a, const std::optional<ClassPrediction>& prediction) {
  const theory::SmLimits& sm = device.facts.sm;
  if (format == "json") return print_json(out, device.facts, query, a, prediction);
  if (format == "csv") return print_answer_csv(out, device, query, a, prediction);
  print_summary(out, device.facts, query, a);
  print_resources(out, sm, query.footprint, a.occupancy);
  print_cliffs(out, sm, query.footprint);
  if (prediction) print_prediction(out, sm, a, *prediction);
}

}  // namespace occbench::commands
