// SPDX-License-Identifier: Apache-2.0
#include "harness/device/machine_code.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

#include "harness/io/gzip.hpp"

namespace occbench {

namespace {

struct Description {
  std::string_view text;                          // plain or gzip-compressed
  std::optional<theory::Programs> programs = {};  // read on first use
};
/// By family and compute capability.
using Descriptions = std::map<std::string, std::map<int, Description>, std::less<>>;
Descriptions& descriptions() {
  static Descriptions all;
  return all;
}

theory::Programs read(std::string_view text) {
  constexpr std::string_view gzip_magic = "\x1f\x8b";
  return theory::parse_programs(text.starts_with(gzip_magic) ? unpack(text) : std::string(text));
}

struct Found {
  int cc = 0;
  const theory::Program* program = nullptr;
};

Found find(const Variant& variant, int cc) {
  static std::mutex reading;
  const std::scoped_lock lock(reading);
  const auto family = descriptions().find(variant.family);
  if (family == descriptions().end()) return {};
  auto& of_family = family->second;
  const auto above = of_family.upper_bound(cc);
  std::vector<int> order;  // older ones from the newest on, then newer ones from the oldest on
  for (auto each = above; each != of_family.begin();) order.push_back((--each)->first);
  for (auto each = above; each != of_family.end(); ++each) order.push_back(each->first);
  for (const int candidate : order) {
    Description& d = of_family.at(candidate);
    try {
      if (!d.programs) d.programs = read(d.text);
    } catch (const std::invalid_argument& e) {
      throw std::invalid_argument("machine code of " + variant.family + " for " + architecture(candidate) +
                                  ": " + e.what());
    }
    const auto found = d.programs->find({variant.family, variant.name});
    if (found != d.programs->end()) return {candidate, &found->second};
  }
  return {};
}

}  // namespace

void add_machine_code(int cc, const char* family, const char* begin, const char* end) {
  descriptions()[family][cc] = {.text = {begin, end}};
}

bool runs_on(const Variant& variant, int cc) {
  return variant.only_this_cc ? cc == variant.min_cc : cc >= variant.min_cc;
}

int described_cc(const Variant& variant, int cc) { return find(variant, cc).cc; }

std::vector<int> described_ccs(int cc) {
  std::set<int> ccs;
  for (const Variant& v : variants())
    if (const int described = runs_on(v, cc) ? described_cc(v, cc) : 0; described != 0) ccs.insert(described);
  return {ccs.begin(), ccs.end()};
}

std::string architecture(int cc) { return "sm_" + std::to_string(cc); }

std::string fallback_note(int cc) {
  std::string others;
  bool own = false;
  for (const int each : described_ccs(cc))
    if (each == cc)
      own = true;
    else
      others += (others.empty() ? "" : " and ") + architecture(each);
  if (others.empty()) return "";
  return "machine code of " + others + " stands in for " + architecture(cc) + "'s" +
         (own ? " in some kernels" : "");
}

const theory::Program* machine_code(const Variant& variant, int cc) { return find(variant, cc).program; }

std::optional<EntryAttributes> described_attributes(const Variant& variant, int cc) {
  const theory::Program* const program = machine_code(variant, cc);
  if (program == nullptr) return {};
  // Registers are allocated in units of 8 per thread and in groups of four warps, one per scheduler.
  const int registers = (program->registers_per_thread + 7) / 8 * 8;
  const int by_registers = 65536 / (std::max(registers, 1) * 32) / 4 * 4 * 32;
  const int limit = program->block_limit > 0 ? program->block_limit : 1024;
  return EntryAttributes{.registers_per_thread = program->registers_per_thread,
                         .static_smem_bytes = program->static_smem_bytes,
                         .local_bytes = program->local_bytes,
                         .max_block_size = std::min({1024, limit, by_registers})};
}

}  // namespace occbench
