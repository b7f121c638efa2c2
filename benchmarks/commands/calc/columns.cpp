// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calc/columns.hpp"

#include <utility>

#include "benchmarks/report/format.hpp"
#include "harness/theory/occupancy/cliffs.hpp"

namespace occbench::commands {

namespace {

struct AnswerColumn {
  Column<AnswerRow> column;
  Part part;
};

using Row = const AnswerRow&;

std::vector<AnswerColumn> make_answer_columns() {
  std::vector<AnswerColumn> all = {
      {{"device", [](Row r) { return Value(r.device.name); }}, Part::query},
      {{"compute_capability",
        [](Row r) { return Value(text("%d.%d", r.device.sm.cc_major, r.device.sm.cc_minor)); }},
       Part::json}};
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (all.push_back(
         {{fields[i].column,
           [](Row r) { return fields[i].is_known(r.query) ? Value(fields[i].get(r.query)) : Value(); }},
          Part::query}),
     ...);
  }
  (std::make_index_sequence<std::size(fields)>());
  const AnswerColumn answers[] = {
      {{"blocks_per_sm", [](Row r) { return Value(std::int64_t{r.answer.occupancy.blocks_per_sm}); }},
       Part::answer},
      {{"warps_per_sm", [](Row r) { return Value(std::int64_t{r.answer.occupancy.warps_per_sm}); }},
       Part::answer},
      {{"threads_per_sm",
        [](Row r) {
          return Value(std::int64_t{r.answer.occupancy.blocks_per_sm * r.query.footprint.block_size});
        }},
       Part::json},
      {{"occupancy", [](Row r) { return Value(r.answer.occupancy.fraction); }}, Part::answer},
      {{"occupancy_textbook",
        [](Row r) { return Value(theory::textbook_occupancy(r.device.sm, r.query.footprint)); }},
       Part::more},
      {{"limiters", [](Row r) { return Value(theory::to_string(r.answer.occupancy.limiters)); }},
       Part::answer},
      {{"status", [](Row r) { return Value(r.answer.status); }}, Part::answer},
      {{"active_clusters", [](Row r) { return or_unknown(r.answer.active_clusters); }}, Part::json},
      {{"waves", [](Row r) { return r.answer.grid ? Value(r.answer.grid->waves) : Value(); }}, Part::grid},
      {{"idle_sms",
        [](Row r) { return r.answer.grid ? Value(std::int64_t{r.answer.grid->idle_sms}) : Value(); }},
       Part::grid},
      {{"tail_share", [](Row r) { return r.answer.grid ? Value(r.answer.grid->tail_share) : Value(); }},
       Part::grid},
      {{"occupancy_device", [](Row r) { return r.answer.grid ? Value(r.answer.grid->occupancy) : Value(); }},
       Part::grid}};
  all.insert(all.end(), std::begin(answers), std::end(answers));
  return all;
}

const std::vector<AnswerColumn>& all_answer_columns() {
  static const std::vector<AnswerColumn> all = make_answer_columns();
  return all;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json cliff_json(const std::optional<theory::Cliff>& c) {
  return c ? Json{{"value", c->value},
                  {"delta", c->delta},
                  {"blocks_per_sm", c->blocks_per_sm},
                  {"occupancy", c->occupancy}}
           : Json(nullptr);
}

}  // namespace

std::vector<Column<AnswerRow>> answer_columns(std::initializer_list<Part> parts) {
  std::vector<Column<AnswerRow>> columns;
  for (const Part part : parts)
    for (const AnswerColumn& each : all_answer_columns())
      if (each.part == part) columns.push_back(each.column);
  return columns;
}

std::vector<Column<AnswerRow>> csv_columns() {
  return answer_columns({Part::query, Part::answer, Part::more, Part::grid});
}

std::span<const Column<AnswerRow>> predicted_columns() {
  static constexpr Column<AnswerRow> columns[] = {
      {"kernel_class", [](Row r) { return Value(std::string(theory::to_string(r.kernel->kind))); }},
      {"predicted_percent_of_peak",
       [](Row r) { return r.outcome ? Value(100 * r.outcome->share_of_peak) : Value(); }},
      {"predicted_bound",
       [](Row r) { return r.outcome ? Value(std::string(theory::to_string(r.outcome->bound))) : Value(); }},
  };
  return columns;
}

Json answer_json(const theory::DeviceSpec& device, const Query& query, const Answer& a) {
  const theory::Occupancy& o = a.occupancy;
  const theory::Unused unused = theory::unused_resources(device.sm, query.footprint);
  Json json;
  for (const AnswerColumn& each : all_answer_columns())
    json[each.column.name] = to_json(each.column.value({device, query, a}));
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
  for (const Dial& dial : dials(device.sm, query.footprint))
    json["cliffs"][dial.name] = {{"loses", cliff_json(dial.cliffs.loses)},
                                 {"gains", cliff_json(dial.cliffs.gains)}};
  const auto joint = theory::gains_together(device.sm, query.footprint);
  json["gains_together"] = joint ? Json{{"registers_per_thread", cliff_json(joint->registers)},
                                        {"dynamic_smem_bytes", cliff_json(joint->dynamic_smem)}}
                                 : Json(nullptr);
  return json;
}

}  // namespace occbench::commands
