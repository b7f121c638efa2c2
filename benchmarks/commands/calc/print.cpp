// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calc/print.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/io/csv.hpp"

namespace occbench::commands {

namespace {

/// "4,406 GB/s", "66.9 TFLOP/s"
std::string rate(const theory::Peak& peak) {
  char text[32];
  if (peak.unit == "FLOP/s")
    std::snprintf(text, sizeof text, "%.1f T", peak.rate * 1e-12);
  else
    std::snprintf(text, sizeof text, "%s G", grouped(std::llround(peak.rate * 1e-9)).c_str());
  return std::string(text) + (peak.unit == "FLOP/s" ? "FLOP/s" : "B/s");
}

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

}  // namespace

void print_table(std::ostream& out, const theory::DeviceSpec& device, const Query& query, const Answer& a) {
  const theory::SmLimits& sm = device.sm;
  const theory::Footprint& f = query.footprint;
  const theory::Occupancy& o = a.occupancy;
  const theory::Unused unused = theory::unused_resources(sm, f);

  std::ostringstream asked;
  asked << device.name << " (cc " << sm.cc_major << '.' << sm.cc_minor << "): " << grouped(f.block_size)
        << " threads x " << grouped(f.registers_per_thread) << " registers, " << grouped(f.static_smem_bytes)
        << " B static + " << grouped(f.dynamic_smem_bytes) << " B dynamic shared memory, " << f.barriers
        << (f.barriers == 1 ? " barrier" : " barriers")
        << (f.carveout_percent < 0 ? "" : ", carve-out " + std::to_string(f.carveout_percent) + " %");
  print_wrapped(out, asked.str());
  if (o.launchable()) {
    std::ostringstream found;
    found << o.blocks_per_sm << " blocks, " << o.warps_per_sm << " warps, "
          << grouped(o.blocks_per_sm * f.block_size) << " threads per SM: occupancy " << percent(o.fraction)
          << ", limited by " << theory::to_string(o.limiters);
    print_wrapped(out, found.str(), "  ");
  }
  if (!o.launchable() || a.status != "ok") print_wrapped(out, a.status, "  ");
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
  std::vector<csv::Row> rows = {{"next cliff", "now", "loses occupancy", "gains occupancy"}};
  for (const Dial& dial : dials(sm, f))
    rows.push_back({dial.name, grouped(dial.own), cliff(dial.cliffs.loses), cliff(dial.cliffs.gains)});
  out << '\n';
  print_aligned(out, rows);
  if (const auto joint = theory::gains_together(sm, f))
    out << "  together " << grouped(joint->registers.value) << " registers (" << joint->registers.delta
        << ") and " << grouped(joint->dynamic_smem.value) << " B (" << grouped(joint->dynamic_smem.delta)
        << "): " << joint->registers.blocks_per_sm << " blocks, " << percent(joint->registers.occupancy)
        << '\n';
}

void print_prediction(std::ostream& out, const theory::SmLimits& sm, const Answer& a, const Predicted& p) {
  const int slots = sm.max_warps_per_sm();
  out << '\n';
  print_wrapped(out, "predicted, " + theory::describe(p.kernel) + " (" + p.origin() + ")");
  print_wrapped(out, "peak: " + rate(p.peak) + ", " + std::string(p.peak.basis), "  ");
  if (!p.payoff) {
    out << "  nothing, for it cannot launch\n";
    return;
  }
  const Payoff& payoff = *p.payoff;
  const std::string enough = payoff.warps_enough
                                 ? std::to_string(*payoff.warps_enough) + " warps per SM suffice for 95 %"
                                 : "no number of warps suffices for 95 % (" + std::to_string(slots) +
                                       " per SM: " + percent(payoff.full.share_of_peak) + ")";
  print_wrapped(out,
                "now: " + percent(payoff.now.share_of_peak) + " of peak, bound by " +
                    std::string(theory::to_string(payoff.now.bound)) + "; " + enough,
                "  ");
  out << '\n';

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
  out << '\n';
  print_wrapped(out, payoff.answer, "  ");
  print_wrapped(
      out,
      "Not predicted: spills, where a kernel needs the registers; other data per block. Under 3 % is "
      "chance.",
      "  ");
}

Json answer_json(const theory::DeviceSpec& device, const Query& query, const Answer& a) {
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  const theory::SmLimits& sm = device.sm;
  const theory::Occupancy& o = a.occupancy;
  const theory::Unused unused = theory::unused_resources(sm, query.footprint);

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
  const auto joint = theory::gains_together(sm, query.footprint);
  json["gains_together"] = joint ? Json{{"registers_per_thread", cliff(joint->registers)},
                                        {"dynamic_smem_bytes", cliff(joint->dynamic_smem)}}
                                 : Json(nullptr);
  return json;
}

void print_json(std::ostream& out, const theory::DeviceSpec& device, const Query& query, const Answer& a,
                const std::optional<Predicted>& p) {
  Json json = answer_json(device, query, a);
  if (p) json["prediction"] = prediction_json(*p);
  out << json.dump(2) << '\n';
}

csv::Row answer_header() {
  csv::Row header = {"device"};
  for (const Field& field : fields) header.emplace_back(field.column);
  header.insert(header.end(), std::begin(answer_columns), std::end(answer_columns));
  header.emplace_back("occupancy_textbook");
  return header;
}

csv::Row answer_row(const CalcDevice& device, const Query& query, const Answer& a) {
  csv::Row row = {csv::no_formula(device.facts.name)};
  for (const auto& [name, value] : numbers(query)) row.push_back(std::to_string(value));
  for (std::string& cell : cells(a)) row.push_back(std::move(cell));
  row.push_back(shortest(theory::textbook_occupancy(device.facts.sm, query.footprint)));
  return row;
}

void print_csv(std::ostream& out, const CalcDevice& device, const Query& query, const Answer& a,
               const std::optional<Predicted>& p) {
  const auto print_row = [&](const Query& q, const Answer& its, const char* cliff,
                             const std::optional<theory::ClassModel::Outcome>& outcome) {
    csv::Row row = answer_row(device, q, its);
    if (p) {
      row.emplace_back(cliff);
      for (std::string& cell : predicted_cells(p->kernel, outcome)) row.push_back(std::move(cell));
    }
    out << csv::format(row);
  };
  csv::Row header = answer_header();
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

}  // namespace occbench::commands
