// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "harness/whatif/flow.hpp"

namespace occbench::whatif {
namespace {

constexpr double instruction_bytes = 16;

std::string whole(double count) { return std::to_string(std::llround(count)); }

/// Executions per instruction in address order, run-length encoded: "3*12,7*40". Empty if ncu printed no
/// addresses.
std::string run_lengths(const std::vector<std::pair<std::string, double>>& by_address) {
  std::vector<std::pair<std::uint64_t, double>> ran;
  for (const auto& [address, count] : by_address) try {
      ran.emplace_back(std::stoull(address, nullptr, 0), count);
    } catch (const std::exception&) {
      return "";
    }
  std::ranges::sort(ran);
  std::string text;
  std::size_t times = 0;
  double last = 0;
  const auto flush = [&] {
    if (times > 0) text += (text.empty() ? "" : ",") + whole(last) + "*" + std::to_string(times);
    times = 0;
  };
  const auto add = [&](double count, std::size_t instructions) {
    if (count != last) flush();
    last = count;
    times += instructions;
  };
  for (std::size_t i = 0; i < ran.size(); ++i) {
    if (i > 0) {
      const double gap = static_cast<double>(ran[i].first - ran[i - 1].first) / instruction_bytes;
      if (gap > 1) add(0, static_cast<std::size_t>(gap) - 1);
    }
    add(ran[i].second, 1);
  }
  flush();
  return text;
}

}  // namespace

std::vector<std::string> machine_code_words(const std::string& file, const Profile& p) {
  std::string architecture = "sm_" + p.cc;
  std::erase(architecture, '.');
  const double warps = p.need("launch__grid_size") * std::ceil(p.need("launch__block_size") / 32);
  std::vector<std::string> words = {file,         "--kernel", p.kernel,    "--arch",
                                    architecture, "--warps",  whole(warps)};
  for (const auto& [option, metric] :
       {std::pair("--loads", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
        {"--stores", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"}})
    if (const auto requests = p.find(metric)) words.insert(words.end(), {option, whole(*requests)});
  if (const auto found = p.parts.find("inst_executed"); found != p.parts.end())
    if (const std::string text = run_lengths(found->second); !text.empty()) {
      words.insert(words.end(), {"--executed", text});
      return words;
    }
  if (const auto found = p.parts.find("sass__inst_executed_per_opcode"); found != p.parts.end()) {
    std::string text;
    for (const auto& [opcode, count] : found->second)
      text += (text.empty() ? "" : ",") + opcode + ":" + whole(count);
    words.insert(words.end(), {"--opcodes", text});
    return words;
  }
  words.insert(words.end(), {"--instructions", whole(p.need("smsp__inst_executed.sum"))});
  return words;
}

theory::Program parse_code(const std::string& text) {
  try {
    const theory::Programs programs = theory::parse_programs(text);
    if (programs.size() != 1) throw UnsupportedProfile("is not a description of one kernel's machine code");
    const theory::Program& program = programs.begin()->second;
    if (program.loop.empty())
      throw UnsupportedProfile("is not a description of machine code: it has no instruction");
    return program;
  } catch (const std::invalid_argument& error) {
    throw UnsupportedProfile(std::string("its machine code: ") + error.what());
  }
}

}  // namespace occbench::whatif
