// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/protocol/advice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <vector>

namespace occbench::attach {

namespace {

constexpr std::size_t fields_of_kernel = 12, fields_of_pattern = 3;
constexpr std::string_view any = "0000000000000000";

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields{""};
  for (const char c : line)
    if (c == '\t')
      fields.emplace_back();
    else
      fields.back() += c;
  return fields;
}

unsigned natural_number(const std::string& text) {
  return static_cast<unsigned>(std::strtoul(text.c_str(), nullptr, 10));
}

bool is_same_shape(const Advice& a, const Advice& b) {
  return a.symbol == b.symbol && a.sms == b.sms && std::ranges::equal(a.grid, b.grid) &&
         std::ranges::equal(a.block, b.block) && a.dynamic_smem_bytes == b.dynamic_smem_bytes;
}

}  // namespace

std::string Advice::line() const {
  if (!pattern.empty()) return "pattern\t" + pattern + '\t' + std::to_string(share) + '\n';
  std::string said = "kernel\t" + symbol;
  for (const unsigned n : grid) said += '\t' + std::to_string(n);
  for (const unsigned n : block) said += '\t' + std::to_string(n);
  return said + '\t' + std::to_string(dynamic_smem_bytes) + '\t' + arguments + '\t' +
         std::to_string(blocks_per_sm) + '\t' + std::to_string(sms) + '\n';
}

AdviceBook::~AdviceBook() {
  for (Entry& entry : entries_)
    if (entry.compiled) regfree(&*entry.compiled);
}

void AdviceBook::read(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> f = split(line);
    if (f[0] == "kernel" && f.size() == fields_of_kernel) {
      Advice a{.symbol = f[1], .arguments = f[9]};
      for (std::size_t i = 0; i < 3; ++i) {
        a.grid[i] = natural_number(f[2 + i]);
        a.block[i] = natural_number(f[5 + i]);
      }
      a.dynamic_smem_bytes = natural_number(f[8]);
      a.blocks_per_sm = static_cast<int>(natural_number(f[10]));
      a.sms = static_cast<int>(natural_number(f[11]));
      entries_.push_back({a, std::nullopt});
    } else if (f[0] == "pattern" && f.size() == fields_of_pattern) {
      regex_t compiled{};
      if (regcomp(&compiled, f[1].c_str(), REG_EXTENDED | REG_NOSUB) != 0) continue;
      entries_.push_back({{.pattern = f[1], .share = std::strtod(f[2].c_str(), nullptr)}, compiled});
    }
  }
}

std::optional<int> AdviceBook::blocks_for(const Advice& what, const std::string& demangled,
                                          int natural) const {
  // A kernel's structs may have words that nobody sets, and their hash is new in each process.
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
