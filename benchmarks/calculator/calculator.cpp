// SPDX-License-Identifier: Apache-2.0
// The calculator as a module of a web page: a question in JSON in, an answer in JSON out. All of the
// arithmetic is the program's; the page draws.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <iterator>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "benchmarks/commands/calc/answers.hpp"
#include "benchmarks/commands/calc/columns.hpp"
#include "benchmarks/commands/calc/predict.hpp"
#include "benchmarks/commands/calc/rank.hpp"
#include "benchmarks/commands/inspect/print.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "harness/binary/binaries.hpp"
#include "harness/binary/reading.hpp"
#include "harness/io/check.hpp"
#include "harness/io/json.hpp"
#include "harness/io/printable.hpp"
#include "harness/theory/occupancy/search.hpp"

namespace occbench::commands {
namespace {

/// The limits of an SM, which a user may replace.
struct Limit {
  const char* name;
  const char* words;
  std::function<std::int64_t(const theory::SmLimits&)> get;
  std::function<void(theory::SmLimits&, std::int64_t)> set;
};

template <auto member>
Limit limit(const char* name, const char* words) {
  return {name, words, [](const theory::SmLimits& sm) { return static_cast<std::int64_t>(sm.*member); },
          [](theory::SmLimits& sm, std::int64_t v) {
            sm.*member = static_cast<std::remove_reference_t<decltype(sm.*member)>>(v);
          }};
}

const std::vector<Limit>& limits() {
  using S = theory::SmLimits;
  static const std::vector<Limit> all = {
      limit<&S::sm_count>("sm_count", "SMs"),
      limit<&S::max_threads_per_sm>("max_threads_per_sm", "threads per SM"),
      limit<&S::max_threads_per_block>("max_threads_per_block", "threads per block"),
      limit<&S::registers_per_sm>("registers_per_sm", "registers per SM"),
      limit<&S::registers_per_block>("registers_per_block", "registers per block"),
      limit<&S::smem_per_sm_bytes>("smem_per_sm_bytes", "shared memory per SM, B"),
      limit<&S::smem_per_block_bytes>("smem_per_block_bytes", "shared memory per block without opt-in, B"),
      limit<&S::smem_per_block_optin_bytes>("smem_per_block_optin_bytes", "shared memory per block, B"),
      limit<&S::smem_reserved_per_block_bytes>("smem_reserved_per_block_bytes",
                                               "shared memory reserved per block, B"),
  };
  return all;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
}

/// The device of a question, with the limits that the user has replaced.
CalcDevice device_of(const Json& question) {
  CalcDevice device = resolve_offline(text_of(question.value("device", Json())));
  const Json own = question.value("limits", Json::object());
  for (const Limit& each : limits())
    if (const auto found = own.find(each.name); found != own.end() && !text_of(*found).empty())
      each.set(device.facts.sm, parse_size(text_of(*found), each.name, 0, std::int64_t{1} << 30));
  if (device.facts.sm.max_threads_per_sm < device.facts.sm.warp_size)
    throw std::invalid_argument("max_threads_per_sm is at least a warp: 32");
  return device;
}

Query query_of(const Json& question) {
  const Json numbers = question.value("query", Json::object());
  NumberTexts texts;
  for (std::size_t i = 0; i < std::size(fields); ++i)
    if (const auto found = numbers.find(fields[i].column); found != numbers.end()) texts[i] = text_of(*found);
  Query query;
  set_numbers(query, texts);
  return query;
}

Json device_json(const theory::DeviceSpec& device) {
  Json json = {
      {"name", device.name},
      {"compute_capability", std::to_string(device.sm.cc_major) + "." + std::to_string(device.sm.cc_minor)},
      {"max_warps_per_sm", device.sm.max_warps_per_sm()},
      {"max_blocks_per_sm", device.sm.max_blocks_per_sm},
      {"smem_limit_per_block_bytes", theory::smem_limit_per_block_bytes(device.sm)}};
  for (const Limit& each : limits()) json["limits"][each.name] = each.get(device.sm);
  return json;
}

Json catalogue(const Json&) {
  Json json;
  for (const std::string& name : theory::device_names())
    json["devices"].push_back(device_json(theory::find_device(name)));
  for (const std::string& cc : theory::compute_capabilities())
    json["devices"].push_back(device_json(theory::find_device("cc" + cc)));
  for (const Field& f : fields)
    json["fields"].push_back(
        {{"option", f.option}, {"column", f.column}, {"help", f.help}, {"least", f.least}, {"most", f.most}});
  for (const Limit& each : limits()) json["limits"].push_back({{"name", each.name}, {"words", each.words}});
  json["models"] = parameter_devices();
  return json;
}

Json answer_to(const Json& question) {
  const CalcDevice device = device_of(question);
  const Query query = query_of(question);
  const Answer a = answer(device, query);
  Json json = {{"device", device_json(device.facts)}, {"answer", answer_json(device.facts, query, a)}};
  json["launches"] = a.launches();
  json["warps_per_block"] = theory::warps_per_block(device.facts.sm, query.footprint);
  if (query.footprint.registers_per_thread <= 255) {
    const auto pick = api_pick(device, query);
    json["api_block_size"] = pick ? Json(*pick) : Json(nullptr);
  }
  for (const Formula& f : formulas(device.facts.sm, query, a))
    json["formulas"][f.name] = {{"text", f.text}, {"source", f.source}};
  return json;
}

Json text_answer(const Json& question) {
  const CalcDevice device = device_of(question);
  const Query query = query_of(question);
  std::ostringstream out;
  print_answer(out, text_of(question.value("format", Json("table"))), device, query, answer(device, query),
               std::nullopt);
  return {{"text", out.str()}};
}

using WarpsAt = std::function<int(std::int64_t)>;

/// The first value in (value, end) that has other warps per SM, or `end`: they never grow from `value` on.
std::int64_t next_step(const WarpsAt& warps_at, std::int64_t value, std::int64_t end) {
  const int now = warps_at(value);
  return theory::first_true(value + 1, end, [&](std::int64_t other) { return warps_at(other) != now; });
}

/// Warps per SM over one dial, where they change and at the last value: [[values], [warps per SM]]. Stairs
/// through these points are exact at each value. Of each `span` values, the later never have more warps.
Json curve(const WarpsAt& warps_at, std::int64_t first, std::int64_t last, std::int64_t span) {
  Json at = Json::array(), warps = Json::array();
  for (std::int64_t value = first; value <= last;) {
    const int now = warps_at(value);
    if (warps.empty() || warps.back() != now || value == last) {
      at.push_back(value);
      warps.push_back(now);
    }
    const std::int64_t end = value + span - (value - first) % span;
    value = value == last ? last + 1 : next_step(warps_at, value, std::min(end, last));
  }
  return Json::array({std::move(at), std::move(warps)});
}

Json curves(const Json& question) {
  const CalcDevice device = device_of(question);
  const Query query = query_of(question);
  const theory::SmLimits& sm = device.facts.sm;
  const auto smem_last = static_cast<std::int64_t>(theory::smem_limit_per_block_bytes(sm)) -
                         static_cast<std::int64_t>(query.footprint.static_smem_bytes);
  Json json = {{"max_warps_per_sm", sm.max_warps_per_sm()}};
  for (const Dial& dial : dials(sm, query.footprint)) {
    const auto warps_at = [&sm, set = dial.set, at = query.footprint](std::int64_t value) mutable {
      set(at, value);
      return theory::occupancy(sm, at).warps_per_sm;
    };
    const std::string_view name = dial.name;
    if (name == "block_size")
      json[dial.name] = curve(warps_at, 1, sm.max_threads_per_block, sm.warp_size);
    else if (name == "registers_per_thread")
      json[dial.name] = curve(warps_at, 1, 255, 255);
    else if (name == "dynamic_smem_bytes")
      json[dial.name] = curve(warps_at, 0, smem_last, smem_last + 1);
  }
  return json;
}

/// Warps per SM over registers (rows) and dynamic shared memory (columns).
Json map_of(const Json& question) {
  const CalcDevice device = device_of(question);
  theory::Footprint at = query_of(question).footprint;
  constexpr std::int64_t register_step = 8, smem_step = 2048;
  const auto smem_last = static_cast<std::int64_t>(theory::smem_limit_per_block_bytes(device.facts.sm)) -
                         static_cast<std::int64_t>(at.static_smem_bytes);
  const auto warps_at = [&](std::int64_t column) {
    at.dynamic_smem_bytes = static_cast<std::size_t>(column * smem_step);
    return theory::occupancy(device.facts.sm, at).warps_per_sm;
  };
  const std::int64_t columns = smem_last < 0 ? 0 : smem_last / smem_step + 1;
  Json rows = Json::array();
  for (std::int64_t registers = register_step; registers <= 256; registers += register_step) {
    at.registers_per_thread = static_cast<int>(std::min<std::int64_t>(registers, 255));
    std::vector<int> row;
    for (std::int64_t column = 0; column < columns;) {
      const auto end = next_step(warps_at, column, columns);
      row.insert(row.end(), static_cast<std::size_t>(end - column), warps_at(column));
      column = end;
    }
    rows.push_back(std::move(row));
  }
  return {{"register_step", register_step},
          {"smem_step", smem_step},
          {"rows", std::move(rows)},
          {"max_warps_per_sm", device.facts.sm.max_warps_per_sm()}};
}

/// Sends a stream's output to another stream during the object's lifetime.
class StreamRedirect {
 public:
  StreamRedirect(std::ostream& stream, std::ostream& to) : stream_(stream), old_(stream.rdbuf(to.rdbuf())) {}
  StreamRedirect(const StreamRedirect&) = delete;
  StreamRedirect& operator=(const StreamRedirect&) = delete;
  ~StreamRedirect() { stream_.rdbuf(old_); }

 private:
  std::ostream& stream_;
  std::streambuf* old_;
};

bool is_binary_input() {
  constexpr std::uint64_t header_bytes = 64;
  std::array<char, header_bytes> begin{};
  const ssize_t got = pread(0, begin.data(), begin.size(), 0);
  return got > 0 && binary::is_binary(std::as_bytes(std::span(begin).first(static_cast<std::size_t>(got))));
}

/// The kernels of a cubin, library or program, as `inspect FILE --format json` prints them.
Json inspect_binary(const std::string& source) {
  binary::Contents contents = binary::read_binary(Descriptor(0), source);
  if (contents.kernels.empty())
    throw UserError(Exit::file, contents.warnings.empty()
                                    ? source + ": has PTX or link-time code, and no machine code"
                                    : contents.warnings.front());
  Inspector inspector("", resolve_offline, {}, std::nullopt);
  std::vector<InspectedKernel> rows;
  for (const binary::CompiledKernel& kernel : contents.kernels)
    std::ranges::move(inspector.rows_of(kernel), std::back_inserter(rows));
  std::ostringstream out;
  print_all_columns(out, "json", rows);
  std::string notes;
  for (const std::string& warning : contents.warnings) notes += printable(warning) + '\n';
  return {{"source", "machine code"},
          {"notes", notes},
          {"assumed_block_size", false},
          {"kernels", Json::parse(out.str())}};
}

/// The kernels of standard input, as `calc FILE --format json` prints them, or `inspect` of a binary.
Json kernels(const Json& question) {
  if (is_binary_input()) return inspect_binary(text_of(question.value("source", Json("the file"))));
  CalcOptions options;
  options.device = text_of(question.value("device", Json()));
  options.format = "json";
  options.texts[0] = text_of(question.value("block_size", Json()));
  const std::string source = text_of(question.value("source", Json("the text")));
  const binary::KernelUses uses = binary::read_kernels(Descriptor(0), "-", source);
  const bool need_size = options.texts[0].empty();
  for (const binary::KernelUse& use : uses.kernels)
    if (need_size && !use.block_size) options.texts[0] = "256";
  std::ostringstream out, notes;
  const StreamRedirect redirect(std::cerr, notes);
  run_kernels(uses, source, out, options, resolve_offline);
  return {{"source", uses.source},
          {"notes", notes.str()},
          {"assumed_block_size", options.texts[0] == "256" && need_size},
          {"kernels", Json::parse(out.str())}};
}

/// Standard input, as `calc --batch -` prints it.
Json batch(const Json& question) {
  CalcOptions options;
  options.device = text_of(question.value("device", Json()));
  std::ostringstream out;
  const DeviceResolver resolve = resolve_offline;
  run_batch(Descriptor(0), "the text", out, options, resolve);
  return {{"text", out.str()}};
}

/// The share of its peak that a kernel class reaches over resident warps, and what the next cliffs do to it.
Json predict(const Json& question) {
  const CalcDevice device = device_of(question);
  const Query query = query_of(question);
  const Answer a = answer(device, query);
  KernelClassText text{.kind = text_of(question.value("kind", Json("streaming"))),
                       .bytes_per_access = text_of(question.value("bytes_per_access", Json())),
                       .ilp = text_of(question.value("ilp", Json())),
                       .intensity = "",
                       .operands = ""};
  const theory::KernelClass kernel = text.read(true);
  const ParameterFile parameters = parameters_for(device.facts.name, "");
  ClassPredictor predictor(kernel, device.facts, parameters.values);
  const theory::Peak& peak = predictor.model().peak();
  Json json = {{"gpu", parameters.device},
               {"parameters", parameters.name},
               {"origin", parameters.content.value("origin", "")},
               {"class", theory::describe(kernel)},
               {"peak", peak.rate},
               {"unit", peak.unit},
               {"basis", peak.basis}};
  constexpr int block_size = 128;
  for (int blocks = 1; blocks * 4 <= device.facts.sm.max_warps_per_sm(); ++blocks) {
    const auto& outcome = predictor.at(block_size, blocks);
    json["curve"].push_back({blocks * 4, outcome.share_of_peak * peak.rate});
  }
  if (!a.launches() || query.cluster_size > 1) return json;
  const CliffPredictions cliffs = predict_cliffs(predictor, device.facts, parameters.values, query.footprint);
  json["own"] = {a.occupancy.warps_per_sm, cliffs.now.share_of_peak * peak.rate};
  json["conclusion"] = cliffs.conclusion;
  return json;
}

using Handler = Json (*)(const Json&);
constexpr std::pair<std::string_view, Handler> handlers[] = {
    {"catalogue", catalogue}, {"answer", answer_to}, {"text", text_answer}, {"curves", curves},
    {"map", map_of},          {"kernels", kernels},  {"batch", batch},      {"predict", predict}};

Json ask(std::string_view text) {
  try {
    const Json question = Json::parse(parse_json(text).dump());
    const std::string what = text_of(question.value("ask", Json()));
    for (const auto& [name, handle] : handlers)
      if (name == what) return handle(question);
    throw std::invalid_argument("no question '" + what + "'");
  } catch (const std::exception& error) {
    return {{"error", printable(error.what())}};
  }
}

}  // namespace
}  // namespace occbench::commands

/// `question`: `size` bytes from calculator_buffer(), which this frees. The answer ends with a zero byte and
/// is valid until the next question.
extern "C" __attribute__((export_name("calculator_ask"))) const char* calculator_ask(char* question,
                                                                                     std::size_t size) {
  static std::string answer;
  using namespace occbench::commands;
  answer = ask({question, size}).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::free(question);
  return answer.c_str();
}

extern "C" __attribute__((export_name("calculator_buffer"))) char* calculator_buffer(std::size_t size) {
  return static_cast<char*>(std::malloc(size));
}
