// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/rounded_smem.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "harness/theory/occupancy/search.hpp"

namespace occbench::binary {
namespace {

/// The sum of static and dynamic shared memory, in bytes, that a report allows.
struct Totals {
  std::size_t least, most;

  [[nodiscard]] bool is_one() const { return least == most; }
};

std::size_t least_of(const std::optional<RoundedBytes>& rounded, std::size_t exact) {
  return rounded ? rounded->least : exact;
}
std::size_t most_of(const std::optional<RoundedBytes>& rounded, std::size_t exact) {
  return rounded ? rounded->most : exact;
}

/// Splits a total into static and dynamic memory, each within its reported range.
theory::Footprint with_total(theory::Footprint f, const KernelUse& use, std::size_t total) {
  const std::size_t max_dynamic = most_of(use.rounded_dynamic_smem, f.dynamic_smem_bytes);
  const std::size_t min_dynamic = least_of(use.rounded_dynamic_smem, f.dynamic_smem_bytes);
  const std::size_t wanted = total - std::min(total, f.static_smem_bytes);
  f.dynamic_smem_bytes = std::clamp(wanted, min_dynamic, max_dynamic);
  f.static_smem_bytes = total - std::min(total, f.dynamic_smem_bytes);
  return f;
}

/// The totals for which the launch's configuration allows as many blocks as ncu reports. Without it, the
/// configuration may be smaller than the SM's shared memory, which then allows at least as many.
Totals agreeing(const theory::SmLimits& sm, const KernelUse& use, const theory::Footprint& f, Totals all) {
  if (!use.smem_block_limit) return all;
  const std::size_t config = use.smem_config_bytes.value_or(sm.smem_per_sm_bytes);
  const auto blocks = [&](std::size_t total) {
    const std::size_t taken = theory::occupancy(sm, with_total(f, use, total)).allocated_smem_per_block_bytes;
    return taken == 0 ? std::size_t{1} << 30 : config / taken;
  };
  const auto limit = static_cast<std::size_t>(*use.smem_block_limit);
  const std::size_t first = theory::first_true(
      all.least, all.most + 1, [&](std::size_t b) { return !use.smem_config_bytes || blocks(b) <= limit; });
  const std::size_t beyond =
      theory::first_true(all.least, all.most + 1, [&](std::size_t b) { return blocks(b) < limit; });
  return first < beyond ? Totals{first, beyond - 1} : all;  // the report contradicts itself
}

std::string answer_text(const theory::SmLimits& sm, const theory::Footprint& f) {
  const theory::Occupancy o = theory::occupancy(sm, f);
  if (!o.is_launchable()) return "cannot launch";
  std::array<char, 32> percent{};
  std::snprintf(percent.data(), percent.size(), " (%.1f %%)", 100 * o.fraction);
  return std::to_string(o.blocks_per_sm) + (o.blocks_per_sm == 1 ? " block" : " blocks") + percent.data();
}

std::string bytes_text(std::size_t bytes) {
  std::string digits = std::to_string(bytes);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits + " B";
}

}  // namespace

std::size_t roundest(double least, double most) {
  constexpr double beyond_any = 1e12;
  const auto low = static_cast<std::uint64_t>(std::ceil(std::clamp(least, 0.0, beyond_any)));
  const auto high = static_cast<std::uint64_t>(std::floor(std::clamp(most, 0.0, beyond_any)));
  if (low == 0 || low >= high) return low;
  for (std::uint64_t step = std::uint64_t{1} << 40; step > 1; step /= 2)
    if (high / step * step >= low) return high / step * step;
  return low;
}

std::optional<RoundedBytes> rounded_bytes(const std::optional<ReportNumber>& number,
                                          const std::string& text) {
  if (!number || number->least == number->most) return std::nullopt;
  return RoundedBytes{text, static_cast<std::size_t>(std::ceil(std::max(number->least, 0.0))),
                      static_cast<std::size_t>(std::floor(number->most))};
}

SmemRounding resolve_rounded_smem(const theory::SmLimits& reported, const theory::SmLimits& sm,
                                  const KernelUse& use, theory::Query& query) {
  if (!use.rounded_static_smem && !use.rounded_dynamic_smem) return {};
  theory::Footprint& f = query.footprint;
  const Totals all = {least_of(use.rounded_static_smem, f.static_smem_bytes) +
                          least_of(use.rounded_dynamic_smem, f.dynamic_smem_bytes),
                      most_of(use.rounded_static_smem, f.static_smem_bytes) +
                          most_of(use.rounded_dynamic_smem, f.dynamic_smem_bytes)};
  const Totals known = agreeing(reported, use, f, all);
  const std::size_t preferred = f.static_smem_bytes + f.dynamic_smem_bytes;
  if (preferred < known.least || preferred > known.most)
    f = with_total(f, use, roundest(static_cast<double>(known.least), static_cast<double>(known.most)));
  if (known.is_one()) return {};
  const bool are_both = use.rounded_static_smem && use.rounded_dynamic_smem;
  const std::string figures =
      are_both ? use.rounded_static_smem->text + " and " + use.rounded_dynamic_smem->text
               : (use.rounded_dynamic_smem ? use.rounded_dynamic_smem : use.rounded_static_smem)->text;
  const auto blocks = [&](std::size_t total) {
    return theory::occupancy(sm, with_total(f, use, total)).blocks_per_sm;
  };
  const int max_blocks = blocks(known.least);
  if (max_blocks == blocks(known.most)) return {figures, {}};
  const std::size_t cliff =
      theory::first_true(known.least, known.most + 1, [&](std::size_t b) { return blocks(b) < max_blocks; });
  return {figures, figures + (are_both ? " are" : " is") +
                       " rounded: " + answer_text(sm, with_total(f, use, cliff - 1)) + " up to " +
                       bytes_text(cliff - 1) + ", " + answer_text(sm, with_total(f, use, known.most)) +
                       " with " + bytes_text(known.most) + "; " +
                       bytes_text(f.static_smem_bytes + f.dynamic_smem_bytes) + " is taken"};
}

}  // namespace occbench::binary
