// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <stdexcept>

#include "harness/device/machine_code.hpp"
#include "harness/record/record.hpp"

namespace occbench {

namespace {

std::string number(double value) {  // the shortest text that reads back as the same double
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}
template <class Integer>
std::string number(Integer value) requires std::is_integral_v<Integer> {
  return std::to_string(value);
}
template <class T>
std::string number(const std::optional<T>& value) {
  return value ? number(*value) : "";
}
/// A dial that does not apply, or was not requested, is an empty cell.
template <class Number>
std::string dial(Number value) {
  return value == 0 ? "" : number(value);
}

struct Column {
  std::string_view name;
  std::function<std::string(const CaseResult&)> text;
};

/// Columns known before any launch, once a footprint could be computed.
bool is_planned(const CaseResult& r) { return r.planned.footprint.registers_per_thread > 0; }
bool is_launchable(const CaseResult& r) { return r.planned.launch.grid_size > 0; }
bool is_timed(const CaseResult& r) { return r.has_time(); }
bool is_measured(const CaseResult& r) { return is_timed(r) && !r.planned.is_modelled; }
bool has_ceiling(const CaseResult& r) { return is_timed(r) && r.ceiling > 0; }
bool has_two_speeds(const CaseResult& r) { return is_measured(r) && r.speeds.has_value(); }
bool has_energy(const CaseResult& r) { return is_measured(r) && r.energy.has_value(); }

/// Throughput by the prediction's time, or its baseline's; empty without one.
std::string predicted_rate(const CaseResult& r, double theory::Prediction::*time_s) {
  const std::optional<theory::Prediction>& p = r.planned.forecast.prediction;
  const double work = amount(r.work, unit_of(r.planned.spec.variant->ceiling));
  return p && (*p).*time_s > 0 && work > 0 ? number(work / (*p).*time_s) : "";
}

/// The same at one end of the band: the longest time gives the lowest rate.
std::string predicted_end(const CaseResult& r, double theory::Band::*time_s) {
  const std::optional<theory::Band>& band = r.planned.forecast.band;
  const double work = amount(r.work, unit_of(r.planned.spec.variant->ceiling));
  return band && work > 0 ? number(work / (*band).*time_s) : "";
}

std::function<std::string(const CaseResult&)> slot_time(double SlotTime::*part) {
  return [part](const CaseResult& r) { return r.slot_time ? number((*r.slot_time).*part) : std::string(); };
}

template <class Text>
std::function<std::string(const CaseResult&)> when(bool (*holds)(const CaseResult&), Text text) {
  return [holds, text](const CaseResult& r) { return holds(r) ? number(text(r)) : std::string(); };
}

const Dials& dials(const CaseResult& r) { return r.planned.spec.variant->dials; }
Ceiling ceiling(const CaseResult& r) { return r.planned.spec.variant->ceiling; }

static_assert(statistics::confidence == 0.95);  // as time_ci95_low_s and time_ci95_high_s say

const std::vector<Column>& columns() {
  using R = const CaseResult&;
  static const std::vector<Column> all{
      {"schema_version", [](R) { return number(schema_version); }},
      {"source", [](R r) { return std::string(r.planned.is_modelled ? "model" : "measured"); }},
      {"case_id", [](R r) { return r.planned.id; }},
      {"experiment", [](R r) { return r.planned.spec.experiment; }},
      {"family", [](R r) { return r.planned.spec.variant->family; }},
      {"variant", [](R r) { return r.planned.spec.variant->name; }},
      {"curve", [](R r) { return r.planned.spec.curve; }},
      {"form", [](R r) { return r.planned.spec.variant->form; }},
      {"baseline", [](R r) { return r.planned.spec.variant->baseline; }},
      {"status", [](R r) { return std::string(to_string(r.planned.status)); }},
      {"reason", [](R r) { return r.planned.reason; }},
      {"block_size", [](R r) { return number(r.planned.spec.block_size); }},
      {"grid_size", when(is_launchable, [](R r) { return r.planned.launch.grid_size; })},
      {"waves",
       when(is_launchable,
            [](R r) { return static_cast<double>(r.planned.launch.grid_size) / r.planned.wave_blocks; })},
      {"asked_resident_blocks", [](R r) { return dial(r.planned.spec.resident_blocks); }},
      {"asked_ballast_bytes", [](R r) { return dial(r.planned.spec.ballast_bytes); }},
      {"asked_grid_size", [](R r) { return dial(r.planned.spec.grid_size); }},
      {"asked_waves", [](R r) { return r.planned.spec.grid_size > 0 ? "" : number(r.planned.spec.waves); }},
      {"asked_block_s", [](R r) { return dial(r.planned.spec.block_s); }},
      {"ilp", [](R r) { return number(r.planned.spec.variant->dials.ilp); }},
      {"bytes_per_access", [](R r) { return dial(r.planned.spec.variant->dials.bytes_per_access); }},
      {"data_type", [](R r) { return r.planned.spec.variant->dials.data_type; }},
      {"register_route", [](R r) { return std::string(to_string(r.planned.spec.variant->dials.route)); }},
      {"register_cap", [](R r) { return dial(r.planned.spec.variant->dials.register_cap); }},
      {"registers_per_thread",
       when(is_planned, [](R r) { return r.planned.attributes.registers_per_thread; })},
      {"local_bytes", when(is_planned, [](R r) { return r.planned.attributes.local_bytes; })},
      {"static_smem_bytes", when(is_planned, [](R r) { return r.planned.attributes.static_smem_bytes; })},
      {"dynamic_smem_bytes", [](R r) { return number(r.planned.footprint.dynamic_smem_bytes); }},
      {"carveout_percent", [](R r) { return number(r.planned.spec.carveout_percent); }},
      {"cluster_size", [](R r) { return number(r.planned.launch.cluster_size); }},
      {"sm_count", [](R r) { return dial(r.planned.spec.sm_count); }},
      {"barriers", [](R r) { return number(r.planned.spec.variant->dials.barriers); }},
      {"tile_width", [](R r) { return dial(r.planned.spec.variant->dials.tile_width); }},
      {"live_values", [](R r) { return dial(r.planned.spec.variant->dials.live_values); }},
      {"idle_values", [](R r) { return dial(r.planned.spec.variant->iteration.idle_values); }},
      {"fma_per_load", [](R r) { return number(dials(r).fma_per_load); }},
      {"stages", [](R r) { return dial(dials(r).stages); }},
      {"bytes_in_flight", [](R r) { return dial(dials(r).bytes_in_flight); }},
      {"working_set_bytes", [](R r) { return dial(dials(r).working_set_bytes); }},
      {"bank_conflict", [](R r) { return dial(dials(r).bank_conflict); }},
      {"lanes_apart", [](R r) { return number(dials(r).lanes_apart); }},
      {"divergent_warps", [](R r) { return number(dials(r).divergent_warps); }},
      {"blocks_per_sm", when(is_planned, [](R r) { return r.planned.occupancy.blocks_per_sm; })},
      {"warps_per_sm", when(is_planned, [](R r) { return r.planned.occupancy.warps_per_sm; })},
      {"occupancy_theoretical", when(is_planned, [](R r) { return r.planned.occupancy.fraction; })},
      {"limiters",
       [](R r) {
         return r.planned.occupancy.limiters == theory::Limiter::none
                    ? std::string()
                    : theory::to_string(r.planned.occupancy.limiters);
       }},
      {"occupancy_textbook", when(is_planned, [](R r) { return r.planned.occupancy_textbook; })},
      {"blocks_per_sm_api", [](R r) { return number(r.blocks_per_sm_api); }},
      {"blocks_per_sm_resident", [](R r) { return number(r.blocks_per_sm_resident); }},
      {"clusters_api", [](R r) { return dial(r.planned.active_clusters); }},
      {"clusters_resident", [](R r) { return number(r.clusters_resident); }},
      {"idle_sms", [](R r) { return number(r.idle_sms); }},
      {"sms_by_gpc", [](R r) { return r.sms_by_gpc; }},
      {"block_size_api", [](R r) { return number(r.block_size_api); }},
      {"occupancy_resident", slot_time(&SlotTime::resident)},
      {"occupancy_launch", slot_time(&SlotTime::launch)},
      {"lost_to_ramp", slot_time(&SlotTime::ramp)},
      {"lost_to_turnover", slot_time(&SlotTime::turnover)},
      {"lost_to_tail", slot_time(&SlotTime::tail)},
      {"lost_to_imbalance", slot_time(&SlotTime::imbalance)},
      {"lost_to_unused_places", slot_time(&SlotTime::unused)},
      {"occupancy_achieved", [](R r) { return number(r.counts.occupancy); }},
      {"issue_active", [](R r) { return number(r.counts.issue_active); }},
      {"fma_active", [](R r) { return number(r.counts.fma_active); }},
      {"tensor_active", [](R r) { return number(r.counts.tensor_active); }},
      {"dram_read_bytes", [](R r) { return number(r.counts.dram_read_bytes); }},
      {"dram_write_bytes", [](R r) { return number(r.counts.dram_write_bytes); }},
      {"l2_bytes", [](R r) { return number(r.counts.l2_bytes); }},
      {"l1_bytes", [](R r) { return number(r.counts.l1_bytes); }},
      {"stalls", [](R r) { return r.counts.stalls; }},
      {"counter_status", [](R r) { return r.counts.status; }},
      {"iterations", when(is_launchable, [](R r) { return r.planned.iterations; })},
      {"bytes_per_launch", when(is_timed, [](R r) { return r.work.bytes; })},
      {"flop_per_launch", when(is_timed, [](R r) { return r.work.flop; })},
      {"operations_per_launch", when(is_timed, [](R r) { return r.work.operations; })},
      {"verified", [](R r) { return r.verified; }},
      {"samples", [](R r) { return number(r.samples); }},
      {"discarded", [](R r) { return number(r.discarded); }},
      {"stop_reason",
       [](R r) {
         return !is_timed(r)            ? std::string()
                : r.planned.is_modelled ? "model"
                : r.reached_precision   ? "precision"
                                        : "bound";
       }},
      {"time_median_s", when(is_timed, [](R r) { return r.time_s.median; })},
      {"time_ci95_low_s", when(is_measured, [](R r) { return r.time_s.low; })},
      {"time_ci95_high_s", when(is_measured, [](R r) { return r.time_s.high; })},
      {"time_p10_s", when(is_measured, [](R r) { return r.time_p10_s; })},
      {"time_p90_s", when(is_measured, [](R r) { return r.time_p90_s; })},
      {"speeds",
       [](R r) {
         return !is_measured(r)        ? std::string()
                : !r.speeds            ? "one"
                : r.speeds->in_streaks ? "two_in_phases"
                                       : "two";
       }},
      {"time_fast_s", when(has_two_speeds, [](R r) { return r.speeds->fast; })},
      {"time_slow_s", when(has_two_speeds, [](R r) { return r.speeds->slow; })},
      {"slow_share", when(has_two_speeds, [](R r) { return r.speeds->slow_share; })},
      {"sm_clock_hz", when(is_timed, [](R r) { return r.sm_clock_hz; })},
      {"throughput", when(is_timed, [](R r) { return r.throughput; })},
      {"throughput_predicted", [](R r) { return predicted_rate(r, &theory::Prediction::time_s); }},
      {"throughput_predicted_low", [](R r) { return predicted_end(r, &theory::Band::high_s); }},
      {"throughput_predicted_high", [](R r) { return predicted_end(r, &theory::Band::low_s); }},
      {"bound_predicted",
       [](R r) {
         const auto& prediction = r.planned.forecast.prediction;
         return prediction ? std::string(theory::to_string(prediction->bound)) : std::string();
       }},
      {"throughput_baseline", [](R r) { return predicted_rate(r, &theory::Prediction::baseline_time_s); }},
      {"machine_code",
       [](R r) {
         const Forecast& forecast = r.planned.forecast;
         return forecast.prediction ? architecture(forecast.code_cc) : std::string();
       }},
      {"throughput_unit", [](R r) { return std::string(rate_name(unit_of(ceiling(r)))); }},
      {"ceiling_kind", [](R r) { return std::string(to_string(ceiling(r))); }},
      {"ceiling", when(has_ceiling, [](R r) { return r.ceiling; })},
      {"percent_of_ceiling", when(has_ceiling, [](R r) { return 100 * r.throughput / r.ceiling; })},
      {"per_cycle_per_sm", when(is_timed, [](R r) { return r.per_cycle_per_sm; })},
      {"cycles_per_iteration", when(is_timed, [](R r) { return r.cycles_per_iteration; })},
      {"own_cycles_per_iteration", when(is_timed, [](R r) { return r.own_cycles_per_iteration; })},
      {"power_w", when(has_energy, [](R r) { return r.energy->power_w; })},
      {"energy_per_launch_j", when(has_energy, [](R r) { return r.energy->per_launch_j; })},
  };
  return all;
}

}  // namespace

double case_number(const CaseResult& result, std::string_view column) {
  const auto found = std::ranges::find(columns(), column, &Column::name);
  if (found == columns().end()) throw std::logic_error("cases.csv has no column " + std::string(column));
  const std::string text = found->text(result);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::string> case_columns() {
  std::vector<std::string> names;
  for (const Column& c : columns()) names.emplace_back(c.name);
  return names;
}

std::vector<std::string> case_fields(const CaseResult& result) {
  std::vector<std::string> fields;
  for (const Column& c : columns()) fields.push_back(c.text(result));
  return fields;
}

std::vector<std::string> sample_columns() {
  return {"schema_version", "case_id",     "repetition", "round",         "sample",
          "time_s",         "sm_clock_hz", "discarded",  "started_unix_s"};
}

std::vector<std::string> sample_fields(const SampleRow& row) {
  return {number(schema_version),    row.case_id,        number(row.repetition),  number(row.round),
          number(row.sample),        number(row.time_s), number(row.sm_clock_hz), row.discarded ? "1" : "0",
          number(row.started_unix_s)};
}

}  // namespace occbench
