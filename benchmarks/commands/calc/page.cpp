// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "benchmarks/commands/calc/answers.hpp"
#include "benchmarks/commands/calc/columns.hpp"
#include "harness/io/files.hpp"

// The page's parts become part of the program as they are.
#define OCCBENCH_PART(name, path)                                                         \
  asm(".pushsection .rodata\n"                                                            \
      "occbench_page_" #name ": .incbin \"" OCCBENCH_SOURCE_FOLDER "/" path               \
      "\"\n"                                                                              \
      "occbench_page_" #name                                                              \
      "_end: .byte 0\n"                                                                   \
      ".globl occbench_page_" #name "\n.globl occbench_page_" #name "_end\n.popsection"); \
  extern "C" const char occbench_page_##name[], occbench_page_##name##_end[]

OCCBENCH_PART(frame, "benchmarks/calculator/page/page.html");
OCCBENCH_PART(style, "benchmarks/calculator/page/page.css");
OCCBENCH_PART(measured, "benchmarks/calculator/page/measured.json");
OCCBENCH_PART(script, "benchmarks/calculator/page/page.js");
OCCBENCH_PART(wasm, "benchmarks/calculator/calculator.wasm.gz");
OCCBENCH_PART(uplot_script, "tools/occbench_tools/vendor/uplot/uPlot.iife.min.js");
OCCBENCH_PART(uplot_style, "tools/occbench_tools/vendor/uplot/uPlot.min.css");

namespace occbench::commands {
namespace {

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t rest = std::min<std::size_t>(bytes.size() - at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < rest ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) text += i <= rest ? digits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

/// The query as the page reads it. No "<" of it can end the element that holds it.
std::string query_json(const CalcOptions& options) {
  Json json = {{"device", options.device}, {"values", Json::object()}};
  for (std::size_t i = 0; i < std::size(fields); ++i)
    if (!options.texts[i].empty()) json["values"][fields[i].column] = options.texts[i];
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;) text.replace(at, 1, "\\u003c");
  return text;
}

}  // namespace

void write_page(const std::string& path, const CalcOptions& options) {
  Query query;
  set_numbers(query, options.texts);
  if (options.texts[0] == all_block_sizes)
    throw std::invalid_argument("--page shows every block size anyway: give one, or none");
  if (!options.device.empty()) static_cast<void>(resolve_offline(options.device));
  const std::array<std::pair<std::string_view, std::string>, 7> parts = {
      {{"@UPLOT_CSS@", {occbench_page_uplot_style, occbench_page_uplot_style_end}},
       {"@STYLE@", {occbench_page_style, occbench_page_style_end}},
       {"@QUERY@", query_json(options)},
       {"@MEASURED@", {occbench_page_measured, occbench_page_measured_end}},
       {"@WASM@", base64({occbench_page_wasm, occbench_page_wasm_end})},
       {"@UPLOT_JS@", {occbench_page_uplot_script, occbench_page_uplot_script_end}},
       {"@SCRIPT@", {occbench_page_script, occbench_page_script_end}}}};
  const std::string_view frame{occbench_page_frame, occbench_page_frame_end};
  std::string page;
  std::size_t from = 0;
  for (const auto& [mark, text] : parts) {  // in the order of the frame
    const std::size_t at = frame.find(mark, from);
    if (at == std::string_view::npos) throw std::logic_error("page.html lacks " + std::string(mark));
    page.append(frame, from, at - from).append(text);
    from = at + mark.size();
  }
  replace_file(path, page.append(frame, from));
}

}  // namespace occbench::commands
