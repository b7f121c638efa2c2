// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/protocol/advice.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace occbench::attach {

namespace {

constexpr std::string_view any = "0000000000000000";

bool is_same_shape(const Advice& a, const Advice& b) {
  return a.symbol == b.symbol && a.sms == b.sms && std::ranges::equal(a.grid, b.grid) &&
         std::ranges::equal(a.block, b.block) && a.dynamic_smem_bytes == b.dynamic_smem_bytes;
}

}  // namespace

std::string Advice::line() const {
  if (!pattern.empty()) return line_of(PatternAdvice{.pattern = pattern, .share = share});
  return line_of(KernelAdvice{.symbol = symbol,
                              .grid_x = grid[0],
                              .grid_y = grid[1],
                              .grid_z = grid[2],
                              .block_x = block[0],
                              .block_y = block[1],
                              .block_z = block[2],
                              .dynamic_smem_bytes = dynamic_smem_bytes,
                              .arguments = arguments,
                              .blocks_per_sm = blocks_per_sm,
                              .sm_count = sms});
}

AdviceBook::~AdviceBook() {
  for (Entry& entry : entries_)
    if (entry.compiled) regfree(&*entry.compiled);
}

void AdviceBook::read(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) try {
      add(fields_of(line));
    } catch (const std::invalid_argument&) {
    }
}

void AdviceBook::add(const Fields& fields) {
  if (fields[0] == KernelAdvice::kind) {
    const auto r = record_of<KernelAdvice>(fields);
    entries_.push_back({.advice = {.symbol = r.symbol,
                                   .sms = r.sm_count,
                                   .grid = {r.grid_x, r.grid_y, r.grid_z},
                                   .block = {r.block_x, r.block_y, r.block_z},
                                   .dynamic_smem_bytes = r.dynamic_smem_bytes,
                                   .arguments = r.arguments,
                                   .blocks_per_sm = r.blocks_per_sm},
                        .compiled = std::nullopt});
  } else if (fields[0] == PatternAdvice::kind) {
    const auto r = record_of<PatternAdvice>(fields);
    regex_t compiled{};
    if (regcomp(&compiled, r.pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0) return;
    entries_.push_back({.advice = {.pattern = r.pattern, .share = r.share}, .compiled = compiled});
  }
}

std::optional<int> AdviceBook::blocks_for(const Advice& what, const std::string& demangled,
                                          int natural) const {
  // A kernel's structs may have uninitialised words, which change their hash in each process.
  std::optional<int> of_others;
  bool agree = true;
  for (const Entry& entry : entries_) {
    const Advice& a = entry.advice;
    if (!entry.compiled) {
      if (!is_same_shape(a, what)) continue;
      if (a.arguments == any || a.arguments == what.arguments)
        return a.blocks_per_sm > 0 ? std::optional(a.blocks_per_sm) : std::nullopt;
      if (a.blocks_per_sm == 0) continue;
      agree = agree && of_others.value_or(a.blocks_per_sm) == a.blocks_per_sm;
      of_others = a.blocks_per_sm;
      continue;
    }
    for (const std::string& name : {what.symbol, demangled})
      if (regexec(&*entry.compiled, name.c_str(), 0, nullptr, 0) == 0)
        return std::clamp(static_cast<int>(std::lround(a.share * natural)), 1, std::max(1, natural - 1));
  }
  return agree ? of_others : std::nullopt;
}

}  // namespace occbench::attach
